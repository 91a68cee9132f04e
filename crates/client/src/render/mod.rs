//! How the things of a session look as rows: cards, diffs, events. Pure: values in, rows out.

pub mod card;
pub mod change;
pub mod stream;
pub mod table;
pub mod title;
pub mod transcript;
