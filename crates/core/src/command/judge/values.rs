//! Variables whose values stand in the text itself: what a command weighs with them in place.
//!
//! `d=/usr; rm -rf "$d"` names what it removes, one step further away; so do `set -- /usr`, the arguments of a function and
//! `${d:-/usr}`. Values are put in for the refused families alone: no verdict is softer for them, and a name that comes from
//! a variable asks as ever. Where a text gives a variable several values, and not all of them are refused, that asks.

use super::Judge;
use crate::command::argument::{self, Argument, Atom};
use crate::command::families;
use crate::command::finding::{Finding, Weight};
use crate::command::script::{Command, Dynamic, Kind, Nature, Part, Script, Word};

/// The most variables of a text whose values are kept.
const MAX_VARIABLES: usize = 32;
/// The most values of one.
const MAX_VALUES: usize = 8;
/// Steps that a part of an argument counts for.
const PART_STEPS: usize = 16;
/// Builtins whose words set variables.
const DECLARING: [&str; 5] = ["declare", "typeset", "export", "readonly", "local"];
/// The list of all parameters of a script or function.
const ALL: &str = "@";

/// What a text gives a variable.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Each value; several words where it is a list.
    known: Vec<Vec<Argument>>,
    /// Each of them is used: a loop gives one after the other, a function is called with each.
    each: bool,
    /// What looking at the longest of them takes.
    cost: usize,
}

/// A variable as it is expanded.
struct Named<'s> {
    name: &'s str,
    /// What stands in brackets behind it.
    index: Option<&'s str>,
    /// What stands for it when it is not set, or when it is.
    otherwise: Option<&'s str>,
}

impl Judge<'_> {
    /// Notes the values that these commands give.
    pub(super) fn note_values(&mut self, commands: &[Command]) {
        let functions: Vec<&str> = commands
            .iter()
            .filter(|command| matches!(command.kind, Kind::Function))
            .filter_map(first)
            .collect();
        for command in commands {
            if self.script.is_guess(command.place.text) {
                continue;
            }
            let each = command.kind == Kind::Loop;
            for assignment in &command.assignments {
                let values: Vec<Argument> = assignment.values.iter().map(argument::single).collect();
                if each {
                    for value in values {
                        self.note_value(&assignment.name, vec![value], true);
                    }
                } else {
                    self.note_value(&assignment.name, values, false);
                }
            }
            match first(command) {
                Some(name) if DECLARING.contains(&name) => {
                    for (name, value) in command.words.iter().filter_map(declared) {
                        self.note_value(&name, vec![value], false);
                    }
                }
                Some("printf") => {
                    if let [_, option, name, format, ..] = command.words.as_slice()
                        && plain(option) == Some("-v")
                        && let Some(name) = plain(name)
                    {
                        self.note_value(name, vec![argument::single(format)], false);
                    }
                }
                Some("set") => {
                    let behind = command.words.iter().position(|word| plain(word) == Some("--"));
                    self.note_parameters_of(behind.and_then(|at| command.words.get(at + 1..)).unwrap_or(&[]));
                }
                Some(name) if command.kind != Kind::Function && functions.contains(&name) => {
                    self.note_parameters_of(command.words.get(1..).unwrap_or(&[]));
                }
                Some(_) | None => {}
            }
        }
    }

    fn note_parameters_of(&mut self, words: &[Word]) {
        let values: Vec<Argument> = words.iter().map(argument::single).collect();
        for (at, value) in values.iter().enumerate().take(MAX_VALUES) {
            self.note_value(&(at + 1).to_string(), vec![value.clone()], true);
        }
        self.note_value(ALL, values, true);
    }

    fn note_value(&mut self, name: &str, value: Vec<Argument>, each: bool) {
        let full = self.values.len() >= MAX_VARIABLES && !self.values.contains_key(name);
        if full || value.is_empty() || value.iter().any(Argument::is_dynamic) {
            return;
        }
        let held = self.values.entry(name.to_owned()).or_default();
        held.each |= each;
        held.cost = held.cost.max(cost(&value));
        if held.known.len() < MAX_VALUES {
            held.known.push(value);
        }
    }

    /// How many values of a variable are known.
    fn turns(&self, named: &Named<'_>) -> usize {
        let own = self.values.get(named.key()).map_or(0, |values| values.known.len());
        own + usize::from(named.otherwise.is_some())
    }

    /// What the families say of a command once the values of its variables are put in.
    pub(super) fn refused_by_values(&self, name: &str, arguments: &[Argument]) -> Option<Finding> {
        if !families::looks_at_operands(name) {
            return None;
        }
        self.by_values(arguments, |put| families::refused(name, put, &self.directories))
    }

    /// The worst that `says` finds with each of the values put in.
    pub(super) fn by_values(
        &self,
        arguments: &[Argument],
        says: impl Fn(&[Argument]) -> Option<Finding>,
    ) -> Option<Finding> {
        let all = arguments.iter().flat_map(Argument::dynamics);
        let all: Vec<Named<'_>> = all.filter_map(|dynamic| named(&self.script, dynamic)).collect();
        let turns = all.iter().map(|named| self.turns(named)).max().filter(|turns| *turns > 0)?;
        let of_value =
            |named: &Named<'_>| self.values.get(named.key()).map_or(PART_STEPS, |values| values.cost);
        let once = cost(arguments) + all.iter().map(of_value).sum::<usize>();
        let Some(left) = self.values_left.get().checked_sub(once * turns * self.directories.len()) else {
            let reason = "Its variables are given more values than can be put in.";
            return Some(Finding::asks("command.ask.target", reason));
        };
        self.values_left.set(left);
        let held = |named: &Named<'_>| self.values.get(named.key()).is_some_and(|values| values.each);
        let each = all.iter().any(|named| named.otherwise.is_some() || held(named));
        let found = (0..turns).map(|turn| says(&self.put(arguments, turn)));
        let refused: Vec<Option<Finding>> =
            found.map(|finding| finding.filter(|finding| finding.weight == Weight::Refused)).collect();
        let always = refused.iter().all(Option::is_some);
        let first = refused.into_iter().flatten().next()?;
        if always || each {
            return Some(first);
        }
        Some(Finding::asks(
            "command.ask.target",
            "With one of the values that the text gives, it is refused.",
        ))
    }

    /// The arguments with one value of each variable put in.
    fn put(&self, arguments: &[Argument], turn: usize) -> Vec<Argument> {
        let mut out = Vec::new();
        for argument in arguments {
            if let Some(dynamic) = alone(argument)
                && let Some(words) = self.words(dynamic, turn, argument)
            {
                let split =
                    words.into_iter().flat_map(|word| if dynamic.quoted { vec![word] } else { cut(word) });
                out.extend(split);
                continue;
            }
            let atoms = argument.atoms.iter().flat_map(|atom| match atom {
                Atom::Dynamic(dynamic) => match self.words(dynamic, turn, argument).as_deref() {
                    Some([first, ..]) => first.atoms.clone(),
                    Some([]) | None => vec![atom.clone()],
                },
                Atom::Text(_) | Atom::Glob(_) | Atom::Tilde(_) => vec![atom.clone()],
            });
            out.push(argument.with_atoms(joined(atoms)));
        }
        out
    }

    /// The words that stand for an expansion, at one turn; the last that is known after that.
    fn words(&self, dynamic: &Dynamic, turn: usize, carrier: &Argument) -> Option<Vec<Argument>> {
        let named = named(&self.script, dynamic)?;
        let known = self.values.get(named.key()).map_or(&[][..], |values| &values.known);
        match (known.get(turn), named.otherwise) {
            (Some(words), _) => named.of(words),
            (None, Some(text)) => Some(vec![Argument::text(text, carrier.place)]),
            (None, None) => named.of(known.last()?),
        }
    }
}

/// What looking at arguments takes.
fn cost(arguments: &[Argument]) -> usize {
    arguments.iter().map(|argument| PART_STEPS * argument.atoms.len() + argument.known()).sum()
}

impl Named<'_> {
    /// Under which name its values are kept.
    fn key(&self) -> &str {
        if self.name == "*" { ALL } else { self.name }
    }

    /// What of a value the expansion names.
    fn of(&self, words: &[Argument]) -> Option<Vec<Argument>> {
        match self.index {
            Some("@" | "*") => Some(words.to_vec()),
            _ if self.key() == ALL => Some(words.to_vec()),
            Some(index) => {
                let at: usize = index.parse().unwrap_or(0);
                Some(vec![words.get(at).or(words.first())?.clone()])
            }
            None => Some(vec![words.first()?.clone()]),
        }
    }
}

/// The expansion that an argument is, quotes aside.
fn alone(argument: &Argument) -> Option<&Dynamic> {
    let mut parts = argument.atoms.iter().filter(|atom| !matches!(atom, Atom::Text(text) if text.is_empty()));
    match (parts.next(), parts.next()) {
        (Some(Atom::Dynamic(dynamic)), None) => Some(dynamic),
        _ => None,
    }
}

/// The word as the shell cuts it into several at blanks.
fn cut(word: Argument) -> Vec<Argument> {
    match word.literal() {
        Some(text) if text.contains(char::is_whitespace) => {
            text.split_whitespace().map(|part| Argument::text(part, word.place)).collect()
        }
        _ => vec![word],
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

fn plain(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Plain(text)] => Some(text),
        _ => None,
    }
}

fn first(command: &Command) -> Option<&str> {
    command.words.first().and_then(plain)
}

/// `name=value` as a word of a builtin that declares.
fn declared(word: &Word) -> Option<(String, Argument)> {
    let whole = argument::single(word);
    let (Atom::Text(head), rest) = whole.atoms.split_first()? else { return None };
    let (name, value) = head.split_once('=')?;
    let atoms = std::iter::once(Atom::Text(value.to_owned())).chain(rest.iter().cloned());
    Some((name.to_owned(), whole.with_atoms(joined(atoms))))
}

/// The variable that is expanded: `$name`, `${name}`, `${name[index]}`, `${name:-text}`.
fn named<'s>(script: &'s Script, dynamic: &Dynamic) -> Option<Named<'s>> {
    if !matches!(dynamic.nature, Nature::Variable | Nature::Input | Nature::Assigns) {
        return None;
    }
    let text = script.slice(dynamic.place).strip_prefix('$')?;
    let text = text.strip_prefix('{').map_or(Some(text), |braced| braced.strip_suffix('}'))?;
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let end = match text.find(|c| !is_name(c)) {
        Some(0) if text.starts_with(['@', '*']) => 1,
        found => found.unwrap_or(text.len()),
    };
    let (name, rest) = text.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    let plain = Named { name, index: None, otherwise: None };
    if rest.is_empty() {
        return Some(plain);
    }
    if let Some(index) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Some(Named { index: Some(index), ..plain });
    }
    let text = rest.strip_prefix(':').unwrap_or(rest).strip_prefix(['-', '=', '+'])?;
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let literal = !text.is_empty() && !text.contains(['$', '`', '"', '\'', '\\']);
    literal.then_some(Named { otherwise: Some(text), ..plain })
}
