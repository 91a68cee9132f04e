//! Durable truth: the journal and the session store on SQLite.
//!
//! One database file under the state directory holds, for each session, a chain of journal entries (names, sizes and
//! digests) and, apart from it and sealed at rest, the content that resume and review need. An append is on the disk
//! before its caller hears of it, and only an append gives the [`Receipt`] that an execution takes.
//!
//! Every string of an entry passes the [`Redact`] given at opening before it is hashed. This crate decides nothing
//! about policy, reads no clock (times come in, in microseconds of the Unix epoch) and never panics on input.
#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::wildcard_enum_match_arm
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test may fail loudly"
    )
)]

mod append;
mod database;
mod entry;
mod error;
pub mod journal;
mod key;
mod lease;
mod lineage;
mod place;
mod policy;
mod read;
mod record;
mod redact;
mod retention;
mod seal;
mod sign;
mod store;
mod writer;

pub use error::{LeaseError, StoreError};
pub use lease::Lease;
pub use lineage::{Direction, Edge, Forgotten, LineageError, MOST_NODES, Node, Reach, Trace};
pub use policy::{
    KIND_POLICY_CHANGED, POLICY_CHAIN, PolicyChange, PolicyLease, PolicyVersion, policy_digest,
};
pub use record::{
    KIND_CONTENT_ERASED, MAX_CONTENT_BYTES, MAX_ENTRY_BYTES, Receipt, Record, SessionFilter, SessionMeta,
    SessionRow, StateChange, StoredEvent,
};
pub use redact::{NoRedaction, Redact};
pub use retention::Erased;
pub use seal::{CommitKey, Sealer};
pub use sign::{Signer, is_signed, public_key};
pub use store::Store;
pub use writer::Done;
