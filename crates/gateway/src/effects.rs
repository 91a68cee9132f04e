//! The only place that lets something happen in a sandbox, and what it asks for it: the receipt of the journal.
//!
//! [`perform`] takes the [`Receipt`] of the intent by value: one receipt, one execution, and nothing runs that the
//! journal does not know. [`peek`] reads a file for a person's card; it is no act of the agent and changes nothing.

mod background;

use std::sync::Arc;

use enclos_core::args::Args;
use enclos_core::ids::CallId;
use enclos_core::policy::OutputKeep;
use enclos_core::tool;
use enclos_protocol::event::ResultFacts;
use enclos_sandbox::file::Looked;
use enclos_sandbox::{
    Background, Command, Exit, FileError, FileOp, FileReply, Keep, OpenError, Plan, RunError, Stream,
};
use enclos_store::Receipt;
use tokio::sync::mpsc::UnboundedSender;

use crate::shown::{self, Decoder, Kept};
use crate::tool_result;
use crate::workplace::Workplace;

pub(crate) use background::{Known, Look, Mark};

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// An operation on files.
    File(FileOp),
    /// A command.
    Command(Run),
    /// A look at the background commands, or the end of one.
    Background(Look),
}

/// A command and how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Its text.
    pub text: String,
    /// Whether it has a terminal of its own.
    pub terminal: bool,
    /// The name under which it goes on in the background.
    pub background: Option<String>,
}

/// What a session adds to a call that is performed.
#[derive(Clone, Debug)]
pub(crate) struct With {
    /// What is kept of an output that is larger than its limit.
    pub keep: Option<OutputKeep>,
    /// The background commands.
    pub known: Known,
}

/// What comes back from a running call.
#[derive(Debug)]
pub(crate) enum Report {
    /// A fragment of a command's output, and how many bytes before it were left out.
    Output { call: CallId, text: String, stderr: bool, left_out: u64 },
    /// The end.
    Done { call: CallId, outcome: Outcome },
    /// The end of a command in the background, which the call started. It comes behind the end of that call.
    Ended { call: CallId, ended: Box<Background> },
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
    /// What it means for the background commands, once it is recorded.
    pub mark: Option<Mark>,
}

impl Outcome {
    /// The outcome of a call that did what it was to do.
    pub(crate) fn done(text: String, facts: ResultFacts) -> Self {
        Self { text, failed: false, facts, mark: None }
    }

    fn failed(error: String) -> Self {
        Self { text: error, failed: true, facts: ResultFacts::default(), mark: None }
    }
}

impl Action {
    /// The action of a built-in tool. `None` when the tool is not one of them.
    ///
    /// # Errors
    /// Says what the arguments lack for what they ask.
    pub(crate) fn of(tool: &str, args: &Args) -> Result<Option<Self>, String> {
        match tool {
            tool::BACKGROUND => Look::of(args).map(|look| Some(Self::Background(look))),
            "bash"
                if args.value().get("name").is_some()
                    && args.value().get("background") != Some(&serde_json::Value::Bool(true)) =>
            {
                Err("`name` is that of a command in the background: set `background` to true".to_owned())
            }
            _ => Ok(Self::plain(tool, args)),
        }
    }

    fn plain(tool: &str, args: &Args) -> Option<Self> {
        let text = |name: &str| args.value().get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let number = |name: &str| args.value().get(name).and_then(serde_json::Value::as_u64);
        let yes = |name: &str| args.value().get(name).and_then(serde_json::Value::as_bool).unwrap_or(false);
        let path = || text("path").unwrap_or_else(|| ".".to_owned());
        Some(match tool {
            "read" => Self::File(FileOp::Read {
                path: text("path")?,
                offset_line: number("offset").unwrap_or(1),
                limit_lines: u32::try_from(number("limit").unwrap_or(2000)).unwrap_or(2000),
                max_bytes: shown::SHOWN_BYTES,
            }),
            "list" => Self::File(FileOp::List { path: text("path")? }),
            "glob" => Self::File(FileOp::Glob { pattern: text("pattern")?, path: path() }),
            "grep" => {
                Self::File(FileOp::Grep { regex: text("pattern")?, path: path(), include: text("include") })
            }
            "write" => Self::File(FileOp::Write { path: text("path")?, content: text("content")? }),
            "edit" => Self::File(FileOp::Edit { path: text("path")?, old: text("old")?, new: text("new")? }),
            "delete" => Self::File(FileOp::Delete { path: text("path")?, recursive: yes("recursive") }),
            "bash" => Self::Command(Run {
                text: text("command")?,
                terminal: yes("pty"),
                background: text("background").or_else(|| {
                    yes("background").then(|| text("name").unwrap_or_else(|| tool::UNNAMED.into()))
                }),
            }),
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
    enclos_sandbox::open(plan).map(|sandbox| Workplace::Here(Box::new(sandbox)))
}

/// Performs the action of a call whose intent is in the journal, and reports until its end. Returns at once. The end of a
/// command that goes on in the background is reported by itself.
pub(crate) fn perform(
    receipt: Receipt,
    sandbox: Arc<Workplace>,
    call: CallId,
    action: Action,
    with: With,
    reports: UnboundedSender<Report>,
) {
    tokio::task::spawn_blocking(move || {
        let started = std::time::Instant::now();
        let teller = Teller { call, reports };
        let (mut outcome, held) = match action {
            Action::File(op) => (file(&sandbox, &op), None),
            Action::Command(run) if run.background.is_some() => background::start(&sandbox, run, &teller),
            Action::Command(run) => (command(&sandbox, run, with.keep, &teller), None),
            Action::Background(look) => (background::look(&sandbox, &look, &with.known, &teller), None),
        };
        outcome.facts.duration_ms = started.elapsed().as_secs_f64() * 1e3;
        // The receipt is spent when the act is over; the session may be gone by then, and needs no report.
        drop(receipt);
        drop(sandbox);
        teller.tell(Report::Done { call: teller.call.clone(), outcome });
        // From here on the end of a background command may be reported.
        drop(held);
    });
}

/// Reports of one call.
#[derive(Clone)]
struct Teller {
    call: CallId,
    reports: UnboundedSender<Report>,
}

impl Teller {
    fn tell(&self, report: Report) {
        drop(self.reports.send(report));
    }

    fn output(&self, text: String, stderr: bool, left_out: u64) {
        if !text.is_empty() {
            self.tell(Report::Output { call: self.call.clone(), text, stderr, left_out });
        }
    }
}

fn file(sandbox: &Workplace, op: &FileOp) -> Outcome {
    match sandbox.file(op) {
        Ok(reply) => tool_result::of_file(&reply),
        Err(error) => Outcome::failed(error.to_string()),
    }
}

/// What a policy says is kept of an output; by default its beginning.
const fn part(keep: Option<OutputKeep>) -> Keep {
    match keep {
        Some(OutputKeep::HeadAndTail) => Keep::HeadAndTail,
        Some(OutputKeep::Head) | None => Keep::Head,
    }
}

fn command(sandbox: &Workplace, run: Run, keep: Option<OutputKeep>, teller: &Teller) -> Outcome {
    let mut kept = Kept::default();
    let mut decoders = [Decoder::default(), Decoder::default()];
    let mut output = |stream: Stream, bytes: &[u8]| {
        kept.take(bytes);
        let stderr = stream == Stream::Stderr;
        teller.output(decoders[usize::from(stderr)].decode(bytes), stderr, 0);
    };
    let command = Command { terminal: run.terminal, keep: part(keep), ..Command::new(run.text) };
    match sandbox.run(&command, &mut output) {
        Ok(exit) => {
            tell_tail(&exit, decoders, teller);
            tool_result::of_command(&exit, kept)
        }
        Err(error) => Outcome::failed(error.to_string()),
    }
}

/// Tells the end of an output, behind what was left out.
fn tell_tail(exit: &Exit, mut decoders: [Decoder; 2], teller: &Teller) {
    for (decoder, stderr) in decoders.iter_mut().zip([false, true]) {
        teller.output(decoder.finish(), stderr, 0);
    }
    let mut left_out = exit.stdout.dropped + exit.stderr.dropped;
    for (stream, bytes) in &exit.tail {
        let stderr = *stream == Stream::Stderr;
        teller.output(decoders[usize::from(stderr)].decode(bytes), stderr, std::mem::take(&mut left_out));
    }
    for (decoder, stderr) in decoders.iter_mut().zip([false, true]) {
        teller.output(decoder.finish(), stderr, 0);
    }
}

/// Ends a background command. It may have ended already, or not have begun.
pub(crate) fn end_background(sandbox: &Workplace, name: &str) {
    drop(sandbox.kill_background(name));
}

/// Runs a command for a person, outside any session: `enclos sandbox run`.
pub(crate) fn run_for_person(
    sandbox: &Workplace,
    text: &str,
    terminal: bool,
    keep: Option<OutputKeep>,
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Exit, RunError> {
    let exit = sandbox.run(&Command { terminal, keep: part(keep), ..Command::new(text) }, output)?;
    exit.tail.iter().for_each(|(stream, bytes)| output(*stream, bytes));
    Ok(exit)
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
