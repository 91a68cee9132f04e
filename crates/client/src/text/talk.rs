//! Sentences of the commands: listings, reports, prompts, keys.

use enclos_protocol::error::Fault;

use super::count;

/// The events ended without a last word.
pub(crate) const STREAM_CUT: &str = "the gateway went away before the run was finished";
/// How to go on.
pub(crate) fn hint_resume(session: &str) -> String {
    format!("`enclos resume {session}` takes the session up again")
}

/// The end of a headless run, a line each.
pub(crate) fn headless_summary(session: &str, changes: &str, refused: usize, code: u8) -> Vec<String> {
    let mut line = format!("{session} · {changes}");
    if refused > 0 {
        line = format!("{line} · {} refused", count(refused as u64, "call", "calls"));
    }
    vec![format!("{line} · exit {code}")]
}

/// Where the task is asked for.
pub(crate) const ASK_TASK: &str = "task › ";
/// Heads of the listing of sessions.
pub(crate) const SESSION_HEADS: [&str; 5] = ["SESSION", "STATE", "OPENED", "REPOSITORY", "TASK"];
/// A line of `show`.
pub(crate) const SHOW_SESSION: &str = "session";
/// A line of `show`.
pub(crate) const SHOW_STATE: &str = "state";
/// A line of `show`.
pub(crate) const SHOW_REPO: &str = "repository";
/// A line of `show`.
pub(crate) const SHOW_TASK: &str = "task";
/// A line of `show`.
pub(crate) const SHOW_MODEL: &str = "model";
/// A line of `show`.
pub(crate) const SHOW_OPENED: &str = "opened";
/// A line of `show`.
pub(crate) const SHOW_POLICY: &str = "policy";
/// A line of `show`.
pub(crate) const SHOW_LABEL: &str = "label";
/// A field.
pub(crate) const SHOW_BUDGET: &str = "left";
/// A line of `show`.
pub(crate) const SHOW_BACKGROUND: &str = "background";
/// A line of `show`.
pub(crate) const SHOW_JOURNAL: &str = "journal";
/// Before a remedy.
pub(crate) const REMEDY: &str = "mend: ";
/// A line of a verification.
pub(crate) const VERIFY_ENTRIES: &str = "entries";
/// A line of a verification.
pub(crate) const VERIFY_SESSIONS: &str = "sessions";
/// A line of a verification.
pub(crate) const VERIFY_FIRST_BAD: &str = "first bad";
/// A line of a verification.
pub(crate) const VERIFY_ANCHOR: &str = "anchor";
/// A line of an explanation.
pub(crate) const EXPLAIN_RULE: &str = "rule";
/// A line of an explanation.
pub(crate) const EXPLAIN_WHY: &str = "because";
/// A line of an explanation.
pub(crate) const EXPLAIN_ASKS: &str = "asks";
/// A line of an explanation.
pub(crate) const EXPLAIN_FOR: &str = "judged for";
/// Above the rules that were looked at.
pub(crate) const EXPLAIN_CONSIDERED: &str = "Looked at";

/// A state on which a process works now.
pub(crate) fn live(state: enclos_protocol::event::SessionState) -> String {
    format!("{} (live)", super::state(state))
}

/// Commands of a session that are at work in the background.
pub(crate) fn at_work(state: &str, background: usize) -> String {
    if background == 0 { state.to_owned() } else { format!("{state}, {background} in the background") }
}

/// A state in which no process works on the session any more.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// A time to the minute, as a listing shows it.
pub(crate) fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// The clock of a time.
pub(crate) fn clock(time: &str) -> String {
    time.get(11..19).unwrap_or(time).to_owned()
}

/// The journal of a session.
pub(crate) fn journal_head(entries: u64, head: &str) -> String {
    format!("{}, head {head}", count(entries, "entry", "entries"))
}

/// A session that was stopped.
pub(crate) fn stopped(session: &str) -> String {
    format!("{session} is stopped; what was not accepted is gone")
}

/// A change set that was thrown away.
pub(crate) fn discarded(session: &str) -> String {
    format!("the changes of {session} are thrown away")
}

/// A change set that was applied.
pub(crate) fn applied(files: usize, merged: usize, left: usize) -> String {
    let mut line = format!("{} applied", count(files as u64, "file", "files"));
    if merged > 0 {
        line = format!("{line}, {merged} merged three-way");
    }
    if left > 0 {
        line = format!("{line}, {left} left");
    }
    line
}

/// What an acceptance left, and how to go on with it.
pub(crate) fn applied_left(session: &str, files: &[String]) -> String {
    let first = files.first().map_or("", String::as_str);
    format!(
        "what is left was not named, or is flagged or held and needs a yes of its own: enclos diff {session} --stat says \
         why; then: enclos apply {session} --files {first}   or: enclos discard {session}"
    )
}

/// What has to be typed to erase a session.
pub(crate) const RESET_WORD: &str = "reset";
/// Before it is typed.
pub(crate) const RESET_PROMPT: &str = "type reset to confirm, anything else to keep it: ";

/// What a reset does.
pub(crate) fn reset_asks(session: &str) -> String {
    format!(
        "{session}: its messages, its change set, its grants and all that it knew are erased and cannot be brought back. \
         The journal stays, without content."
    )
}

/// A session that was erased.
pub(crate) fn reset_done(session: &str) -> String {
    format!("{session} is erased; what begins anew knows nothing: enclos chat")
}

/// An export that was written.
pub(crate) fn exported(entries: u64, sessions: u64) -> String {
    format!("{} of {} written", count(entries, "entry", "entries"), count(sessions, "session", "sessions"))
}

/// What a verification was held against.
pub(crate) fn anchor(anchor: &str) -> String {
    match anchor {
        "unanchored" => {
            "unanchored: nothing outside this machine was compared, so a rewrite of the whole is not seen"
                .to_owned()
        }
        other => other.to_owned(),
    }
}

/// A command that was killed.
pub(crate) fn command_killed(why: &str) -> String {
    match why {
        "timeout" => "the command met its time limit and was killed".to_owned(),
        "oom" => "the command was killed for want of memory".to_owned(),
        "disk" => "the command met the ceiling on what may be written and was killed".to_owned(),
        "processes" => "the command met the ceiling on processes and was killed".to_owned(),
        "stop" => "the command was stopped".to_owned(),
        other => format!("the command was killed: {other}"),
    }
}

/// Output that was counted and thrown away.
pub(crate) fn output_dropped(bytes: u64) -> String {
    format!("{} over the limit were counted and thrown away", count(bytes, "byte", "bytes"))
}

/// What was read of a policy.
pub(crate) fn policy_counts(rules: u64, examples: u64) -> String {
    format!("{}, {} checked", count(rules, "rule", "rules"), count(examples, "example", "examples"))
}

/// A line of a batch that has no end.
pub(crate) fn batch_long(bytes: u64) -> String {
    format!("the line is over {bytes} bytes")
}

/// A line of a batch with a base, judged under a policy.
pub(crate) const BATCH_TWO_BASES: &str =
    "`base` stands beside `--preset` or `--policy`, which say what `bash` is: leave one of them out";

/// A line of a batch that cannot be read.
pub(crate) fn batch_unreadable(line: u64, error: &str) -> String {
    format!("line {line} is no question `{{\"id\",\"base\",\"command\"}}`: {error}")
}

/// The title of a page of the reference.
pub(crate) const REFERENCE_CLI: &str = "Commands";
/// The title of a page of the reference.
pub(crate) const REFERENCE_ENVIRONMENT: &str = "Environment variables";
/// The title of a page of the reference.
pub(crate) const REFERENCE_EVENTS: &str = "Events";
/// The title of a page of the reference.
pub(crate) const REFERENCE_POLICY: &str = "Policy files";
/// Head of a table of options.
pub(crate) const REFERENCE_OPTIONS: &str = "\n| option | meaning |\n| --- | --- |\n";
/// Head of the table of variables.
pub(crate) const REFERENCE_VARIABLES: &str = "| variable | meaning | when absent |\n| --- | --- | --- |\n";
/// Head of the table of events.
pub(crate) const REFERENCE_FIELDS: &str = "\
Every event has `seq`, `time`, `session` and `type`; those of a call have `call` and `tool` too.\n
| type | meaning | fields |\n| --- | --- | --- |\n";

/// What is said of errors where JSON is asked for.
pub(crate) const REFERENCE_ERRORS: &str = "
## Errors as JSON

With `--json`, and with `--output json` or `stream-json` of a run, an error is one line on the standard error, and the
standard output is left to the report: `{\"error\": {\"kind\": …, \"message\": …, \"hint\": …, \"exit_code\": …}}`.
`hint` holds what to do next, a line each, or `null`. `file`, `line` and `field` (a key, a variable or an argument) are
there where they are known. A run that could not go on tells its error this way besides its report; what was refused or
waits for a person is its outcome, and no error.

| kind | means | exit code |
| --- | --- | --- |
";

/// What an error of a kind means.
pub(crate) fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Usage => "the command line, or what it asks for at this moment",
        Fault::Configuration => {
            "a file or a variable that a person wrote: configuration, policy, environment"
        }
        Fault::NotFound => {
            "a name of nothing that there is: a session, an approval, a grant, a version, a file"
        }
        Fault::Budget => "the budget is spent",
        Fault::Refused => "refused by policy or a person",
        Fault::Approval => "an approval is needed or expired",
        Fault::Unreachable => "the gateway or the model cannot be reached",
        Fault::Internal => "anything else",
    }
}

/// The head of a generated page.
pub(crate) fn reference_head(title: &str) -> String {
    format!("# {title}\n\nThis page is generated; change what it tells, not the page.\n\n")
}

/// A command that cannot be read.
pub(crate) fn unreadable(why: &str) -> String {
    format!("cannot be read: {why}")
}
