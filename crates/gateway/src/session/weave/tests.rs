//! Which records a session weaves of its events, and what each comes from.

use enclos_core::call::{Call, Event as Move, State};
use enclos_core::ids::{CallId, RuleId};
use enclos_core::label::Level;
use enclos_core::lineage::Confidence;
use enclos_core::session::{Answer, Proposal};
use enclos_store::{NoRedaction, SessionMeta};

use super::*;

fn session() -> SessionId {
    SessionId::new("sess_a")
}

/// A weaver, and a store that takes what it weaves.
struct Loom {
    weaver: Weaver,
    store: Store,
    lease: enclos_store::Lease,
    _dir: tempfile::TempDir,
}

impl Loom {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), std::sync::Arc::new(NoRedaction)).unwrap();
        let meta = SessionMeta {
            task: String::new(),
            repo: "/r".into(),
            surface: "terminal".into(),
            state: "opening".into(),
            created_us: 1,
            extra: serde_json::Map::new(),
        };
        let lease = store.create(&session(), meta).unwrap();
        Self { weaver: Weaver::new(session(), UserId::new("ada")), store, lease, _dir: dir }
    }

    fn take(&mut self, event: &Event, calls: &[Call]) -> Vec<Draft> {
        let view = View {
            time: Moment(7),
            label: Label::untrusted(Level::Internal),
            calls,
            model: "script:x",
            key: self.lease.commit_key(),
        };
        let drafts = self.weaver.of_event(event, &view);
        let record = enclos_store::Record {
            kind: "x".into(),
            time_us: 7,
            lineage: drafts.clone(),
            ..enclos_store::Record::default()
        };
        self.lease.append_wait(vec![record]).unwrap();
        drafts
    }

    fn say(&mut self) {
        self.take(&Event::Said { text: "do".into(), by: DecidedBy::Human(UserId::new("ada")) }, &[]);
    }

    fn answer(&mut self, tool: &str, arguments: &str) -> Vec<Draft> {
        let call = Proposal {
            call: CallId::new("call_1"),
            server_id: None,
            tool: tool.into(),
            arguments: arguments.into(),
        };
        let answer =
            Answer { text: String::new(), calls: vec![call], tokens: 1, correction: None, cut: None };
        self.take(&Event::Answered(answer), &[])
    }

    fn done(&mut self, tool: &str, arguments: &str) -> Vec<Draft> {
        let call = running(tool, arguments);
        self.take(&Event::Finished { call: CallId::new("call_1"), output: "out".into() }, &[call])
    }

    fn turn(&mut self, tool: &str, arguments: &str) -> Vec<Draft> {
        self.answer(tool, arguments);
        self.done(tool, arguments)
    }
}

fn running(tool: &str, arguments: &str) -> Call {
    let mut call = Call::new(CallId::new("call_1"), tool.into());
    for event in [
        Move::Complete { arguments: arguments.into() },
        Move::Start { decided_by: DecidedBy::Automation(RuleId::new("r")), rule: RuleId::new("r") },
    ] {
        call.take(event).unwrap();
    }
    assert!(matches!(call.state(), State::Calling { .. }));
    call
}

fn inputs(draft: &Draft) -> Vec<(u32, Confidence)> {
    let named = draft.change.iter().flat_map(|change| &change.inputs);
    named.map(|input| (input.id.number(), input.confidence)).collect()
}

use Confidence::{Assumed, Declared};

#[test]
fn an_answer_is_made_of_a_snapshot_and_a_snapshot_of_the_one_before_and_what_is_new() {
    let mut loom = Loom::new();
    let raised = Event::Raised {
        label: Label::untrusted(Level::Internal),
        source: "project".into(),
        call: None,
        written: enclos_core::session::Files::default(),
    };
    loom.take(&raised, &[]);
    loom.say();
    let first = loom.answer("read", r#"{"path":"a.rs"}"#);
    assert_eq!(inputs(&first[0]), [(1, Declared), (2, Declared)]);
    assert_eq!(inputs(&first[1]), [(3, Declared)]);
    let read = loom.done("read", r#"{"path":"./a.rs"}"#);
    assert_eq!((read[0].origin.source_name.as_str(), inputs(&read[0]).len()), ("a.rs", 0));
    let mut links = 0;
    for _ in 0..20 {
        let made = loom.turn("read", r#"{"path":"a.rs"}"#);
        assert!(made.iter().all(|draft| inputs(draft).len() <= 3));
        links += made.iter().map(|draft| inputs(draft).len()).sum::<usize>();
    }
    assert!(links <= 20 * 5, "links grow in line with the turns");
    let why = loom.store.lineage_why(&loom.weaver.answered.clone().unwrap().id).unwrap();
    assert_eq!(why.nodes.last().unwrap().record.origin.source_name, "project");
}

#[test]
fn files_and_commands_are_linked_declared_by_name_and_assumed_through_the_workspace() {
    let mut loom = Loom::new();
    loom.say();
    let wrote = loom.turn("write", r#"{"path":"a.rs","content":"x"}"#).remove(0);
    assert_eq!((wrote.kind, inputs(&wrote)), (Kind::FileVersion, vec![(3, Declared)]));
    let ran = loom.turn("bash", r#"{"command":"FOO=1 cargo test | tail"}"#).remove(0);
    assert_eq!(ran.origin.source_type, SourceType::Command);
    assert_eq!(ran.origin.source_name, "cargo", "an assignment may hold anything");
    assert_eq!(inputs(&ran)[1], (wrote.id.number(), Assumed));
    let edited = loom.turn("edit", r#"{"path":"/workspace/a.rs","old":"x","new":"y"}"#).remove(0);
    assert_eq!(inputs(&edited)[1..], [(wrote.id.number(), Declared), (ran.id.number(), Assumed)]);
    let read = loom.turn("read", r#"{"path":"a.rs"}"#).remove(0);
    assert_eq!(inputs(&read), [(edited.id.number(), Declared)]);
    let parts = Parts {
        digest: "d".into(),
        files: vec![
            Part {
                path: "a.rs".into(),
                hunks: vec![PartHunk { line: 3, lines: 2, text: "y".into() }],
                ..Part::default()
            },
            Part { path: "made.lock".into(), ..Part::default() },
        ],
    };
    loom.weaver.expect(parts);
    let review = Event::Reviewing { digest: enclos_core::ids::Digest::new("sha256:0") };
    let made = loom.take(&review, &[]);
    assert_eq!(made.len(), 3);
    assert_eq!(made[0].origin.record_id.as_deref(), Some("a.rs:3+2"));
    let of_file = inputs(&made[0]);
    assert_eq!(of_file[..2], [(edited.id.number(), Declared), (read.id.number(), Declared)]);
    assert!(inputs(&made[1]).iter().all(|(_, confidence)| *confidence == Assumed));
    assert_eq!((made[2].kind, inputs(&made[2]).len()), (Kind::Diff, 2));
    let left = loom.weaver.accepted(loom.lease.commit_key(), Moment(9)).unwrap();
    assert_eq!(inputs(&left), [(made[2].id.number(), Declared)]);
}

#[test]
fn a_session_that_is_taken_up_again_weaves_on() {
    let mut loom = Loom::new();
    loom.say();
    loom.turn("write", r#"{"path":"a.rs","content":"x"}"#);
    loom.turn("bash", r#"{"command":"ls"}"#);
    let again = Weaver::of_store(&loom.store, session(), UserId::new("ada")).unwrap();
    assert_eq!(format!("{again:?}"), format!("{:?}", loom.weaver));
}

#[test]
fn a_call_that_never_ran_read_nothing() {
    let mut loom = Loom::new();
    loom.say();
    loom.answer("read", r#"{"path":"a.rs"}"#);
    let mut call = Call::new(CallId::new("call_1"), "read".into());
    call.take(Move::Complete { arguments: "{}".into() }).unwrap();
    let failed = Event::Failed { call: CallId::new("call_1"), error: "no".into() };
    assert!(loom.take(&failed, &[call]).is_empty());
}

#[test]
fn a_huge_change_set_fits_its_entry_and_stays_linked_to_the_workspace() {
    let mut loom = Loom::new();
    loom.say();
    loom.turn("bash", r#"{"command":"make"}"#);
    let part = |number: usize, hunks: usize| Part {
        path: format!("f{number}"),
        hunks: vec![PartHunk { line: 1, lines: 1, text: "x".into() }; hunks],
        ..Part::default()
    };
    let files = (0..1900).map(|number| part(number, 1)).chain((1900..6000).map(|number| part(number, 0)));
    loom.weaver.expect(Parts { digest: "d".into(), files: files.collect() });
    let made = loom.take(&Event::Reviewing { digest: enclos_core::ids::Digest::new("sha256:0") }, &[]);
    assert_eq!(made.len(), 4001);
    let of_whole = inputs(&made[4000]);
    assert_eq!(of_whole.iter().filter(|(_, confidence)| *confidence == Assumed).count(), 2);
}
