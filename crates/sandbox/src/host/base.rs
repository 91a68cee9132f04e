//! The bases of a host: for each commit of a project one tree, made once from its mirror and never written again, which
//! the sandboxes of many sessions lie over.
//!
//! A base has its name when it is complete and on the disk; what was cut short is swept at start. Files hold the bytes of
//! the commit, not what a checkout would make of them; what a person's tree has otherwise comes with the session.
use super::manifest::{Form, Known, Manifest};
use super::mirror::{Entry, Mirror};
use super::orders::Commit;
use super::things::{Sort, check, make_folder};
use crate::layer::{PutBack, Wanted};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A base that no session used for so long is removed at the next start.
const UNUSED: Duration = Duration::from_hours(30 * 24);

/// The bases and mirrors below one folder.
#[derive(Debug)]
pub(crate) struct Bases {
    folder: PathBuf,
    /// One at a time works on a project.
    at_work: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
}

/// A base that is there.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    folder: PathBuf,
    objects: PathBuf,
}

impl Base {
    /// Its tree.
    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("upper")
    }

    /// Its index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// The folder of the project's objects.
    pub(crate) fn objects(&self) -> &Path {
        &self.objects
    }

    /// What it holds.
    pub(crate) fn manifest(&self) -> io::Result<Vec<u8>> {
        std::fs::read(self.folder.join("manifest"))
    }
}

/// Refuses a name that could be more than a name.
pub(crate) fn sound(commit: &Commit) -> io::Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let project = &commit.project;
    let is_project =
        (1..=128).contains(&project.len()) && !project.starts_with('.') && project.bytes().all(plain);
    let is_commit = matches!(commit.commit.len(), 40 | 64)
        && commit.commit.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_project && is_commit {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of a project and its commit"))
    }
}

impl Bases {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, at_work: Mutex::default() }
    }

    fn project(&self, who: u32, commit: &Commit) -> io::Result<PathBuf> {
        sound(commit)?;
        Ok(self.folder.join(who.to_string()).join(&commit.project))
    }

    /// The base, if it is there or its history is; else the commits that are. `who`: whose project it is, for one
    /// person's gateway never sees what another's brought.
    pub(crate) fn find(&self, who: u32, commit: &Commit) -> io::Result<Result<Base, Vec<String>>> {
        let project = self.project(who, commit)?;
        let work = self.work(&project);
        let _one = work.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = project.join("bases").join(&commit.commit);
        let mirror_folder = project.join("mirror.git");
        let base = Base { folder, objects: mirror_folder.join("objects") };
        if base.folder.join("manifest").exists() {
            // Its time says when it was used last; one that cannot be set only makes it go earlier.
            let _ = std::fs::File::open(&base.folder).and_then(|file| file.set_modified(now()));
            return Ok(Ok(base));
        }
        let mirror = Mirror::open(&mirror_folder, commit.naming)?;
        if !mirror.has(&commit.commit) {
            return Ok(Err(mirror.commits()?));
        }
        make(&mirror, &commit.commit, &base.folder)?;
        Ok(Ok(base))
    }

    /// Takes a pack that completes the history of a commit.
    pub(crate) fn take(&self, who: u32, commit: &Commit, pack: &mut dyn Read) -> io::Result<()> {
        let project = self.project(who, commit)?;
        let work = self.work(&project);
        let _one = work.lock().unwrap_or_else(PoisonError::into_inner);
        Mirror::open(&project.join("mirror.git"), commit.naming)?.take(&commit.commit, pack)
    }

    fn work(&self, project: &Path) -> Arc<Mutex<()>> {
        let mut all = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(project.to_owned()).or_default())
    }

    /// Removes what was cut short, and bases that were not used for long. No sandbox is open.
    pub(crate) fn sweep(&self) {
        let long_ago = now().checked_sub(UNUSED);
        for project in below(&self.folder).iter().flat_map(|who| below(who)) {
            for base in below(&project.join("bases")) {
                let unfinished = !base.join("manifest").exists()
                    || base.extension().is_some_and(|extension| extension == "new");
                let used = base.metadata().and_then(|facts| facts.modified()).ok();
                let unused = matches!((used, long_ago), (Some(used), Some(long_ago)) if used < long_ago);
                if unfinished || unused {
                    // What cannot be removed now is removed at the next start.
                    let _ = crate::state::remove_layer(&base);
                }
            }
            for pack in below(&project.join("mirror.git/objects/pack")) {
                if pack.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"tmp_")) {
                    let _ = std::fs::remove_file(&pack);
                }
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the age of a folder of this host, for its sweep")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// What lies in a folder.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Makes a base beside its place, then gives it its name.
fn make(mirror: &Mirror, commit: &str, folder: &Path) -> io::Result<()> {
    let new = folder.with_extension("new");
    crate::state::remove_layer(&new)?;
    make_folder(&new)?;
    let entries = mirror.list(commit)?;
    let room = PutBack::begin(&new).map_err(io::Error::other)?;
    let mut blobs = mirror.blobs()?;
    let mut wanted = BTreeMap::new();
    wanted.insert(Vec::new(), Wanted::Directory { mode: 0o755, opaque: false });
    let mut manifest = Manifest::default();
    for (number, entry) in entries.iter().enumerate() {
        let known = blobs.read(&entry.object, |from| file(&room, number as u64, entry, from, &mut wanted))?;
        manifest.entries.insert(entry.path.clone(), known);
    }
    room.carry_out(&wanted, &BTreeSet::new()).map_err(io::Error::other)?;
    mirror.index(commit, &new.join("index"))?;
    std::fs::write(new.join("manifest"), manifest.to_bytes())?;
    rustix::fs::syncfs(std::fs::File::open(&new)?)?;
    std::fs::rename(&new, folder)
}

/// Makes one file or link ready, with the directories that it lies in.
fn file(
    room: &PutBack,
    number: u64,
    entry: &Entry,
    from: &mut dyn Read,
    wanted: &mut BTreeMap<Vec<u8>, Wanted>,
) -> io::Result<Known> {
    let ends = entry.path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for above in ends.filter_map(|end| entry.path.get(..end)) {
        if !wanted.contains_key(above) {
            check(above, Sort::Directory, wanted, false)?;
            wanted.insert(above.to_vec(), Wanted::Directory { mode: 0o755, opaque: false });
        }
    }
    check(&entry.path, Sort::File, wanted, false)?;
    let mut counted = Counted { from, digest: Sha256::new(), size: 0 };
    let (form, made) = if entry.mode == 0o120_000 {
        let mut target = Vec::new();
        counted.read_to_end(&mut target)?;
        (Form::Link, Wanted::Link(target))
    } else if entry.mode & 0o100 != 0 {
        room.make_ready_from(number, &mut counted, 0o755)?;
        (Form::Executable, Wanted::Ready(number))
    } else {
        room.make_ready_from(number, &mut counted, 0o644)?;
        (Form::Plain, Wanted::Ready(number))
    };
    if wanted.insert(entry.path.clone(), made).is_some() {
        return Err(io::Error::other("the commit holds one path twice"));
    }
    Ok(Known { form, size: counted.size, digest: counted.digest.finalize().into() })
}

/// A reader that keeps count.
struct Counted<'a> {
    from: &'a mut dyn Read,
    digest: Sha256,
    size: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.digest.update(into.get(..read).unwrap_or_default());
        self.size += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "base_tests.rs"]
mod tests;
