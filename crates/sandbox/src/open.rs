//! Opening a sandbox. The steps are in their own modules; here is their order, and that everything made so far goes
//! away when one fails.
use crate::cgroup::Groups;
use crate::error::{OpenError, Place};
use crate::idmap::{Mapper, plain_tree};
use crate::launch::{self, Given, Launch};
use crate::oci::{self, Oci};
use crate::plan::{Access, Backend, Limits, Plan};
use crate::platform::{self, Identity};
use crate::report::{Enforcer, Level, Report};
use crate::sandbox::{Life, Sandbox};
use crate::state::{self, Layer};
use crate::{git, mask};
use enclos_init::channel::{self, Frame};
use enclos_init::wire::{
    Counters, FIRST_FD, Failure, GitCopy, Kind, LimitsIn, MountIn, PrivateGit, Ready, Setup, Step,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::thread::CpuSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time for the whole set-up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens a sandbox as the plan says, or fails with the step that failed.
pub fn open(plan: &Plan) -> Result<Sandbox, OpenError> {
    let start = Instant::now();
    plan.check()?;
    platform::check()?;
    launch::make_ready();
    let identity = platform::identity();
    let workspace = open_folder(&plan.workspace).at(Step::Plan, "opening the repository")?;
    let root_mode = rustix::fs::fstat(&workspace).at(Step::Plan, "looking at the repository")?.st_mode;
    let thrown_away = plan.mounts.iter().filter(|mount| mount.access == Access::ThrowAway).count();
    let layer = state::prepare(&plan.layer, identity, plan.owner, root_mode, thrown_away)?;
    let hidden = mask::compute(&workspace, &plan.hidden)?;
    let git = plan.git.as_deref().map(|git| git::read(git, &plan.workspace)).transpose()?;

    let mut given = Handover::new(identity, layer.owner);
    let mut setup = set_up(plan, git, root_mode, &mut given)?;
    given.descriptor(layer.lock.try_clone().at(Step::Layer, "keeping the lock")?);
    let list = std::mem::take(&mut given.list);
    let mut life = match &plan.backend {
        Backend::Namespaces => {
            let launch = Launch { given: list, identity, owner: layer.owner };
            Life::new(launch::start(launch)?, layer)
        }
        Backend::Oci(oci) => in_container(oci, plan, identity, layer, list, &mut setup)?,
    };
    let json = serde_json::to_vec(&setup).at(Step::Ready, "writing the set-up")?;
    let body = channel::pack(&json, &enclos_init::mask::encode(&hidden));
    // An init that ended at once is found out below, with its reason.
    let _ = channel::send(&life.shared.started.control, Kind::Setup, 0, &body, &[]);
    if life.container.is_none() {
        // While the init builds, this side makes the control groups. The init goes into them when it is ready: it has no
        // child yet that could be missed, and the kernel holds up whoever executes a program meanwhile.
        life.groups = Groups::make(&plan.limits);
        if life.groups.cpus.is_none() {
            share_processors(life.shared.started.pid, plan.limits.cpus)?;
        }
    }
    let ready = wait_until_ready(&life)?;
    put_limits_in_force(&life)?;
    let report = report(&life, identity, &ready, start);
    Ok(Sandbox::new(life, plan.limits.clone(), report))
}

/// Starts the init in a container. Its first process is under all ceilings before it makes the init.
fn in_container(
    oci: &Oci,
    plan: &Plan,
    identity: Identity,
    layer: Layer,
    given: Vec<Given>,
    setup: &mut Setup,
) -> Result<Life, OpenError> {
    let mut groups = Groups::default();
    let limits = &plan.limits;
    let wanted = oci::Wanted { oci, layer: &layer, path: &plan.layer, limits, identity, given };
    let (started, container) = oci::start(wanted, |pid| {
        groups =
            Groups::of_container(pid, limits).at(Step::Limits, "putting the container under its limits")?;
        if groups.cpus.is_none() { share_processors(pid, limits.cpus) } else { Ok(()) }
    })?;
    oci::search_path(&mut setup.environment, container.path());
    let mut life = Life::new(started, layer);
    life.groups = groups;
    life.container = Some(container);
    Ok(life)
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// What the init gets by number, in order.
struct Handover {
    list: Vec<Given>,
    mapper: Option<Mapper>,
}

impl Handover {
    fn new(identity: Identity, owner: (u32, u32)) -> Self {
        let mapper = (identity == Identity::Root).then(|| Mapper::new(owner));
        Self { list: Vec::new(), mapper }
    }

    fn put(&mut self, given: Given) -> i32 {
        let number = FIRST_FD.saturating_add(i32::try_from(self.list.len()).unwrap_or(i32::MAX));
        self.list.push(given);
        number
    }

    fn descriptor(&mut self, fd: OwnedFd) -> i32 {
        self.put(Given::Open(fd))
    }

    /// A mount of the host's `path`, its owner mapped when root runs this.
    fn tree(&mut self, path: &Path, what: &str) -> Result<i32, OpenError> {
        let given = match &mut self.mapper {
            None => Given::Tree(path.to_owned()),
            Some(mapper) => {
                let tree = mapper.tree(path);
                Given::Open(tree.at(Step::IdMap, &format!("giving {what} to a user of the sandbox's own"))?)
            }
        };
        Ok(self.put(given))
    }

    /// A mount of the layer, which belongs to the sandbox's user already.
    fn layer(&mut self, path: &Path) -> Result<i32, OpenError> {
        let given = match self.mapper {
            None => Given::Tree(path.to_owned()),
            Some(_) => Given::Open(plain_tree(path).at(Step::Layer, "mounting the layer")?),
        };
        Ok(self.put(given))
    }
}

/// The init's set-up, and with it the descriptors that it names.
fn set_up(
    plan: &Plan,
    git: Option<git::Private>,
    root_mode: u32,
    given: &mut Handover,
) -> Result<Setup, OpenError> {
    let lower = given.tree(&plan.workspace, "the repository")?;
    let over =
        plan.over.as_deref().map(|over| given.tree(over, "the tree over the repository")).transpose()?;
    let layer = given.layer(&plan.layer)?;
    let git = git.map(|git| private_git(git, given)).transpose()?;
    let mut mounts = Vec::new();
    let mut scratch = 0..;
    for mount in &plan.mounts {
        let shown = mount.host.display();
        let kind = std::fs::metadata(&mount.host).at(Step::Mounts, &format!("looking at `{shown}`"))?;
        mounts.push(MountIn {
            tree: given.tree(&mount.host, &format!("`{shown}`"))?,
            inside: mount.inside.to_string_lossy().into_owned(),
            scratch: if mount.access == Access::ThrowAway { scratch.next() } else { None },
            file: !kind.is_dir(),
        });
    }
    Ok(Setup {
        lower,
        over,
        layer,
        git,
        mounts,
        environment: plan.environment.clone(),
        limits: LimitsIn {
            memory_bytes: plan.limits.memory_bytes,
            processes: plan.limits.processes,
            disk_bytes: plan.limits.disk_bytes,
        },
        root_mode: root_mode & 0o777,
        image: plan.backend != Backend::Namespaces,
    })
}

fn private_git(git: git::Private, given: &mut Handover) -> Result<PrivateGit, OpenError> {
    let copies = git
        .copies
        .into_iter()
        .map(|copy| GitCopy {
            from: given.descriptor(copy.file.into()),
            path: copy.path,
            modified: copy.modified,
        })
        .collect();
    let mut objects = Vec::new();
    for path in &git.objects {
        objects.push(given.tree(path, "the repository's objects")?);
    }
    Ok(PrivateGit { files: git.files, copies, objects })
}

/// The init's first answer.
fn wait_until_ready(life: &Life) -> Result<Ready, OpenError> {
    let control = &life.shared.started.control;
    let patience = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    loop {
        match rustix::event::poll(&mut [PollFd::new(control, PollFlags::IN)], Some(&patience)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno).at(Step::Ready, "waiting for the init"),
            Ok(0) => return Err(OpenError::new(Step::Ready, "the init does not answer")),
            Ok(_) => break,
        }
    }
    match channel::receive(control).at(Step::Ready, "hearing the init")? {
        None => Err(life.shared.started.trouble()),
        Some(Frame { kind: Kind::Ready, body, .. }) => {
            serde_json::from_slice(&body).at(Step::Ready, "understanding the init")
        }
        Some(Frame { kind: Kind::Failed, body, .. }) => {
            let failure: Failure = serde_json::from_slice(&body).at(Step::Ready, "understanding the init")?;
            let source = (failure.errno != 0).then(|| io::Error::from_raw_os_error(failure.errno));
            Err(OpenError { source, ..OpenError::new(failure.step, failure.message) })
        }
        Some(_) => Err(OpenError::new(Step::Ready, "the init answers something else")),
    }
}

/// Moves the init into its groups, then hands it their counters: only after that it makes children.
fn put_limits_in_force(life: &Life) -> Result<(), OpenError> {
    let what = "putting the limits in force";
    let groups = &life.groups;
    let which =
        Counters { memory: groups.memory_counter.is_some(), processes: groups.process_counter.is_some() };
    let body = serde_json::to_vec(&which).at(Step::Limits, what)?;
    let counters: Vec<OwnedFd> = [&groups.memory_counter, &groups.process_counter]
        .into_iter()
        .flatten()
        .map(OwnedFd::try_clone)
        .collect::<Result<_, _>>()
        .at(Step::Limits, what)?;
    let door = groups.door();
    life.put_in_force(move |started| {
        door.enter(started.pid)?;
        let fds: Vec<_> = counters.iter().map(AsFd::as_fd).collect();
        channel::send(&started.control, Kind::Counters, 0, &body, &fds)
    })
    .at(Step::Limits, what)
}

/// Keeps the init, and so all that come of it, to `count` of the processors allowed so far, chosen by chance so that
/// sandboxes do not crowd on the first ones.
fn share_processors(pid: i32, count: u32) -> Result<(), OpenError> {
    let what = "keeping to some processors";
    let pid = rustix::process::Pid::from_raw(pid);
    let allowed = rustix::thread::sched_getaffinity(pid).at(Step::Limits, what)?;
    let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let wanted = usize::try_from(count.max(1)).unwrap_or(usize::MAX);
    if processors.len() <= wanted {
        return Ok(());
    }
    let mut seed = [0u8; 1];
    platform::random(&mut seed).at(Step::Limits, what)?;
    let [seed] = seed;
    let mut chosen = CpuSet::new();
    for cpu in processors.iter().cycle().skip(usize::from(seed)).take(wanted) {
        chosen.set(*cpu);
    }
    rustix::thread::sched_setaffinity(pid, &chosen).at(Step::Limits, what)
}

fn report(life: &Life, identity: Identity, ready: &Ready, start: Instant) -> Report {
    let groups = &life.groups;
    let mut missing = groups.missing.clone();
    missing.push("disk: held by a limit on each file and the watchdog, not by a quota".into());
    match identity {
        Identity::Root => {}
        Identity::User(0, _) => missing.push(
            "user: the agent's processes have number 0 outside, without its power; this process can be nobody else"
                .into(),
        ),
        Identity::User(..) => {
            missing.push("user: the agent's processes belong to you outside, not to a user of their own".into());
        }
    }
    Report {
        level: Level::Standard,
        opened_in: start.elapsed(),
        host_uid: life.layer.owner.0,
        landlock_abi: ready.landlock_abi,
        memory: groups.memory.unwrap_or(Enforcer::Watchdog),
        processes: groups.processes.unwrap_or(Enforcer::Rlimit),
        cpus: groups.cpus.unwrap_or(Enforcer::Affinity),
        disk: Enforcer::Watchdog,
        missing,
    }
}

impl Plan {
    /// Refuses what cannot be meant: before anything is touched.
    fn check(&self) -> Result<(), OpenError> {
        let refuse = |message: String| Err(OpenError::new(Step::Plan, message));
        let Limits { command_seconds, memory_bytes, processes, cpus, disk_bytes, .. } = self.limits;
        if command_seconds == 0
            || processes < 8
            || cpus == 0
            || memory_bytes < 32 << 20
            || disk_bytes < 1 << 20
        {
            return refuse(
                "the limits are too low: at least 1 s, 8 processes, 1 processor, 32 MiB of memory, 1 MiB of disk"
                    .into(),
            );
        }
        for (name, value) in &self.environment {
            if !sound_variable(name, value) {
                return refuse(format!(
                    "the variable `{}` cannot be passed: names are letters, digits and `_`, and those that carry \
                     code or settings of bash, the loader or git are refused",
                    name.escape_debug()
                ));
            }
        }
        for mount in &self.mounts {
            if !sound_mount(&mount.inside) {
                return refuse(format!(
                    "`{}` is no place for a mount: use a path below `/opt/` or `/workspace/`",
                    mount.inside.display()
                ));
            }
        }
        Ok(())
    }
}

fn sound_variable(name: &str, value: &str) -> bool {
    const REFUSED: [&str; 10] = [
        "BASH_ENV",
        "ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "ZDOTDIR",
        "IFS",
        "PS4",
        "PROMPT_COMMAND",
        "HOME",
        "BASH",
    ];
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    let family = ["BASH_FUNC_", "LD_", "GIT_"].iter().any(|family| name.starts_with(family));
    plain && starts && !family && !REFUSED.contains(&name) && !value.contains('\0')
}

/// Absolute, plain names only: the path becomes part of an overlay's options.
fn sound_mount(path: &Path) -> bool {
    let Some(text) = path.to_str() else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte);
    let below =
        ["/opt/", "/workspace/"].iter().any(|root| text.strip_prefix(root).is_some_and(|r| !r.is_empty()));
    below
        && text.bytes().all(plain)
        && text.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..")
        && !text.starts_with("/workspace/.git/")
        && text != "/workspace/.git"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_carry_code_are_refused() {
        for name in ["CARGO_HOME", "PATH", "_X1"] {
            assert!(sound_variable(name, "/opt/x"), "{name}");
        }
        for name in ["", "1X", "A-B", "BASH_ENV", "LD_PRELOAD", "GIT_DIR", "BASH_FUNC_ls%%", "IFS", "A=B"] {
            assert!(!sound_variable(name, "x"), "{name}");
        }
        assert!(!sound_variable("X", "a\0b"));
    }

    #[test]
    fn mounts_have_their_places() {
        for path in ["/opt/toolchains/rust", "/workspace/target", "/opt/a/b-1.2+x"] {
            assert!(sound_mount(Path::new(path)), "{path}");
        }
        for path in [
            "/opt",
            "/opt/",
            "/etc/x",
            "/workspace/../etc",
            "/opt/a:b",
            "/opt/a,b",
            "/workspace/.git",
            "opt/x",
        ] {
            assert!(!sound_mount(Path::new(path)), "{path}");
        }
    }
}
