//! The rules about commands, brought through the cascade for the reader of commands.
//!
//! The reader takes one list of argv prefixes, of which the longest that matches decides. Here the layers become
//! that list: for each prefix that any layer names, the cascade's outcome for a command that begins so.

use std::collections::{BTreeSet, HashMap, HashSet};

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
    let contained = policy.settings.contained == Some(true);
    let alone = command::judge(text, &Rules { base: Verdict::Allow, contained, freed: &[] });
    let said = said(&policy.layers, caller, Some(args), Some(&first_words(&alone.pieces)))?;
    let prefixes = prefixes(&policy.layers, caller, &said)?;
    let freed: Vec<CommandRule> = prefixes
        .iter()
        .map(|Prefix { argv, outcome, .. }| CommandRule {
            id: outcome.by.id(),
            argv: argv.to_vec(),
            verdict: outcome.verdict,
        })
        .collect();
    let mut reading = command::judge(text, &Rules { base: base.verdict, contained, freed: &freed });
    if prefixes.iter().any(|prefix| !prefix.frees && prefix.outcome.verdict == Verdict::Allow) {
        reading = unfreed(reading, alone, &prefixes);
    }
    let trusting = Rules { base: Verdict::Allow, contained: true, freed: &[] };
    let raised = reading.verdict == Verdict::Ask && command::judge(text, &trusting).verdict > Verdict::Allow;
    let mut outcomes: HashMap<RuleId, Outcome<'_>> = HashMap::new();
    for Prefix { outcome, .. } in prefixes {
        // One rule may decide several prefixes: all that is asked for at any of them is asked for.
        outcomes.entry(outcome.by.id()).and_modify(|held| *held = held.and(outcome)).or_insert(outcome);
    }
    Ok(Read { reading, outcomes, raised })
}

/// The words that a rule for a command of this reading may begin with. What a rule matches stands in the words of a
/// piece, by its name or its path; of a policy with many rules only these few are looked at.
fn first_words(pieces: &[Piece]) -> HashSet<&str> {
    let words = pieces.iter().flat_map(|piece| &piece.argv);
    words.flat_map(|word| [word.as_str(), word.rsplit('/').next().unwrap_or("")]).collect()
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

/// What one layer says of commands.
pub(super) struct Said<'p> {
    /// Its rule for each prefix that it names.
    narrow: HashMap<&'p [String], &'p Rule>,
    /// Its rule for `bash` as a whole.
    whole: Option<&'p Rule>,
}

impl<'p> Said<'p> {
    fn new(
        layer: &'p Loaded,
        caller: &Caller<'_>,
        args: Option<&Value>,
        words: Option<&HashSet<&str>>,
    ) -> Result<Self, Incomparable> {
        let order = |rule: &Rule| (rule.specificity(), rule.verdict);
        let mut narrow: HashMap<&[String], &Rule> = HashMap::new();
        let named = |first: &String| words.is_none_or(|words| words.contains(first.as_str()));
        let counts = |rule: &&Rule| {
            rule.command.first().is_some_and(named) && !rule.shadow && cascade::applies(rule, caller)
        };
        for rule in layer.rules_on(caller.tool.name()).filter(counts) {
            let held = narrow.entry(&rule.command).or_insert(rule);
            if order(rule) > order(held) {
                *held = rule;
            }
        }
        Ok(Self { narrow, whole: cascade::winner(layer, caller, ASPECT, args)? })
    }

    /// The rule for commands that begin with `argv`: the longest prefix, unless the rule for `bash` as a whole looks
    /// at arguments too and is stricter, or disables `bash`.
    pub(super) fn of(&self, argv: &[String]) -> Option<&'p Rule> {
        let mut prefixes = (1..=argv.len()).rev().filter_map(|length| argv.get(..length));
        let narrow = prefixes.find_map(|prefix| self.narrow.get(prefix)).copied();
        match (narrow, self.whole) {
            (Some(_), Some(whole)) if whole.verdict == Verdict::Disabled => Some(whole),
            (Some(narrow), Some(whole)) if whole.about_arguments() && whole.verdict > narrow.verdict => {
                Some(whole)
            }
            (narrow, whole) => narrow.or(whole),
        }
    }
}

/// What one layer says of commands, for a call of `bash` that can be judged.
/// Rules on other commands than those of the pieces are left out.
pub(super) fn said_of<'p>(
    layer: &'p Loaded,
    caller: &Caller<'_>,
    args: Option<&Value>,
    pieces: &[Piece],
) -> Option<Said<'p>> {
    let bash = caller.tool.category() == Category::Bash;
    bash.then(|| Said::new(layer, caller, args, Some(&first_words(pieces))).ok()).flatten()
}

/// What every layer says of commands, of those that begin with one of `words` when these are given.
fn said<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    args: Option<&Value>,
    words: Option<&HashSet<&str>>,
) -> Result<Vec<Said<'p>>, Incomparable> {
    layers.iter().map(|layer| Said::new(layer, caller, args, words)).collect()
}

/// What the layers say for each prefix that any of their rules names.
fn prefixes<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    said: &[Said<'p>],
) -> Result<Vec<Prefix<'p>>, Incomparable> {
    let named: BTreeSet<&[String]> = said.iter().flat_map(|said| said.narrow.keys().copied()).collect();
    named.into_iter().map(|argv| prefix(layers, caller, argv, said)).collect()
}

/// What the layers say of commands that begin with `argv`.
fn prefix<'p>(
    layers: &'p [Loaded],
    caller: &Caller<'_>,
    argv: &'p [String],
    said: &[Said<'p>],
) -> Result<Prefix<'p>, Incomparable> {
    let mut said = said.iter();
    let mut frees = true;
    let outcome = cascade::fold(layers, Outcome::of_default(caller.tool, ASPECT), |_| {
        let rule = said.next().and_then(|said| said.of(argv));
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
    let said = said(layers, caller, None, None).ok()?;
    let own = prefix(layers, caller, argv, &said).ok()?;
    let longer = prefixes(layers, caller, &said).ok()?.into_iter();
    let longer = longer.filter(|longer| longer.argv.starts_with(argv));
    longer.chain([own]).map(|prefix| prefix.outcome).min_by_key(|outcome| outcome.verdict)
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
        decision.names = reading.names;
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
