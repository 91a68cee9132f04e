//! Leaves the host's file system for good, then gives up every privilege but the five that making the namespaces
//! of a command, emptying its bounding set, and watching what it uses need.
use crate::fault::{At, Done};
use enclos_init::sys::{self, MountFlags};
use enclos_init::wire::Step;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::UnmountFlags;
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::os::fd::AsFd;

/// Makes the current directory the root and detaches the old one.
pub(super) fn pivot() -> Done<()> {
    rustix::process::pivot_root(".", ".").at(Step::Pivot, "pivoting to the new root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).at(Step::Pivot, "detaching the old root")?;
    std::env::set_current_dir("/").at(Step::Pivot, "entering the new root")?;
    sys::set_host_name(c"sandbox").at(Step::Pivot, "setting the host name")
}

/// Makes the root and the init's `/proc` read-only.
pub(super) fn seal() -> Done<()> {
    for (path, flags) in [("/", MountFlags::READ_ONLY), ("/proc", MountFlags::DATA)] {
        let what = format!("making `{path}` read-only");
        let fd = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .at(Step::Pivot, &what)?;
        sys::set_mount(fd.as_fd(), flags, false, None).at(Step::Pivot, &what)?;
    }
    Ok(())
}

/// The capabilities, over its own user namespace only, that the init keeps.
const KEPT: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::KILL);

/// Gives up the rest, and checks that Landlock and seccomp are there.
pub(super) fn privileges() -> Done<()> {
    sys::own_keyring().at(Step::Privileges, "making a key ring of its own")?;
    rustix::thread::set_no_new_privs(true).at(Step::Privileges, "setting `no_new_privs`")?;
    rustix::thread::clear_ambient_capability_set().at(Step::Privileges, "clearing ambient capabilities")?;
    let sets = CapabilitySets { effective: KEPT, permitted: KEPT, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).at(Step::Privileges, "dropping capabilities")?;
    let abi = sys::landlock_abi().at(Step::Landlock, "asking for Landlock")?;
    crate::confine::usable_abi(abi)?;
    sys::seccomp_available().at(Step::Seccomp, "asking for filters of system calls")
}
