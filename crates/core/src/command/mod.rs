//! command

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::ids::RuleId;
use crate::verdict::Verdict;

/// A piece of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// The source of the piece.
    pub text: String,
    /// Its words.
    pub argv: Vec<String>,
    /// Its verdict.
    pub verdict: Verdict,
    /// The rule.
    pub rule: RuleId,
    /// Why.
    pub reason: String,
}

/// A command that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The strictest verdict of its pieces.
    pub verdict: Verdict,
    /// Its pieces.
    pub pieces: Vec<Piece>,
}
