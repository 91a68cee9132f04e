//! PID 1 of a sandbox.
//!
//! Started in fresh namespaces with an empty environment, a control socket and the directories it needs as open
//! descriptors (by the library, or by itself as a container's first process), it builds the sandbox, gives up its
//! privileges, and then runs commands and file operations, each in a confined child. It never learns a path of the host, never opens a network socket, and ends, with everything
//! below it, when the control socket closes.
mod command;
mod confine;
mod container;
mod counters;
mod environment;
mod fault;
mod filter;
mod operation;
mod process;
mod serve;
mod setup;
mod syscalls;
mod terminal;
mod watch;

use enclos_init::channel;
use enclos_init::sys;
use enclos_init::wire::{CONTROL_FD, FIRST_FD, Failure, IMAGE_FD, IN_CONTAINER, Kind, Setup, Step};
use fault::{At, Done, refused};
use serve::Serve;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

fn main() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == IN_CONTAINER) {
        process::exit(container::first());
    }
    // SAFETY: the launcher leaves the control socket at this number, and nothing else owns it.
    let control = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
    let spare = control.try_clone();
    match prepare(control) {
        Ok(serve) => {
            drop(spare);
            serve.run();
        }
        Err(failure) => {
            let body = serde_json::to_vec(&failure).unwrap_or_default();
            if let Ok(control) = spare {
                // The launcher sees the end of the socket when even this fails.
                let _ = channel::send(&control, Kind::Failed, 0, &body, &[]);
            }
        }
    }
}

fn prepare(control: OwnedFd) -> Done<Serve> {
    sys::prctl(libc::PR_SET_DUMPABLE, 0).at(Step::Ready, "becoming unreadable to others")?;
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
        .at(Step::Ready, "asking to end with the gateway")?;
    process::keep_little_memory();
    sys::run_soon();
    rustix::io::fcntl_setfd(&control, rustix::io::FdFlags::CLOEXEC)
        .at(Step::Ready, "keeping the control socket")?;
    sys::close_range(IMAGE_FD.unsigned_abs(), IMAGE_FD.unsigned_abs())
        .at(Step::Ready, "closing the program's file")?;
    let frame = channel::receive(control.as_fd()).at(Step::Ready, "reading the set-up")?;
    let Some(frame) = frame.filter(|frame| frame.kind == Kind::Setup) else {
        return refused(Step::Ready, "the first message is not the set-up");
    };
    let (json, mask) = channel::unpack(&frame.body).ok_or_else(|| Failure {
        step: Step::Ready,
        message: "the set-up is cut".into(),
        errno: 0,
        no_overlay: false,
    })?;
    let setup: Setup = serde_json::from_slice(json).map_err(|error| Failure {
        step: Step::Ready,
        message: format!("the set-up cannot be read: {error}"),
        errno: 0,
        no_overlay: false,
    })?;
    let built = setup::apply(&setup, mask)?;
    Serve::new(control, &setup, built)
}

/// Takes over a descriptor that the set-up names by number.
pub(crate) fn given(number: i32) -> Done<OwnedFd> {
    if number < FIRST_FD {
        return refused(Step::Ready, "the set-up names a descriptor that is not one of its own");
    }
    // SAFETY: the launcher put a descriptor there for this one use; each number is taken once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
