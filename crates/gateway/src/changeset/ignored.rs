//! Ignored files, by the rules of the person's tree: its `.gitignore` files and `.git/info/exclude`.
//!
//! Only the base is asked, never the workspace, so an agent cannot hide what it wrote by a rule of its own. Rules are
//! read along the path of each question and kept. The last matching rule of the nearest file decides; below an
//! ignored directory everything is ignored, as in git.

use std::collections::HashMap;
use std::io::Read;

use enclos_sandbox::layer::Tree;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The most bytes of one file of rules that are read.
const MAX_RULES: u64 = 1 << 20;

/// The rules read so far, by directory.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    rules: HashMap<String, Gitignore>,
    exclude: Option<Gitignore>,
    directories: HashMap<String, bool>,
}

impl Ignored {
    /// Whether a path, or a directory that holds it, is ignored.
    pub(crate) fn is_ignored(&mut self, tree: &Tree, path: &str, is_directory: bool) -> bool {
        let parents: Vec<&str> = path.match_indices('/').filter_map(|(at, _)| path.get(..at)).collect();
        parents.into_iter().any(|parent| self.directory(tree, parent))
            || self.matches(tree, path, is_directory)
    }

    /// Whether a directory itself is ignored; asked once.
    fn directory(&mut self, tree: &Tree, path: &str) -> bool {
        if let Some(known) = self.directories.get(path) {
            return *known;
        }
        let matches = self.matches(tree, path, true);
        self.directories.insert(path.to_owned(), matches);
        matches
    }

    /// What the nearest file of rules with an opinion says.
    fn matches(&mut self, tree: &Tree, path: &str, is_directory: bool) -> bool {
        let starts = path.match_indices('/').map(|(at, _)| at);
        let mut parents: Vec<usize> = starts.collect();
        parents.reverse();
        for end in parents.into_iter().map(Some).chain([None]) {
            let (parent, rest) = match end {
                Some(end) => (path.get(..end).unwrap_or_default(), path.get(end + 1..).unwrap_or_default()),
                None => ("", path),
            };
            let rules = self.rules.entry(parent.to_owned()).or_insert_with(|| {
                let prefix = if parent.is_empty() { String::new() } else { format!("{parent}/") };
                read(tree, &format!("{prefix}.gitignore"))
            });
            match rules.matched(rest, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        let exclude = self.exclude.get_or_insert_with(|| read(tree, ".git/info/exclude"));
        exclude.matched(path, is_directory).is_ignore()
    }
}

/// Reads a file of rules; one that is missing, or a link, has none.
fn read(tree: &Tree, path: &str) -> Gitignore {
    let mut text = Vec::new();
    let read = tree.file(path).and_then(|file| file.take(MAX_RULES).read_to_end(&mut text));
    if read.is_err() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that is no rule is none for git either.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Ignored, Tree};

    #[test]
    fn the_nearest_rule_decides_and_directories_bind() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".gitignore", "*.log\n/target\nbuild/\n!keep.log\n");
        put("sub/.gitignore", "!trace.log\nlocal.txt\n");
        put(".git/info/exclude", "private\n");
        let tree = Tree::open(root.path()).unwrap();
        let mut ignored = Ignored::default();
        let mut ask = |path: &str| ignored.is_ignored(&tree, path, false);
        for path in
            ["a.log", "sub/a.log", "target/x", "sub/build/x/y", "sub/local.txt", "private", "sub/private/x"]
        {
            assert!(ask(path), "{path}");
        }
        for path in ["a.txt", "keep.log", "sub/trace.log", "sub/target/x", "local.txt", "build"] {
            assert!(!ask(path), "{path}");
        }
        // A rule cannot bring back what lies in an ignored directory.
        put("target/.gitignore", "!x\n");
        assert!(ask("target/x"));
    }
}
