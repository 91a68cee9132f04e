//! The command `enclos`.
fn main() {}
