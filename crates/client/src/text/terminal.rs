//! Sentences of the interactive terminal: keys, prompts, remarks.

use enclos_protocol::event::Amounts;

use crate::render::transcript::Stage;
use crate::terminal::mode::{Mode, Offered};

use super::{count, form, thousands};

/// A key and what it does.
pub(crate) type KeyWord = (&'static str, &'static str);

/// The keys of a card.
pub(crate) fn card_keys(offered: Offered, choosing: bool) -> Vec<KeyWord> {
    if choosing {
        return vec![("1…", "the pattern of this number"), ("b", "back")];
    }
    let mut keys = Vec::new();
    if offered.approve {
        keys.push(("a", "approve once"));
    }
    if offered.remember {
        keys.push(("s", "this exact call for this session"));
    }
    if offered.remember && offered.patterns > 0 {
        keys.push(("p", "a pattern for this session"));
    }
    keys.extend([("e", "edit"), ("r", "reject"), ("R", "reject with a word"), ("!", "stop"), ("?", "help")]);
    keys
}

/// Keys of an extension.
pub(crate) const EXTENSION_KEYS: [KeyWord; 3] = [("y", "grant"), ("n", "do not grant"), ("!", "stop")];
/// Keys of a review.
pub(crate) const REVIEW_KEYS: [KeyWord; 7] = [
    ("a", "accept all"),
    ("f", "choose files"),
    ("d", "diff"),
    ("m", "go on with a message"),
    ("x", "throw away"),
    ("q", "later"),
    ("?", "help"),
];
/// Keys of the question for a file.
pub(crate) const FILE_KEYS: [KeyWord; 4] =
    [("y", "accept"), ("n", "leave out"), ("d", "diff"), ("b", "back")];
/// Keys of the question whether to throw away.
pub(crate) const DISCARD_KEYS: [KeyWord; 2] = [("y", "throw away"), ("n", "keep")];

/// A question that takes no answers yet.
pub(crate) const READ_FIRST: &str = "…";
/// A card without an expiry.
pub(crate) const APPROVE: &str = "Approve?";
/// Whether to throw away.
pub(crate) const DISCARD_HEAD: &str = "Throw away all that the session made?";
/// At the end of the status.
pub(crate) const STATUS_KEYS: &str = " · Ctrl-C interrupts";
/// Where a message is asked for.
pub(crate) const ASK_MESSAGE: &str = "› ";
/// Where a word is asked for.
pub(crate) const ASK_WORD: &str = "why not › ";
/// Keys of a text that is only read.
pub(crate) const OVERLAY_KEYS: &str = "arrows, PgUp, PgDn scroll · q back";

/// Pasted text.
pub(crate) const NOTE_PASTE: &str = "pasted text answers nothing here";
/// A card whose end was not seen.
pub(crate) const NOTE_READ_FIRST: &str = "scroll to the end first: PgDn, End";
/// `s` where it is not offered.
pub(crate) const NOTE_NOT_REMEMBERED: &str = "the rule that asks allows no answer for the whole session";
/// An acceptance of nothing.
pub(crate) const NOTE_NOTHING_CHOSEN: &str = "nothing was chosen, nothing is applied";
/// A refusal that came after the end of the question.
pub(crate) const NOTE_TOO_LATE: &str = "the question was over before the word was sent";
/// Ctrl-C without a turn.
pub(crate) const NOTE_NO_TURN: &str =
    "nothing runs; Ctrl-C again stops the session, which throws its changes away";
/// In a conversation whose changes wait.
pub(crate) const NOTE_REVIEW: &str = "the changes wait: /review, or the next message";
/// `/review` without changes.
pub(crate) const NOTE_NO_CHANGES: &str = "there are no changes to review";
/// Ctrl-C.
pub(crate) const NOTE_INTERRUPTED: &str = "interrupting; Ctrl-C again stops the session";
/// Ctrl-C twice, or Ctrl-\.
pub(crate) const NOTE_STOPPING: &str = "stopping; Ctrl-C again does not wait for it";
/// Keys of a page.
pub(crate) const NOTE_PAGE_KEYS: &str =
    "arrows, PgUp, PgDn, Home, End scroll; `a` counts once the end was seen";

/// A card with its expiry.
pub(crate) fn approve_within(seconds: i64) -> String {
    match seconds {
        0 => "Approve? The time is over.".to_owned(),
        1..120 => format!("Approve? {seconds} s left"),
        _ => format!("Approve? {} min left", seconds / 60),
    }
}

/// A review.
pub(crate) fn review_head(flagged: usize) -> String {
    match flagged {
        0 => "What becomes of the changes?".to_owned(),
        _ => format!(
            "What becomes of the changes? {} will be asked for by name.",
            count(flagged as u64, "flagged file", "flagged files")
        ),
    }
}

/// The question for a file.
pub(crate) fn file_head(path: &str, flags: &[String], at: usize, of: usize) -> String {
    let why = if flags.is_empty() { String::new() } else { format!(" ⚑ {}", flags.join(", ")) };
    format!("{at}/{of} Accept {path}?{why}")
}

/// A request for an extension.
pub(crate) fn extension_asked(spent: &str, grants: &Amounts, left: u64) -> String {
    format!(
        "The budget of {spent} is spent. The next extension grants {}, {}, {} {} and {}; {} left.",
        count(grants.actions, "action", "actions"),
        count(grants.minutes, "minute", "minutes"),
        thousands(grants.tokens),
        form(&grants.tokens, "token", "tokens"),
        count(grants.commands, "command", "commands"),
        count(left, "extension is", "extensions are"),
    )
}

/// A call in the region.
pub(crate) fn stage(stage: Stage, seconds: i64) -> String {
    let word = match stage {
        Stage::Generating => "generating",
        Stage::Generated => "generated",
        Stage::Asking => "waits for you",
        Stage::Calling => "calling",
    };
    if seconds > 0 { format!("{word} {seconds} s") } else { word.to_owned() }
}

/// A command in the background.
pub(crate) fn in_background(seconds: i64) -> String {
    if seconds > 0 { format!("in the background {seconds} s  ") } else { "in the background  ".to_owned() }
}

/// Calls that are not listed.
pub(crate) fn more_calls(count: usize) -> String {
    format!("and {count} more")
}

/// The place in a long text.
pub(crate) fn page_place(end: usize, rows: usize) -> String {
    let percent = (end * 100).checked_div(rows).unwrap_or(100);
    format!("row {end} of {rows} ({percent} %)")
}

/// What the keys of a question do.
pub(crate) fn help_lines(mode: &Mode) -> Vec<String> {
    let lines: &[&str] = match mode {
        Mode::Card(_) => &[
            "a: run exactly this, once.",
            "s: run exactly this whenever it is asked for in this session; offered only where the rule allows it.",
            "p: run whatever fits a pattern that you choose, in this session; shows first what else it would have matched.",
            "e: change the arguments in your editor. What comes of it is judged afresh and asked as a new card.",
            "r: refuse. The session waits for your next message, unless the policy lets it go on.",
            "R: refuse and tell the model why. It goes on at once.",
            "!: stop the session. Its sandbox is destroyed and nothing that it made is kept.",
            "Ctrl-C interrupts the turn, twice stops the session; Ctrl-\\ stops it at any moment.",
        ],
        Mode::Review(_) => &[
            "a: apply all files that are not flagged; each flagged file is asked for by name.",
            "f: choose file by file. d: read the diff.",
            "m: go on with a message. x: throw the changes away. q: leave them for `enclos apply`.",
        ],
        Mode::Extension => {
            &["y: go on with the amounts above. n: end here; what was made is kept for review."]
        }
        Mode::Working => &[
            "/review asks what becomes of the changes, /quit leaves the session, /stop stops it, anything else is a message to the model.",
        ],
    };
    lines.iter().map(|line| (*line).to_owned()).collect()
}
