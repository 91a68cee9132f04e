//! What the model is told of a result: bounded, with head and tail and a count of what was left out.

use enclos_core::noun::count;
use enclos_protocol::event::ResultFacts;
use enclos_sandbox::file::Kind;
use enclos_sandbox::{Exit, FileReply};

use crate::effects::Outcome;

/// Bytes of one result that the model sees.
pub(crate) const SHOWN_BYTES: u32 = 32 * 1024;

const HALF: usize = SHOWN_BYTES as usize / 2;

/// Head and tail of a command's output, in constant memory.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    left_out: u64,
}

impl Kept {
    /// Takes more output.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let room = HALF.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = if rest.len() > HALF {
            self.left_out += (rest.len() - HALF) as u64;
            &rest[rest.len() - HALF..]
        } else {
            rest
        };
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    /// The text, with `more` bytes that the sandbox had counted and thrown away.
    fn text(&self, more: u64) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        let left_out = self.left_out + more;
        if left_out == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {} left out …]\n{tail}", bytes(left_out))
    }
}

/// Turns bytes that come in pieces into text; a character that is split between two pieces is not broken.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    carry: Vec<u8>,
}

impl Decoder {
    /// The text of the next piece.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.carry);
        all.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = all.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(length) = error.error_len() else {
                        self.carry = bad.to_vec();
                        return text;
                    };
                    text.push('\u{FFFD}');
                    rest = &bad[length..];
                }
            }
        }
    }
}

/// The result of a command.
pub(crate) fn of_command(exit: &Exit, kept: &Kept) -> Outcome {
    let dropped = exit.stdout.dropped + exit.stderr.dropped;
    let mut text = kept.text(dropped);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let summary = ending(exit);
    text.push_str(&["[", &summary, "]"].concat());
    let facts = ResultFacts {
        duration_ms: 0.0,
        exit_code: exit.code.or(exit.signal.map(|signal| 128 + signal)),
        killed: exit.killed.map(|reason| reason.word().to_owned()),
        kept_bytes: exit.stdout.kept + exit.stderr.kept,
        dropped_bytes: dropped,
        // The exit code says it already.
        summary: if exit.killed.is_some() { summary } else { String::new() },
    };
    Outcome { text, failed: exit.killed.is_some(), facts }
}

fn ending(exit: &Exit) -> String {
    match (exit.killed, exit.code, exit.signal) {
        (Some(reason), _, _) => {
            format!("killed: {} after {:.1} s", reason.word(), exit.duration.as_secs_f64())
        }
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None, None) => "ended".to_owned(),
    }
}

/// The result of a file tool.
pub(crate) fn of_file(reply: &FileReply) -> Outcome {
    let (text, summary) = match reply {
        FileReply::Read { text, first_line, lines, more, size } => {
            let told = format!("{}, file of {}", count(*lines, "line", "lines"), bytes(*size));
            (numbered(text, *first_line, *more), told)
        }
        FileReply::List { entries, left_out } => {
            let lines = entries.iter().map(|entry| match (entry.kind, &entry.target) {
                (Kind::Directory, _) => format!("{}/", entry.name),
                (Kind::Link, Some(target)) => format!("{} -> {target}", entry.name),
                _ => format!("{} ({})", entry.name, bytes(entry.size)),
            });
            let shown = joined(
                lines,
                *left_out > 0,
                &format!("[{}]", count(*left_out, "more entry", "more entries")),
            );
            (shown, listed(entries.len()))
        }
        FileReply::Glob { paths, more } => (
            joined(paths.iter().cloned(), *more, "[more: narrow the pattern]"),
            count(paths.len(), "path", "paths"),
        ),
        FileReply::Grep { hits, more } => {
            let lines = hits.iter().map(|hit| format!("{}:{}: {}", hit.path, hit.line, hit.text));
            (joined(lines, *more, "[more: narrow the expression]"), count(hits.len(), "match", "matches"))
        }
        FileReply::Written { bytes: written, created } => {
            let told = format!("{}, {}", if *created { "created" } else { "replaced" }, bytes(*written));
            (told.clone(), told)
        }
        FileReply::Edited { line } => (format!("edited at line {line}"), format!("line {line}")),
        FileReply::Deleted { entries } => (format!("deleted, {}", listed(*entries)), listed(*entries)),
        FileReply::Bytes { size, .. } => (bytes(*size), bytes(*size)),
        FileReply::Look { seen, .. } => (listed(seen.len()), listed(seen.len())),
        FileReply::Stat(entry) => (bytes(entry.size), bytes(entry.size)),
    };
    let kept_bytes = text.len() as u64;
    let text = bounded(text);
    Outcome { text, failed: false, facts: ResultFacts { kept_bytes, summary, ..ResultFacts::default() } }
}

fn bytes(number: u64) -> String {
    count(number, "byte", "bytes")
}

fn listed<N: Copy + std::fmt::Display + PartialEq + From<u8>>(number: N) -> String {
    count(number, "entry", "entries")
}

fn numbered(text: &str, first_line: u64, more: bool) -> String {
    let lines = text.lines().zip(first_line..).map(|(line, number)| format!("{number:>6}\t{line}"));
    let next = first_line + text.lines().count() as u64;
    joined(lines, more, &format!("[the file goes on: read it with offset {next}]"))
}

fn joined(lines: impl Iterator<Item = String>, more: bool, note: &str) -> String {
    let mut text: String = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        "[nothing]".clone_into(&mut text);
    }
    if more {
        text.push('\n');
        text.push_str(note);
    }
    text
}

/// A text within the bound, cut in its middle.
fn bounded(text: String) -> String {
    if text.len() <= SHOWN_BYTES as usize {
        return text;
    }
    let mut kept = Kept::default();
    kept.take(text.as_bytes());
    kept.text(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_kept_as_head_and_tail_with_a_count() {
        let mut kept = Kept::default();
        for _ in 0..1000 {
            kept.take(&[b'x'; 1000]);
        }
        kept.take(b"the end");
        let text = kept.text(41);
        assert!(text.len() < SHOWN_BYTES as usize + 100);
        assert!(text.ends_with("the end"));
        let left_out = 1_000_007 - SHOWN_BYTES as usize + 41;
        assert!(text.contains(&format!("[… {left_out} bytes left out …]")), "{left_out}");
        assert!(kept.head.len() + kept.tail.len() == SHOWN_BYTES as usize);
    }

    #[test]
    fn a_small_output_is_kept_whole() {
        let mut kept = Kept::default();
        kept.take(b"one\n");
        kept.take("zwei é".as_bytes());
        assert_eq!(kept.text(0), "one\nzwei é");
    }

    #[test]
    fn a_character_split_between_pieces_is_not_broken() {
        let bytes = "aé€😀z".as_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let text = decoder.decode(&bytes[..cut]) + &decoder.decode(&bytes[cut..]);
            assert_eq!(text, "aé€😀z");
        }
        assert_eq!(Decoder::default().decode(b"a\xffb"), "a\u{FFFD}b");
    }

    #[test]
    fn lines_are_numbered_from_the_first_one_shown() {
        let reply = FileReply::Read { text: "b\nc\n".into(), first_line: 2, lines: 2, more: true, size: 9 };
        let outcome = of_file(&reply);
        assert_eq!(outcome.text, "     2\tb\n     3\tc\n[the file goes on: read it with offset 4]");
    }
}
