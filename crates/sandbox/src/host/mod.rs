//! An execution host: a process of its own that opens sandboxes for gateways, and the gateway's side of the connection.
//!
//! A gateway brings what the host lacks of a project's history and what its person's tree has besides; the host opens the
//! sandbox over both and keeps what the session changed until it is told to forget it. A host judges nothing. It keeps a
//! sandbox only while its gateway renews the lease, takes no order under an older epoch than it has seen, and lets nobody
//! see what another person's gateway brought.
mod base;
mod clock;
mod frame;
mod given;
mod lease;
mod link;
mod manifest;
mod mirror;
mod numbers;
mod orders;
mod post;
mod remote;
mod serve;
mod server;
mod session;
mod things;

pub use link::{HostError, Link};
pub use manifest::{Form, Known, Manifest};
pub use orders::{Claim, Commit, Given, LEASE, Naming, Refusal, VERSION, Wish};
pub use remote::{Remote, RemoteKiller};
pub use server::{Config, Host, HostFailure};
pub use things::{LayError, Sender, Sort};
