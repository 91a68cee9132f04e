//! The review of a change set: what a person may do with it, and the questions that follow.
//!
//! A flagged file is never part of "all": it is asked for by itself, by name.

use enclos_protocol::changeset::FileView;
use enclos_protocol::order::Order;

use crate::terminal::keys::Key;
use crate::terminal::mode::Act;
use crate::text;

/// A change set under review.
#[derive(Debug)]
pub(crate) struct Review {
    /// Its files.
    files: Vec<FileView>,
    step: Step,
}

/// Where the review stands.
#[derive(Debug)]
enum Step {
    /// What is to be done with the whole.
    Menu,
    /// File by file. With `all`, the files that are not flagged are accepted already.
    Choosing { queue: Vec<usize>, at: usize, chosen: Vec<usize>, all: bool },
    /// Whether it is really to be thrown away.
    Discarding,
}

/// What is asked at this moment.
#[derive(Debug, PartialEq)]
pub(crate) enum Question<'r> {
    /// What is to be done with the whole.
    Menu {
        /// Files that are asked for by themselves.
        flagged: usize,
    },
    /// Whether this file is accepted.
    File {
        /// The file.
        file: &'r FileView,
        /// Its place, from 1.
        at: usize,
        /// Of how many.
        of: usize,
    },
    /// Whether it is really to be thrown away.
    Discard,
}

impl Review {
    /// A review of these files.
    pub(crate) fn new(files: Vec<FileView>) -> Self {
        // A held file is released from the command line, with a reason; here it is not asked about.
        Self { files: files.into_iter().filter(|file| file.held.is_none()).collect(), step: Step::Menu }
    }

    /// What is asked.
    pub(crate) fn question(&self) -> Question<'_> {
        match &self.step {
            Step::Menu => Question::Menu { flagged: self.flagged().len() },
            Step::Choosing { queue, at, .. } => {
                Question::File { file: &self.files[queue[*at]], at: at + 1, of: queue.len() }
            }
            Step::Discarding => Question::Discard,
        }
    }

    fn flagged(&self) -> Vec<usize> {
        (0..self.files.len()).filter(|&index| !self.files[index].flags.is_empty()).collect()
    }

    /// What a key means here.
    pub(crate) fn key(&mut self, key: Key) -> Act {
        match &mut self.step {
            Step::Menu => self.menu(key),
            Step::Choosing { .. } => self.choose(key),
            Step::Discarding => match key {
                Key::Char('y') => Act::Send(Order::Discard),
                Key::Char('n') | Key::Escape => self.back(),
                _ => Act::Nothing,
            },
        }
    }

    fn menu(&mut self, key: Key) -> Act {
        match key {
            Key::Char('a') => self.ask(self.flagged(), true),
            Key::Char('f') => self.ask((0..self.files.len()).collect(), false),
            Key::Char('d') => Act::Diff,
            Key::Char('m') => Act::Message,
            Key::Char('x') => {
                self.step = Step::Discarding;
                Act::Next
            }
            Key::Char('q') | Key::EndOfInput => Act::Leave,
            Key::Char('?') => Act::Help,
            _ => Act::Nothing,
        }
    }

    fn ask(&mut self, queue: Vec<usize>, all: bool) -> Act {
        self.step = Step::Choosing { queue, at: 0, chosen: Vec::new(), all };
        self.next()
    }

    fn back(&mut self) -> Act {
        self.step = Step::Menu;
        Act::Next
    }

    fn choose(&mut self, key: Key) -> Act {
        let Step::Choosing { queue, at, chosen, .. } = &mut self.step else { return Act::Nothing };
        match key {
            Key::Char('y') => chosen.push(queue[*at]),
            Key::Char('n') => {}
            Key::Char('d') => return Act::Diff,
            Key::Escape | Key::Char('b') => return self.back(),
            _ => return Act::Nothing,
        }
        *at += 1;
        self.next()
    }

    /// The next question, or the order when there is none.
    fn next(&mut self) -> Act {
        let Step::Choosing { queue, at, chosen, all } = &self.step else { return Act::Next };
        if *at < queue.len() {
            return Act::Next;
        }
        let paths = |flagged: bool| {
            let of = chosen.iter().map(|&index| &self.files[index]);
            of.filter(|file| file.flags.is_empty() != flagged)
                .map(|file| file.path.clone())
                .collect::<Vec<_>>()
        };
        let nothing = chosen.is_empty() && (!*all || self.files.iter().all(|file| !file.flags.is_empty()));
        let order = Order::Accept { files: (!*all).then(|| paths(false)), flagged: paths(true) };
        self.step = Step::Menu;
        if nothing { Act::Note(text::NOTE_NOTHING_CHOSEN) } else { Act::Send(order) }
    }
}

#[cfg(test)]
mod tests {
    use enclos_protocol::changeset::FileView;
    use enclos_protocol::order::Order;

    use super::{Question, Review};
    use crate::terminal::keys::Key;
    use crate::terminal::mode::Act;

    fn review(names: &[(&str, bool)]) -> Review {
        let file = |(path, flagged): &(&str, bool)| FileView {
            path: (*path).to_owned(),
            old_path: None,
            change: "modified".to_owned(),
            insertions: 1,
            deletions: 0,
            binary: false,
            flags: if *flagged { vec!["CI configuration".to_owned()] } else { Vec::new() },
            label: None,
            held: None,
        };
        Review::new(names.iter().map(file).collect())
    }

    fn type_keys(review: &mut Review, keys: &str) -> Act {
        keys.chars().map(|c| review.key(Key::Char(c))).last().unwrap_or(Act::Nothing)
    }

    fn accepted(act: Act) -> (Option<Vec<String>>, Vec<String>) {
        match act {
            Act::Send(Order::Accept { files, flagged }) => (files, flagged),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_is_all_that_is_not_flagged() {
        let act = type_keys(&mut review(&[("a", false), ("b", false)]), "a");
        assert_eq!(accepted(act), (None, vec![]));
    }

    #[test]
    fn each_flagged_file_has_its_own_yes() {
        let mut set = review(&[("a", false), ("ci", true), ("hook", true)]);
        assert!(matches!(set.key(Key::Char('a')), Act::Next));
        assert!(matches!(set.question(), Question::File { file, at: 1, of: 2 } if file.path == "ci"));
        assert!(matches!(set.key(Key::Other), Act::Nothing), "Enter answers nothing");
        assert_eq!(accepted(type_keys(&mut set, "ny")), (None, vec!["hook".to_owned()]));
    }

    #[test]
    fn files_are_chosen_one_by_one() {
        let act = type_keys(&mut review(&[("a", false), ("b", false), ("ci", true)]), "fyny");
        assert_eq!(accepted(act), (Some(vec!["a".to_owned()]), vec!["ci".to_owned()]));
    }

    #[test]
    fn choosing_nothing_accepts_nothing() {
        assert!(matches!(type_keys(&mut review(&[("a", false)]), "fn"), Act::Note(_)));
        assert!(matches!(type_keys(&mut review(&[("ci", true)]), "an"), Act::Note(_)));
        assert!(matches!(type_keys(&mut review(&[]), "a"), Act::Note(_)));
    }

    #[test]
    fn throwing_away_is_asked_twice() {
        let mut set = review(&[("a", false)]);
        assert!(matches!(set.key(Key::Char('x')), Act::Next));
        assert!(matches!(set.key(Key::Char('n')), Act::Next));
        assert_eq!(set.question(), Question::Menu { flagged: 0 });
        assert!(matches!(type_keys(&mut set, "xy"), Act::Send(Order::Discard)));
    }

    #[test]
    fn a_choice_can_be_left() {
        let mut set = review(&[("a", false), ("b", false)]);
        type_keys(&mut set, "fy");
        assert!(matches!(set.key(Key::Escape), Act::Next));
        assert_eq!(accepted(type_keys(&mut set, "fny")), (Some(vec!["b".to_owned()]), vec![]));
    }
}
