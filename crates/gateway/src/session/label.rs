//! What the session knows: raised, journaled and told before anything follows from it, and asked before anything is sent.
//!
//! The label itself is the session's, a fold of its events; here it is only ever raised, and never copied to be asked later.

use enclos_core::flow::{self, Destination};
use enclos_core::ids::{CallId, RuleId};
use enclos_core::label::{Label, Level, Provenance};
use enclos_core::noun::listed;
use enclos_core::policy::{Decision, Raise, Scope};
use enclos_core::session::{Event, Files};
use enclos_core::verdict::Verdict;
use enclos_protocol::card::Raises;
use enclos_protocol::event::Body;
use enclos_sandbox::FileOp;
use serde_json::json;

use super::entry::facts;
use super::handle::of;
use super::record::Facts;
use super::{Exit, Finish, Halt, Live};
use crate::changes::{self, in_workspace};
use crate::changeset;
use crate::effects::Action;
use crate::held::Levels;
use crate::masks;

impl Live {
    /// The session learns something. Nothing is recorded where it knows as much already.
    pub(super) async fn know(
        &mut self,
        label: Label,
        source: String,
        call: Option<CallId>,
    ) -> Result<(), Halt> {
        let from = self.state.label();
        if from.covers(label) {
            return Ok(());
        }
        let written = if label.level() > from.level() { self.written().await } else { Files::new() };
        let of = call.as_ref().and_then(|call| self.find(call)).map(|call| of(&call));
        self.record(Event::Raised { label, source: source.clone(), call, written }, Facts::new()).await?;
        self.teller.tell(Body::LabelRaised { from, to: self.state.label(), source, of });
        Ok(())
    }

    /// What the session changed so far, so that its files do not count as knowing what it only learns now. Where that
    /// cannot be found out they do.
    async fn written(&self) -> Files {
        let (root, layer, elsewhere) = (self.repo.root.clone(), self.layer.clone(), self.elsewhere.clone());
        let found = tokio::task::spawn_blocking(move || {
            elsewhere.map_or(Ok(()), |elsewhere| elsewhere.fetch())?;
            changes::written(&root, &layer)
        });
        found.await.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// What is asked about each file of the change set.
    pub(super) fn levels(&self) -> Levels {
        Levels::of(&self.state, &self.policy)
    }

    /// An open sandbox shows the project: the session has its level, and its text's provenance.
    pub(super) async fn know_project(&mut self) -> Result<(), Halt> {
        let labels = &self.policy.settings().labels;
        let label = Label::new(labels.project(), labels.repository());
        self.know(label, "project".to_owned(), None).await
    }

    /// Puts into the sandbox what is not above what the session knows. What cannot be put there is told.
    pub(super) async fn unmask(&mut self) -> Result<(), Halt> {
        let level = self.state.label().level();
        let due = self.masks.due(level);
        if due.is_empty() {
            return Ok(());
        }
        let sandbox = self.sandbox.clone();
        let done = tokio::task::spawn_blocking(move || masks::put(&sandbox, due)).await.unwrap_or_default();
        let (there, others) = self.masks.settle(done);
        changeset::record_unmasked(&self.layer, &there)
            .map_err(|error| Halt::ChangeSet(error.to_string()))?;
        self.remark(
            "sandbox.unmasked",
            facts([("level", json!(level)), ("whole", json!(others.is_empty()))]),
        )
        .await?;
        if !others.is_empty() {
            self.teller.notice(format!("still not shown in the sandbox: {}", listed(others.iter())));
        }
        Ok(())
    }

    /// Whether what an action reads is one of the files that are masked.
    fn is_masked(&self, action: &Action) -> bool {
        let Action::File(FileOp::Read { path, .. }) = action else { return false };
        self.masks.level(in_workspace(path)).is_some()
    }

    /// The level of what a path names.
    fn level_of(&self, path: &str) -> Level {
        let path = in_workspace(path);
        let by_path = self.policy.settings().labels.of_path(path);
        self.masks.level(path).map_or(by_path, |masked| masked.join(by_path))
    }

    /// What the model may be sent. One that a person named on their own gateway has the project's level.
    fn clearance(&self) -> Level {
        let labels = &self.policy.settings().labels;
        labels.clearance(&self.model.name()).unwrap_or_else(|| labels.project())
    }

    /// The end of a run whose model may not be sent what the session knows.
    pub(super) fn model_not_cleared(&self) -> Option<Finish> {
        let model = Destination::new(format!("model:{}", self.model.name()), self.clearance());
        if flow::flow(self.state.label(), &model, &[]) == flow::Flow::Pass {
            return None;
        }
        Some(Finish::new(
            Exit::Refused,
            format!(
                "the session knows {} data, and the model `{}` may be sent {} at most: name a model that is cleared \
                 for it in `[[labels.model]]` of the policy",
                self.state.label().level(),
                self.model.name(),
                model.class()
            ),
        ))
    }

    /// The label that the session has once it has read what this action reads, where that is more than it knows.
    pub(super) fn raised_by(&self, action: &Action) -> Option<Label> {
        let Action::File(FileOp::Read { path, .. }) = action else { return None };
        let level = self.level_of(path);
        let label = self.state.label().join(Label::new(level, Provenance::Trusted));
        (label != self.state.label()).then_some(label)
    }

    /// Hardens a verdict by what the call would make the session know. It never softens one.
    pub(super) fn harden_by_label(&self, action: &Action, decision: &mut Decision) {
        let Some(label) = self.raised_by(action) else { return };
        let clearance = self.clearance();
        if !self.sandbox.can_unmask() && self.is_masked(action) {
            let reason = format!("the file is {}, and an execution host is not brought it", label.level());
            harden(decision, Verdict::Disabled, "label.place", reason);
        } else if !label.level().may_flow_to(clearance) {
            let reason = format!(
                "the file is {}, and the model `{}` may be sent {clearance} at most",
                label.level(),
                self.model.name()
            );
            harden(decision, Verdict::Disabled, "label.model", reason);
        } else if self.policy.settings().labels.raise() == Raise::Ask {
            let reason = format!("the file is {}, above what the session knows", label.level());
            harden(decision, Verdict::Ask, "label.raise", reason);
        }
    }

    /// What a card says of it.
    pub(super) fn raises(&self, action: &Action) -> Option<Raises> {
        let to = self.raised_by(action)?;
        let forbids = format!(
            "from then on nothing that the session writes leaves to a place below {}, and there is no way back",
            to.level()
        );
        Some(Raises { from: self.state.label(), to, forbids })
    }
}

/// Makes a decision at least as strict.
fn harden(decision: &mut Decision, verdict: Verdict, rule: &str, reason: String) {
    if verdict < decision.verdict {
        return;
    }
    decision.verdict = verdict;
    decision.rule = RuleId::new(rule);
    decision.scope = Scope::BuiltIn;
    "defaults".clone_into(&mut decision.source);
    decision.reason = reason;
    decision.remember = false;
}
