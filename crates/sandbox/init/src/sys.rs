//! System calls that no crate in use wraps, each as one safe function. Nothing here decides anything.
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The user namespace of a sandbox and the six others.
pub const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Attributes to set on a mount; see [`set_mount`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountFlags(u64);

impl MountFlags {
    /// No set-user-ID programs, no device files.
    pub const PLAIN: Self = Self(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV);
    /// Read-only, and as `PLAIN`.
    pub const READ_ONLY: Self = Self(libc::MOUNT_ATTR_RDONLY | Self::PLAIN.0);
    /// Read-only, nothing to execute, and as `PLAIN`.
    pub const DATA: Self = Self(libc::MOUNT_ATTR_NOEXEC | Self::READ_ONLY.0);
}

/// Sets attributes of the mount that `fd` is the root of (or of all below it too), and maps its owners when a user
/// namespace is given.
pub fn set_mount(
    fd: BorrowedFd<'_>,
    flags: MountFlags,
    recursive: bool,
    owners: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut attributes = libc::mount_attr { attr_set: flags.0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    if let Some(namespace) = owners {
        attributes.attr_set |= libc::MOUNT_ATTR_IDMAP;
        attributes.userns_fd = u64::from(namespace.as_raw_fd().unsigned_abs());
    }
    let mut at = libc::AT_EMPTY_PATH;
    if recursive {
        at |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path is a constant, the structure is valid for the call and its size is passed with it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            at,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    done(result)
}

/// A whole number as the kernel answers it: negative is an error.
pub fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Version of Landlock's interface, or the reason why there is none.
pub fn landlock_abi() -> io::Result<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no structure: a null pointer and size 0 are what it wants.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION)
    };
    done(version)?;
    u32::try_from(version).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))
}

/// Whether the kernel takes filters of system calls that answer an error number.
pub fn seccomp_available() -> io::Result<()> {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the pointer is to a `u32` that lives through the call.
    done(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const action) })
}

/// Gives the process a session key ring of its own, so that none of the outside is reachable.
pub fn own_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name asks for an anonymous ring; no memory is passed.
    match done(unsafe {
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>())
    }) {
        // A kernel without key rings has none to share.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        other => other,
    }
}

/// Makes the control groups that this process is in the root of what it can see of groups.
pub fn own_groups() -> io::Result<()> {
    // SAFETY: a flag that touches no memory, descriptor or file system of this process.
    done(libc::c_long::from(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) }))
}

/// A `prctl` with one number as its argument.
pub fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: only options that take a number are used with this function; no memory is passed.
    done(libc::c_long::from(unsafe { libc::prctl(option, argument, 0, 0, 0) }))
}

/// Has the kernel run this process soon whenever it wakes, for a short while each time, however many others want to run: it
/// ends them. What it makes has the usual share again. Kernels before 6.12 know no such wish, which changes nothing else.
pub fn run_soon() {
    /// Nanoseconds: the shortest that the kernel takes.
    const WHILE: u64 = 100_000;
    let size = u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(0);
    let mut wish = std::mem::MaybeUninit::<libc::sched_attr>::zeroed();
    // SAFETY: the kernel writes at most `size` bytes, which is the size of what the pointer leads to.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, wish.as_mut_ptr(), size, 0u32) };
    // SAFETY: zeroed at first, and all of its fields are plain numbers.
    let mut wish = unsafe { wish.assume_init() };
    if got != 0 || wish.sched_policy != libc::SCHED_OTHER.unsigned_abs() {
        return;
    }
    wish.sched_runtime = WHILE;
    wish.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK.unsigned_abs().into();
    // SAFETY: the kernel reads as many bytes as the structure says it has. Failing changes nothing.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wish, 0u32) };
}

/// Sets the host name of the namespace.
pub fn set_host_name(name: &CStr) -> io::Result<()> {
    // SAFETY: pointer and length describe the same bytes.
    done(libc::c_long::from(unsafe { libc::sethostname(name.as_ptr(), name.count_bytes()) }))
}

/// Closes every descriptor from `first` to `last`, both included.
pub fn close_range(first: u32, last: u32) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: no memory is passed. The callers own every descriptor of the range, or replace the program next.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0u32) })
}
