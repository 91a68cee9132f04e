//! What a change set is: plain data, sorted by path, without the contents.
//!
//! Contents stay where they are (the layer, the tree, the copies of the base) and are known here by their digests;
//! whoever reads one checks it against them. So the set that a person was shown, the one that was digested and the
//! one that is applied are the same bytes, or nothing happens.

use std::collections::BTreeSet;

use enclos_core::ids::{Digest, RuleId};
use enclos_core::label::{Label, Level};
use enclos_sandbox::layer::Refused;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::content::hex;

/// A file with an execute bit that its base did not have.
pub const FLAG_NEW_EXECUTE_BIT: &str = "new-execute-bit";
/// A link whose target is absolute or lies above the root of the tree.
pub const FLAG_LINK_LEAVES_TREE: &str = "link-leaves-tree";
/// A setuid, setgid or sticky bit was taken off; it is never applied.
pub const FLAG_PRIVILEGED_BITS: &str = "privileged-bits-stripped";

/// The modes that git, and so a change set, tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `100644`.
    Regular,
    /// `100755`.
    Executable,
    /// `120000`: a symbolic link, whose content is its target.
    Link,
}

impl Mode {
    /// The six digits that git writes.
    pub fn git(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }

    /// Whether it is a symbolic link.
    pub fn is_link(self) -> bool {
        self == Self::Link
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is new.
    Added,
    /// Its content changed, and perhaps its execute bit.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path, and perhaps other content.
    Renamed,
    /// Only its execute bit changed.
    ModeChanged,
    /// A file became a link, or a link a file.
    TypeChanged,
}

/// Whether the content that the session started from is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// It is: the tree as it was at opening.
    Yes,
    /// The file changed outside and no copy of its former content exists: a conflict, unless both sides agree. The
    /// differences are shown against the file as it was found.
    No,
    /// The file was there but hidden from the session: a conflict.
    Hidden,
}

/// One content: a file's bytes or a link's target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Side {
    /// File or link, executable or not.
    pub mode: Mode,
    /// `sha256:HEX` of the bytes.
    pub digest: Digest,
    /// Their number.
    pub size: u64,
}

/// One changed file or link. At least one side is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path; for a rename the new one. Relative to the root, parted by `/`.
    pub path: String,
    /// The former path of a rename.
    pub old_path: Option<String>,
    /// What happened.
    pub kind: Kind,
    /// The tree at opening; `None` if it had no such file.
    pub before: Option<Side>,
    /// The workspace; `None` if it has no such file any more.
    pub after: Option<Side>,
    /// Whether `before` can be relied on.
    pub known: Known,
    /// A side holds a NUL, or is over [`MAX_TEXT`](super::MAX_TEXT): it has no lines.
    pub binary: bool,
    /// How alike the two sides of a rename are, in percent.
    pub similarity: Option<u8>,
    /// Lines added.
    pub insertions: usize,
    /// Lines taken away.
    pub deletions: usize,
    /// What needs its own look: ours (`FLAG_…`) and those of the caller's [`Inspect`](super::Inspect), sorted.
    pub flags: Vec<String>,
    /// What it knows, once that is marked.
    pub label: Option<Label>,
    /// Why it stays here whatever a person answers, until it is released.
    pub held: Option<Held>,
}

/// A file that knows more than what its path may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What its path may hold.
    pub path: Level,
    /// The written rule under which a person may release it; none where there is none.
    pub rule: Option<RuleId>,
}

impl FileChange {
    /// The digest of what it is now: `-` if it is gone.
    pub fn now(&self) -> &str {
        self.after.as_ref().map_or("-", |side| side.digest.as_str())
    }

    /// Where the file was before.
    pub fn source(&self) -> &str {
        self.old_path.as_deref().unwrap_or(&self.path)
    }
}

/// All that a session changed, as a person accepts or refuses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// The changes, sorted by path.
    pub files: Vec<FileChange>,
    /// Lines added in all.
    pub insertions: usize,
    /// Lines taken away in all.
    pub deletions: usize,
    /// How many ignored files, and whole ignored directories, were left out.
    pub ignored: usize,
    /// What can never leave, sorted by path.
    pub refused: Vec<Refused>,
    /// `sha256:HEX` over every field of every change: what an acceptance is bound to.
    pub digest: Digest,
}

impl ChangeSet {
    /// Sums up and digests the changes.
    pub(super) fn new(mut files: Vec<FileChange>, ignored: usize, refused: Vec<Refused>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let insertions = files.iter().map(|file| file.insertions).sum();
        let deletions = files.iter().map(|file| file.deletions).sum();
        let digest = digest(&files);
        Self { files, insertions, deletions, ignored, refused, digest }
    }

    /// Marks what each file knows, and whether it stays here. The digest is over that too.
    pub fn mark(&mut self, of: impl Fn(&FileChange) -> (Label, Option<Held>)) {
        for file in &mut self.files {
            let (label, held) = of(file);
            (file.label, file.held) = (Some(label), held);
        }
        self.digest = digest(&self.files);
    }

    /// Whether there is nothing to accept.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The change at a path.
    pub fn get(&self, path: &str) -> Option<&FileChange> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// The changes of a choice, in order.
    pub fn chosen<'a>(&'a self, choice: &'a Choice) -> impl Iterator<Item = &'a FileChange> {
        self.files.iter().filter(|file| choice.holds(&file.path))
    }
}

/// Which files of a change set are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Every one.
    All,
    /// Those at these paths (of a rename, the new one).
    Files(BTreeSet<String>),
}

impl Choice {
    /// The files at some paths.
    pub fn files<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Files(paths.into_iter().map(str::to_owned).collect())
    }

    /// Whether a path is meant.
    pub fn holds(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Files(paths) => paths.contains(path),
        }
    }
}

/// Digests the changes field by field, each behind its length.
fn digest(files: &[FileChange]) -> Digest {
    let mut hash = Sha256::new_with_prefix(b"enclos change set 1\n");
    let mut field = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    for file in files {
        field(file.path.as_bytes());
        field(file.source().as_bytes());
        field(format!("{:?} {:?} {}", file.kind, file.known, file.binary).as_bytes());
        for side in [&file.before, &file.after] {
            match side {
                None => field(b"-"),
                Some(side) => field(format!("{} {} {}", side.mode.git(), side.digest, side.size).as_bytes()),
            }
        }
        field(file.flags.join("\n").as_bytes());
        field(format!("{:?} {:?}", file.label, file.held).as_bytes());
    }
    Digest::new(format!("sha256:{}", hex(&hash.finalize())))
}
