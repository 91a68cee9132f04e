//! The decisions of Enclos, and nothing else.
//!
//! What a tool call may become, what a policy says of it, what a command is, what a session may still spend:
//! every answer is computed here, from values, by plain functions. This crate never reads a file, a clock, the
//! environment or the network, never spawns anything, and never panics on input.
#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::wildcard_enum_match_arm
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test may fail loudly"
    )
)]

pub mod args;
pub mod between;
pub mod budget;
pub mod call;
pub mod command;
pub mod decision;
pub mod downgrade;
pub mod flow;
pub mod hook;
pub mod ids;
pub mod label;
pub mod lineage;
pub mod mask;
pub mod model;
mod near;
pub mod noun;
pub mod outside;
pub mod policy;
pub mod secret;
pub mod sensitive;
pub mod session;
pub mod tool;
pub mod verdict;
