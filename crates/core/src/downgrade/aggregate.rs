//! The computation of the tool `aggregate`: a mean, a count or a sum over records of one source.
//!
//! It answers only over ten or more distinct records that the session did not write, over a group that the rule names in
//! advance, and while the source's query budget lasts: two answers that differ by one record would tell that record. It is
//! plain arithmetic on values that its caller read; no text of a record comes out of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{BadRule, LEAST_RECORDS, Lowering, LoweringKind, bounds, coverable, lowered};
use crate::ids::RuleId;
use crate::label::{Label, Level};
use crate::lineage::{LineageId, Seen};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Function {
    /// The sum by the number of records.
    Mean,
    /// The number of records.
    Count,
    /// The sum.
    Sum,
}

impl Function {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Count => "count",
            Self::Sum => "sum",
        }
    }
}

/// A rule that lets aggregates of a source be known at a lower level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// Its name.
    pub id: RuleId,
    /// The highest level that it covers.
    pub from: Level,
    /// The level of its answers.
    pub to: Level,
    /// The source.
    pub source: String,
    /// What may be computed.
    pub functions: BTreeSet<Function>,
    /// The fields that it may be computed of.
    pub fields: BTreeSet<String>,
    /// The groups that may be asked for, by name. `*` is all records of the source together.
    pub groups: BTreeSet<String>,
    /// The fewest distinct records; never under ten.
    pub least: u32,
    /// The answers that the source gives, to all sessions and persons together.
    pub queries: u32,
    /// Who wrote the rule.
    pub author: String,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// What is computed.
    pub function: Function,
    /// Of which field.
    pub field: String,
    /// Over which group.
    pub group: String,
}

/// One record of the group that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The record.
    pub seen: Seen,
    /// The groups that it is in.
    pub groups: BTreeSet<String>,
    /// The value of the field; absent where the record has none.
    pub value: Option<f64>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The number.
    pub value: f64,
    /// The records that it was computed of.
    pub inputs: Vec<LineageId>,
    /// What the answer knows.
    pub label: Label,
    /// What lets it know less than its records.
    pub lowering: Lowering,
}

/// Why there is no answer. None of these tells a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComputed {
    /// The rule gives no downgrade.
    #[error(transparent)]
    Rule(#[from] BadRule),
    /// The rule does not name what is asked for.
    #[error("the rule `{rule}` does not name the {what} `{asked}`: expected one of {named}")]
    NotNamed {
        /// The rule.
        rule: RuleId,
        /// `function`, `field` or `group`.
        what: &'static str,
        /// What was asked for.
        asked: String,
        /// What is named.
        named: String,
    },
    /// There are too few records.
    #[error("the rule `{rule}` answers over {least} distinct records or more")]
    TooFew {
        /// The rule.
        rule: RuleId,
        /// The least.
        least: usize,
    },
    /// A record is one of the session's own.
    #[error("the rule `{rule}` answers over records that the session did not write")]
    Own {
        /// The rule.
        rule: RuleId,
    },
    /// A record has no name, stands twice, or is of another source or group.
    #[error("the rule `{rule}` answers over distinct records of its source and group alone")]
    Foreign {
        /// The rule.
        rule: RuleId,
    },
    /// A value is missing or no finite number.
    #[error("the rule `{rule}` answers where each record has a finite number in the field")]
    NoNumber {
        /// The rule.
        rule: RuleId,
    },
    /// The budget of the source is spent.
    #[error("the source of the rule `{rule}` has given all of its {queries} answers")]
    Spent {
        /// The rule.
        rule: RuleId,
        /// How many it gives.
        queries: u32,
    },
}

impl Aggregation {
    /// Computes an answer over all records of the group. `spent`: the answers that the source gave already.
    ///
    /// # Errors
    /// Why there is no answer; nothing of the records is told then.
    pub fn compute(&self, query: &Query, rows: &[Row], spent: u64) -> Result<Computed, NotComputed> {
        bounds(&self.id, self.from, self.to)?;
        self.names(query)?;
        if spent >= u64::from(self.queries) {
            return Err(NotComputed::Spent { rule: self.id.clone(), queries: self.queries });
        }
        self.takes(query, rows)?;
        let value = self.value(query.function, rows)?;
        let known = rows.iter().map(|row| row.seen.label).fold(Label::LOWEST, Label::join);
        Ok(Computed {
            value,
            inputs: rows.iter().map(|row| row.seen.id.clone()).collect(),
            label: lowered(known, self.to),
            lowering: Lowering {
                rule: self.id.clone(),
                kind: LoweringKind::Aggregate,
                from: self.from,
                to: self.to,
                source: self.source.clone(),
                record_type: None,
                queries: self.queries,
            },
        })
    }

    /// Whether the rule names what is asked for.
    fn names(&self, query: &Query) -> Result<(), NotComputed> {
        let refuse = |what, asked: &str, named: Vec<&str>| {
            let (rule, asked, named) = (self.id.clone(), asked.to_owned(), named.join(", "));
            Err(NotComputed::NotNamed { rule, what, asked, named })
        };
        if !self.functions.contains(&query.function) {
            let named = self.functions.iter().map(|function| function.as_str()).collect();
            return refuse("function", query.function.as_str(), named);
        }
        if !self.fields.contains(&query.field) {
            return refuse("field", &query.field, self.fields.iter().map(String::as_str).collect());
        }
        if !self.groups.contains(&query.group) {
            return refuse("group", &query.group, self.groups.iter().map(String::as_str).collect());
        }
        Ok(())
    }

    /// Whether these are records that it answers over.
    fn takes(&self, query: &Query, rows: &[Row]) -> Result<(), NotComputed> {
        let mut names = BTreeSet::new();
        for row in rows {
            coverable(&self.id, self.from, &row.seen)?;
            if !row.seen.is_from_outside() {
                return Err(NotComputed::Own { rule: self.id.clone() });
            }
            let in_group = query.group == "*" || row.groups.contains(&query.group);
            let new = row.seen.record_id.as_deref().is_some_and(|name| names.insert(name));
            if row.seen.source != self.source || !in_group || !new {
                return Err(NotComputed::Foreign { rule: self.id.clone() });
            }
        }
        let least = usize::try_from(self.least).unwrap_or(usize::MAX).max(LEAST_RECORDS);
        if names.len() < least {
            return Err(NotComputed::TooFew { rule: self.id.clone(), least });
        }
        Ok(())
    }

    fn value(&self, function: Function, rows: &[Row]) -> Result<f64, NotComputed> {
        // The count of records in memory is far below the integers that a float holds exactly.
        let number = f64::from(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        if function == Function::Count {
            return Ok(number);
        }
        let no_number = || NotComputed::NoNumber { rule: self.id.clone() };
        let mut sum = 0.0_f64;
        for row in rows {
            sum += row.value.filter(|value| value.is_finite()).ok_or_else(no_number)?;
        }
        let value = if function == Function::Mean { sum / number } else { sum };
        if value.is_finite() { Ok(value) } else { Err(no_number()) }
    }
}
