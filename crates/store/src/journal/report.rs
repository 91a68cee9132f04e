//! What a verification found, in the words and exit codes that scripts rely on.

use enclos_core::ids::SessionId;
use enclos_core::noun::count;
use serde::Serialize;

/// The class of a result. A wrong class is a bug: what a crash can do is never called tampering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything is there and as it was written.
    Ok,
    /// Something is not what was written.
    Altered,
    /// Entries, a session or the end are missing.
    Truncated,
    /// One place of a chain was written twice.
    Fork,
    /// Only what is younger than the last signed checkpoint is missing. Journals without checkpoints never give it.
    UnsealedTail,
    /// This is not an export that we can read.
    BadInput,
}

impl Outcome {
    /// The exit code: 0 ok, 1 altered, 2 truncated or missing, 3 fork, 4 unsealed tail only, 5 bad input.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Altered => 1,
            Self::Truncated => 2,
            Self::Fork => 3,
            Self::UnsealedTail => 4,
            Self::BadInput => 5,
        }
    }
}

/// The first place that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstBad {
    /// The session, when the place belongs to one.
    pub session: Option<SessionId>,
    /// The entry in that session, from 1.
    pub seq: Option<u64>,
    /// The line of the export, from 1; `None` when the store itself was verified.
    pub line: Option<u64>,
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The class.
    pub result: Outcome,
    /// How many entries fit, up to the first that does not.
    pub entries: u64,
    /// How many whole sessions fit.
    pub sessions: u64,
    /// Where it stops to fit; `None` when all is well.
    pub first_bad: Option<FirstBad>,
    /// Whether the result counts against an anchor that the administrators of the gateway cannot rewrite.
    pub anchored: bool,
    /// One sentence for a person.
    pub message: String,
}

impl Verification {
    /// `anchored` or `unanchored`, the word that every report says.
    pub fn anchor_word(&self) -> &'static str {
        if self.anchored { "anchored" } else { "unanchored" }
    }
}

impl Verification {
    /// Everything fits.
    pub(super) fn all_well(entries: u64, sessions: u64) -> Self {
        let mut all = Self {
            result: Outcome::Ok,
            entries,
            sessions,
            first_bad: None,
            anchored: false,
            message: String::new(),
        };
        let verify = enclos_core::noun::form(&entries, "verifies", "verify");
        let (of, sessions) = (count(entries, "entry", "entries"), count(sessions, "session", "sessions"));
        all.message = format!("{of} of {sessions} {verify}, {}", all.anchor_word());
        all
    }

    /// Something does not fit.
    pub(super) fn failed(
        outcome: Outcome,
        entries: u64,
        sessions: u64,
        first_bad: FirstBad,
        why: &str,
    ) -> Self {
        let line = first_bad.line.map(|line| format!("line {line}, "));
        let entry = first_bad.seq.map(|seq| format!("entry {seq}, "));
        let session = first_bad.session.as_ref().map(|session| format!("session `{session}`, "));
        let place: String = [line, entry, session].into_iter().flatten().collect();
        let anchor = if outcome == Outcome::BadInput { "nothing was verified" } else { "unanchored" };
        let message = format!("{place}{why}, {anchor}");
        Self { result: outcome, entries, sessions, first_bad: Some(first_bad), anchored: false, message }
    }
}
