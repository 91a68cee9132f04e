//! `/proc`, `/dev` and the temporary folders: all new and private. Of the host's devices only those that hold no
//! state are shown.
use super::{attach, directory, memory, tree};
use crate::fault::{At, Done};
use enclos_init::wire::Step;
use rustix::mount::MountFlags as Flags;
use std::os::fd::AsFd;

/// The init's own `/proc`. Commands get one each, see `confine::proc_fs`; the kernel allows those because this one
/// hides nothing.
pub(super) fn proc_fs() -> Done<()> {
    let flags = Flags::NOSUID | Flags::NODEV | Flags::NOEXEC;
    rustix::mount::mount(c"proc", "proc", c"proc", flags, None)
        .at(Step::Proc, "mounting a private `/proc`")?;
    // No further user namespace can be made in here, whatever the filter of system calls would let through.
    std::fs::write("proc/sys/user/max_user_namespaces", "0")
        .at(Step::Proc, "forbidding more user namespaces")?;
    // Watches on files are counted for the person as well: all of theirs must not be used up in here.
    for (setting, most) in [("max_inotify_instances", "64"), ("max_inotify_watches", "65536")] {
        match std::fs::write(format!("proc/sys/user/{setting}"), most) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            other => other.at(Step::Proc, "bounding watches on files")?,
        }
    }
    Ok(())
}

/// A `/dev` of six devices and a private terminal multiplexer.
pub(super) fn dev() -> Done<()> {
    directory(Step::Devices, "dev/pts")?;
    directory(Step::Devices, "dev/shm")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let inside = format!("dev/{name}");
        let what = format!("showing `/{inside}`");
        std::fs::File::create_new(&inside).at(Step::Devices, &what)?;
        let device = tree(&format!("/dev/{name}"), false).at(Step::Devices, &what)?;
        attach(device.as_fd(), &inside).at(Step::Devices, &what)?;
    }
    for (target, link) in [
        ("/proc/self/fd", "dev/fd"),
        ("/proc/self/fd/0", "dev/stdin"),
        ("/proc/self/fd/1", "dev/stdout"),
        ("/proc/self/fd/2", "dev/stderr"),
        ("pts/ptmx", "dev/ptmx"),
    ] {
        std::os::unix::fs::symlink(target, link).at(Step::Devices, &format!("linking `/{link}`"))?;
    }
    let flags = Flags::NOSUID | Flags::NOEXEC;
    rustix::mount::mount(c"devpts", "dev/pts", c"devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
        .at(Step::Devices, "mounting a private `/dev/pts`")
}

/// `/tmp`, `/dev/shm` and the home folder, in memory, each with a ceiling.
pub(super) fn temporary(memory_bytes: u64) -> Done<()> {
    for (path, mode, share) in [("tmp", "1777", 2), ("dev/shm", "1777", 4), ("home/agent", "0700", 4)] {
        let options = format!("mode={mode},size={},nr_inodes=256k", (memory_bytes / share).max(1 << 20));
        memory(path, &options).at(Step::Devices, &format!("mounting a private `/{path}`"))?;
    }
    Ok(())
}
