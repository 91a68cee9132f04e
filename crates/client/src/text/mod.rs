//! Every sentence that `enclos` says, in English, as constants and functions with parameters.
//!
//! A translation replaces this module and nothing else. Foreign text may be among the parameters: it is escaped where
//! rows are made, not here.

mod approvals;
mod demo;
pub(crate) mod help;
mod lab;
pub(crate) mod lineage;
mod policy;
mod session;
mod talk;
mod terminal;

pub(crate) use enclos_core::noun::{count, form};

pub(crate) use approvals::*;
pub(crate) use demo::*;
pub(crate) use lab::*;
pub(crate) use policy::*;
pub(crate) use session::*;
pub(crate) use talk::*;
pub(crate) use terminal::*;

/// Before the message of an error.
pub(crate) const ERROR: &str = "error: ";
/// Before a hint.
pub(crate) const HINT: &str = "hint: ";
/// Doing: writing a file.
pub(crate) const WRITE: &str = "write";
/// Doing: finding a folder.
pub(crate) const FIND: &str = "find";

/// A file that could not be used.
pub(crate) fn file_failed(doing: &str, path: &str, error: &str) -> String {
    format!("cannot {doing} `{path}`: {error}")
}

/// The standard output failed.
pub(crate) fn output_failed(error: &str) -> String {
    format!("cannot write to the standard output or the terminal: {error}")
}

/// Interactive without a terminal.
pub(crate) const NO_TERMINAL: &str = "this needs a terminal on both the standard input and the standard output: questions are never answered by a pipe";
/// The way out.
pub(crate) const HINT_HEADLESS: &str = "add `--headless` to run without a person";
/// The way out of a demonstration.
pub(crate) const HINT_YES: &str = "add `--yes` to let the demonstration answer the cards itself";
/// A headless run without a task.
pub(crate) const NO_TASK: &str = "a headless run needs a task";
/// A task without a word.
pub(crate) const EMPTY_TASK: &str = "the task is empty";
/// How to give a task.
pub(crate) const HINT_TASK: &str = "give the task as the last argument: enclos run \"fix the failing test\"";
/// A task from the standard input that has no end.
pub(crate) const TASK_TOO_LONG: &str = "the task on the standard input is over 1 MiB";

/// A task from the standard input that cannot be read.
pub(crate) fn task_unreadable(error: &str) -> String {
    format!("cannot read the task from the standard input: {error}")
}

/// `last` without any session.
pub(crate) const NO_SESSIONS_YET: &str = "there is no session yet";
/// How to make one.
pub(crate) const HINT_RUN: &str = "enclos run \"TASK\" opens one";
/// Where the names are.
pub(crate) const HINT_SESSIONS: &str = "`enclos sessions` lists them";

/// An ID of no session.
pub(crate) fn no_such_session(id: &str) -> String {
    format!("no session begins with `{id}`")
}

/// An ID of several sessions.
pub(crate) fn many_sessions(id: &str, count: usize) -> String {
    format!("`{id}` is the beginning of {count} sessions: give more of the name")
}

/// The runtime could not be made.
pub(crate) fn no_runtime(error: &str) -> String {
    format!("cannot start: {error}")
}

/// A run that ended without a word of why.
pub(crate) fn run_failed(code: u8) -> String {
    format!("the run ended with exit code {code}")
}
