//! Checks of this machine, by trying.

/// One check of `enclos doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was tried.
    pub name: String,
    /// How it went.
    pub outcome: Outcome,
    /// What was seen.
    pub detail: String,
    /// How to mend it, when it failed.
    pub remedy: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It works.
    Ok,
    /// It works with less than the best; the sandbox opens.
    Limited,
    /// It fails; no sandbox opens here.
    Failed,
    /// Not tried, as an earlier one failed.
    NotReached,
}

/// Tries every step for real, then the quickest escapes.
pub fn probe() -> Vec<Check> {
    todo!()
}
