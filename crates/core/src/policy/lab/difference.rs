//! What two policies say differently: rules, settings, and the cells of the matrix.
//!
//! Texts are not compared: comments, order and examples change nothing. A rule is known by the name that its author
//! gave it, one without a name by what it says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::cells::{self, CellChange, Direction};
use crate::ids::RuleId;
use crate::policy::Policy;
use crate::policy::load::Loaded;
use crate::policy::rule::Rule;
use crate::policy::scope::Scope;
use crate::policy::settings::Settings;

/// What two policies say differently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Rules that only one has, and those that say something else.
    pub rules: Vec<RuleChange>,
    /// Settings, as all scopes join to.
    pub settings: Vec<SettingChange>,
    /// Cells of role × category × surface, tools and commands that are answered otherwise.
    pub cells: Vec<CellChange>,
    /// What could not be compared, in words: rules on arguments for which no call can be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A rule that is not the same in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleChange {
    /// Its name.
    pub rule: RuleId,
    /// Its fields in the old policy; `None`: it is not there.
    pub before: Option<Map<String, Value>>,
    /// Its fields in the new policy; `None`: it is not there.
    pub after: Option<Map<String, Value>>,
    /// The fields that are not the same.
    pub fields: Vec<String>,
}

/// A setting that is not the same in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its key, such as `execution.session_max_actions`.
    pub key: String,
    /// The old value; `null`: no scope speaks.
    pub before: Value,
    /// The new value.
    pub after: Value,
    /// Which way it changes.
    pub direction: Direction,
}

impl Difference {
    /// Whether both say the same.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.settings.is_empty() && self.cells.is_empty()
    }
}

impl Policy {
    /// What another policy, in the place of this one, would say differently.
    pub fn difference(&self, new: &Self) -> Difference {
        self.compared(new, Scopes::Placed)
    }

    /// As [`Policy::difference`], where a policy is of texts that stand in no scope yet: only whether a rule is of a
    /// repository counts then.
    pub fn difference_without_scopes(&self, new: &Self) -> Difference {
        self.compared(new, Scopes::Assumed)
    }

    fn compared(&self, new: &Self, scopes: Scopes) -> Difference {
        let rules = rules(&written(self, scopes), &written(new, scopes));
        let notes = if rules.is_empty() { Vec::new() } else { cells::unseen(self, new) };
        Difference {
            rules,
            settings: settings(&self.settings, &new.settings),
            cells: cells::changes(self, new),
            notes,
        }
    }
}

/// What the scopes of two policies are worth.
#[derive(Clone, Copy)]
enum Scopes {
    /// Each text stands in its scope.
    Placed,
    /// Those of one policy, or of both, follow from how it was named alone.
    Assumed,
}

/// A rule with its fields.
#[derive(Clone)]
struct Written<'p> {
    rule: &'p Rule,
    fields: Map<String, Value>,
}

fn written(policy: &Policy, scopes: Scopes) -> Vec<Written<'_>> {
    let scope = |layer: &Loaded| match (scopes, layer.scope) {
        (Scopes::Placed, scope) | (Scopes::Assumed, scope @ Scope::Repository) => Some(scope),
        (Scopes::Assumed, _) => None,
    };
    let of = |layer: &Loaded, rule: &Rule| {
        let fields = rule.written().into_iter().map(|(field, value)| (field.to_owned(), value));
        fields.chain(scope(layer).map(|scope| ("scope".to_owned(), json!(scope)))).collect()
    };
    let each = policy.layers.iter().flat_map(|layer| layer.rules.iter().map(move |rule| (layer, rule)));
    each.map(|(layer, rule)| Written { rule, fields: of(layer, rule) }).collect()
}

fn rules(old: &[Written<'_>], new: &[Written<'_>]) -> Vec<RuleChange> {
    type Same = fn(&Written<'_>, &Written<'_>) -> bool;
    // A named rule is that name; of the others the same words first, then the same number.
    let ways: [Same; 3] = [
        |a, b| a.rule.named && b.rule.named && a.rule.id == b.rule.id,
        |a, b| !a.rule.named && !b.rule.named && a.fields == b.fields,
        |a, b| !a.rule.named && !b.rule.named && a.rule.id == b.rule.id,
    ];
    let mut before = old.to_vec();
    let mut after = new.to_vec();
    let mut out = Vec::new();
    for same in ways {
        for was in std::mem::take(&mut before) {
            match after.iter().position(|is| same(&was, is)) {
                Some(at) => out.extend(changed(&was, &after.remove(at))),
                None => before.push(was),
            }
        }
    }
    out.extend(before.into_iter().map(|was| only(was.rule, Some(was.fields), None)));
    out.extend(after.into_iter().map(|is| only(is.rule, None, Some(is.fields))));
    out
}

fn changed(was: &Written<'_>, is: &Written<'_>) -> Option<RuleChange> {
    let names: BTreeSet<&String> = was.fields.keys().chain(is.fields.keys()).collect();
    let fields: Vec<String> =
        names.into_iter().filter(|name| was.fields.get(*name) != is.fields.get(*name)).cloned().collect();
    (!fields.is_empty()).then(|| RuleChange {
        rule: is.rule.id.clone(),
        before: Some(was.fields.clone()),
        after: Some(is.fields.clone()),
        fields,
    })
}

fn only(rule: &Rule, before: Option<Map<String, Value>>, after: Option<Map<String, Value>>) -> RuleChange {
    RuleChange { rule: rule.id.clone(), before, after, fields: Vec::new() }
}

fn settings(old: &Settings, new: &Settings) -> Vec<SettingChange> {
    let (old, new) = (old.clone().spoken_out(), new.clone().spoken_out());
    let strictest = old.clone().tightened_by(new.clone()).written();
    let pairs = old.written().into_iter().zip(new.written()).zip(strictest);
    let mut out = Vec::new();
    for (((key, before), (_, after)), (_, strictest)) in pairs {
        let direction = match () {
            () if before == after => continue,
            () if matches!(key, "execution.place" | "execution.backend" | "execution.output_keep") => {
                Direction::Other
            }
            () if strictest == after => Direction::Harder,
            () if strictest == before => Direction::Softer,
            () => Direction::Other,
        };
        out.push(SettingChange { key: key.to_owned(), before, after, direction });
    }
    out
}
