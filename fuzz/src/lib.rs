//! What the fuzz targets hold of every input, as plain functions that panic when it does not hold.
//!
//! A target of libFuzzer calls one of them; so can anything else that has bytes. None takes longer than linear time,
//! so a time limit of the fuzzer finds hangs.

pub mod arguments;
pub mod oracles;
pub mod reader;
pub mod rules;
pub mod tables;
