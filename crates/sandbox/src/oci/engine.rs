//! The engines, and every command line that is used of them: arguments as they are, one function each. Nothing is run here.
use super::image::Image;
use super::program::Line;
use crate::cgroup::AROUND;
use crate::plan::Limits;
use enclos_init::wire::{CONTAINER_FOLDER, IN_CONTAINER};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What starts the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Podman, without a daemon; by root or by a plain user.
    Podman,
    /// Docker, or what answers to its command.
    Docker,
    /// The runtime crun, without an engine.
    Crun,
    /// The runtime runc, without an engine.
    Runc,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Podman, Self::Docker, Self::Crun, Self::Runc];

    /// Its name, which is its program's.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Crun => "crun",
            Self::Runc => "runc",
        }
    }

    /// Reads a name, or says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected `podman`, `docker`, `crun` or `runc`";
        match (Self::ALL.into_iter().find(|engine| engine.word() == text), text) {
            (Some(engine), _) => Ok(engine),
            (None, "runsc" | "gvisor" | "kata" | "kata-runtime") => Err(format!(
                "`{text}` brings a kernel of its own, which the control socket does not lead into: {expected}"
            )),
            (None, _) => Err(format!("`{text}` is not known: {expected}")),
        }
    }
}

impl Engine {
    /// Whether it is a runtime, which is given a bundle, not an image that it keeps itself.
    pub(super) const fn is_runtime(self) -> bool {
        matches!(self, Self::Crun | Self::Runc)
    }
}

/// What an engine says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// It runs containers with the rights of the plain user who asks: number 0 of the container is that user.
    pub(super) rootless: bool,
    /// Which ceilings it can hold.
    pub(super) holds: Holds,
}

/// Ceilings that an engine can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holds {
    /// On memory,
    pub(super) memory: bool,
    /// on processes,
    pub(super) processes: bool,
    /// on the share of the processors.
    pub(super) cpus: bool,
}

impl Holds {
    /// A runtime is asked to hold none: the library's own groups do.
    pub(super) const NONE: Self = Self { memory: false, processes: false, cpus: false };
}

/// Asks an engine for [`Facts`].
pub(super) fn info(engine: Engine) -> Line {
    let format = if engine == Engine::Podman { "json" } else { "{{json .}}" };
    Line::new(engine.word()).and(["info", "--format", format])
}

/// Its answer; `None` when it is not one.
pub(super) fn facts(engine: Engine, text: &str) -> Option<Facts> {
    let value: Value = serde_json::from_str(text).ok()?;
    let lists = |list: &Value, word: &str| {
        list.as_array().is_some_and(|all| all.iter().any(|one| one.as_str().is_some_and(|one| one == word)))
    };
    if engine == Engine::Podman {
        let host = value.get("host")?;
        let rootless = host.pointer("/security/rootless")?.as_bool()?;
        let controllers = host.get("cgroupControllers")?;
        // A plain user's limits are held by version 2 alone.
        let held = |name| {
            lists(controllers, name) && (!rootless || host.get("cgroupVersion").is_some_and(|v| v == "v2"))
        };
        let holds = Holds { memory: held("memory"), processes: held("pids"), cpus: held("cpu") };
        return Some(Facts { rootless, holds });
    }
    // The daemon could not be asked when there is no identity of it.
    value.get("ID").and_then(Value::as_str).filter(|id| !id.is_empty())?;
    let can = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    let rootless = value.get("SecurityOptions").is_some_and(|options| lists(options, "name=rootless"));
    let holds = Holds { memory: can("MemoryLimit"), processes: can("PidsLimit"), cpus: can("CpuCfsQuota") };
    Some(Facts { rootless, holds })
}

/// Whether the image is there: ends with 0 when it is.
pub(super) fn has_image(engine: Engine, image: &Image) -> Line {
    Line::new(engine.word()).and(["image", "inspect", "--format", "{{.Id}}"]).with(image.to_string())
}

/// One container, as data.
#[derive(Debug)]
pub(super) struct Container<'a> {
    pub(super) engine: Engine,
    pub(super) name: &'a str,
    pub(super) image: &'a Image,
    /// Who its first process is, in the container.
    pub(super) user: (u32, u32),
    /// The folder on the host that is seen as [`CONTAINER_FOLDER`].
    pub(super) folder: &'a Path,
    /// The filter of system calls.
    pub(super) profile: &'a Path,
    /// Directories and files of the host, by their number.
    pub(super) mounts: &'a [(u32, PathBuf)],
    pub(super) limits: &'a Limits,
    pub(super) facts: Facts,
    /// Ceilings of this process that are not to be raised: open files, processes.
    pub(super) own: [Option<u64>; 2],
}

impl Container<'_> {
    /// Ceilings on each process or user that an engine would set by itself, perhaps to more than this process can give.
    pub(super) fn ulimits(&self) -> [(&'static str, u64); 2] {
        let [files, processes] = self.own;
        let least = |value: u64, own: Option<u64>| own.map_or(value, |own| own.min(value));
        let wanted = u64::from(self.limits.processes) + AROUND;
        [("nofile", least(FILES, files)), ("nproc", least(wanted, processes))]
    }
}

/// Open files that the init and its commands may have.
const FILES: u64 = 16 * 1024;

/// Starts it, in the background.
pub(super) fn run(container: &Container<'_>) -> Line {
    let Container { engine, name, image, user, folder, profile, limits, facts, .. } = container;
    let mut line = Line::new(engine.word())
        .and(["run", "--detach", "--rm", "--name", name, "--pull", "never"])
        .with("--network=none")
        .and(["--hostname", "sandbox", "--read-only"])
        // Where the init builds the sandbox, and where it finds what it is given.
        .and(["--tmpfs", "/tmp:rw,nosuid,nodev,mode=0755", "--tmpfs", "/run:rw,nosuid,nodev,mode=0755"])
        .with(format!("--user={}:{}", user.0, user.1))
        .with("--cap-drop=all");
    if user.0 == 0 {
        // The kernel wants this one, and no other, of whoever gives number 0 a number in a namespace of its own.
        line = line.with("--cap-add=SETFCAP");
    }
    line = line
        .with("--security-opt=no-new-privileges")
        .with(join("--security-opt=seccomp=", profile))
        // The profiles of AppArmor and SELinux for containers forbid the mounts of which the sandbox is made, and covers
        // over parts of `/proc` make the kernel refuse a new one. The agent sees neither this `/proc` nor this root.
        .and(["--security-opt=label=disable", "--security-opt=apparmor=unconfined"])
        .with(if *engine == Engine::Podman {
            "--security-opt=unmask=ALL"
        } else {
            "--security-opt=systempaths=unconfined"
        })
        .and(["--log-driver=none", "--no-healthcheck", "--ipc=private", "--label=enclos"]);
    if *engine == Engine::Podman {
        line =
            line.and(["--systemd=false", "--http-proxy=false", "--image-volume=ignore", "--sdnotify=ignore"]);
    }
    for (kind, value) in container.ulimits() {
        line = line.with(format!("--ulimit={kind}={value}:{value}"));
    }
    if facts.holds.memory {
        line = line.and([
            format!("--memory={}b", limits.memory_bytes),
            format!("--memory-swap={}b", limits.memory_bytes),
        ]);
    }
    if facts.holds.processes {
        line = line.with(format!("--pids-limit={}", u64::from(limits.processes) + AROUND));
    }
    if facts.holds.cpus {
        line = line.with(format!("--cpus={}", limits.cpus));
    }
    line = line.with("--mount").with(bind(folder, CONTAINER_FOLDER, true));
    for (number, path) in container.mounts {
        line = line.with("--mount").with(bind(path, &format!("{CONTAINER_FOLDER}/{number}"), false));
    }
    line.with(format!("--entrypoint={CONTAINER_FOLDER}/init")).with(image.to_string()).with(IN_CONTAINER)
}

/// A path that can stand in the list of a mount, which knows commas and quotes.
pub(super) fn mountable(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    !path.as_os_str().as_bytes().iter().any(|byte| b",\"\n\r".contains(byte))
}

fn bind(path: &Path, inside: &str, read_only: bool) -> OsString {
    let mut text = join("type=bind,src=", path);
    text.push(format!(",dst={inside}"));
    if read_only {
        text.push(",readonly");
    }
    text
}

fn join(start: &str, path: &Path) -> OsString {
    let mut text = OsString::from(start);
    text.push(path);
    text
}

/// Starts a bundle with a runtime, in the background. Its state is kept in `state`.
pub(super) fn run_bundle(engine: Engine, name: &str, bundle: &Path, state: &Path) -> Line {
    Line::new(engine.word())
        .with("--root")
        .with(state)
        .and(["run", "--detach", "--bundle"])
        .with(bundle)
        .with(name)
}

/// Removes a container with whatever runs in it; one that is not there is no matter. `state` is where a runtime keeps it.
pub(super) fn remove(engine: Engine, name: &str, state: &Path) -> Line {
    let line = Line::new(engine.word());
    match engine {
        Engine::Podman => line.and(["rm", "--force", "--volumes", "--ignore", "--time", "0", name]),
        Engine::Docker => line.and(["rm", "--force", "--volumes", name]),
        Engine::Crun | Engine::Runc => line.with("--root").with(state).and(["delete", "--force", name]),
    }
}

/// Whether a container of this name is still there: ends with 0 when it is.
pub(super) fn has_container(engine: Engine, name: &str, state: &Path) -> Line {
    let line = Line::new(engine.word());
    match engine {
        Engine::Podman | Engine::Docker => line.and(["container", "inspect", "--format", "{{.Id}}", name]),
        Engine::Crun | Engine::Runc => line.with("--root").with(state).and(["state", name]),
    }
}

/// How an image gets onto the machine.
pub(super) fn how_to_fetch(engine: Engine, image: &Image) -> String {
    match image {
        Image::Manifest { .. } => format!("fetch it: `{} pull {image}`", engine.word()),
        Image::Configuration { .. } => format!(
            "load it (`{0} load`), or name an image by `NAME@sha256:…`; `{0} images --digests --no-trunc` shows both",
            engine.word()
        ),
        Image::Folder { folder, .. } => {
            format!("write it there: `podman save --format oci-dir -o {} NAME`", folder.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container<'a>(
        engine: Engine,
        image: &'a Image,
        mounts: &'a [(u32, PathBuf)],
        limits: &'a Limits,
    ) -> Container<'a> {
        Container {
            engine,
            name: "enclos-0123456789abcdef",
            image,
            user: (1000, 100),
            folder: Path::new("/layer/container/shown"),
            profile: Path::new("/layer/container/profile.json"),
            mounts,
            limits,
            facts: Facts { rootless: false, holds: Holds { memory: true, processes: true, cpus: true } },
            own: [Some(1024), Some(100_000)],
        }
    }

    fn words(line: &Line) -> Vec<&str> {
        line.arguments.iter().map(|word| word.to_str().unwrap()).collect()
    }

    #[test]
    fn a_container_has_no_network_no_capability_no_new_image_and_only_what_is_mounted() {
        let image = Image::parse(&format!("localhost/dev@sha256:{}", "a".repeat(64))).unwrap();
        let mounts = [(3, PathBuf::from("/home/me/a repository"))];
        let limits = Limits::default();
        for engine in [Engine::Podman, Engine::Docker] {
            let line = run(&container(engine, &image, &mounts, &limits));
            let words = words(&line);
            for wanted in [
                "--network=none",
                "--read-only",
                "--cap-drop=all",
                "--user=1000:100",
                "--security-opt=no-new-privileges",
                "--security-opt=seccomp=/layer/container/profile.json",
                "--ulimit=nofile=1024:1024",
                "--ulimit=nproc=576:576",
                "--memory=4294967296b",
                "--pids-limit=576",
                "--cpus=2",
                "type=bind,src=/layer/container/shown,dst=/run/enclos,readonly",
                "type=bind,src=/home/me/a repository,dst=/run/enclos/3",
                "--entrypoint=/run/enclos/init",
            ] {
                assert!(words.contains(&wanted), "{engine:?}: {wanted} is not in {words:?}");
            }
            let pull = words.iter().position(|word| *word == "--pull").unwrap();
            assert_eq!(words[pull + 1], "never");
            assert_eq!(words[words.len() - 2..], [image.to_string().as_str(), "container"]);
            assert!(
                !words.iter().any(|word| word.contains("cap-add") || word.contains("privileged=")),
                "{words:?}"
            );
            assert_eq!(words.iter().filter(|word| word.starts_with("type=bind")).count(), 2);
        }
        let root = Container { user: (0, 0), ..container(Engine::Podman, &image, &mounts, &limits) };
        let line = run(&root);
        let added: Vec<_> = words(&line).into_iter().filter(|word| word.starts_with("--cap-add")).collect();
        assert_eq!(added, ["--cap-add=SETFCAP"], "number 0 needs one to be mapped, and no other");
    }

    #[test]
    fn a_ceiling_that_the_engine_cannot_hold_is_not_asked_of_it() {
        let image = Image::parse(&format!("sha256:{}", "a".repeat(64))).unwrap();
        let limits = Limits::default();
        let facts = Facts { rootless: true, holds: Holds::NONE };
        let line = run(&Container { facts, ..container(Engine::Podman, &image, &[], &limits) });
        assert!(
            !words(&line)
                .iter()
                .any(|word| ["--memory", "--pids", "--cpus"].iter().any(|w| word.starts_with(w)))
        );
    }

    #[test]
    fn what_an_engine_says_of_itself_is_read_or_refused() {
        let podman = |version: &str, rootless: bool| {
            format!(
                r#"{{"host":{{"cgroupVersion":"{version}","cgroupControllers":["memory","pids"],"security":{{"rootless":{rootless}}}}}}}"#
            )
        };
        let some = Holds { memory: true, processes: true, cpus: false };
        for (version, rootless, holds) in [("v2", true, some), ("v1", false, some), ("v1", true, Holds::NONE)]
        {
            assert_eq!(facts(Engine::Podman, &podman(version, rootless)), Some(Facts { rootless, holds }));
        }
        let docker = r#"{"ID":"x","MemoryLimit":true,"PidsLimit":true,"SecurityOptions":["name=seccomp","name=rootless"]}"#;
        assert_eq!(facts(Engine::Docker, docker), Some(Facts { rootless: true, holds: some }));
        for text in ["", "{}", r#"{"ID":"","ServerErrors":["no daemon"]}"#, r#"{"host":{}}"#] {
            assert_eq!(facts(Engine::Docker, text), None, "{text}");
            assert_eq!(facts(Engine::Podman, text), None, "{text}");
        }
    }

    #[test]
    fn runtimes_with_a_kernel_of_their_own_are_refused_with_the_reason() {
        for engine in Engine::ALL {
            assert_eq!(Engine::parse(engine.word()), Ok(engine));
        }
        for word in ["runsc", "kata"] {
            assert!(Engine::parse(word).unwrap_err().contains("kernel of its own"), "{word}");
        }
        assert!(Engine::parse("Podman").unwrap_err().contains("expected"));
    }

    #[test]
    fn a_path_that_the_engine_would_take_apart_is_not_mounted() {
        assert!(mountable(Path::new("/home/me/a repository:x")));
        for path in ["/a,b", "/a\"b", "/a\nb"] {
            assert!(!mountable(Path::new(path)), "{path}");
        }
    }
}
