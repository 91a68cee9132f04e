//! What the policy answers, and everything that led to it.
//!
//! A decision always travels with its reasons: the rule that won, its scope, the rules that lost and why.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::command::{Names, Piece};
use crate::ids::RuleId;
use crate::verdict::Verdict;

use super::scope::Scope;
use super::who::Role;

/// The answer of the policy to one call.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// The rule that decided: a written one, `default.*`, `command.*` or `evaluation.*`.
    pub rule: RuleId,
    /// The scope of that rule.
    pub scope: Scope,
    /// The file or place of that rule; `defaults` for the built-in ones.
    pub source: String,
    /// Why, for the person.
    pub reason: String,
    /// The pieces of the command, for `bash`.
    pub pieces: Vec<Piece>,
    /// The words of the command that may name files.
    #[serde(skip)]
    pub names: Names,
    /// The other rules that speak of this tool, and why each did not decide.
    pub considered: Vec<Considered>,
    /// The least role of who may approve; `None`: whoever answers for the session.
    pub approvers: Option<Role>,
    /// How many must approve. At least 1; it counts only for `ask`.
    pub quorum: u32,
    /// Whether a grant may be remembered for the session.
    pub remember: bool,
    /// Whether only a person may approve, never a program.
    pub person: bool,
    /// Whether the tool as a whole is disabled, so that the model is never shown it.
    pub invisible: bool,
    /// What the shadow rules would have said.
    pub shadow: Vec<Shadow>,
}

impl Decision {
    /// What the model is told of a refusal. Of a disabled tool it learns no rule and no scope.
    pub fn for_model(&self) -> String {
        if self.invisible {
            return "this tool is unavailable under the governance policy".to_owned();
        }
        let refused = self.pieces.iter().filter(|piece| piece.verdict == Verdict::Disabled);
        let pieces: Vec<String> =
            refused.map(|piece| format!("`{}`: {}", piece.text, piece.reason)).collect();
        if pieces.is_empty() {
            return "this call is refused under the governance policy".to_owned();
        }
        format!("this command is refused under the governance policy: {}", pieces.join("; "))
    }
}

/// A rule that spoke of the tool and did not decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Considered {
    /// The rule.
    pub rule: RuleId,
    /// Its scope.
    pub scope: Scope,
    /// The file or place it was written.
    pub source: Arc<str>,
    /// What it says.
    pub verdict: Verdict,
    /// Why it did not decide.
    pub why: Why,
}

/// Why a rule did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The person has another role.
    OtherRole,
    /// The session is driven otherwise.
    OtherSurface,
    /// The arguments do not meet its conditions.
    OtherArguments,
    /// The command does not begin with its words.
    OtherCommand,
    /// The tool as a whole is disabled, whatever its arguments.
    ToolDisabled,
    /// A more specific rule of the same scope spoke.
    LessSpecific,
    /// An equally specific rule of the same scope is stricter.
    LessStrict,
    /// It says the same as the rule that decided, which came first.
    Same,
    /// A stricter rule of another scope holds.
    Overruled,
    /// It frees or judges pieces of the command.
    DecidesPieces,
}

impl Why {
    /// The words for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherRole => "for another role",
            Self::OtherSurface => "for another surface",
            Self::OtherArguments => "for other arguments",
            Self::OtherCommand => "for another command",
            Self::ToolDisabled => "the tool as a whole is disabled",
            Self::LessSpecific => "a more specific rule of its scope spoke",
            Self::LessStrict => "an equally specific rule of its scope is stricter",
            Self::Same => "says the same, after the rule that decided",
            Self::Overruled => "a stricter rule of another scope holds",
            Self::DecidesPieces => "decides pieces of the command",
        }
    }
}

/// What a shadow rule would have said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shadow {
    /// The rule.
    pub rule: RuleId,
    /// Its scope.
    pub scope: Scope,
    /// What it says.
    pub verdict: Verdict,
}

/// A rule of a lower scope that no call can obey, since a higher scope is stricter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overruled {
    /// The rule.
    pub rule: RuleId,
    /// Its scope.
    pub scope: Scope,
    /// What it says.
    pub verdict: Verdict,
    /// The rule that holds instead.
    pub by: RuleId,
    /// The scope of that rule.
    pub by_scope: Scope,
}
