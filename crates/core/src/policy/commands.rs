//! The rules about commands, brought through the cascade for the reader of commands.
//!
//! The reader takes one list of argv prefixes, of which the longest that matches decides. Here the layers become
//! that list: for each prefix that any layer names, the cascade's outcome for a command that begins so.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::command::{self, CommandRule, Piece, Reading, Rules};
use crate::ids::RuleId;
use crate::verdict::Verdict;

use super::Policy;
use super::cascade::{self, Outcome};
use super::condition::Incomparable;
use super::decision::Decision;
use super::judge::Caller;
use super::load::Loaded;
use super::rule::{Approve, Rule};
use super::subject::Aspect;
use super::who::Category;

/// The side of a call that commands are.
const ASPECT: Aspect = Aspect::Class(Category::Bash);

/// A command that was read, and which outcome stands behind each written rule.
pub(super) struct Read<'p> {
    reading: Reading,
    outcomes: HashMap<RuleId, Outcome<'p>>,
    /// Whether the command asks however much is trusted. No remembered grant answers that.
    raised: bool,
}

/// What the layers say of commands that begin with a prefix.
struct Prefix<'p> {
    argv: &'p [String],
    outcome: Outcome<'p>,
    /// Whether every scope that speaks of these commands does so by a rule on their words. An `allow` on `bash` as a
    /// whole leaves to the reading what is more than harmless, and no rule of a lower scope takes that back.
    frees: bool,
}

/// Reads a command under the rules for this call.
pub(super) fn read<'p>(
    policy: &'p Policy,
    caller: &Caller<'_>,
    args: &Value,
    text: &str,
) -> Result<Read<'p>, Incomparable> {
    let base = cascade::aspect(&policy.layers, caller, ASPECT, Some(args))?;
    let prefixes = prefixes(&policy.layers, caller, Some(args))?;
    let freed: Vec<CommandRule> = prefixes
        .iter()
        .map(|Prefix { argv, outcome, .. }| CommandRule {
            id: outcome.by.id(),
            argv: argv.to_vec(),
            verdict: outcome.verdict,
        })
        .collect();
    let contained = policy.settings.contained == Some(true);
    let mut reading = command::judge(text, &Rules { base: base.verdict, contained, freed: &freed });
    if prefixes.iter().any(|prefix| !prefix.frees && prefix.outcome.verdict == Verdict::Allow) {
        let alone = command::judge(text, &Rules { base: Verdict::Allow, contained, freed: &[] });
        reading = unfreed(reading, alone, &prefixes);
    }
    let trusting = Rules { base: Verdict::Allow, contained: true, freed: &[] };
    let raised = reading.verdict == Verdict::Ask && command::judge(text, &trusting).verdict > Verdict::Allow;
    let outcomes = prefixes.into_iter().map(|prefix| (prefix.outcome.by.id(), prefix.outcome)).collect();
    Ok(Read { reading, outcomes, raised })
}

/// Hardens the pieces that a rule would free which may not, to what the reading alone says of them.
fn unfreed(mut reading: Reading, alone: Reading, prefixes: &[Prefix<'_>]) -> Reading {
    let may_not = |piece: &Piece| {
        let own = |prefix: &&Prefix<'_>| {
            prefix.outcome.by.id() == piece.rule && piece.argv.starts_with(prefix.argv)
        };
        let longest = prefixes.iter().filter(own).max_by_key(|prefix| prefix.argv.len());
        longest.is_none_or(|prefix| !prefix.frees)
    };
    let aligned = reading.pieces.len() == alone.pieces.len();
    let mut others = alone.pieces.into_iter();
    for piece in &mut reading.pieces {
        let other = others.next().filter(|other| aligned && other.span == piece.span);
        if piece.verdict > Verdict::Allow || !may_not(piece) {
            continue;
        }
        match other {
            Some(other) if other.verdict > piece.verdict => *piece = other,
            Some(_) => {}
            None => piece.verdict = Verdict::Ask,
        }
    }
    reading.verdict = reading.pieces.iter().map(|piece| piece.verdict).fold(reading.verdict, Ord::max);
    reading
}

/// What the layers say for each prefix that any of their rules names.
fn prefixes<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    args: Option<&Value>,
) -> Result<Vec<Prefix<'p>>, Incomparable> {
    let winner = |layer| cascade::winner(layer, caller, ASPECT, args);
    let wholes = layers.iter().map(winner).collect::<Result<Vec<_>, _>>()?;
    let rules = layers.iter().flat_map(|layer| &layer.rules).filter(|rule| counts(rule, caller));
    let named: BTreeSet<&[String]> = rules.map(|rule| rule.command.as_slice()).collect();
    named.into_iter().map(|argv| prefix(layers, caller, argv, &wholes)).collect()
}

/// What the layers say of commands that begin with `argv`. `wholes`: the rule of each layer for `bash` as a whole.
fn prefix<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    argv: &'p [String],
    wholes: &[Option<&'p Rule>],
) -> Result<Prefix<'p>, Incomparable> {
    let mut wholes = wholes.iter().copied();
    let mut frees = true;
    let outcome = cascade::fold(layers, Outcome::of_default(caller.tool, ASPECT), |layer| {
        let rule = of_prefix(layer, caller, argv, wholes.next().flatten());
        frees &= rule.is_none_or(|rule| !rule.command.is_empty());
        Ok(rule)
    })?;
    Ok(Prefix { argv, outcome, frees })
}

/// The softest that the layers say of any command that begins with `argv`.
pub(super) fn softest<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    argv: &'p [String],
) -> Option<Outcome<'p>> {
    let wholes: Vec<_> =
        layers.iter().map(|layer| cascade::winner(layer, caller, ASPECT, None).ok()?).collect();
    let own = prefix(layers, caller, argv, &wholes).ok()?;
    let longer =
        prefixes(layers, caller, None).ok()?.into_iter().filter(|longer| longer.argv.starts_with(argv));
    longer.chain([own]).map(|prefix| prefix.outcome).min_by_key(|outcome| outcome.verdict)
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

/// Whether `rule`, alone, decides a piece of the command `text`.
pub(super) fn decides(rule: &Rule, text: &str) -> bool {
    let freed = [CommandRule { id: rule.id.clone(), argv: rule.command.clone(), verdict: rule.verdict }];
    let reading = command::judge(text, &Rules { base: Verdict::Allow, contained: true, freed: &freed });
    reading.pieces.iter().any(|piece| piece.rule == rule.id)
}

impl Read<'_> {
    /// The decision that this reading makes of the first judgement. The first judgement decides unless the reading
    /// hardened it or a written rule freed the command.
    pub(super) fn decision(self, caller: &Caller<'_>, first: &Outcome<'_>) -> Decision {
        let Self { reading, outcomes, raised } = self;
        let strictest = || reading.pieces.iter().filter(|piece| piece.verdict == reading.verdict);
        let unwritten = strictest().find(|piece| !outcomes.contains_key(&piece.rule));
        let mut decision = Decision::of(caller, first, false);
        if reading.verdict != first.verdict || unwritten.is_none() {
            let piece = unwritten.filter(|_| reading.verdict > first.verdict).or_else(|| strictest().next());
            match piece.map(|piece| (piece, outcomes.get(&piece.rule))) {
                Some((_, Some(outcome))) => decision = Decision::of(caller, outcome, false),
                Some((piece, None)) => {
                    decision.built_in(&piece.rule, format!("`{}`: {}", piece.text, piece.reason));
                }
                None => {}
            }
        }
        if let Some(unreadable) = &reading.unreadable {
            let why = format!("the command cannot be read: {unreadable}");
            decision.built_in(&RuleId::new("command.unreadable"), why);
        }
        let approve = asked(&reading, &outcomes, first);
        decision.verdict = reading.verdict;
        decision.approvers = approve.role;
        decision.quorum = approve.quorum;
        decision.person = approve.person;
        decision.remember = approve.remember && reading.verdict == Verdict::Ask && !raised;
        decision.pieces = reading.pieces;
        decision
    }
}

/// What all asking pieces ask for together.
fn asked(reading: &Reading, outcomes: &HashMap<RuleId, Outcome<'_>>, first: &Outcome<'_>) -> Approve {
    let asking = reading.pieces.iter().filter(|piece| piece.verdict == Verdict::Ask);
    let each =
        asking.map(|piece| outcomes.get(&piece.rule).unwrap_or(first).approve.unwrap_or(Approve::PLAIN));
    each.reduce(Approve::and).or(first.approve).unwrap_or(Approve::PLAIN)
}
