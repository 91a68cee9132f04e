//! A command and its end. A command is bash text; its end always says why, never a bare 124 or 137.
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A text for `bash --noprofile --norc -c --`, with limits that may only be tighter than the sandbox's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The text, at most 128 KiB less one byte, without NUL.
    pub text: String,
    /// Longest run in seconds; `None` or more than the sandbox's: the sandbox's.
    pub seconds: Option<u32>,
    /// Output kept in bytes; `None` or more than the sandbox's: the sandbox's.
    pub output_bytes: Option<u64>,
    /// Which part is kept of an output that is larger.
    pub keep: Keep,
    /// A terminal of its own, private to the sandbox, as its input and its two outputs, which are then one. Nobody types
    /// at it.
    pub terminal: bool,
}

/// Which part is kept of an output that is larger than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Keep {
    /// Its beginning.
    Head,
    /// Its beginning, and in a fifth of the room its end.
    HeadAndTail,
}

impl Command {
    /// A command under the sandbox's own limits.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), seconds: None, output_bytes: None, keep: Keep::Head, terminal: false }
    }
}

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code of bash, when it ended by itself.
    pub code: Option<i32>,
    /// Signal that ended bash.
    pub signal: Option<i32>,
    /// Why it was ended from outside.
    pub killed: Option<Killed>,
    /// From its start to the end of its whole tree.
    pub duration: Duration,
    /// What became of standard output.
    pub stdout: Counted,
    /// What became of standard error.
    pub stderr: Counted,
    /// The end of an output of which the end was to be kept and not all could be, in the order in which it came. What was
    /// handed out while the command ran is the beginning.
    pub tail: Vec<(Stream, Vec<u8>)>,
}

/// Bytes of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Handed to the caller, while it ran or with its end.
    pub kept: u64,
    /// Counted and thrown away.
    pub dropped: u64,
}

/// Why a command was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Killed {
    /// Its time was over.
    Timeout,
    /// The memory ceiling.
    Oom,
    /// A stop by [`crate::Killer`].
    Stop,
    /// The disk ceiling.
    Disk,
    /// The ceiling on processes.
    Processes,
}

impl Killed {
    /// The reason as one word, as scripts see it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Oom => "oom",
            Self::Stop => "stop",
            Self::Disk => "disk",
            Self::Processes => "processes",
        }
    }
}
