//! A gateway that plays a script: what it tells, and what it waits for. It records every order.
#![expect(dead_code, reason = "each test binary uses its own part")]

mod data;

use std::cell::RefCell;
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use enclos_core::command::{Piece, Reading};
use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, RuleId, SessionId};
use enclos_core::label::{Label, Level};
use enclos_core::outside::{Catalogue, Guard, Quarantine};
use enclos_core::policy::{Difference, Layer, Policy, Preset, Role, Scope, Surface};
use enclos_core::verdict::Verdict;
use enclos_protocol::api::{
    At, Attached, CommandQuestion, ExplainRequest, Gateway, HostRequest, OpenRequest, OutsideRequest,
    PolicyChange, ResumeRequest, SandboxRequest,
};
use enclos_protocol::changeset::{AppliedView, ChangeSetView, UndoneView};
use enclos_protocol::error::{ApiError, Fault, Place};
use enclos_protocol::event::{ApprovalState, Body, Event, Outcome, SessionState};
use enclos_protocol::lab::{DifferenceReport, SimulateRequest, Simulation, TestReport};
use enclos_protocol::lineage::{
    Answer, Drawing, ExportRequest, Exported as LineageExported, Question, Start, Verified,
};
use enclos_protocol::order::Order;
use enclos_protocol::report::{
    Answered, ApprovalRow, Check, CommandExplanation, CommandRun, Explanation, Exported, FileDigest,
    GrantRow, Mistake, PolicyReport, PolicySaved, PolicyText, PolicyVersion, SandboxRun, SessionDetail,
    SessionRow, Verification,
};
use tokio::sync::mpsc;

pub(crate) use data::*;

/// What the gateway does next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Tells something.
    Tell(Box<Body>),
    /// Waits for any order and records it.
    Await,
    /// Waits for an order, and ends the script with this code when it is a stop or a leave.
    AwaitOrEnd(u8),
}

/// The gateway.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    /// What a session tells.
    pub(crate) script: Vec<Step>,
    /// Orders that came, as JSON.
    pub(crate) orders: Rc<RefCell<Vec<String>>>,
    /// Where orders are recorded too.
    pub(crate) log: Option<PathBuf>,
    /// What was asked to be opened.
    pub(crate) opened: Rc<RefCell<Vec<String>>>,
    /// The result of a verification.
    pub(crate) verify_code: u8,
    /// The result of a command in a sandbox.
    pub(crate) run: Option<CommandRun>,
    /// An error of everything that opens.
    pub(crate) failure: Option<ApiError>,
}

/// A step that tells something.
pub(crate) fn tell(body: Body) -> Step {
    Step::Tell(Box::new(body))
}

/// The session of every script.
pub(crate) fn session() -> SessionId {
    SessionId::new("sess_01fake")
}

impl Fake {
    fn play(&self) -> Result<Attached, ApiError> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let (tell, events) = mpsc::unbounded_channel();
        let (orders, mut given) = mpsc::unbounded_channel::<Order>();
        let (script, fake) = (self.script.clone(), self.log.clone());
        let (sent, taken) = std::sync::mpsc::channel::<String>();
        let record = Rc::clone(&self.orders);
        let work = async move {
            let mut seq = 0;
            for step in script {
                match step {
                    Step::Tell(body) => {
                        let body = *body;
                        seq += 1;
                        let time = "2026-11-30T12:00:00.000000Z".to_owned();
                        if tell.send(Event { seq, time, session: session(), body }).is_err() {
                            return;
                        }
                        tokio::task::yield_now().await;
                    }
                    Step::Await | Step::AwaitOrEnd(_) => {
                        let Some(order) = given.recv().await else { return };
                        let text = serde_json::to_string(&order).expect("an order is JSON");
                        if let Some(log) = &fake {
                            let mut file = std::fs::OpenOptions::new()
                                .append(true)
                                .create(true)
                                .open(log)
                                .expect("a log");
                            writeln!(file, "{text}").expect("a log takes a line");
                        }
                        let _ = sent.send(text);
                        if let (Step::AwaitOrEnd(code), Order::Stop | Order::Leave) = (&step, &order) {
                            seq += 1;
                            let body = finished(*code, SessionState::WaitingInput);
                            let time = "2026-11-30T12:00:00.000000Z".to_owned();
                            let _ = tell.send(Event { seq, time, session: session(), body });
                            return;
                        }
                    }
                }
            }
        };
        #[expect(clippy::disallowed_methods, reason = "the fake owns its one task")]
        tokio::spawn(work);
        // What was sent is collected when the fake is asked for it.
        LATER.with(|later| later.borrow_mut().push((record, taken)));
        Ok(Attached { session: session(), events, orders })
    }

    /// The orders that came.
    pub(crate) fn orders(&self) -> Vec<String> {
        LATER.with(|later| {
            for (record, taken) in later.borrow().iter() {
                record.borrow_mut().extend(taken.try_iter());
            }
        });
        self.orders.borrow().clone()
    }
}

type Collected = (Rc<RefCell<Vec<String>>>, std::sync::mpsc::Receiver<String>);

thread_local! {
    static LATER: RefCell<Vec<Collected>> = const { RefCell::new(Vec::new()) };
}

impl Gateway for Fake {
    fn open(&self, request: OpenRequest) -> impl Future<Output = Result<Attached, ApiError>> {
        self.opened.borrow_mut().push(format!("{request:?}"));
        std::future::ready(self.play())
    }

    fn resume(&self, request: ResumeRequest) -> impl Future<Output = Result<Attached, ApiError>> {
        self.opened.borrow_mut().push(format!("{request:?}"));
        std::future::ready(self.play())
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, ApiError> {
        let row = |name: &str, state, outcome, task: &str| SessionRow {
            session: SessionId::new(name),
            state,
            outcome,
            repo: "/home/ada/site".to_owned(),
            task: task.to_owned(),
            opened: "2026-11-30T12:00:00.000000Z".to_owned(),
            live: false,
            background: Vec::new(),
        };
        Ok(vec![
            row("sess_01kb", SessionState::Reviewing, None, "fix \u{1b}]0;x\u{7}the test"),
            row("sess_01ka", SessionState::Closed, Some(Outcome::Accepted), "write a page"),
        ])
    }

    fn show(&self, session: &SessionId) -> Result<SessionDetail, ApiError> {
        let row = self.sessions()?.into_iter().find(|row| row.session == *session);
        Ok(SessionDetail {
            row: row.ok_or_else(|| ApiError::new(Fault::Usage, "no such session"))?,
            model: "script".to_owned(),
            policy_digest: "sha256:ab".to_owned(),
            label: Label::untrusted(Level::Internal),
            budget: budget(1),
            timeline: Vec::new(),
            entries: 3,
            head: "00ff".to_owned(),
        })
    }

    fn stop(&self, session: &SessionId) -> impl Future<Output = Result<(), ApiError>> {
        self.orders.borrow_mut().push(format!("stop {session}"));
        std::future::ready(Ok(()))
    }

    fn approvals(&self) -> Result<Vec<ApprovalRow>, ApiError> {
        Ok(vec![ApprovalRow {
            approval: "ap_1".to_owned(),
            session: session(),
            tool: "bash".to_owned(),
            title: "run a command".to_owned(),
            rule: "default.bash".to_owned(),
            scope: "preset strict".to_owned(),
            state: ApprovalState::Pending,
            expires: "2026-11-30T12:30:00.000000Z".to_owned(),
            needs: String::new(),
            live: false,
            card: Some(card("echo \u{1b}[2J\u{202e}evil\nApprove: yes", false)),
        }])
    }

    fn attend(&self, _: &str) -> Result<Attached, ApiError> {
        self.play()
    }

    fn answer(&self, order: Order, at_terminal: bool) -> impl Future<Output = Result<Answered, ApiError>> {
        let text = serde_json::to_string(&order).expect("an order is JSON");
        self.orders.borrow_mut().push(format!("{text} {at_terminal}"));
        std::future::ready(match &self.failure {
            Some(error) => Err(error.clone()),
            None => Ok(Answered {
                approval: "ap_1".to_owned(),
                session: session(),
                state: ApprovalState::Approved,
                decided_by: Some(DecidedBy::Automation(RuleId::new("cli.approve"))),
                live: false,
            }),
        })
    }

    fn grants(&self, _: Option<&SessionId>) -> Result<Vec<GrantRow>, ApiError> {
        Ok(vec![GrantRow {
            grant: "gr_1".to_owned(),
            session: session(),
            tool: "bash".to_owned(),
            pattern: "exactly these arguments".to_owned(),
            arguments: Some(serde_json::json!({"command": format!("echo \u{1b}[2J{}", "x".repeat(300))})),
            rule: "project.tests".to_owned(),
            by: "ada".to_owned(),
            given: "2026-11-30T12:00:00.000000Z".to_owned(),
            expires: "with the session".to_owned(),
            policy_digest: "sha256:ab".to_owned(),
            uses: 2,
            last_used: Some("2026-11-30T12:05:00.000000Z".to_owned()),
            revoked_by: None,
        }])
    }

    fn revoke_grant(&self, grant: &str) -> impl Future<Output = Result<GrantRow, ApiError>> {
        self.orders.borrow_mut().push(format!("revoke {grant}"));
        let row = self.grants(None).map(|mut rows| rows.remove(0));
        std::future::ready(row)
    }

    fn diff(&self, _: &SessionId) -> Result<ChangeSetView, ApiError> {
        Ok(change_set())
    }

    fn apply(
        &self,
        session: &SessionId,
        files: Option<Vec<String>>,
        _release: Option<String>,
        _at_terminal: bool,
    ) -> Result<AppliedView, ApiError> {
        self.orders.borrow_mut().push(format!("apply {session} {files:?}"));
        Ok(AppliedView {
            files: vec!["calc.sh".to_owned()],
            merged: Vec::new(),
            left: vec!["ci.yml".to_owned()],
            session_state: SessionState::Reviewing,
        })
    }

    async fn undo(
        &self,
        session: &SessionId,
        to: Option<&str>,
        at_terminal: bool,
    ) -> Result<UndoneView, ApiError> {
        self.orders.borrow_mut().push(format!("undo {session} {to:?} {at_terminal}"));
        Ok(UndoneView {
            session: session.clone(),
            to: CallId::new(to.unwrap_or("call_1")),
            restored: vec!["src/lib.rs".to_owned()],
            removed: Vec::new(),
            recreated: Vec::new(),
            left_out: Vec::new(),
            session_state: enclos_protocol::event::SessionState::WaitingInput,
        })
    }

    fn reset(&self, session: &SessionId, _confirmed: bool, _at_terminal: bool) -> Result<(), ApiError> {
        self.orders.borrow_mut().push(format!("reset {session}"));
        Ok(())
    }

    fn discard(&self, session: &SessionId) -> Result<(), ApiError> {
        self.orders.borrow_mut().push(format!("discard {session}"));
        Ok(())
    }

    fn policy_check(&self, files: &[PathBuf]) -> Result<PolicyReport, ApiError> {
        Ok(PolicyReport {
            sources: files.iter().map(|file| file.display().to_string()).collect(),
            rules: 2,
            examples: 1,
            digest: "sha256:ab".to_owned(),
            files: files
                .iter()
                .map(|file| FileDigest { file: file.display().to_string(), digest: "sha256:cd".to_owned() })
                .collect(),
            notes: vec!["a note".to_owned()],
        })
    }

    fn policy_save(&self, scope: &str, change: &PolicyChange) -> Result<PolicySaved, ApiError> {
        self.orders.borrow_mut().push(format!("policy {scope} {change:?}"));
        Ok(PolicySaved {
            scope: scope.to_owned(),
            file: "/e/policy.toml".to_owned(),
            version: 2,
            digest: "sha256:cd".to_owned(),
            policy_digest: Some("sha256:ab".to_owned()),
            previous: None,
            changed: true,
            overruled: vec!["the rule `free` counts no more".to_owned()],
            removed: false,
            restored: None,
            looser: Vec::new(),
        })
    }

    fn policy_history(&self, scope: Option<&str>) -> Result<Vec<PolicyVersion>, ApiError> {
        Ok(vec![PolicyVersion {
            scope: scope.unwrap_or("instance").to_owned(),
            version: 1,
            digest: "sha256:ab".to_owned(),
            previous: None,
            author: "ada".to_owned(),
            how: "apply".to_owned(),
            time: "2026-01-01T00:00:00.000000Z".to_owned(),
            newest: true,
        }])
    }

    fn policy_show(&self, scope: &str) -> Result<PolicyText, ApiError> {
        Ok(PolicyText {
            scope: scope.to_owned(),
            file: "/e/policy.toml".to_owned(),
            digest: "sha256:cd".to_owned(),
            policy_digest: None,
            version: None,
            problem: Some(Mistake {
                message: "/e/policy.toml:3: unknown field `rules`; did you mean `rule`?".to_owned(),
                place: Place::line("/e/policy.toml", 3),
            }),
            text: "name = \"p\"\n".to_owned(),
        })
    }

    fn policy_test(&self, words: &[String], _: &At) -> Result<TestReport, ApiError> {
        let failed = u64::from(words.iter().any(|word| word.contains("wrong")));
        let text = serde_json::json!({
            "sources": words, "policy_digest": "sha256:ab", "collisions": [], "passed": 1, "failed": failed,
            "examples": [{
                "source": "p.toml", "line": 3, "rule": "p.read", "example": "`read` with `{}`", "wanted": true,
                "got": failed == 0, "verdict": "ask", "decided_by": "p.all", "scope": "project", "passed": failed == 0,
            }],
            "cases": [{
                "source": "t.cases.toml", "line": 1, "tool": "bash", "args": {"command": "make"}, "role": "developer",
                "surface": "terminal", "wanted": "allow", "wanted_rule": null, "got": "ask", "got_rule": "default.bash",
                "passed": true,
            }],
        });
        Ok(serde_json::from_value(text).unwrap())
    }

    fn policy_diff(&self, old: &str, new: &str, _: &At) -> Result<DifferenceReport, ApiError> {
        let difference = if old == new {
            Difference::default()
        } else {
            let layer = |preset: Preset| {
                let layer = Layer { scope: Scope::Project, source: preset.to_string(), text: preset.text() };
                Policy::load(&[layer]).unwrap()
            };
            layer(old.parse().unwrap()).difference(&layer(new.parse().unwrap()))
        };
        Ok(DifferenceReport { old: vec![old.to_owned()], new: vec![new.to_owned()], difference })
    }

    fn policy_simulate(&self, request: &SimulateRequest) -> Result<Simulation, ApiError> {
        let text = serde_json::json!({
            "sources": request.policy, "since": "2026-11-01T00:00:00Z", "sessions": 2, "decisions": 9, "same": 5,
            "changed": 3, "not_replayed": [{"reason": "the content of the session was deleted", "count": 1}],
            "changes": [{
                "tool": "bash", "person": "ada", "before": "allow", "rule_before": "balanced.work", "after": "ask",
                "rule_after": "strict.bash", "direction": "harder", "count": 3,
                "examples": [{"session": "sess_1", "call": "call_1", "time": "2026-11-02T00:00:00Z", "what": "make\u{1b}[2J"}],
            }],
        });
        Ok(serde_json::from_value(text).unwrap())
    }

    fn policy_explain(&self, request: &ExplainRequest) -> Result<Explanation, ApiError> {
        if request.tool == "nothing" {
            let error = ApiError::new(Fault::Usage, "`nothing` is not a tool").hint("did you mean `read`?");
            return Err(error);
        }
        Ok(Explanation {
            verdict: Verdict::Ask,
            rule: "default.write".to_owned(),
            scope: "default matrix".to_owned(),
            reason: "a write asks".to_owned(),
            role: Role::Owner,
            surface: Surface::Terminal,
            approve: None,
            shadow: Vec::new(),
            notes: Vec::new(),
            considered: Vec::new(),
            pieces: Vec::new(),
            policy_digest: "sha256:ab".to_owned(),
        })
    }

    fn judge_outside(&self, _request: &OutsideRequest) -> Result<Guard, ApiError> {
        Ok(Guard::new(Catalogue::default(), Quarantine::On, Vec::new(), Box::new(|_, _, _| None)))
    }

    fn explain_command(
        &self,
        question: &CommandQuestion,
        text: &str,
    ) -> Result<CommandExplanation, ApiError> {
        let base = question.base.as_deref().unwrap_or("allow");
        let base: Verdict = base.parse().map_err(|error: enclos_core::verdict::UnknownVerdict| {
            ApiError::new(Fault::Usage, error.to_string())
        })?;
        let verdict = if text.contains("sudo") { Verdict::Disabled } else { base };
        let piece = Piece {
            span: 0..text.len(),
            text: text.to_owned(),
            argv: text.split(' ').map(str::to_owned).collect(),
            verdict,
            rule: RuleId::new("rule"),
            reason: "because".to_owned(),
        };
        Ok(CommandExplanation { reading: reading(verdict, &[piece]), judged: None })
    }

    fn sandbox_run(
        &self,
        request: &SandboxRequest,
        output: &mut dyn FnMut(bool, &[u8]),
    ) -> Result<SandboxRun, ApiError> {
        let Some(run) = &self.run else {
            return Err(ApiError::new(Fault::Usage, "no sandbox: unshare failed"));
        };
        output(false, request.text.as_bytes());
        output(true, b"\x1b[31mred\n");
        let runs = vec![run.clone(); usize::try_from(request.repeat).unwrap_or(1)];
        Ok(SandboxRun { open_ms: 1.0, runs, close_ms: 1.0, limits: serde_json::json!({}) })
    }

    fn journal_export(&self, session: Option<&SessionId>, out: &mut dyn Write) -> Result<Exported, ApiError> {
        let line = format!("{{\"session\":{session:?}}}\n");
        out.write_all(line.as_bytes()).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
        Ok(Exported { entries: 1, sessions: 1 })
    }

    fn lineage(&self, question: &Question) -> Result<Answer, ApiError> {
        self.orders.borrow_mut().push(format!("lineage {question:?}"));
        Ok(Answer { records: lineage_items(), truncated: true, ..Answer::default() })
    }

    fn lineage_export(&self, request: &ExportRequest) -> Result<LineageExported, ApiError> {
        self.orders.borrow_mut().push(format!("export {:?} {}", request.question, request.clearance));
        Ok(LineageExported {
            folder: "/x".to_owned(),
            records: 2,
            withheld: 1,
            links: 1,
            sessions: 1,
            truncated: false,
            public_key: "ab".to_owned(),
        })
    }

    fn lineage_verify(&self, _: &Path, _: Option<&Path>) -> Result<Verified, ApiError> {
        Ok(Verified {
            ok: self.verify_code == 0,
            first_bad: None,
            records: 2,
            withheld: 1,
            unproven: 0,
            entries: 9,
            signer: "given".to_owned(),
            anchor: "unanchored".to_owned(),
            message: "what was found".to_owned(),
        })
    }

    fn lineage_graph(&self, _: &Start, _: Level) -> Result<Drawing, ApiError> {
        Ok(Drawing { svg: "<svg/>".to_owned(), records: 2, left_out: 1 })
    }

    fn journal_verify(&self, _: Option<&Path>) -> Result<Verification, ApiError> {
        let result = if self.verify_code == 0 { "ok" } else { "altered" };
        Ok(Verification {
            result: result.to_owned(),
            exit_code: self.verify_code,
            entries: 9,
            sessions: 1,
            first_bad: (self.verify_code != 0).then(|| "sess_01 entry 7 (line 9)".to_owned()),
            anchor: "unanchored".to_owned(),
            message: "what was found".to_owned(),
        })
    }

    async fn host(&self, _: HostRequest, say: &mut dyn FnMut(&str)) -> Result<(), ApiError> {
        say("listening at /run/host.sock");
        Ok(())
    }

    fn doctor(&self) -> Vec<Check> {
        let check = |name: &str, result: &str, remedy: &str| Check {
            name: name.to_owned(),
            result: result.to_owned(),
            detail: "seen".to_owned(),
            remedy: remedy.to_owned(),
        };
        let bad = if self.verify_code == 0 { "ok" } else { "failed" };
        vec![check("user namespaces", bad, "allow them"), check("git", "note", "")]
    }
}

/// A reading; built from JSON where the type has more fields than a test cares for.
fn reading(verdict: Verdict, pieces: &[Piece]) -> Reading {
    let value = serde_json::json!({ "verdict": verdict, "pieces": pieces, "unreadable": null });
    serde_json::from_value(value).expect("a reading")
}
