//! The journal: chains of entries, their export as JSON lines, and their verification.
//!
//! The bytes that are hashed are the bytes that are stored and exported; nothing is ever serialised again to be
//! verified. Verifying an export needs the file alone, no store and no key.

mod audit;
pub(crate) mod chain;
mod export;
mod line;
mod report;
mod verify;
pub(crate) mod walk;

pub use export::ExportSummary;
pub use report::{FirstBad, Outcome, Verification};
pub use verify::verify;
