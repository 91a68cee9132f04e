//! What a reading is given and what it answers: rules, pieces, verdicts.
//!
//! Plain data. A [`Reading`] carries its reasons: every piece says which rule decided it and why, so that a
//! card, the journal and `explain-command` show the same thing. Nothing here judges.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::ids::RuleId;
use crate::verdict::Verdict;

/// What the policy says of `bash`, as far as the reading of one command needs it.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The verdict of the tool `bash` where no command rule speaks. The reading only hardens it.
    pub base: Verdict,
    /// `commands.contained = allow`: what the sandbox contains by itself does not ask.
    pub contained: bool,
    /// The command rules in force, in any order.
    pub freed: &'a [CommandRule],
}

/// A written rule about commands: a prefix of argv, in whole words, and its verdict.
///
/// The longest prefix that matches wins; of two equally long ones the stricter. A rule never lifts a refused
/// family, and frees the simple command it matches only: redirections, assignments and substitutions of the
/// same command are pieces of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRule {
    /// The name of the rule, as the journal records it.
    pub id: RuleId,
    /// The words that the command must begin with. An empty prefix matches nothing.
    pub argv: Vec<String>,
    /// What the rule says of a command that matches.
    pub verdict: Verdict,
}

/// The answer: the strictest verdict of all pieces, and the pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The strictest verdict of all pieces; the verdict of `bash` when there is none.
    pub verdict: Verdict,
    /// Why the text could not be read, when it could not. Then `verdict` is `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Unreadable>,
    /// The pieces, in the order in which they end in the text.
    pub pieces: Vec<Piece>,
    /// The words that may name files.
    #[serde(skip)]
    pub names: Names,
}

/// The words of a command that may name files, what is only known at run time as `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The words, each once.
    pub words: Vec<String>,
    /// Whether there were more than are kept.
    pub more: bool,
}

impl Reading {
    /// An answer as it is told: its pieces, without the names in them.
    pub fn of_pieces(verdict: Verdict, pieces: Vec<Piece>) -> Self {
        Self { verdict, unreadable: None, pieces, names: Names::default() }
    }
}

/// Why a text cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason} (byte {at})")]
pub struct Unreadable {
    /// What was found and what was expected, as one plain clause.
    pub reason: String,
    /// The place, in bytes from the start of the text.
    pub at: usize,
}

/// One part of a command that is judged by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Where the piece stands in the text, in bytes. For text that is read twice (inside backquotes with
    /// escapes, or handed to another shell) the place of the word that carries it.
    pub span: Range<usize>,
    /// The piece as written.
    pub text: String,
    /// Its words after quotes, escapes and braces are gone; what is only known at run time stays as written.
    pub argv: Vec<String>,
    /// What this piece alone would get.
    pub verdict: Verdict,
    /// The rule that decided: a written one, or a built-in one such as `command.refused.privilege`.
    pub rule: RuleId,
    /// Why, in one plain sentence for the card.
    pub reason: String,
}
