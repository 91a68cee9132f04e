//! The gateway: authenticates, judges, relays to models, runs sandboxes, keeps the journal.
//!
//! The session loop runs here, never in a client. [`Local`] is the gateway that a person runs for themselves: it
//! implements the API of `enclos-protocol` in this process.

pub mod clock;
mod config;
mod instructions;
pub mod places;
mod repo;
