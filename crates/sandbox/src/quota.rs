//! A disk quota for the user number that a session has of its own: the kernel then holds what it may write, to the block.
//!
//! Only root can set one, and only where the file system of the layer enforces quotas of users. What cannot be had is
//! told; it is never taken for granted that a limit which was set is enforced: it is read back, and so is whether it counts.
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Blocks of the kernel's interface.
const BLOCK: u64 = 1024;
/// What an entry without content counts for, as it does for the watchdog.
const ENTRY: u64 = 4096;
/// `Q_XGETQSTAT`: how quotas stand on a file system.
const STATE: i32 = 0x5805;
/// Of the flags of that: quotas of users are enforced.
const ENFORCED: u16 = 2;

/// A quota in force. Dropping it lifts it.
#[derive(Debug)]
pub(crate) struct Quota {
    layer: OwnedFd,
    uid: u32,
}

impl Quota {
    /// Holds what `uid` has on the file system of `layer` to `bytes`.
    pub(crate) fn hold(layer: &OwnedFd, uid: u32, bytes: u64) -> io::Result<Self> {
        if !enforced(layer)? {
            return Err(io::Error::other("quotas of users are not enforced on the file system of the layer"));
        }
        let held = Self { layer: layer.try_clone()?, uid };
        held.set(bytes)?;
        if held.is(bytes)? {
            Ok(held)
        } else {
            Err(io::Error::other("the quota that was set does not stand"))
        }
    }

    fn set(&self, bytes: u64) -> io::Result<()> {
        let mut limits = limits(bytes);
        // SAFETY: the kernel reads one `dqblk` from a reference to one, and keeps no pointer to it.
        unsafe { call(&self.layer, libc::Q_SETQUOTA, self.uid, (&raw mut limits).cast()) }
    }

    fn is(&self, bytes: u64) -> io::Result<bool> {
        let mut found = limits(0);
        // SAFETY: the kernel writes one `dqblk` through a reference to one, and keeps no pointer to it.
        unsafe { call(&self.layer, libc::Q_GETQUOTA, self.uid, (&raw mut found).cast()) }?;
        let wanted = limits(bytes);
        Ok(found.dqb_bhardlimit == wanted.dqb_bhardlimit && found.dqb_ihardlimit == wanted.dqb_ihardlimit)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The number is nobody else's; a limit that stays is overwritten when the session is opened again.
        let _ = self.set(0);
    }
}

fn enforced(layer: &OwnedFd) -> io::Result<bool> {
    // `struct fs_quota_stat` has less than this; its flags are the second 16 bits.
    let mut state = [0u16; 128];
    // SAFETY: the kernel writes one `fs_quota_stat` into a buffer that is larger and as well aligned as its fields need.
    unsafe { call(layer, STATE, 0, state.as_mut_ptr().cast()) }?;
    Ok(state.get(1).is_some_and(|flags| flags & ENFORCED != 0))
}

fn limits(bytes: u64) -> libc::dqblk {
    let (blocks, entries) = (bytes / BLOCK, bytes / ENTRY);
    libc::dqblk {
        dqb_bhardlimit: blocks,
        dqb_bsoftlimit: 0,
        dqb_curspace: 0,
        dqb_ihardlimit: entries,
        dqb_isoftlimit: 0,
        dqb_curinodes: 0,
        dqb_btime: 0,
        dqb_itime: 0,
        dqb_valid: libc::QIF_BLIMITS | libc::QIF_ILIMITS,
    }
}

/// `quotactl_fd` on quotas of users.
///
/// # Safety
/// `at` points to what `order` reads or writes.
unsafe fn call(layer: &OwnedFd, order: i32, uid: u32, at: *mut c_void) -> io::Result<()> {
    let order = order << 8 | libc::USRQUOTA;
    // SAFETY: all arguments are numbers but `at`, of which the caller has made sure.
    let answer = unsafe { libc::syscall(libc::SYS_quotactl_fd, layer.as_raw_fd(), order, uid, at) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_quotas_holds_nothing_and_says_so() {
        let shm: OwnedFd = std::fs::File::open("/dev/shm").unwrap().into();
        assert!(Quota::hold(&shm, 0x7000_0000, 1 << 20).is_err());
    }

    #[test]
    fn limits_are_blocks_and_entries() {
        let limits = limits(8 << 20);
        assert_eq!((limits.dqb_bhardlimit, limits.dqb_ihardlimit), (8192, 2048));
    }
}
