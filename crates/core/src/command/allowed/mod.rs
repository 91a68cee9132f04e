//! The allow list: programs that only read, each with an option grammar.
//!
//! A name is never enough: an option that a grammar does not list asks, so a new option of a program asks
//! until somebody has looked at it. Nothing here allows what writes a file, runs a program or connects.

mod awk;
mod builtins;
mod find;
mod git;
mod sed;
mod table;
mod variables;

pub(super) use awk::{
    commands as awk_commands, is_fed as awk_is_fed, starts as awk_starts, strings as awk_strings,
};
pub(super) use find::read as find;
pub(super) use sed::{ALL as SED_OPTIONS, script as sed_script};
pub(super) use variables::{evaluates, takes_names};

use super::argument::Argument;
use super::finding::Finding;
use super::options::{self, Options, Style};

/// What operands a program takes without doing harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    Any,
    None,
    /// At most so many; one more would be written to.
    AtMost(usize),
    /// Only formats, `+%F`.
    Format,
}

/// A program of the allow list.
#[derive(Clone, Copy, Debug)]
struct Program {
    names: &'static [&'static str],
    options: Options,
    operands: Operands,
    /// It also has options that do harm: a pattern at the head of a word may become one.
    strict: bool,
}

/// What the allow list says of a command: harmless, asking for an option, or nothing when it is not listed.
pub(super) fn check(name: &str, arguments: &[Argument]) -> Option<Finding> {
    if let [only] = arguments
        && matches!(only.literal(), Some("--version" | "--help"))
        && table::prints_version(name)
    {
        return Some(harmless());
    }
    if name == "go" && matches!(arguments, [only] if only.literal() == Some("version")) {
        return Some(harmless());
    }
    match name {
        "git" => Some(git::check(arguments)),
        "sed" => Some(sed::check(arguments)),
        _ if is_awk(name) => Some(awk::check(arguments)),
        _ => builtins::check(name, arguments)
            .or_else(|| table::find(name).map(|program| fits(name, program, arguments))),
    }
}

/// Whether a program of this name is an `awk`.
pub(super) fn is_awk(name: &str) -> bool {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk")
}

fn fits(name: &str, program: &Program, arguments: &[Argument]) -> Finding {
    let given = options::read(arguments, &program.options, Style::Harmless);
    if let Some(at) = given.unknown {
        return unknown_option(name, arguments.get(at));
    }
    let operands = || given.operands.iter().filter_map(|at| arguments.get(*at));
    if program.strict && operands().any(|operand| operand.is_glob() && operand.may_be_option()) {
        return Finding::contained(
            "command.ask.option",
            format!("A pattern handed to `{name}` may become an option."),
        );
    }
    let accepted = match program.operands {
        Operands::Any => true,
        Operands::None => operands().next().is_none(),
        Operands::AtMost(most) => operands().count() <= most && !operands().any(Argument::is_glob),
        Operands::Format => operands().all(|operand| options::head(operand).starts_with('+')),
    };
    if accepted {
        return harmless();
    }
    Finding::contained("command.ask.operand", format!("With these operands `{name}` may change something."))
}

fn harmless() -> Finding {
    Finding::harmless("command.allow.read-only", "It only reads.")
}

fn unknown_option(name: &str, argument: Option<&Argument>) -> Finding {
    if argument.is_some_and(Argument::is_dynamic) {
        let reason = format!("A word of `{name}` that may be an option is known at run time only.");
        return Finding::contained("command.ask.expansion", reason);
    }
    let shown: String =
        argument.map_or_else(String::new, |argument| argument.emptied().chars().take(40).collect());
    let reason = format!("`{shown}` is not among the options with which `{name}` is known only to read.");
    Finding::contained("command.ask.option", reason)
}
