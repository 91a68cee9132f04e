//! The words that the init of a sandbox shares with the library that opens it.
pub mod file;
pub mod wire;
