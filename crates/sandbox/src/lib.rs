//! sandbox

pub mod layer;
