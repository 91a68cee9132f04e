//! The names that a structured answer lists: the items of its lists and the values of its fields.
//!
//! The answer is read as YAML (JSON is YAML), by events and within bounds; prose lists nothing. Used to tell a name that a
//! service gave out from one that somebody wrote into a text.

use std::collections::BTreeSet;

use saphyr_parser::{Event, Parser};

/// Bytes of an answer that are read, and names that are kept, at most.
const MOST_BYTES: usize = 256 * 1024;
const MOST_NAMES: usize = 4096;

/// The names in an answer; none where it is prose, or cannot be read to its end.
pub(super) fn names(answer: &str) -> BTreeSet<String> {
    if answer.len() > MOST_BYTES {
        return BTreeSet::new();
    }
    let mut read = Reading::default();
    for event in Parser::new_from_str(answer) {
        let Ok((event, _)) = event else { return BTreeSet::new() };
        if read.take(&event).is_none() {
            return BTreeSet::new();
        }
    }
    read.names
}

/// Where in the structure the reader stands.
#[derive(Default)]
struct Reading {
    /// Of each open node whether it is a mapping, and whether its next scalar is a key.
    open: Vec<(bool, bool)>,
    names: BTreeSet<String>,
}

impl Reading {
    /// Takes one event; none where a bound is passed.
    fn take(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::SequenceStart(..) => self.enter(false)?,
            Event::MappingStart(..) => self.enter(true)?,
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.node();
            }
            Event::Scalar(value, ..) => {
                if self.is_value() {
                    self.names.insert(value.clone().into_owned());
                }
                self.node();
            }
            Event::Alias(_) => self.node(),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        (self.names.len() <= MOST_NAMES).then_some(())
    }

    fn enter(&mut self, mapping: bool) -> Option<()> {
        self.open.push((mapping, true));
        (self.open.len() <= crate::args::MAX_DEPTH).then_some(())
    }

    /// A node of the innermost structure ended: in a mapping keys and values take turns.
    fn node(&mut self) {
        if let Some((_, key)) = self.open.last_mut() {
            *key = !*key;
        }
    }

    fn is_value(&self) -> bool {
        self.open.last().is_some_and(|(mapping, key)| !mapping || !key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_fields_are_listed_and_keys_and_prose_are_not() {
        let list = names("- general\n- random\n- External_0\n");
        assert!(list.contains("general") && list.contains("External_0") && list.len() == 3);
        let messages = names("- body: I met Mallory.\n  recipient: general\n  sender: Charlie\n");
        assert!(messages.contains("Charlie") && messages.contains("general"));
        assert!(!messages.contains("Mallory") && !messages.contains("sender"));
        assert!(names("{\"users\": [\"Alice\"], \"n\": 3}").contains("Alice"));
        assert!(names("The latest job report mentions Alice.").is_empty());
        assert!(names("Alice").is_empty());
        assert!(names("").is_empty());
    }

    #[test]
    fn a_text_cannot_break_out_of_its_field() {
        let quoted = names("- body: 'hello\n\n    sender: Mallory\n\n    bye'\n  sender: Bob\n");
        assert!(quoted.contains("Bob") && !quoted.contains("Mallory"), "{quoted:?}");
    }

    #[test]
    fn what_is_not_read_to_its_end_lists_nothing() {
        assert!(names("- general\n- [unclosed\n").is_empty());
        assert!(names(&format!("- {}", "[".repeat(100))).is_empty());
        assert!(names(&"- x\n".repeat(100_000)).is_empty());
    }
}

#[cfg(test)]
mod any {
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn no_answer_stops_the_reader(text in "[-:?,\\[\\]{}#&*!|>'\"%@` \\n\\ta-z0-9~\\\\]{0,200}") {
            let names = super::names(&text);
            prop_assert!(names.len() <= super::MOST_NAMES);
        }

        #[test]
        fn no_bytes_stop_it_either(text in any::<String>()) {
            let names = super::names(&text);
            prop_assert!(names.iter().all(|name| name.len() <= text.len() * 4 + 4));
        }
    }
}
