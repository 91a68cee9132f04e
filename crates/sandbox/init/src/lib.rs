//! The words that the init of a sandbox shares with the library that opens it: messages, frames, and the few
//! system calls that both need. The program itself is in `main.rs`.
pub mod channel;
pub mod file;
pub mod mask;
pub mod sys;
pub mod tree;
pub mod wire;
