//! The rules about commands, brought through the cascade for the reader of commands.
//!
//! The reader takes one list of argv prefixes, of which the longest that matches decides. Here the layers become
//! that list: for each prefix that any layer names, the cascade's outcome for a command that begins so.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::command::{self, CommandRule, Reading, Rules};
use crate::ids::RuleId;
use crate::verdict::Verdict;

use super::Policy;
use super::cascade::{self, Outcome};
use super::condition::Incomparable;
use super::decision::Decision;
use super::judge::Caller;
use super::load::Loaded;
use super::rule::{Approve, Rule};
use super::scope::Scope;
use super::subject::Aspect;
use super::who::Category;

/// The rule that the reader names for a piece that only the verdict of `bash` decided.
const BASE_RULE: &str = "command.base";

/// A command that was read, and which outcome stands behind each written rule.
pub(super) struct Read<'p> {
    reading: Reading,
    outcomes: HashMap<RuleId, Outcome<'p>>,
}

/// Reads a command under the rules for this call.
pub(super) fn read<'p>(
    policy: &'p Policy,
    caller: &Caller<'_>,
    args: &Value,
    text: &str,
) -> Result<Read<'p>, Incomparable> {
    let aspect = Aspect::Class(Category::Bash);
    let base = cascade::aspect(&policy.layers, caller, aspect, Some(args))?;
    let winner = |layer| cascade::winner(layer, caller, aspect, Some(args));
    let wholes = policy.layers.iter().map(winner).collect::<Result<Vec<_>, _>>()?;
    let mut outcomes = HashMap::new();
    let mut freed = Vec::new();
    for prefix in prefixes(&policy.layers, caller) {
        let mut wholes = wholes.iter().copied();
        let default = Outcome::of_default(caller.tool, aspect);
        let says = |layer| Ok(of_prefix(layer, caller, prefix, wholes.next().flatten()));
        let outcome = cascade::fold(&policy.layers, default, says)?;
        freed.push(CommandRule { id: outcome.by.id(), argv: prefix.to_vec(), verdict: outcome.verdict });
        outcomes.insert(outcome.by.id(), outcome);
    }
    let contained = policy.settings.contained == Some(true);
    let reading = command::judge(text, &Rules { base: base.verdict, contained, freed: &freed });
    Ok(Read { reading, outcomes })
}

/// The prefixes that any rule for this call names.
fn prefixes<'p>(layers: &'p [Loaded], caller: &Caller<'_>) -> BTreeSet<&'p [String]> {
    let rules = layers.iter().flat_map(|layer| &layer.rules);
    rules.filter(|rule| counts(rule, caller)).map(|rule| rule.command.as_slice()).collect()
}

fn counts(rule: &Rule, caller: &Caller<'_>) -> bool {
    !rule.command.is_empty() && !rule.shadow && cascade::applies(rule, caller)
}

/// The rule of one layer for commands that begin with `prefix`. `whole`: its rule for `bash` without the command.
fn of_prefix<'p>(
    layer: &'p Loaded,
    caller: &Caller<'_>,
    prefix: &[String],
    whole: Option<&'p Rule>,
) -> Option<&'p Rule> {
    let order = |rule: &Rule| (rule.command.len(), rule.specificity(), rule.verdict);
    let matching =
        layer.rules.iter().filter(|rule| counts(rule, caller) && prefix.starts_with(&rule.command));
    let narrow = matching.reduce(|held, rule| if order(rule) > order(held) { rule } else { held });
    match (narrow, whole) {
        (Some(_), Some(whole)) if whole.verdict == Verdict::Disabled => Some(whole),
        (Some(narrow), Some(whole)) if whole.about_arguments() && whole.verdict > narrow.verdict => {
            Some(whole)
        }
        (narrow, whole) => narrow.or(whole),
    }
}

/// Whether one command may begin with both, so that both rules may speak of it. No words: of every command.
pub(super) fn overlap(a: &[String], b: &[String]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Whether `rule`, alone, decides a piece of the command `text`.
pub(super) fn decides(rule: &Rule, text: &str) -> bool {
    let freed = [CommandRule { id: rule.id.clone(), argv: rule.command.clone(), verdict: rule.verdict }];
    let reading = command::judge(text, &Rules { base: Verdict::Allow, contained: true, freed: &freed });
    reading.pieces.iter().any(|piece| piece.rule == rule.id)
}

impl Read<'_> {
    /// The decision that this reading makes of the first judgement.
    pub(super) fn decision(self, caller: &Caller<'_>, first: &Outcome<'_>) -> Decision {
        let Self { reading, outcomes } = self;
        let decisive = reading.pieces.iter().find(|piece| piece.verdict == reading.verdict);
        let mut decision = match decisive.map(|piece| (piece, outcomes.get(&piece.rule))) {
            Some((_, Some(outcome))) => Decision::of(caller, outcome, false),
            Some((piece, None)) if piece.rule.as_str() != BASE_RULE => Decision {
                rule: piece.rule.clone(),
                scope: Scope::BuiltIn,
                source: "defaults".to_owned(),
                reason: format!("`{}`: {}", piece.text, piece.reason),
                ..Decision::of(caller, first, false)
            },
            Some((_, None)) | None => Decision::of(caller, first, false),
        };
        if let Some(unreadable) = &reading.unreadable {
            decision.rule = RuleId::new("command.unreadable");
            decision.scope = Scope::BuiltIn;
            "defaults".clone_into(&mut decision.source);
            decision.reason = format!("the command cannot be read: {unreadable}");
        }
        decision.verdict = reading.verdict;
        let approve = asked(&reading, &outcomes, first);
        decision.approvers = approve.role;
        decision.quorum = approve.quorum;
        decision.person = approve.person;
        decision.remember = approve.remember && reading.verdict == Verdict::Ask;
        decision.pieces = reading.pieces;
        decision
    }
}

/// What all asking pieces ask for together. A question that the reading raised is never answered by a grant.
fn asked(reading: &Reading, outcomes: &HashMap<RuleId, Outcome<'_>>, first: &Outcome<'_>) -> Approve {
    let each = reading.pieces.iter().filter(|piece| piece.verdict == Verdict::Ask).map(|piece| {
        let written =
            outcomes.get(&piece.rule).or_else(|| (piece.rule.as_str() == BASE_RULE).then_some(first));
        written.and_then(|outcome| outcome.approve).unwrap_or(Approve::PLAIN)
    });
    each.chain(first.approve.filter(|_| first.verdict == Verdict::Ask))
        .reduce(Approve::and)
        .unwrap_or(Approve::PLAIN)
}
