//! Copying a tree, folder by folder, by descriptors only and through no link. Links stay links. Special files, what may not
//! be read, and what belongs to the kernel and to no disk is left out and named. Nothing that is copied belongs to anybody
//! else than the sandbox's user, and nothing has a setuid bit. It stops at its ceiling and says so.
use super::bytes::{self, How};
use super::going::{self, Going};
use super::manifest::{Manifest, Stamped};
use super::{Order, STEP, TREE};
use crate::error::{OpenError, Place};
use crate::layer::{Entry, Kind, Reason, describe, open_beneath};
use crate::report::Copied;
use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// What an entry takes at least.
const BLOCK: u64 = 4096;
/// Longest path that can be opened in one step.
const LONGEST: usize = 4096;
/// Remarks on what was left out; more are counted.
const NAMED: usize = 20;
/// How long the clock of a file system may stand still.
const PATIENCE: Duration = Duration::from_secs(5);
/// File systems that the kernel makes up (`statfs(2)`): proc, sysfs, cgroup, cgroup2, devpts, debugfs, tracefs, securityfs,
/// bpf, configfs, `binfmt_misc`, mqueue, pstore, selinuxfs, nsfs.
const MADE_UP: [i64; 15] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x6265_6570,
    0x4249_4e4d,
    0x1980_0202,
    0x6165_676c,
    0xf97c_ff8c,
    0x6e73_6673,
];

/// One copy in progress.
struct Copier<'a> {
    order: &'a Order<'a>,
    to: OwnedFd,
    hidden: &'a BTreeSet<Vec<u8>>,
    /// The repository's owner, whose files are the agent's.
    tree_owner: (u32, u32),
    spent: u64,
    bytes: u64,
    shared: u64,
    /// File systems that share no blocks with the layer's.
    apart: BTreeSet<u64>,
    folders: Vec<(Vec<u8>, Stat)>,
    todo: Vec<Vec<u8>>,
    entries: BTreeMap<Vec<u8>, Stamped>,
    withheld: Vec<Vec<u8>>,
    remarks: Vec<String>,
}

/// Copies the repository into the folder `name` of the layer.
pub(super) fn copy(
    order: &Order<'_>,
    name: &str,
    hidden: &BTreeSet<Vec<u8>>,
    since: &str,
) -> Result<Manifest, OpenError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let what = "copying the repository";
    let to = rustix::fs::openat(order.layer, name, flags, Mode::empty()).at(STEP, what)?;
    let root = rustix::fs::fstat(order.from).at(STEP, what)?;
    let mut copier = Copier {
        order,
        to,
        hidden,
        tree_owner: (root.st_uid, root.st_gid),
        spent: 0,
        bytes: 0,
        shared: 0,
        apart: BTreeSet::new(),
        folders: vec![(Vec::new(), root)],
        todo: vec![Vec::new()],
        entries: BTreeMap::new(),
        withheld: Vec::new(),
        remarks: Vec::new(),
    };
    let _going = Going::begin();
    while let Some(path) = copier.todo.pop() {
        copier.folder(&path).map_err(|stop| stop.at(&path))?;
    }
    copier.dress().map_err(|stop| stop.at(b""))?;
    Ok(copier.finish(since))
}

/// Why a copy is not made.
enum Stop {
    Failed(Errno),
    TooLarge(u64),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Self::Failed(errno)
    }
}

impl Stop {
    fn at(self, path: &[u8]) -> OpenError {
        match self {
            Self::TooLarge(most) => OpenError::new(
                STEP,
                format!(
                    "the kernel takes no overlay here, and a copy of the repository would take more than the {} MiB \
                     that a session may write (`execution.sandbox_disk_bytes`)",
                    most >> 20
                ),
            ),
            Self::Failed(errno) => {
                let shown = String::from_utf8_lossy(path).escape_debug().to_string();
                let place = if shown.is_empty() { "the repository".to_owned() } else { format!("`{shown}`") };
                OpenError { source: Some(errno.into()), ..OpenError::new(STEP, format!("copying {place}")) }
            }
        }
    }
}

impl Copier<'_> {
    /// Copies what lies in one folder; those in it are put on the list.
    fn folder(&mut self, path: &[u8]) -> Result<(), Stop> {
        let from = match open_beneath(self.order.from, path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(from) => from,
            Err(Errno::ACCESS | Errno::PERM) => {
                self.leave_out(path, &Reason::Unreadable.to_string());
                return Ok(());
            }
            // It has gone, or become something else, meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let to = open_beneath(&self.to, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        for item in Dir::read_from(&from)? {
            let item = item?;
            let name = item.file_name();
            if name == c"." || name == c".." || (path.is_empty() && name == c".git") {
                continue;
            }
            let child = join(path, name.to_bytes());
            if self.hidden.contains(&child) {
                continue;
            }
            if child.len() >= LONGEST {
                self.leave_out(&child, &Reason::TooLong.to_string());
                continue;
            }
            match rustix::fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => self.entry(&from, &to, name, child, &stat)?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        name: &CStr,
        path: Vec<u8>,
        stat: &Stat,
    ) -> Result<(), Stop> {
        match describe(stat).kind {
            Kind::Directory => {
                if made_up(from, name) {
                    self.leave_out(&path, "a file system that the kernel makes up");
                    return Ok(());
                }
                if !self.is_shown(stat, 0o5) {
                    self.leave_out(&path, "a folder that cannot be read");
                    return Ok(());
                }
                self.charge(BLOCK)?;
                rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                self.give(to, name)?;
                self.folders.push((path.clone(), *stat));
                self.todo.push(path);
            }
            Kind::Link => {
                self.charge(BLOCK)?;
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                rustix::fs::symlinkat(target, to, name)?;
                self.give(to, name)?;
                rustix::fs::utimensat(to, name, &times(stat), AtFlags::SYMLINK_NOFOLLOW)?;
                self.note(path, &rustix::fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW)?);
            }
            Kind::File => self.file(from, to, name, path)?,
            Kind::Special(special) => self.leave_out(&path, &Reason::Special(special).to_string()),
            Kind::Whiteout => self.leave_out(&path, "a device"),
        }
        Ok(())
    }

    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, path: Vec<u8>) -> Result<(), Stop> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let source = match rustix::fs::openat(from, name, flags, Mode::empty()) {
            Ok(source) => source,
            Err(Errno::ACCESS | Errno::PERM) => {
                self.leave_out(&path, &Reason::Unreadable.to_string());
                return Ok(());
            }
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let stat = rustix::fs::fstat(&source)?;
        if describe(&stat).kind != Kind::File {
            return Ok(());
        }
        if !self.is_shown(&stat, 0o4) {
            self.leave_out(&path, &Reason::Unreadable.to_string());
            return Ok(());
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let on_disk = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        // A file system that compresses, or tells no blocks, says too little.
        let sparse = on_disk < size;
        self.charge(if on_disk == 0 { size } else { on_disk })?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
        let shared = if self.apart.contains(&stat.st_dev) { None } else { bytes::share(&source, &copy)? };
        let how = if let Some(how) = shared {
            how
        } else {
            self.apart.insert(stat.st_dev);
            bytes::copy(&source, &copy, size, sparse)?
        };
        if how == How::Shared {
            self.shared += 1;
            going::bytes(size);
        }
        self.bytes += size;
        // The owner first: giving a file away takes bits of its mode.
        if let Some((uid, gid)) = self.order.owner {
            rustix::fs::fchown(&copy, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        rustix::fs::fchmod(&copy, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        rustix::fs::futimens(&copy, &times(&stat))?;
        self.note(path, &rustix::fs::fstat(&copy)?);
        Ok(())
    }

    /// Whether the agent may read it in the tree as well: root, who copies for somebody else, could read anything.
    fn is_shown(&self, stat: &Stat, wanted: u32) -> bool {
        let shift = match self.order.owner {
            None => return true,
            Some(_) if stat.st_uid == self.tree_owner.0 => return true,
            Some(_) if stat.st_gid == self.tree_owner.1 => 3,
            Some(_) => 0,
        };
        (stat.st_mode >> shift) & wanted == wanted
    }

    fn give(&self, at: &OwnedFd, name: &CStr) -> Result<(), Errno> {
        let Some((uid, gid)) = self.order.owner else { return Ok(()) };
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        rustix::fs::chownat(at, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
    }

    fn charge(&mut self, bytes: u64) -> Result<(), Stop> {
        self.spent = self.spent.saturating_add(bytes.max(BLOCK));
        if self.spent > self.order.ceiling { Err(Stop::TooLarge(self.order.ceiling)) } else { Ok(()) }
    }

    fn note(&mut self, path: Vec<u8>, stat: &Stat) {
        going::entry();
        if let Some(stamped) = Stamped::of(&describe(stat)) {
            self.entries.insert(path, stamped);
        }
    }

    fn leave_out(&mut self, path: &[u8], why: &str) {
        if self.remarks.len() < NAMED {
            self.remarks.push(format!("`{}`: {why}", String::from_utf8_lossy(path).escape_debug()));
        }
        self.withheld.push(path.to_vec());
    }

    /// Gives the folders their modes and times, from the inside out: a folder may lose the right to be entered.
    fn dress(&mut self) -> Result<(), Stop> {
        for (path, stat) in std::mem::take(&mut self.folders).into_iter().rev() {
            let folder = open_beneath(&self.to, &path, OFlags::RDONLY | OFlags::DIRECTORY)?;
            let root = if path.is_empty() { 0o700 } else { 0 };
            if path.is_empty() {
                self.give(&folder, c".")?;
            }
            rustix::fs::fchmod(&folder, Mode::from_raw_mode(stat.st_mode & 0o777 | root))?;
            rustix::fs::futimens(&folder, &times(&stat))?;
            if !path.is_empty() {
                let stat = rustix::fs::fstat(&folder)?;
                self.note(path, &stat);
            }
        }
        Ok(())
    }

    fn finish(self, since: &str) -> Manifest {
        let mut left_out = self.remarks;
        let more = self.withheld.len().saturating_sub(left_out.len());
        if more > 0 {
            left_out.push(format!("and {more} more"));
        }
        let made = Copied {
            since: since.to_owned(),
            shares_blocks: self.shared > 0,
            entries: self.entries.len() as u64,
            bytes: self.bytes,
            left_out,
        };
        Manifest { made, entries: self.entries, withheld: self.withheld }
    }
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

fn times(stat: &Stat) -> Timestamps {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let time = Timespec { tv_sec: stat.st_mtime, tv_nsec: nanoseconds };
    Timestamps { last_access: time, last_modification: time }
}

/// Whether a folder lies on a file system that the kernel makes up.
fn made_up(at: &OwnedFd, name: &CStr) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || {
        let folder = rustix::fs::openat(at, name, flags, Mode::empty())?;
        // Another file system begins here, or it is the one that was looked at before.
        let begins = rustix::fs::fstat(&folder)?.st_dev != rustix::fs::fstat(at)?.st_dev;
        if begins { rustix::fs::fstatfs(folder).map(Some) } else { Ok(None) }
    };
    open().ok().flatten().is_some_and(|found| MADE_UP.contains(&found.f_type))
}

/// Waits until a change would show by another time than the copy's own: the clock that stamps files goes in steps.
pub(super) fn let_time_pass(layer: &OwnedFd, manifest: &Manifest) -> Result<(), OpenError> {
    let newest = manifest.entries.values().map(Stamped::changed).max();
    let Some(newest) = newest else { return Ok(()) };
    let start = std::time::Instant::now();
    let what = "waiting for the clock of the file system";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let probe =
        rustix::fs::openat(layer, super::LIST_UNFINISHED, flags, Mode::RUSR | Mode::WUSR).at(STEP, what)?;
    loop {
        rustix::fs::fchmod(&probe, Mode::RUSR | Mode::WUSR).at(STEP, what)?;
        let Entry { changed, .. } = describe(&rustix::fs::fstat(&probe).at(STEP, what)?);
        if changed > newest {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(OpenError::new(STEP, "the clock of the layer's file system stands still"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The entries at and below some paths that the session has not changed.
pub(super) fn unchanged_below(
    layer: &OwnedFd,
    manifest: &Manifest,
    paths: &BTreeSet<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, OpenError> {
    let mut found = Vec::new();
    let what = "hiding what was copied";
    let copy = open_beneath(layer, TREE.as_bytes(), OFlags::PATH | OFlags::DIRECTORY).at(STEP, what)?;
    for path in paths {
        let below = [path.as_slice(), b"/"].concat();
        let at = manifest.entries.get_key_value(path).into_iter();
        let rest = manifest.entries.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
        for (path, stamped) in at.chain(rest) {
            match open_beneath(&copy, path, OFlags::PATH) {
                Ok(entry) => {
                    let stat = rustix::fs::fstat(&entry).at(STEP, what)?;
                    if stamped.is(&describe(&stat)) {
                        found.push(path.clone());
                    }
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
                Err(errno) => return Err(errno).at(STEP, what),
            }
        }
    }
    Ok(found)
}

/// Removes entries of the copy; folders that hold something stay.
pub(super) fn take_away(layer: &OwnedFd, paths: &[Vec<u8>]) -> Result<(), OpenError> {
    let what = "hiding what was copied";
    let copy = open_beneath(layer, TREE.as_bytes(), OFlags::RDONLY | OFlags::DIRECTORY).at(STEP, what)?;
    for path in paths.iter().rev() {
        let at = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = match at {
            Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
            None => (&b""[..], path.as_slice()),
        };
        let parent = open_beneath(&copy, parent, OFlags::RDONLY | OFlags::DIRECTORY).at(STEP, what)?;
        let removed = match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR),
            other => other,
        };
        match removed {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(errno).at(STEP, what),
        }
    }
    Ok(())
}
