//! The size of the session's layer. Free space of its file system tells cheaply whether much was written; then, and at the
//! latest after a while, since others may free what is written here, the layer is walked and added up, never more than a
//! twentieth of the time. Every entry counts as one block at least, so that files without content count too.
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Most entries of one walk.
const ENTRIES: u64 = 5_000_000;
/// When the layer is walked at the latest after it may be walked again.
const LATEST: Duration = Duration::from_secs(2);
/// What an entry counts at least.
const BLOCK: u64 = 4096;

pub(super) struct Disk {
    layer: OwnedFd,
    ceiling: u64,
    used: u64,
    /// How much over the ceiling is borne, so that a command that tidies up is not ended, and one that adds more is.
    over: Over,
    free: u64,
    next: Option<Instant>,
}

impl Disk {
    pub(super) fn new(layer: OwnedFd, ceiling: u64) -> Self {
        Self { layer, ceiling, used: 0, over: Over::Not, free: 0, next: None }
    }

    /// Whether the layer is over its ceiling, with the `held` bytes of files that were removed from it.
    pub(super) fn over(&mut self, held: impl FnOnce() -> u64) -> bool {
        let free = rustix::fs::fstatvfs(&self.layer).map_or(0, |stat| {
            (stat.f_bfree * stat.f_frsize).saturating_add(stat.f_ffree.saturating_mul(BLOCK))
        });
        let written = self.free.saturating_sub(free);
        let room = self.ceiling.saturating_sub(self.used);
        let due = match self.next {
            None => true,
            Some(next) => {
                let now = Instant::now();
                now >= next && (written > room / 2 || now >= next + LATEST)
            }
        };
        if due {
            let start = Instant::now();
            self.used = size(&self.layer).saturating_add(held());
            self.free = free;
            self.next = Some(Instant::now() + start.elapsed() * 20);
        }
        if self.used <= self.ceiling {
            self.over = Over::Not;
        }
        match self.over {
            Over::Not if self.used > self.ceiling => {
                self.over = Over::Now;
                true
            }
            Over::Not => false,
            Over::Now => true,
            Over::By(borne) => self.used > borne,
        }
    }

    /// No command is at work: what those that went over the ceiling left is measured, once, and borne from now on.
    pub(super) fn settle(&mut self) {
        if self.over == Over::Now {
            self.used = size(&self.layer);
            self.over = Over::By(self.used);
        }
    }
}

/// How it stands with the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Below.
    Not,
    /// Above, and the commands that did it are being ended.
    Now,
    /// Above by what they left.
    By(u64),
}

/// Bytes held by everything below `root`. Goes down and up by one open directory at a time, so that a tree of any
/// depth can be walked; a tree that is being moved about is counted as it was met.
fn size(root: &OwnedFd) -> u64 {
    let (mut bytes, mut entries) = (0u64, 0u64);
    let Ok(mut here) = open(root, c".") else { return 0 };
    let mut waiting = vec![below(&here, &mut bytes, &mut entries)];
    while let Some(folders) = waiting.last_mut() {
        if entries > ENTRIES {
            break;
        }
        if let Some(name) = folders.pop() {
            if let Ok(next) = open(&here, &name) {
                here = next;
                waiting.push(below(&here, &mut bytes, &mut entries));
            }
        } else {
            waiting.pop();
            let Ok(up) = open(&here, c"..") else { break };
            here = up;
        }
    }
    bytes
}

fn open(at: &OwnedFd, name: &std::ffi::CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Adds up the entries of one directory and answers the names of its folders.
fn below(here: &OwnedFd, bytes: &mut u64, entries: &mut u64) -> Vec<CString> {
    let mut folders = Vec::new();
    let Ok(dir) = Dir::read_from(here) else { return folders };
    for entry in dir.flatten() {
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        *entries += 1;
        let Ok(stat) = rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        *bytes = bytes.saturating_add(blocks.max(BLOCK));
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            folders.push(name.to_owned());
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_free_hides_nothing_for_long() {
        let root = std::env::temp_dir().join(format!("enclos-disk-free-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let mut disk = Disk::new(std::fs::File::open(&root).unwrap().into(), 3 * BLOCK);
        assert!(!disk.over(|| 0));
        for n in 0..8 {
            std::fs::write(root.join(n.to_string()), "").unwrap();
        }
        // As if somebody else had freed more than was written.
        disk.free = 0;
        disk.next = Instant::now().checked_sub(LATEST);
        let over = disk.over(|| 0);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(over);
    }

    #[test]
    fn adds_up_deep_and_wide() {
        let root = std::env::temp_dir().join(format!("enclos-disk-{}", std::process::id()));
        let mut path = root.clone();
        for depth in 0..20 {
            path.push(format!("d{depth}"));
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("f"), vec![1u8; 8192]).unwrap();
        }
        let fd: OwnedFd = std::fs::File::open(&root).unwrap().into();
        let total = size(&fd);
        std::fs::remove_dir_all(&root).unwrap();
        assert!((20 * 8192..20 * 8192 + 2_000_000).contains(&total), "{total}");
    }
}
