//! The sandbox from outside. When run by root every test runs twice: as root, and as a plain user in a copy of this
//! program.
#![expect(clippy::disallowed_methods, reason = "tests start host programs and read where they are")]
mod background;
mod commands;
mod copies;
mod escapes;
mod files;
mod git;
mod leftovers;
mod life;
mod limits;
mod masks;
mod oci;
mod programs;
mod special;
mod support;
mod workspace;
