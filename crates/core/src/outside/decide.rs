//! The verdict on one call of a host's agent. Every check can only harden what the others say.
//!
//! Write-down: what the session knows, and what each argument comes from, flows only to a class that is at least as high.
//! Provenance: a call that acts beyond the agent asks once the planner has read untrusted text; where that text was kept from
//! the planner, it asks only if what says who, which object or how much comes from it. Released without a question are, within
//! bounds and below RESTRICTED, values that stand as a whole item or field in what a service listed (never in a text, so that
//! what somebody wrote chooses none): a name, back to the tools that know it; a number, a date, a yes or no, where the person's
//! own words name whoever receives the call.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::flow::{Consent, Destination, Flow, flow};
use crate::label::{Label, Level};
use crate::verdict::Verdict;

use super::catalogue::ToolClass;
use super::session::{Endorsed, Session};
use super::value::{Kind, kind, leaves};

/// The shortest text of an argument that is only carried which is looked for in what was hidden.
const SHORTEST_CARRIED: usize = 12;

/// A call that the host's agent is about to make.
#[derive(Debug)]
pub(super) struct Proposal<'p> {
    /// The tool.
    pub tool: &'p str,
    /// What it is.
    pub class: &'p ToolClass,
    /// Whether the catalogue names it.
    pub known: bool,
    /// The arguments.
    pub args: &'p Map<String, Value>,
    /// Of which answers each argument comes, as the host says.
    pub from: &'p [(String, Vec<u64>)],
}

/// One thing that speaks against a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// How much it hardens.
    pub verdict: Verdict,
    /// The rule, for the journal.
    pub rule: String,
    /// Why, for a person.
    pub reason: String,
}

/// What was found, and what follows if the call runs.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// What speaks against it; nothing if it may run.
    pub findings: Vec<Finding>,
    /// The values that a yes endorses.
    pub endorses: Vec<Endorsed>,
    /// The answers of which a value is released, once for each value.
    pub releases: Vec<BTreeSet<usize>>,
}

impl Judgement {
    fn add(&mut self, verdict: Verdict, rule: impl Into<String>, reason: String) {
        self.findings.push(Finding { verdict, rule: rule.into(), reason });
    }

    /// Adds what a flow answers.
    fn flows(&mut self, label: Label, to: &Destination, rules: &[Consent], what: &str) {
        let reason =
            || format!("{what} is {}, and `{}` takes {} at most", label.level(), to.name(), to.class());
        match flow(label, to, rules) {
            Flow::Pass => {}
            Flow::Consent(rule) => self.add(Verdict::Ask, rule.as_str(), reason()),
            Flow::Block => self.add(Verdict::Disabled, "flow.write_down", reason()),
        }
    }
}

/// Judges a call by what the session knows.
pub(super) fn decide(session: &Session, call: &Proposal<'_>, consents: &[Consent]) -> Judgement {
    let mut judgement = Judgement::default();
    let to = Destination::new(format!("tool:{}", call.tool), call.class.tool_sink);
    judgement.flows(session.label(), &to, consents, "what the session has read");
    let untrusted = session.label().is_untrusted();
    if untrusted && call.class.acts() {
        judgement.add(Verdict::Ask, "provenance.session", provenance_reason(session, call.tool));
    }
    if untrusted && !call.class.acts() && call.class.tool_reads == Level::Restricted {
        let reason =
            format!("`{}` reads RESTRICTED data, and the session has read untrusted text", call.tool);
        judgement.add(Verdict::Ask, "provenance.restricted", reason);
    }
    let arguments: Vec<Argument<'_>> =
        call.args.iter().map(|(name, value)| Argument::of(session, call, name, value)).collect();
    let anchored = is_anchored(&arguments);
    for argument in &arguments {
        argument.judge(session, call, anchored, &to, consents, &mut judgement);
    }
    judgement
}

fn provenance_reason(session: &Session, tool: &str) -> String {
    let source = session.answers().iter().find(|answer| !answer.hidden && answer.label.is_untrusted());
    let source = source.map_or_else(String::new, |answer| format!(" (from `{}`)", answer.tool));
    format!("the session has read untrusted text{source}, and `{tool}` acts beyond it")
}

/// Whether the person's words name who receives the call, and nobody else receives it.
fn is_anchored(arguments: &[Argument<'_>]) -> bool {
    let mut who =
        arguments.iter().filter(|argument| argument.destination && !argument.plain).map(|a| a.vouched);
    who.clone().any(|vouched| vouched == Vouched::Person) && who.all(|vouched| vouched != Vouched::Nobody)
}

/// Who stands behind all of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vouched {
    /// The person's own words name it.
    Person,
    /// A tool that lists known names listed it.
    Service,
    /// Nobody.
    Nobody,
}

/// One argument, and where it comes from.
#[derive(Debug)]
struct Argument<'a> {
    name: &'a str,
    value: &'a Value,
    /// Whether it says who, which object or how much.
    destination: bool,
    /// Who stands behind it.
    vouched: Vouched,
    /// Whether it holds only numbers, dates and yes or no, so that no part of it could say who.
    plain: bool,
    /// The hidden answers that it comes from.
    from: BTreeSet<usize>,
    /// What these know; nothing where it comes from none.
    label: Option<Label>,
}

impl<'a> Argument<'a> {
    fn of(session: &Session, call: &Proposal<'_>, name: &'a str, value: &'a Value) -> Self {
        let parts = leaves(value);
        let destination = !call.known || call.class.destination_args.iter().any(|known| known == name);
        let listed = |part: &&Value| kind(part) != Kind::Text && session.is_listed(part);
        let vouched = if !parts.is_empty() && parts.iter().all(|part| session.prompt_names(part)) {
            Vouched::Person
        } else if !parts.is_empty() && parts.iter().all(listed) {
            Vouched::Service
        } else {
            Vouched::Nobody
        };
        let (from, stray) = origins(session, call, name, &parts, destination);
        let known = from.iter().filter_map(|&number| session.answer(number)).map(|answer| answer.label);
        // A number that no answer has may be any of them.
        let every =
            session.answers().iter().filter(|answer| stray && answer.hidden).map(|answer| answer.label);
        let stray = stray.then_some(Label::untrusted(Level::Public));
        Self {
            name,
            value,
            destination,
            vouched,
            plain: !parts.iter().any(|part| matches!(kind(part), Kind::Text | Kind::Name)),
            label: known.chain(every).chain(stray).reduce(Label::join),
            from,
        }
    }

    fn judge(
        &self,
        session: &Session,
        call: &Proposal<'_>,
        anchored: bool,
        to: &Destination,
        consents: &[Consent],
        judgement: &mut Judgement,
    ) {
        let Some(label) = self.label.filter(|_| self.vouched != Vouched::Person) else { return };
        let releasable = self.vouched == Vouched::Service && (!self.plain || anchored);
        if releasable && !call.class.egress && !self.from.is_empty() && session.may_release(&self.from) {
            judgement.releases.push(self.from.clone());
            return;
        }
        judgement.flows(label, to, consents, &format!("the argument `{}`", self.name));
        if !(self.destination && label.is_untrusted() && call.class.acts()) {
            return;
        }
        let endorsed = Endorsed {
            tool: call.tool.to_owned(),
            argument: self.name.to_owned(),
            value: self.value.to_string(),
            label: label.to_string(),
        };
        if session.is_endorsed(&endorsed) {
            return;
        }
        let source = self.from.iter().find_map(|&number| session.answer(number));
        let source = source.map_or("a hidden answer".to_owned(), |answer| format!("`{}`", answer.tool));
        let reason = format!("`{}` of `{}` comes from untrusted text of {source}", self.name, call.tool);
        judgement.add(Verdict::Ask, "provenance.argument", reason);
        judgement.endorses.push(endorsed);
    }
}

/// The hidden answers that an argument comes from: those that the host names, and those where it stands word for word; and
/// whether the host names one that there is not.
fn origins(
    session: &Session,
    call: &Proposal<'_>,
    name: &str,
    parts: &[&Value],
    destination: bool,
) -> (BTreeSet<usize>, bool) {
    let mut from = BTreeSet::new();
    let mut stray = false;
    let said = call.from.iter().filter(|(path, _)| path == name || !call.args.contains_key(path));
    for &number in said.flat_map(|(_, numbers)| numbers) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        match session.answer(number) {
            Some(answer) if answer.hidden => drop(from.insert(number)),
            Some(_) => {}
            None => stray = true,
        }
    }
    let long = |part: &&&Value| {
        destination || part.as_str().is_some_and(|text| text.chars().count() >= SHORTEST_CARRIED)
    };
    for part in parts.iter().filter(|part| part.is_string()).filter(long) {
        if session.prompt_names(part) {
            continue;
        }
        let holding = session.answers().iter().enumerate();
        from.extend(
            holding.filter(|(_, answer)| answer.hidden && answer.holds(part)).map(|(number, _)| number),
        );
    }
    (from, stray)
}
