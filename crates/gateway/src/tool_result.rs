//! What the model and the person are told of a result: its text, bounded, how it ended, and sizes.
//!
//! It decides nothing about what runs; how a text is bounded is in `shown`.

use enclos_core::noun::count;
use enclos_protocol::event::ResultFacts;
use enclos_sandbox::file::Kind;
use enclos_sandbox::{Background, End, Exit, FileReply, Killed};

use crate::effects::Outcome;
use crate::shown::Kept;

/// The result of a command.
pub(crate) fn of_command(exit: &Exit, mut kept: Kept) -> Outcome {
    let facts =
        facts_of(exit, exit.stdout.kept + exit.stderr.kept, exit.stdout.dropped + exit.stderr.dropped);
    if !exit.tail.is_empty() {
        kept.skip(facts.dropped_bytes);
        exit.tail.iter().for_each(|(_, part)| kept.take(part));
    }
    let rest = if exit.tail.is_empty() { facts.dropped_bytes } else { 0 };
    let text = kept.closed(rest, &ending(exit));
    Outcome { failed: exit.killed.is_some(), ..Outcome::done(text, facts) }
}

fn facts_of(exit: &Exit, kept_bytes: u64, dropped_bytes: u64) -> ResultFacts {
    ResultFacts {
        duration_ms: exit.duration.as_secs_f64() * 1e3,
        exit_code: exit.code.or(exit.signal.map(|signal| 128 + signal)),
        killed: exit.killed.map(|reason| reason.word().to_owned()),
        kept_bytes,
        dropped_bytes,
        // The exit code says it already.
        summary: if exit.killed.is_some() { ending(exit) } else { String::new() },
    }
}

/// How a command ended, in words.
pub(crate) fn ending(exit: &Exit) -> String {
    match (exit.killed, exit.code, exit.signal) {
        (Some(reason), _, _) => {
            let (word, why) = (reason.word(), why(reason));
            format!("killed: {word} ({why}) after {:.1} s", exit.duration.as_secs_f64())
        }
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None, None) => "ended".to_owned(),
    }
}

const fn why(reason: Killed) -> &'static str {
    match reason {
        Killed::Timeout => "its time was over",
        Killed::Oom => "the memory ceiling of the sandbox",
        Killed::Stop => "it was ended from outside",
        Killed::Disk => "the disk ceiling of the sandbox",
        Killed::Processes => "the ceiling on processes of the sandbox",
    }
}

/// The end of a background command: in words, and as facts. `None` while it runs.
pub(crate) fn of_background(job: &Background) -> Option<(String, ResultFacts)> {
    match job.end.as_ref()? {
        End::Exit(exit) => {
            let (told, facts) = (ending(exit), facts_of(exit, job.output.kept, job.output.dropped));
            Some((told, facts))
        }
        End::Failed(error) => {
            let facts = ResultFacts {
                duration_ms: job.duration.as_secs_f64() * 1e3,
                kept_bytes: job.output.kept,
                dropped_bytes: job.output.dropped,
                summary: error.clone(),
                ..ResultFacts::default()
            };
            Some((error.clone(), facts))
        }
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
        FileReply::Revealed { .. } => (listed(1_u8), listed(1_u8)),
        FileReply::Stat(entry) => (bytes(entry.size), bytes(entry.size)),
    };
    let kept_bytes = text.len() as u64;
    let facts = ResultFacts { kept_bytes, summary, ..ResultFacts::default() };
    Outcome::done(crate::shown::bounded(text), facts)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_from_the_first_one_shown() {
        let reply = FileReply::Read { text: "b\nc\n".into(), first_line: 2, lines: 2, more: true, size: 9 };
        let outcome = of_file(&reply);
        assert_eq!(outcome.text, "     2\tb\n     3\tc\n[the file goes on: read it with offset 4]");
    }
}
