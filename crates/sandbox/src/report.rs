//! What an open sandbox really has: the level obtained and what holds each ceiling.
use crate::{platform, remedy};
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
    /// How the workspace is made.
    pub workspace: Workspace,
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

/// How the workspace of an open sandbox is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workspace {
    /// An overlay over the repository: nothing is copied but what changes.
    Overlay,
    /// A copy of the repository in the layer.
    Copy(Copied),
}

/// What is known of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Why there is one.
    pub since: String,
    /// Whether the file system shares the blocks of originals and copies (reflinks).
    pub shares_blocks: bool,
    /// Its files, folders and links.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// What was left out of it, with the reason each.
    pub left_out: Vec<String>,
}

impl Workspace {
    /// The word for the journal: `overlay`, `reflink` or `copy`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Copy(copied) if copied.shares_blocks => "reflink",
            Self::Copy(_) => "copy",
        }
    }
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
    /// A disk quota on the session's user number.
    Quota,
}

impl Level {
    /// Its word, in policies and in the journal.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Hard => "hard",
        }
    }
}

impl Report {
    /// How what is missing for [`Level::Hard`] can be had, one thing a text; empty when nothing is.
    pub fn mends(&self) -> Vec<String> {
        let grouped = |held: Enforcer| matches!(held, Enforcer::Cgroup1 | Enforcer::Cgroup2);
        let all_grouped = [self.memory, self.processes, self.cpus].into_iter().all(grouped);
        let lacks = [
            (!platform::is_own_uid(self.host_uid), remedy::own_user()),
            (!all_grouped, remedy::ceilings()),
            (self.disk != Enforcer::Quota, remedy::quota()),
        ];
        lacks.into_iter().filter_map(|(lacks, mend)| lacks.then_some(mend)).collect()
    }
}
