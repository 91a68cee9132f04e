//! `awk`: harmless when its program cannot write, run, read other input or load code.

use super::{harmless, unknown_option};
use crate::command::argument::Argument;
use crate::command::carriers::is_descriptor;
use crate::command::finding::Finding;
use crate::command::options::{self, Options, Style};

const OPTIONS: Options = Options {
    flags: "",
    valued: "Fv",
    optional: "",
    long: "field-separator= assign= version",
    numbers: false,
};
/// What an `awk` program needs to reach beyond its input and output.
const REACHES: [&str; 8] = ["|", "@", "system", "getline", "close", "fflush", "ENVIRON", "ARGV"];

pub(super) fn check(arguments: &[Argument]) -> Finding {
    let given = options::read(arguments, &OPTIONS, Style::Harmless);
    if let Some(at) = given.unknown {
        return unknown_option("awk", arguments.get(at));
    }
    let program = given.operands.first().and_then(|at| arguments.get(*at));
    let Some(program) = program.and_then(Argument::literal) else {
        return Finding::contained(
            "command.ask.expansion",
            "The program of `awk` is known at run time only.",
        );
    };
    let joined = program.replace("||", "");
    if REACHES.iter().any(|reach| joined.contains(reach)) || may_write(program) {
        return Finding::contained(
            "command.ask.interpreter",
            "The program of `awk` may write files or run commands.",
        );
    }
    harmless()
}

/// Whether a `>` may be that of a `print`: one that stands before any of them compares.
fn may_write(program: &str) -> bool {
    program.rfind('>').is_some_and(|last| program.get(..last).is_none_or(|before| before.contains("print")))
}

/// The texts that an `awk` program hands to a shell: what it gives to `system` or a pipe;
/// and the files it writes, as redirections.
pub(in crate::command) fn commands(arguments: &[Argument]) -> Vec<String> {
    let mut commands = Vec::new();
    for argument in arguments {
        let text = argument.emptied();
        for (at, _) in text.match_indices("system") {
            let rest = text.get(at + "system".len()..).unwrap_or("").trim_start();
            let rest = rest.strip_prefix('(').unwrap_or(rest).trim_start();
            commands.extend(leading_string(rest));
        }
        for (at, _) in text.match_indices('|') {
            let after = text.get(at + 1..).unwrap_or("").trim_start_matches('&').trim_start();
            commands.extend(leading_string(after));
            commands.extend(trailing_string(text.get(..at).unwrap_or("")));
        }
        for (at, _) in text.match_indices('>') {
            let after = text.get(at + 1..).unwrap_or("").trim_start();
            commands.extend(leading_string(after).map(|file| super::sed::redirection(&file)));
        }
    }
    commands
}

/// Whether its program comes from its input.
pub(in crate::command) fn is_fed(arguments: &[Argument]) -> bool {
    const FILES: [&str; 5] = ["-f", "-E", "--file", "--exec", "--include"];
    let pair = |pair: &[Argument]| match pair {
        [option, file] => {
            option.literal().is_some_and(|option| FILES.contains(&option)) && is_descriptor(file)
        }
        _ => false,
    };
    let attached = |argument: &Argument| {
        let text = argument.emptied();
        let value = FILES.iter().find_map(|option| text.strip_prefix(option));
        let value =
            value.map(|value| value.strip_prefix('=').unwrap_or(value)).filter(|value| !value.is_empty());
        value.is_some_and(|value| is_descriptor(&Argument::text(value, argument.place)))
    };
    arguments.windows(2).any(pair) || arguments.iter().any(attached)
}

/// The texts in quotes of a program.
pub(in crate::command) fn strings(program: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut open: Option<String> = None;
    let mut characters = program.chars();
    while let Some(character) = characters.next() {
        match (character, &mut open) {
            ('"', None) => open = Some(String::new()),
            ('"', Some(_)) => strings.extend(open.take()),
            ('\\', Some(text)) => text.extend(characters.next()),
            (other, Some(text)) => text.push(other),
            (_, None) => {}
        }
    }
    strings
}

/// Whether a program starts a process.
pub(in crate::command) fn starts(program: &str) -> bool {
    program.contains("system") || program.replace("||", "").contains('|')
}

fn leading_string(text: &str) -> Option<String> {
    let mut string = String::new();
    let mut characters = text.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => return Some(string),
            '\\' => string.push(characters.next()?),
            character => string.push(character),
        }
    }
}

fn trailing_string(text: &str) -> Option<String> {
    let inside = text.trim_end().strip_suffix('"')?;
    let reversed: String = inside.chars().rev().take_while(|character| *character != '"').collect();
    Some(reversed.chars().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::may_write;

    #[test]
    fn a_comparison_is_no_redirection() {
        for program in ["NR > 1 {print $1}", "$3 > 5", "{ if ($1 > 2) print }", "{print}"] {
            assert!(!may_write(program), "{program}");
        }
        for program in ["{print > \"f\"}", "{ print \"a;b\" > \"f\" }", "$1 > 2 {print >> $1}"] {
            assert!(may_write(program), "{program}");
        }
    }
}
