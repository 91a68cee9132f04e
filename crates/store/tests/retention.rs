//! Erasing content after its time: it is gone from the file, and the journal still verifies.

mod common;

use common::{check, closing, export, id, meta, open, session, with_content};
use enclos_store::journal::Outcome;
use enclos_store::{Erased, KIND_CONTENT_ERASED, LeaseError, StoreError};
use serde_json::{Value, json};

#[test]
fn content_of_old_closed_sessions_goes_and_the_journal_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let old = session(&store, "old", 4);
    old.append_wait(vec![closing(50_000)]).unwrap();
    let recent = session(&store, "recent", 4);
    recent.append_wait(vec![closing(90_000)]).unwrap();
    let still_open = session(&store, "open", 4);
    drop((old, recent, still_open));

    let erased = store.erase_content(60_000, 100_000).unwrap();
    assert_eq!(erased, Erased { sessions: 1, contents: 2, held: 0 });
    let events = store.events(&id("old")).unwrap();
    assert_eq!(events.len(), 6);
    assert!(events.iter().all(|e| e.content.is_none()));
    assert_eq!(events[5].kind, KIND_CONTENT_ERASED);
    assert_eq!(events[5].time_us, 100_000);
    let entry: Value = serde_json::from_str(events[5].entry.get()).unwrap();
    assert_eq!(entry["contents"], 2);
    assert!(entry["bytes"].as_u64().unwrap() > 0);
    for kept in ["recent", "open"] {
        assert_eq!(store.events(&id(kept)).unwrap().iter().filter(|e| e.content.is_some()).count(), 2);
    }
    assert_eq!(store.session(&id("old")).unwrap().extra, None);
    assert_eq!(store.commit_key(&id("old")).unwrap_err(), StoreError::Erased(id("old")));
    assert_eq!(store.lease(&id("old")).unwrap_err(), LeaseError::Store(StoreError::Erased(id("old"))));
    assert_eq!(store.verify().unwrap().result, Outcome::Ok);
    assert_eq!(check(&export(&store)).result, Outcome::Ok);
    assert_eq!(store.erase_content(60_000, 200_000).unwrap(), Erased::default(), "it is done once");
}

#[test]
fn what_is_erased_is_in_no_page_of_the_file_even_for_the_owner_of_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    lease.append_wait(vec![with_content("m", 1, &json!({}), &[7; 20_000]), closing(2)]).unwrap();
    drop(lease);
    let raw = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    let sealed = |sql: &str| raw.query_row(sql, [], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    let secrets = [
        sealed("SELECT sealed_key FROM session"),
        sealed("SELECT sealed_extra FROM session"),
        sealed("SELECT sealed FROM content"),
    ];
    drop(raw);
    assert_eq!(store.erase_content(10, 20).unwrap().contents, 1);
    for file in ["state.db", "state.db-wal"] {
        let bytes = std::fs::read(dir.path().join(file)).unwrap();
        for secret in &secrets {
            let piece = &secret[secret.len() - 24..];
            assert!(!bytes.windows(24).any(|w| w == piece), "{file}");
        }
    }
}

#[test]
fn a_session_that_somebody_holds_is_left_for_later() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = session(&store, "a", 2);
    lease.append_wait(vec![closing(5_000)]).unwrap();
    assert_eq!(store.erase_content(9_000, 9_000).unwrap(), Erased { held: 1, ..Erased::default() });
    assert!(store.events(&id("a")).unwrap()[1].content.is_some());
    drop(lease);
    assert_eq!(store.erase_content(9_000, 9_000).unwrap().sessions, 1);
}

#[test]
fn a_damaged_key_does_not_keep_content_from_being_erased() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    session(&store, "a", 2).append_wait(vec![closing(5_000)]).unwrap();
    let raw = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    raw.execute_batch("UPDATE session SET sealed_key = x'00'").unwrap();
    assert!(store.events(&id("a")).is_err());
    assert_eq!(store.erase_content(9_000, 9_000).unwrap().contents, 1);
    assert_eq!(store.events(&id("a")).unwrap().len(), 4);
    assert_eq!(store.verify().unwrap().result, Outcome::Ok);
}
