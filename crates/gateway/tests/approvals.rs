//! Time and approvals, with a clock in the hand: an expiry is told as one, wherever it is noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use enclos_gateway::Local;
use enclos_gateway::clock::Clock;
use enclos_protocol::api::{Answering, Attached, Gateway, OnAsk, OpenRequest, ResumeRequest};
use enclos_protocol::env::Environment;
use enclos_protocol::error::Fault;
use enclos_protocol::event::{ApprovalState, Body};
use enclos_protocol::order::Order;

const MINUTE_US: i64 = 60_000_000;

struct Place {
    dir: tempfile::TempDir,
    now: Arc<AtomicI64>,
    gateway: Local,
}

impl Place {
    /// A gateway, and a folder with a script that asks for one command.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        std::fs::write(
            dir.path().join("script.json"),
            r#"{"turns":[{"calls":[{"name":"bash","arguments":{"command":"make x"}}]},{"text":"done"}]}"#,
        )
        .unwrap();
        let now = Arc::new(AtomicI64::new(1_796_000_000_000_000));
        let held = Arc::clone(&now);
        let home = dir.path().join("state").display().to_string();
        let environment = Environment::of([("ENCLOS_HOME", home.as_str()), ("PATH", "/usr/bin:/bin")]);
        let gateway = Local::new(environment, Clock::by(move || held.load(Ordering::SeqCst))).unwrap();
        Self { dir, now, gateway }
    }

    fn later(&self, minutes: i64) {
        self.now.fetch_add(minutes * MINUTE_US, Ordering::SeqCst);
    }

    async fn parked(&self) -> Vec<Body> {
        let request = OpenRequest {
            repo: self.dir.path().join("repo"),
            task: Some("do it".to_owned()),
            model: Some(format!("script:{}", self.dir.path().join("script.json").display())),
            preset: Some("strict".to_owned()),
            policy: Vec::new(),
            answering: Answering::Nobody(OnAsk::Park),
            conversation: false,
            patch: None,
        };
        all(self.gateway.open(request).await.unwrap()).await
    }

    async fn resumed(&self) -> Vec<Body> {
        let session = self.gateway.sessions().unwrap()[0].session.clone();
        let request = ResumeRequest {
            session,
            extend: true,
            message: None,
            answering: Answering::Nobody(OnAsk::Park),
            conversation: false,
            patch: None,
        };
        all(self.gateway.resume(request).await.unwrap()).await
    }

    fn id(&self) -> String {
        self.gateway.approvals().unwrap()[0].approval.clone()
    }

    async fn approve(&self, id: &str) -> Result<ApprovalState, enclos_protocol::error::ApiError> {
        let order = Order::Approve { approval: id.to_owned(), for_session: false, pattern: None };
        self.gateway.answer(order, true).await.map(|answered| answered.state)
    }
}

async fn all(mut attached: Attached) -> Vec<Body> {
    let mut bodies = Vec::new();
    while let Some(event) = attached.events.recv().await {
        let last = matches!(event.body, Body::Finished { .. });
        bodies.push(event.body);
        if last {
            break;
        }
    }
    bodies
}

fn exit_code(bodies: &[Body]) -> u8 {
    match bodies.last() {
        Some(Body::Finished { exit_code, .. }) => *exit_code,
        other => panic!("{other:?}"),
    }
}

fn states(bodies: &[Body]) -> Vec<ApprovalState> {
    bodies
        .iter()
        .filter_map(|body| match body {
            Body::ApprovalDecided { state, .. } => Some(*state),
            _ => None,
        })
        .collect()
}

fn ran(bodies: &[Body]) -> bool {
    bodies.iter().any(|body| matches!(body, Body::CallCalling { .. }))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn an_answer_that_comes_too_late_is_told_so_and_is_no_refusal() {
    block_on(async {
        let place = Place::new();
        assert_eq!(exit_code(&place.parked().await), 5);
        let id = place.id();
        place.later(31);
        assert_eq!(place.gateway.approvals().unwrap()[0].state, ApprovalState::Expired);
        let error = place.approve(&id).await.unwrap_err();
        assert_eq!(error.fault, Fault::Approval, "{error}");
        assert!(error.message.contains("expired"), "{error}");
        let bodies = place.resumed().await;
        assert!(!ran(&bodies));
        assert_eq!(exit_code(&bodies), 5, "expired, not refused");
    });
}

#[test]
fn a_parked_question_whose_time_is_over_expires_when_the_session_is_taken_up() {
    block_on(async {
        let place = Place::new();
        place.parked().await;
        place.later(31);
        let bodies = place.resumed().await;
        assert_eq!(states(&bodies), [ApprovalState::Expired]);
        assert!(!ran(&bodies));
        assert_eq!(exit_code(&bodies), 5);
    });
}

#[test]
fn an_approval_that_is_not_used_in_its_time_is_asked_again() {
    block_on(async {
        let place = Place::new();
        place.parked().await;
        let id = place.id();
        assert_eq!(place.approve(&id).await.unwrap(), ApprovalState::Approved);
        place.later(31);
        let bodies = place.resumed().await;
        assert_eq!(states(&bodies), [ApprovalState::Superseded]);
        assert!(!ran(&bodies));
        let again = place.id();
        assert_ne!(again, id);
        assert_eq!(place.approve(&again).await.unwrap(), ApprovalState::Approved);
        assert!(ran(&place.resumed().await));
    });
}

#[test]
fn a_question_stays_the_same_while_nothing_changes() {
    block_on(async {
        let place = Place::new();
        place.parked().await;
        let id = place.id();
        let bodies = place.resumed().await;
        assert_eq!(exit_code(&bodies), 5);
        assert_eq!(states(&bodies), []);
        assert_eq!(place.id(), id);
        let order = Order::Reject { approval: id.clone(), word: None };
        let answered = place.gateway.answer(order, true).await.unwrap();
        assert_eq!(answered.state, ApprovalState::Denied);
        assert!(place.approve(&id).await.is_err(), "the first answer counts");
        assert!(place.gateway.approvals().unwrap().is_empty());
    });
}
