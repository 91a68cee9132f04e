//! Making and replacing processes. The init has one thread, so a forked child may allocate.
use enclos_init::sys;
use rustix::fs::CWD;
use rustix::mount::MoveMountFlags;
use rustix::process::{Pid, Signal};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Which side of a fork one is on.
pub(crate) enum Side {
    /// The new process.
    Child,
    /// The old one, with the new one's number.
    Parent(Pid),
}

/// A plain copy of this process.
pub(crate) fn fork() -> io::Result<Side> {
    clone(0)
}

/// A copy that is PID 1 of a new namespace, with mounts of its own.
pub(crate) fn fork_apart() -> io::Result<Side> {
    clone(libc::CLONE_NEWPID | libc::CLONE_NEWNS)
}

/// A copy in a user namespace of its own and in new namespaces of every other kind.
pub(crate) fn fork_into_namespaces() -> io::Result<Side> {
    clone(sys::NAMESPACES)
}

fn clone(flags: libc::c_int) -> io::Result<Side> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with no stack this is a fork; the program has one thread, so the copy is whole.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) };
    sys::done(pid)?;
    Ok(match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(pid) => Side::Parent(pid),
        None => Side::Child,
    })
}

/// Lets go of the program's pages that were used so far: most were needed once. They stay in the file that all inits of a
/// gateway share, and come back one by one when they are used again.
pub(crate) fn release_program() {
    unsafe extern "C" {
        // Where the program's read-only parts begin and end: names that every linker defines.
        #[link_name = "__executable_start"]
        static START: u8;
        #[link_name = "etext"]
        static END: u8;
    }
    let page = rustix::param::page_size();
    let (start, end) = (&raw const START, &raw const END);
    let length = end.addr().saturating_sub(start.addr()) / page * page;
    // SAFETY: the range is of read-only pages of a sealed file, mapped privately and never written: what is dropped is read
    // again from the file. Failing changes nothing.
    unsafe { libc::madvise(start.cast_mut().cast(), length, libc::MADV_DONTNEED) };
}

/// Has what is large for a moment, such as the room for a message, taken from the kernel and given back to it.
pub(crate) fn keep_little_memory() {
    for (what, bytes) in [(libc::M_MMAP_THRESHOLD, 32 << 10), (libc::M_TOP_PAD, 0)] {
        // SAFETY: takes two numbers; there is one thread. Failing changes nothing.
        unsafe { libc::mallopt(what, bytes) };
    }
}

/// Ends this process at once, running nothing more.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes a number; what it skips (handlers, buffers) belongs to the parent.
    unsafe { libc::_exit(code) }
}

/// Replaces the program. Answers only when that fails.
pub(crate) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end in a null pointer and, like the strings in them, live through the call.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Replaces the program by an open one, with one argument and no environment. Answers only when that fails.
pub(crate) fn execute_open(program: BorrowedFd<'_>, name: &CStr) -> io::Error {
    let arguments = [name.as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null::<libc::c_char>()];
    // SAFETY: both lists end in a null pointer; the path is empty, the program is the descriptor.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

/// Leaves a copy of a descriptor, open over an execution, at a number that nothing in this process owns.
pub(crate) fn place(fd: &OwnedFd, number: i32) -> io::Result<()> {
    // SAFETY: numbers only; a child about to be another program owns what it finds there no more.
    sys::done(libc::c_long::from(unsafe { libc::dup2(fd.as_raw_fd(), number) }))
}

/// A set of signals.
pub(crate) struct Signals(libc::sigset_t);

impl Signals {
    /// The set of `signals`.
    pub(crate) fn of(signals: &[libc::c_int]) -> Self {
        let mut set = std::mem::MaybeUninit::uninit();
        // SAFETY: the call fills in the whole set.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: filled in above.
        let mut set = unsafe { set.assume_init() };
        for signal in signals {
            // SAFETY: the set is valid; an unknown number is an error without effect.
            unsafe { libc::sigaddset(&raw mut set, *signal) };
        }
        Self(set)
    }

    /// Makes exactly these blocked.
    pub(crate) fn block_only(&self) -> io::Result<()> {
        // SAFETY: the set is valid and the old one is not asked for.
        let result = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        sys::done(libc::c_long::from(result))
    }

    /// A descriptor that can be read when one of these is pending.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        use std::os::fd::FromRawFd;
        // SAFETY: the set is valid; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        sys::done(libc::c_long::from(fd))?;
        // SAFETY: new, and owned by nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Waits for one of these, at most `timeout`: its number, and whether it came from outside the namespace.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Option<(libc::c_int, bool)> {
        let limit = timeout.map(|time| libc::timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the pointers are valid for the call; a null limit waits for ever.
        let signal = unsafe { libc::sigtimedwait(&raw const self.0, info.as_mut_ptr(), limit) };
        if signal <= 0 {
            return None;
        }
        // SAFETY: zeroed at first and filled in by the call; all of its fields are plain numbers.
        let info = unsafe { info.assume_init() };
        // SAFETY: a signal sent by a process carries its number; from outside of the namespace it is 0.
        let sender = unsafe { info.si_pid() };
        Some((signal, sender == 0))
    }
}

/// Every signal does again what it does by default, and none is blocked.
pub(crate) fn default_signals() -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: sets a default action; the numbers that cannot be set answer an error that changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Signals::of(&[]).block_only()
}

/// Sends `signal` to every process of this namespace but its PID 1.
pub(crate) fn signal_all(signal: libc::c_int) {
    // SAFETY: takes two numbers. There may be nobody to signal, which is no fault.
    unsafe { libc::kill(-1, signal) };
}

/// Ends a child. It may have ended by itself, which is no fault.
pub(crate) fn kill(pid: Pid, signal: Signal) {
    let _ = rustix::process::kill_process(pid, signal);
}

/// Puts a detached mount at `path`, which must exist.
pub(crate) fn attach(mount: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    Ok(rustix::mount::move_mount(mount, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}
