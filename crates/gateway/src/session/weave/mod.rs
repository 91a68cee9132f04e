//! What a session's events leave in its lineage: a record for each message, result, answer and hunk, linked to what it was
//! made of.
//!
//! An answer is made of a snapshot of the context, and a snapshot of the one before and of what is new, so links grow in line
//! with the turns. Files and commands are linked through the workspace: a path that a call names is declared, everything
//! else is assumed. Nothing here lowers a label: a record has the session's label at the time, joined with its inputs'.

mod call;
mod made;

use std::collections::BTreeMap;

use enclos_core::call::Call;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{SessionId, UserId};
use enclos_core::label::Label;
use enclos_core::lineage::{Change, Draft, Input, Kind, LineageId, Moment, Origin, SourceType};
use enclos_core::session::{Event, label_of_message};
use enclos_store::{CommitKey, Node, Store, StoreError};

pub(crate) use made::{Part, PartHunk, Parts, sent};

/// Records of a session that are read when it is taken up again.
const MOST_READ: usize = 100_000;

/// A record that something else may be made of.
#[derive(Clone, Debug)]
struct Known {
    id: LineageId,
    label: Label,
}

/// The lineage of a session at work.
#[derive(Clone, Debug)]
pub(crate) struct Weaver {
    session: SessionId,
    person: UserId,
    last: u32,
    /// The last snapshot of the context.
    snapshot: Option<Known>,
    /// What the model will be shown beyond it.
    fresh: Vec<Known>,
    /// What the model answered last.
    answered: Option<Known>,
    /// The last thing that may have changed the workspace.
    work: Option<Known>,
    /// The last version of each path that a call wrote.
    written: BTreeMap<String, Known>,
    /// The last result of each path that a call read.
    read: BTreeMap<String, Known>,
    /// The last change set.
    diff: Option<Known>,
    /// What the next change set is.
    made: Option<Parts>,
}

/// What is known when an event is recorded.
pub(crate) struct View<'v> {
    /// The time.
    pub time: Moment,
    /// What the session knows with this event.
    pub label: Label,
    /// The calls of its turn.
    pub calls: &'v [Call],
    /// The model.
    pub model: &'v str,
    /// The key that commits to content.
    pub key: &'v CommitKey,
}

/// A record before it has a number.
struct Sketch<'s> {
    kind: Kind,
    source: (SourceType, &'s str),
    method: &'s str,
    content: &'s str,
    record_id: Option<String>,
    label: Label,
    reason: &'s str,
    change: Option<(&'s str, String, &'s str)>,
    inputs: Vec<(Known, bool)>,
}

impl Weaver {
    /// The lineage of a session that has none yet.
    pub(crate) fn new(session: SessionId, person: UserId) -> Self {
        Self {
            session,
            person,
            last: 0,
            snapshot: None,
            fresh: Vec::new(),
            answered: None,
            work: None,
            written: BTreeMap::new(),
            read: BTreeMap::new(),
            diff: None,
            made: None,
        }
    }

    /// The lineage of a session as it is stored.
    ///
    /// # Errors
    /// What the store reports.
    pub(crate) fn of_store(store: &Store, session: SessionId, person: UserId) -> Result<Self, StoreError> {
        let mut weaver = Self::new(session, person);
        let last = store.lineage_last(&weaver.session)?;
        let after = last.saturating_sub(u32::try_from(MOST_READ).unwrap_or(u32::MAX));
        for node in store.lineage_of_session(&weaver.session, after, MOST_READ)? {
            if !node.archived {
                weaver.remember(&node);
            }
        }
        weaver.last = last;
        Ok(weaver)
    }

    fn remember(&mut self, node: &Node) {
        let known = Known { id: node.record.lineage_id.clone(), label: node.label() };
        self.note(node.kind, &node.record.origin, known);
    }

    /// Takes note of a record that was made.
    fn note(&mut self, kind: Kind, origin: &Origin, known: Known) {
        match kind {
            Kind::ContextSnapshot => {
                self.fresh.clear();
                self.snapshot = Some(known);
                return;
            }
            Kind::Diff => {
                self.diff = Some(known);
                return;
            }
            Kind::DiffHunk | Kind::MessageOut | Kind::Export => return,
            Kind::FileVersion => {
                self.written.insert(origin.source_name.clone(), known.clone());
                self.work = Some(known.clone());
            }
            Kind::ToolResult if origin.source_type == SourceType::Command => self.work = Some(known.clone()),
            Kind::ToolResult if origin.access_method == "read" => {
                self.read.insert(origin.source_name.clone(), known.clone());
            }
            Kind::LlmOutput => self.answered = Some(known.clone()),
            Kind::Prompt | Kind::ExternalInput | Kind::ToolResult | Kind::Aggregate | Kind::MemoryItem => {}
        }
        self.fresh.push(known);
    }

    /// Says what the next change set is.
    pub(crate) fn expect(&mut self, made: Parts) {
        self.made = Some(made);
    }

    /// The records that an event leaves.
    pub(crate) fn of_event(&mut self, event: &Event, view: &View<'_>) -> Vec<Draft> {
        match event {
            Event::Said { text, by } => self.said(text, by, view).into_iter().collect(),
            Event::Edited { by, arguments, .. } => {
                self.said(arguments, &DecidedBy::Human(by.clone()), view).into_iter().collect()
            }
            Event::Raised { label, source, call: None, .. } => {
                let sketch = Sketch {
                    kind: Kind::ExternalInput,
                    source: (SourceType::Project, source),
                    method: "policy",
                    content: source,
                    record_id: None,
                    label: *label,
                    reason: "the level that the policy gives it",
                    change: None,
                    inputs: Vec::new(),
                };
                self.draw(sketch, view).into_iter().collect()
            }
            Event::Answered(answer) => self.answered(answer, view),
            Event::Compacted { summary, .. } => {
                self.snapshot("compacted", "summarised by the model", summary, view).into_iter().collect()
            }
            Event::Finished { call, output } => self.result(call, output, view).into_iter().collect(),
            Event::Failed { call, error } => self.result(call, error, view).into_iter().collect(),
            Event::Reviewing { .. } => self.change_set(view),
            _ => Vec::new(),
        }
    }

    fn said(&mut self, text: &str, by: &DecidedBy, view: &View<'_>) -> Option<Draft> {
        let source = match by {
            DecidedBy::Human(user) => (SourceType::Person, user.as_str()),
            DecidedBy::Automation(rule) => (SourceType::Program, rule.as_str()),
        };
        let sketch = Sketch {
            kind: Kind::Prompt,
            source,
            method: "prompt",
            content: text,
            record_id: None,
            label: label_of_message(by),
            reason: "who typed it, and where",
            change: None,
            inputs: Vec::new(),
        };
        self.draw(sketch, view)
    }

    /// A snapshot of the context: the one before, and what is new.
    fn snapshot(&mut self, word: &str, how: &str, content: &str, view: &View<'_>) -> Option<Draft> {
        let inputs: Vec<_> =
            self.snapshot.iter().chain(&self.fresh).map(|known| (known.clone(), true)).collect();
        let session = self.session.clone();
        self.draw(
            Sketch {
                kind: Kind::ContextSnapshot,
                source: (SourceType::Session, session.as_str()),
                method: "context",
                content,
                record_id: None,
                label: view.label,
                reason: "what the session knew",
                change: Some((word, how.to_owned(), "gateway")),
                inputs,
            },
            view,
        )
    }

    fn answered(&mut self, answer: &enclos_core::session::Answer, view: &View<'_>) -> Vec<Draft> {
        // The digest of a snapshot is over the names of what is in it: its content is that of its inputs.
        let names: Vec<String> =
            self.snapshot.iter().chain(&self.fresh).map(|known| known.id.to_string()).collect();
        let snapshot = self.snapshot("merged", "what the model was shown", &names.join("\n"), view);
        let mut content = answer.text.clone();
        for call in &answer.calls {
            content.push('\n');
            content.push_str(&call.tool);
            content.push(' ');
            content.push_str(&call.arguments);
        }
        let inputs = self.snapshot.iter().map(|known| (known.clone(), true)).collect();
        let output = self.draw(
            Sketch {
                kind: Kind::LlmOutput,
                source: (SourceType::Model, view.model),
                method: "model",
                content: &content,
                record_id: None,
                label: view.label,
                reason: "everything that the model was shown",
                change: Some(("answered", "by the model, from its context".to_owned(), view.model)),
                inputs,
            },
            view,
        );
        snapshot.into_iter().chain(output).collect()
    }

    /// Gives a record its number, and takes note of it. `None` once a session has as many as it can have.
    fn draw(&mut self, sketch: Sketch<'_>, view: &View<'_>) -> Option<Draft> {
        let id = LineageId::of(&self.session, self.last.checked_add(1)?)?;
        self.last = id.number();
        let label = sketch.inputs.iter().fold(sketch.label, |label, (known, _)| label.join(known.label));
        let mut inputs: Vec<Input> = Vec::new();
        for (known, declared) in sketch.inputs {
            if inputs.iter().all(|input| input.id != known.id) {
                inputs.push(if declared { Input::declared(known.id) } else { Input::assumed(known.id) });
            }
        }
        let change = sketch.change.filter(|_| !inputs.is_empty()).map(|(word, description, agent)| Change {
            word: word.to_owned(),
            description,
            agent: agent.to_owned(),
            inputs,
        });
        let origin = Origin {
            source_type: sketch.source.0,
            source_name: sketch.source.1.to_owned(),
            record_id: sketch.record_id,
            record_type: Some(sketch.kind.as_str().to_owned()),
            accessed_at: view.time,
            accessed_by: self.person.as_str().to_owned(),
            access_method: sketch.method.to_owned(),
        };
        self.note(sketch.kind, &origin, Known { id: id.clone(), label });
        Some(Draft {
            id,
            kind: sketch.kind,
            content: view.key.digest(sketch.content.as_bytes()),
            origin,
            label,
            reason: sketch.reason.to_owned(),
            can_be_downgraded: true,
            change,
            sent: None,
            lowering: None,
        })
    }
}

#[cfg(test)]
mod tests;
