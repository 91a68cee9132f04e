//! What every command and every file operation loses before it starts: capabilities and their bounding set, paths
//! (Landlock), resources (rlimits), system calls (seccomp), in this order. A step that fails ends the child before
//! anything of the agent's runs.
use crate::fault::{At, Done, refused};
use crate::filter;
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::{HOME, LimitsIn, Setup, Step, WORKSPACE};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MountFlags as Flags, OpenTreeFlags};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::os::fd::AsFd;

/// Oldest version of Landlock that will do: with it files can be moved between folders (Linux 5.19).
const OLDEST_ABI: u32 = 2;
const READ: [&str; 12] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/run", "/proc"];
const WRITE: [&str; 4] = [WORKSPACE, "/tmp", "/dev", HOME];
/// Parts of `/proc` that tell of the machine and not of the command: closed.
const MASKED: [&str; 16] = [
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/modules",
    "/proc/sched_debug",
    "/proc/timer_list",
    "/proc/acpi",
    "/proc/asound",
    "/proc/bus",
    "/proc/scsi",
];

/// What is computed once for all children.
pub(crate) struct Confinement {
    filter: filter::Program,
    abi: ABI,
    write: Vec<String>,
    limits: LimitsIn,
}

impl Confinement {
    /// Prepares the filter and the lists.
    pub(crate) fn new(setup: &Setup) -> Done<Self> {
        let abi = usable_abi(sys::landlock_abi().at(Step::Landlock, "asking for Landlock")?)?;
        let mut write: Vec<String> = WRITE.iter().map(ToString::to_string).collect();
        write.extend(setup.mounts.iter().filter(|m| m.scratch.is_some()).map(|m| m.inside.clone()));
        Ok(Self { filter: filter::build(), abi, write, limits: setup.limits.clone() })
    }

    /// The version of Landlock's interface that is used.
    pub(crate) fn abi_number(&self) -> u32 {
        self.abi as u32
    }

    /// A control group holds the ceiling on processes and counts what it refuses: the limit of the kernel on each
    /// user is only a second line behind it.
    pub(crate) fn processes_held_by_group(&mut self) {
        self.limits.processes = self.limits.processes.saturating_add(64);
    }

    /// Confines a command, as PID 1 of its own namespace.
    pub(crate) fn command(&self) -> Done<()> {
        proc_fs()?;
        capabilities()?;
        let write: Vec<&str> = self.write.iter().map(String::as_str).collect();
        self.paths(&READ, &write)?;
        self.resources(None)?;
        filter::install(&self.filter)
    }

    /// Confines a file operation: the workspace and `/tmp`, nothing else.
    pub(crate) fn tool(&self) -> Done<()> {
        capabilities()?;
        self.paths(&[], &[WORKSPACE, "/tmp"])?;
        self.resources(Some(512 << 20))?;
        filter::install(&self.filter)
    }

    fn paths(&self, read: &[&str], write: &[&str]) -> Done<()> {
        let all = AccessFs::from_all(self.abi);
        let look = AccessFs::from_read(self.abi);
        let restrict = || -> Result<_, landlock::RulesetError> {
            let mut rules =
                Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
            if self.abi >= ABI::V4 {
                rules = rules.handle_access(AccessNet::from_all(self.abi))?;
            }
            if self.abi >= ABI::V6 {
                rules = rules.scope(Scope::from_all(self.abi))?;
            }
            rules
                .create()?
                .add_rules(path_beneath_rules(read, look))?
                .add_rules(path_beneath_rules(write, all))?
                .add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?
                .restrict_self()
        };
        match restrict() {
            Ok(status) if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs => Ok(()),
            Ok(_) => refused(Step::Landlock, "Landlock is in force only in part"),
            Err(error) => refused(Step::Landlock, format!("restricting paths: {error}")),
        }
    }

    fn resources(&self, address_space: Option<u64>) -> Done<()> {
        let wanted = [
            // Too small for any dump. With 0 a program that takes the host's dumps would still get them.
            (Resource::Core, Some(1)),
            (Resource::Nofile, Some(16 * 1024)),
            (Resource::Nproc, Some(u64::from(self.limits.processes))),
            (Resource::Memlock, Some(8 << 20)),
            (Resource::Msgqueue, Some(800 << 10)),
            (Resource::Fsize, Some(self.limits.disk_bytes)),
            (Resource::Rtprio, Some(0)),
            (Resource::Nice, Some(0)),
            (Resource::As, address_space),
        ];
        for (resource, value) in wanted {
            let Some(value) = value else { continue };
            let there = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
            let value = Some(value.min(there));
            rustix::process::setrlimit(resource, Rlimit { current: value, maximum: value })
                .at(Step::Limits, "setting a resource limit")?;
        }
        Ok(())
    }
}

/// The newest version that is known here and not newer than the kernel's, if it is new enough.
pub(crate) fn usable_abi(abi: u32) -> Done<ABI> {
    Ok(match abi {
        0 | 1 => {
            return refused(
                Step::Landlock,
                format!("Landlock's interface is version {abi}, {OLDEST_ABI} is needed"),
            );
        }
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    })
}

/// A `/proc` of the command's own processes, read-only, with the machine's parts masked.
fn proc_fs() -> Done<()> {
    let step = Step::Proc;
    let flags = Flags::NOSUID | Flags::NODEV | Flags::NOEXEC;
    // What may not be looked into is not seen either, the command's first process to begin with.
    rustix::mount::mount(c"proc", "/proc", c"proc", flags, c"hidepid=ptraceable")
        .at(step, "mounting the command's `/proc`")?;
    // First to die when memory is short. The file can be written only while the process is dumpable.
    sys::prctl(libc::PR_SET_DUMPABLE, 1).at(step, "offering the command to the memory killer")?;
    std::fs::write("/proc/self/oom_score_adj", "1000")
        .at(step, "offering the command to the memory killer")?;
    sys::prctl(libc::PR_SET_DUMPABLE, 0).at(step, "becoming unreadable to others")?;
    let path = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, "/proc", path, Mode::empty()).at(step, "opening `/proc`")?;
    sys::set_mount(root.as_fd(), MountFlags::DATA, false, None).at(step, "making `/proc` read-only")?;
    for masked in MASKED {
        let Ok(stat) = rustix::fs::stat(masked) else { continue };
        let folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
        let from = if folder { "/var/empty" } else { "/var/closed" };
        let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let cover = rustix::mount::open_tree(CWD, from, clone).at(step, "closing parts of `/proc`")?;
        crate::process::attach(cover.as_fd(), masked).at(step, "closing parts of `/proc`")?;
    }
    Ok(())
}

fn capabilities() -> Done<()> {
    let step = Step::Privileges;
    for number in 0..64 {
        // SAFETY: takes two numbers, no memory.
        let there = unsafe { libc::prctl(libc::PR_CAPBSET_READ, number, 0, 0, 0) };
        if there < 0 {
            break;
        }
        if there == 1 {
            sys::prctl(libc::PR_CAPBSET_DROP, number).at(step, "emptying the bounding set")?;
        }
    }
    rustix::thread::clear_ambient_capability_set().at(step, "clearing ambient capabilities")?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )
    .at(step, "dropping all capabilities")
}
