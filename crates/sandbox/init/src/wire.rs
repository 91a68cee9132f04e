//! What the gateway's side and the init say to each other, as data.
//!
//! Every message is one frame of `channel`. Bodies are JSON with unknown fields refused; nothing here carries a
//! path of the host: directories come in as descriptors, by number.
use serde::{Deserialize, Serialize};

/// Where a session's files are, inside.
pub const WORKSPACE: &str = "/workspace";
/// The private, empty home folder, inside.
pub const HOME: &str = "/home/agent";
/// The user and group number of the agent, inside.
pub const AGENT: u32 = 1000;
/// Longest text of a command, in bytes: the kernel's bound on one argument, less its final zero.
pub const COMMAND_BYTES: usize = 128 * 1024 - 1;

/// The steps of opening a sandbox, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The plan itself: paths, names, limits.
    Plan,
    /// The machine: architecture and kernel.
    Platform,
    /// The session's layer: its folders, its lock.
    Layer,
    /// Reading the repository's git directory.
    Git,
    /// The init as a sealed file in memory.
    Init,
    /// The container engine: its program, its image, the container it starts.
    Engine,
    /// Mounts whose files change owner (as root only).
    IdMap,
    /// The user namespace and the six others.
    Namespaces,
    /// The empty root file system.
    Root,
    /// System folders, read-only.
    System,
    /// `/proc`.
    Proc,
    /// `/dev`, `/tmp`, the home folder.
    Devices,
    /// Leaving the host's file system.
    Pivot,
    /// The copy-on-write workspace.
    Workspace,
    /// The private git directory.
    PrivateGit,
    /// Toolchains and caches.
    Mounts,
    /// Capabilities and `no_new_privs`.
    Privileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// Ceilings on memory, processes, processor and disk.
    Limits,
    /// The first answer of the init.
    Ready,
}

impl Step {
    /// All steps, in the order in which they are taken.
    pub const ALL: [Self; 21] = [
        Self::Plan,
        Self::Platform,
        Self::Layer,
        Self::Git,
        Self::Init,
        Self::Engine,
        Self::IdMap,
        Self::Namespaces,
        Self::Root,
        Self::System,
        Self::Proc,
        Self::Devices,
        Self::Pivot,
        Self::Workspace,
        Self::PrivateGit,
        Self::Mounts,
        Self::Privileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Limits,
        Self::Ready,
    ];

    /// The step in a person's words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Platform => "platform",
            Self::Layer => "session layer",
            Self::Git => "reading the git directory",
            Self::Init => "init in memory",
            Self::Engine => "container engine",
            Self::Limits => "resource limits",
            Self::IdMap => "id-mapped mounts",
            Self::Namespaces => "namespaces",
            Self::Root => "root file system",
            Self::System => "system folders",
            Self::Proc => "proc",
            Self::Devices => "devices and temporary folders",
            Self::Workspace => "workspace overlay",
            Self::PrivateGit => "private git directory",
            Self::Mounts => "toolchain mounts",
            Self::Pivot => "pivot to the new root",
            Self::Privileges => "dropping privileges",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Ready => "first answer of the init",
        }
    }
}

/// The descriptor of the control socket in the init.
pub const CONTROL_FD: i32 = 3;
/// The descriptor of the init's own program, open until it is executed.
pub const IMAGE_FD: i32 = 4;
/// The first of the descriptors that a [`Setup`] names.
pub const FIRST_FD: i32 = 5;

/// The descriptor of what is asked, in the program for file operations.
pub const REQUEST_FD: i32 = 3;
/// The descriptor of the pipe for the answer, in the program for file operations.
pub const ANSWER_FD: i32 = 4;
/// How a file operation ends that could not be confined, or whose program could not be had.
pub const UNCONFINED: u8 = 125;

/// The bit in the number of a request that says: in the background.
pub const BACKGROUND: u32 = 1 << 31;

/// What frames carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To the init, first of all: a [`Setup`].
    Setup = 1,
    /// From the init: a [`Ready`].
    Ready = 2,
    /// From the init: a [`Failure`].
    Failed = 3,
    /// To the init: a [`Run`], with channel, stdout and stderr.
    Run = 4,
    /// To the init: a file operation, with channel, pipe, request and program.
    File = 5,
    /// To the init: end the command of this id, or with id 0 all that are not in the background.
    Kill = 6,
    /// From the init, on a request's own channel: an [`Ended`].
    Ended = 7,
    /// To the init, once, before the first command: a [`Counters`] with its descriptors in the same order.
    Counters = 8,
    /// From a command's first process, on its first stream: its terminal.
    Terminal = 9,
    /// From a container's first process, first of all: a [`Hello`].
    Hello = 10,
    /// To a container's first process: a [`Begin`]. The descriptors follow in frames of kind `Given`.
    Begin = 11,
    /// To a container's first process: some of the descriptors.
    Given = 12,
}

impl Kind {
    /// The kind of a number on the wire.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Setup,
            2 => Self::Ready,
            3 => Self::Failed,
            4 => Self::Run,
            5 => Self::File,
            6 => Self::Kill,
            7 => Self::Ended,
            8 => Self::Counters,
            9 => Self::Terminal,
            10 => Self::Hello,
            11 => Self::Begin,
            12 => Self::Given,
            _ => return None,
        })
    }
}

/// The argument that makes the init's program a container's first process.
pub const IN_CONTAINER: &str = "container";
/// Where a container finds what the gateway's side puts there: the program, the control socket, mounted directories.
pub const CONTAINER_FOLDER: &str = "/run/enclos";
/// The version of what a container's first process and the gateway's side say to each other.
pub const CONTAINER_VERSION: u32 = 1;
/// How a container's first process ends that cannot reach the control socket.
pub const UNREACHABLE: u8 = 97;

/// A container's first process is there, and waits.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// What it speaks: [`CONTAINER_VERSION`].
    pub version: u32,
    /// The search path that the image names for its programs.
    pub path: Option<String>,
}

/// What a container's first process gives the init that it starts.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// In the order of the init's numbers from [`FIRST_FD`] on. One more descriptor comes before all those that are
    /// sent: the init's program.
    pub given: Vec<Source>,
}

/// Where a descriptor of the init comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It is sent.
    Sent,
    /// It is a detached mount of the directory or file with this number in [`CONTAINER_FOLDER`].
    Mounted(u32),
}

/// Everything the init needs; directories come as descriptors.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Detached mount of the repository. `None`: the layer holds a copy of it.
    pub lower: Option<i32>,
    /// A copy can be the upper layer of an overlay over nothing, in which the mount table names no place of the host.
    pub over_nothing: bool,
    /// Detached mount of what lies over it and differs from it.
    pub over: Option<i32>,
    /// Detached mount of the session's layer: `upper`, `work`, `scratch/N/{upper,work}`, and `copy` if there is one.
    pub layer: i32,
    /// Whether a private `.git` is made.
    pub git: Option<PrivateGit>,
    /// Toolchains, caches, dependency folders.
    pub mounts: Vec<MountIn>,
    /// Names and values added to a command's environment.
    pub environment: Vec<(String, String)>,
    /// Ceilings.
    pub limits: LimitsIn,
    /// Permission bits of the repository's root.
    pub root_mode: u32,
    /// The system's folders are those of a container's image.
    pub image: bool,
}

/// One more mount.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountIn {
    /// The detached mount.
    pub tree: i32,
    /// Absolute path inside.
    pub inside: String,
    /// Number of its folder in `scratch` when writes to it are thrown away; `None`: read-only.
    pub scratch: Option<u32>,
    /// A file instead of a directory.
    pub file: bool,
}

/// The private git directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateGit {
    /// Small files: path below `.git`, and content.
    pub files: Vec<(String, String)>,
    /// Files copied from a descriptor.
    pub copies: Vec<GitCopy>,
    /// Detached mounts of object directories; the number in the list is their name inside.
    pub objects: Vec<i32>,
}

/// A file of the private git directory that is copied.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitCopy {
    /// The open original.
    pub from: i32,
    /// Path below `.git`.
    pub path: String,
    /// Time of change to give the copy: seconds and nanoseconds.
    pub modified: (i64, u32),
}

/// Ceilings as the init applies them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsIn {
    /// Bytes of memory, all processes together.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Bytes written to the layer.
    pub disk_bytes: u64,
}

/// The sandbox is complete.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Landlock's interface in force.
    pub landlock_abi: u32,
    /// What is not shown, or not as it should be, a sentence each.
    pub remarks: Vec<String>,
}

/// A step failed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Which.
    pub step: Step,
    /// What was tried.
    pub message: String,
    /// The system's error number, or 0.
    pub errno: i32,
    /// The kernel takes no overlay of these folders: with a copy of the workspace the sandbox may open.
    pub no_overlay: bool,
}

/// Which ceilings a control group holds and counts. For the others the watchdog adds up.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// A descriptor follows of a file that counts kills for want of memory: `oom_kill N`.
    pub memory: bool,
    /// A descriptor follows of a file that counts refused processes: `max N`.
    pub processes: bool,
    /// So many descriptors follow of files through which the init goes into its groups. It answers when it is in them.
    pub ways_in: u8,
}

/// A command to run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The text for bash.
    pub text: String,
    /// Milliseconds until it is ended.
    pub milliseconds: u64,
    /// It gets a terminal, whose other side is sent on the first of its streams.
    pub terminal: bool,
}

/// A request is over and nothing of it is left.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Exit code of the program.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Why it was ended from outside.
    pub reason: Option<Reason>,
    /// The step of its confinement that failed: it did not start.
    pub failed: Option<(Step, i32)>,
}

/// Why a request was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its time was over.
    Timeout,
    /// Memory.
    Oom,
    /// Asked for.
    Stop,
    /// Disk.
    Disk,
    /// Processes.
    Processes,
}

/// One record of the mask over the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MaskEntry {
    /// A directory that is kept: its mode and its time of change.
    Directory {
        /// Path below the repository.
        path: Vec<u8>,
        /// Permission bits.
        mode: u32,
        /// Seconds and nanoseconds.
        modified: (i64, u32),
    },
    /// A name that does not exist inside.
    Hidden {
        /// Path below the repository.
        path: Vec<u8>,
    },
}

/// Three numbers as the bytes that a short pipe message has.
pub fn to_bytes(numbers: [i32; 3]) -> [u8; 12] {
    let mut bytes = [0; 12];
    for (to, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
        *to = number.to_le_bytes();
    }
    bytes
}

/// The numbers of [`to_bytes`].
pub fn from_bytes(bytes: &[u8; 12]) -> [i32; 3] {
    let mut numbers = [0; 3];
    for (number, from) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = i32::from_le_bytes(*from);
    }
    numbers
}
