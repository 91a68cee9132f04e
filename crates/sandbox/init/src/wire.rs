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
    /// Ceilings on memory, processes, processor and disk.
    Limits,
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
    /// The copy-on-write workspace.
    Workspace,
    /// The private git directory.
    PrivateGit,
    /// Toolchains and caches.
    Mounts,
    /// Leaving the host's file system.
    Pivot,
    /// Capabilities and `no_new_privs`.
    Privileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// The first answer of the init.
    Ready,
}

impl Step {
    /// All steps, in the order in which they are taken.
    pub const ALL: [Self; 20] = [
        Self::Plan,
        Self::Platform,
        Self::Layer,
        Self::Git,
        Self::Init,
        Self::Limits,
        Self::IdMap,
        Self::Namespaces,
        Self::Root,
        Self::System,
        Self::Proc,
        Self::Devices,
        Self::Workspace,
        Self::PrivateGit,
        Self::Mounts,
        Self::Pivot,
        Self::Privileges,
        Self::Landlock,
        Self::Seccomp,
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
