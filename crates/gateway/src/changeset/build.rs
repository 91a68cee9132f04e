//! Making a change set: raw changes of the layer, less what is ignored, against the tree as it was at opening.
//!
//! It decides the kind of each change, finds renames and flags what needs its own look. It changes nothing but the
//! copies of the base.

use std::collections::BTreeSet;

use enclos_sandbox::layer::{RawChange, Tree};

use super::base::Before;
use super::content::{MAX_TEXT, copy, is_binary, mode_of};
use super::error::ChangeSetError;
use super::ignored::Ignored;
use super::lines;
use super::model::{
    ChangeSet, FLAG_LINK_LEAVES_TREE, FLAG_NEW_EXECUTE_BIT, FLAG_PRIVILEGED_BITS, FileChange, Kind, Known,
    Mode, Side,
};
use super::{Workspace, renames};

/// A second pair of eyes on each change: what it says becomes a flag, and a flag needs its own yes.
pub trait Inspect {
    /// The flags of a change. `added` is the text that only the new content has, empty for binary contents; bytes
    /// that are not UTF-8 are replaced.
    fn flags(&self, change: &FileChange, added: &str) -> Vec<String>;
}

impl<F: Fn(&FileChange, &str) -> Vec<String>> Inspect for F {
    fn flags(&self, change: &FileChange, added: &str) -> Vec<String> {
        self(change, added)
    }
}

impl Workspace {
    /// Makes the change set of what the session wrote.
    pub fn build(&mut self, inspect: &dyn Inspect) -> Result<ChangeSet, ChangeSetError> {
        let mut ignored = Ignored::default();
        let base = &self.base;
        let tree = self.layer.base();
        let found = self.layer.changes(&mut |path, is_directory| {
            let matched = ignored.is_ignored(tree, path, is_directory);
            !matched
                || if is_directory { base.holds_tracked_ignored(path) } else { base.is_tracked_ignored(path) }
        })?;
        let mut files = self.changed(&found.changes, &mut ignored)?;
        renames::find(self, &mut files)?;
        let privileged: BTreeSet<&str> = found
            .changes
            .iter()
            .filter(|raw| raw.after.is_some_and(|after| after.privileged()))
            .map(|raw| raw.path.as_str())
            .collect();
        for file in &mut files {
            self.measure(file, privileged.contains(file.path.as_str()), inspect)?;
        }
        Ok(ChangeSet::new(files, found.left_out, found.refused))
    }

    /// The changes with both sides known, as far as they can be.
    fn changed(
        &mut self,
        raw: &[RawChange],
        ignored: &mut Ignored,
    ) -> Result<Vec<FileChange>, ChangeSetError> {
        let tree = self.layer.base();
        let asked = raw.iter().filter(|raw| !raw.hidden);
        let asked: Vec<_> = asked
            .map(|raw| Ok((raw.path.as_str(), live(tree, raw)?)))
            .collect::<Result<_, ChangeSetError>>()?;
        let mut answers = self.base.before(tree, ignored, &asked)?.into_iter();
        let mut files = Vec::new();
        for raw in raw {
            let (before, known) = match if raw.hidden { None } else { answers.next() } {
                None => (None, Known::Hidden),
                Some(Before::Known(side)) => (side, Known::Yes),
                Some(Before::Unknown(side)) => (side, Known::No),
            };
            let after = self.written(raw)?;
            if before != after {
                files.push(change(&raw.path, before, after, known));
            }
        }
        Ok(files)
    }

    /// The side of the layer.
    fn written(&self, raw: &RawChange) -> Result<Option<Side>, ChangeSetError> {
        let Some(mode) = raw.after.as_ref().and_then(mode_of) else { return Ok(None) };
        let side = copy(self.layer.upper(), &raw.path, mode, &mut std::io::sink());
        side.map(Some).map_err(ChangeSetError::read(&raw.path))
    }

    /// Counts the lines of a change and flags it.
    fn measure(
        &self,
        file: &mut FileChange,
        privileged: bool,
        inspect: &dyn Inspect,
    ) -> Result<(), ChangeSetError> {
        let mut added = Vec::new();
        let large = [&file.before, &file.after].into_iter().flatten().any(|side| side.size > MAX_TEXT);
        file.binary = large;
        if !large {
            let (old, new) = (self.before(file)?, self.after(file)?);
            file.binary = is_binary(&old) || is_binary(&new);
            if !file.binary && file.kind == Kind::TypeChanged {
                (file.insertions, file.deletions) = (lines::split(&new).len(), lines::split(&old).len());
                added = new;
            } else if !file.binary {
                (file.insertions, file.deletions) = lines::count(&old, &new);
                added = lines::added(&old, &new);
            }
        }
        self.own_flags(file, privileged)?;
        file.flags.extend(inspect.flags(file, &String::from_utf8_lossy(&added)));
        file.flags.sort();
        file.flags.dedup();
        Ok(())
    }

    /// Flags that need no caller.
    fn own_flags(&self, file: &mut FileChange, privileged: bool) -> Result<(), ChangeSetError> {
        let mode = |side: &Option<Side>| side.as_ref().map(|side| side.mode);
        let (before, after) = (mode(&file.before), mode(&file.after));
        let mut flags = Vec::new();
        if after == Some(Mode::Executable) && before != Some(Mode::Executable) {
            flags.push(FLAG_NEW_EXECUTE_BIT);
        }
        if privileged {
            flags.push(FLAG_PRIVILEGED_BITS);
        }
        if after == Some(Mode::Link) && leaves(&file.path, &self.after(file)?) {
            flags.push(FLAG_LINK_LEAVES_TREE);
        }
        file.flags.extend(flags.into_iter().map(str::to_owned));
        Ok(())
    }
}

/// What is at the path of a raw change now, of whatever kind.
fn live(tree: &Tree, raw: &RawChange) -> Result<Option<enclos_sandbox::layer::Entry>, ChangeSetError> {
    match raw.before {
        Some(entry) => Ok(Some(entry)),
        None => tree.entry(&raw.path).map_err(ChangeSetError::read(&raw.path)),
    }
}

/// A change that is not yet measured.
fn change(path: &str, before: Option<Side>, after: Option<Side>, known: Known) -> FileChange {
    let kind = match (&before, &after) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Deleted,
        (Some(old), Some(new)) if old.mode.is_link() != new.mode.is_link() => Kind::TypeChanged,
        (Some(old), Some(new)) if old.digest == new.digest => Kind::ModeChanged,
        _ => Kind::Modified,
    };
    FileChange {
        path: path.to_owned(),
        old_path: None,
        kind,
        before,
        after,
        known,
        binary: false,
        similarity: None,
        insertions: 0,
        deletions: 0,
        flags: Vec::new(),
        label: None,
        held: None,
    }
}

/// Whether the target of a link at a path is absolute, or climbs above the root on its way.
fn leaves(path: &str, target: &[u8]) -> bool {
    let mut depth = path.matches('/').count();
    if target.starts_with(b"/") {
        return true;
    }
    for component in target.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::leaves;

    #[test]
    fn links_are_followed_on_paper() {
        for (path, target) in [("a", "/etc"), ("a", ".."), ("d/a", "../../x"), ("d/a", "b/../../../x")] {
            assert!(leaves(path, target.as_bytes()), "{path} → {target}");
        }
        for (path, target) in [("a", "b"), ("d/a", "../x"), ("d/e/a", "../../x/./y"), ("a", "b/../c")] {
            assert!(!leaves(path, target.as_bytes()), "{path} → {target}");
        }
    }
}
