//! Mounts whose files change owner, for root only: what belongs to the repository's owner on disk belongs to the
//! sandbox's user number when seen through the mount, and nothing is changed on disk.
//!
//! The mapping is taken from a user namespace made for it: a child that shares this process's memory, does nothing
//! but wait, and is ended as soon as its namespace is open. Its end is waited for when the mapper goes: the kernel takes
//! its time over it, in which the sandbox can be made.
use enclos_init::sys::{self, MountFlags};
use rustix::fs::CWD;
use rustix::mount::OpenTreeFlags;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Makes mapped mounts for one sandbox; one namespace for each owner met.
pub(crate) struct Mapper {
    to: (u32, u32),
    namespaces: HashMap<(u32, u32), OwnedFd>,
    ended: Vec<Holder>,
}

impl Mapper {
    /// Maps to the host's user and group number `to`.
    pub(crate) fn new(to: (u32, u32)) -> Self {
        Self { to, namespaces: HashMap::new(), ended: Vec::new() }
    }

    /// A detached mount of the directory (or file) `path`, whose owner's files belong to the sandbox.
    pub(crate) fn tree(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let tree = plain_tree(path)?;
        let owner = std::fs::metadata(path)?;
        let owner = (owner.uid(), owner.gid());
        if owner != self.to {
            if !self.namespaces.contains_key(&owner) {
                let (namespace, holder) = namespace(owner, self.to)?;
                self.namespaces.insert(owner, namespace);
                self.ended.push(holder);
            }
            let namespace = self.namespaces.get(&owner).map(AsFd::as_fd);
            sys::set_mount(tree.as_fd(), MountFlags::PLAIN, false, namespace)?;
        }
        Ok(tree)
    }
}

/// A detached mount of `path` as it is.
pub(crate) fn plain_tree(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// A user namespace in which `from` stands for `to`, and the child it was made by, which is on its way out.
fn namespace(from: (u32, u32), to: (u32, u32)) -> io::Result<(OwnedFd, Holder)> {
    let holder = Holder::start()?;
    let proc = format!("/proc/{}", holder.pid);
    std::fs::write(format!("{proc}/uid_map"), format!("{} {} 1", from.0, to.0))?;
    std::fs::write(format!("{proc}/gid_map"), format!("{} {} 1", from.1, to.1))?;
    let namespace = std::fs::File::open(format!("{proc}/ns/user"))?.into();
    holder.end();
    Ok((namespace, holder))
}

/// The child that holds a namespace open.
struct Holder {
    pid: libc::pid_t,
    /// Its stack; must outlive it.
    _stack: Vec<u128>,
}

impl Holder {
    fn start() -> io::Result<Self> {
        let mut stack = vec![0u128; 1024];
        let top = stack.as_mut_ptr_range().end;
        let flags = libc::CLONE_NEWUSER | libc::CLONE_VM;
        // A number where a pointer could be: the child compares it and follows it nowhere.
        let maker = std::ptr::without_provenance_mut(std::process::id() as usize);
        // SAFETY: the child runs on a stack of its own, 16-byte aligned and kept until it has ended. It shares this
        // process's memory but only makes system calls, which touch none. With no exit signal it disturbs nobody.
        let pid = unsafe { libc::clone(wait_for_ever, top.cast(), flags, maker) };
        sys::done(pid.into())?;
        Ok(Self { pid, _stack: stack })
    }

    /// Ends the child without waiting for it.
    fn end(&self) {
        // SAFETY: the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
    }
}

/// The child: gives up the descriptors that it has copies of, and waits for its end, which comes with its maker's at the
/// latest.
extern "C" fn wait_for_ever(maker: *mut libc::c_void) -> libc::c_int {
    // SAFETY: no memory is passed; what is closed are this process's own copies.
    unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) };
    // SAFETY: two numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: takes nothing.
    let parent = unsafe { libc::getppid() };
    // The maker may have been gone before it was asked for.
    while usize::try_from(parent) == Ok(maker.addr()) {
        // SAFETY: takes nothing, touches no memory.
        unsafe { libc::pause() };
    }
    0
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.end();
        loop {
            // SAFETY: no status is asked for. `__WALL`: the child has no exit signal.
            let ended = unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL) };
            if ended >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
    }
}
