//! Programs that hand a part of their command line to a shell, or run it: by an option, an operand, a variable.
//!
//! `tar --to-command`, `rsync -e`, `git -c alias.x=!…`, `vim -c '!…'`, `jobs -x`, `docker exec`: what they carry is read
//! with the same eyes as the rest. This only finds the parts; it never says that one is harmless.

mod env;
mod git;
mod inline;
mod table;

use super::argument::Argument;
use table::{CARRIERS, Carrier, Way};

pub(super) use env::{quote, split};
pub(super) use inline::{Language, commands as inline_commands};

/// A part of a command line that is run.
#[derive(Debug)]
pub(super) enum Carried<'a> {
    /// This text, which stands in this argument, goes to a shell.
    Text(String, &'a Argument),
    /// This text may go to a shell.
    Guess(String, &'a Argument),
    /// The command that begins here is run.
    Command(&'a [Argument]),
}

/// What a program with these arguments carries.
pub(super) fn carried<'a>(name: &str, arguments: &'a [Argument]) -> Vec<Carried<'a>> {
    let mut found = Vec::new();
    if name == "git" {
        git::carried(arguments, &mut found);
    }
    for carrier in CARRIERS.iter().filter(|carrier| carrier.names.contains(&name)) {
        by_options(carrier, arguments, &mut found);
    }
    found
}

/// Whether the value of a variable of this name is a command that another program runs.
pub(super) fn variable(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS4",
        "CC",
        "CXX",
        "PAGER",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "LESSOPEN",
        "LESSCLOSE",
        "SSH_ASKPASS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "GIT_SSH",
    ];
    const ENDINGS: [&str; 6] = ["_COMMAND", "_EDITOR", "_PAGER", "_ASKPASS", "_EXTERNAL_DIFF", "_RUNNER"];
    NAMES.contains(&name)
        || name.starts_with("GIT_CONFIG_VALUE_")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The values of the options and operands that a carrier lists.
fn by_options<'a>(carrier: &Carrier, arguments: &'a [Argument], found: &mut Vec<Carried<'a>>) {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        at += 1;
        let text = argument.emptied();
        match value(carrier, &text) {
            Some(Value::Attached(value)) => take(carrier.way, value, argument, found),
            Some(Value::Next) => {
                let rest = arguments.get(at..).unwrap_or(&[]);
                match (carrier.way, rest) {
                    // The command may have the same option; it is its own.
                    (Way::Behind, _) => {
                        let command = up_to_semicolon(rest);
                        found.push(Carried::Command(command));
                        at += command.len();
                    }
                    (way, [next, ..]) => take(way, &next.emptied(), next, found),
                    (_, []) => {}
                }
                at += 1;
            }
            None if carrier.operands && !text.starts_with('-') => {
                take(carrier.way, &text, argument, found);
            }
            None => {}
        }
    }
}

/// Where the value of an option stands.
enum Value<'t> {
    Attached(&'t str),
    Next,
}

/// Whether an argument is one of the carrier's options, and where its value is.
fn value<'t>(carrier: &Carrier, text: &'t str) -> Option<Value<'t>> {
    if carrier.words.contains(&text) {
        return Some(Value::Next);
    }
    if let Some(prefix) = carrier.attached.iter().find(|prefix| text.starts_with(**prefix)) {
        return text.get(prefix.len()..).map(Value::Attached);
    }
    if let Some(long) = text.strip_prefix("--") {
        let (key, value) = long.split_once('=').map_or((long, None), |(key, value)| (key, Some(value)));
        let named = key.len() > 1 && carrier.long.split(' ').any(|name| name.starts_with(key));
        return named.then(|| value.map_or(Value::Next, Value::Attached));
    }
    let cluster = text.strip_prefix('-')?;
    let at = cluster.find(|letter| carrier.short.contains(letter))?;
    let rest = cluster.get(at + 1..).unwrap_or("");
    Some(if rest.is_empty() { Value::Next } else { Value::Attached(rest) })
}

/// Adds what a value holds.
fn take<'a>(way: Way, value: &str, argument: &'a Argument, found: &mut Vec<Carried<'a>>) {
    match way {
        Way::Guess => found.push(Carried::Guess(value.to_owned(), argument)),
        Way::Shell | Way::Behind => found.push(Carried::Text(value.to_owned(), argument)),
        Way::After(prefixes) => {
            let value = value.trim_start_matches([':', ' ']);
            let fits = |prefix: &&&str| {
                value.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
            };
            if let Some(rest) = prefixes.iter().find(fits).and_then(|prefix| value.get(prefix.len()..)) {
                found.push(Carried::Text(rest.to_owned(), argument));
            }
        }
        Way::AfterBang => {
            if let Some((_, rest)) = value.split_once('!') {
                found.push(Carried::Guess(rest.to_owned(), argument));
            }
            let calls = inline_commands(value, Language::default());
            found.extend(calls.into_iter().map(|text| Carried::Guess(text, argument)));
        }
        Way::AfterColon => {
            let rest = value.split_once(':').map_or(value, |(_, rest)| rest);
            found.push(Carried::Guess(rest.trim_start_matches([';', '\t', '@', '-']).to_owned(), argument));
            if let Some((_, called)) = value.split_once("$(shell ") {
                found.push(Carried::Guess(called.trim_end_matches(')').to_owned(), argument));
            }
        }
        Way::GuessAfterEquals => {
            if let Some((_, rest)) = value.split_once('=') {
                let words = rest.replace(['"', '\'', '[', ']', ','], " ");
                found.push(Carried::Guess(words, argument));
            }
        }
        Way::AfterEquals => {
            if let Some((_, rest)) = value.split_once('=') {
                found.push(Carried::Text(rest.to_owned(), argument));
            }
        }
    }
}

/// The arguments of a command that a `;` may end.
pub(super) fn up_to_semicolon(arguments: &[Argument]) -> &[Argument] {
    let end = arguments.iter().position(|argument| argument.literal() == Some(";"));
    arguments.get(..end.unwrap_or(arguments.len())).unwrap_or(&[])
}

/// Whether a program of this name runs some of the lines that it is fed.
pub(super) fn runs_lines(name: &str) -> bool {
    const NAMES: [&str; 15] = [
        "make", "gmake", "ed", "ex", "vi", "vim", "nvim", "crontab", "sqlite3", "psql", "mysql", "gdb",
        "ftp", "parallel", "tmux",
    ];
    NAMES.contains(&name)
}

/// What such a line runs, if it runs anything: what stands behind the mark of a recipe, an escape to the shell, or
/// the times of a table of jobs.
pub(super) fn line(line: &str) -> &str {
    let times = |c: char| c.is_ascii_digit() || matches!(c, '*' | ',' | '/' | ' ' | '\t');
    let line = line.trim_start_matches(times).trim_start_matches(['!', '@', '-', '\\', ':']);
    let marked = [".shell ", ".system ", "shell ", "system "].iter().find_map(|mark| line.strip_prefix(mark));
    marked
        .or_else(|| line.split_once(":;").map(|(_, rest)| rest))
        .unwrap_or(line)
        .trim_start_matches([';', ' '])
}

/// Whether an argument names an open descriptor as a file.
pub(super) fn is_descriptor(argument: &Argument) -> bool {
    let path = argument.emptied().replace("/./", "/").replace("//", "/");
    matches!(path.as_str(), "-" | "/dev/stdin")
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/") && path.contains("/fd/")
}
