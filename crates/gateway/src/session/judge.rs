//! The one place where a verdict is made.
//!
//! A call's arguments are parsed here, once, strictly; that one value is what the policy judges, the card shows,
//! the sandbox executes and the journal names. Everything that asks for a verdict, `policy explain` included, asks
//! [`verdict`].

use enclos_core::args::{self, Args};
use enclos_core::call::Call;
use enclos_core::policy::{Caller, Decision, Policy, Request, Role, Surface, Tool as PolicyTool};
use enclos_core::verdict::Verdict;

use super::Live;
use crate::effects::{Action, Run};

/// A call to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub tool: &'a str,
    pub args: &'a Args,
    pub role: Role,
    pub surface: Surface,
}

/// What the policy says of a call.
pub(crate) fn verdict(policy: &Policy, question: Question<'_>) -> Decision {
    let tool = PolicyTool::named(question.tool);
    let caller = Caller { tool: &tool, role: question.role, surface: question.surface };
    policy.judge(&Request { caller, args: question.args })
}

/// What the policy says of a call of a tool that a catalogue classed, for an agent that runs elsewhere.
pub(crate) fn verdict_of_classed(policy: &Policy, tool: &PolicyTool<'_>, args: &Args) -> Decision {
    let caller = Caller { tool, role: Role::Owner, surface: Surface::Background };
    policy.judge(&Request { caller, args })
}

/// What the policy says of a call that a person wrote in part, to have it explained. Nothing runs from it.
pub(crate) fn verdict_of_part(policy: &Policy, question: Question<'_>) -> Decision {
    let tool = PolicyTool::named(question.tool);
    let caller = Caller { tool: &tool, role: question.role, surface: question.surface };
    policy.judge_part(&Request { caller, args: question.args })
}

/// What the policy says of a tool as a whole.
pub(crate) fn verdict_of_tool(policy: &Policy, tool: &str, role: Role, surface: Surface) -> Decision {
    let tool = PolicyTool::named(tool);
    policy.judge_tool(&Caller { tool: &tool, role, surface })
}

/// What came of judging a call.
pub(super) enum Judged {
    /// The tool is disabled, and the model was never shown it.
    Hidden(Box<Decision>),
    /// It does not parse, does not fit, or is unknown: the model is told, and nothing runs.
    Broken(String),
    /// It was judged.
    Decided(Box<Decided>),
}

/// A call that was judged.
pub(super) struct Decided {
    pub args: Args,
    pub action: Action,
    pub decision: Decision,
}

impl Live {
    /// Judges one call of the turn.
    pub(super) fn judge(&self, call: &Call) -> Judged {
        let Some(tool) = self.tools.iter().find(|tool| tool.spec.name == call.tool()) else {
            return Judged::Broken(self.unknown(call.tool()));
        };
        if !tool.visible {
            let decision = verdict_of_tool(&self.policy, call.tool(), self.role, self.surface);
            return Judged::Hidden(Box::new(decision));
        }
        if let Some(cut) = self.state.cut() {
            return Judged::Broken(cut.told());
        }
        let parsed = args::parse(call.arguments()).and_then(|parsed| args::validate(parsed, &tool.schema));
        let args = match parsed {
            Ok(args) => args,
            Err(error) => return Judged::Broken(format!("the arguments were not understood: {error}")),
        };
        let action = match Action::of(call.tool(), &args) {
            Ok(Some(action)) => action,
            Ok(None) => return Judged::Broken(self.unknown(call.tool())),
            Err(error) => return Judged::Broken(format!("the arguments were not understood: {error}")),
        };
        if let Some(decision) = self.no_background(&action) {
            return Judged::Hidden(Box::new(decision));
        }
        let question = Question { tool: call.tool(), args: &args, role: self.role, surface: self.surface };
        let mut decision = verdict(&self.policy, question);
        self.harden_by_label(&action, &mut decision);
        Judged::Decided(Box::new(Decided { args, action, decision }))
    }

    /// Where nobody may look at a background command, none may start either.
    fn no_background(&self, action: &Action) -> Option<Decision> {
        let Action::Command(Run { background: Some(_), .. }) = action else { return None };
        let decision = verdict_of_tool(&self.policy, enclos_core::tool::BACKGROUND, self.role, self.surface);
        (decision.verdict == Verdict::Disabled).then_some(decision)
    }

    fn unknown(&self, tool: &str) -> String {
        let visible = self.tools.iter().filter(|tool| tool.visible);
        let names: Vec<&str> = visible.map(|tool| tool.spec.name.as_str()).collect();
        format!("there is no tool `{tool}`: expected one of {}", names.join(", "))
    }
}
