//! Lineage at rest: records, what each was made of, and the questions that are asked of them.
//!
//! A record is written in the transaction of the journal entry that it came with, after `core::lineage` admitted it: a label
//! below its inputs is refused here, whoever asks, and what is refused leaves nothing. Nothing is updated; records go
//! with their retention. No content is in them.

mod ask;
mod error;
mod numbers;
mod prepare;
mod read;
mod retention;
mod row;
mod trace;
mod write;

pub use error::LineageError;
pub(crate) use prepare::{Ready, prepare};
pub use retention::Forgotten;
pub use row::Node;
pub use trace::{Direction, Edge, MOST_NODES, Reach, Trace};
pub(crate) use write::{archive, check, insert};
