//! Builtins that take names of variables: which words are names, and what setting them means.
//!
//! A name decides what later commands run (`PATH`), stands for another (`declare -n`), or has a subscript, which bash
//! evaluates. Where options cannot be told, every word counts as a name.

use super::builtins::rebinding;
use crate::command::argument::{Argument, Atom};
use crate::command::ask;
use crate::command::finding::Finding;
use crate::command::options::{self, Name, Options, Style, Value, head};

/// A word that a builtin takes as a name, perhaps with a value behind `=`.
struct Target<'a> {
    text: String,
    argument: &'a Argument,
}

/// The options of the builtins that take names, and which of them have a name as value.
fn grammar(builtin: &str) -> (Options, &'static str) {
    let (flags, valued, named) = match builtin {
        "printf" => ("", "v", "v"),
        "wait" => ("fn", "p", "p"),
        "read" => ("ers", "adinNptu", "a"),
        "mapfile" | "readarray" => ("t", "CcdnOsu", ""),
        "declare" | "typeset" | "local" | "export" | "readonly" => ("aAfFgiIlnprtux", "", ""),
        "unset" => ("fvn", "", ""),
        _ => ("", "", ""),
    };
    (Options { flags, valued, ..Options::NONE }, named)
}

/// The words that a builtin takes as names.
fn targets<'a>(builtin: &str, arguments: &'a [Argument]) -> Vec<Target<'a>> {
    let (options, named) = grammar(builtin);
    let given = options::read(arguments, &options, Style::UpToOperand);
    let mut targets = Vec::new();
    for (option, value) in &given.options {
        let Name::Short(letter) = option else { continue };
        match value {
            Some(Value::Attached(text, at)) if named.contains(*letter) => {
                let argument = arguments.get(*at);
                targets.extend(argument.map(|argument| Target { text: (*text).to_owned(), argument }));
            }
            Some(Value::Separate(at)) if named.contains(*letter) => {
                targets.extend(arguments.get(*at).map(Target::of));
            }
            _ => {}
        }
    }
    let first = given.unknown.or(given.operands.first().copied()).unwrap_or(arguments.len());
    let rest = arguments.get(first..).unwrap_or(&[]).iter();
    match builtin {
        "printf" | "wait" => {}
        "getopts" => targets.extend(rest.skip(1).take(1).map(Target::of)),
        _ => targets.extend(rest.map(Target::of)),
    }
    targets
}

impl<'a> Target<'a> {
    fn of(argument: &'a Argument) -> Self {
        Self { text: argument.emptied().into_owned(), argument }
    }

    /// The name without subscript and `+`, and the value.
    fn parts(&self) -> (&str, Option<&str>) {
        let (name, value) =
            self.text.split_once('=').map_or((self.text.as_str(), None), |(name, value)| (name, Some(value)));
        (name.split('[').next().unwrap_or("").trim_end_matches('+'), value)
    }

    /// Whether the name itself is known at run time only.
    fn is_unknown(&self) -> bool {
        let known = |atom: &&Atom| !matches!(atom, Atom::Text(text) if text.contains('='));
        self.argument.atoms.iter().take_while(known).any(|atom| matches!(atom, Atom::Dynamic(_)))
    }
}

/// Whether a builtin with these arguments may set a variable.
pub(super) fn may_be_set(builtin: &str, arguments: &[Argument]) -> bool {
    let (options, _) = grammar(builtin);
    options::read(arguments, &options, Style::UpToOperand).unknown.is_some()
        || !targets(builtin, arguments).is_empty()
}

/// Whether a builtin of this name takes some of its words for names or numbers, and runs what a subscript in one holds.
pub(in crate::command) fn takes_names(builtin: &str, arguments: &[Argument]) -> bool {
    match builtin {
        "printf" | "wait" => may_be_set(builtin, arguments),
        "let" | "test" | "[" | "getopts" | "read" | "mapfile" | "readarray" | "declare" | "typeset"
        | "local" | "export" | "readonly" | "unset" => true,
        _ => false,
    }
}

/// Whether what a builtin of this name evaluates may be the value of a variable.
pub(in crate::command) fn evaluates(builtin: &str, arguments: &[Argument]) -> bool {
    match builtin {
        "let" => true,
        // Only `-v` in bash; comparisons of numbers in other shells.
        "test" | "[" => {
            arguments.iter().any(|argument| argument.literal() == Some("-v") || argument.is_dynamic())
        }
        "declare" | "typeset" | "local" | "export" | "readonly" | "read" | "mapfile" | "readarray"
        | "unset" | "getopts" | "wait" | "printf" => {
            let integers = || arguments.iter().any(|argument| has_letter(argument, 'i'));
            targets(builtin, arguments).iter().any(|target| {
                target.is_unknown() || target.text.contains('[') || target.parts().1.is_some_and(is_elements)
            }) || builtin != "read" && integers()
        }
        _ => false,
    }
}

/// Whether a value is the text of an array, which some builtins take apart.
fn is_elements(value: &str) -> bool {
    value.starts_with('(')
}

fn has_letter(argument: &Argument, letter: char) -> bool {
    head(argument).strip_prefix('-').is_some_and(|letters| letters.contains(letter))
}

/// What a builtin that sets variables weighs.
pub(super) fn assigns(builtin: &str, arguments: &[Argument]) -> Finding {
    let callback = matches!(builtin, "mapfile" | "readarray")
        && arguments.iter().any(|argument| head(argument).starts_with("-C"));
    if callback {
        return rebinding(builtin);
    }
    let refers = matches!(builtin, "declare" | "typeset" | "local")
        && arguments.iter().any(|argument| has_letter(argument, 'n'));
    for target in targets(builtin, arguments) {
        let (variable, value) = target.parts();
        let known = value.filter(|_| target.argument.literal().is_some());
        let listed = builtin != "export" || value.is_some();
        if listed && ask::carries_code(variable, known) {
            let reason = format!("It sets `{variable}`, which decides what later commands run.");
            return Finding::asks("command.ask.loader", reason);
        }
        if refers && !known.is_some_and(|other| is_plain(other) && !ask::is_loader(other)) {
            let reason = "It gives another name to a variable that may decide what later commands run.";
            return Finding::asks("command.ask.loader", reason);
        }
        if builtin != "let" && target.is_unknown() {
            return Finding::asks(
                "command.ask.loader",
                "It sets a variable whose name is known at run time only.",
            );
        }
    }
    Finding::contained("command.ask.assignment", format!("`{builtin}` sets variables."))
}

/// Whether a text is the name of a variable and nothing else.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character == '_' || character.is_ascii_alphanumeric())
}
