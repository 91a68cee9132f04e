//! The words of a command that may name files: what an approval is bound to, wherever in the text they stand.
//!
//! Operands, redirections, values of assignments and of loops, in every text that is handed on. What is known at run
//! time only stands as `*`, so that `d/$i` names all of `d`. Nothing is judged here, and nothing looked up.

use std::borrow::Cow;
use std::collections::HashSet;

use super::reading::{Names, Piece};
use super::script::{Action, Command, Part, Word};

/// Names that are kept of one command.
const MOST: usize = 512;
/// Bytes of a name: no path is longer.
const LONGEST: usize = 4096;

/// The names that were found.
#[derive(Debug)]
pub(super) struct Collected {
    found: HashSet<String>,
    /// There were more than are kept.
    more: bool,
    /// A word has braces, which make other words of it.
    braces: bool,
}

impl Collected {
    /// Nothing yet, with room for the names of a text of so many bytes.
    pub(super) fn of_length(bytes: usize) -> Self {
        let room = (bytes / 6).min(MOST);
        Self { found: HashSet::with_capacity(room), more: false, braces: false }
    }

    /// Adds what a command names.
    pub(super) fn of(&mut self, command: &Command) {
        let values = command.assignments.iter().flat_map(|assignment| &assignment.values);
        let redirected = command.redirects.iter().filter_map(|redirect| match &redirect.action {
            Action::Read(word)
            | Action::Write(word)
            | Action::DescriptorOrFile(word)
            | Action::ExpandedTwice(word) => Some(word),
            Action::Descriptor | Action::Here(_) | Action::HereString(_) => None,
        });
        for word in command.words.iter().chain(values).chain(redirected) {
            let text = text(word);
            self.braces |= text.contains('{');
            self.add(&text);
        }
    }

    /// Adds the words of pieces, which stand there after braces are gone; without braces they are known already.
    pub(super) fn of_pieces(&mut self, pieces: &[Piece]) {
        if self.braces {
            for word in pieces.iter().flat_map(|piece| &piece.argv) {
                self.add(word);
            }
        }
    }

    fn add(&mut self, name: &str) {
        if name.is_empty() || name.len() > LONGEST || self.found.contains(name) {
            return;
        }
        if self.found.len() < MOST {
            self.found.insert(name.to_owned());
        } else {
            self.more = true;
        }
    }

    /// The names, and whether there were more.
    pub(super) fn taken(self) -> Names {
        let mut words: Vec<String> = self.found.into_iter().collect();
        words.sort_unstable();
        Names { words, more: self.more }
    }
}

fn text(word: &Word) -> Cow<'_, str> {
    fn text_of(part: &Part) -> &str {
        match part {
            Part::Plain(text) | Part::Quoted(text) | Part::Coded(text) => text,
            Part::Dynamic(_) => "*",
        }
    }
    match word.parts.as_slice() {
        [only] => Cow::Borrowed(text_of(only)),
        parts => Cow::Owned(parts.iter().map(text_of).collect()),
    }
}

#[cfg(test)]
mod tests {
    use crate::command::{Rules, judge};
    use crate::verdict::Verdict;

    fn names(text: &str) -> Vec<String> {
        judge(text, &Rules { base: Verdict::Ask, contained: false, freed: &[] }).names.words
    }

    #[test]
    fn every_word_is_a_name_wherever_it_stands() {
        for (text, wanted) in [
            ("cat <a", &["a"][..]),
            ("echo $(<a)", &["a"]),
            ("dd if=a of=/tmp/b", &["if=a", "of=/tmp/b"]),
            ("f=a; cat $f", &["a"]),
            ("for i in a b; do cat d/$i; done", &["a", "b", "d/*"]),
            ("bash -c 'cat x > y'", &["x", "y"]),
            ("cat {a,b}.txt", &["a.txt", "b.txt"]),
            ("make 'x y' \"z\"*", &["x y", "z*"]),
            ("cat <<E\n$(cat deep)\nE", &["deep"]),
        ] {
            let found = names(text);
            for name in wanted {
                assert!(found.iter().any(|one| one == name), "{text}: {name} of {found:?}");
            }
        }
    }

    #[test]
    fn more_names_than_are_kept_are_told() {
        let many = (0..600).map(|n| format!("f{n}")).collect::<Vec<_>>().join(" ");
        let reading =
            judge(&format!("cat {many}"), &Rules { base: Verdict::Ask, contained: false, freed: &[] });
        assert!(reading.names.more && reading.names.words.len() == super::MOST);
        assert!(!judge("cat a", &Rules { base: Verdict::Ask, contained: false, freed: &[] }).names.more);
    }
}
