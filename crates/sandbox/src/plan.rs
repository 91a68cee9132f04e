//! What a sandbox is to be: directories, mounts, environment, ceilings. Data only; `open` applies it.
//!
//! A plan never says how strong the confinement is: every layer of it is always there.
use crate::oci::Oci;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that `open` needs to know.
///
/// Inside, files of the repository's owner belong to the agent. Files of another user, or of a group that is not the
/// owner's own, can be read as their mode says but not changed: the kernel has no number to give their copies.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The root of the repository on this machine; never written to.
    pub workspace: PathBuf,
    /// A tree that lies over `workspace` and says where it differs; files removed there are marks of an overlay. Never
    /// written to, and there is no path to it from inside. `None`: the repository is whole.
    pub over: Option<PathBuf>,
    /// As root, the host's user number that a new layer is given to. `None`: one is chosen by chance.
    pub owner: Option<u32>,
    /// The session's own directory: holds what the session changed (`upper`), kept for a later opening.
    pub layer: PathBuf,
    /// Paths relative to `workspace` that must not exist inside: ignored files, secrets, nested `.git`.
    pub hidden: Vec<PathBuf>,
    /// Files and links of the repository that are above what the session knows, and folders that hold nothing else. They
    /// do not exist inside until [`crate::Sandbox::unmask`] puts them there.
    pub masked: Vec<PathBuf>,
    /// The repository's git directory, or its `.git` file. `None`: there is no `.git` inside.
    pub git: Option<PathBuf>,
    /// Toolchains, caches, dependency folders.
    pub mounts: Vec<Mount>,
    /// Added to the fixed environment. `PATH` is put in front of the fixed one.
    pub environment: Vec<(String, String)>,
    /// Ceilings.
    pub limits: Limits,
    /// What is around it.
    pub backend: Backend,
    /// How the workspace is made when the layer is new. It says nothing about the confinement, which is the same either way.
    pub workspace_by: Prefer,
}

/// How a workspace is made. A layer that was begun in one way is gone on with in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefer {
    /// An overlay over the repository; a copy where the kernel is known to take no overlay of it.
    #[default]
    Overlay,
    /// An overlay, or the sandbox does not open.
    OverlayAlone,
    /// A copy of the repository in the layer.
    Copy,
}

/// What is around a sandbox. Inside it is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// This machine itself: the system's folders are its own.
    Namespaces,
    /// A container: the system's folders are its image's.
    Oci(Oci),
}

/// One directory of this machine seen inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The directory on this machine.
    pub host: PathBuf,
    /// Where it is seen: absolute, below `/opt/`, or an existing directory below `/workspace/`.
    pub inside: PathBuf,
    /// How it is seen.
    pub access: Access,
}

/// How a mount may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing can be written.
    ReadOnly,
    /// Writes go to a layer that is thrown away with the sandbox.
    ThrowAway,
}

/// Ceilings of a sandbox and of each command in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Longest run of a command, in seconds.
    pub command_seconds: u32,
    /// Output of a command that is kept, both streams together, in bytes.
    pub output_bytes: u64,
    /// Memory of all processes together, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads at the same time.
    pub processes: u32,
    /// Processors.
    pub cpus: u32,
    /// What a session may write to disk, in bytes.
    pub disk_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        Self {
            command_seconds: 600,
            output_bytes: 10 * 1024 * 1024,
            memory_bytes: 4 * GIB,
            processes: 512,
            cpus: 2,
            disk_bytes: 10 * GIB,
        }
    }
}
