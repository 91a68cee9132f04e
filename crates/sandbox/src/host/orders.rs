//! What a gateway and an execution host say to each other, as data. A gateway orders, a host answers; each order names
//! its session and the epoch of the lease under which it is given.
//!
//! Unknown fields and words are refused (which serde does of a variant with braces only). No path of either machine travels, but that of files below a tree.
use crate::background::{Background, Part as Written};
use crate::command::{Command, Exit};
use crate::plan::Limits;
use crate::report::Report;
use enclos_init::file::Fault;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of this language. Both sides speak the same one or do not speak.
pub const VERSION: u32 = 1;
/// How long a host keeps a sandbox for a gateway that it does not hear.
pub const LEASE: Duration = Duration::from_secs(5);

/// The first frame of a connection, from the gateway.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hello {
    /// The version that it speaks.
    pub(crate) version: u32,
}

/// What a host says of itself. Nothing of it is proved: it is the host's own claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The version that it speaks.
    pub version: u32,
    /// Milliseconds of its leases.
    pub lease_ms: u64,
    /// The user number that it runs as.
    pub uid: u32,
    /// Its process.
    pub pid: u32,
}

/// How the objects of a repository are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Naming {
    /// By SHA-1.
    Sha1,
    /// By SHA-256.
    Sha256,
}

/// The state of a person's tree that a base is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// The project, as the gateway names it: letters, digits, `-`, `_`, `.`.
    pub project: String,
    /// The commit's name.
    pub commit: String,
    /// What kind of name that is.
    pub naming: Naming,
}

/// Which of the host's toolchains, or of its package caches, a sandbox is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// All that are found.
    All,
    /// Those of these names.
    Only(Vec<String>),
}

impl Given {
    pub(crate) fn admits(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|known| known == name),
        }
    }
}

/// What a sandbox on a host is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The base; none for a tree without a commit.
    pub base: Option<Commit>,
    /// The branch that the private git directory is on; none for a detached one.
    pub branch: Option<String>,
    /// Toolchains of the host.
    pub toolchains: Given,
    /// Package caches of the host.
    pub caches: Given,
    /// Ceilings.
    pub limits: Limits,
}

/// One order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    /// The number under which the answers come.
    pub(crate) id: u32,
    /// The session.
    pub(crate) session: String,
    /// The epoch of its lease.
    pub(crate) epoch: u64,
    /// What is ordered.
    pub(crate) order: Order,
}

/// What can be ordered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Order {
    /// Is the base there? Answered by `Base`, and a manifest when it is.
    Base { base: Commit },
    /// Take the history of the base, in a stream of parts that follows. Answered as `Base`.
    History { base: Commit },
    /// Take what lies over the base, in a stream of things that follows.
    Over {},
    /// Open the sandbox.
    Open { wish: Wish },
    /// Run a command.
    Run { command: Command },
    /// Start a command in the background.
    Start { name: String, command: Command },
    /// List the commands in the background.
    Background {},
    /// Read what one of them wrote.
    ReadBackground { name: String, from: u64, most: u64 },
    /// Wait until one of them wrote more.
    WaitBackground { name: String, from: u64, most_ms: u64 },
    /// End one of them.
    KillBackground { name: String },
    /// Execute the file operation in the body.
    File {},
    /// End the commands under way.
    KillCommands {},
    /// End the sandbox, at once. What the session changed stays.
    Close {},
    /// The gateway is there.
    Renew {},
    /// Send what the session changed, as a stream of things.
    Fetch {},
    /// Remove what is kept of the session.
    Discard {},
}

/// One answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    /// The order's number.
    pub(crate) id: u32,
    /// What is answered.
    pub(crate) answer: Answer,
}

/// What can be answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Answer {
    /// It was not done.
    Refused { why: Refusal, message: String },
    /// To the greeting.
    Welcome { claim: Claim },
    /// To `Base` and `History`: whether it is there, and if not which commits of the project are. A manifest follows.
    Base { ready: bool, have: Vec<String> },
    /// To what has no other answer.
    Done {},
    /// To `Open`.
    Opened { report: Report, toolchains: Vec<String> },
    /// To `Run`, any number of times: what the command writes, in the body.
    Output { stderr: bool },
    /// To `Run`, the last.
    Exit { exit: Exit },
    /// To `File`, with the reply in the body.
    File {},
    /// To `File`: refused inside.
    Fault { fault: Fault },
    /// To `Background`.
    Background { commands: Vec<Background> },
    /// To `ReadBackground`.
    Written { part: Written },
    /// To `Fetch`: a stream of things follows.
    Things {},
}

/// Why something was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Another version of this language.
    Version,
    /// Given under an older epoch than one that the host has seen.
    Epoch,
    /// The session has no open sandbox here: it ended, or its lease did.
    Closed,
    /// The session is not known here.
    Unknown,
    /// Something of the session is under way.
    Busy,
    /// What was ordered cannot be meant.
    Bad,
    /// It was tried and failed.
    Failed,
}

/// A part of a stream: a piece of bytes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Piece {
    /// Whether another follows.
    pub(crate) more: bool,
    /// The sender could not go on: what came is worth nothing.
    pub(crate) broken: bool,
}
