//! Destruction of the system tree: what removes a root, a system directory or a system file.

use super::{head, operands, options};
use crate::command::argument::Argument;
use crate::command::finding::Finding;
use crate::command::paths::{Directory, Path};
use crate::command::script::{Dynamic, Nature};

/// Programs that remove what they are given.
pub(super) const NAMES: [&str; 5] = ["rm", "unlink", "rmdir", "shred", "mv"];

pub(super) fn refused(name: &str, arguments: &[Argument], directories: &[Directory]) -> Option<Finding> {
    let recursive = match name {
        "rm" => is_recursive(arguments),
        "unlink" | "rmdir" => false,
        "shred" if options(arguments).any(|option| option.starts_with("--rem") || has_short(option, 'u')) => {
            false
        }
        "mv" => return moved_away(arguments, directories),
        _ => return None,
    };
    let mut doubtful = None;
    if recursive && operands(arguments).any(names_unseen) {
        doubtful = Some(told_by_others());
    }
    let maybe = name == "rm" && !recursive && arguments.iter().any(may_hold_options);
    for operand in operands(arguments) {
        for path in Path::from_each(operand, directories) {
            if recursive && path.is_system() {
                return Some(destruction(name, operand, "a system directory"));
            }
            if path.is_system_file() {
                return Some(destruction(name, operand, "a file of the system"));
            }
            if maybe && path.is_system() {
                doubtful = Some(Finding::asks(
                    "command.ask.target",
                    "It removes a part of the system if its options, known at run time only, say so.",
                ));
            }
            if recursive && path.is_unknown() && path.may_be_system() {
                doubtful = Some(if_empty());
            }
        }
    }
    doubtful
}

/// Whether an operand is nothing but what another command prints or an input holds.
fn names_unseen(operand: &Argument) -> bool {
    let unseen = |dynamic: &Dynamic| matches!(dynamic.nature, Nature::Substitution | Nature::Input);
    operand.dynamics().any(unseen) && operand.emptied().chars().all(|c| matches!(c, '/' | '.' | '*'))
}

fn told_by_others() -> Finding {
    Finding::asks(
        "command.ask.target",
        "It removes, with all below, what another command or an input names; that may be the system.",
    )
}

/// Whether a command with this name removes what it is given.
pub(in crate::command) fn removes(name: &str) -> bool {
    matches!(name, "rm" | "unlink" | "shred" | "rmdir")
}

/// Whether removing what is found below `start` destroys the system.
pub(in crate::command) fn destroys_from(start: &Argument, directories: &[Directory]) -> bool {
    Path::from_each(start, directories).any(|path| path.is_system())
}

/// What removing all below `start` weighs when its name is known at run time only.
pub(in crate::command) fn may_destroy_from(start: &Argument, directories: &[Directory]) -> Option<Finding> {
    let empty = |path: Path| path.is_unknown() && path.may_be_system();
    if names_unseen(start) {
        return Some(told_by_others());
    }
    Path::from_each(start, directories).any(empty).then(if_empty)
}

fn if_empty() -> Finding {
    Finding::asks(
        "command.ask.target",
        "It removes a directory whose name is known at run time only; were it empty, the system.",
    )
}

/// `mv` of a system directory or file to another place.
fn moved_away(arguments: &[Argument], directories: &[Directory]) -> Option<Finding> {
    let mut operands: Vec<&Argument> = Vec::new();
    let mut targeted = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = head(argument);
        match target_option(text) {
            Some(attached) => {
                targeted = true;
                if !attached {
                    rest.next();
                }
            }
            None if text == "--" => operands.extend(rest.by_ref()),
            None if text.len() > 1 && text.starts_with('-') => {}
            None => operands.push(argument),
        }
    }
    let sources = if targeted { operands.as_slice() } else { operands.split_last()?.1 };
    let lost = |operand: &&&Argument| Path::from_each(operand, directories).any(|path| path.is_system());
    sources.iter().find(lost).map(|operand| destruction("mv", operand, "a part of the system"))
}

/// Whether an option names the directory to move to, and whether its value is attached.
fn target_option(text: &str) -> Option<bool> {
    if let Some(long) = text.strip_prefix("--") {
        let key = long.split('=').next().unwrap_or("");
        return (!key.is_empty() && "target-directory".starts_with(key)).then(|| long.contains('='));
    }
    let (_, value) = text.strip_prefix('-')?.split_once('t')?;
    Some(!value.is_empty())
}

fn destruction(name: &str, operand: &Argument, what: &str) -> Finding {
    let shown: String = operand.emptied().chars().take(60).collect();
    Finding::refused("command.refused.destruction", format!("`{name}` removes {what}: `{shown}`."))
}

/// Whether an argument may be, or hold, options that are known at run time only.
fn may_hold_options(argument: &Argument) -> bool {
    argument.is_dynamic() && (argument.may_be_option() || head(argument).starts_with('-'))
}

fn is_recursive(arguments: &[Argument]) -> bool {
    options(arguments).any(|option| {
        let long =
            option.strip_prefix("--").is_some_and(|long| !long.is_empty() && "recursive".starts_with(long));
        long || has_short(option, 'r') || has_short(option, 'R')
    })
}

fn has_short(option: &str, letter: char) -> bool {
    !option.starts_with("--") && option.contains(letter)
}
