//! What of a repository does not come into the sandbox: ignored files that are no dependency and that no policy names,
//! nested `.git`, and what is no file, folder or link.
//!
//! The rules are those of `.gitignore` files, `info/exclude` and the person's own excludes. A file that the index
//! tracks is shown whatever an ignore rule says. Links are never followed.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{DirEntry, FileType};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use enclos_core::noun::listed;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::admitted::{Admission, Admitted};
use super::masked::Seen;
use super::{Shown, index, nested};

/// Ignored folders that come in all the same: what builds and tests need, and nobody keeps a secret in.
pub(super) const DEPENDENCIES: [&str; 30] = [
    "target",
    "node_modules",
    "bower_components",
    "jspm_packages",
    ".venv",
    "venv",
    "env",
    ".virtualenv",
    "vendor",
    "dist",
    "build",
    "out",
    "bin",
    "obj",
    "_build",
    "deps",
    "__pycache__",
    ".tox",
    ".nox",
    ".eggs",
    ".gradle",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".dart_tool",
    ".stack-work",
    "dist-newstyle",
    "elm-stuff",
    "Pods",
    "third_party",
];

pub(super) fn survey(root: &Path, git: Option<&Path>, uid: u32, admitted: &Admitted) -> Shown {
    let mut walk = Walk { rules: vec![root_rules(root, git)], ..Walk::new(root, uid, admitted) };
    walk.folder(root);
    let Walk {
        mut hidden,
        mut dependencies,
        unreadable,
        foreign,
        linked,
        special,
        shown,
        credentials,
        mut files,
        ..
    } = walk;
    let mut inner = Vec::new();
    if !hidden.is_empty() || !dependencies.is_empty() || root.join(".gitmodules").symlink_metadata().is_ok() {
        let tracked = git.and_then(|git| index::tracked(git).ok()).unwrap_or_default();
        let gits: Vec<PathBuf> = hidden.iter().filter(|path| is_git(path)).cloned().collect();
        inner = nested::at_opening(root, &gits, &tracked);
        for paths in [&mut hidden, &mut dependencies] {
            let mut kept = Vec::new();
            for path in std::mem::take(paths) {
                untracked_below(root, path, &tracked, &mut kept, &mut files);
            }
            *paths = kept;
        }
        also_by_inode(root, &mut hidden, &linked);
    }
    let ignored: Vec<&PathBuf> = hidden.iter().filter(|path| !is_git(path)).collect();
    let mut notes = inner;
    let shown_ignored =
        "ignored by the repository, shown because the policy names them, and part of no change set";
    note(&mut notes, shown_ignored, names(&shown));
    let kept_out = "look like credentials and are not shown, though the policy names them";
    note(&mut notes, kept_out, names(&credentials));
    let pipes = "named pipes, sockets and devices are not shown in the sandbox";
    note(&mut notes, pipes, names(&special));
    note(
        &mut notes,
        "ignored by the repository and not shown in the sandbox",
        ignored.iter().map(|path| path.display()),
    );
    note(&mut notes, "cannot be read by you, nor in the sandbox", names(&unreadable));
    note(&mut notes, "belong to another user", names(&foreign));
    hidden.extend(special);
    Shown { hidden, dependencies, notes, files }
}

/// Of an ignored path, what git does not track: the path itself, or, where something below it is tracked, the rest. What
/// it tracks is shown.
fn untracked_below(
    root: &Path,
    path: PathBuf,
    tracked: &index::Tracked,
    hidden: &mut Vec<PathBuf>,
    shown: &mut Vec<Seen>,
) {
    if !tracked.holds(&path) {
        hidden.push(path);
        return;
    }
    let whole = root.join(&path);
    match whole.symlink_metadata() {
        Ok(facts) if facts.is_dir() => {}
        Ok(facts) => return shown.push(Seen::of(path, &facts, false)),
        Err(_) => return,
    }
    let Ok(entries) = std::fs::read_dir(&whole) else { return };
    for entry in entries.filter_map(Result::ok) {
        untracked_below(root, path.join(entry.file_name()), tracked, hidden, shown);
    }
}

/// Other names of hidden files: a file with several links is hidden under all of them.
fn also_by_inode(root: &Path, hidden: &mut Vec<PathBuf>, linked: &[((u64, u64), PathBuf)]) {
    if linked.is_empty() {
        return;
    }
    let mut secret = BTreeSet::new();
    for path in hidden.iter() {
        inodes(&root.join(path), &mut secret);
    }
    let others = linked.iter().filter(|(inode, _)| secret.contains(inode)).map(|(_, path)| path.clone());
    hidden.extend(others);
}

/// The inodes of the files at a path and below it. Links are not followed.
fn inodes(path: &Path, found: &mut BTreeSet<(u64, u64)>) {
    let Ok(facts) = path.symlink_metadata() else { return };
    if facts.is_file() {
        found.insert((facts.dev(), facts.ino()));
    } else if facts.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        entries.for_each(|entry| inodes(&entry.path(), found));
    }
}

/// Paths as they are shown.
pub(crate) fn names(paths: &[PathBuf]) -> impl ExactSizeIterator<Item = impl Display> {
    paths.iter().map(|path| path.display())
}

/// Adds a remark on some paths, if there are any.
pub(crate) fn note<D: Display>(notes: &mut Vec<String>, what: &str, paths: impl ExactSizeIterator<Item = D>) {
    if paths.len() > 0 {
        notes.push(format!("{what}: {}", listed(paths)));
    }
}

fn is_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

fn root_rules(root: &Path, git: Option<&Path>) -> Gitignore {
    let mut rules = GitignoreBuilder::new(root);
    if let Some(git) = git {
        let folder = index::git_folder(git).unwrap_or_else(|| git.to_path_buf());
        let common = index::common_folder(&folder);
        rules.add(common.join("info/exclude"));
        if let Some(file) = index::excludes_file(&common, root) {
            rules.add(file);
        }
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

struct Walk<'a> {
    root: &'a Path,
    uid: u32,
    global: Gitignore,
    rules: Vec<Gitignore>,
    hidden: Vec<PathBuf>,
    dependencies: Vec<PathBuf>,
    unreadable: Vec<PathBuf>,
    foreign: Vec<PathBuf>,
    admitted: &'a Admitted,
    /// What is no file, folder or link.
    special: Vec<PathBuf>,
    /// Ignored files that are shown.
    shown: Vec<PathBuf>,
    /// Ignored files that are named and look like credentials.
    credentials: Vec<PathBuf>,
    /// Shown files that have other names, with their device and inode number.
    linked: Vec<((u64, u64), PathBuf)>,
    /// Files and links that are shown.
    files: Vec<Seen>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path, uid: u32, admitted: &'a Admitted) -> Self {
        let (global, _) = GitignoreBuilder::new(root).build_global();
        Self {
            root,
            uid,
            global,
            rules: Vec::new(),
            hidden: Vec::new(),
            dependencies: Vec::new(),
            unreadable: Vec::new(),
            foreign: Vec::new(),
            admitted,
            special: Vec::new(),
            shown: Vec::new(),
            credentials: Vec::new(),
            linked: Vec::new(),
            files: Vec::new(),
        }
    }

    fn folder(&mut self, folder: &Path) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            self.unreadable.push(self.relative(folder));
            return;
        };
        let entries: Vec<DirEntry> = entries.filter_map(Result::ok).collect();
        let own = entries.iter().any(|entry| entry.file_name() == ".gitignore");
        if own {
            let mut rules = GitignoreBuilder::new(folder);
            rules.add(folder.join(".gitignore"));
            self.rules.push(rules.build().unwrap_or_else(|_| Gitignore::empty()));
        }
        for entry in &entries {
            if let Ok(kind) = entry.file_type() {
                self.entry(&entry.path(), entry, kind);
            }
        }
        if own {
            self.rules.pop();
        }
    }

    fn entry(&mut self, path: &Path, entry: &DirEntry, kind: FileType) {
        let name = entry.file_name();
        if name.eq_ignore_ascii_case(".git") {
            if path.parent() != Some(self.root) {
                self.hidden.push(self.relative(path));
            }
            return;
        }
        if self.ignored(path, kind.is_dir()) {
            let dependency = kind.is_dir() && name.to_str().is_some_and(|name| DEPENDENCIES.contains(&name));
            if dependency {
                self.dependencies.push(self.relative(path));
            } else {
                self.ignored_entry(path, entry, kind);
            }
            return;
        }
        if kind.is_dir() {
            self.folder(path);
        } else if kind.is_file() {
            self.look(path, entry);
        } else if kind.is_symlink() {
            self.link(path, entry);
        } else {
            self.special.push(self.relative(path));
        }
    }

    fn link(&mut self, path: &Path, entry: &DirEntry) {
        if let Ok(facts) = entry.metadata() {
            self.files.push(Seen::of(self.relative(path), &facts, false));
        }
    }

    /// An ignored file or folder: hidden, but for what the policy names.
    fn ignored_entry(&mut self, path: &Path, entry: &DirEntry, kind: FileType) {
        if !self.admitted.is_any() {
            self.hidden.push(self.relative(path));
            return;
        }
        self.admit(path, entry, kind);
    }

    /// Whether anything at or below an ignored path is shown. What is not is hidden, as a whole where nothing of it is.
    fn admit(&mut self, path: &Path, entry: &DirEntry, kind: FileType) -> bool {
        let relative = self.relative(path);
        if kind.is_dir() && !is_git(path) {
            let before = self.hidden.len();
            let mut any = false;
            for entry in std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
                if let Ok(kind) = entry.file_type() {
                    any |= self.admit(&entry.path(), &entry, kind);
                }
            }
            if !any {
                self.hidden.truncate(before);
                self.hidden.push(relative);
            }
            return any;
        }
        if is_git(path) || !(kind.is_file() || kind.is_symlink()) {
            self.hidden.push(relative);
            return false;
        }
        match self.admitted.of_file(&relative, path) {
            Admission::Shown => {
                if kind.is_file() {
                    self.look(path, entry);
                } else {
                    self.link(path, entry);
                }
                self.shown.push(relative);
                true
            }
            Admission::Credential => {
                self.credentials.push(relative.clone());
                self.hidden.push(relative);
                false
            }
            Admission::Hidden => {
                self.hidden.push(relative);
                false
            }
        }
    }

    fn look(&mut self, path: &Path, entry: &DirEntry) {
        let Ok(facts) = entry.metadata() else { return };
        self.files.push(Seen::of(self.relative(path), &facts, false));
        if facts.nlink() > 1 {
            self.linked.push(((facts.dev(), facts.ino()), self.relative(path)));
        }
        if facts.uid() != self.uid {
            self.foreign.push(self.relative(path));
        }
        let mode = facts.permissions().mode();
        let readable = if facts.uid() == self.uid { mode & 0o400 != 0 } else { mode & 0o044 != 0 };
        if !readable && self.uid != 0 {
            self.unreadable.push(self.relative(path));
        }
    }

    /// The innermost rule that speaks of the path decides.
    fn ignored(&self, path: &Path, is_dir: bool) -> bool {
        for rules in self.rules.iter().rev().chain(std::iter::once(&self.global)) {
            match rules.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.root).unwrap_or(path).to_path_buf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    fn hidden(dir: &Path) -> Vec<String> {
        let uid = rustix::process::getuid().as_raw();
        let mut paths: Vec<String> = survey(dir, None, uid, &Admitted::nothing())
            .hidden
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        paths.sort();
        paths
    }

    #[test]
    fn ignored_files_are_hidden_and_dependencies_come_in() {
        let dir = tree(&[
            (".gitignore", "*.env\ntarget/\n/private/\n!keep.env\n"),
            ("prod.env", "KEY=1"),
            ("keep.env", ""),
            ("target/debug/x", ""),
            ("private/notes", ""),
            ("src/main.rs", ""),
            ("src/.gitignore", "*.log\n"),
            ("src/a.log", ""),
            ("b.log", ""),
        ]);
        assert_eq!(hidden(dir.path()), ["private", "prod.env", "src/a.log"]);
    }

    #[test]
    fn pipes_and_sockets_are_hidden_and_named() {
        let dir = tree(&[("a", ""), ("sub/b", "")]);
        let (cwd, fifo) = (rustix::fs::CWD, rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(cwd, dir.path().join("sub/pipe"), fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("sock")).unwrap();
        assert_eq!(hidden(dir.path()), ["sock", "sub/pipe"]);
        let shown = survey(dir.path(), None, rustix::process::getuid().as_raw(), &Admitted::nothing());
        assert!(shown.notes.iter().any(|note| note.contains("named pipes") && note.contains("sub/pipe")));
    }

    #[test]
    fn ignored_files_that_the_policy_names_come_in_and_nothing_beside_them() {
        let dir = tree(&[
            (".gitignore", "/data/\n/more/\n*.log\n"),
            ("data/a.csv", ""),
            ("data/b.txt", ""),
            ("data/deep/c.csv", ""),
            ("data/deep/.env", "K=1"),
            ("data/sub/.git/config", ""),
            ("more/x.txt", ""),
            ("x.log", ""),
            ("y.log", ""),
        ]);
        let names = ["*.csv", "x.log", "deep/"].map(str::to_owned).into_iter().collect();
        let admitted = Admitted::of(Some(&enclos_core::policy::Mounts::Only(names))).unwrap();
        let shown = survey(dir.path(), None, rustix::process::getuid().as_raw(), &admitted);
        let mut paths: Vec<String> = shown.hidden.iter().map(|path| path.display().to_string()).collect();
        paths.sort();
        assert_eq!(paths, ["data/b.txt", "data/deep/.env", "data/sub", "more", "y.log"]);
        assert!(
            shown.notes.iter().any(|note| note.contains("credentials") && note.contains("data/deep/.env"))
        );
        assert!(
            shown
                .notes
                .iter()
                .any(|note| note.contains("part of no change set") && note.contains("data/a.csv"))
        );
    }

    #[test]
    fn another_name_of_a_hidden_file_is_hidden_too() {
        let dir = tree(&[(".gitignore", "*.env\n/private/\n"), ("prod.env", "KEY=1"), ("private/key", "k")]);
        std::fs::hard_link(dir.path().join("prod.env"), dir.path().join("visible.txt")).unwrap();
        std::fs::hard_link(dir.path().join("private/key"), dir.path().join("notes.txt")).unwrap();
        assert_eq!(hidden(dir.path()), ["notes.txt", "private", "prod.env", "visible.txt"]);
    }

    #[test]
    fn of_an_ignored_folder_only_what_is_tracked_is_shown() {
        let dir =
            tree(&[("config/example.yml", ""), ("config/prod.key", "k"), ("config/deep/a", ""), ("b", "")]);
        let tracked = index::Tracked::of(&["config/example.yml"]);
        let mut kept = Vec::new();
        let mut shown = Vec::new();
        untracked_below(dir.path(), PathBuf::from("config"), &tracked, &mut kept, &mut shown);
        assert_eq!(shown.len(), 1);
        kept.sort();
        assert_eq!(kept, [PathBuf::from("config/deep"), PathBuf::from("config/prod.key")]);
    }

    #[test]
    fn a_nested_git_folder_is_hidden_in_any_case() {
        let dir = tree(&[("sub/.git/config", ""), ("other/.GIT", "gitdir: x"), ("sub/a", "")]);
        assert_eq!(hidden(dir.path()), ["other/.GIT", "sub/.git"]);
    }

    #[test]
    fn what_is_hidden_is_told_with_a_bound() {
        let files: Vec<(String, &str)> = (0..9).map(|n| (format!("f{n}.key"), "")).collect();
        let mut all: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        all.push((".gitignore", "*.key\n"));
        let dir = tree(&all);
        let shown = survey(dir.path(), None, rustix::process::getuid().as_raw(), &Admitted::nothing());
        assert_eq!(shown.notes.len(), 1);
        assert!(shown.notes[0].contains("and 4 more"), "{}", shown.notes[0]);
    }
}
