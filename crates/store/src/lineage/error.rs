//! Why a record of lineage is not made, or not found. An append that fails so has written nothing.

use enclos_core::ids::RuleId;
use enclos_core::lineage::{LineageId, Refused};
use thiserror::Error;

/// A failure of lineage.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LineageError {
    /// The rules refuse it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Its name is not the next one of its session.
    #[error("the record `{given}` is out of order: the next one of its session was expected")]
    Order {
        /// The name that it was given.
        given: LineageId,
    },
    /// The digest of its content is none.
    #[error(
        "the record `{id}` has a digest that is none: `sha256:` or `hmac-sha256:` and 64 digits were expected"
    )]
    Digest {
        /// The record.
        id: LineageId,
    },
    /// The source of an aggregate has given all of its answers.
    #[error("the source of the downgrade rule `{rule}` has given all of its {answers} answers")]
    Spent {
        /// The rule.
        rule: RuleId,
        /// How many it gives.
        answers: u32,
    },
    /// There is no such record.
    #[error("there is no record `{0}`: it never was, or its retention is over")]
    Unknown(LineageId),
    /// More records at once than an entry carries.
    #[error("{count} records came with one entry, at most {limit} were expected")]
    TooMany {
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
}
