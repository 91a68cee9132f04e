//! The paths that git tracks, read from the index itself: no git is run.
//!
//! Only the paths are taken, from versions 2, 3 and 4 of the format (`gitformat-index`). An index that cannot be
//! read is an error of the caller's to weigh; nothing is guessed from a part of one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The tracked paths, relative to the root.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    paths: BTreeSet<Vec<u8>>,
    /// Those at which a commit of another repository is tracked.
    submodules: BTreeSet<Vec<u8>>,
}

impl Tracked {
    /// The submodules.
    pub(super) fn submodules(&self) -> impl Iterator<Item = &Path> {
        self.submodules.iter().map(|path| Path::new(OsStr::from_bytes(path)))
    }

    /// Whether the path itself is tracked, or something below it.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let name = path.as_os_str().as_bytes();
        let mut below = name.to_vec();
        below.push(b'/');
        self.paths.contains(name)
            || self.paths.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    }
}

/// The folder that a `.git` means: itself, or what a `.git` file points to.
pub(super) fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_path_buf());
    }
    let text = std::fs::read(git).ok()?;
    let target = text.strip_prefix(b"gitdir: ")?;
    let target = target.strip_suffix(b"\n").unwrap_or(target);
    Some(git.parent()?.join(OsStr::from_bytes(target)))
}

/// The folder that worktrees share.
pub(super) fn common_folder(folder: &Path) -> PathBuf {
    let Ok(text) = std::fs::read(folder.join("commondir")) else { return folder.to_path_buf() };
    let target = text.strip_suffix(b"\n").unwrap_or(&text);
    folder.join(OsStr::from_bytes(target))
}

/// The excludes file that a repository's own configuration names (`core.excludesFile`). The configuration is read for
/// this one line and for nothing else.
pub(super) fn excludes_file(common: &Path, root: &Path) -> Option<PathBuf> {
    let config = std::fs::read_to_string(common.join("config")).ok()?;
    let mut in_core = false;
    let mut file = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_core = line.eq_ignore_ascii_case("[core]");
        } else if let Some((key, value)) = line.split_once('=').filter(|_| in_core)
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            file = Some(root.join(value.trim().trim_matches('"')));
        }
    }
    file
}

/// Reads the tracked paths of a repository.
pub(super) fn tracked(git: &Path) -> io::Result<Tracked> {
    let folder = git_folder(git).ok_or_else(|| bad("no git folder"))?;
    match std::fs::read(folder.join("index")) {
        Ok(bytes) => parse(&bytes, digest_length(&common_folder(&folder)))
            .ok_or_else(|| bad("an index that cannot be read")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Tracked::default()),
        Err(error) => Err(error),
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// 32 in a repository of SHA-256, else 20.
fn digest_length(common: &Path) -> usize {
    let config = std::fs::read_to_string(common.join("config")).unwrap_or_default();
    let sha256 = config.lines().any(|line| {
        let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        line.eq_ignore_ascii_case("objectformat=sha256")
    });
    if sha256 { 32 } else { 20 }
}

fn parse(bytes: &[u8], digest: usize) -> Option<Tracked> {
    let mut at = Reader { bytes };
    if at.take(4)? != b"DIRC" {
        return None;
    }
    let version = at.number()?;
    let count = at.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let (mut paths, mut submodules) = (BTreeSet::new(), BTreeSet::new());
    let mut last: Vec<u8> = Vec::new();
    for _ in 0..count {
        let before = at.bytes.len();
        let facts = at.take(40 + digest)?;
        let flags = at.short()?;
        if version >= 3 && flags & 0x4000 != 0 {
            at.short()?;
        }
        if version == 4 {
            let cut = at.offset()?;
            last.truncate(last.len().checked_sub(cut)?);
        } else {
            last.clear();
        }
        last.extend_from_slice(at.text()?);
        if version < 4 {
            let used = before - at.bytes.len();
            // The text's final zero is read; entries are padded with zeros to eight bytes.
            at.take((8 - used % 8) % 8)?;
        }
        // The mode is the seventh number; that of a commit is no file's.
        let mode = u32::from_be_bytes(facts.get(24..28)?.try_into().ok()?);
        if mode & 0o170_000 == 0o160_000 {
            submodules.insert(last.clone());
        }
        paths.insert(last.clone());
    }
    Some(Tracked { paths, submodules })
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(n)?;
        self.bytes = tail;
        Some(head)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// The variable-width number of version 4.
    fn offset(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }

    /// Bytes up to a zero, which is taken too.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.bytes.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }
}

#[cfg(test)]
impl Tracked {
    /// These paths.
    pub(super) fn of(paths: &[&str]) -> Self {
        Self::with_submodules(paths, &[])
    }

    /// These paths, and submodules.
    pub(super) fn with_submodules(paths: &[&str], submodules: &[&str]) -> Self {
        let set = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect::<BTreeSet<_>>();
        let mut all = set(paths);
        all.extend(set(submodules));
        Self { paths: all, submodules: set(submodules) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the oracle of this test is git itself")]
    fn git(dir: &Path, args: &[&str]) -> bool {
        let done = std::process::Command::new("git").arg("-C").arg(dir).args(args).output();
        done.is_ok_and(|output| output.status.success())
    }

    #[test]
    fn the_index_of_a_real_repository_is_read_in_each_version() {
        for version in ["2", "3", "4"] {
            let dir = tempfile::tempdir().unwrap();
            assert!(git(dir.path(), &["init", "-q"]));
            for path in ["a", "dir/b", "dir/sub/a long name with spaces", "dir/é", "z"] {
                std::fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
                std::fs::write(dir.path().join(path), path).unwrap();
            }
            assert!(git(dir.path(), &["add", "."]));
            assert!(git(dir.path(), &["update-index", "--index-version", version]));
            let tracked = tracked(&dir.path().join(".git")).unwrap();
            assert_eq!(tracked.paths.len(), 5, "version {version}");
            assert_eq!(tracked.submodules().count(), 0);
            let commit = "160000,0123456789012345678901234567890123456789,lib/sub";
            assert!(git(dir.path(), &["update-index", "--add", "--cacheinfo", commit]));
            let tracked = super::tracked(&dir.path().join(".git")).unwrap();
            assert_eq!(tracked.submodules().collect::<Vec<_>>(), [Path::new("lib/sub")]);
            assert!(tracked.holds(Path::new("dir/é")) && tracked.holds(Path::new("dir")));
            assert!(!tracked.holds(Path::new("di")) && !tracked.holds(Path::new("a/b")));
        }
    }

    #[test]
    fn the_excludes_file_of_a_repository_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let config = "[user]\n\texcludesfile = no\n[core]\n\tbare = false\n\texcludesFile = \"my ignores\"\n";
        std::fs::write(dir.path().join("config"), config).unwrap();
        assert_eq!(excludes_file(dir.path(), Path::new("/r")), Some(PathBuf::from("/r/my ignores")));
    }

    #[test]
    fn a_cut_index_is_an_error_at_every_length() {
        let dir = tempfile::tempdir().unwrap();
        assert!(git(dir.path(), &["init", "-q"]));
        std::fs::write(dir.path().join("one"), "1").unwrap();
        assert!(git(dir.path(), &["add", "."]));
        let bytes = std::fs::read(dir.path().join(".git/index")).unwrap();
        let entry_end = 12 + 72;
        for length in 0..entry_end {
            assert!(parse(&bytes[..length], 20).is_none(), "{length}");
        }
        assert!(parse(&bytes, 20).is_some());
    }
}
