//! What `policy explain` shows besides the answer: the rules that did not decide and why, the layers, the matrix.
//!
//! Only reports; nothing here takes part in an answer.

use serde::Serialize;
use serde_json::Value;

use crate::ids::RuleId;
use crate::verdict::Verdict;

use super::cascade;
use super::commands::Said;
use super::decision::{Considered, Decision, Why};
use super::judge::Caller;
use super::load::Loaded;
use super::rule::{Rule, Specificity};
use super::scope::Scope;
use super::subject::Aspect;
use super::tool::Tool;
use super::who::{Category, Role, Surface};
use super::{Policy, commands};

/// One layer of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerReport {
    /// Its scope.
    pub scope: Scope,
    /// The name in the file.
    pub name: String,
    /// The file or place.
    pub source: String,
    /// How many rules it has.
    pub rules: usize,
}

/// One line of the matrix of tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatrixRow {
    /// The tool.
    pub tool: String,
    /// What it does.
    pub category: Category,
    /// The answer for the tool as a whole.
    pub verdict: Verdict,
    /// The rule.
    pub rule: RuleId,
    /// The scope of the rule.
    pub scope: Scope,
}

impl Policy {
    /// The layers in force, the highest first.
    pub fn layers(&self) -> Vec<LayerReport> {
        let report = |layer: &Loaded| LayerReport {
            scope: layer.scope,
            name: layer.name.clone(),
            source: layer.source.to_string(),
            rules: layer.rules.len(),
        };
        self.layers.iter().map(report).collect()
    }

    /// The answer for each tool of Enclos as a whole.
    pub fn matrix(&self, role: Role, surface: Surface) -> Vec<MatrixRow> {
        let row = |name: &str| {
            let tool = Tool::named(name);
            let decision = self.judge_tool(&Caller { tool: &tool, role, surface });
            MatrixRow {
                tool: name.to_owned(),
                category: tool.category(),
                verdict: decision.verdict,
                rule: decision.rule,
                scope: decision.scope,
            }
        };
        Tool::built_in().map(row).collect()
    }
}

/// The enforced rules that speak of the tool and did not decide.
pub(super) fn considered(
    policy: &Policy,
    caller: &Caller<'_>,
    args: Option<&Value>,
    decision: &Decision,
) -> Vec<Considered> {
    let mut out = Vec::new();
    for layer in &policy.layers {
        let winners: Vec<&Rule> = Aspect::of(caller.tool)
            .filter_map(|aspect| cascade::winner(layer, caller, aspect, args).ok().flatten())
            .collect();
        let said = commands::said_of(layer, caller, args, &decision.pieces);
        for rule in layer.rules_on(caller.tool.name()).filter(|rule| !rule.shadow && speaks(rule, caller)) {
            if rule.id == decision.rule && layer.scope == decision.scope && *layer.source == *decision.source
            {
                continue;
            }
            out.push(Considered {
                rule: rule.id.clone(),
                scope: layer.scope,
                source: layer.source.clone(),
                verdict: rule.verdict,
                why: why(rule, &Spoken { winners: &winners, said: said.as_ref() }, caller, args, decision),
            });
        }
    }
    out
}

fn speaks(rule: &Rule, caller: &Caller<'_>) -> bool {
    Aspect::of(caller.tool).any(|aspect| rule.subject.speaks_of(caller.tool, aspect, rule.verdict))
}

/// What a layer said.
struct Spoken<'s> {
    /// Its rules for the call, without those on commands.
    winners: &'s [&'s Rule],
    /// Its rules on commands, for `bash`.
    said: Option<&'s Said<'s>>,
}

/// Why a rule did not decide: the first reason that is true.
fn why(
    rule: &Rule,
    spoken: &Spoken<'_>,
    caller: &Caller<'_>,
    args: Option<&Value>,
    decision: &Decision,
) -> Why {
    if !rule.for_role(caller.role) {
        return Why::OtherRole;
    }
    if !rule.on_surface(caller.surface) {
        return Why::OtherSurface;
    }
    if decision.invisible && rule.about_arguments() {
        return Why::ToolDisabled;
    }
    if !rule.command.is_empty() {
        return why_of_command(rule, spoken.said, decision);
    }
    let held = args.is_some_and(|args| rule.conditions_hold(caller.tool.name(), args) == Ok(true));
    if !rule.conditions.is_empty() && !held {
        return Why::OtherArguments;
    }
    if spoken.winners.iter().any(|winner| std::ptr::eq(*winner, rule)) {
        return if rule.verdict < decision.verdict { Why::Overruled } else { Why::Same };
    }
    let specific = spoken.winners.iter().all(|winner| winner.specificity() <= rule.specificity());
    if specific { Why::LessStrict } else { Why::LessSpecific }
}

/// Why a rule on commands, which is for this person and surface, did not decide.
fn why_of_command(rule: &Rule, said: Option<&Said<'_>>, decision: &Decision) -> Why {
    if decision.pieces.iter().any(|piece| piece.rule == rule.id) {
        return Why::DecidesPieces;
    }
    let mut why = Why::OtherCommand;
    for piece in decision.pieces.iter().filter(|piece| piece.argv.starts_with(&rule.command)) {
        match said.and_then(|said| said.of(&piece.argv)) {
            Some(held) if std::ptr::eq(held, rule) => {
                return if rule.verdict < piece.verdict { Why::Overruled } else { Why::Same };
            }
            Some(held) if order(held) > order(rule) => why = Why::LessSpecific,
            Some(_) | None => why = Why::LessStrict,
        }
    }
    why
}

/// How specific a rule on commands is: by its words, then as every rule.
fn order(rule: &Rule) -> (usize, Specificity) {
    (rule.command.len(), rule.specificity())
}
