//! Who agreed to an execution: a person, or a rule. There is no third value and no default.

use serde::{Deserialize, Serialize};

use crate::ids::{RuleId, UserId};

/// Who decided. Every execution carries one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A person, through a channel that the policy counts as human.
    Human(UserId),
    /// A rule of the policy, or an answer given by a program.
    Automation(RuleId),
}
