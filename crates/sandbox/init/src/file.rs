//! The file tools' questions and answers. They are executed inside the sandbox by a confined child of the init;
//! this file is only their shape. Paths are relative to `/workspace`, or absolute below `/workspace` or `/tmp`.
use serde::{Deserialize, Serialize};

/// Most lines that one `Read` answers.
pub const READ_LINES: u32 = 2_000;
/// Most entries that `List` and `Glob` answer.
pub const ENTRIES: usize = 1_000;
/// Most hits that `Grep` answers.
pub const HITS: usize = 200;
/// Largest file that `Write` makes and `Edit` reads, in bytes.
pub const WHOLE_FILE: u64 = 8 * 1024 * 1024;

/// One operation on files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum FileOp {
    /// Lines of a text file.
    Read {
        /// The file.
        path: String,
        /// First line wanted, counted from 1.
        offset_line: u64,
        /// Lines wanted, at most [`READ_LINES`].
        limit_lines: u32,
        /// Bytes of text wanted at most; a line that goes over is cut at a character.
        max_bytes: u32,
    },
    /// The entries of a directory, sorted by name.
    List {
        /// The directory.
        path: String,
    },
    /// Paths that match a pattern, ignored files left out, sorted.
    Glob {
        /// A pattern such as `**/*.rs`, matched against paths relative to `path`.
        pattern: String,
        /// Where to look.
        path: String,
    },
    /// Lines that match a regular expression (linear time), ignored and binary files left out.
    Grep {
        /// The expression.
        regex: String,
        /// Where to look: a directory or a file.
        path: String,
        /// Only files whose path matches this pattern.
        include: Option<String>,
    },
    /// Makes or replaces a file; missing directories are made.
    Write {
        /// The file.
        path: String,
        /// Its new content.
        content: String,
    },
    /// Replaces the one exact occurrence of a text.
    Edit {
        /// The file.
        path: String,
        /// The text to replace; it must occur exactly once.
        old: String,
        /// What to put in its place.
        new: String,
    },
    /// Removes a file or a link, or a directory with all it holds.
    Delete {
        /// What to remove.
        path: String,
        /// Allows a directory.
        recursive: bool,
    },
    /// The bytes of a file, for showing a change.
    ReadBytes {
        /// The file.
        path: String,
        /// Most bytes wanted.
        max: u64,
    },
    /// What a path is, without following a final link.
    Stat {
        /// The path.
        path: String,
    },
    /// What the words of a command name, as it is now.
    Look {
        /// The words; `*`, `?` and `[` are patterns in them.
        words: Vec<String>,
    },
}

/// What the program for file operations is asked: JSON, and behind it raw bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// An operation of a file tool.
    Op(FileOp),
    /// To put a file of the repository where it was masked. Its content is the raw bytes.
    Reveal(Reveal),
}

/// A file or link of the repository that is to be there from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Its path from the root of the workspace.
    pub path: String,
    /// Its permission bits.
    pub mode: u32,
    /// When it was changed: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// It is a link, and the raw bytes are its target.
    pub link: bool,
}

/// The answer to a [`FileOp`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case", deny_unknown_fields)]
pub enum FileReply {
    /// To `Read`.
    Read {
        /// The lines, with their ends.
        text: String,
        /// Number of the first line in `text`, counted from 1.
        first_line: u64,
        /// Lines in `text`, the last one possibly cut.
        lines: u64,
        /// Whether the file goes on after `text`.
        more: bool,
        /// Size of the file in bytes.
        size: u64,
    },
    /// To `List`.
    List {
        /// At most [`ENTRIES`].
        entries: Vec<Entry>,
        /// Entries left out.
        left_out: u64,
    },
    /// To `Glob`.
    Glob {
        /// At most [`ENTRIES`] paths, relative to `/workspace` when below it.
        paths: Vec<String>,
        /// Whether there are more.
        more: bool,
    },
    /// To `Grep`.
    Grep {
        /// At most [`HITS`].
        hits: Vec<Hit>,
        /// Whether there are more.
        more: bool,
    },
    /// To `Write`.
    Written {
        /// Size of the file, in bytes.
        bytes: u64,
        /// Whether the file is new.
        created: bool,
    },
    /// To `Edit`.
    Edited {
        /// Line where the change begins, counted from 1.
        line: u64,
    },
    /// To `Delete`.
    Deleted {
        /// Files, links and directories removed.
        entries: u64,
    },
    /// To `ReadBytes`.
    Bytes {
        /// Size of the whole file, in bytes.
        size: u64,
        /// Its first bytes. They travel beside the JSON, raw.
        #[serde(skip)]
        bytes: Vec<u8>,
    },
    /// To `Stat`.
    Stat(Entry),
    /// To a [`Reveal`].
    Revealed {
        /// Whether it is there now. If not, something else of that name was.
        there: bool,
    },
    /// To `Look`.
    Look {
        /// What is there, by path.
        seen: Vec<Looked>,
        /// Whether more is named than is told.
        more: bool,
    },
}

/// Something that a command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// Its path, relative to the workspace where it is below it.
    pub path: String,
    /// The path with every link resolved; nothing when a link leads nowhere or out.
    pub leads: Option<String>,
    /// What the path itself is.
    pub kind: Kind,
    /// Whether it is, or leads to, a folder.
    pub folder: bool,
    /// Size in bytes of what it leads to; 0 for a folder.
    pub size: u64,
    /// Permissions of what it leads to.
    pub mode: u32,
    /// When what it leads to was last changed, in nanoseconds; no program can set it. 0 for a folder.
    pub changed: i64,
    /// Where a link points, as written in it.
    pub target: Option<String>,
    /// Whether a word names it, and not only a folder that holds it.
    pub named: bool,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name (for `Stat`, the path asked for). Bytes that are not UTF-8 are shown as `\xNN`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Size in bytes; of a link, the length of its target.
    pub size: u64,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// Where a link points, as written in it.
    pub target: Option<String>,
}

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hit {
    /// The file, relative to `/workspace` when below it.
    pub path: String,
    /// The line's number, counted from 1.
    pub line: u64,
    /// The line, at most 500 characters of it, bytes that are not UTF-8 shown as U+FFFD.
    pub text: String,
}

/// Why a file operation was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The kind, for programs.
    pub kind: FaultKind,
    /// The reason and how to mend it, for the model and the person.
    pub message: String,
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Nothing has that name.
    NotFound,
    /// The path, or a link on it, leads out of the workspace.
    LeadsOut,
    /// It is of the wrong kind: a directory, a link, a pipe where a file is needed.
    WrongKind,
    /// The content is not UTF-8 text.
    NotText,
    /// Too large for this tool.
    TooLarge,
    /// The text to replace does not occur.
    NoMatch,
    /// The text to replace occurs more than once.
    ManyMatches,
    /// A pattern or an argument cannot be used.
    BadArgument,
    /// The file's permissions forbid it.
    Denied,
    /// No room is left.
    Full,
    /// Any other refusal of the system.
    System,
}
