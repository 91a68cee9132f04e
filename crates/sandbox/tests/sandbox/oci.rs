//! The sandbox in a container, where an engine works. Which ones are tried says `ENCLOS_TEST_ENGINES` (`podman crun`); those
//! must work then. Without it, every engine that runs a container here is tried, and why another is not is printed.
//!
//! The image is made of this machine's own programs, so nothing is fetched.
use crate::escapes;
use crate::support::{Bench, alive, is_root, until};
use enclos_sandbox::{
    Access, Backend, Command, ENGINE_VARIABLES, Engine, FileOp, Image, Killed, Mount, Oci, Outcome, Step,
    open, probe,
};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command as Program, Output};
use std::sync::OnceLock;

/// The name of the image that these tests make and keep for the next time.
const NAME: &str = "localhost/enclos-sandbox-test:1";
/// Programs in it, with their libraries, as far as they are here.
const PROGRAMS: &str = "bash sh as awk cat chmod chroot chrt cp cut date dd df diff dirname dmesg du echo env expr \
    fallocate find flock getent git grep groups head hostname id install ionice ipcs kill link ln ls mkdir mkfifo mknod \
    mktemp mount mv newuidmap nice nproc nsenter passwd pgrep printf ps python3.11 python3.12 python3.13 readlink realpath \
    renice rm rmdir sed seq setcap setsid sleep sort stat strace stty su sum tac tail taskset tee test timeout touch tr \
    true truncate tty umount uname uniq unshare wc xargs";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn must(mut program: Program) -> Output {
    let output = program.output().expect("starts");
    assert!(output.status.success(), "{program:?}: {}", said(&output));
    output
}

fn environment() -> Vec<(String, String)> {
    ENGINE_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// A root file system of this machine's programs.
fn root(folder: &Path) {
    for name in ["tmp", "run", "proc", "sys", "dev", "etc", "opt", "var", "usr/bin", "usr/lib", "usr/lib64"] {
        std::fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    for name in ["bin", "lib", "lib64"] {
        std::os::unix::fs::symlink(format!("usr/{name}"), folder.join(name)).expect("a link");
    }
    std::os::unix::fs::symlink("usr/bin", folder.join("sbin")).expect("a link");
    let copy = |from: &Path| {
        let place = from.strip_prefix("/").expect("absolute");
        let place = if place.starts_with("usr") { place.to_owned() } else { Path::new("usr").join(place) };
        let to = folder.join(place);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("folders");
        if !to.exists() {
            std::fs::copy(from, to).expect("copied");
        }
    };
    for name in PROGRAMS.split_whitespace() {
        let program = Path::new("/usr/bin").join(name);
        if !program.exists() {
            continue;
        }
        copy(&program);
        let libraries = Program::new("ldd").arg(&program).output().expect("ldd");
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        libraries
            .split_whitespace()
            .filter(|word| word.starts_with('/'))
            .for_each(|path| copy(Path::new(path)));
        if name.starts_with("python") {
            let mut modules = Program::new("cp");
            modules.arg("-rL").arg(format!("/usr/lib/{name}")).arg(folder.join("usr/lib"));
            must(modules);
            std::os::unix::fs::symlink(name, folder.join("usr/bin/python3")).expect("a link");
        }
    }
}

/// The image in an engine's own store: made once.
fn image(engine: Engine) -> Result<Image, String> {
    let word = engine.word();
    let ask = |format: &str| {
        let output = Program::new(word).args(["image", "inspect", "--format", format, NAME]).output();
        let output = output.map_err(|error| format!("`{word}` does not start: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok::<_, String>(output.status.success().then_some(text))
    };
    if ask("{{.Id}}")?.is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (tree, file) = (folder.path().join("root"), folder.path().join("root.tar"));
        root(&tree);
        let mut tar = Program::new("tar");
        tar.arg("-C").arg(&tree).arg("--owner=0").arg("--group=0").arg("-cf").arg(&file).arg(".");
        must(tar);
        let output = Program::new(word).arg("import").arg(&file).arg(NAME).output().expect("starts");
        if !output.status.success() {
            return Err(format!("`{word} import` fails: {}", said(&output)));
        }
    }
    let named = if engine == Engine::Podman {
        let digest = ask("{{.Digest}}")?.unwrap_or_default();
        format!("{}@{digest}", NAME.trim_end_matches(":1"))
    } else {
        ask("{{.Id}}")?.unwrap_or_default()
    };
    Image::parse(&named)
}

/// The engines to try, with an image each.
fn engines() -> Vec<Oci> {
    let wanted = std::env::var("ENCLOS_TEST_ENGINES").ok();
    let mut found = Vec::new();
    for engine in Engine::ALL {
        let asked = wanted.as_ref().map(|words| words.split_whitespace().any(|word| word == engine.word()));
        let there = match asked {
            Some(false) => Err("not asked for".to_owned()),
            _ => there(engine),
        };
        match there {
            Ok(oci) => found.push(oci),
            Err(reason) => {
                assert_ne!(asked, Some(true), "{}: {reason}", engine.word());
                eprintln!("not tried with {}: {reason}", engine.word());
            }
        }
    }
    found
}

/// A runtime that answers, with an image of this machine's programs in a folder.
fn runtime(engine: Engine) -> Result<Oci, String> {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let word = engine.word();
    let output = Program::new(word).arg("--version").output();
    output.map_err(|error| format!("`{word}` does not start: {error}"))?;
    let folder = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        root(&folder.path().join("rootfs"));
        std::fs::write(folder.path().join("manifest.json"), "{}").expect("written");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("readable");
        folder
    });
    // The digest of the two bytes `{}`.
    let digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let image = Image::parse(&format!("{}@sha256:{digest}", folder.path().display()))?;
    let oci = Oci { engine, image, environment: environment() };
    // Whether it runs containers at all cannot be known without a bundle: an ordinary one of its own is tried.
    let bundle = tempfile::tempdir().expect("a folder");
    let spec: &[&str] = if is_root() { &["spec"] } else { &["spec", "--rootless"] };
    let mut made = Program::new(word);
    made.args(spec).current_dir(bundle.path());
    must(made);
    let text = std::fs::read_to_string(bundle.path().join("config.json")).expect("a specification");
    let mut spec: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    spec["root"]["path"] = folder.path().join("rootfs").to_str().into();
    spec["process"]["terminal"] = false.into();
    spec["process"]["args"] = serde_json::json!(["/usr/bin/true"]);
    spec["process"]["rlimits"] = serde_json::json!([]);
    std::fs::write(bundle.path().join("config.json"), spec.to_string()).expect("written");
    let name = format!("enclos-trial-{}", std::process::id());
    let mut trial = Program::new(word);
    trial.arg("--root").arg(bundle.path().join("state")).args(["run", &name]).current_dir(bundle.path());
    let output = trial.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(oci)
    } else {
        Err(format!("it runs no container at all: {}", said(&output)))
    }
}

/// An engine that runs a container here, whatever the sandbox makes of it.
fn there(engine: Engine) -> Result<Oci, String> {
    let word = engine.word();
    if matches!(engine, Engine::Crun | Engine::Runc) {
        return runtime(engine);
    }
    let image = image(engine)?;
    let mut trial = Program::new(word);
    trial.args([
        "run",
        "--rm",
        "--network=none",
        "--pull=never",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=512:512",
    ]);
    let output =
        trial.arg(image.to_string()).arg("/usr/bin/true").output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(Oci { engine, image, environment: environment() })
    } else {
        Err(format!("it runs no container at all: {}", said(&output)))
    }
}

fn bench(oci: &Oci) -> Bench {
    let mut bench = Bench::new();
    bench.plan.backend = Backend::Oci(oci.clone());
    bench
}

/// Whether the engine still has a container of this name. A runtime's state is in the layer, and goes with it.
fn has(oci: &Oci, name: &str) -> bool {
    if matches!(oci.engine, Engine::Crun | Engine::Runc) {
        return alive(name);
    }
    let output = Program::new(oci.engine.word()).args(["inspect", "--format", "{{.Name}}", name]).output();
    output.expect("starts").status.success()
}

/// The name of the container that is open on a layer.
fn container(bench: &Bench) -> String {
    std::fs::read_to_string(bench.plan.layer.join("container/name")).expect("a name")
}

#[test]
fn a_session_in_a_container() {
    for oci in engines() {
        let mut bench = bench(&oci);
        bench.plan.hidden = vec!["f2.txt".into()];
        bench.plan.masked = vec!["f3.txt".into()];
        let cache = bench.root.path().join("cache");
        std::fs::create_dir(&cache).expect("a folder");
        std::fs::write(cache.join("kept"), "kept\n").expect("a file");
        bench.plan.mounts =
            vec![Mount { host: cache.clone(), inside: "/opt/cache".into(), access: Access::ThrowAway }];
        let inside = bench.open();
        let report = inside.sandbox.report();
        assert_eq!(report.host_uid != rustix::process::geteuid().as_raw(), is_root());
        assert_eq!(inside.out("id -u; pwd; cat f1.txt; hostname"), "1000\n/workspace\nfile 1\nsandbox\n");
        assert_eq!(inside.out("echo new > f1.txt; cat f1.txt; ls /workspace | wc -l"), "new\n7\n");
        assert_eq!(inside.run("cat f3.txt").out, "", "masked");
        inside.sandbox.unmask(&["f3.txt".into()]).expect("unmasked");
        assert_eq!(inside.out("cat f3.txt"), "file 3\n");
        assert_eq!(inside.out("rm /opt/cache/kept; ls -A /opt/cache"), "");
        assert_eq!(inside.out("ls -A / /run"), inside.out("ls -A / /run | cat"), "the same each time");
        assert!(
            !inside.out("cat /proc/self/mountinfo").contains("enclos"),
            "no trace of the container's mounts"
        );
        let read = FileOp::Read { path: "f1.txt".into(), offset_line: 1, limit_lines: 9, max_bytes: 999 };
        assert!(format!("{:?}", inside.file(&read).expect("read")).contains("new"));
        let slow = Command { seconds: Some(1), ..Command::new("sleep 600 & sleep 600") };
        assert_eq!(inside.run_as(&slow).exit.killed, Some(Killed::Timeout));
        let name = container(&bench);
        assert!(has(&oci, &name) || matches!(oci.engine, Engine::Crun | Engine::Runc));
        inside.sandbox.close();
        assert!(!has(&oci, &name), "the container is gone with the session");
        assert_eq!(std::fs::read_to_string(bench.repository().join("f1.txt")).expect("there"), "file 1\n");
        assert_eq!(std::fs::read_to_string(bench.plan.layer.join("upper/f1.txt")).expect("kept"), "new\n");
        assert_eq!(std::fs::read_to_string(cache.join("kept")).expect("there"), "kept\n");
        assert!(!bench.plan.layer.join("container").exists() && !bench.plan.layer.join("scratch").exists());
        assert_eq!(bench.open().out("cat f1.txt"), "new\n", "a later opening finds the layer");
    }
}

#[test]
fn no_way_out_of_a_container_heavy() {
    for oci in engines() {
        escapes::try_all(&Backend::Oci(oci), enclos_sandbox::Prefer::Overlay);
    }
}

#[test]
fn the_trial_passes_in_a_container() {
    for oci in engines() {
        let word = oci.engine.word();
        let checks = probe(&Backend::Oci(oci));
        assert!(checks.len() > 25);
        for check in checks {
            assert!(matches!(check.outcome, Outcome::Ok | Outcome::Limited), "{check:?}");
            assert!(check.name.starts_with(word), "{check:?}");
        }
    }
}

/// Not a test of its own: opens a sandbox in a container, starts a long command in it, and waits to be killed.
#[test]
fn holder() {
    let (Ok(mark), Ok(word)) = (std::env::var("ENCLOS_TEST_MARK"), std::env::var("ENCLOS_TEST_ENGINES"))
    else {
        return;
    };
    let layer = std::env::var("ENCLOS_TEST_LAYER").expect("a layer");
    let mut bench = bench(engines().iter().find(|oci| oci.engine.word() == word).expect("the engine"));
    bench.plan.layer = layer.into();
    let inside = bench.open();
    let text = format!("(setsid sleep {mark} &); trap '' TERM HUP; sleep {mark}");
    let exit = inside.sandbox.run(&Command::new(text), &mut |_, _| {});
    panic!("ended: {exit:?}");
}

#[test]
fn a_killed_gateway_leaves_no_process_and_its_container_goes_with_the_next_opening() {
    for oci in engines() {
        let mut bench = bench(&oci);
        let mark = format!("7{:05}", std::process::id());
        let mut child = Program::new("/proc/self/exe")
            .args(["oci::holder", "--exact", "--nocapture", "--test-threads=1"])
            .env("ENCLOS_TEST_MARK", &mark)
            .env("ENCLOS_TEST_ENGINES", oci.engine.word())
            .env("ENCLOS_TEST_LAYER", &bench.plan.layer)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("this program again");
        let what = format!("sleep {mark}");
        until("the command runs", || alive(&what));
        let name = container(&bench);
        child.kill().expect("killed");
        child.wait().expect("reaped");
        until("nothing is left", || !alive(&what));
        bench.plan.limits.command_seconds = 60;
        assert_eq!(bench.open().out("echo on"), "on\n");
        assert!(!has(&oci, &name));
    }
}

#[test]
fn an_image_that_is_not_there_is_named_with_how_to_fetch_it() {
    for oci in engines().into_iter().filter(|oci| matches!(oci.engine, Engine::Podman | Engine::Docker)) {
        let named = format!("localhost/enclos-no-such-image@sha256:{}", "0".repeat(64));
        let oci = Oci { image: Image::parse(&named).expect("sound"), ..oci };
        let bench = bench(&oci);
        let error = open(&bench.plan).expect_err("no such image");
        assert_eq!(error.step, Step::Engine);
        assert!(error.to_string().contains("is not on this machine"), "{error}");
        assert!(
            error.remedy().contains(&format!("{} pull {named}", oci.engine.word())),
            "{}",
            error.remedy()
        );
        assert!(!bench.plan.layer.join("container").exists());
    }
}

#[test]
fn an_engine_that_is_not_there_fails_the_opening_by_name() {
    let mut bench = Bench::new();
    for engine in Engine::ALL {
        let folder = bench.root.path().join(engine.word());
        for name in ["usr", "tmp", "run", "proc", "dev"] {
            std::fs::create_dir_all(folder.join("rootfs").join(name)).expect("folders");
        }
        std::fs::write(folder.join("manifest.json"), "{}").expect("written");
        let digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        let image = Image::parse(&format!("{}@sha256:{digest}", folder.display())).expect("sound");
        let environment = vec![("PATH".to_owned(), "/no/such/folder".to_owned())];
        bench.plan.backend = Backend::Oci(Oci { engine, image, environment });
        let error = open(&bench.plan).expect_err("no engine");
        assert_eq!(error.step, Step::Engine, "{error}");
        assert!(
            error.remedy().contains(&format!("install `{}`", engine.word())),
            "{error}: {}",
            error.remedy()
        );
    }
}

/// Not a promise but a figure: what an opening, a command and a closing take in a container.
#[test]
#[ignore = "measures; run it by hand on a quiet machine"]
fn figures() {
    for oci in engines() {
        let bench = bench(&oci);
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..15 {
            let start = std::time::Instant::now();
            let inside = bench.open();
            times[0].push(start.elapsed());
            for _ in 0..10 {
                let start = std::time::Instant::now();
                inside.out("true");
                times[1].push(start.elapsed());
            }
            let start = std::time::Instant::now();
            inside.sandbox.close();
            times[2].push(start.elapsed());
        }
        for all in &mut times {
            all.sort();
        }
        let [open, command, close] = times.map(|all| (all[0], all[all.len() / 2]));
        println!(
            "{}: open {open:?}, command {command:?}, close {close:?} (least, median)",
            oci.engine.word()
        );
    }
}
