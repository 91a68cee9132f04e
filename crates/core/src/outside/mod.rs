//! Judging from outside: the calls of an agent that runs elsewhere, by the labels of what it has read.
//!
//! A host tells what its agent is about to do and what its tools answered, one JSON object a line; [`Guard`] answers `allow`,
//! `ask` or `block`. The tools are classed by a [`Catalogue`] that an administrator wrote. What a tool of an untrusted source
//! answers is kept in quarantine (the planner is not shown it, a reader without tools is), or makes every later call that
//! acts beyond the agent ask. Nothing here runs a tool, and who made a call is never taken from the host.

mod catalogue;
mod decide;
mod guard;
mod listed;
mod session;
mod value;
mod wire;

pub use catalogue::{Catalogue, CatalogueError, ToolClass};
pub use guard::{Floor, Guard, Policy, Quarantine};
