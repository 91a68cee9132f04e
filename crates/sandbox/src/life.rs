//! The end of a sandbox: killing its PID 1 ends every process in it, whatever it does, and waiting for PID 1 waits
//! for all of them.
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, WaitId, WaitIdOptions};
use std::os::fd::{AsFd, OwnedFd};

/// Kills without waiting.
pub(crate) fn kill(process: &OwnedFd) {
    // It may have ended already, which is what is wanted.
    let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
}

/// Kills and waits until nothing is left.
pub(crate) fn end(process: &OwnedFd) {
    kill(process);
    while matches!(
        rustix::process::waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED),
        Err(rustix::io::Errno::INTR)
    ) {}
    // A container's first process is a child of somebody else, who reaps it: its end can be seen all the same.
    while rustix::event::poll(&mut [PollFd::new(process, PollFlags::IN)], None)
        == Err(rustix::io::Errno::INTR)
    {}
}
