//! What the files of a session were each time before it learned more: a file that is still as it was then knows no more
//! than the session did then.

use std::collections::BTreeMap;

use crate::label::Label;

/// Files that a session had changed, by path, with the digests of what they were: `-` for one that was gone.
pub type Files = BTreeMap<String, String>;

/// What a session knows, and what its files were before each rise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knowledge {
    label: Label,
    moments: Vec<(Label, Files)>,
}

impl Knowledge {
    /// What a session knows that was just opened.
    pub(super) fn at_first() -> Self {
        Self { label: Label::LOWEST, moments: Vec::new() }
    }

    /// Takes in what the session learns. `files`: what they were until then.
    pub(super) fn learn(&mut self, label: Label, files: &Files) {
        let after = self.label.join(label);
        if after != self.label && !files.is_empty() {
            self.moments.push((self.label, files.clone()));
        }
        self.label = after;
    }

    /// What the session knows.
    pub fn label(&self) -> Label {
        self.label
    }

    /// What a changed file knows that now has that digest, `-` if it is gone: as much as the session did when the file
    /// became so, and at most as much as it does now.
    pub fn label_of(&self, path: &str, digest: &str) -> Label {
        let same = self.moments.iter().find(|(_, files)| files.get(path).is_some_and(|then| then == digest));
        same.map_or(self.label, |(known, _)| *known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Level;

    #[test]
    fn a_file_that_was_so_before_a_rise_knows_what_the_session_knew_then() {
        let files = |pairs: &[(&str, &str)]| -> Files {
            pairs.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect()
        };
        let (middle, high) = (Label::untrusted(Level::Internal), Label::untrusted(Level::Confidential));
        let most = Label::untrusted(Level::Restricted);
        let mut knows = Knowledge::at_first();
        knows.learn(middle, &Files::new());
        knows.learn(high, &files(&[("a", "1"), ("b", "1")]));
        assert_eq!(knows.label_of("a", "1"), middle);
        assert_eq!(knows.label_of("a", "2"), high);
        assert_eq!(knows.label_of("c", "1"), high);
        // Put back to what it was: nothing of what was learned since is in it.
        knows.learn(most, &files(&[("a", "2"), ("b", "1")]));
        assert_eq!(knows.label_of("a", "2"), high);
        assert_eq!(knows.label_of("b", "1"), middle);
        assert_eq!(knows.label_of("b", "3"), most);
        // What was known already makes no moment.
        knows.learn(high, &files(&[("b", "3")]));
        assert_eq!(knows.label_of("b", "3"), most);
    }
}
