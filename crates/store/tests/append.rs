//! Appending and reading back: order, receipts, times, bounds, content, what is refused before anything is written.

mod common;

use std::borrow::Cow;
use std::sync::{Arc, mpsc};

use common::{closing, id, map, meta, open, record, session, with_content};
use enclos_store::{LeaseError, MAX_ENTRY_BYTES, Redact, SessionFilter, Store, StoreError};
use serde_json::{Value, json};

#[test]
fn what_is_appended_is_read_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let receipt = lease
        .append_wait(vec![
            record("session.opened", 5_000, &json!({"user": "ada"})),
            with_content("message", 6_000, &json!({"role": "user"}), b"mend the test"),
        ])
        .unwrap();
    assert_eq!((receipt.first_seq(), receipt.last_seq()), (1, 2));
    assert_eq!(receipt.session(), &id("a"));
    let next = lease.append_wait(vec![record("call.generated", 7_000, &json!({}))]).unwrap();
    assert_eq!((next.first_seq(), next.last_seq()), (3, 3));
    assert_ne!(receipt.head(), next.head());

    let events = store.events(&id("a")).unwrap();
    let kinds: Vec<&str> = events.iter().map(|e| e.kind.as_str()).collect();
    assert_eq!(kinds, ["session.opened", "message", "call.generated"]);
    assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(events[1].content.as_deref(), Some(&b"mend the test"[..]));
    assert_eq!(events[0].content, None);
    let entry: Value = serde_json::from_str(events[1].entry.get()).unwrap();
    assert_eq!(entry["role"], "user");
    assert_eq!(entry["sealed"]["bytes"], 13);
    assert_eq!(entry["sealed"]["digest"], lease.commit_key().digest(b"mend the test").as_str());
    let tail = store.events_after(&id("a"), 2).unwrap();
    assert_eq!(tail.len(), 1);
    assert_eq!(tail[0].seq, 3);
    assert!(store.events_after(&id("a"), 3).unwrap().is_empty());
    assert!(store.events_after(&id("a"), 4).is_err());
}

#[test]
fn all_survives_a_new_opening() {
    let dir = tempfile::tempdir().unwrap();
    drop(session(&open(dir.path()), "a", 6));
    let store = open(dir.path());
    assert_eq!(store.events(&id("a")).unwrap().len(), 6);
    let lease = store.lease(&id("a")).unwrap();
    assert_eq!(lease.epoch(), 2);
    let receipt = lease.append_wait(vec![record("x", 0, &json!({}))]).unwrap();
    assert_eq!(receipt.first_seq(), 7);
    let reading = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(reading.events(&id("a")).unwrap().len(), 7);
    assert_eq!(reading.commit_key(&id("a")).unwrap().digest(b"x"), lease.commit_key().digest(b"x"));
    drop(lease);
    assert_eq!(reading.lease(&id("a")).unwrap_err(), LeaseError::Store(StoreError::ReadOnly));
}

#[test]
fn time_never_goes_back_within_a_chain() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let times = [5_000, 3_600, i64::MIN, 9_000, 8_999];
    for time in times {
        lease.append_wait(vec![record("x", time, &json!({}))]).unwrap();
    }
    let stored: Vec<i64> = store.events(&id("a")).unwrap().iter().map(|e| e.time_us).collect();
    assert_eq!(stored, [5_000, 5_000, 5_000, 9_000, 9_000]);
    let negative = store.create(&id("b"), meta()).unwrap();
    negative.append_wait(vec![record("x", -5, &json!({}))]).unwrap();
    assert_eq!(store.events(&id("b")).unwrap()[0].time_us, 0);
}

#[test]
fn what_cannot_be_an_entry_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let good = || record("x", 1, &json!({}));
    let large = record("big", 1, &json!({"x": "a".repeat(MAX_ENTRY_BYTES)}));
    let refusal = lease.append_wait(vec![good(), large]).unwrap_err();
    assert!(matches!(refusal, StoreError::EntryTooLarge { .. }), "{refusal}");
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({ "d": deep });
    }
    let refusal = lease.append_wait(vec![good(), record("deep", 1, &deep)]).unwrap_err();
    assert!(matches!(refusal, StoreError::EntryTooDeep { .. }), "{refusal}");
    let refusal = lease.append_wait(vec![good(), record("x", 1, &json!({"sealed": {}}))]).unwrap_err();
    assert!(matches!(refusal, StoreError::ReservedField { .. }), "{refusal}");
    for kind in ["", "a b", "a\"b", "a\\b", "é", "a\nb", &"k".repeat(129)] {
        let refusal = lease.append_wait(vec![good(), record(kind, 1, &json!({}))]).unwrap_err();
        assert!(matches!(refusal, StoreError::BadKind { .. }), "{kind:?}: {refusal}");
    }
    assert_eq!(lease.append_wait(vec![]).unwrap_err(), StoreError::NoRecords);
    assert!(store.events(&id("a")).unwrap().is_empty());
    assert_eq!(lease.append_wait(vec![good()]).unwrap().first_seq(), 1);
}

#[test]
fn appends_of_one_lease_keep_their_order_and_share_commits() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let leases: Vec<_> =
        (0..8).map(|i| Arc::new(store.create(&id(&format!("s{i}")), meta()).unwrap())).collect();
    let (answer, answers) = mpsc::channel();
    for round in 0..50 {
        for lease in &leases {
            let answer = answer.clone();
            let entry = json!({ "round": round });
            let done = Box::new(move |outcome| answer.send((round, outcome)).unwrap());
            lease.append(vec![record("x", round, &entry)], done);
        }
    }
    drop(answer);
    for (round, outcome) in answers {
        assert_eq!(outcome.unwrap().first_seq(), round.unsigned_abs() + 1);
    }
    for lease in &leases {
        let events = store.events(lease.session()).unwrap();
        assert_eq!(events.len(), 50);
        for (round, event) in events.iter().enumerate() {
            assert_eq!(event.entry.get(), format!("{{\"round\":{round}}}"));
        }
    }
    assert_eq!(store.verify().unwrap().entries, 400);
}

#[test]
fn many_threads_append_to_one_session_and_make_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let lease = &lease;
            scope.spawn(move || {
                for i in 0..16 {
                    lease.append_wait(vec![record("x", i, &json!({ "thread": thread }))]).unwrap();
                }
            });
        }
    });
    assert_eq!(store.events(&id("a")).unwrap().len(), 256);
    assert_eq!(store.verify().unwrap().entries, 256);
}

#[test]
fn an_answer_may_drop_the_last_handle_of_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = Arc::new(store.create(&id("a"), meta()).unwrap());
    let (answer, wait) = mpsc::channel();
    let held = (store, Arc::clone(&lease));
    let done = Box::new(move |outcome: Result<_, _>| {
        drop(held);
        answer.send(outcome.is_ok()).unwrap();
    });
    lease.append(vec![record("x", 1, &json!({}))], done);
    drop(lease);
    assert!(wait.recv().unwrap());
}

#[test]
fn the_listing_shows_what_records_say() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = session(&store, "a", 2);
    let _second = session(&store, "b", 1);
    first.append_wait(vec![closing(77_000)]).unwrap();
    let all = store.sessions(&SessionFilter::default()).unwrap();
    assert_eq!(all.iter().map(|r| r.id.clone()).collect::<Vec<_>>(), [id("b"), id("a")]);
    let row = store.session(&id("a")).unwrap();
    assert_eq!((row.state.as_str(), row.outcome.as_deref()), ("closed", Some("accepted")));
    assert_eq!((row.closed_us, row.updated_us, row.entries), (Some(77_000), 77_000, 3));
    assert_eq!(row.task_digest, first.commit_key().digest(b"mend the failing test"));
    assert_eq!(row.extra, Some(map(&json!({"model": "script:x", "title": "mend the test"}))));
    assert_eq!(row, all[1]);
    let filter = |f: SessionFilter| store.sessions(&f).unwrap().len();
    assert_eq!(filter(SessionFilter { open_only: true, ..SessionFilter::default() }), 1);
    assert_eq!(filter(SessionFilter { state: Some("closed".into()), ..SessionFilter::default() }), 1);
    assert_eq!(filter(SessionFilter { repo: Some("/elsewhere".into()), ..SessionFilter::default() }), 0);
    assert_eq!(filter(SessionFilter { repo: Some("/home/ada/repo".into()), ..SessionFilter::default() }), 2);
    assert_eq!(filter(SessionFilter { limit: Some(1), ..SessionFilter::default() }), 1);
    assert_eq!(store.session(&id("zz")).unwrap_err(), StoreError::UnknownSession(id("zz")));
}

struct Hide;

impl Redact for Hide {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Owned(text.replace("hunter2", "[secret:test]"))
    }
}

#[test]
fn no_string_of_an_entry_escapes_the_redactor() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Arc::new(Hide)).unwrap();
    let lease = store.create(&id("a"), meta()).unwrap();
    let entry =
        json!({"argv": ["curl", "https://ada:hunter2@host/"], "hunter2": {"deep": [{"k": "hunter2"}]}});
    lease.append_wait(vec![record("kind.hunter2", 1, &entry)]).unwrap();
    let event = &store.events(&id("a")).unwrap()[0];
    assert_eq!(event.kind, "kind.[secret:test]");
    assert!(!event.entry.get().contains("hunter2"));
    assert_eq!(event.entry.get().matches("[secret:test]").count(), 3);
    let bytes = common::export(&store);
    assert!(!String::from_utf8(bytes.clone()).unwrap().contains("hunter2"));
    assert_eq!(common::check(&bytes).result.exit_code(), 0);
    drop((lease, store));
    for file in ["state.db", "state.db-wal"] {
        let raw = std::fs::read(dir.path().join(file)).unwrap_or_default();
        assert!(!raw.windows(7).any(|w| w == b"hunter2"), "{file}");
    }
}

#[test]
fn content_and_description_are_nowhere_in_clear() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = session(&store, "a", 0);
    lease.append_wait(vec![with_content("m", 1, &json!({}), b"the crown jewels")]).unwrap();
    for file in ["state.db", "state.db-wal"] {
        let raw = std::fs::read(dir.path().join(file)).unwrap();
        for clear in [&b"crown jewels"[..], b"mend the test", b"mend the failing test"] {
            assert!(!raw.windows(clear.len()).any(|w| w == clear), "{file}");
        }
    }
}
