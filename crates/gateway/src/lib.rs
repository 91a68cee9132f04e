//! gateway

pub mod changeset;
