//! The first process of a container: the same program as the init, started by a container engine or runtime.
//!
//! It connects to the control socket that was mounted for it, is given the init's program and its descriptors over it,
//! makes the namespaces and starts the init in them, the one that builds every sandbox. So the container adds a wall and
//! takes none away: what the engine calls isolation is trusted for nothing. This process does nothing else: it waits for
//! the init's end, and the container ends with it. The agent never sees it, nor the container's file system.
use crate::fault::{At, Done, refused};
use crate::process::{self, Side};
use enclos_init::channel;
use enclos_init::sys;
use enclos_init::wire::{
    AGENT, Begin, CONTAINER_FOLDER, CONTAINER_VERSION, CONTROL_FD, FIRST_FD, Failure, Hello, IMAGE_FD, Kind,
    Source, Step, UNREACHABLE,
};
use rustix::fs::CWD;
use rustix::mount::OpenTreeFlags;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const STEP: Step = Step::Namespaces;

/// Runs to the end of the container. Answers its exit code.
pub(crate) fn first() -> i32 {
    let Ok(control) = connect() else { return UNREACHABLE.into() };
    match start(&control) {
        Ok(init) => {
            // The gateway's side hears the end of the init by the end of the socket.
            drop(control);
            wait_for(init)
        }
        Err(failure) => {
            tell(control, &failure);
            1
        }
    }
}

fn connect() -> rustix::io::Result<OwnedFd> {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let address = SocketAddrUnix::new(format!("{CONTAINER_FOLDER}/control"))?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

fn tell(control: impl AsFd, failure: &Failure) {
    let body = serde_json::to_vec(failure).unwrap_or_default();
    // The gateway's side sees the end of the socket when even this fails.
    let _ = channel::send(control, Kind::Failed, 0, &body, &[]);
}

/// Starts the init. Its number, when it is on its way.
fn start(control: &OwnedFd) -> Done<Pid> {
    #[expect(clippy::disallowed_methods, reason = "the environment here is the image's, not a person's")]
    let path = std::env::var("PATH").ok();
    let hello = serde_json::to_vec(&Hello { version: CONTAINER_VERSION, path }).unwrap_or_default();
    channel::send(control, Kind::Hello, 0, &hello, &[]).at(STEP, "greeting the gateway")?;
    let (image, given) = descriptors(control)?;
    let (wait, go) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).at(STEP, "making a pipe")?;
    match process::fork_into_namespaces().at(STEP, "making the namespaces")? {
        Side::Child => {
            drop(go);
            become_init(control, &wait, &image, given)
        }
        Side::Parent(pid) => {
            if let Err(failure) = map(pid) {
                process::kill(pid, rustix::process::Signal::KILL);
                return Err(failure);
            }
            rustix::io::write(&go, b"g").at(STEP, "starting the init")?;
            Ok(pid)
        }
    }
}

/// A descriptor of the init.
enum Given {
    Open(OwnedFd),
    Tree(u32),
}

/// The init's program and its descriptors, complete.
fn descriptors(control: &OwnedFd) -> Done<(OwnedFd, Vec<Given>)> {
    let receive = || channel::receive(control).at(STEP, "hearing the gateway");
    let Some(begin) = receive()?.filter(|frame| frame.kind == Kind::Begin) else {
        return refused(STEP, "the gateway does not begin");
    };
    let Ok(Begin { given }) = serde_json::from_slice(&begin.body) else {
        return refused(STEP, "the list of descriptors cannot be read");
    };
    let wanted = 1 + given.iter().filter(|source| **source == Source::Sent).count();
    let mut sent = Vec::new();
    while sent.len() < wanted {
        match receive()? {
            Some(frame) if frame.kind == Kind::Given && !frame.fds.is_empty() => sent.extend(frame.fds),
            _ => return refused(STEP, "descriptors are missing"),
        }
    }
    if sent.len() != wanted {
        return refused(STEP, "there are more descriptors than announced");
    }
    let mut sent = sent.into_iter();
    let mut next = || sent.next().ok_or(rustix::io::Errno::BADF).at(STEP, "taking descriptors");
    let image = next()?;
    let given = given.into_iter().map(|source| match source {
        Source::Sent => next().map(Given::Open),
        Source::Mounted(number) => Ok(Given::Tree(number)),
    });
    Ok((image, given.collect::<Done<_>>()?))
}

/// Says who the one user inside is in the container: whoever this process is.
fn map(pid: Pid) -> Done<()> {
    let folder = format!("/proc/{}", pid.as_raw_pid());
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{AGENT} {uid} 1")),
        ("gid_map", format!("{AGENT} {gid} 1")),
    ] {
        std::fs::write(format!("{folder}/{file}"), text)
            .at(STEP, &format!("writing `{file}` in the container"))?;
    }
    Ok(())
}

/// The new process becomes the init. Answers only when that fails.
fn become_init(control: &OwnedFd, wait: &OwnedFd, image: &OwnedFd, given: Vec<Given>) -> ! {
    if let Err(failure) = make_ready(control, wait, image, given) {
        tell(control, &failure);
        process::exit(1)
    }
    // SAFETY: `make_ready` left the program at this number.
    let image = unsafe { BorrowedFd::borrow_raw(IMAGE_FD) };
    // SAFETY: and the control socket at this one.
    let control = unsafe { BorrowedFd::borrow_raw(CONTROL_FD) };
    let errno = process::execute_open(image, c"init").raw_os_error().unwrap_or(0);
    tell(control, &Failure { step: Step::Init, message: "executing the init".into(), errno });
    process::exit(1)
}

fn make_ready(control: &OwnedFd, wait: &OwnedFd, image: &OwnedFd, given: Vec<Given>) -> Done<()> {
    let told = rustix::io::read(wait, &mut [0u8; 1]).at(STEP, "waiting for the user numbers")?;
    if told != 1 {
        return refused(STEP, "the container's first process ended");
    }
    keep_capabilities().at(STEP, "keeping the capabilities for the set-up")?;
    let mut all = Vec::new();
    for (number, given) in given.into_iter().enumerate() {
        all.push(match given {
            Given::Open(fd) => fd,
            Given::Tree(mounted) => {
                tree(mounted).at(STEP, &format!("taking in directory number {number} of the plan"))?
            }
        });
    }
    arrange(control, image, all).at(STEP, "arranging descriptors")
}

/// What a program that is executed by a plain user keeps are the ambient capabilities.
fn keep_capabilities() -> rustix::io::Result<()> {
    let all = rustix::thread::capabilities(None)?.permitted;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: all, permitted: all, inheritable: all },
    )?;
    all.iter()
        .try_for_each(|one: CapabilitySet| rustix::thread::configure_capability_in_ambient_set(one, true))
}

fn tree(number: u32) -> rustix::io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(CWD, format!("{CONTAINER_FOLDER}/{number}"), flags)
}

/// Brings every descriptor to the number that the init expects, and closes all others.
fn arrange(control: &OwnedFd, image: &OwnedFd, given: Vec<OwnedFd>) -> std::io::Result<()> {
    let count = i32::try_from(given.len()).map_err(|_| rustix::io::Errno::MFILE)?;
    // Above every final number, so that nothing is overwritten before it has been moved.
    let above = FIRST_FD + count;
    let high = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, above);
    let moved = given.iter().map(high).collect::<Result<Vec<_>, _>>()?;
    let (control, image) = (high(control)?, high(image)?);
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    let null = rustix::io::fcntl_dupfd_cloexec(null.as_fd(), above)?;
    for standard in 0..3 {
        process::place(&null, standard)?;
    }
    process::place(&control, CONTROL_FD)?;
    process::place(&image, IMAGE_FD)?;
    for (number, fd) in (FIRST_FD..).zip(&moved) {
        process::place(fd, number)?;
    }
    // The owners of what is closed or overwritten here are forgotten: this process is another program next, or ends.
    std::mem::forget((given, moved, control, image, null));
    sys::close_range(above.unsigned_abs(), u32::MAX)
}

/// Waits for the init and reaps it; there is nobody else. Answers the container's exit code.
fn wait_for(init: Pid) -> i32 {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == init => return status.exit_status().unwrap_or(1),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return 1,
        }
    }
}
