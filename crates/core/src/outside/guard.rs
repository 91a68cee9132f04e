//! The sessions of a host, and the answers to what it tells.
//!
//! A line that cannot be read is an error and counts, in every open session, as an answer with the worst label: it may have
//! been one, and what is not labelled must not act.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::flow::Consent;
use crate::label::{Label, Level};
use crate::verdict::Verdict;

use super::catalogue::{Catalogue, ToolClass};
use super::decide::{Finding, Proposal, decide};
use super::session::{Answer, Session};
use super::value::{Kind, kind};

/// Whether answers of untrusted sources are kept from the planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quarantine {
    /// They are: the host promises to show them to a reader without tools only.
    On,
    /// They are shown, and every later call that acts beyond the agent asks.
    Off,
}

/// What the policy in force says of a call whatever was read: the least verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that says so.
    pub rule: String,
    /// Why, for a person.
    pub reason: String,
}

/// Asks the policy about a call.
pub type Policy = Box<dyn Fn(&str, &ToolClass, &Map<String, Value>) -> Option<Floor>>;

/// Sessions that are open at once, and answers of one session, at most.
const MOST_SESSIONS: usize = 4096;
const MOST_ANSWERS: usize = 4096;

/// Judges the calls of a host's sessions.
pub struct Guard {
    catalogue: Catalogue,
    quarantine: Quarantine,
    consents: Vec<Consent>,
    policy: Policy,
    sessions: BTreeMap<String, Session>,
    /// The readers in quarantine, each with its session and the answer that it reads.
    readers: BTreeMap<String, (String, usize)>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

/// What a host is told of one call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub verdict: Verdict,
    pub rule: String,
    pub reason: String,
}

/// What a host is told of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The planner may be shown it; the session now knows this.
    Shown(Label),
    /// It is for the reader of that name only.
    Hidden(String),
}

impl Guard {
    /// A guard for the tools of a catalogue, under what the policy says.
    pub fn new(catalogue: Catalogue, quarantine: Quarantine, consents: Vec<Consent>, policy: Policy) -> Self {
        Self { catalogue, quarantine, consents, policy, sessions: BTreeMap::new(), readers: BTreeMap::new() }
    }

    pub(super) fn open(&mut self, name: &str, prompt: &str) -> Result<(), String> {
        if self.sessions.contains_key(name) || self.readers.contains_key(name) {
            return Err(format!(
                "the session `{name}` is open already: close it first, or take another name"
            ));
        }
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(format!("{MOST_SESSIONS} sessions are open: close one first"));
        }
        self.sessions.insert(name.to_owned(), Session::open(prompt));
        Ok(())
    }

    pub(super) fn close(&mut self, name: &str) -> Result<(), String> {
        if self.readers.remove(name).is_some() {
            return Ok(());
        }
        self.sessions.remove(name).ok_or_else(|| no_session(name))?;
        self.readers.retain(|_, (session, _)| session != name);
        Ok(())
    }

    pub(super) fn decide(
        &mut self,
        name: &str,
        tool: &str,
        args: &Map<String, Value>,
        from: &[(String, Vec<u64>)],
    ) -> Result<Said, String> {
        if let Some((parent, number)) = self.readers.get(name).cloned() {
            return Ok(self.returned(&parent, number, tool, args));
        }
        let session = self.sessions.get_mut(name).ok_or_else(|| no_session(name))?;
        let unknown = ToolClass::unknown();
        let class = self.catalogue.class(tool);
        let call = Proposal { tool, class: class.unwrap_or(&unknown), known: class.is_some(), args, from };
        let mut judgement = decide(session, &call, &self.consents);
        if call.class.verdict != Verdict::Allow {
            let near = self.catalogue.near(tool).map(|near| format!("; did you mean `{near}`?"));
            let reason = if call.known {
                format!("the catalogue says `{}` for `{tool}`", call.class.verdict)
            } else {
                format!("the catalogue does not name `{tool}`{}", near.unwrap_or_default())
            };
            let finding = Finding { verdict: call.class.verdict, rule: "catalogue".to_owned(), reason };
            judgement.findings.push(finding);
        }
        if let Some(Floor { verdict, rule, reason }) = (self.policy)(tool, call.class, args) {
            judgement.findings.push(Finding { verdict, rule, reason });
        }
        let said = said(&judgement.findings);
        session.asks_nothing();
        match said.verdict {
            Verdict::Allow => judgement.releases.iter().for_each(|from| session.released(from)),
            Verdict::Ask => session.asks(tool, judgement.endorses),
            Verdict::Disabled => {}
        }
        Ok(said)
    }

    /// A reader in quarantine has one tool, `return`, and returns no text.
    fn returned(&mut self, parent: &str, number: usize, tool: &str, args: &Map<String, Value>) -> Said {
        let block = |reason: &str| Said {
            verdict: Verdict::Disabled,
            rule: "quarantine".to_owned(),
            reason: reason.to_owned(),
        };
        if tool != "return" {
            return block("a reader in quarantine has no tool but `return`");
        }
        let (Some(session), Some(value), 1) = (self.sessions.get_mut(parent), args.get("value"), args.len())
        else {
            return block("`return` takes one argument, `value`");
        };
        let from = [number].into();
        let releasable = match kind(value) {
            Kind::Flag | Kind::Number | Kind::Date => true,
            Kind::Name => session.is_listed(value),
            Kind::Text => false,
        };
        if !releasable {
            return block(
                "only a number, a date, yes or no, and a name that a tool listed leave the quarantine",
            );
        }
        if !session.may_release(&from) {
            return block("no more values may be released from this answer");
        }
        session.released(&from);
        let level = session.answer(number).map_or(Level::Restricted, |answer| answer.label.level());
        session.learn(Label::trusted(level));
        Said {
            verdict: Verdict::Allow,
            rule: "quarantine.release".to_owned(),
            reason: format!("a typed value is released, and the session now knows {level} data"),
        }
    }

    pub(super) fn result(
        &mut self,
        name: &str,
        tool: &str,
        text: &str,
        sent: &[Sent],
    ) -> Result<Taken, String> {
        if self.readers.contains_key(name) {
            return Err(format!(
                "`{name}` is a reader in quarantine: it has no tools, so nothing answers it"
            ));
        }
        let session = self.sessions.get_mut(name).ok_or_else(|| no_session(name))?;
        let unknown = ToolClass::unknown();
        let class = self.catalogue.class(tool).unwrap_or(&unknown);
        let label = sent.iter().fold(class.answers(), |label, sent| label.join(sent.label()));
        if session.answers().len() >= MOST_ANSWERS {
            session.learn(WORST);
            return Err(format!("`{name}` has {MOST_ANSWERS} answers: close it and open another"));
        }
        let hidden = self.quarantine == Quarantine::On && label.is_untrusted();
        session.answered(Answer::new(tool, label, hidden, text, class.lists_names()));
        if !hidden {
            return Ok(Taken::Shown(session.label()));
        }
        let number = session.answers().len() - 1;
        let reader = format!("{name}/reader-{number}");
        self.readers.insert(reader.clone(), (name.to_owned(), number));
        Ok(Taken::Hidden(reader))
    }

    pub(super) fn reveal(&mut self, name: &str) -> Result<Label, String> {
        let session = self.sessions.get_mut(name).ok_or_else(|| no_session(name))?;
        session.reveal();
        Ok(session.label())
    }

    /// Counts what could not be read as the worst answer: in that session, or in every one where it is not known.
    pub(super) fn distrust(&mut self, name: Option<&str>) {
        match name.and_then(|name| self.sessions.get_mut(name)) {
            Some(session) => session.learn(WORST),
            None => self.sessions.values_mut().for_each(|session| session.learn(WORST)),
        }
    }
}

/// What an answer that nobody could read may have held.
const WORST: Label = Label::untrusted(Level::Restricted);

/// A label that a host sends with an answer. It can only raise what the catalogue says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub level: Option<Level>,
    /// Whether the service or the person wrote it; anybody else is untrusted.
    pub own: bool,
}

impl Sent {
    fn label(self) -> Label {
        let level = self.level.unwrap_or(Level::Public);
        if self.own { Label::trusted(level) } else { Label::untrusted(level) }
    }
}

fn no_session(name: &str) -> String {
    format!("no session `{name}` is open: send `{{\"op\":\"open\",\"session\":…,\"prompt\":…}}` first")
}

/// The strictest finding, and every reason of that weight.
fn said(findings: &[Finding]) -> Said {
    let Some(worst) = findings.iter().max_by_key(|finding| finding.verdict) else {
        return Said {
            verdict: Verdict::Allow,
            rule: "catalogue".to_owned(),
            reason: "nothing that was read speaks against it".to_owned(),
        };
    };
    let same: Vec<&Finding> = findings.iter().filter(|finding| finding.verdict == worst.verdict).collect();
    Said {
        verdict: worst.verdict,
        rule: same.first().map_or_else(String::new, |finding| finding.rule.clone()),
        reason: same.iter().map(|finding| finding.reason.as_str()).collect::<Vec<_>>().join("; "),
    }
}
