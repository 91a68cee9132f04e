//! A change as people read it: hunks of lines, each with its kind, for a client to colour.
//!
//! Lines are complete and in order. Bytes that are not UTF-8 are replaced; nothing else is: whoever draws the text
//! escapes it for the place where it is drawn.

use serde::{Deserialize, Serialize};

use super::content::MAX_TEXT;
use super::error::ChangeSetError;
use super::lines::{LineKind, RawHunk, hunks};
use super::model::{FileChange, Kind};
use super::{Workspace, quote};

/// A change to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// No lines can be shown, only that the content differs.
    pub binary: bool,
    /// The hunks.
    pub hunks: Vec<Hunk>,
}

/// A run of changes with three lines of context on each side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Where it is: `@@ -OLD +NEW @@`.
    pub header: String,
    /// The first line of the new text that it shows, counted from 1.
    pub start: usize,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Context, removed or added.
    pub kind: LineKind,
    /// The text without its newline.
    pub text: String,
    /// The file ends here without a newline.
    pub unterminated: bool,
}

impl Workspace {
    /// The hunks of a change. A pure rename or change of mode has none.
    pub fn show(&self, change: &FileChange) -> Result<Shown, ChangeSetError> {
        let large = [&change.before, &change.after].into_iter().flatten().any(|side| side.size > MAX_TEXT);
        if change.binary || large {
            return Ok(Shown { binary: true, hunks: Vec::new() });
        }
        let (old, new) = (self.before(change)?, self.after(change)?);
        let found = if change.kind == Kind::TypeChanged {
            hunks(&old, b"").into_iter().chain(hunks(b"", &new)).map(|hunk| own(&hunk)).collect()
        } else {
            hunks(&old, &new).iter().map(own).collect()
        };
        Ok(Shown { binary: false, hunks: found })
    }
}

/// The hunks between two texts.
pub fn compare(old: &str, new: &str) -> Vec<Hunk> {
    hunks(old.as_bytes(), new.as_bytes()).iter().map(own).collect()
}

/// A unified diff of two texts at one path, with its two header lines; empty if they are equal.
pub fn unified(old: &str, new: &str, path: &str) -> String {
    let hunks = compare(old, new);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", quote::header("a/", path), quote::header("b/", path));
    for hunk in hunks {
        text.push_str(&hunk.header);
        text.push('\n');
        for line in hunk.lines {
            text.push(match line.kind {
                LineKind::Context => ' ',
                LineKind::Removed => '-',
                LineKind::Added => '+',
            });
            text.push_str(&line.text);
            text.push_str(if line.unterminated { "\n\\ No newline at end of file\n" } else { "\n" });
        }
    }
    text
}

/// A hunk with texts of its own.
fn own(hunk: &RawHunk<'_>) -> Hunk {
    let line = |(kind, text): &(LineKind, &[u8])| {
        let bare = text.strip_suffix(b"\n");
        Line {
            kind: *kind,
            text: String::from_utf8_lossy(bare.unwrap_or(text)).into_owned(),
            unterminated: bare.is_none(),
        }
    };
    Hunk {
        header: hunk.header(),
        start: hunk.new.start + usize::from(!hunk.new.is_empty()),
        lines: hunk.lines.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_card_shows_a_unified_diff() {
        assert_eq!(
            unified("a\nb\n", "a\nc", "x y"),
            "--- a/x y\t\n+++ b/x y\t\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("a", "a", "x"), "");
    }
}
