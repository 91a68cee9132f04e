//! The new process between its birth and becoming the init. It runs on a stack of its own in the memory of the program that
//! made it, which copies nothing; the thread that made it stands still meanwhile. So it may do nothing but plain system
//! calls on memory prepared beforehand: no allocation, no lock, no panic. It says that it is there, waits until its user
//! numbers are mapped, becomes the agent, takes the mounts it needs, arranges its descriptors, and executes the init with
//! one argument and an empty environment.
use enclos_init::sys;
use enclos_init::wire::{AGENT, CONTROL_FD, FIRST_FD, IMAGE_FD, Step, to_bytes};
use std::io;
use std::sync::atomic::AtomicI32;

/// Where a descriptor comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// Open already.
    Open(i32),
    /// A detached mount of this path is made.
    Tree(*const libc::c_char),
}

/// The calls that can fail here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Wait,
    Groups,
    Group,
    User,
    Capabilities,
    Tree,
    Descriptors,
    Execute,
}

impl Call {
    const ALL: [Self; 8] = [
        Self::Wait,
        Self::Groups,
        Self::Group,
        Self::User,
        Self::Capabilities,
        Self::Tree,
        Self::Descriptors,
        Self::Execute,
    ];

    pub(super) fn from_number(number: i32) -> Self {
        usize::try_from(number).ok().and_then(|n| Self::ALL.get(n)).copied().unwrap_or(Self::Wait)
    }

    /// The step it belongs to, and what was tried.
    pub(super) fn describe(self, index: i32) -> (Step, String) {
        let what = match self {
            Self::Wait => "waiting for the user numbers",
            Self::Groups => "leaving all groups",
            Self::Group => "becoming the agent's group",
            Self::User => "becoming the agent",
            Self::Capabilities => "keeping the capabilities for the set-up",
            Self::Tree => {
                return (Step::Namespaces, format!("taking in directory number {index} of the plan"));
            }
            Self::Descriptors => "arranging descriptors",
            Self::Execute => return (Step::Init, "executing the init".into()),
        };
        (Step::Namespaces, what.into())
    }
}

/// What the new process needs, complete before it exists.
#[derive(Debug)]
pub(super) struct Child {
    /// The maker's end of the control socket. A copy of it would keep the socket open when the maker is gone.
    ours: i32,
    control: i32,
    image: i32,
    trouble: i32,
    sources: Vec<Source>,
    /// Room for the descriptors while they are moved about.
    moved: Vec<i32>,
    root: bool,
}

impl Child {
    pub(super) fn new(
        ours: i32,
        control: i32,
        image: i32,
        trouble: i32,
        sources: Vec<Source>,
        root: bool,
    ) -> Self {
        let moved = vec![-1; sources.len()];
        Self { ours, control, image, trouble, sources, moved, root }
    }

    /// Makes the process and leaves its number in `born` before it runs. Comes back when it is the init, or has ended.
    pub(super) fn start(&mut self, born: &AtomicI32) -> io::Result<()> {
        // Sixteen bytes each, as a stack is aligned.
        let mut stack = vec![0u128; 2048];
        let top = stack.as_mut_ptr_range().end;
        let flags =
            sys::NAMESPACES | libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
        let this = std::ptr::from_mut(self).cast();
        // SAFETY: the child has a stack of its own. Stack, `self` and the number outlive its use of this memory, since
        // with CLONE_VFORK the call comes back only when the child has executed another program or ended; until then
        // nobody else uses them, and the error number that both would write belongs to this thread, which stands still.
        let pid = unsafe { libc::clone(new_process, top.cast(), flags, this, born.as_ptr()) };
        sys::done(pid.into())
    }

    fn become_init(&mut self) -> ! {
        let (call, index) = match self.prepare() {
            Ok(()) => {
                let arguments = [c"init".as_ptr(), std::ptr::null()];
                let environment = [std::ptr::null::<libc::c_char>()];
                // SAFETY: both lists end in a null pointer; the path is empty, the program is the descriptor.
                unsafe {
                    libc::syscall(
                        libc::SYS_execveat,
                        IMAGE_FD,
                        c"".as_ptr(),
                        arguments.as_ptr(),
                        environment.as_ptr(),
                        libc::AT_EMPTY_PATH,
                    )
                };
                (Call::Execute, 0)
            }
            Err(failed) => failed,
        };
        // Reads this thread's own error number; allocates nothing.
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        let report = to_bytes([call as i32, index, errno]);
        // SAFETY: the buffer is valid and its length is passed. Nobody is told if this fails.
        unsafe { libc::write(self.trouble, report.as_ptr().cast(), report.len()) };
        // SAFETY: ends the process without running anything of the parent's.
        unsafe { libc::_exit(1) }
    }

    fn prepare(&mut self) -> Result<(), (Call, i32)> {
        // SAFETY: a number; the descriptor is this process's own copy.
        unsafe { libc::close(self.ours) };
        self.wait_for_maps()?;
        if self.root {
            become_agent()?;
        }
        keep_capabilities()?;
        self.arrange()
    }

    /// The other side hears that this process is there, and sends one byte when its user numbers are mapped. It closes
    /// the socket instead when it ends.
    fn wait_for_maps(&self) -> Result<(), (Call, i32)> {
        let mut byte = b'h';
        // SAFETY: one byte, and its length.
        let told = unsafe { libc::send(self.control, (&raw const byte).cast(), 1, libc::MSG_NOSIGNAL) };
        if told != 1 {
            return Err((Call::Wait, 1));
        }
        // SAFETY: one byte of room for one byte.
        let length = unsafe { libc::read(self.control, (&raw mut byte).cast(), 1) };
        if length == 1 { Ok(()) } else { Err((Call::Wait, 0)) }
    }

    /// Brings every descriptor to the number that the init expects, and closes all others.
    fn arrange(&mut self) -> Result<(), (Call, i32)> {
        let count = i32::try_from(self.sources.len()).unwrap_or(i32::MAX);
        // Above every final number, so that nothing is overwritten before it has been moved.
        let above = FIRST_FD + count + 1;
        for (index, (source, moved)) in (0..count).zip(self.sources.iter().zip(self.moved.iter_mut())) {
            let fd = match *source {
                Source::Open(fd) => fd,
                Source::Tree(path) => tree(path).ok_or((Call::Tree, index))?,
            };
            *moved = duplicate(fd, above)?;
        }
        self.control = duplicate(self.control, above)?;
        self.image = duplicate(self.image, above)?;
        self.trouble = duplicate(self.trouble, above)?;
        place(self.control, CONTROL_FD, 0)?;
        place(self.image, IMAGE_FD, 0)?;
        let mut number = FIRST_FD;
        for moved in &self.moved {
            place(*moved, number, 0)?;
            number += 1;
        }
        place(self.trouble, number, libc::O_CLOEXEC)?;
        self.trouble = number;
        // SAFETY: a constant path; the descriptor is closed below with all others above.
        let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        for standard in 0..3 {
            place(null, standard, 0)?;
        }
        // SAFETY: no memory is passed; what is closed belongs to the parent's copy.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, number + 1, libc::c_uint::MAX, 0) };
        if closed == 0 { Ok(()) } else { Err((Call::Descriptors, number)) }
    }
}

extern "C" fn new_process(child: *mut libc::c_void) -> libc::c_int {
    // SAFETY: what `start` passed, which stands still and uses it no more until this process is gone.
    let child = unsafe { &mut *child.cast::<Child>() };
    child.become_init()
}

fn become_agent() -> Result<(), (Call, i32)> {
    // The C library's own functions would change every thread of a process that this one is no part of any more.
    // SAFETY: an empty list of groups.
    let groups = unsafe { libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()) };
    // SAFETY: three numbers.
    let group = unsafe { libc::syscall(libc::SYS_setresgid, AGENT, AGENT, AGENT) };
    // SAFETY: three numbers.
    let user = unsafe { libc::syscall(libc::SYS_setresuid, AGENT, AGENT, AGENT) };
    match (groups, group, user) {
        (0, 0, 0) => Ok(()),
        (0, 0, _) => Err((Call::User, 0)),
        (0, _, _) => Err((Call::Group, 0)),
        _ => Err((Call::Groups, 0)),
    }
}

/// The kernel takes all capabilities from a plain user who executes a program, but for the ambient ones.
fn keep_capabilities() -> Result<(), (Call, i32)> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let mut sets = [0u32; 6];
    // SAFETY: header and sets have the kernel's layout for version 3.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
    // Effective, permitted, inheritable; low halves first, then high.
    let [_, low, _, _, high, _] = sets;
    let sets = [low, low, low, high, high, high];
    // SAFETY: as above.
    let put = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    if got != 0 || put != 0 {
        return Err((Call::Capabilities, 0));
    }
    let all = u64::from(low) | u64::from(high) << 32;
    for number in 0..64 {
        if all & (1 << number) != 0 {
            // SAFETY: numbers only.
            let raised =
                unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, number, 0, 0) };
            if raised != 0 {
                return Err((Call::Capabilities, number));
            }
        }
    }
    Ok(())
}

fn tree(path: *const libc::c_char) -> Option<i32> {
    // `OPEN_TREE_CLONE`, which no header of the C library names.
    const CLONE: libc::c_uint = 1;
    let flags = CLONE | libc::O_CLOEXEC.unsigned_abs() | libc::AT_RECURSIVE.unsigned_abs();
    // SAFETY: the path was made by the parent, ends in NUL, and is in this process's copy of its memory.
    let fd = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path, flags) };
    i32::try_from(fd).ok().filter(|fd| *fd >= 0)
}

fn duplicate(fd: i32, above: i32) -> Result<i32, (Call, i32)> {
    // SAFETY: numbers only.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, above) };
    if copy >= 0 { Ok(copy) } else { Err((Call::Descriptors, fd)) }
}

fn place(fd: i32, number: i32, flags: i32) -> Result<(), (Call, i32)> {
    // SAFETY: numbers only. The two differ: every source is above every final number.
    let placed = unsafe { libc::dup3(fd, number, flags) };
    if placed == number { Ok(()) } else { Err((Call::Descriptors, number)) }
}
