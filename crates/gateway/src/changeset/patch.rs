//! A change set as a patch that `git apply` takes.
//!
//! Sections are in the order of the paths, in git's extended form, with whole blob names so that binary contents
//! apply. A content that is too large to be written is left out, and the patch says so beside its bytes.

use std::io::Write;

use super::content::{MAX_TEXT, blob_id, is_binary};
use super::error::ChangeSetError;
use super::lines::{LineKind, hunks};
use super::model::{ChangeSet, Choice, FileChange, Kind, Mode};
use super::{Workspace, binary, quote};

/// The name of no blob.
const NO_BLOB: &str = "0000000000000000000000000000000000000000";

/// A patch and what it lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The bytes; not always UTF-8, as the files need not be.
    pub bytes: Vec<u8>,
    /// Chosen changes that are not in it, sorted by path.
    pub omitted: Vec<Omitted>,
}

/// A change that a patch cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Its path.
    pub path: String,
    /// Its size in bytes, which is over [`MAX_TEXT`].
    pub size: u64,
}

/// One section of a patch: a file of one kind, from one content to another.
struct Section<'a> {
    old_path: &'a str,
    new_path: &'a str,
    old: Option<(Mode, &'a [u8])>,
    new: Option<(Mode, &'a [u8])>,
    similarity: Option<u8>,
}

impl Workspace {
    /// The patch of the chosen changes.
    pub fn patch(&self, set: &ChangeSet, choice: &Choice) -> Result<Patch, ChangeSetError> {
        let mut patch = Patch::default();
        for change in set.chosen(choice) {
            let size = [&change.before, &change.after].into_iter().flatten().map(|side| side.size).max();
            match size {
                Some(size) if size > MAX_TEXT => {
                    patch.omitted.push(Omitted { path: change.path.clone(), size });
                }
                _ => self.sections(&mut patch.bytes, change)?,
            }
        }
        Ok(patch)
    }

    /// The section of a change; two where a file became a link or a link a file.
    fn sections(&self, patch: &mut Vec<u8>, change: &FileChange) -> Result<(), ChangeSetError> {
        let (old, new) = (self.before(change)?, self.after(change)?);
        let whole = Section {
            old_path: change.source(),
            new_path: &change.path,
            old: change.before.as_ref().map(|side| (side.mode, old.as_slice())),
            new: change.after.as_ref().map(|side| (side.mode, new.as_slice())),
            similarity: change.similarity,
        };
        let written = if change.kind == Kind::TypeChanged {
            let gone = Section { new: None, ..whole };
            let fresh = Section { old: None, ..whole };
            gone.write(patch).and_then(|()| fresh.write(patch))
        } else {
            whole.write(patch)
        };
        written.map_err(ChangeSetError::read(&change.path))
    }
}

impl Section<'_> {
    /// Writes the section.
    fn write(&self, patch: &mut Vec<u8>) -> std::io::Result<()> {
        let (old, new) = (self.old.map_or(&[][..], |old| old.1), self.new.map_or(&[][..], |new| new.1));
        writeln!(
            patch,
            "diff --git {} {}",
            quote::name("a/", self.old_path),
            quote::name("b/", self.new_path)
        )?;
        self.modes(patch)?;
        if let Some(likeness) = self.similarity {
            writeln!(patch, "similarity index {likeness}%")?;
            writeln!(patch, "rename from {}", quote::name("", self.old_path))?;
            writeln!(patch, "rename to {}", quote::name("", self.new_path))?;
        }
        if old == new && self.old.is_some() && self.new.is_some() {
            return Ok(());
        }
        self.index(patch)?;
        if is_binary(old) || is_binary(new) {
            return binary::write(patch, old, new);
        }
        self.text(patch, old, new)
    }

    /// The lines about modes.
    fn modes(&self, patch: &mut Vec<u8>) -> std::io::Result<()> {
        match (self.old, self.new) {
            (None, Some((mode, _))) => writeln!(patch, "new file mode {}", mode.git()),
            (Some((mode, _)), None) => writeln!(patch, "deleted file mode {}", mode.git()),
            (Some((old, _)), Some((new, _))) if old != new => {
                writeln!(patch, "old mode {}\nnew mode {}", old.git(), new.git())
            }
            _ => Ok(()),
        }
    }

    /// The line with the names of both blobs, and the mode if it stays.
    fn index(&self, patch: &mut Vec<u8>) -> std::io::Result<()> {
        let id =
            |side: Option<(Mode, &[u8])>| side.map_or_else(|| NO_BLOB.to_owned(), |side| blob_id(side.1));
        write!(patch, "index {}..{}", id(self.old), id(self.new))?;
        match (self.old, self.new) {
            (Some((old, _)), Some((new, _))) if old == new => writeln!(patch, " {}", new.git()),
            _ => writeln!(patch),
        }
    }

    /// The hunks of a text; an empty file has none.
    fn text(&self, patch: &mut Vec<u8>, old: &[u8], new: &[u8]) -> std::io::Result<()> {
        let hunks = hunks(old, new);
        if hunks.is_empty() {
            return Ok(());
        }
        let name = |side: Option<(Mode, &[u8])>, prefix: &str, path: &str| match side {
            Some(_) => quote::header(prefix, path),
            None => "/dev/null".to_owned(),
        };
        writeln!(patch, "--- {}", name(self.old, "a/", self.old_path))?;
        writeln!(patch, "+++ {}", name(self.new, "b/", self.new_path))?;
        for hunk in hunks {
            writeln!(patch, "{}", hunk.header())?;
            for (kind, line) in hunk.lines {
                patch.push(match kind {
                    LineKind::Context => b' ',
                    LineKind::Removed => b'-',
                    LineKind::Added => b'+',
                });
                patch.extend_from_slice(line);
                if !line.ends_with(b"\n") {
                    patch.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
        }
        Ok(())
    }
}
