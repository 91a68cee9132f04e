//! The gateway: judges, relays to models, runs sandboxes, keeps the journal.
//!
//! The session loop runs here, never in a client. [`Local`] is the gateway that a person runs for themselves: it
//! implements the API of `enclos-protocol` in this process.

mod approvals;
mod attend;
mod backend;
mod changes;
pub mod changeset;
pub mod clock;
mod config;
mod control;
mod effects;
mod explain;
mod held;
mod host;
mod identity;
mod instructions;
mod isolation;
mod journal;
mod lab;
mod lineage;
mod local;
mod machine;
mod masks;
mod outside;
pub mod places;
mod policies;
mod redact;
mod repo;
mod session;
mod sessions;
mod shown;
mod tell;
mod tool_result;
mod trees;
mod undo;
mod workplace;

pub use local::Local;
