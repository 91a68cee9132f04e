//! The content of one file into another: by sharing its blocks where the file system can, else by copying them. Holes stay
//! holes. Never more than the size that was asked for is taken, whatever a file gives.
use rustix::fs::{SeekFrom, fstat, ftruncate, seek};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Bytes moved at a time where the kernel does not copy by itself.
const CHUNK: usize = 64 * 1024;

/// Most bytes that the kernel copies in one go: a person who waits sees that it goes on.
const AT_ONCE: u64 = 16 << 20;

/// How a content was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Both files share their blocks until one is written.
    Shared,
    /// By its bytes.
    Bytes,
}

/// Shares the blocks of `from` with the empty file `to`. `None`: these two cannot.
pub(super) fn share(from: &OwnedFd, to: &OwnedFd) -> Result<Option<How>, Errno> {
    match rustix::fs::ioctl_ficlone(to, from) {
        Ok(()) => Ok(Some(How::Shared)),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS | Errno::PERM) => {
            Ok(None)
        }
        Err(errno) => Err(errno),
    }
}

/// Copies `size` bytes; `sparse` says that the file has holes.
pub(super) fn copy(from: &OwnedFd, to: &OwnedFd, size: u64, sparse: bool) -> Result<How, Errno> {
    let mut at = 0;
    let mut sparse = sparse;
    while at < size {
        let (start, end) = if sparse { extent(from, at, size)? } else { (at, size) };
        sparse &= (start, end) != (at, size);
        if !range(from, to, start, end)? {
            break;
        }
        at = end;
    }
    // A hole at the end, or one that is all there is; and a file that was cut meanwhile is as long as it is now.
    let now = u64::try_from(fstat(from)?.st_size).unwrap_or(0);
    ftruncate(to, size.min(now))?;
    Ok(How::Bytes)
}

/// The next part of a file that is no hole.
fn extent(from: &OwnedFd, at: u64, size: u64) -> Result<(u64, u64), Errno> {
    let start = match seek(from, SeekFrom::Data(at)) {
        Ok(start) => start.min(size),
        // Nothing but a hole up to the end.
        Err(Errno::NXIO) => return Ok((size, size)),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((at, size)),
        Err(errno) => return Err(errno),
    };
    let end = seek(from, SeekFrom::Hole(start)).map_or(size, |end| end.min(size));
    Ok((start, end.max(start)))
}

/// Copies one part. `false`: the file ended before.
fn range(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> Result<bool, Errno> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let left = usize::try_from((end - read_at).min(AT_ONCE)).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), left) {
            Ok(0) => return Ok(false),
            Ok(copied) => super::going::bytes(copied as u64),
            Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                return by_hand(from, to, read_at, end);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(true)
}

fn by_hand(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> Result<bool, Errno> {
    let mut buffer = vec![0; CHUNK];
    let mut at = start;
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX).min(CHUNK);
        let room = buffer.get_mut(..left).unwrap_or_default();
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut *room, at))?;
        if read == 0 {
            return Ok(false);
        }
        let mut written = 0;
        while written < read {
            let rest = room.get(written..read).unwrap_or_default();
            let place = at + written as u64;
            written += rustix::io::retry_on_intr(|| rustix::io::pwrite(to, rest, place))?;
        }
        at += read as u64;
        super::going::bytes(read as u64);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn holes_stay_holes_and_no_more_than_the_size_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let from = File::create_new(path("from")).unwrap();
        from.write_all_at(b"first", 0).unwrap();
        from.write_all_at(b"middle", 4 << 20).unwrap();
        from.set_len(8 << 20).unwrap();
        for (name, size) in [("whole", 8 << 20), ("cut", 3), ("longer", 9 << 20)] {
            let to: OwnedFd = File::create_new(path(name)).unwrap().into();
            let from: OwnedFd = File::open(path("from")).unwrap().into();
            assert_eq!(copy(&from, &to, size, true).unwrap(), How::Bytes);
            let copied = std::fs::read(path(name)).unwrap();
            let mut expected = std::fs::read(path("from")).unwrap();
            expected.truncate(usize::try_from(size).unwrap());
            assert!(copied == expected, "{name}");
            assert!(path(name).metadata().unwrap().blocks() * 512 < 1 << 20, "{name}");
        }
    }
}
