//! The families that are refused whatever anyone answers, as predicates over argv.
//!
//! No rule, grant, preset or answer lifts them. A name is its last path component; operands are canonical
//! paths, modes and owners, never text.

mod modes;
mod names;
mod removal;
mod writes;

pub(super) use modes::Next as NextMode;
pub(super) use removal::{destroys_from, may_destroy_from, removes};
pub(super) use writes::writes_device;

use super::argument::Argument;
use super::finding::Finding;
use super::paths::Directory;

/// The family that a command with this name and these arguments belongs to.
pub(super) fn refused(name: &str, arguments: &[Argument], directories: &[Directory]) -> Option<Finding> {
    names::refused(name, arguments)
        .or_else(|| modes::refused(name, arguments))
        .or_else(|| removal::refused(name, arguments, directories))
        .or_else(|| writes::refused(name, arguments, directories))
}

/// Whether a command of this name is told by all of its arguments.
pub(super) fn looks_at_operands(name: &str) -> bool {
    modes::NAMES.contains(&name)
        || removal::NAMES.contains(&name)
        || writes::is_listed(name)
        || names::WINDOWS.contains(&name)
}

/// The same as [`refused`], only for names that mean nothing else anywhere in a command line.
pub(super) fn refused_anywhere(
    name: &str,
    arguments: &[Argument],
    directories: &[Directory],
) -> Option<Finding> {
    if names::is_ambiguous(name) {
        return None;
    }
    refused(name, arguments, directories)
}

/// The same where a command of this name stood further ahead, and its operands were all of these and more: only the
/// mode, which is the first that stands there, may be another. Its arguments begin at `at`.
pub(super) fn again(name: &str, arguments: &[Argument], at: usize, next: &NextMode) -> Option<Finding> {
    if !sets_modes(name) {
        return None;
    }
    modes::refused_at(name, arguments, at, next)
}

/// Whether a command of this name sets modes or owners.
pub(super) fn sets_modes(name: &str) -> bool {
    modes::NAMES.contains(&name)
}

/// The short options of a command, in clusters, and its long ones, up to `--`.
fn options(arguments: &[Argument]) -> impl Iterator<Item = &str> {
    arguments
        .iter()
        .map(head)
        .take_while(|text| *text != "--")
        .filter(|text| text.len() > 1 && text.starts_with('-'))
}

/// The operands of a command: what is no option, or comes after `--`.
fn operands(arguments: &[Argument]) -> impl Iterator<Item = &Argument> {
    let mut ended = false;
    arguments.iter().filter(move |argument| {
        if ended {
            return true;
        }
        let text = head(argument);
        ended = text == "--";
        !ended && (text.len() < 2 || !text.starts_with('-'))
    })
}

/// The known text at the head of an argument.
fn head(argument: &Argument) -> &str {
    match argument.atoms.first() {
        Some(super::argument::Atom::Text(text)) => text,
        _ => "",
    }
}
