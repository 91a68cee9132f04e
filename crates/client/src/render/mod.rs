//! How the things of a session look as rows: cards, diffs, events. Pure: values in, rows out.

pub(crate) mod card;
pub(crate) mod change;
pub(crate) mod lab;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod title;
pub(crate) mod transcript;
