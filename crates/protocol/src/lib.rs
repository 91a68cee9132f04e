//! The wire between a gateway and its clients.
//!
//! Events that a session tells, orders that a person gives, the calls of the API, and every environment variable.
//! Nothing here decides anything: a client that speaks this protocol can show a session and carry answers.

pub mod api;
pub mod card;
pub mod catalogue;
pub mod changeset;
pub mod env;
pub mod error;
pub mod event;
pub mod lab;
pub mod lineage;
pub mod order;
pub mod report;
