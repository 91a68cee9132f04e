//! Confinement: one sandbox per session, made of Linux namespaces, seccomp, Landlock and a copy-on-write workspace, on
//! the machine itself or in a container.
//!
//! A [`Plan`] is data; [`open`] applies it or fails with the step that failed, never with a layer less. An open
//! [`Sandbox`] runs commands and file operations inside and hands out bytes and reasons. This crate judges
//! nothing: what may run is decided before, elsewhere.
mod background;
mod call;
mod cgroup;
mod command;
mod copy;
mod error;
mod git;
pub mod host;
mod idmap;
mod image;
mod kept;
mod launch;
pub mod layer;
mod life;
mod mask;
mod oci;
mod open;
mod plan;
mod platform;
mod probe;
mod quota;
mod remedy;
mod report;
mod run;
mod sandbox;
mod state;
mod system;
pub mod toolchains;
mod unmask;

pub use background::{BACKGROUND_COMMANDS, Background, End, Part};
pub use command::{Command, Counted, Exit, Keep, Killed, Stream};
pub use copy::{Copying, copying};
pub use enclos_init::file;
pub use enclos_init::file::{FileOp, FileReply};
pub use enclos_init::wire::{COMMAND_BYTES, HOME, WORKSPACE};
pub use error::{Fault, FaultKind, FileError, OpenError, RunError, Step};
pub use launch::make_ready;
pub use oci::{ENGINE_VARIABLES, Engine, Image, Oci};
pub use open::open;
pub use plan::{Access, Backend, Limits, Mount, Plan, Prefer};
pub use probe::{Check, Outcome, probe};
pub use report::{Copied, Enforcer, Level, Report, Workspace};
pub use sandbox::{Killer, Sandbox};
pub use state::remove_layer;
pub use unmask::{UNMASKED_BYTES, Unmasked};
