//! From a proposal to its end or its start: judged, then refused, asked about, or started with its intent recorded.

use enclos_core::budget::{Budget, Cost, Exhausted};
use enclos_core::call::{Call, Canceled};
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, Digest, RuleId};
use enclos_core::policy::{Decision, OnAsk};
use enclos_core::session::{Approval, Event, Needs, Outcome, Remember, Settlement};
use enclos_core::verdict::Verdict;
use enclos_protocol::api::Answering;
use enclos_protocol::event::{ApprovalState, Body, Of};
use enclos_sandbox::FileOp;
use serde_json::json;

use super::entry::{self, facts};
use super::judge::{Decided, Judged};
use super::names::Named;
use super::record::Facts;
use super::{Exit, Finish, Flow, Halt, Live, card, grants};
use crate::effects::{self, Action, With};

/// Lines that a card may have. What cannot be shown whole is refused.
const MOST_LINES: usize = 2000;

/// What is to be done with a call that was judged.
enum Way {
    Start(DecidedBy, RuleId),
    Refuse(Canceled),
    Ask,
}

/// A call that is about to start.
struct Start {
    call: CallId,
    decided: Box<Decided>,
    by: DecidedBy,
    rule: RuleId,
}

impl Live {
    /// Judges calls that are due, in order, and starts those that may run.
    pub(super) async fn handle(&mut self, calls: Vec<CallId>) -> Result<Flow, Halt> {
        let mut starts = Vec::new();
        let mut budget = *self.state.budget();
        for id in calls {
            let Some(call) = self.state.calls().iter().find(|call| *call.id() == id).cloned() else {
                continue;
            };
            match afford(budget, &call, self.clock.now_us()) {
                Ok(rest) => budget = rest,
                Err(spent) => {
                    self.fail(&call, format!("budget: the session's {spent} are spent")).await?;
                    continue;
                }
            }
            match self.judge(&call) {
                Judged::Broken(error) => self.fail(&call, error).await?,
                Judged::Hidden(decision) => self.forbid(&call, &decision).await?,
                Judged::Decided(decided) => match self.way(&call, &decided) {
                    Way::Start(by, rule) => starts.push(Start { call: id, decided, by, rule }),
                    Way::Refuse(reason) if reason_is_policy(&reason) => {
                        self.forbid(&call, &decided.decision).await?;
                    }
                    Way::Refuse(reason) => self.refuse(&call, &decided, reason).await?,
                    Way::Ask => {
                        if let Flow::Finish(finish) = self.ask_person(&call, &decided).await? {
                            self.start(starts).await?;
                            return Ok(Flow::Finish(finish));
                        }
                    }
                },
            }
        }
        self.start(starts).await?;
        Ok(Flow::On)
    }

    /// Which way a judged call goes.
    fn way(&self, call: &Call, decided: &Decided) -> Way {
        let decision = &decided.decision;
        match decision.verdict {
            Verdict::Allow => Way::Start(DecidedBy::Automation(decision.rule.clone()), decision.rule.clone()),
            Verdict::Disabled => Way::Refuse(Canceled::Policy { rule: decision.rule.clone() }),
            Verdict::Ask => self.way_of_ask(call, decided),
        }
    }

    fn way_of_ask(&self, call: &Call, decided: &Decided) -> Way {
        let rule = &decided.decision.rule;
        if let Some((approval, Some(by))) = self.state.question(call.id()) {
            // An approval is for what was shown, and for its time.
            let in_time = self.clock.now_us() < approval.expires_us;
            let same = in_time && self.digest(call, decided, self.named(decided).as_ref()) == approval.digest;
            return if same { Way::Start(by.clone(), rule.clone()) } else { Way::Ask };
        }
        if let Some(who) = self.state.refuser(&self.action_digest(call, decided)) {
            return Way::Refuse(Canceled::Refused {
                who: who.clone(),
                word: Some("The same call was refused before; it is not asked again.".to_owned()),
            });
        }
        match self.grant_for(call, decided) {
            Some(grant) => Way::Start(automation(&format!("grant.{}", grant.id)), rule.clone()),
            None => Way::Ask,
        }
    }

    /// Tells and records that a call failed before it ran.
    pub(super) async fn fail(&mut self, call: &Call, error: String) -> Result<(), Halt> {
        let event = Event::Failed { call: call.id().clone(), error: error.clone() };
        self.record(event, facts([("tool", entry::short(call.tool(), self.lease.commit_key()))])).await?;
        self.teller.tell(Body::CallErrored { of: of(call), error, result: None });
        Ok(())
    }

    /// Forbidden by policy: canceled on surfaces where a person follows the run, errored elsewhere.
    async fn forbid(&mut self, call: &Call, decision: &Decision) -> Result<(), Halt> {
        let by = DecidedBy::Automation(decision.rule.clone());
        let facts = self.decision_facts(call, decision);
        if self.surface.cancels_forbidden() {
            let reason = Canceled::Policy { rule: decision.rule.clone() };
            let shown =
                format!("{} [{}, {}: {}]", decision.reason, decision.rule, decision.scope, decision.source);
            self.record(Event::Refused { call: call.id().clone(), reason }, facts).await?;
            self.tell_decided(call, decision, Verdict::Disabled, by);
            self.teller.tell(Body::CallCanceled { of: of(call), reason: shown });
        } else {
            let error = decision.for_model();
            self.record(Event::Failed { call: call.id().clone(), error: error.clone() }, facts).await?;
            self.tell_decided(call, decision, Verdict::Disabled, by);
            self.teller.tell(Body::CallErrored { of: of(call), error, result: None });
        }
        self.tell_budget();
        Ok(())
    }

    /// Refused by a person, or by automation in their place.
    async fn refuse(&mut self, call: &Call, decided: &Decided, reason: Canceled) -> Result<(), Halt> {
        let by = match &reason {
            Canceled::Refused { who, .. } => who.clone(),
            Canceled::Interrupted | Canceled::Policy { .. } | Canceled::Expired => {
                DecidedBy::Automation(decided.decision.rule.clone())
            }
        };
        let facts = self.decision_facts(call, &decided.decision);
        self.record(Event::Refused { call: call.id().clone(), reason: reason.clone() }, facts).await?;
        self.tell_decided(call, &decided.decision, Verdict::Disabled, by);
        self.teller.tell(Body::CallCanceled { of: of(call), reason: reason.describe() });
        Ok(())
    }

    /// Asks a person, or does what a run without one does.
    async fn ask_person(&mut self, call: &Call, decided: &Decided) -> Result<Flow, Halt> {
        let overtaken = self.state.question(call.id()).map(|(approval, _)| approval.id.clone());
        if let Some(approval) = overtaken {
            self.supersede(call, &approval).await?;
        }
        let no_program = decided.decision.person || decided.decision.quorum > 1;
        let refused = match self.answering {
            Answering::DemoYes if no_program => Some("demo.yes"),
            Answering::Nobody(_) if self.on_ask == OnAsk::Deny => Some("headless.on_ask"),
            Answering::DemoYes | Answering::Nobody(_) | Answering::Person => None,
        };
        if let Some(by) = refused {
            let reason = Canceled::Refused { who: automation(by), word: None };
            return self.refuse(call, decided, reason).await.map(|()| Flow::On);
        }
        if decided.decision.names.more {
            let error =
                "the command names more words than an approval can be bound to: split it into smaller ones";
            return self.fail(call, error.to_owned()).await.map(|()| Flow::On);
        }
        let named = self.named(decided);
        let approval = self.approval(call, decided, named.as_ref());
        let card = self.card(call, decided, named.as_ref(), &approval);
        if lines_to_show(&decided.action).max(card::lines(&card)) > MOST_LINES {
            let error =
                format!("a person cannot be shown over {MOST_LINES} lines: split the call into smaller ones");
            return self.fail(call, error).await.map(|()| Flow::On);
        }
        let facts = self.decision_facts(call, &decided.decision);
        let (id, kept) = (approval.id.clone(), entry::json(&card));
        self.record(
            Event::Asked { call: call.id().clone(), approval: Box::new(approval), card: kept },
            facts,
        )
        .await?;
        self.show_card(call, &id, card);
        if self.answering == Answering::Person {
            Ok(Flow::On)
        } else {
            self.without_a_person(call.id()).await
        }
    }

    /// The authority object that a person is asked for.
    fn approval(&self, call: &Call, decided: &Decided, named: Option<&Named>) -> Approval {
        let decision = &decided.decision;
        let minutes = self.policy.settings().expiry_minutes.unwrap_or(enclos_core::policy::EXPIRY_MINUTES);
        let lasts = i64::try_from(minutes).unwrap_or(30).saturating_mul(60_000_000);
        let session = self.lease.session().as_str();
        let tail = session.get(session.len().saturating_sub(8)..).unwrap_or(session);
        let mut requesters = vec![self.person.clone()];
        requesters.extend(self.state.editors(call.id()).cloned());
        requesters.dedup();
        let grantable = grants::is_grantable(decided, named).then(|| self.bound(call, decided));
        Approval {
            id: format!("ap_{tail}_{}", self.state.questions_asked() + 1),
            digest: self.digest(call, decided, named),
            action: self.action_digest(call, decided),
            expires_us: self.clock.now_us().saturating_add(lasts),
            needs: Needs {
                quorum: decision.quorum.max(1),
                role: decision.approvers,
                person: decision.person,
                separate: decision.quorum > 1,
            },
            requesters,
            patterns: if grantable.is_some() { self.patterns(decided) } else { Vec::new() },
            grantable,
        }
    }

    /// The first question that nobody is there to answer, once nothing runs any more.
    pub(super) fn unattended(&self) -> Option<CallId> {
        let runs = |call: &Call| matches!(call.state(), enclos_core::call::State::Calling { .. });
        if !matches!(self.answering, Answering::Nobody(_)) || self.state.calls().iter().any(runs) {
            return None;
        }
        self.state.pending().next().map(|(call, _)| call.clone())
    }

    /// What becomes of a question that nobody is there to answer. It is never allowed.
    pub(super) async fn without_a_person(&mut self, id: &CallId) -> Result<Flow, Halt> {
        let found = self.find(id).zip(self.state.question(id).map(|(approval, _)| approval.id.clone()));
        let Some((call, approval)) = found else { return Ok(Flow::On) };
        if self.answering == Answering::DemoYes {
            let by = automation("demo.yes");
            let answer = Settlement::Approved { by: by.clone(), remember: Remember::Nothing };
            self.record(Event::Settled { call: id.clone(), answer }, Facts::new()).await?;
            self.tell_settled(&call, &approval, ApprovalState::Approved, Some(by));
            return Ok(Flow::On);
        }
        match self.on_ask {
            OnAsk::Deny => {
                let by = automation("headless.on_ask");
                let answer = Settlement::Denied { by: by.clone(), word: None };
                self.settle_as_canceled(&call, answer, ApprovalState::Denied, Some(by)).await?;
                Ok(Flow::On)
            }
            OnAsk::Stop => {
                self.tell_unasked(&call);
                let reason = "an approval was needed and there was nobody to ask".to_owned();
                self.close(Outcome::Stopped, reason.clone()).await?;
                Ok(Flow::Finish(Finish::new(Exit::Approval, reason)))
            }
            OnAsk::Park => {
                self.tell_unasked(&call);
                let beyond = self.state.question(id).and_then(|(asked, _)| self.here().who_could(asked));
                let answer = match &beyond {
                    Some(who) => format!("it needs {who}: enclos reject {approval}"),
                    None => format!("enclos approve {approval}"),
                };
                let next = format!("{answer}   then: enclos resume {}", self.lease.session());
                Ok(Flow::Finish(Finish::new(Exit::Approval, next)))
            }
        }
    }

    /// Says which call needs a person whom a headless run does not have.
    fn tell_unasked(&mut self, call: &Call) {
        let arguments: String = call.arguments().chars().take(200).collect();
        self.teller
            .notice(format!("an approval is needed and there is nobody to ask: {} {arguments}", call.tool()));
    }

    /// Records the intents, then lets the calls run.
    async fn start(&mut self, starts: Vec<Start>) -> Result<(), Halt> {
        let calls: Vec<CallId> = starts.iter().map(|start| start.call.clone()).collect();
        let moment = self.keep_moment(&calls).await;
        // Under another policy than the one that they were judged by they wait to be judged again.
        if starts.is_empty() || self.take_policy().await? {
            return Ok(());
        }
        for start in &starts {
            if let Some(label) = self.raised_by(&start.decided.action) {
                let source = card::title(&start.decided.action);
                self.know(label, source, Some(start.call.clone())).await?;
            }
        }
        self.unmask().await?;
        let mut events = Vec::new();
        for start in &starts {
            let Some(call) = self.state.calls().iter().find(|call| *call.id() == start.call) else {
                continue;
            };
            let command = call.tool() == "bash";
            let mut facts = self.decision_facts(call, &start.decided.decision);
            facts.insert("arguments".into(), self.arguments_facts(&start.decided.args));
            if let Some(user) = self.granter(&start.by) {
                facts.insert("granted_by".into(), json!(user));
            }
            if let Some((_, kept)) = moment.as_ref().filter(|(changes, _)| *changes == start.call) {
                facts.insert("checkpoint".into(), json!(kept));
                let beside = self.background_names();
                if !beside.is_empty() {
                    facts.insert("checkpoint_beside".into(), json!(beside));
                }
            }
            let (decided_by, rule) = (start.by.clone(), start.rule.clone());
            let background = match &start.decided.action {
                Action::Command(run) => run.background.clone(),
                Action::File(_) | Action::Background(_) => None,
            };
            let call = start.call.clone();
            events.push((Event::Started { call, decided_by, rule, command, background }, facts));
        }
        let receipts = self.record_all(events).await?;
        for (start, receipt) in starts.into_iter().zip(receipts) {
            let Some(call) = self.state.calls().iter().find(|call| *call.id() == start.call).cloned() else {
                continue;
            };
            let mut decision = start.decided.decision;
            if let Some(user) = self.granter(&start.by) {
                decision.reason =
                    format!("under a grant that {user} gave for this session: {}", decision.reason);
            }
            self.tell_decided(&call, &decision, decision.verdict, start.by);
            self.teller.tell(Body::CallCalling { of: of(&call) });
            let (sandbox, reports) = (self.sandbox.clone(), self.reporter.clone());
            self.board.performs(&start.call, &start.decided.action);
            let with = With { keep: self.policy.settings().output_keep, known: self.board.known.clone() };
            effects::perform(receipt, sandbox, start.call, start.decided.action, with, reports);
        }
        Ok(())
    }

    pub(super) fn tell_decided(&mut self, call: &Call, decision: &Decision, verdict: Verdict, by: DecidedBy) {
        self.teller.tell(Body::CallDecided {
            of: of(call),
            verdict,
            decided_by: by,
            rule: decision.rule.clone(),
            reason: decision.reason.clone(),
            pieces: decision.pieces.clone(),
            shadow: decision.shadow.clone(),
        });
    }

    pub(super) fn tell_settled(
        &mut self,
        call: &Call,
        approval: &str,
        state: ApprovalState,
        decided_by: Option<DecidedBy>,
    ) {
        self.teller.tell(Body::ApprovalDecided {
            of: of(call),
            approval: approval.to_owned(),
            state,
            decided_by,
        });
    }

    fn decision_facts(&self, call: &Call, decision: &Decision) -> Facts {
        let mut facts = facts([
            ("tool", json!(call.tool())),
            ("verdict", json!(decision.verdict)),
            ("rule", json!(decision.rule)),
            ("scope", json!(decision.scope)),
            ("policy", json!(self.policy.digest())),
            ("pieces", entry::pieces(&decision.pieces, self.lease.commit_key())),
        ]);
        if !decision.shadow.is_empty() {
            facts.insert("shadow".into(), json!(decision.shadow));
        }
        facts
    }

    fn arguments_facts(&self, args: &enclos_core::args::Args) -> serde_json::Value {
        let key = self.lease.commit_key();
        let canonical = args.canonical();
        let path =
            args.value().get("path").and_then(|path| path.as_str()).map(|path| entry::short(path, key));
        json!({"bytes": canonical.len(), "digest": key.digest(canonical.as_bytes()), "path": path})
    }

    /// Digest of everything that an approval is for: session, tool and its definition, arguments, the content of
    /// the files that the call names, and the policy. `named`: what a command names, as it was looked at.
    pub(super) fn digest(&self, call: &Call, decided: &Decided, named: Option<&Named>) -> Digest {
        let definition = self.definition(call);
        let file = decided.args.value().get("path").and_then(|path| path.as_str());
        let files = match (named, file) {
            (Some(named), _) => named.bound(),
            (None, Some(path)) => self.content_digest(path),
            (None, None) => serde_json::Value::Null,
        };
        let all = json!([
            self.lease.session(),
            call.tool(),
            definition,
            decided.args.canonical(),
            files,
            self.policy.digest(),
            self.state.label(),
            self.raised_by(&decided.action),
        ]);
        self.lease.commit_key().digest(all.to_string().as_bytes())
    }

    /// The definition of a tool as the model was shown it.
    pub(super) fn definition(&self, call: &Call) -> Option<serde_json::Value> {
        let tool = self.tools.iter().find(|tool| tool.spec.name == call.tool());
        tool.map(|tool| entry::json(&tool.spec))
    }

    /// Digest of tool and arguments alone.
    pub(super) fn action_digest(&self, call: &Call, decided: &Decided) -> Digest {
        let all = json!([call.tool(), decided.args.canonical()]);
        self.lease.commit_key().digest(all.to_string().as_bytes())
    }

    fn content_digest(&self, path: &str) -> serde_json::Value {
        match effects::peek(&self.sandbox, path, super::card::MOST_SHOWN) {
            Ok(Some(bytes)) => json!(self.lease.commit_key().digest(&bytes)),
            Ok(None) => json!("absent"),
            Err(error) => json!(error.to_string()),
        }
    }
}

/// Lines that a card of this action needs at the least.
fn lines_to_show(action: &Action) -> usize {
    let lines = card::lines_of;
    match action {
        Action::Command(run) => lines(&run.text),
        Action::File(FileOp::Write { content, .. }) => lines(content),
        Action::File(FileOp::Edit { old, new, .. }) => lines(old) + lines(new),
        Action::File(_) | Action::Background(_) => 1,
    }
}

/// Whether the budget has room for a call, and what is left after it.
fn afford(budget: Budget, call: &Call, now_us: i64) -> Result<Budget, Exhausted> {
    let cost = if call.tool() == "bash" { Cost::Command } else { Cost::Action };
    budget.charge(cost, now_us)
}

fn reason_is_policy(reason: &Canceled) -> bool {
    matches!(reason, Canceled::Policy { .. })
}

/// An answer that a program gave.
pub(crate) fn automation(name: &str) -> DecidedBy {
    DecidedBy::Automation(RuleId::new(name))
}

/// The call that an event is about.
pub(super) fn of(call: &Call) -> Of {
    Of { call: call.id().clone(), tool: call.tool().to_owned() }
}
