//! Who connected: the process at the other end of the control socket, by the kernel's word, and its first one. It must be
//! the user that the container was to run as, and it must speak what is spoken here.
use super::program::readable;
use crate::error::{OpenError, Place};
use enclos_init::channel;
use enclos_init::wire::{CONTAINER_VERSION, Hello, Kind, Step};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::SocketFlags;
use rustix::process::PidfdFlags;
use std::os::fd::OwnedFd;
use std::time::Duration;

const STEP: Step = Step::Engine;
/// Time for the first word of whoever is connected.
const PATIENCE: Duration = Duration::from_secs(5);

/// A container's first process.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) control: OwnedFd,
    pub(super) process: OwnedFd,
    pub(super) pid: i32,
    pub(super) hello: Hello,
}

/// Takes the connection that waits on `socket`.
pub(super) fn take(socket: &OwnedFd, owner: u32) -> Result<Peer, OpenError> {
    let what = "taking the container's connection";
    let control = rustix::net::accept_with(socket, SocketFlags::CLOEXEC).at(STEP, what)?;
    let who = rustix::net::sockopt::socket_peercred(&control).at(STEP, what)?;
    let uid = who.uid.as_raw();
    if uid != owner {
        return Err(OpenError::new(
            STEP,
            format!(
                "the container runs as user {uid} of this machine, not as {owner}: its engine gives numbers of its own"
            ),
        ));
    }
    let process = rustix::process::pidfd_open(who.pid, PidfdFlags::empty()).at(STEP, what)?;
    // The number was its own if it is still there now: it holds its end of the socket until it is told to begin.
    let mut polled = [PollFd::new(&control, PollFlags::empty())];
    rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).at(STEP, what)?;
    let [polled] = polled;
    if polled.revents().contains(PollFlags::HUP) {
        return Err(OpenError::new(STEP, "the container's first process ended at once"));
    }
    Ok(Peer { hello: greeting(&control)?, control, process, pid: who.pid.as_raw_pid() })
}

fn greeting(control: &OwnedFd) -> Result<Hello, OpenError> {
    let what = "hearing the container's first process";
    let unsound =
        || OpenError::new(STEP, "what connected from the container is not the init of this version");
    if !readable(control, PATIENCE).at(STEP, what)? {
        return Err(OpenError::new(STEP, "the container's first process says nothing"));
    }
    let frame = channel::receive(control).at(STEP, what)?.filter(|frame| frame.kind == Kind::Hello);
    let hello: Hello =
        frame.and_then(|frame| serde_json::from_slice(&frame.body).ok()).ok_or_else(unsound)?;
    if hello.version == CONTAINER_VERSION { Ok(hello) } else { Err(unsound()) }
}
