//! Arguments: words after quotes, escapes and braces are gone.
//!
//! An argument keeps apart what is known (text), what depends on the files there are (patterns, `~`) and what
//! is known at run time only. Nothing unknown is ever taken for text.

use std::borrow::Cow;

use super::braces::{self, Expanded};
use super::script::{Dynamic, Nature, Part, Place, Script, Word};

/// A part of an argument.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    /// Known text.
    Text(String),
    /// A pattern over file names: `*`, `?` or a bracket, as written.
    Glob(String),
    /// `~` or `~name` at the head of a word, as written.
    Tilde(String),
    /// Known at run time only.
    Dynamic(Dynamic),
}

impl Atom {
    /// Its known text; a pattern and `~` as written.
    pub(super) fn known(&self) -> &str {
        match self {
            Self::Text(text) | Self::Glob(text) | Self::Tilde(text) => text,
            Self::Dynamic(_) => "",
        }
    }
}

/// An argument of a command.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    /// The word it came from.
    pub(super) place: Place,
    /// Its parts; one piece of text for most.
    pub(super) atoms: Vec<Atom>,
    /// Written so that it is hard to read: `$'…'`, `$"…"`, or put together by braces.
    pub(super) coded: bool,
    /// Braces would have made too many words of it.
    pub(super) too_large: bool,
}

impl Argument {
    /// An argument that is this text.
    pub(super) fn text(text: &str, place: Place) -> Self {
        Self { place, atoms: vec![Atom::Text(text.to_owned())], coded: false, too_large: false }
    }

    /// The argument's text when all of it is known.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.atoms.as_slice() {
            [Atom::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The known text, as if every expansion were empty. Patterns and `~` stay as written.
    pub(super) fn emptied(&self) -> Cow<'_, str> {
        match self.atoms.as_slice() {
            [Atom::Text(only) | Atom::Glob(only) | Atom::Tilde(only)] => Cow::Borrowed(only),
            atoms => Cow::Owned(atoms.iter().map(Atom::known).collect()),
        }
    }

    /// How many bytes of it are known.
    pub(super) fn known(&self) -> usize {
        self.atoms.iter().map(|atom| atom.known().len()).sum()
    }

    /// How it is shown: what is known decoded, the rest as written.
    pub(super) fn shown(&self, script: &Script) -> String {
        self.atoms
            .iter()
            .map(|atom| match atom {
                Atom::Text(text) | Atom::Glob(text) | Atom::Tilde(text) => text.as_str(),
                Atom::Dynamic(dynamic) => script.slice(dynamic.place),
            })
            .collect()
    }

    /// The expansions in it.
    pub(super) fn dynamics(&self) -> impl Iterator<Item = &Dynamic> {
        self.atoms.iter().filter_map(|atom| match atom {
            Atom::Dynamic(dynamic) => Some(dynamic),
            Atom::Text(_) | Atom::Glob(_) | Atom::Tilde(_) => None,
        })
    }

    /// Whether a part of it is known at run time only.
    pub(super) fn is_dynamic(&self) -> bool {
        self.dynamics().next().is_some()
    }

    /// Whether it may become several words, or none, at run time.
    pub(super) fn splits(&self) -> bool {
        self.dynamics().any(|dynamic| !dynamic.quoted && dynamic.nature != Nature::Number)
    }

    /// Whether it is a pattern over file names.
    pub(super) fn is_glob(&self) -> bool {
        self.atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)))
    }

    /// Whether at run time it may be this text. Says yes where it cannot be told.
    pub(super) fn may_spell(&self, text: &str) -> bool {
        let known = |atom: Option<&Atom>| match atom {
            Some(Atom::Text(known)) => known.clone(),
            Some(Atom::Glob(_) | Atom::Tilde(_) | Atom::Dynamic(_)) | None => String::new(),
        };
        if let Some(literal) = self.literal() {
            return literal == text;
        }
        let (head, tail) = (known(self.atoms.first()), known(self.atoms.last()));
        head.len() + tail.len() <= text.len() && text.starts_with(&head) && text.ends_with(&tail)
    }

    /// Whether it may vanish: expansions outside quotes and nothing else.
    pub(super) fn may_vanish(&self) -> bool {
        self.atoms.iter().all(|atom| matches!(atom, Atom::Dynamic(dynamic) if !dynamic.quoted))
    }

    /// Whether at run time it may begin with `-`, by a pattern or an expansion at its head.
    pub(super) fn may_be_option(&self) -> bool {
        let empty = |atom: &&Atom| matches!(atom, Atom::Text(text) if text.is_empty());
        match self.atoms.iter().find(|atom| !empty(atom)) {
            Some(Atom::Text(text)) => text.starts_with('-') || self.splits(),
            Some(Atom::Dynamic(dynamic)) => !matches!(dynamic.nature, Nature::Home | Nature::Number),
            Some(Atom::Glob(_)) => true,
            Some(Atom::Tilde(_)) => self.splits(),
            None => false,
        }
    }

    /// The same argument with these parts.
    /// The same argument with other parts.
    pub(super) fn with_atoms(&self, atoms: Vec<Atom>) -> Self {
        Self { place: self.place, atoms, coded: self.coded, too_large: self.too_large }
    }
}

/// The arguments that the words of a command become. `room` bounds what braces may add. `Err`: the word
/// whose braces nest too deep.
pub(super) fn arguments(words: &[Word], room: &mut usize) -> Result<Vec<Argument>, Place> {
    let mut arguments = Vec::with_capacity(words.len());
    for word in words {
        match braces::expand(word, room) {
            Expanded::Same => arguments.push(argument(word.place, &word.parts, false)),
            Expanded::Words(all) => {
                arguments.extend(all.iter().map(|parts| argument(word.place, parts, true)));
            }
            Expanded::TooDeep => return Err(word.place),
            Expanded::TooLarge => {
                let dynamic = Dynamic { place: word.place, quoted: false, nature: Nature::Variable };
                let atoms = vec![Atom::Dynamic(dynamic)];
                arguments.push(Argument { place: word.place, atoms, coded: true, too_large: true });
            }
        }
    }
    Ok(arguments)
}

/// The argument that a word becomes where braces are not expanded.
pub(super) fn single(word: &Word) -> Argument {
    argument(word.place, &word.parts, false)
}

fn argument(place: Place, parts: &[Part], braced: bool) -> Argument {
    let mut atoms = Vec::with_capacity(1);
    let mut coded = braced;
    let last_bracket = parts.iter().rposition(|part| matches!(part, Part::Plain(text) if text.contains(']')));
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Plain(text) => {
                let rest = if index == 0 { take_tilde(text, parts.len() == 1, &mut atoms) } else { text };
                let open_bracket = last_bracket.is_some_and(|last| last > index);
                plain_atoms(rest, open_bracket, &mut atoms);
            }
            Part::Quoted(text) => push_text(&mut atoms, text),
            Part::Coded(text) => {
                coded = true;
                push_text(&mut atoms, text);
            }
            Part::Dynamic(dynamic) => atoms.push(Atom::Dynamic(*dynamic)),
        }
    }
    if atoms.is_empty() {
        atoms.push(Atom::Text(String::new()));
    }
    Argument { place, atoms, coded, too_large: false }
}

/// Takes `~` or `~name` off the head of a word.
fn take_tilde<'t>(text: &'t str, whole: bool, atoms: &mut Vec<Atom>) -> &'t str {
    if !text.starts_with('~') {
        return text;
    }
    let end = text.find('/').unwrap_or(text.len());
    // `~"name"` is not expanded.
    if end == text.len() && !whole {
        return text;
    }
    let (tilde, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    atoms.push(Atom::Tilde(tilde.to_owned()));
    rest
}

/// Splits plain text into text and patterns. `open_bracket`: a `]` follows in a later part of the word.
fn plain_atoms(text: &str, open_bracket: bool, atoms: &mut Vec<Atom>) {
    if !text.contains(['*', '?', '[']) {
        return push_text(atoms, text);
    }
    let last_close = text.rfind(']');
    let mut start = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            b'*' | b'?' => Some(at + 1),
            b'[' if last_close.is_some_and(|close| close > at + 1) => {
                let rest = bytes.get(at + 2..).unwrap_or(&[]);
                let after = rest.iter().position(|&byte| byte == b']');
                after.map(|offset| at + 2 + offset + 1)
            }
            b'[' if open_bracket => Some(at + 1),
            _ => None,
        };
        match end {
            Some(end) => {
                push_text(atoms, text.get(start..at).unwrap_or(""));
                atoms.push(Atom::Glob(text.get(at..end).unwrap_or("*").to_owned()));
                start = end;
                at = end;
            }
            None => at += 1,
        }
    }
    push_text(atoms, text.get(start..).unwrap_or(""));
}

fn push_text(atoms: &mut Vec<Atom>, text: &str) {
    if let Some(Atom::Text(last)) = atoms.last_mut() {
        last.push_str(text);
    } else if !text.is_empty() || atoms.is_empty() {
        atoms.push(Atom::Text(text.to_owned()));
    }
}

/// Splits arguments at `$IFS` outside quotes, as the shell does. `None` when there is none.
pub(super) fn split_at_separators(arguments: &[Argument]) -> Option<Vec<Argument>> {
    let separates = |dynamic: &Dynamic| dynamic.nature == Nature::Separator && !dynamic.quoted;
    if !arguments.iter().any(|argument| argument.dynamics().any(separates)) {
        return None;
    }
    let mut split = Vec::new();
    for argument in arguments {
        let pieces = argument
            .atoms
            .split(|atom| matches!(atom, Atom::Dynamic(dynamic) if separates(dynamic)))
            .filter(|atoms| !atoms.is_empty());
        split.extend(pieces.map(|atoms| argument.with_atoms(atoms.to_vec())));
    }
    Some(split)
}
