//! The policy: what people wrote about what an agent may do, and the one answer to each proposed call.
//!
//! [`Policy::load`] reads every layer in full or refuses them all; [`Policy::judge`] answers one call from values
//! alone. The highest scope that speaks of a call replaces the default matrix; every lower scope only tightens, by
//! taking the stricter of the two. Inside a scope the most specific rule decides, and of two equally specific ones
//! the stricter. An evaluation that fails disables. Nothing here reads a file, a clock or a person's mind.

mod arguments;
mod cascade;
mod commands;
mod condition;
mod decision;
mod error;
mod explain;
mod file;
mod isolation;
mod judge;
mod lab;
mod labels;
mod language;
mod list;
mod load;
mod preset;
pub mod reference;
mod rule;
mod scope;
mod settings;
mod subject;
mod tighten;
mod tool;
mod who;

use crate::ids::Digest;

pub use decision::{Considered, Decision, Overruled, Shadow, Why};
pub use error::{PolicyError, Problem};
pub use explain::{LayerReport, MatrixRow};
pub use isolation::{DemandedIsolation, Isolation};
pub use judge::{Caller, Request};
pub use lab::{
    Answer, Case, CellChange, Difference, Direction, ExampleResult, RuleChange, Seen, SettingChange, Where,
    cases_at, read_cases,
};
pub use labels::{Labels, ModelClearance, PROJECT_LEVEL, PathLevel, PathLevels, Raise};
pub use preset::{Preset, UnknownPreset};
pub use scope::{Layer, MAX_BYTES, MAX_REPOSITORY_BYTES, Scope};
pub use settings::{
    Ceilings, EXPIRY_MINUTES, ExecutionBackend, ExecutionPlace, FixedBackend, FixedPlace, Mounts, OnAsk,
    OutputKeep, Settings,
};
pub use tool::Tool;
pub use who::{Category, Role, Surface};

/// A policy in force: every layer, read and checked.
#[derive(Clone, Debug)]
pub struct Policy {
    layers: Vec<load::Loaded>,
    settings: Settings,
    digest: Digest,
    overruled: Vec<Overruled>,
}

impl Policy {
    /// The digest of every layer's scope and text. A decision taken under another digest is judged afresh.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The settings of all layers, joined.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many examples were held against the rules of all layers.
    pub fn examples(&self) -> usize {
        self.layers.iter().map(|layer| layer.examples.len()).sum()
    }

    /// What was chosen for the session and counts less than it says, since a scope above gives less room.
    pub fn unheard(&self) -> Vec<PolicyError> {
        tighten::loose_settings(self, |scope| scope == Scope::Session)
    }

    /// The rules of lower scopes that no call obeys, since a higher scope is stricter.
    pub fn overruled(&self) -> &[Overruled] {
        &self.overruled
    }
}
