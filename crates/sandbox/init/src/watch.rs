//! The watch over ceilings while commands run: kills for want of memory and refused processes as the control group
//! counts them, or, where there is none, sums over the commands' processes; and the size of the session's layer.
//! It names which command has gone over and why; ending it is the caller's part.
use crate::counters::Counter;
use enclos_init::wire::{Counters, LimitsIn, Reason};
use rustix::process::Pid;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

mod disk;
mod held;

/// Time between two looks.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The state of the watch.
pub(crate) struct Watch {
    limits: LimitsIn,
    memory_kills: Option<Counter>,
    refused_processes: Option<Counter>,
    disk: disk::Disk,
    nameless: held::Looker,
    next: Instant,
}

/// What one command uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Use {
    bytes: u64,
    tasks: u64,
}

impl Watch {
    /// A watch over the ceilings of `limits` and the directory `layer`.
    pub(crate) fn new(limits: &LimitsIn, layer: OwnedFd) -> Self {
        Self {
            memory_kills: None,
            refused_processes: None,
            disk: disk::Disk::new(layer, limits.disk_bytes),
            nameless: held::Looker::new(),
            limits: limits.clone(),
            next: Instant::now(),
        }
    }

    /// Takes over the counters of control groups. `None` when the descriptors are not those announced.
    pub(crate) fn count(&mut self, which: Counters, fds: Vec<OwnedFd>) -> Option<()> {
        let mut fds = fds.into_iter();
        if which.memory {
            self.memory_kills = Some(Counter::new(fds.next()?, "oom_kill"));
        }
        if which.processes {
            self.refused_processes = Some(Counter::new(fds.next()?, "max"));
        }
        fds.next().is_none().then_some(())
    }

    /// Whether a process was killed for want of memory since this was last asked.
    pub(crate) fn memory_kill(&mut self) -> bool {
        self.memory_kills.as_mut().is_some_and(Counter::grown)
    }

    /// Forgets what was counted while no command ran: the next one is not to blame for it.
    pub(crate) fn forget(&mut self) {
        self.disk.settle();
        for counter in [&mut self.memory_kills, &mut self.refused_processes].into_iter().flatten() {
            counter.grown();
        }
    }

    /// Time until the next look is due.
    pub(crate) fn due_in(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks, when it is time, and names the commands that have to end. `commands` are their first processes.
    pub(crate) fn look(&mut self, commands: &[Pid]) -> Vec<(Pid, Reason)> {
        if commands.is_empty() || !self.due_in().is_zero() {
            return Vec::new();
        }
        self.next = Instant::now() + TICK;
        let nameless = &mut self.nameless;
        let mut held = || {
            let pids = || members(commands).into_iter().map(|(pid, _)| pid).collect();
            nameless.held(pids, &devices())
        };
        if self.disk.over(|| held().disk) {
            return commands.iter().map(|pid| (*pid, Reason::Disk)).collect();
        }
        let memory = self.memory_kills.as_mut().map(Counter::grown);
        let processes = self.refused_processes.as_mut().map(Counter::grown);
        if (memory, processes) == (Some(false), Some(false)) {
            return Vec::new();
        }
        let uses = uses(commands);
        let bytes: u64 = uses.values().map(|one| one.bytes).sum::<u64>();
        let tasks: u64 = uses.values().map(|one| one.tasks).sum::<u64>() + 1;
        let largest = |measure: fn(&Use) -> u64| {
            commands.iter().copied().max_by_key(|pid| uses.get(pid).map_or(0, measure))
        };
        let over = memory.unwrap_or_else(|| {
            let ceiling = self.limits.memory_bytes;
            let beside = in_memory() + held().memory;
            bytes + beside > ceiling && exact(commands) + beside > ceiling
        });
        if over {
            return largest(|one| one.bytes).map(|pid| (pid, Reason::Oom)).into_iter().collect();
        }
        if processes.unwrap_or(tasks >= u64::from(self.limits.processes)) {
            return largest(|one| one.tasks).map(|pid| (pid, Reason::Processes)).into_iter().collect();
        }
        Vec::new()
    }
}

/// What each command uses, its private memory only: pages that processes share are counted once, roughly.
fn uses(commands: &[Pid]) -> HashMap<Pid, Use> {
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let mut sums: HashMap<Pid, Use> = HashMap::new();
    for (pid, command) in members(commands) {
        let one = sums.entry(command).or_default();
        if let Some((resident, shared)) =
            std::fs::read_to_string(format!("/proc/{pid}/statm")).ok().and_then(|text| {
                let mut numbers = text.split(' ').skip(1).map(|part| part.parse::<u64>().unwrap_or(0));
                Some((numbers.next()?, numbers.next()?))
            })
        {
            one.bytes += resident.saturating_sub(shared) * page;
        }
        one.tasks += stat(pid).map_or(0, |(_, threads)| threads);
    }
    sums
}

/// The memory of all commands with shared pages divided among their users: exact, and dear.
fn exact(commands: &[Pid]) -> u64 {
    let share = |pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    members(commands).into_iter().filter_map(|(pid, _)| share(pid)).sum::<u64>() * 1024
}

/// The sandbox's file systems in memory, as far as they are in memory.
const IN_MEMORY: [&str; 4] = ["/tmp", "/dev/shm", "/home/agent", "/workspace/.git"];

/// What they hold, removed files that are open included.
fn in_memory() -> u64 {
    // What `tmpfs` calls itself.
    const TMPFS: i64 = 0x0102_1994;
    IN_MEMORY
        .iter()
        .filter_map(|path| rustix::fs::statfs(*path).ok())
        .filter(|stat| stat.f_type == TMPFS)
        .map(|stat| stat.f_blocks.saturating_sub(stat.f_bfree) * u64::try_from(stat.f_bsize).unwrap_or(0))
        .sum()
}

/// Their devices.
fn devices() -> Vec<u64> {
    IN_MEMORY.iter().filter_map(|path| rustix::fs::stat(*path).ok()).map(|stat| stat.st_dev).collect()
}

/// Every process and the command it belongs to. In a command's namespace every orphan goes to its first process, so
/// the chain of parents always leads there.
fn members(commands: &[Pid]) -> Vec<(i32, Pid)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<i32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parents: HashMap<i32, i32> =
        all.iter().filter_map(|pid| stat(*pid).map(|(parent, _)| (*pid, parent))).collect();
    let first: HashMap<i32, Pid> = commands.iter().map(|pid| (pid.as_raw_pid(), *pid)).collect();
    let owner = |mut pid: i32| {
        for _ in 0..=parents.len() {
            if let Some(command) = first.get(&pid) {
                return Some(*command);
            }
            pid = *parents.get(&pid)?;
        }
        None
    };
    all.into_iter().filter_map(|pid| Some((pid, owner(pid)?))).collect()
}

/// Parent and number of threads of a process.
fn stat(pid: i32) -> Option<(i32, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets included.
    let rest = text.rsplit_once(") ")?.1;
    let mut fields = rest.split(' ');
    Some((fields.nth(1)?.parse().ok()?, fields.nth(15)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_own_process() {
        let own = i32::try_from(std::process::id()).unwrap();
        let (parent, threads) = stat(own).unwrap();
        assert!(parent > 0 && threads >= 1);
        let pid = Pid::from_raw(own).unwrap();
        let sums = uses(&[pid]);
        assert!(sums[&pid].bytes > 0 && sums[&pid].tasks >= 1);
        assert!(exact(&[pid]) > 0);
    }
}
