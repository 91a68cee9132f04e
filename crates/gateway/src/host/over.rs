//! What a person's tree holds that the base on the host does not: files that differ, that are new, that are gone.
//!
//! What the session would not be shown here is not brought there, and besides it neither dependency and build folders nor
//! files that hold credentials. Files are compared by their bytes, whatever git believes of them. Reading goes by
//! directory descriptors beneath the root, through no link.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use enclos_sandbox::host::{Form, Known, Manifest, Sender, Sort};
use enclos_sandbox::layer::{Entry, Kind, Tree};
use sha2::{Digest, Sha256};

use crate::repo::{Shown, holds_key, names, note};

/// The most names in one directory.
const NAMES: usize = 1_000_000;
/// How much of a file is searched for a key.
const SEARCHED: u64 = 256 * 1024;

/// What is brought.
#[derive(Debug)]
pub(crate) struct Over {
    tree: Tree,
    things: BTreeMap<String, Thing>,
    left: Left,
    shown: Vec<PathBuf>,
    dependencies: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Directory(u32),
    File(u32),
    Link,
    Removed,
}

/// What stays here.
#[derive(Debug, Default)]
struct Left {
    credentials: Vec<String>,
    unreadable: Vec<String>,
    special: Vec<String>,
    odd: usize,
}

/// Compares a tree with a base.
pub(crate) fn compare(root: &Path, shown: &Shown, base: &Manifest) -> io::Result<Over> {
    let tree = Tree::open(root)?;
    let hidden = shown.hidden.iter().chain(&shown.dependencies).filter_map(|path| path.to_str());
    let mut walk = Walk {
        hidden: hidden.map(str::to_owned).collect(),
        base,
        above: above(base),
        seen: BTreeMap::new(),
        things: BTreeMap::new(),
        left: Left::default(),
    };
    walk.directory(&tree, "")?;
    walk.removed();
    let Walk { things, left, .. } = walk;
    Ok(Over { tree, things, left, shown: shown.hidden.clone(), dependencies: shown.dependencies.clone() })
}

/// The directories of a base.
fn above(base: &Manifest) -> BTreeSet<Vec<u8>> {
    let ends = |path: &Vec<u8>| -> Vec<Vec<u8>> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.filter_map(|end| path.get(..end).map(<[u8]>::to_vec)).collect()
    };
    base.entries.keys().flat_map(ends).collect()
}

struct Walk<'a> {
    hidden: BTreeSet<String>,
    base: &'a Manifest,
    above: BTreeSet<Vec<u8>>,
    /// Everything that the session is to see: `Some` with the mode of a directory.
    seen: BTreeMap<String, Option<u32>>,
    things: BTreeMap<String, Thing>,
    left: Left,
}

impl Walk<'_> {
    fn directory(&mut self, tree: &Tree, path: &str) -> io::Result<()> {
        let names = match tree.names(path, NAMES) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !path.is_empty() => {
                self.left.unreadable.push(path.to_owned());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mode =
            if path.is_empty() { 0o755 } else { tree.entry(path)?.map_or(0o755, |entry| entry.mode & 0o777) };
        self.seen.insert(path.to_owned(), Some(mode));
        if !path.is_empty() && !self.above.contains(path.as_bytes()) {
            self.bring(path, Thing::Directory(mode));
        }
        for name in names {
            let Ok(name) = String::from_utf8(name) else {
                self.left.odd += 1;
                continue;
            };
            let child = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            if self.hidden.contains(&child) || name.eq_ignore_ascii_case(".git") {
                continue;
            }
            // What went between listing and looking is not there.
            let Some(entry) = tree.entry(&child)? else { continue };
            match entry.kind {
                Kind::Directory => self.directory(tree, &child)?,
                Kind::File => self.file(tree, &child, &entry)?,
                Kind::Link => self.link(tree, &child)?,
                Kind::Whiteout | Kind::Special(_) => self.left.special.push(child),
            }
        }
        Ok(())
    }

    fn file(&mut self, tree: &Tree, path: &str, entry: &Entry) -> io::Result<()> {
        let form = if entry.executable() { Form::Executable } else { Form::Plain };
        let known = self.base.entries.get(path.as_bytes());
        let mut file = match tree.file(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.left.unreadable.push(path.to_owned());
                return Ok(());
            }
            Err(_) => return Ok(()),
        };
        if let Some(known) = known.filter(|known| known.form == form && known.size == entry.size)
            && digest(&mut file)? == known.digest
        {
            self.seen.insert(path.to_owned(), None);
            return Ok(());
        }
        if is_credential(path) || holds_key(tree.file(path)?, SEARCHED)? {
            self.left.credentials.push(path.to_owned());
            return Ok(());
        }
        self.seen.insert(path.to_owned(), None);
        self.bring(path, Thing::File(entry.mode & 0o777));
        Ok(())
    }

    fn link(&mut self, tree: &Tree, path: &str) -> io::Result<()> {
        let target = tree.target(path)?;
        let same =
            |known: &Known| known.form == Form::Link && known.digest[..] == Sha256::digest(&target)[..];
        self.seen.insert(path.to_owned(), None);
        if !self.base.entries.get(path.as_bytes()).is_some_and(same) {
            self.bring(path, Thing::Link);
        }
        Ok(())
    }

    /// Takes a thing, with the directories that it lies in.
    fn bring(&mut self, path: &str, thing: Thing) {
        let mut end = path.rfind('/');
        while let Some(above) = end.and_then(|end| path.get(..end)) {
            let mode = self.seen.get(above).copied().flatten().unwrap_or(0o755);
            if self.things.insert(above.to_owned(), Thing::Directory(mode)).is_some() {
                break;
            }
            end = above.rfind('/');
        }
        self.things.insert(path.to_owned(), thing);
    }

    /// Marks what the base holds and the tree does not: the highest directory that is gone, else the file.
    fn removed(&mut self) {
        for path in self.base.entries.keys() {
            // A base with a name that is not text holds it for every session.
            let Ok(path) = str::from_utf8(path) else { continue };
            if self.seen.contains_key(path) {
                continue;
            }
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            for part in ends.filter_map(|end| path.get(..end)) {
                match self.seen.get(part) {
                    Some(Some(_)) => {}
                    // A file or link took the place of the directory.
                    Some(None) => break,
                    None => {
                        self.bring(part, Thing::Removed);
                        break;
                    }
                }
            }
        }
    }
}

fn digest(file: &mut impl Read) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(digest.finalize().into()),
            Ok(read) => digest.update(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Over {
    /// Sends it.
    pub(crate) fn send(&self, sender: &mut Sender<'_>) -> io::Result<()> {
        sender.plain(b"", Sort::Directory, 0o755)?;
        for (path, thing) in &self.things {
            let name = path.as_bytes();
            match thing {
                Thing::Directory(mode) => sender.plain(name, Sort::Directory, *mode)?,
                Thing::File(mode) => sender.file(name, *mode, &mut self.tree.file(path)?)?,
                Thing::Link => sender.link(name, &self.tree.target(path)?)?,
                Thing::Removed => sender.plain(name, Sort::Removed, 0)?,
            }
        }
        Ok(())
    }

    /// Paths of the tree that the session does not see.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        let left = self.left.credentials.iter().chain(&self.left.unreadable).chain(self.left.special.iter());
        let kept = self.shown.iter().chain(&self.dependencies).cloned();
        kept.chain(left.map(PathBuf::from)).collect()
    }

    /// What a person should know of it.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        note(
            &mut notes,
            "dependency and build folders are not brought to the host",
            names(&self.dependencies),
        );
        note(&mut notes, "credentials are not brought to the host", self.left.credentials.iter());
        note(&mut notes, "cannot be read, and are not on the host", self.left.unreadable.iter());
        note(&mut notes, "pipes, sockets and devices are not brought to the host", self.left.special.iter());
        if self.left.odd > 0 {
            notes.push(format!("{} names that are not UTF-8 are not brought to the host", self.left.odd));
        }
        notes
    }
}

/// Whether a file holds credentials by its name.
fn is_credential(path: &str) -> bool {
    const NAMES: [&str; 12] = [
        ".env",
        ".netrc",
        ".pgpass",
        ".git-credentials",
        ".pypirc",
        ".htpasswd",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "credentials",
        "credentials.json",
    ];
    const ENDS: [&str; 7] = ["pem", "key", "p12", "pfx", "jks", "keystore", "kdbx"];
    const EXAMPLES: [&str; 4] = ["example", "sample", "template", "dist"];
    let name = Path::new(path).file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    let name = String::from_utf8_lossy(name).to_lowercase();
    let end = name.rsplit_once('.').map(|(_, end)| end).unwrap_or_default();
    if EXAMPLES.contains(&end) {
        return false;
    }
    NAMES.contains(&name.as_str()) || name.starts_with(".env.") || ENDS.contains(&end)
}

#[cfg(test)]
#[path = "over_tests.rs"]
mod tests;
