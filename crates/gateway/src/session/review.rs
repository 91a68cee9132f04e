//! The end of a turn, and the one door out: the change set, shown, then accepted, refused or left.

use std::path::Path;

use enclos_core::budget::Exhausted;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::Digest;
use enclos_core::noun::count;
use enclos_core::session::{End, Event, Next, Outcome, Session};
use enclos_protocol::api::Answering;
use enclos_protocol::changeset::{AppliedView, ChangeSetView};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::{Body, SessionState, Speaker};
use enclos_protocol::order::Order;
use enclos_store::Lease;
use serde_json::json;

use super::entry::facts;
use super::record::Facts;
use super::{Exit, Finish, Flow, Halt, Live, open, record};
use crate::changes;
use crate::changeset::{ChangeSet, Choice};
use crate::clock::Clock;
use crate::held::{self, Levels};

impl Live {
    /// The turn is over: what came of it is shown, and the person is waited for.
    pub(super) async fn end_of_turn(&mut self, end: End) -> Result<Flow, Halt> {
        if let Some(text) = self.next_message() {
            return self.say(text).await;
        }
        if end == End::Input {
            return self.await_orders(Exit::Done).await;
        }
        let finished = end == End::Answered;
        let exit = match end {
            End::Budget => Exit::Budget,
            End::Interrupted => Exit::Interrupted,
            End::Input | End::Answered | End::Refused | End::Undone => Exit::Done,
        };
        self.review(exit, finished).await
    }

    /// The budget is spent: a person is asked for more; without one the run ends here, and can be taken up again.
    pub(super) async fn ask_extension(&mut self, spent: Exhausted) -> Result<Flow, Halt> {
        let left = self.state.budget().extensions_left();
        let person = self.answering == Answering::Person;
        if let Some(text) = self.next_message().filter(|_| person) {
            return self.say(text).await;
        }
        self.record(Event::ExtensionAsked { spent }, Facts::new()).await?;
        let grants = super::wait::amounts(self.state.budget().limits().extension());
        self.teller.tell(Body::ExtensionRequested { spent: spent.as_str().to_owned(), grants, left });
        if !person {
            self.teller.notice(format!(
                "the budget of {spent} is spent: the run stops here; {} left",
                count(left, "extension is", "extensions are")
            ));
            return self.review(Exit::Budget, false).await;
        }
        if left == 0 {
            self.teller
                .notice("no extension is left: a new message starts a fresh budget, or open a new session");
            let by = super::handle::automation("budget.spent");
            self.record(Event::ExtensionRefused { by }, Facts::new()).await?;
            return Ok(Flow::On);
        }
        self.await_extension().await
    }

    async fn await_extension(&mut self) -> Result<Flow, Halt> {
        loop {
            match self.next_order().await? {
                Order::Extend { granted } => {
                    let by = DecidedBy::Human(self.person.clone());
                    let event = if granted {
                        Event::ExtensionGranted { by: by.clone() }
                    } else {
                        Event::ExtensionRefused { by: by.clone() }
                    };
                    self.record(event, Facts::new()).await?;
                    self.teller.tell(Body::ExtensionDecided { granted, decided_by: by });
                    self.tell_budget();
                    if !granted {
                        self.last_summary().await?;
                    }
                    return Ok(Flow::On);
                }
                order @ (Order::Stop | Order::Leave | Order::Interrupt) => return self.ordered(order).await,
                Order::Say { text } => return self.say(text).await,
                Order::RevokeGrant { grant } => self.revoke_grant(&grant).await?,
                Order::Approve { .. }
                | Order::Reject { .. }
                | Order::Edit { .. }
                | Order::Accept { .. }
                | Order::Discard => {}
            }
        }
    }

    /// The first of the messages that came while the turn was under way.
    fn next_message(&mut self) -> Option<String> {
        (!self.queued.is_empty()).then(|| self.queued.remove(0))
    }

    async fn say(&mut self, text: String) -> Result<Flow, Halt> {
        let by = self.speaker();
        self.record(Event::Said { text: text.clone(), by }, Facts::new()).await?;
        self.teller.tell(Body::Message { role: Speaker::User, text });
        Ok(Flow::On)
    }

    /// Shows what the session made.
    async fn review(&mut self, exit: Exit, finished: bool) -> Result<Flow, Halt> {
        self.end_background_for_review().await?;
        if let Some(base) = self.base.take() {
            // A snapshot that failed leaves conflicts where there could be merges.
            drop(base.await);
        }
        let set = match self.computed().await? {
            Ok(set) => set,
            Err(order) => return self.ordered(order).await,
        };
        self.reviewed = Some(set.digest.clone());
        self.teller.tell(changes::told(&set));
        for remark in changes::remarks(&self.repo.root, &set) {
            self.teller.notice(remark);
        }
        if set.files.is_empty() {
            return self.nothing_made(exit, finished).await;
        }
        self.announce(&set).await?;
        self.record(Event::Reviewing { digest: set.digest.clone() }, changes::facts_of(&set)).await?;
        let wrote = self.write_patch(&set);
        match self.answering {
            Answering::Person => self.await_orders(exit).await,
            Answering::DemoYes => {
                let flagged = set.files.iter().filter(|file| !file.flags.is_empty());
                let flagged = flagged.map(|file| file.path.clone()).collect();
                self.accept_order(&set.digest, None, flagged, super::handle::automation("demo.yes")).await
            }
            Answering::Nobody(_) => {
                if let Err(error) = wrote {
                    return Ok(Flow::Finish(Finish::new(Exit::Failed, error)));
                }
                let id = self.lease.session();
                let go_on = match exit {
                    Exit::Budget if self.state.budget().extensions_left() == 0 => {
                        "   no extension is left: to go on, apply or discard, then: enclos run \"task\""
                            .to_owned()
                    }
                    Exit::Budget => format!("   or, to go on: enclos resume {id} --extend"),
                    Exit::Interrupted => format!("   or, to go on: enclos resume {id}"),
                    _ => String::new(),
                };
                let next =
                    format!("enclos diff {id}   then: enclos apply {id}   or: enclos discard {id}{go_on}");
                Ok(Flow::Finish(Finish::new(exit, next)))
            }
        }
    }

    /// Computes the change set beside the loop: an order to stop, leave or interrupt does not wait for it.
    async fn computed(&mut self) -> Result<Result<ChangeSet, Order>, Halt> {
        let (root, layer, elsewhere) = (self.repo.root.clone(), self.layer.clone(), self.elsewhere.clone());
        let levels = self.levels();
        let mut computing = tokio::task::spawn_blocking(move || {
            elsewhere.map_or(Ok(()), |elsewhere| elsewhere.fetch())?;
            change_set(Made { repo: &root, layer: &layer, levels: &levels })
        });
        loop {
            tokio::select! {
                done = &mut computing => {
                    let set = done.map_err(|error| Halt::ChangeSet(error.to_string()))?;
                    return set.map(Ok).map_err(|error| Halt::ChangeSet(error.message));
                }
                order = self.orders.next() => match order {
                    Order::Say { text } => self.queued.push(text),
                    Order::Stop | Order::Leave | Order::Interrupt => return Ok(Err(order)),
                    Order::RevokeGrant { grant } => self.revoke_grant(&grant).await?,
                    Order::Approve { .. }
                    | Order::Reject { .. }
                    | Order::Edit { .. }
                    | Order::Extend { .. }
                    | Order::Accept { .. }
                    | Order::Discard => {}
                },
            }
        }
    }

    /// Tells the lineage what the change set is, hunk by hunk.
    async fn announce(&mut self, set: &ChangeSet) -> Result<(), Halt> {
        let (root, layer, set) = (self.repo.root.clone(), self.layer.clone(), set.clone());
        let parts = tokio::task::spawn_blocking(move || changes::parts(&root, &layer, &set)).await;
        let parts = parts.map_err(|error| Halt::ChangeSet(error.to_string()))?;
        self.weaver.expect(parts.map_err(|error| Halt::ChangeSet(error.message))?);
        Ok(())
    }

    async fn nothing_made(&mut self, exit: Exit, finished: bool) -> Result<Flow, Halt> {
        if let Err(error) = self.write_patch_text(&[], &[]) {
            return Ok(Flow::Finish(Finish::new(Exit::Failed, error)));
        }
        let stays = self.conversation || !finished;
        if stays && self.answering == Answering::Person {
            return self.await_orders(exit).await;
        }
        let undone = self.state.next(self.clock.now_us()) == Next::EndOfTurn(End::Undone);
        // A turn that a refusal or an undo ended waits for a word of the person; it is not done.
        if exit == Exit::Done && !undone && finished {
            self.close(Outcome::NothingToDo, "nothing was changed".to_owned()).await?;
            return Ok(Flow::Finish(Finish::new(exit, String::new())));
        }
        let id = self.lease.session();
        let next = match exit {
            Exit::Budget if self.state.budget().extensions_left() == 0 => {
                "no extension is left: to go on, enclos run \"task\"".to_owned()
            }
            Exit::Budget => format!("enclos resume {id} --extend"),
            Exit::Interrupted => format!("enclos resume {id}"),
            _ if undone || !finished => format!("enclos resume {id} \"MESSAGE\""),
            _ => format!("enclos resume {id}"),
        };
        Ok(Flow::Finish(Finish::new(exit, next)))
    }

    /// Waits for what the person does with the turn's result.
    async fn await_orders(&mut self, exit: Exit) -> Result<Flow, Halt> {
        self.show_waiting();
        loop {
            match self.orders.next().await {
                Order::Say { text } => return self.say(text).await,
                Order::Accept { files, flagged } => {
                    // What is accepted is what was shown.
                    let Some(digest) = self.reviewed.clone() else { continue };
                    let by = DecidedBy::Human(self.person.clone());
                    return self.accept_order(&digest, files, flagged, by).await;
                }
                Order::Discard => {
                    let reason = format!("refused by {}", self.person);
                    self.close(Outcome::Rejected, reason).await?;
                    return Ok(Flow::Finish(Finish::new(exit, String::new())));
                }
                Order::Leave => {
                    let id = self.lease.session();
                    let made = self.state.phase() == enclos_core::session::Phase::Reviewing;
                    let review =
                        if made { format!("enclos diff {id}   enclos apply {id}   ") } else { String::new() };
                    return Ok(Flow::Finish(Finish::new(exit, format!("{review}enclos resume {id}"))));
                }
                Order::Stop => return self.stop().await,
                Order::RevokeGrant { grant } => self.revoke_grant(&grant).await?,
                Order::Interrupt
                | Order::Approve { .. }
                | Order::Reject { .. }
                | Order::Edit { .. }
                | Order::Extend { .. } => {}
            }
        }
    }

    async fn accept_order(
        &mut self,
        digest: &Digest,
        files: Option<Vec<String>>,
        flagged: Vec<String>,
        by: DecidedBy,
    ) -> Result<Flow, Halt> {
        let chosen = changes::Chosen { files, flagged, release: None };
        let levels = self.levels();
        let made = Made { repo: &self.repo.root, layer: &self.layer, levels: &levels };
        let done = accept(&self.lease, &self.clock, made, digest, &chosen, &by);
        match done {
            Ok((view, record)) => {
                let merged = if view.merged.is_empty() { "" } else { ", some merged three-way" };
                let count = view.files.len();
                let files = if count == 1 { "file" } else { "files" };
                self.teller
                    .notice(format!("{count} {files} applied to {}{merged}", self.repo.root.display()));
                self.record_applied(record).await?;
                if view.left.is_empty() {
                    self.close(Outcome::Accepted, "the change set was accepted".to_owned()).await?;
                    return Ok(Flow::Finish(Finish::new(Exit::Done, String::new())));
                }
                self.teller.notice(format!("left for later: {}", view.left.join(", ")));
                if self.answering == Answering::DemoYes {
                    return Ok(Flow::Finish(Finish::new(
                        Exit::Failed,
                        "some files were not applied".to_owned(),
                    )));
                }
                Ok(Flow::On)
            }
            Err(error) => {
                self.teller.notice(error.message);
                error.hints.into_iter().for_each(|hint| self.teller.notice(hint));
                if self.answering == Answering::DemoYes {
                    return Ok(Flow::Finish(Finish::new(
                        Exit::Failed,
                        "the change set was not applied".to_owned(),
                    )));
                }
                Ok(Flow::On)
            }
        }
    }

    /// Writes the patch where it was asked for: what is not flagged.
    fn write_patch(&mut self, set: &ChangeSet) -> Result<(), String> {
        if self.patch.is_none() {
            return Ok(());
        }
        let exported = changes::patch(&self.repo.root, &self.layer, set);
        let (bytes, omitted) = exported.map_err(|error| error.message)?;
        self.write_patch_text(&bytes, &omitted)
    }

    fn write_patch_text(&mut self, bytes: &[u8], omitted: &[String]) -> Result<(), String> {
        let Some(file) = &self.patch else { return Ok(()) };
        std::fs::write(file, bytes)
            .map_err(|error| format!("the patch cannot be written to `{}`: {error}", file.display()))?;
        if !omitted.is_empty() {
            let names = omitted.join(", ");
            self.teller.notice(format!("the patch omits what is flagged and needs its own yes: {names}"));
        }
        Ok(())
    }
}

/// Where a session's work is, and what its files know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    pub repo: &'a Path,
    pub layer: &'a Path,
    pub levels: &'a Levels,
}

/// What a session made, computed anew from its layer.
pub(crate) fn change_set(made: Made<'_>) -> Result<ChangeSet, ApiError> {
    changes::build(made.repo, made.layer, made.levels)
}

/// What a session made, to be shown.
pub(crate) fn view(made: Made<'_>) -> Result<ChangeSetView, ApiError> {
    changes::view(made.repo, made.layer, made.levels)
}

/// Applies the chosen files to the person's tree, all or nothing. The intent is in the journal before the first
/// byte is written. Gives what was done, and the facts for the entry that says so.
pub(crate) fn accept(
    lease: &Lease,
    clock: &Clock,
    made: Made<'_>,
    digest: &Digest,
    chosen: &changes::Chosen,
    by: &DecidedBy,
) -> Result<(AppliedView, Facts), ApiError> {
    let set = change_set(made)?;
    if set.digest != *digest {
        return Err(ApiError::new(
            Fault::Refused,
            "the change set is not the one that was shown: look at it again",
        ));
    }
    let choice = chosen.resolve(&set, lease.session())?;
    let released = released(lease, &set, &choice, chosen, by)?;
    let intent = enclos_store::Record {
        kind: "changeset.accepted".to_owned(),
        time_us: clock.now_us(),
        entry: facts([
            ("digest", json!(lease.commit_key().digest(set.digest.as_str().as_bytes()))),
            ("by", json!(by)),
            ("files", changes::names(&choice)),
            ("flagged", json!(chosen.flagged.len())),
            ("released", released),
        ]),
        ..enclos_store::Record::default()
    };
    lease.append_wait(vec![intent]).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
    let applied = changes::apply(made.repo, made.layer, &set, &choice, lease.session())?;
    let left: Vec<String> =
        set.files.iter().filter(|file| !choice.holds(&file.path)).map(|file| file.path.clone()).collect();
    let record = facts([
        ("digest", json!(lease.commit_key().digest(set.digest.as_str().as_bytes()))),
        ("written", json!(applied.written.len())),
        ("removed", json!(applied.removed.len())),
        ("unchanged", json!(applied.unchanged.len())),
        ("merged", json!(applied.merged.len())),
        ("left", json!(left.len())),
    ]);
    let session_state = if left.is_empty() { SessionState::Closed } else { SessionState::Reviewing };
    let files: Vec<String> =
        applied.written.into_iter().chain(applied.removed).chain(applied.unchanged).collect();
    Ok((AppliedView { files, merged: applied.merged, left, session_state }, record))
}

/// Which of the chosen files are released, under which rule and why, for the journal.
fn released(
    lease: &Lease,
    set: &ChangeSet,
    choice: &Choice,
    chosen: &changes::Chosen,
    by: &DecidedBy,
) -> Result<serde_json::Value, ApiError> {
    let by_person = matches!(by, DecidedBy::Human(_));
    let mut uses = Vec::new();
    for file in set.chosen(choice) {
        let Some(rule) = held::may_go(file, chosen.release.as_ref(), by_person)? else { continue };
        let reason = chosen.release.as_ref().map_or("", |release| release.reason.as_str());
        uses.push(json!({
            "path": file.path,
            "rule": rule,
            "label": file.label,
            "to": file.held.as_ref().map(|held| held.path),
            "reason": {"bytes": reason.len(), "digest": lease.commit_key().digest(reason.as_bytes())},
        }));
    }
    Ok(uses.into())
}

/// Closes a session whose loop is not at work, with its change set refused.
pub(crate) fn discard(lease: &Lease, clock: &Clock, state: &Session, by: &DecidedBy) -> Result<(), ApiError> {
    let event = Event::Closed { outcome: Outcome::Rejected, reason: "the change set was refused".to_owned() };
    let mut facts = facts([("by", json!(by))]);
    facts.extend(open::facts_of_end(state));
    close_quietly(lease, clock, &event, &facts)
}

/// Records the end of a session whose loop is not at work.
pub(crate) fn close_quietly(
    lease: &Lease,
    clock: &Clock,
    event: &Event,
    facts: &Facts,
) -> Result<(), ApiError> {
    let Event::Closed { outcome, .. } = event else { return Ok(()) };
    let mut last = open::single(event, facts, clock.now_us(), lease);
    last.state = Some(record::state_change(enclos_core::session::Phase::Closed(*outcome)));
    lease.append_wait(vec![last]).map(drop).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))
}
