//! Starts the init in new namespaces. What the new process does before it becomes the init is in `child`; here is
//! what surrounds it: one thread that lives as long as this process (the kernel ends a sandbox when the *thread* that
//! made it ends), the maps of user numbers, and the process's handle.
mod child;

use crate::error::{OpenError, Place};
use crate::image;
use crate::platform::Identity;
use child::Child;
use enclos_init::wire::{AGENT, Step, from_bytes};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};

const STEP: Step = Step::Namespaces;

/// A descriptor that the init gets.
#[derive(Debug)]
pub(crate) enum Given {
    /// An open one.
    Open(OwnedFd),
    /// A detached mount of this path, made by the new process in its own namespace.
    Tree(PathBuf),
}

/// What to start.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Given to the init, in this order, from `FIRST_FD` on.
    pub(crate) given: Vec<Given>,
    /// Who runs this.
    pub(crate) identity: Identity,
    /// The host's user and group number that the agent runs as.
    pub(crate) owner: (u32, u32),
}

/// The init, started.
#[derive(Debug)]
pub(crate) struct Started {
    /// Its process.
    pub(crate) process: OwnedFd,
    /// Its number, as this process sees it.
    pub(crate) pid: i32,
    /// The control socket.
    pub(crate) control: OwnedFd,
    /// Tells which call failed, when the init does not come up; in a container the control socket does.
    pub(crate) trouble: Option<OwnedFd>,
}

impl Started {
    /// Why the new process ended before it was the init.
    pub(crate) fn trouble(&self) -> OpenError {
        let mut bytes = [0u8; 12];
        match self.trouble.as_ref().map(|trouble| rustix::io::read(trouble, &mut bytes)) {
            Some(Ok(12)) => {
                let [call, index, errno] = from_bytes(&bytes);
                let (step, message) = child::Call::from_number(call).describe(index);
                let source = Some(io::Error::from_raw_os_error(errno));
                OpenError { source, ..OpenError::new(step, message) }
            }
            _ => OpenError::new(Step::Ready, "the init ended without a word"),
        }
    }
}

/// Makes what all sandboxes of this process share: the thread that starts them, and the init's program in memory. The
/// caller goes on meanwhile; [`crate::open`] does it too, but whoever knows that a sandbox will be wanted asks early. What
/// goes wrong is found when the init is started.
pub fn make_ready() {
    let _ = send(Box::new(|| drop(image::init())));
}

/// Starts the init. It waits for its set-up on the control socket.
///
/// The launcher stands still until the new process executes the init; its user numbers are mapped here meanwhile.
pub(crate) fn start(launch: Launch) -> Result<Started, OpenError> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .at(STEP, "making the control socket")?;
    let (trouble, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).at(STEP, "making a pipe")?;
    let (identity, owner) = (launch.identity, launch.owner);
    let born = Arc::new(AtomicI32::new(0));
    let (answer, result) = mpsc::sync_channel(1);
    let ends = Ends { ours: ours.as_raw_fd(), theirs, trouble: writer };
    let number = Arc::clone(&born);
    // The asker does not wait for an answer that it needs no more.
    send(Box::new(move || drop(answer.send(begin(&launch, &ends, &number)))))?;
    // The new process says that it is there; without its word the launcher knows why.
    let mut word = [0u8; 1];
    let heard = rustix::io::retry_on_intr(|| rustix::io::read(&ours, &mut word));
    if heard != Ok(1) {
        result.recv().map_err(|_| gone())??;
    }
    let pid = born.load(Ordering::Acquire);
    let process = Pid::from_raw(pid)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()))
        .at(STEP, "taking hold of the init")?;
    let started = Started { process, pid, control: ours, trouble: Some(trouble) };
    let mapped = map(pid, identity, owner).and_then(|()| {
        rustix::net::send(&started.control, b"g", SendFlags::NOSIGNAL).at(STEP, "starting the init").map(drop)
    });
    if let Err(error) = mapped {
        crate::life::end(&started.process);
        return Err(error);
    }
    Ok(started)
}

/// The ends of socket and pipe, as the new process finds them.
struct Ends {
    /// The gateway's end of the control socket: not for the new process.
    ours: i32,
    theirs: OwnedFd,
    trouble: OwnedFd,
}

/// Makes the new process, and puts its number where the asker finds it. Comes back when that process is the init, or
/// has ended.
fn begin(launch: &Launch, ends: &Ends, born: &AtomicI32) -> Result<(), OpenError> {
    let image = image::init()?;
    let mut paths = Vec::new();
    for given in &launch.given {
        if let Given::Tree(path) = given {
            paths.push(CString::new(path.as_os_str().as_bytes()).at(Step::Plan, "a path holds a NUL")?);
        }
    }
    let mut next = paths.iter();
    let sources = launch.given.iter().map(|given| match given {
        Given::Open(fd) => child::Source::Open(fd.as_raw_fd()),
        Given::Tree(_) => child::Source::Tree(next.next().map_or(c"".as_ptr(), |path| path.as_ptr())),
    });
    let sources = sources.collect();
    let root = launch.identity == Identity::Root;
    let (control, trouble) = (ends.theirs.as_raw_fd(), ends.trouble.as_raw_fd());
    Child::new(ends.ours, control, image.as_raw_fd(), trouble, sources, root)
        .start(born)
        .at(STEP, "making the namespaces")
}

/// Says who the one user inside is outside.
fn map(pid: i32, identity: Identity, owner: (u32, u32)) -> Result<(), OpenError> {
    let why =
        if owner.0 == 0 { " (for user number 0 the kernel wants the capability CAP_SETFCAP)" } else { "" };
    let write = |file: &str, text: String| {
        std::fs::write(format!("/proc/{pid}/{file}"), text).at(STEP, &format!("writing `{file}`{why}"))
    };
    if let Identity::User(..) = identity {
        write("setgroups", "deny".into())?;
    }
    write("uid_map", format!("{AGENT} {} 1", owner.0))?;
    write("gid_map", format!("{AGENT} {} 1", owner.1))
}

type Job = Box<dyn FnOnce() + Send>;
static LAUNCHER: OnceLock<mpsc::Sender<Job>> = OnceLock::new();

fn gone() -> OpenError {
    OpenError::new(STEP, "the thread that starts sandboxes cannot be had")
}

/// Hands a job to the thread that never ends.
fn send(job: Job) -> Result<(), OpenError> {
    if LAUNCHER.get().is_none() {
        let (sender, jobs) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("launcher".into())
            .spawn(move || {
                // Handlers of this program must not run in a new process that shares its memory for a moment.
                block_signals();
                for job in jobs {
                    job();
                }
            })
            .at(STEP, "starting a thread")?;
        // When another thread was first its launcher is used, and this one ends with its sender.
        let _ = LAUNCHER.set(sender);
    }
    LAUNCHER.get().ok_or_else(gone)?.send(job).map_err(|_| gone())
}

/// Leaves every signal to the other threads.
fn block_signals() {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the call fills in the whole set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: filled in above; the old set is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut()) };
}
