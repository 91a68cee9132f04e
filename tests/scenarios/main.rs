//! Whole-system scenarios: the real binary, the real sandbox, policy and journal, against a script model.
//!
//! Each test owns a folder for the state of Enclos and a repository, so that all of them can run at once.

mod approvals;
mod arguments;
mod background;
mod budget;
mod changeset;
mod commands;
mod configuration;
mod errors;
mod harness;
mod host;
mod inside;
mod journal;
mod killed;
mod lab;
mod labels;
mod lineage;
mod loops;
mod masks;
mod policies;
mod repositories;
mod server;
mod terminal;
mod undo;
