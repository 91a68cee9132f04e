//! Opening a sandbox. The steps are in their own modules; here is their order, and that everything made so far goes
//! away when one fails.
mod handover;

use crate::cgroup::Groups;
use crate::error::{OpenError, Place};
use crate::launch::{self, Given, Launch};
use crate::oci::{self, Oci};
use crate::plan::{Access, Backend, Limits, Plan};
use crate::platform::{self, Identity};
use crate::quota::Quota;
use crate::report::{Enforcer, Level, Report, Workspace};
use crate::sandbox::{Life, Sandbox};
use crate::state::{self, Layer};
use crate::unmask::Masked;
use crate::{copy, git, mask};
use enclos_init::channel::{self, Frame};
use enclos_init::wire::{Counters, Failure, Kind, Ready, Setup, Step};
use handover::{Handover, set_up};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::thread::CpuSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time for the whole set-up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens a sandbox as the plan says, or fails with the step that failed.
///
/// One refusal leads to a second try: that the kernel takes no overlay of these folders. Then the workspace is a copy, if
/// the session has written nothing yet. The confinement is the same.
pub fn open(plan: &Plan) -> Result<Sandbox, OpenError> {
    let start = Instant::now();
    plan.check()?;
    platform::check()?;
    launch::make_ready();
    match attempt(plan, start, None) {
        Err(Unopened { error, no_overlay: true }) => {
            let why = error.source.as_ref().map_or_else(|| error.message.clone(), ToString::to_string);
            let since = format!("the kernel takes no overlay of these folders ({why})");
            attempt(plan, start, Some(since)).map_err(|unopened| unopened.error)
        }
        other => other.map_err(|unopened| unopened.error),
    }
}

/// Why an attempt failed.
struct Unopened {
    error: OpenError,
    /// The kernel takes no overlay of these folders, and a copy may take its place.
    no_overlay: bool,
}

impl From<OpenError> for Unopened {
    fn from(error: OpenError) -> Self {
        Self { error, no_overlay: false }
    }
}

/// One attempt, with a copy because of `since`, or as the plan and the layer say.
fn attempt(plan: &Plan, start: Instant, since: Option<String>) -> Result<Sandbox, Unopened> {
    let identity = platform::identity();
    let workspace = open_folder(&plan.workspace).at(Step::Plan, "opening the repository")?;
    let root_mode = rustix::fs::fstat(&workspace).at(Step::Plan, "looking at the repository")?.st_mode;
    let thrown_away = plan.mounts.iter().filter(|mount| mount.access == Access::ThrowAway).count();
    let layer = state::prepare(&plan.layer, identity, plan.owner, root_mode, thrown_away)?;
    let hidden = mask::compute(&workspace, plan.hidden.iter().chain(&plan.masked))?;
    let git = plan.git.as_deref().map(|git| git::read(git, &plan.workspace)).transpose()?;
    let order = copy::Order {
        from: &workspace,
        layer: &layer.directory,
        hidden: &hidden,
        owner: (identity == Identity::Root).then_some(layer.owner),
        ceiling: plan.limits.disk_bytes,
        git: git.is_some(),
    };
    let made = copy::choose(plan, &order, since)?;

    let mut given = Handover::new(identity, layer.owner);
    let mut setup = set_up(plan, git, root_mode, &made, &mut given)?;
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
    let ready = wait_until_ready(&life).map_err(|mut unopened| {
        // A session that has written something goes on with what it wrote, or not at all.
        unopened.no_overlay &= copy::may_begin(plan, &life.layer.directory);
        unopened
    })?;
    put_limits_in_force(&life)?;
    if identity == Identity::Root {
        match Quota::hold(&life.layer.directory, life.layer.owner.0, plan.limits.disk_bytes) {
            Ok(quota) => life.quota = Some(quota),
            Err(error) => life.groups.missing.push(format!("disk quota: {error}")),
        }
    }
    let report = report(&life, identity, ready, made.workspace, start);
    let masked = Masked::new(workspace, plan);
    Ok(Sandbox::new(life, plan.limits.clone(), report, masked))
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

/// The init's first answer.
fn wait_until_ready(life: &Life) -> Result<Ready, Unopened> {
    let control = &life.shared.started.control;
    let patience = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    loop {
        match rustix::event::poll(&mut [PollFd::new(control, PollFlags::IN)], Some(&patience)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => Err(errno).at(Step::Ready, "waiting for the init")?,
            Ok(0) => Err(OpenError::new(Step::Ready, "the init does not answer"))?,
            Ok(_) => break,
        }
    }
    match channel::receive(control).at(Step::Ready, "hearing the init")? {
        None => Err(life.shared.started.trouble().into()),
        Some(Frame { kind: Kind::Ready, body, .. }) => {
            Ok(serde_json::from_slice(&body).at(Step::Ready, "understanding the init")?)
        }
        Some(Frame { kind: Kind::Failed, body, .. }) => {
            let failure: Failure = serde_json::from_slice(&body).at(Step::Ready, "understanding the init")?;
            let source = (failure.errno != 0).then(|| io::Error::from_raw_os_error(failure.errno));
            let error = OpenError { source, ..OpenError::new(failure.step, failure.message) };
            Err(Unopened { error, no_overlay: failure.no_overlay })
        }
        Some(_) => Err(OpenError::new(Step::Ready, "the init answers something else").into()),
    }
}

/// Hands the init the ways into its groups, and their counters: only after that it makes children. The caller goes on
/// meanwhile; [`Life`] hears whether it went in before anything is run.
fn put_limits_in_force(life: &Life) -> Result<(), OpenError> {
    let what = "putting the limits in force";
    let groups = &life.groups;
    let ways_in = groups.ways_in().at(Step::Limits, what)?;
    let which = Counters {
        memory: groups.memory_counter.is_some(),
        processes: groups.process_counter.is_some(),
        ways_in: u8::try_from(ways_in.len()).unwrap_or(u8::MAX),
    };
    let body = serde_json::to_vec(&which).at(Step::Limits, what)?;
    let counters = [&groups.memory_counter, &groups.process_counter];
    let fds: Vec<_> = counters.into_iter().flatten().chain(&ways_in).map(AsFd::as_fd).collect();
    channel::send(&life.shared.started.control, Kind::Counters, 0, &body, &fds).at(Step::Limits, what)?;
    life.limits_are_coming();
    Ok(())
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

fn report(life: &Life, identity: Identity, ready: Ready, workspace: Workspace, start: Instant) -> Report {
    let groups = &life.groups;
    let mut missing = groups.missing.clone();
    missing.extend(ready.remarks.into_iter().map(|remark| format!("mounts: {remark}")));
    if life.quota.is_none() {
        missing.push("disk: held by a limit on each file and the watchdog, not by a quota".into());
    }
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
        level: if missing.is_empty() { Level::Hard } else { Level::Standard },
        opened_in: start.elapsed(),
        host_uid: life.layer.owner.0,
        landlock_abi: ready.landlock_abi,
        workspace,
        memory: groups.memory.unwrap_or(Enforcer::Watchdog),
        processes: groups.processes.unwrap_or(Enforcer::Rlimit),
        cpus: groups.cpus.unwrap_or(Enforcer::Affinity),
        disk: if life.quota.is_some() { Enforcer::Quota } else { Enforcer::Watchdog },
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
