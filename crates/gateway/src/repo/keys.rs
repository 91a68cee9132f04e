//! Whether a file holds a private key, whatever its name is. Where that cannot be told it is taken to.
//!
//! Files that were looked at and hold none are remembered by what no program can forge, so that a repository is read once.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use enclos_core::secret::{PRIVATE_KEY, Redactor};
use sha2::{Digest, Sha256};

use super::masked::Seen;

/// The most bytes of a file that are searched for a private key.
pub(super) const SEARCHED: u64 = 1 << 20;
/// What every private key says of itself.
const WORDS: &str = "PRIVATE KEY";
/// Seconds in which a file may change without another time of change.
const RACY: i64 = 2;
/// Bytes of a fingerprint.
const PRINT: usize = 16;

/// Whether a private key is written in the first `most` bytes of a file.
pub(crate) fn holds_key(file: impl Read, most: u64) -> io::Result<bool> {
    static SEARCH: LazyLock<Option<Redactor>> = LazyLock::new(|| Redactor::new(Vec::new()).ok());
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    if !text.contains(WORDS) {
        return Ok(false);
    }
    Ok(SEARCH.as_ref().is_none_or(|search| search.kinds(&text).iter().any(|kind| kind == PRIVATE_KEY)))
}

/// Whether a file at a path holds a private key. One that cannot be read is taken to.
pub(super) fn may_hold_key(whole: &Path) -> bool {
    let Ok(facts) = whole.symlink_metadata() else { return true };
    if facts.is_symlink() {
        return false;
    }
    let opened = File::options().read(true).custom_flags(flags()).open(whole);
    opened.and_then(|file| holds_key(file, SEARCHED)).unwrap_or(true)
}

/// Not through a link, and never waiting for a pipe.
fn flags() -> i32 {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    i32::try_from(flags.bits()).unwrap_or(0)
}

/// The search for keys in a repository, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    folder: Option<PathBuf>,
}

impl Keys {
    /// Remembers below a folder of the gateway's own state.
    pub(crate) fn remembered(state: &Path) -> Self {
        Self { folder: Some(state.join("looked")) }
    }

    /// Remembers nothing.
    #[cfg(test)]
    pub(crate) fn unremembered() -> Self {
        Self { folder: None }
    }

    /// Those of the files that hold a private key.
    pub(super) fn among(&self, root: &Path, seen: &[Seen]) -> BTreeSet<PathBuf> {
        let list = self.folder.as_ref().map(|folder| folder.join(name(root)));
        let clean = list.as_deref().and_then(|list| load(list).ok()).unwrap_or_default();
        let (mut keyed, mut found, mut fresh) = (BTreeSet::new(), BTreeSet::new(), false);
        for one in seen.iter().filter(|one| !one.link && !one.dependency && one.size > 0) {
            let print = print(one);
            if clean.contains(&print) {
                found.insert((one.changed.0, print));
            } else if may_hold_key(&root.join(&one.path)) {
                keyed.insert(one.path.clone());
            } else {
                found.insert((one.changed.0, print));
                fresh = true;
            }
        }
        if let Some(list) = list.filter(|_| fresh || found.len() != clean.len()) {
            // What is not remembered is looked at again.
            let _ = save(&list, &found);
        }
        keyed
    }
}

/// A file as it was when it was looked at.
fn print(one: &Seen) -> [u8; PRINT] {
    let mut hash = Sha256::new();
    for number in [one.identity.0, one.identity.1, one.size] {
        hash.update(number.to_le_bytes());
    }
    for number in [one.changed.0, one.changed.1] {
        hash.update(number.to_le_bytes());
    }
    let digest = hash.finalize();
    let mut print = [0; PRINT];
    print.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    print
}

fn name(root: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    crate::changeset::hex(Sha256::digest(root.as_os_str().as_bytes()).get(..PRINT).unwrap_or_default())
}

fn load(list: &Path) -> io::Result<BTreeSet<[u8; PRINT]>> {
    let bytes = std::fs::read(list)?;
    let (prints, rest) = bytes.as_chunks::<PRINT>();
    if rest.is_empty() {
        Ok(prints.iter().copied().collect())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Writes the list, whole. A file that changed just now, by the file system's own clock, may change once more unseen.
fn save(list: &Path, found: &BTreeSet<(i64, [u8; PRINT])>) -> io::Result<()> {
    let folder = list.parent().unwrap_or(list);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut new = tempfile_in(folder)?;
    let now = new.0.metadata()?.ctime();
    let bytes: Vec<u8> =
        found.iter().filter(|(changed, _)| changed + RACY < now).flat_map(|(_, print)| *print).collect();
    new.0.write_all(&bytes)?;
    std::fs::rename(&new.1, list)
}

/// A new file beside the list.
fn tempfile_in(folder: &Path) -> io::Result<(File, PathBuf)> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let path = folder.join(format!("new-{:016x}", u64::from_be_bytes(random)));
    Ok((File::options().write(true).create_new(true).mode(0o600).open(&path)?, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_is_not_looked_at_again_until_it_changes() {
        let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = dir.path().join("a.txt");
        std::fs::write(&path, "plain").unwrap();
        let keys = Keys::remembered(state.path());
        let seen = |older: i64| {
            let facts = path.symlink_metadata().unwrap();
            let one = Seen::of("a.txt".into(), &facts, false);
            vec![Seen { changed: (one.changed.0 - older, one.changed.1), ..one }]
        };
        assert!(keys.among(dir.path(), &seen(0)).is_empty());
        let list = state.path().join("looked").join(name(dir.path()));
        assert!(load(&list).unwrap().is_empty(), "what changed just now is not remembered");
        assert!(keys.among(dir.path(), &seen(100)).is_empty());
        assert_eq!(load(&list).unwrap().len(), 1);
        std::fs::write(&path, "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n").unwrap();
        assert_eq!(keys.among(dir.path(), &seen(0)).len(), 1, "another size, another time: another file");
        std::fs::remove_file(&path).unwrap();
        let gone = Seen {
            path: "a.txt".into(),
            link: false,
            identity: (1, 2),
            links: 1,
            size: 3,
            changed: (0, 0),
            dependency: false,
        };
        assert_eq!(keys.among(dir.path(), &[gone]).len(), 1, "what cannot be read is taken to hold one");
    }
}
