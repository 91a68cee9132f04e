//! Rules held against the examples of their authors: `match` and `not_match`.
//!
//! An example that a rule does not decide as its author says refuses the policy where it is loaded; here each one is
//! told, with what the whole policy answers to the same call, which names the rule that is in the way.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::witness::Call;
use crate::ids::RuleId;
use crate::policy::condition::object;
use crate::policy::error::{PolicyError, Problem};
use crate::policy::file::ExampleFile;
use crate::policy::judge::Caller;
use crate::policy::load::Loaded;
use crate::policy::rule::{Rule, known_tool};
use crate::policy::scope::Scope;
use crate::policy::subject::Pattern;
use crate::policy::tool::Tool;
use crate::policy::who::{Role, Surface};
use crate::policy::{Policy, arguments, commands, tighten};
use crate::verdict::Verdict;

/// An example that was held against its rule.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Held {
    rule: RuleId,
    pub(in crate::policy) line: usize,
    tool: String,
    args: Value,
    shown: String,
    wanted: bool,
    got: bool,
}

impl Held {
    /// Whether the rule decides the example as its author says.
    pub(in crate::policy) fn passed(&self) -> bool {
        self.wanted == self.got
    }

    /// Whether it shows a call that `rule` speaks of.
    pub(super) fn shows(&self, rule: &Rule) -> bool {
        self.rule == rule.id && self.wanted && self.passed()
    }

    /// The call.
    pub(super) fn call(&self) -> Call {
        let class = Tool::named(&self.tool);
        let tool = Tool::classed(self.tool.clone(), class.category(), class.egress());
        Call { tool, args: self.args.clone() }
    }

    /// What is wrong with an example that did not pass.
    pub(in crate::policy) fn problem(&self) -> Problem {
        Problem::Example { rule: self.rule.clone(), example: self.shown.clone(), wanted: self.wanted }
    }
}

/// One example of a rule, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleResult {
    /// The file or place of the rule.
    pub source: String,
    /// Its line.
    pub line: u64,
    /// The rule.
    pub rule: RuleId,
    /// The example: a command, or a tool with its arguments.
    pub example: String,
    /// Whether its author wants the rule to match.
    pub wanted: bool,
    /// Whether it matches.
    pub got: bool,
    /// What the whole policy answers to the example's call.
    pub verdict: Verdict,
    /// The rule that decides that answer: where it is another one, the rule that this one collides with.
    pub decided_by: RuleId,
    /// The scope of that rule.
    pub scope: Scope,
    /// Whether the example passed.
    pub passed: bool,
}

impl Policy {
    /// Every example of every layer, with its outcome, in the order of the files.
    pub fn examples_held(&self) -> Vec<ExampleResult> {
        let each = self.layers.iter().flat_map(|layer| layer.examples.iter().map(move |held| (layer, held)));
        each.map(|(layer, held)| self.example_result(layer, held)).collect()
    }

    /// The rules that are softer than the scopes above on every call they speak of, as the errors that refuse them.
    pub fn collisions(&self) -> Vec<PolicyError> {
        tighten::refusals(self).collect()
    }

    fn example_result(&self, layer: &Loaded, held: &Held) -> ExampleResult {
        let own = layer.rules.iter().find(|rule| rule.id == held.rule);
        let role = own.and_then(|rule| rule.roles.first()).copied().unwrap_or(Role::Developer);
        let surface = own.and_then(|rule| rule.surfaces.first()).copied().unwrap_or(Surface::Terminal);
        let tool = Tool::named(&held.tool);
        let decision = self.decide(&Caller { tool: &tool, role, surface }, Some(&held.args));
        ExampleResult {
            source: layer.source.to_string(),
            line: held.line as u64,
            rule: held.rule.clone(),
            example: held.shown.clone(),
            wanted: held.wanted,
            got: held.got,
            verdict: decision.verdict,
            decided_by: decision.rule,
            scope: decision.scope,
            passed: held.passed(),
        }
    }
}

/// Holds a rule against one example of its author.
///
/// # Errors
/// An example that is none of this rule: what it would be held against cannot be told.
pub(in crate::policy) fn hold(
    rule: &Rule,
    line: usize,
    example: &ExampleFile,
    wanted: bool,
) -> Result<Held, Problem> {
    let bad = |why: String| Problem::BadRule { rule: rule.id.clone(), why };
    let (tool, args, shown, got) = match example {
        ExampleFile::Command(text) if !rule.command.is_empty() => {
            let got = commands::decides(rule, text);
            ("bash".to_owned(), json!({ "command": text }), format!("`{text}`"), got)
        }
        ExampleFile::Call(call) if rule.command.is_empty() => {
            let only =
                rule.subject.tools.first().filter(|tool| tool.is_exact() && rule.subject.tools.len() == 1);
            let tool = call.tool.clone().or_else(|| only.map(Pattern::as_text));
            let tool =
                tool.ok_or_else(|| bad("has an example without `tool`: name the tool it calls".to_owned()))?;
            // An example may be of a tool that nobody knows; a word that is nearly a tool of Enclos is a mistake.
            match known_tool(&tool) {
                Err(Problem::UnknownTool { near: None, .. }) | Ok(()) => {}
                Err(problem) => return Err(problem),
            }
            for argument in call.args.keys() {
                arguments::known(&tool, argument)
                    .map_err(|why| bad(format!("has an example in which {why}")))?;
            }
            let args = object(&call.args).map(Value::Object).map_err(bad)?;
            let shown = format!("`{tool}` with `{args}`");
            let got = rule.matches_example(&Tool::named(&tool), &args).map_err(|why| bad(why.to_owned()))?;
            (tool, args, shown, got)
        }
        ExampleFile::Command(_) => {
            return Err(bad(
                "has a command as its example, but no `command`: write a table with `tool` and `args`"
                    .to_owned(),
            ));
        }
        ExampleFile::Call(_) => {
            return Err(bad(
                "has a table as its example, but a `command`: write the command as text".to_owned()
            ));
        }
    };
    Ok(Held { rule: rule.id.clone(), line, tool, args, shown, wanted, got })
}
