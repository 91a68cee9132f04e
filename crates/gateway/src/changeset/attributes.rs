//! Which paths the `.gitattributes` of the person's tree give to Git LFS. Their files hold a content, or a pointer to one;
//! what git keeps of either is a pointer.
//!
//! Only the person's tree is asked, never the workspace, and only for this one attribute; nothing that a filter names is
//! ever run.

use std::collections::HashMap;
use std::io::Read;

use enclos_sandbox::layer::Tree;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The most bytes of one file of attributes that are read.
const MAX_BYTES: u64 = 1 << 20;

/// The attributes read so far, by directory.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    files: HashMap<String, Gitignore>,
}

impl Attributes {
    /// Whether a file is kept by Git LFS.
    pub(super) fn is_lfs(&mut self, tree: &Tree, path: &str) -> bool {
        let mut ends: Vec<Option<usize>> = path.match_indices('/').map(|(at, _)| Some(at)).collect();
        ends.insert(0, None);
        for end in ends.into_iter().rev() {
            let (parent, rest) = match end {
                Some(end) => (path.get(..end).unwrap_or_default(), path.get(end + 1..).unwrap_or_default()),
                None => ("", path),
            };
            let rules = self.files.entry(parent.to_owned()).or_insert_with(|| {
                let prefix = if parent.is_empty() { String::new() } else { format!("{parent}/") };
                read(tree, &format!("{prefix}.gitattributes"))
            });
            match rules.matched(rest, false) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// Reads a file of attributes: its patterns, taken back where the filter is another one.
fn read(tree: &Tree, path: &str) -> Gitignore {
    let mut text = Vec::new();
    let read = tree.file(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    if read.is_err() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        let Some((pattern, attributes)) = parts(line) else { continue };
        let mut filter = attributes.split_ascii_whitespace().filter_map(|word| {
            let (sign, name) = match word.strip_prefix(['-', '!']) {
                Some(name) => (true, name),
                None => (false, word),
            };
            let (name, value) = name.split_once('=').unwrap_or((name, ""));
            (name == "filter").then_some(!sign && value == "lfs")
        });
        let line = match filter.next_back() {
            None => continue,
            Some(true) => pattern,
            Some(false) => format!("!{pattern}"),
        };
        // A pattern that cannot be read is none for git either.
        let _ = builder.add_line(None, &line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The pattern of a line and what stands behind it. A comment, a macro and a pattern that begins with `!` have none.
fn parts(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', '!']) || line.starts_with("[attr]") {
        return None;
    }
    if let Some(quoted) = line.strip_prefix('"') {
        let (pattern, rest) = quoted.split_once('"')?;
        return Some((pattern.to_owned(), rest));
    }
    let (pattern, rest) = line.split_once(|c: char| c.is_ascii_whitespace())?;
    Some((pattern.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_and_last_attribute_decides() {
        let root = tempfile::tempdir().unwrap();
        let text = "# a comment\n*.bin filter=lfs diff=lfs merge=lfs -text\nplain.bin -filter\n\"a b.dat\" filter=lfs\n\
                    /big/** filter=lfs\n*.txt text\n";
        std::fs::write(root.path().join(".gitattributes"), text).unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        std::fs::write(root.path().join("sub/.gitattributes"), "*.bin !filter\nx.raw filter=lfs\n").unwrap();
        let tree = Tree::open(root.path()).unwrap();
        let mut attributes = Attributes::default();
        for path in ["a.bin", "deep/er/a.bin", "a b.dat", "big/x/y", "sub/x.raw"] {
            assert!(attributes.is_lfs(&tree, path), "{path}");
        }
        for path in ["plain.bin", "sub/a.bin", "a.txt", "x.raw", "other"] {
            assert!(!attributes.is_lfs(&tree, path), "{path}");
        }
    }
}
