//! What an open sandbox really has: the level obtained and what holds each ceiling.
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What was obtained at opening.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The level of confinement.
    pub level: Level,
    /// Time from the call of `open` to its return.
    pub opened_in: Duration,
    /// The host's user number that the agent runs as; never 0.
    pub host_uid: u32,
    /// Version of Landlock's interface in force.
    pub landlock_abi: u32,
    /// What holds the memory ceiling.
    pub memory: Enforcer,
    /// What holds the ceiling on processes.
    pub processes: Enforcer,
    /// What holds the share of the processors.
    pub cpus: Enforcer,
    /// What holds the ceiling on disk.
    pub disk: Enforcer,
    /// Why the level is not `Hard`, one reason a line; empty when it is.
    pub missing: Vec<String>,
}

/// Levels of confinement. There is nothing below `Standard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// Every layer of isolation; some ceilings held by rlimits and a watchdog.
    Standard,
    /// Every layer, a control group for each ceiling, a disk quota and a user number of its own.
    Hard,
}

/// What holds a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enforcer {
    /// Control groups, version 2.
    Cgroup2,
    /// Control groups, version 1.
    Cgroup1,
    /// A limit of the kernel on each process or user, and the watchdog.
    Rlimit,
    /// The init's watchdog, ten times a second.
    Watchdog,
    /// The set of processors that the sandbox may run on.
    Affinity,
}
