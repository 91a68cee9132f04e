//! Models as the session sees them, against a server that says exactly what it is told to say.

mod json_mode;
mod quirks;
mod script;
#[path = "../support/mod.rs"]
mod support;
mod transport;
