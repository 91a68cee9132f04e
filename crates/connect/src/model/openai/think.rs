//! Thoughts that a server leaves in the words: `<think>…</think>`.
//!
//! Only a tag that opens the answer counts; the same tag later on is text that the model wrote. One more case is settled
//! at the end: templates that open the tag themselves leave a closing tag alone, on a line of its own.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A piece of words, told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// For the person.
    Text(String),
    /// Thought aloud.
    Thought(String),
}

/// Tells words from thoughts, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Think {
    state: State,
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space, or the beginning of a tag, so far.
    #[default]
    Start,
    Inside,
    /// White space that follows the closing tag.
    After,
    Text,
}

impl Think {
    /// Takes the next words, and gives what is certain.
    pub(super) fn add(&mut self, text: &str) -> Vec<Said> {
        self.held.push_str(text);
        let mut said = Vec::new();
        while !self.held.is_empty() && self.step(&mut said) {}
        said
    }

    /// The end: what was held back is what it looks like.
    pub(super) fn end(&mut self) -> Option<Said> {
        let rest = std::mem::take(&mut self.held);
        let said = if self.state == State::Inside { Said::Thought(rest) } else { Said::Text(rest) };
        Some(said).filter(|said| !matches!(said, Said::Text(text) | Said::Thought(text) if text.is_empty()))
    }

    /// One move; false when nothing more is certain.
    fn step(&mut self, said: &mut Vec<Said>) -> bool {
        match self.state {
            State::Start => {
                let trimmed = self.held.trim_start();
                if let Some(rest) = trimmed.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.state = State::Inside;
                } else if OPEN.starts_with(trimmed) {
                    return false;
                } else {
                    self.state = State::Text;
                }
            }
            State::Inside => return self.inside(said),
            State::After => {
                self.held = self.held.trim_start().to_owned();
                self.state = if self.held.is_empty() { State::After } else { State::Text };
            }
            State::Text => said.push(Said::Text(std::mem::take(&mut self.held))),
        }
        true
    }

    fn inside(&mut self, said: &mut Vec<Said>) -> bool {
        let closed = self.held.split_once(CLOSE).map(|(thought, rest)| (thought.to_owned(), rest.to_owned()));
        let (thought, rest) = closed.clone().unwrap_or_else(|| {
            // What could be the beginning of the closing tag waits.
            let waits = (1..CLOSE.len()).rev().find(|&n| self.held.ends_with(&CLOSE[..n])).unwrap_or(0);
            let (certain, waiting) = self.held.split_at(self.held.len() - waits);
            (certain.to_owned(), waiting.to_owned())
        });
        self.held = rest;
        if !thought.is_empty() {
            said.push(Said::Thought(thought));
        }
        if closed.is_some() {
            self.state = State::After;
        }
        closed.is_some()
    }
}

/// Parts the words at a closing tag that nothing opened, when it stands on a line of its own.
pub(super) fn unopened(text: &str) -> Option<(&str, &str)> {
    let (before, after) = text.split_once(CLOSE)?;
    let alone = (before.is_empty() || before.ends_with('\n'))
        && (after.is_empty() || after.starts_with(['\n', '\r']));
    (alone && !before.contains(OPEN)).then(|| (before, after.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words and thoughts of the pieces.
    fn told<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut think, mut text, mut thought) = (Think::default(), String::new(), String::new());
        let mut said: Vec<Said> = pieces.into_iter().flat_map(|piece| think.add(piece)).collect();
        said.extend(think.end());
        for said in said {
            match said {
                Said::Text(piece) => text.push_str(&piece),
                Said::Thought(piece) => thought.push_str(&piece),
            }
        }
        (text, thought)
    }

    #[test]
    fn however_it_is_cut() {
        for (whole, text, thought) in [
            ("plain <think>words</think>", "plain <think>words</think>", ""),
            ("\n<think>\nhm < </thin\n</think>\n\nyes", "yes", "\nhm < </thin\n"),
            ("<think></think>yes", "yes", ""),
            ("<think>for ever", "", "for ever"),
            ("<thi", "<thi", ""),
            ("  two", "  two", ""),
            ("", "", ""),
        ] {
            assert_eq!(told([whole]), (text.to_owned(), thought.to_owned()), "{whole:?}");
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let one_by_one = told(letters.iter().map(String::as_str));
            assert_eq!(one_by_one, (text.to_owned(), thought.to_owned()), "{whole:?} letter by letter");
        }
    }

    #[test]
    fn a_closing_tag_alone_counts_on_its_own_line_only() {
        assert_eq!(unopened("hm\n</think>\n\nyes"), Some(("hm\n", "yes")));
        assert_eq!(unopened("the tag </think> ends it"), None);
        assert_eq!(unopened("no tag"), None);
    }
}
