//! What a session made, as a client shows it.

use enclos_core::label::Label;
use serde::{Deserialize, Serialize};

use crate::card::Flagged;

/// A file of the change set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileView {
    /// Its path.
    pub path: String,
    /// Its path before, when it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// `added`, `modified`, `deleted`, `renamed`, `mode` or `link`.
    pub change: String,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Whether it is not text.
    pub binary: bool,
    /// Why it needs its own yes; empty when it does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Why it stays here until it is released: its path may not hold what it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// The whole change set, to be shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangeSetView {
    /// The files.
    pub files: Vec<FileView>,
    /// The hunks of each file, in the same order.
    pub hunks: Vec<Vec<Hunk>>,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Files left out because the repository ignores them.
    pub ignored: u64,
    /// What can never be applied, with why.
    pub refused: Vec<Flagged>,
    /// What a person should know besides: what is committed elsewhere, what git keeps otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Digest of the set.
    pub digest: String,
    /// The patch, as `git apply` takes it.
    pub patch: String,
}

/// A hunk of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// First line in the old file, from 1; 0 when the file is new.
    pub old_start: u64,
    /// First line in the new file, from 1; 0 when the file is gone.
    pub new_start: u64,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What became of it.
    pub kind: LineKind,
    /// Its text, without the line's end; not escaped.
    pub text: String,
    /// Whether it is the last line and has no line's end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_newline: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// Unchanged.
    Context,
    /// Added.
    Added,
    /// Removed.
    Removed,
}

/// What an undo put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneView {
    /// The session.
    pub session: enclos_core::ids::SessionId,
    /// The workspace is as it was just before this call.
    pub to: enclos_core::ids::CallId,
    /// Files that have their former content or mode again.
    pub restored: Vec<String>,
    /// Files that are gone: they were made later.
    pub removed: Vec<String>,
    /// Files that are there again: they were removed later.
    pub recreated: Vec<String>,
    /// Folders of built and fetched things, which are left as they are.
    pub left_out: Vec<String>,
    /// The state in which the session is left.
    pub session_state: crate::event::SessionState,
}

/// What an acceptance applied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppliedView {
    /// Files applied as they were.
    pub files: Vec<String>,
    /// Files merged three-way, because the tree had moved.
    pub merged: Vec<String>,
    /// Files of the set that were not chosen.
    pub left: Vec<String>,
    /// The state in which the session is left.
    pub session_state: crate::event::SessionState,
}
