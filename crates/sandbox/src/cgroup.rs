//! Control groups for one sandbox: version 2 where a part of the tree is ours to use, version 1 where root finds it
//! mounted. What cannot be had is named, and held by limits of the kernel and the init's watchdog instead.
//!
//! Groups are named after this process, so that those of a gateway that was killed can be told apart and removed.
mod engine;
mod tree;

use crate::plan::Limits;
use crate::report::Enforcer;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static COUNT: AtomicU32 = AtomicU32::new(0);
/// Processor time is given out in slices of this many microseconds.
const PERIOD: u64 = 100_000;
/// Room for the init and the first processes of commands.
const OVERHEAD: u64 = 16;
/// Room for those, and for what an engine has in the group of a container.
pub(crate) const AROUND: u64 = 64;

/// The groups of one sandbox. Dropping it removes them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    made: Vec<PathBuf>,
    /// Which version holds each ceiling.
    pub(crate) memory: Option<Enforcer>,
    pub(crate) processes: Option<Enforcer>,
    pub(crate) cpus: Option<Enforcer>,
    /// A file with a line `oom_kill N`.
    pub(crate) memory_counter: Option<OwnedFd>,
    /// A file with a line `max N`.
    pub(crate) process_counter: Option<OwnedFd>,
    /// What could not be had, and why.
    pub(crate) missing: Vec<String>,
}

impl Groups {
    /// Makes what can be had. Nothing is in the groups yet.
    pub(crate) fn make(limits: &Limits) -> Self {
        let mut groups = Self::default();
        let name = format!("enclos-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let Some(found) = tree::find() else {
            groups.missing.push("control groups: none is mounted where this process is".into());
            return groups;
        };
        match found {
            tree::Found::Two(parent) => {
                if let Err(error) = groups.two(&parent, &name, limits) {
                    groups.missing.push(format!("control groups, version 2: {error}"));
                }
            }
            tree::Found::One { memory, pids, cpu } => groups.one([memory, pids, cpu], &name, limits),
        }
        groups
    }

    /// The groups of a container whose first process `pid` has no child yet: groups of our own, into which it is moved, or,
    /// where there can be none, those that its engine made, when they hold what is wanted.
    pub(crate) fn of_container(pid: i32, limits: &Limits) -> io::Result<Self> {
        let groups = Self::make(limits);
        if groups.memory.is_none() || groups.processes.is_none() {
            let own = std::fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
            if let Some(held) = engine::find(&own, Path::new(tree::MOUNT), limits) {
                return Self::of_engine(&held);
            }
        }
        groups.door().enter(pid)?;
        Ok(groups)
    }

    fn of_engine(held: &engine::Held) -> io::Result<Self> {
        let mut groups = Self::default();
        groups.memory = Some(Enforcer::Cgroup2);
        groups.processes = Some(Enforcer::Cgroup2);
        groups.cpus = held.cpus.then_some(Enforcer::Cgroup2);
        groups.memory_counter = Some(File::open(held.memory.join("memory.events"))?.into());
        groups.process_counter = Some(File::open(held.processes.join("pids.events"))?.into());
        Ok(groups)
    }

    /// What moves a process into the groups.
    pub(crate) fn door(&self) -> Door {
        Door(self.made.iter().map(|group| group.join("cgroup.procs")).collect())
    }

    /// The files through which a process with one thread goes into the groups by itself. The kernel asks who opened them.
    pub(crate) fn ways_in(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |group: &PathBuf| {
            // Of version 1: moving one thread needs no pause of the whole machine, which moving a process does.
            let thread = group.join("tasks");
            let way = if thread.exists() { thread } else { group.join("cgroup.procs") };
            Ok(File::options().write(true).open(way)?.into())
        };
        self.made.iter().map(open).collect()
    }

    fn two(&mut self, parent: &Path, name: &str, limits: &Limits) -> io::Result<()> {
        let group = self.add(parent, name)?;
        std::fs::write(group.join("memory.max"), limits.memory_bytes.to_string())?;
        // Absent where there is no swap.
        let _ = std::fs::write(group.join("memory.swap.max"), "0");
        std::fs::write(group.join("pids.max"), (u64::from(limits.processes) + OVERHEAD).to_string())?;
        let cpus = std::fs::write(group.join("cpu.max"), format!("{} {PERIOD}", quota(limits)));
        self.memory_counter = Some(File::open(group.join("memory.events"))?.into());
        self.process_counter = Some(File::open(group.join("pids.events"))?.into());
        self.memory = Some(Enforcer::Cgroup2);
        self.processes = Some(Enforcer::Cgroup2);
        match cpus {
            Ok(()) => self.cpus = Some(Enforcer::Cgroup2),
            Err(error) => self.missing.push(format!("control group for processors: {error}")),
        }
        Ok(())
    }

    fn one(&mut self, parents: [Option<PathBuf>; 3], name: &str, limits: &Limits) {
        let [memory, pids, cpu] = parents;
        let bytes = limits.memory_bytes.to_string();
        let tasks = (u64::from(limits.processes) + OVERHEAD).to_string();
        let period = PERIOD.to_string();
        let quota = quota(limits).to_string();
        let made = self.controller(memory, name, &[("memory.limit_in_bytes", &bytes)], "memory");
        if let Some(group) = made {
            // Absent where swap is not counted.
            let _ = std::fs::write(group.join("memory.memsw.limit_in_bytes"), &bytes);
            self.memory_counter = File::open(group.join("memory.oom_control")).ok().map(Into::into);
            self.memory = self.memory_counter.is_some().then_some(Enforcer::Cgroup1);
        }
        if let Some(group) = self.controller(pids, name, &[("pids.max", &tasks)], "processes") {
            self.process_counter = File::open(group.join("pids.events")).ok().map(Into::into);
            self.processes = self.process_counter.is_some().then_some(Enforcer::Cgroup1);
        }
        let share: [(&str, &str); 2] = [("cpu.cfs_period_us", &period), ("cpu.cfs_quota_us", &quota)];
        if self.controller(cpu, name, &share, "processors").is_some() {
            self.cpus = Some(Enforcer::Cgroup1);
        }
    }

    fn controller(
        &mut self,
        parent: Option<PathBuf>,
        name: &str,
        values: &[(&str, &str)],
        what: &str,
    ) -> Option<PathBuf> {
        let made = || -> io::Result<PathBuf> {
            let parent = parent.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            let group = self.add(&parent, name)?;
            for (file, value) in values {
                std::fs::write(group.join(file), value)?;
            }
            Ok(group)
        };
        match made() {
            Ok(group) => Some(group),
            Err(error) => {
                self.missing.push(format!("control group for {what}: {error}"));
                None
            }
        }
    }

    fn add(&mut self, parent: &Path, name: &str) -> io::Result<PathBuf> {
        sweep(parent);
        let group = parent.join(name);
        std::fs::create_dir(&group)?;
        self.made.push(group.clone());
        Ok(group)
    }
}

/// The way into the groups of a sandbox. Going in may take the kernel a while when the machine is busy.
#[derive(Debug)]
pub(crate) struct Door(Vec<PathBuf>);

impl Door {
    /// Moves the process `pid`, which has no children yet, into every group.
    pub(crate) fn enter(&self, pid: i32) -> io::Result<()> {
        self.0.iter().try_for_each(|file| std::fs::write(file, pid.to_string()))
    }
}

fn quota(limits: &Limits) -> u64 {
    u64::from(limits.cpus.max(1)) * PERIOD
}

/// Removes groups of gateways that are gone. One that is still in use cannot be removed, which is as it should be.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner: Option<u32> =
            name.to_str().and_then(|name| name.strip_prefix("enclos-")?.split('-').next()?.parse().ok());
        if let Some(owner) = owner
            && owner != std::process::id()
            && !Path::new(&format!("/proc/{owner}")).exists()
        {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in &self.made {
            // The kernel may need a moment to see that the last process is gone.
            for _ in 0..50 {
                match std::fs::remove_dir(group) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }
}
