//! A bench for change sets: a base tree, what a session makes of it, and the layer that an overlay would have written.
//!
//! Trees are maps, so the layer, the person's tree and what git makes of a patch are compared with what they should
//! be, and not with one another.
#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses its own part of the bench")]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use enclos_gateway::changeset::{ChangeSet, FileChange, Workspace, record_opening};
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

/// One file or link of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Bytes, and whether they may be executed.
    File(Vec<u8>, bool),
    /// A target.
    Link(String),
}

/// A tree, without its directories.
pub(crate) type Tree = BTreeMap<String, Node>;

/// A plain file.
pub(crate) fn file(content: impl AsRef<[u8]>) -> Node {
    Node::File(content.as_ref().to_vec(), false)
}

/// A file that may be executed.
pub(crate) fn program(content: impl AsRef<[u8]>) -> Node {
    Node::File(content.as_ref().to_vec(), true)
}

/// A link.
pub(crate) fn link(target: &str) -> Node {
    Node::Link(target.to_owned())
}

/// A tree from pairs.
pub(crate) fn tree<const N: usize>(nodes: [(&str, Node); N]) -> Tree {
    nodes.into_iter().map(|(path, node)| (path.to_owned(), node)).collect()
}

/// Writes a tree into a directory.
pub(crate) fn write(root: &Path, tree: &Tree) {
    for (path, node) in tree {
        put(root, path, node);
    }
}

/// Writes one node, over what is there.
pub(crate) fn put(root: &Path, path: &str, node: &Node) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match node {
        Node::File(content, executable) => {
            fs::write(&path, content).unwrap();
            let mode = if *executable { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        Node::Link(target) => symlink(target, &path).unwrap(),
    }
}

/// Reads a tree back, without `.git`.
pub(crate) fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    read_into(&mut tree, root, "");
    tree
}

fn read_into(tree: &mut Tree, root: &Path, prefix: &str) {
    for entry in fs::read_dir(root.join(prefix)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if prefix.is_empty() && name == ".git" {
            continue;
        }
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let full = root.join(&path);
        let found = fs::symlink_metadata(&full).unwrap();
        if found.is_dir() {
            read_into(tree, root, &path);
        } else if found.is_symlink() {
            tree.insert(path, link(fs::read_link(full).unwrap().to_str().unwrap()));
        } else {
            tree.insert(path, Node::File(fs::read(full).unwrap(), found.permissions().mode() & 0o100 != 0));
        }
    }
}

/// A person's tree in git, and a session's layer on it.
pub(crate) struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    /// A base tree, committed, with the opening of a session recorded on it.
    pub(crate) fn new(base: &Tree) -> Self {
        let bench = Self::unopened(base);
        commit(&bench.repository());
        bench.open();
        bench
    }

    /// A base tree that git does not know.
    pub(crate) fn without_git(base: &Tree) -> Self {
        let bench = Self::unopened(base);
        bench.open();
        bench
    }

    fn unopened(base: &Tree) -> Self {
        let bench = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(bench.repository()).unwrap();
        write(&bench.repository(), base);
        bench
    }

    /// Records the opening of a session.
    pub(crate) fn open(&self) {
        fs::create_dir_all(self.layer().join("upper")).unwrap();
        record_opening(&self.layer()).unwrap();
        self.next_tick();
    }

    /// Waits until the clock of the file system, which may be coarse, has moved on.
    pub(crate) fn next_tick(&self) {
        let probe = self.at("probe");
        let now = || {
            fs::write(&probe, "").unwrap();
            let found = fs::metadata(&probe).unwrap();
            fs::remove_file(&probe).unwrap();
            (found.ctime(), found.ctime_nsec())
        };
        let start = now();
        while now() <= start {
            std::thread::yield_now();
        }
    }

    /// The person's tree.
    pub(crate) fn repository(&self) -> PathBuf {
        self.at("repository")
    }

    /// The session's layer directory.
    pub(crate) fn layer(&self) -> PathBuf {
        self.at("layer")
    }

    /// Another place of the bench.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes the layer that turns `base` into `after`.
    pub(crate) fn session(&self, base: &Tree, after: &Tree) {
        let upper = self.layer().join("upper");
        let is_directory = |path: &str| after.keys().any(|other| other.starts_with(&format!("{path}/")));
        for path in base.keys().filter(|path| !after.contains_key(*path)) {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let gone = ends.map(|end| &path[..end]).find(|prefix| !is_directory(prefix));
            if let Some(gone) = gone.filter(|gone| !after.contains_key(*gone)) {
                whiteout(&upper.join(gone));
            }
        }
        for (path, node) in after.iter().filter(|(path, node)| base.get(*path) != Some(*node)) {
            put(&upper, path, node);
        }
    }

    /// Opens the workspace.
    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(&self.repository(), &self.layer()).unwrap()
    }

    /// The change set, without a second pair of eyes.
    pub(crate) fn build(&self) -> ChangeSet {
        self.workspace().build(&|_: &FileChange, _: &str| Vec::new()).unwrap()
    }
}

/// Marks a path of a layer as removed.
pub(crate) fn whiteout(path: &Path) {
    if fs::symlink_metadata(path).is_ok() {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).is_err() {
        fs::write(path, "").unwrap();
        setxattr(path, "user.overlay.whiteout", b"y", XattrFlags::empty()).unwrap();
    }
}

/// Makes a directory a git repository with one commit.
pub(crate) fn commit(root: &Path) {
    for arguments in
        [&["init", "-q"][..], &["add", "-A", "-f"], &["commit", "-q", "--allow-empty", "-m", "base"]]
    {
        let output = git(root, arguments);
        assert!(output.status.success(), "{output:?}");
    }
}

/// Runs git as a person would.
#[expect(clippy::disallowed_methods, reason = "the real git is the judge of a patch")]
pub(crate) fn git(root: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", root)
        .output()
        .unwrap()
}

/// Few names and few contents, so that trees overlap in every way.
pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    let path = prop::sample::select(vec!["a", "a/x", "a/y/z", "b", "b/x", "c c", "d/e", "d/f", "é"]);
    let line = prop::sample::select(vec!["one\n", "two\n", "\n", "three", "x\r\n", "\0\n", "tail \t\n"]);
    let content = prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat());
    let node = prop_oneof![
        4 => content.clone().prop_map(file),
        1 => content.prop_map(program),
        // No circles: git cannot replace one by a directory.
        1 => prop::sample::select(vec!["nowhere", "../out", "x/y"]).prop_map(link),
    ];
    prop::collection::btree_map(path.prop_map(str::to_owned), node, 0..7).prop_map(|tree| {
        let paths: Vec<String> = tree.keys().cloned().collect();
        let inside = |path: &str| paths.iter().any(|other| path.starts_with(&format!("{other}/")));
        tree.into_iter().filter(|(path, _)| !inside(path)).collect()
    })
}

/// Turns one tree on disk into another, leaving what they share untouched.
pub(crate) fn turn(root: &Path, from: &Tree, to: &Tree) {
    for path in from.keys().filter(|path| from.get(*path) != to.get(*path)) {
        fs::remove_file(root.join(path)).unwrap();
        let mut parent = Path::new(path).parent();
        while let Some(directory) = parent.filter(|parent| !parent.as_os_str().is_empty()) {
            if fs::remove_dir(root.join(directory)).is_err() {
                break;
            }
            parent = directory.parent();
        }
    }
    for (path, node) in to.iter().filter(|(path, node)| from.get(*path) != Some(*node)) {
        put(root, path, node);
    }
}
