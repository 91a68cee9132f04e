//! Outside parties, as Enclos speaks with them: models.
//!
//! This crate carries words out and answers in. It judges nothing, runs nothing and remembers nothing: what a model
//! proposes leaves here as text, whole and unrepaired, or as an error. A key goes only to the host it was given for.

pub mod model;
