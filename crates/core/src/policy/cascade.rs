//! The cascade: who decides one side of a call.
//!
//! Each layer has at most one winner: its most specific rule that applies, the stricter of equals. The first layer
//! that speaks replaces the default, where its scope may; every later one can only make the outcome stricter. So
//! adding a layer below one that speaks never softens an answer.

use serde_json::Value;

use crate::ids::RuleId;
use crate::verdict::Verdict;

use super::condition::Incomparable;
use super::judge::Caller;
use super::load::Loaded;
use super::rule::{Approve, Rule};
use super::scope::Scope;
use super::subject::Aspect;
use super::tool::Tool;
use super::who::Category;

/// What decided: a written rule or the default matrix.
#[derive(Clone, Copy, Debug)]
pub(super) enum By<'p> {
    Default(&'static str),
    Rule(&'p Loaded, &'p Rule),
}

impl By<'_> {
    pub(super) fn id(&self) -> RuleId {
        match self {
            Self::Default(id) => RuleId::new(*id),
            Self::Rule(_, rule) => rule.id.clone(),
        }
    }

    pub(super) fn scope(&self) -> Scope {
        match self {
            Self::Default(_) => Scope::BuiltIn,
            Self::Rule(layer, _) => layer.scope,
        }
    }

    pub(super) fn source(&self) -> String {
        match self {
            Self::Default(_) => "defaults".to_owned(),
            Self::Rule(layer, _) => layer.source.to_string(),
        }
    }
}

/// The outcome of the cascade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome<'p> {
    pub(super) verdict: Verdict,
    pub(super) by: By<'p>,
    /// What all asking layers ask for together; it counts where the verdict is `ask`.
    pub(super) approve: Option<Approve>,
}

impl<'p> Outcome<'p> {
    pub(super) fn of_rule(layer: &'p Loaded, rule: &'p Rule) -> Self {
        let approve = (rule.verdict == Verdict::Ask).then_some(rule.approve);
        Self { verdict: rule.verdict, by: By::Rule(layer, rule), approve }
    }

    pub(super) fn of_default(tool: &Tool<'_>, aspect: Aspect) -> Self {
        let (verdict, id) = match aspect {
            _ if tool.publishes() => (Verdict::Disabled, "default.publish"),
            Aspect::Egress => (Verdict::Ask, "default.egress"),
            Aspect::Class(_) if !tool.is_known() => (Verdict::Ask, "default.unknown"),
            Aspect::Class(Category::Read) => (Verdict::Allow, "default.read"),
            Aspect::Class(Category::Write) => (Verdict::Ask, "default.write"),
            Aspect::Class(Category::Bash) => (Verdict::Ask, "default.bash"),
            Aspect::Class(Category::Delete | Category::Egress) => (Verdict::Ask, "default.delete"),
        };
        let approve = (verdict == Verdict::Ask).then_some(Approve::PLAIN);
        Self { verdict, by: By::Default(id), approve }
    }

    /// The stricter of two; of equals the first. What both ask for is asked together.
    pub(super) fn and(self, other: Self) -> Self {
        let first = self.verdict >= other.verdict;
        let approve = match (self.approve, other.approve) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (one, other) => one.or(other),
        };
        let (verdict, by) = if first { (self.verdict, self.by) } else { (other.verdict, other.by) };
        Self { verdict, by, approve }
    }
}

/// Runs the cascade over what each layer says.
pub(super) fn fold<'p>(
    layers: &'p [Loaded],
    default: Outcome<'p>,
    mut says: impl FnMut(&'p Loaded) -> Result<Option<&'p Rule>, Incomparable>,
) -> Result<Outcome<'p>, Incomparable> {
    let mut held: Option<Outcome<'p>> = None;
    for layer in layers {
        let Some(rule) = says(layer)? else { continue };
        let said = Outcome::of_rule(layer, rule);
        held = Some(match held {
            Some(held) => held.and(said),
            None if layer.scope.replaces_defaults() => said,
            None => default.and(said),
        });
    }
    Ok(held.unwrap_or(default))
}

/// The outcome for one side of a call, without command rules. `args`: `None` for the tool as a whole.
pub(super) fn aspect<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    aspect: Aspect,
    args: Option<&Value>,
) -> Result<Outcome<'p>, Incomparable> {
    let default = Outcome::of_default(caller.tool, aspect);
    fold(layers, default, |layer| winner(layer, caller, aspect, args))
}

/// The outcome for a call: the strictest of its sides.
pub(super) fn call<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    args: Option<&Value>,
) -> Result<Outcome<'p>, Incomparable> {
    let class = aspect(layers, caller, Aspect::Class(caller.tool.category()), args)?;
    if !caller.tool.egress() {
        return Ok(class);
    }
    Ok(class.and(aspect(layers, caller, Aspect::Egress, args)?))
}

/// The rule of one layer that decides one side of a call. Arguments do not reopen what it disables as a whole.
pub(super) fn winner<'p>(
    layer: &'p Loaded,
    caller: &Caller<'_>,
    aspect: Aspect,
    args: Option<&Value>,
) -> Result<Option<&'p Rule>, Incomparable> {
    let mut whole: Option<&Rule> = None;
    let mut narrow: Option<&Rule> = None;
    for rule in layer.rules_on(caller.tool.name()).filter(|rule| !rule.shadow && rule.command.is_empty()) {
        if !rule.subject.speaks_of(caller.tool, aspect, rule.verdict) || !applies(rule, caller) {
            continue;
        }
        if rule.conditions.is_empty() {
            whole = Some(decisive(whole, rule));
        } else if let Some(args) = args
            && rule.conditions_hold(caller.tool.name(), args)?
        {
            narrow = Some(decisive(narrow, rule));
        }
    }
    let closed = whole.filter(|rule| rule.verdict == Verdict::Disabled);
    Ok(closed.or(narrow).or(whole))
}

/// Whether a rule is for this person on this surface.
pub(super) fn applies(rule: &Rule, caller: &Caller<'_>) -> bool {
    rule.for_role(caller.role) && rule.on_surface(caller.surface)
}

/// The more specific of two rules, the stricter of equals, the first of the same.
fn decisive<'p>(held: Option<&'p Rule>, rule: &'p Rule) -> &'p Rule {
    match held {
        Some(held) if (held.specificity(), held.verdict) >= (rule.specificity(), rule.verdict) => held,
        _ => rule,
    }
}
