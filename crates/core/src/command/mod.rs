//! Reading commands: a bash text is cut into pieces and each piece is judged.
//!
//! The boundary is the sandbox; this is hygiene on top. The text is parsed as bash by a reader of our own, in
//! linear time, and what the reader does not know is refused. It never runs, opens or expands anything, and
//! its answer only ever hardens what the policy says of a command.

mod reading;

pub use reading::{CommandRule, Piece, Reading, Rules, Unreadable};

use crate::verdict::Verdict;

/// Reads `text` as bash under `rules`.
#[must_use]
pub fn judge(text: &str, rules: &Rules<'_>) -> Reading {
    let empty = text.trim().is_empty();
    Reading {
        verdict: if empty { rules.base } else { Verdict::Disabled },
        unreadable: None,
        pieces: Vec::new(),
    }
}
