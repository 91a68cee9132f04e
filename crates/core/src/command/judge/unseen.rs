//! Variables that hold what nobody has seen: lines of an input, and what another command prints.
//!
//! `ls / | while read -r d; do rm -rf "$d"; done` removes the system without naming it, as `ls / | xargs rm -rf` does. Which
//! variables are filled so is noted, whatever the order in which the text runs; what they hold is never guessed. A
//! variable that is set to a part of the system counts as well.

use super::Judge;
use crate::command::argument::{self, Argument, Atom};
use crate::command::paths::{Directory, Path};
use crate::command::script::{Command, Dynamic, Kind, Nature, Part, Script, Word};

/// Builtins that fill variables from their input, and the one they fill when none is named.
const FILLING: [(&str, &str); 3] = [("read", "REPLY"), ("mapfile", "MAPFILE"), ("readarray", "MAPFILE")];
/// The parameters of a script or function.
const POSITIONAL: [&str; 12] = ["@", "*", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

impl Judge<'_> {
    /// Notes which variables these commands fill.
    pub(super) fn note_unseen(&mut self, commands: &[Command]) {
        for command in commands {
            if let Some(usual) = filled(command) {
                self.unseen.insert(usual.to_owned());
                self.unseen.extend(command.words.iter().filter_map(plain).map(str::to_owned));
            }
            for assignment in &command.assignments {
                let printed = command.kind == Kind::Loop && assignment.values.iter().any(prints);
                if printed || assignment.values.iter().any(names_system) {
                    self.unseen.insert(assignment.name.clone());
                }
            }
        }
    }

    /// The parameters of the texts that are handed on come from an input.
    pub(super) fn note_parameters(&mut self) {
        self.unseen.extend(POSITIONAL.map(str::to_owned));
    }

    /// Marks the expansions of such variables.
    pub(super) fn mark_unseen(&self, arguments: &mut [Argument]) {
        if self.unseen.is_empty() {
            return;
        }
        for atom in arguments.iter_mut().flat_map(|argument| &mut argument.atoms) {
            if let Atom::Dynamic(dynamic) = atom
                && dynamic.nature == Nature::Variable
                && self.unseen.contains(name(&self.script, dynamic))
            {
                dynamic.nature = Nature::Input;
            }
        }
    }
}

/// The variable that a command fills from its input when it names none; its words are names, among others.
fn filled(command: &Command) -> Option<&'static str> {
    let fills = |word: &str| FILLING.iter().find(|(name, _)| *name == word);
    let mut heads = command.words.iter().take(2).filter_map(plain);
    heads.find_map(fills).filter(|_| command.kind == Kind::Simple).map(|(_, usual)| *usual)
}

fn plain(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Plain(text)] => Some(text),
        _ => None,
    }
}

/// Whether a word of a loop is what another command prints.
fn prints(word: &Word) -> bool {
    word.parts
        .iter()
        .any(|part| matches!(part, Part::Dynamic(dynamic) if dynamic.nature == Nature::Substitution))
}

/// Whether a value is a part of the system by its name.
fn names_system(value: &Word) -> bool {
    let may = matches!(value.parts.first(), Some(Part::Plain(text) | Part::Quoted(text)) if text.starts_with(['/', '~', '.']));
    may && Path::of(&argument::single(value), &Directory::workspace()).is_system()
}

/// The name of the variable that is expanded: `$name`, `${name…}`.
fn name<'s>(script: &'s Script, dynamic: &Dynamic) -> &'s str {
    let text = script.slice(dynamic.place).trim_start_matches(['$', '{']);
    let end = text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some(("", _)) => text.get(..1).unwrap_or(""),
        Some((name, _)) => name,
        None => "",
    }
}
