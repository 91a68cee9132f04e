//! The only place that lets something happen in a sandbox, and what it asks for it: the receipt of the journal.
//!
//! [`perform`] takes the [`Receipt`] of the intent by value: one receipt, one execution, and nothing runs that the
//! journal does not know. [`peek`] reads a file for a person's card; it is no act of the agent and changes nothing.

use std::sync::Arc;

use enclos_core::args::Args;
use enclos_core::ids::CallId;
use enclos_protocol::event::ResultFacts;
use enclos_sandbox::file::Looked;
use enclos_sandbox::{Command, Exit, FileError, FileOp, FileReply, OpenError, Plan, RunError, Stream};
use enclos_store::Receipt;
use tokio::sync::mpsc::UnboundedSender;

use crate::tool_result::{self, Kept};
use crate::workplace::Workplace;

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// An operation on files.
    File(FileOp),
    /// A command.
    Command(String),
}

/// What comes back from a running call.
#[derive(Debug)]
pub(crate) enum Report {
    /// A fragment of a command's output.
    Output { call: CallId, text: String, stderr: bool },
    /// The end.
    Done { call: CallId, outcome: Outcome },
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What the model is told.
    pub text: String,
    /// Whether the call failed, timed out or was killed.
    pub failed: bool,
    /// What is told of it, and journaled.
    pub facts: ResultFacts,
}

impl Action {
    /// The action of a built-in tool. `None` when the tool is not one of them.
    pub(crate) fn of(tool: &str, args: &Args) -> Option<Self> {
        let text = |name: &str| args.value().get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let number = |name: &str| args.value().get(name).and_then(serde_json::Value::as_u64);
        let path = || text("path").unwrap_or_else(|| ".".to_owned());
        Some(match tool {
            "read" => Self::File(FileOp::Read {
                path: text("path")?,
                offset_line: number("offset").unwrap_or(1),
                limit_lines: u32::try_from(number("limit").unwrap_or(2000)).unwrap_or(2000),
                max_bytes: tool_result::SHOWN_BYTES,
            }),
            "list" => Self::File(FileOp::List { path: text("path")? }),
            "glob" => Self::File(FileOp::Glob { pattern: text("pattern")?, path: path() }),
            "grep" => {
                Self::File(FileOp::Grep { regex: text("pattern")?, path: path(), include: text("include") })
            }
            "write" => Self::File(FileOp::Write { path: text("path")?, content: text("content")? }),
            "edit" => Self::File(FileOp::Edit { path: text("path")?, old: text("old")?, new: text("new")? }),
            "delete" => {
                let recursive =
                    args.value().get("recursive").and_then(serde_json::Value::as_bool).unwrap_or(false);
                Self::File(FileOp::Delete { path: text("path")?, recursive })
            }
            "bash" => Self::Command(text("command")?),
            _ => return None,
        })
    }
}

/// A sandbox will be opened soon: what does not depend on which can be made while the rest is found out.
pub(crate) fn expect_sandbox() {
    enclos_sandbox::make_ready();
}

/// Opens the sandbox of a session on this machine. What runs in it still needs a receipt each.
pub(crate) fn open(plan: &Plan) -> Result<Workplace, OpenError> {
    enclos_sandbox::open(plan).map(Workplace::Here)
}

/// Performs the action of a call whose intent is in the journal, and reports until its end. Returns at once.
pub(crate) fn perform(
    receipt: Receipt,
    sandbox: Arc<Workplace>,
    call: CallId,
    action: Action,
    reports: UnboundedSender<Report>,
) {
    tokio::task::spawn_blocking(move || {
        let started = std::time::Instant::now();
        let mut outcome = match action {
            Action::File(op) => file(&sandbox, &op),
            Action::Command(text) => command(&sandbox, text, &call, &reports),
        };
        outcome.facts.duration_ms = started.elapsed().as_secs_f64() * 1e3;
        // The receipt is spent when the act is over; the session may be gone by then, and needs no report.
        drop(receipt);
        drop(reports.send(Report::Done { call, outcome }));
    });
}

fn file(sandbox: &Workplace, op: &FileOp) -> Outcome {
    match sandbox.file(op) {
        Ok(reply) => tool_result::of_file(&reply),
        Err(error) => failed(error.to_string()),
    }
}

fn command(sandbox: &Workplace, text: String, call: &CallId, reports: &UnboundedSender<Report>) -> Outcome {
    let mut kept = Kept::default();
    let mut decoders = [tool_result::Decoder::default(), tool_result::Decoder::default()];
    let mut output = |stream: Stream, bytes: &[u8]| {
        kept.take(bytes);
        let stderr = stream == Stream::Stderr;
        let text = decoders[usize::from(stderr)].decode(bytes);
        if !text.is_empty() {
            drop(reports.send(Report::Output { call: call.clone(), text, stderr }));
        }
    };
    match sandbox.run(&Command::new(text), &mut output) {
        Ok(exit) => tool_result::of_command(&exit, &kept),
        Err(error) => failed(error.to_string()),
    }
}

fn failed(error: String) -> Outcome {
    Outcome { text: error, failed: true, facts: ResultFacts::default() }
}

/// Runs a command for a person, outside any session: `enclos sandbox run`.
pub(crate) fn run_for_person(
    sandbox: &Workplace,
    text: &str,
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Exit, RunError> {
    sandbox.run(&Command::new(text), output)
}

/// Reads a file for a card. `None`: there is no such file.
pub(crate) fn peek(sandbox: &Workplace, path: &str, most: u64) -> Result<Option<Vec<u8>>, FileError> {
    match sandbox.file(&FileOp::ReadBytes { path: path.to_owned(), max: most }) {
        Ok(FileReply::Bytes { bytes, .. }) => Ok(Some(bytes)),
        Ok(_) => Ok(None),
        Err(FileError::Refused(fault)) if fault.kind == enclos_sandbox::FaultKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the words of a command name, and whether there is more of it than is told.
pub(crate) fn look(sandbox: &Workplace, words: Vec<String>) -> Result<(Vec<Looked>, bool), FileError> {
    match sandbox.file(&FileOp::Look { words })? {
        FileReply::Look { seen, more } => Ok((seen, more)),
        // Another answer than the one to the question tells nothing.
        _ => Ok((Vec::new(), true)),
    }
}

/// Whether a name in the workspace is a link. `None`: there is no such name.
pub(crate) fn is_link(sandbox: &Workplace, path: &str) -> Option<bool> {
    match sandbox.file(&FileOp::Stat { path: path.to_owned() }) {
        Ok(FileReply::Stat(entry)) => Some(entry.kind == enclos_sandbox::file::Kind::Link),
        Err(FileError::Refused(fault)) if fault.kind == enclos_sandbox::FaultKind::NotFound => None,
        // What cannot be looked at is taken for a link: no pattern covers it.
        Ok(_) | Err(_) => Some(true),
    }
}
