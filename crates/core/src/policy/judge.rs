//! The one answer to a proposed call.
//!
//! First judgement: the tool, who asks, how, and the arguments against the rules. Second judgement, for `bash`: the
//! command itself, which can only harden the first. What cannot be evaluated is disabled.

use serde_json::Value;

use crate::args::Args;
use crate::command::{Names, Piece};
use crate::ids::RuleId;
use crate::verdict::Verdict;

use super::cascade::{self, By, Outcome};
use super::condition::Incomparable;
use super::decision::{Decision, Shadow};
use super::rule::{Approve, Rule};
use super::scope::Scope;
use super::subject::Aspect;
use super::tool::Tool;
use super::who::{Category, Role, Surface};
use super::{Policy, commands, explain};

/// Who calls which tool, and through what.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'r> {
    /// The tool.
    pub tool: &'r Tool<'r>,
    /// The person's highest role on the project.
    pub role: Role,
    /// How the session is driven.
    pub surface: Surface,
}

/// One proposed call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// Who calls which tool.
    pub caller: Caller<'r>,
    /// The arguments, which fit the tool's schema.
    pub args: &'r Args,
}

impl Policy {
    /// Answers a proposed call.
    pub fn judge(&self, request: &Request<'_>) -> Decision {
        self.decide(&request.caller, Some(request.args.value()))
    }

    /// Answers a call that a person wrote in part, for `policy explain`: a condition on a field that is missing does
    /// not hold, and where there is no command none is read. Never for a call that is to run.
    pub fn judge_part(&self, request: &Request<'_>) -> Decision {
        let Request { caller, args } = request;
        let args = args.value();
        if caller.tool.category() != Category::Bash || args.get("command").is_some() {
            return self.judge(request);
        }
        let decision = match self.first(caller, Some(args)) {
            Ok((outcome, invisible)) => Decision::of(caller, &outcome, invisible),
            Err(Incomparable) => failed("an argument cannot be compared as a rule asks"),
        };
        self.with_reasons(decision, caller, Some(args))
    }

    /// Answers for a tool as a whole, whatever its arguments: what `policy explain` shows when none are given.
    pub fn judge_tool(&self, caller: &Caller<'_>) -> Decision {
        self.decide(caller, None)
    }

    /// Whether the model is shown the tool: a disabled one is invisible.
    pub fn visible(&self, caller: &Caller<'_>) -> bool {
        cascade::call(&self.layers, caller, None).is_ok_and(|outcome| outcome.verdict != Verdict::Disabled)
    }

    pub(super) fn decide(&self, caller: &Caller<'_>, args: Option<&Value>) -> Decision {
        let decision = match self.first(caller, args) {
            Ok((outcome, true)) => Decision::of(caller, &outcome, true),
            Ok((outcome, false)) => self.second(caller, args, &outcome),
            Err(Incomparable) => failed("an argument cannot be compared as a rule asks"),
        };
        self.with_reasons(decision, caller, args)
    }

    /// The decision with the rules that did not decide, and what the shadow rules would have said.
    fn with_reasons(&self, mut decision: Decision, caller: &Caller<'_>, args: Option<&Value>) -> Decision {
        decision.considered = explain::considered(self, caller, args, &decision);
        decision.shadow = self.shadow(caller, args, &decision.pieces);
        decision
    }

    /// The first judgement, and whether the tool as a whole is disabled.
    fn first(&self, caller: &Caller<'_>, args: Option<&Value>) -> Result<(Outcome<'_>, bool), Incomparable> {
        let whole = cascade::call(&self.layers, caller, None)?;
        if whole.verdict == Verdict::Disabled {
            return Ok((whole, true));
        }
        Ok((cascade::call(&self.layers, caller, args)?, false))
    }

    /// The second judgement: the command of `bash`. It starts from the first and only hardens it.
    fn second(&self, caller: &Caller<'_>, args: Option<&Value>, first: &Outcome<'_>) -> Decision {
        let Some(args) = args.filter(|_| caller.tool.category() == Category::Bash) else {
            return Decision::of(caller, first, false);
        };
        let Some(text) = args.get("command").and_then(Value::as_str) else {
            return failed("the call of `bash` has no `command` that is text");
        };
        match commands::read(self, caller, args, text) {
            Ok(read) => read.decision(caller, first),
            Err(Incomparable) => failed("an argument cannot be compared as a rule asks"),
        }
    }

    /// What the shadow rules would have said.
    fn shadow(&self, caller: &Caller<'_>, args: Option<&Value>, pieces: &[Piece]) -> Vec<Shadow> {
        let speaks = |rule: &Rule| {
            let of_tool =
                Aspect::of(caller.tool).any(|a| rule.subject.speaks_of(caller.tool, a, rule.verdict));
            let of_args = rule.conditions.is_empty()
                || args.is_some_and(|args| rule.conditions_hold(caller.tool.name(), args) == Ok(true));
            let of_command =
                rule.command.is_empty() || pieces.iter().any(|piece| piece.argv.starts_with(&rule.command));
            rule.shadow && of_tool && cascade::applies(rule, caller) && of_args && of_command
        };
        let each = self
            .layers
            .iter()
            .flat_map(|layer| layer.rules_on(caller.tool.name()).map(move |rule| (layer, rule)));
        each.filter(|(_, rule)| speaks(rule))
            .map(|(layer, rule)| Shadow { rule: rule.id.clone(), scope: layer.scope, verdict: rule.verdict })
            .collect()
    }
}

impl Decision {
    /// The decision that an outcome of the cascade is.
    pub(super) fn of(caller: &Caller<'_>, outcome: &Outcome<'_>, invisible: bool) -> Self {
        let approve = outcome.approve.unwrap_or(Approve::PLAIN);
        Self {
            verdict: outcome.verdict,
            rule: outcome.by.id(),
            scope: outcome.by.scope(),
            source: outcome.by.source(),
            reason: reason(caller, outcome),
            pieces: Vec::new(),
            names: Names::default(),
            considered: Vec::new(),
            approvers: approve.role,
            quorum: approve.quorum,
            remember: approve.remember && outcome.verdict == Verdict::Ask,
            person: approve.person,
            invisible,
            shadow: Vec::new(),
        }
    }
}

impl Decision {
    /// Names a built-in rule as the one that decided.
    pub(super) fn built_in(&mut self, rule: &RuleId, reason: String) {
        self.rule = rule.clone();
        self.scope = Scope::BuiltIn;
        "defaults".clone_into(&mut self.source);
        self.reason = reason;
    }
}

/// Why, for the person: the author's words, or what the rule says of what.
fn reason(caller: &Caller<'_>, outcome: &Outcome<'_>) -> String {
    let (tool, verdict) = (caller.tool.name(), outcome.verdict);
    match outcome.by {
        By::Rule(_, Rule { reason: Some(reason), .. }) => reason.clone(),
        By::Rule(layer, rule) => {
            format!(
                "the rule `{}` of the {} (`{}`) says `{verdict}` for `{tool}`",
                rule.id, layer.scope, layer.name
            )
        }
        By::Default(id) => format!("no rule speaks of `{tool}`, and `{id}` says `{verdict}`"),
    }
}

/// The answer where an evaluation failed.
fn failed(why: &str) -> Decision {
    Decision {
        verdict: Verdict::Disabled,
        rule: RuleId::new("evaluation.failed"),
        scope: Scope::BuiltIn,
        source: "defaults".to_owned(),
        reason: why.to_owned(),
        pieces: Vec::new(),
        names: Names::default(),
        considered: Vec::new(),
        approvers: None,
        quorum: 1,
        remember: false,
        person: false,
        invisible: false,
        shadow: Vec::new(),
    }
}
