//! Tampering with the database itself: found by verification, never passed on to a resume, and not made easy.

mod common;

use std::path::Path;

use common::{check, closing, export, id, open, session};
use enclos_store::journal::Outcome;
use enclos_store::{Store, StoreError};
use rusqlite::Connection;

/// A store with three sessions that nobody has open.
fn stored() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    session(&store, "a1", 6).append_wait(vec![closing(9_000)]).unwrap();
    drop(session(&store, "b2", 2));
    drop(session(&store, "c3", 3));
    dir
}

/// Changes the database as somebody would who has the file and knows the schema.
fn tamper(dir: &Path, sql: &str) {
    let connection = Connection::open(dir.join("state.db")).unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for name in triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;").unwrap();
    connection.execute_batch(sql).unwrap();
}

/// What the verification of the store says, and that of its export when there is one.
fn verdict(dir: &Path) -> (Outcome, Option<String>, Option<u64>) {
    let store = open(dir);
    let found = store.verify().unwrap();
    let mut bytes = Vec::new();
    if store.export(None, &mut bytes).is_ok() {
        let exported = check(&bytes);
        assert_ne!(exported.result, Outcome::Ok, "{}", found.message);
    }
    let place = found.first_bad.unwrap();
    (found.result, place.session.map(|s| s.to_string()), place.seq)
}

#[test]
fn an_untouched_store_verifies() {
    let dir = stored();
    let store = Store::open_read_only(dir.path()).unwrap();
    let found = store.verify().unwrap();
    assert_eq!((found.result, found.entries, found.sessions), (Outcome::Ok, 12, 3), "{}", found.message);
    assert_eq!(check(&export(&store)).result, Outcome::Ok);
}

#[test]
fn a_changed_field_of_an_entry_is_found_and_named() {
    let changes = [
        "entry = replace(entry, 'src', 'srv')",
        "entry = CAST(replace(CAST(entry AS TEXT), '{', '{ ') AS BLOB)",
        "entry = x'00ff'",
        "kind = 'call.allowed'",
        "kind = 'a' || char(10) || 'b'",
        "time_us = time_us + 1",
        "time_us = -1",
        "hash = randomblob(32)",
        "hash = x'00'",
        "prev_hash = randomblob(32)",
    ];
    for change in changes {
        let dir = stored();
        let change = change
            .replace("replace(entry,", "CAST(replace(CAST(entry AS TEXT),")
            .replace("'srv')", "'srv') AS BLOB)");
        tamper(dir.path(), &format!("UPDATE entry SET {change} WHERE session = 1 AND seq = 4"));
        assert_eq!(verdict(dir.path()), (Outcome::Altered, Some("sess_a1".into()), Some(4)), "{change}");
        let refusal = open(dir.path()).events(&id("a1")).unwrap_err();
        assert!(
            matches!(refusal, StoreError::Altered { seq: 4, .. } | StoreError::Database(_)),
            "{change}: {refusal}"
        );
    }
}

#[test]
fn missing_entries_are_found_at_every_place() {
    for (condition, seq) in
        [("seq = 7", 7), ("seq > 4", 5), ("seq = 3", 3), ("seq = 1", 1), ("seq < 4", 1), ("1", 1)]
    {
        let dir = stored();
        tamper(dir.path(), &format!("DELETE FROM entry WHERE session = 1 AND {condition}"));
        assert_eq!(
            verdict(dir.path()),
            (Outcome::Truncated, Some("sess_a1".into()), Some(seq)),
            "{condition}"
        );
        assert!(open(dir.path()).events(&id("a1")).is_err());
    }
}

#[test]
fn a_missing_session_is_found() {
    for number in 1..=3 {
        let dir = stored();
        tamper(
            dir.path(),
            &format!(
                "DELETE FROM entry WHERE session = {number}; DELETE FROM session WHERE number = {number}"
            ),
        );
        let found = open(dir.path()).verify().unwrap();
        assert_eq!(found.result, Outcome::Truncated);
        assert!(found.message.contains(&format!("session number {number} is missing")), "{}", found.message);
    }
    let dir = stored();
    tamper(dir.path(), "DELETE FROM session WHERE number = 3");
    assert_ne!(open(dir.path()).verify().unwrap().result, Outcome::Ok);
}

#[test]
fn entries_that_change_places_are_found() {
    let dir = stored();
    let swap = "UPDATE entry SET seq = 100 WHERE session = 1 AND seq = 2;
                UPDATE entry SET seq = 2 WHERE session = 1 AND seq = 3;
                UPDATE entry SET seq = 3 WHERE session = 1 AND seq = 100;";
    tamper(dir.path(), swap);
    assert_eq!(verdict(dir.path()), (Outcome::Altered, Some("sess_a1".into()), Some(2)));
    let dir = stored();
    tamper(
        dir.path(),
        "UPDATE entry SET session = 9 WHERE session = 1; UPDATE entry SET session = 1 WHERE session = 3",
    );
    assert_eq!(verdict(dir.path()), (Outcome::Altered, Some("sess_a1".into()), Some(1)));
}

#[test]
fn a_changed_head_is_found() {
    for change in
        ["head_seq = 6", "head_seq = 8", "head = randomblob(32)", "id = 'sess_a2'", "id = 'x'", "number = 7"]
    {
        let dir = stored();
        tamper(dir.path(), &format!("UPDATE session SET {change} WHERE number = 1"));
        let found = open(dir.path()).verify().unwrap();
        assert_ne!(found.result, Outcome::Ok, "{change}");
    }
}

#[test]
fn content_that_is_changed_moved_or_taken_away_is_not_passed_on() {
    let changes = [
        "UPDATE content SET sealed = randomblob(64) WHERE session = 1 AND seq = 4",
        "DELETE FROM content WHERE session = 1 AND seq = 4",
        "UPDATE content SET sealed = (SELECT sealed FROM content WHERE session = 1 AND seq = 2) WHERE session = 1 AND seq = 4",
        "UPDATE content SET sealed = (SELECT sealed FROM content WHERE session = 2 AND seq = 2) WHERE session = 1 AND seq = 2",
        "INSERT INTO content SELECT session, 3, sealed FROM content WHERE session = 1 AND seq = 2",
        "UPDATE session SET sealed_key = (SELECT sealed_key FROM session WHERE number = 2) WHERE number = 1",
    ];
    for change in changes {
        let dir = stored();
        tamper(dir.path(), change);
        let store = open(dir.path());
        let refusal = store.events(&id("a1")).unwrap_err();
        assert!(
            matches!(refusal, StoreError::Seal { .. } | StoreError::Altered { .. }),
            "{change}: {refusal}"
        );
        assert_eq!(store.verify().unwrap().result, Outcome::Ok, "the journal itself is whole");
    }
}

#[test]
fn the_journal_cannot_be_changed_by_sql_alone() {
    let dir = stored();
    let connection = Connection::open(dir.path().join("state.db")).unwrap();
    for sql in [
        "UPDATE entry SET kind = 'x' WHERE seq = 1",
        "DELETE FROM entry WHERE seq = 1",
        "INSERT OR REPLACE INTO entry SELECT * FROM entry WHERE session = 1 AND seq = 1",
        "INSERT INTO entry SELECT session, 99, time_us, kind, prev_hash, hash, entry FROM entry WHERE session = 1 AND seq = 1",
        "DELETE FROM session",
        "UPDATE session SET id = 'sess_x' WHERE number = 1",
        "UPDATE session SET head_seq = 1 WHERE number = 1",
        "UPDATE session SET epoch = 0 WHERE number = 1",
    ] {
        let refusal = connection.execute_batch(sql).unwrap_err().to_string();
        assert!(refusal.contains("append only"), "{sql}: {refusal}");
    }
    assert_eq!(open(dir.path()).verify().unwrap().result, Outcome::Ok);
}

#[test]
fn a_damaged_file_never_verifies_as_whole() {
    let dir = stored();
    Connection::open(dir.path().join("state.db"))
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let path = dir.path().join("state.db");
    let whole = std::fs::read(&path).unwrap();
    let needle = b"src/\xc3\xa9.rs";
    let places: Vec<usize> =
        whole.windows(needle.len()).enumerate().filter(|(_, w)| *w == needle).map(|(at, _)| at).collect();
    assert!(places.len() >= 10, "{}", places.len());
    for at in places {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        assert_eq!(open(dir.path()).verify().unwrap().result, Outcome::Altered);
    }
}
