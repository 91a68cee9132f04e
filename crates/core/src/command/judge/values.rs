//! Variables whose values stand in the text itself: what a command weighs with them in place.
//!
//! `d=/usr; rm -rf "$d"` names what it removes, one step further away. Values are put in for the refused families alone: no
//! verdict is softer for them, and a name that comes from a variable asks as ever. Where a text gives a variable several
//! values, and not all of them are refused, that asks.

use super::Judge;
use crate::command::argument::{self, Argument, Atom};
use crate::command::families;
use crate::command::finding::{Finding, Weight};
use crate::command::script::{Command, Dynamic, Kind, Nature, Script};

/// The most variables of a text whose values are kept, and the most values of one.
const MAX_VARIABLES: usize = 32;
/// See [`MAX_VARIABLES`].
pub(super) const MAX_VALUES: usize = 8;

/// What a text gives a variable.
#[derive(Debug, Default)]
pub(super) struct Values {
    known: Vec<Argument>,
    /// A loop gives it one after the other: each of them is used.
    each: bool,
}

impl Judge<'_> {
    /// Notes the values that these commands give.
    pub(super) fn note_values(&mut self, commands: &[Command]) {
        for command in commands.iter().filter(|command| !self.script.is_guess(command.place.text)) {
            for assignment in &command.assignments {
                let full = self.values.len() >= MAX_VARIABLES && !self.values.contains_key(&assignment.name);
                let values: Vec<Argument> = assignment.values.iter().map(argument::single).collect();
                if full || values.iter().any(Argument::is_dynamic) {
                    continue;
                }
                let held = self.values.entry(assignment.name.clone()).or_default();
                held.each |= command.kind == Kind::Loop;
                let room = MAX_VALUES.saturating_sub(held.known.len());
                held.known.extend(values.into_iter().take(room));
            }
        }
    }

    /// Whether a value that is known stands for a part of these arguments.
    pub(super) fn has_values(&self, arguments: &[Argument]) -> bool {
        !self.values.is_empty()
            && arguments.iter().flat_map(Argument::dynamics).any(|dynamic| {
                variable(&self.script, dynamic).is_some_and(|name| self.values.contains_key(name))
            })
    }

    /// What the families say of a command once the values of its variables are put in.
    pub(super) fn refused_by_values(&self, name: &str, arguments: &[Argument]) -> Option<Finding> {
        self.by_values(arguments, |put| families::refused(name, put, &self.directories))
    }

    /// The worst that `says` finds with each of the values put in.
    pub(super) fn by_values(
        &self,
        arguments: &[Argument],
        says: impl Fn(&[Argument]) -> Option<Finding>,
    ) -> Option<Finding> {
        if !self.has_values(arguments) {
            return None;
        }
        let named = arguments.iter().flat_map(Argument::dynamics);
        let held: Vec<&Values> =
            named.filter_map(|dynamic| self.values.get(variable(&self.script, dynamic)?)).collect();
        let turns = held.iter().map(|values| values.known.len()).max().unwrap_or(0);
        let each = held.iter().any(|values| values.each);
        let found = (0..turns).map(|turn| says(&self.put(arguments, turn)));
        let refused: Vec<Option<Finding>> =
            found.map(|finding| finding.filter(|finding| finding.weight == Weight::Refused)).collect();
        let all = refused.iter().all(Option::is_some);
        let first = refused.into_iter().flatten().next()?;
        if all || each {
            return Some(first);
        }
        Some(Finding::asks(
            "command.ask.target",
            "With one of the values that the text gives, it is refused.",
        ))
    }

    /// The arguments with one value of each variable put in.
    fn put(&self, arguments: &[Argument], turn: usize) -> Vec<Argument> {
        let value = |atom: &Atom| match atom {
            Atom::Dynamic(dynamic) => {
                let known = &self.values.get(variable(&self.script, dynamic)?)?.known;
                known.get(turn).or(known.last())
            }
            Atom::Text(_) | Atom::Glob(_) | Atom::Tilde(_) => None,
        };
        let whole = |argument: &Argument| {
            let atoms = argument
                .atoms
                .iter()
                .flat_map(|atom| value(atom).map_or_else(|| vec![atom.clone()], |value| value.atoms.clone()));
            argument.with_atoms(joined(atoms))
        };
        arguments.iter().map(whole).collect()
    }
}

/// Texts that stand beside each other are one, as where they were written so.
fn joined(atoms: impl Iterator<Item = Atom>) -> Vec<Atom> {
    let mut out: Vec<Atom> = Vec::new();
    for atom in atoms {
        match (out.last_mut(), atom) {
            (Some(Atom::Text(last)), Atom::Text(text)) => last.push_str(&text),
            (_, atom) => out.push(atom),
        }
    }
    out
}

/// The variable that is expanded as it is: `$name` or `${name}`.
fn variable<'s>(script: &'s Script, dynamic: &Dynamic) -> Option<&'s str> {
    if !matches!(dynamic.nature, Nature::Variable | Nature::Input) {
        return None;
    }
    let text = script.slice(dynamic.place).strip_prefix('$')?;
    let name = text.strip_prefix('{').map_or(Some(text), |braced| braced.strip_suffix('}'))?;
    name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()).then_some(name)
}
