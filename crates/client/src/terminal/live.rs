//! The region below the record: the row being written, the calls under way, the question, the budget.

use jiff::Timestamp;

use crate::layout::Row;
use crate::render::transcript::{Background, Call, Stage, Transcript};
use crate::style::Role;
use crate::terminal::mode::Mode;
use crate::terminal::review::Question;
use crate::text;

/// Calls that are listed at most.
const CALLS: usize = 6;
/// The signs that follow each other while something works.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What the region shows besides the transcript.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'m> {
    /// Columns.
    pub(crate) width: usize,
    /// The time.
    pub(crate) now: Timestamp,
    /// Counts the drawings.
    pub(crate) tick: usize,
    /// Whether the question takes answers yet.
    pub(crate) armed: bool,
    /// When the question expires, RFC 3339; empty when it does not.
    pub(crate) expires: &'m str,
    /// The last remark to the person.
    pub(crate) note: &'m str,
}

/// The rows of the region.
pub(crate) fn rows(transcript: &Transcript, mode: &Mode, moment: Moment<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = transcript.partial().into_iter().collect();
    let unlisted = transcript.calls.len().saturating_sub(CALLS);
    rows.extend(transcript.calls.iter().skip(unlisted).map(|call| call_row(call, moment)));
    if unlisted > 0 {
        rows.push(Row::new().to(2).and(Role::Dim, &text::more_calls(unlisted)));
    }
    rows.extend(transcript.background.iter().map(|running| background_row(running, moment)));
    if !moment.note.is_empty() {
        rows.push(Row::of(Role::Warn, "! ").and(Role::Plain, moment.note));
    }
    rows.extend(question(mode, moment));
    rows.push(status(transcript, mode, moment));
    rows
}

fn call_row(call: &Call, moment: Moment<'_>) -> Row {
    let (sign, role) = match call.stage {
        Stage::Asking => ("?", Role::Warn),
        Stage::Generating | Stage::Generated | Stage::Calling => {
            (SPINNER[moment.tick % SPINNER.len()], Role::Good)
        }
    };
    let seconds = moment.now.duration_since(call.since).as_secs();
    let stage = text::stage(call.stage, seconds);
    Row::of(role, sign)
        .to(2)
        .and(Role::Bold, &call.tool)
        .and(Role::Dim, &format!(" {stage}  "))
        .and(Role::Plain, &call.title)
}

fn background_row(running: &Background, moment: Moment<'_>) -> Row {
    let seconds = moment.now.duration_since(running.since).as_secs();
    Row::of(Role::Dim, "&")
        .to(2)
        .and(Role::Dim, &text::in_background(seconds))
        .and(Role::Plain, &running.title)
}

/// The keys of a question, once it takes answers.
pub(crate) fn question(mode: &Mode, moment: Moment<'_>) -> Vec<Row> {
    let keys = match mode {
        Mode::Working => return Vec::new(),
        _ if !moment.armed => return vec![Row::of(Role::Dim, text::READ_FIRST)],
        Mode::Card(asking) => text::card_keys(asking.offered, asking.choosing),
        Mode::Extension => text::EXTENSION_KEYS.to_vec(),
        Mode::Review(review) => match review.question() {
            Question::Menu { .. } => text::REVIEW_KEYS.to_vec(),
            Question::File { .. } => text::FILE_KEYS.to_vec(),
            Question::Discard => text::DISCARD_KEYS.to_vec(),
        },
    };
    let mut rows = head(mode, moment);
    rows.extend(key_rows(&keys, moment.width));
    rows
}

/// Keys and what they do, in as many rows as they need.
fn key_rows(keys: &[text::KeyWord], width: usize) -> Vec<Row> {
    let mut rows = vec![Row::new()];
    for (key, meaning) in keys {
        let word = |row: Row| row.and(Role::Bold, key).and(Role::Plain, " ").and(Role::Plain, meaning);
        let last = rows.pop().unwrap_or_default();
        let between = if last.width() == 0 { "" } else { " · " };
        let longer = word(last.clone().and(Role::Dim, between));
        if last.width() > 0 && longer.width() >= width {
            rows.extend([last, word(Row::new())]);
        } else {
            rows.push(longer);
        }
    }
    rows
}

/// What is asked, in one row.
fn head(mode: &Mode, moment: Moment<'_>) -> Vec<Row> {
    let head = match mode {
        Mode::Working | Mode::Extension => return Vec::new(),
        Mode::Card(asking) if asking.choosing => text::PATTERN_HEAD.to_owned(),
        Mode::Card(asking) if !asking.offered.approve => text::NOT_HERE_HEAD.to_owned(),
        Mode::Card(_) => match seconds_left(moment) {
            Some(seconds) => text::approve_within(seconds),
            None => text::APPROVE.to_owned(),
        },
        Mode::Review(review) => match review.question() {
            Question::Menu { flagged } => text::review_head(flagged),
            Question::File { file, at, of } => text::file_head(&file.path, &file.flags, at, of),
            Question::Discard => text::DISCARD_HEAD.to_owned(),
        },
    };
    vec![Row::of(Role::Warn, "▸ ").and(Role::Bold, &head)]
}

fn seconds_left(moment: Moment<'_>) -> Option<i64> {
    let expires: Timestamp = moment.expires.parse().ok()?;
    Some(expires.duration_since(moment.now).as_secs().max(0))
}

fn status(transcript: &Transcript, mode: &Mode, moment: Moment<'_>) -> Row {
    let working = matches!(mode, Mode::Working) && transcript.calls.is_empty();
    let sign = if working { SPINNER[moment.tick % SPINNER.len()] } else { "·" };
    Row::of(Role::Good, sign)
        .to(2)
        .and(Role::Dim, text::state(transcript.state))
        .and(Role::Dim, " · ")
        .and(Role::Dim, &text::budget_bar(&transcript.budget))
        .and(Role::Dim, text::STATUS_KEYS)
}

#[cfg(test)]
mod tests {
    use super::key_rows;
    use crate::style::Paint;
    use crate::terminal::mode::Offered;
    use crate::text;

    #[test]
    fn no_key_is_hidden_by_a_narrow_terminal() {
        let offered = Offered { approve: true, remember: true, patterns: 2 };
        for width in [20, 40, 60, 100] {
            let rows = key_rows(&text::card_keys(offered, false), width);
            let shown: String = rows.iter().map(|row| row.render(Paint::PLAIN) + "\n").collect();
            for (key, meaning) in text::card_keys(offered, false) {
                assert!(shown.contains(&format!("{key} {meaning}")), "{width}: {shown}");
            }
            assert!(width < 40 || rows.iter().all(|row| row.width() < width), "{width}: {shown}");
        }
    }
}
