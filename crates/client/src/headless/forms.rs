//! The three forms of a headless run's output: text, one JSON object, a line for each event.
//!
//! Data goes to the standard output, progress to the standard error.

use enclos_core::ids::SessionId;
use enclos_core::verdict::Verdict;
use enclos_protocol::event::{ApprovalState, Body, Event, SessionState, Speaker};
use serde_json::{Value, json};

use crate::cli::Output;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, prose};
use crate::render::transcript::Transcript;
use crate::style::Role;
use crate::text;
use crate::world::{Look, World};

/// What is remembered of the events for the end.
#[derive(Debug, Default)]
struct Facts {
    message: String,
    changeset: Value,
    budget: Value,
    refused: Vec<Value>,
    state: Option<SessionState>,
    next_step: String,
}

/// A form of output.
pub(crate) struct Form {
    output: Output,
    look: Look,
    facts: Facts,
    transcript: Transcript,
    /// A message that is progress when a call follows it, and the last word when none does.
    held: Option<Event>,
}

impl Form {
    /// An output of this form.
    pub(crate) fn new(output: Output, look: Look) -> Self {
        Self {
            output,
            look,
            facts: Facts::default(),
            transcript: Transcript::new(look.width, false),
            held: None,
        }
    }

    /// One more event.
    pub(crate) fn event(&mut self, world: &mut World<'_>, event: &Event) -> Result<(), CommandError> {
        if self.output == Output::StreamJson {
            return world.json(event);
        }
        self.facts.take(&event.body);
        if self.output == Output::Text {
            self.progress(world, event);
        }
        Ok(())
    }

    fn progress(&mut self, world: &mut World<'_>, event: &Event) {
        let last_words = matches!(&event.body, Body::Message { role: Speaker::Assistant, .. });
        let follows = last_words || matches!(&event.body, Body::CallGenerated { .. });
        if let Some(held) = self.held.take_if(|_| follows) {
            self.show(world, &held);
        }
        if last_words {
            self.held = Some(event.clone());
        } else if !matches!(&event.body, Body::Finished { .. }) {
            // What is left to do is part of the output itself.
            self.show(world, event);
        }
    }

    fn show(&mut self, world: &mut World<'_>, event: &Event) {
        let rows = self.transcript.event(event, (world.now)());
        world.err_rows(self.look, &rows);
    }

    /// The end of the run.
    pub(crate) fn end(
        &mut self,
        world: &mut World<'_>,
        session: &SessionId,
        exit: Exit,
    ) -> Result<(), CommandError> {
        match self.output {
            Output::StreamJson => Ok(()),
            Output::Json => {
                let facts = &self.facts;
                world.json(&json!({
                    "session": session,
                    "state": facts.state,
                    "exit_code": exit.code(),
                    "message": facts.message,
                    "changeset": facts.changeset,
                    "budget": facts.budget,
                    "refused": facts.refused,
                    "next_step": facts.next_step,
                }))
            }
            Output::Text => self.text(world, session, exit),
        }
    }

    fn text(&self, world: &mut World<'_>, session: &SessionId, exit: Exit) -> Result<(), CommandError> {
        if let Some(Event { body: Body::Message { text, .. }, .. }) = &self.held {
            let rows = prose(&Gutter::default(), Role::Plain, text, self.look.width);
            world.rows(self.look, &rows)?;
        }
        let number = |key: &str| self.facts.changeset.get(key).and_then(Value::as_u64).unwrap_or(0);
        let files = self.facts.changeset.get("files").and_then(Value::as_array).map_or(0, Vec::len);
        let summary = text::headless_summary(
            session.as_str(),
            &text::change_sum(files, number("insertions"), number("deletions")),
            self.facts.refused.len(),
            exit.code(),
        );
        let mut lines = summary;
        lines.extend(Some(self.facts.next_step.clone()).filter(|step| !step.is_empty()));
        let rows: Vec<_> = lines
            .iter()
            .flat_map(|line| prose(&Gutter::default(), Role::Dim, line, self.look.width))
            .collect();
        world.rows(self.look, &rows)
    }
}

impl Facts {
    fn take(&mut self, body: &Body) {
        match body {
            Body::Message { role: Speaker::Assistant, text } => self.message.clone_from(text),
            Body::Opened(opened) => self.budget = json!(opened.budget),
            Body::Budget(view) => self.budget = json!(view),
            Body::ChangeSet { files, insertions, deletions, flagged, digest } => {
                self.changeset = json!({
                    "files": files,
                    "insertions": insertions,
                    "deletions": deletions,
                    "flagged": flagged,
                    "digest": digest,
                });
            }
            Body::CallDecided { of, verdict: Verdict::Disabled, decided_by, rule, reason, .. } => {
                self.refuse(of.call.as_str(), json!({
                    "call": of.call, "tool": of.tool, "decided_by": decided_by, "rule": rule, "reason": reason,
                }));
            }
            Body::ApprovalDecided { of, state: ApprovalState::Denied, decided_by, .. } => {
                self.refuse(of.call.as_str(), json!({
                    "call": of.call, "tool": of.tool, "decided_by": decided_by, "rule": null, "reason": "",
                }));
            }
            Body::State { state } => self.state = Some(*state),
            Body::Finished { session_state, next_step, .. } => {
                self.state = Some(*session_state);
                self.next_step.clone_from(next_step);
            }
            _ => {}
        }
    }

    /// Remembers a refusal, once for each call; the last word has the rule.
    fn refuse(&mut self, call: &str, fact: Value) {
        self.refused.retain(|known| known.get("call").and_then(Value::as_str) != Some(call));
        self.refused.push(fact);
    }
}

/// An error before there is a session, in the form that was asked for.
pub(crate) fn failed(
    world: &mut World<'_>,
    output: Output,
    error: &CommandError,
) -> Result<(), CommandError> {
    if output != Output::Json {
        return Ok(());
    }
    world.json(&json!({
        "session": null,
        "exit_code": error.exit.code(),
        "error": { "fault": error.fault, "message": error.message, "hints": error.hints },
    }))
}
