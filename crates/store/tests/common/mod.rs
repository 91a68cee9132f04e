//! What the tests of the store share: a store in a directory of its own, and records to append.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::path::Path;
use std::sync::Arc;

use enclos_core::ids::SessionId;
use enclos_store::journal::{Verification, verify};
use enclos_store::{Lease, NoRedaction, Record, SessionMeta, StateChange, Store};
use serde_json::{Map, Value};

pub(crate) fn open(dir: &Path) -> Store {
    Store::open(dir, Arc::new(NoRedaction)).unwrap()
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::parse(&format!("sess_{name}")).unwrap()
}

pub(crate) fn meta() -> SessionMeta {
    SessionMeta {
        task: "mend the failing test".to_owned(),
        repo: "/home/ada/repo".into(),
        surface: "headless".to_owned(),
        state: "opening".to_owned(),
        created_us: 1_000,
        extra: map(&serde_json::json!({"model": "script:x", "title": "mend the test"})),
    }
}

pub(crate) fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

pub(crate) fn record(kind: &str, time_us: i64, entry: &Value) -> Record {
    Record { kind: kind.to_owned(), time_us, entry: map(entry), ..Record::default() }
}

pub(crate) fn with_content(kind: &str, time_us: i64, entry: &Value, content: &[u8]) -> Record {
    Record { content: Some(content.to_vec()), ..record(kind, time_us, entry) }
}

pub(crate) fn closing(time_us: i64) -> Record {
    let state =
        Some(StateChange { state: "closed".to_owned(), outcome: Some("accepted".to_owned()), closed: true });
    Record { state, ..record("session.closed", time_us, &serde_json::json!({"outcome": "accepted"})) }
}

/// A session with `n` entries, every second one with content.
pub(crate) fn session(store: &Store, name: &str, n: i64) -> Lease {
    let lease = store.create(&id(name), meta()).unwrap();
    for i in 1..=n {
        let entry = serde_json::json!({"n": i, "path": "src/é.rs", "text": "a \"quoted\" \\ line\n"});
        let record = if i % 2 == 0 {
            with_content("call.done", 1_000 + i, &entry, format!("content {i} of {name}").as_bytes())
        } else {
            record("call.calling", 1_000 + i, &entry)
        };
        lease.append_wait(vec![record]).unwrap();
    }
    lease
}

pub(crate) fn export(store: &Store) -> Vec<u8> {
    let mut out = Vec::new();
    store.export(None, &mut out).unwrap();
    out
}

pub(crate) fn check(bytes: &[u8]) -> Verification {
    verify(&mut &bytes[..])
}

pub(crate) fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

/// Copies a store that nobody has open.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_dir(&file.path(), &target);
        } else {
            std::fs::copy(file.path(), target).unwrap();
        }
    }
}
