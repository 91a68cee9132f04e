//! Opening a store: what is made, who may read it, and what is refused.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use common::{id, meta, open, record, session};
use enclos_store::journal::Outcome;
use enclos_store::{LeaseError, NoRedaction, Store, StoreError};
use serde_json::json;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn refusal(dir: &Path) -> StoreError {
    Store::open(dir, Arc::new(NoRedaction)).unwrap_err()
}

#[test]
fn what_is_made_is_for_the_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("deep/home");
    let store = open(&home);
    let _lease = session(&store, "a", 2);
    for sub in ["", "keys", "run", "sessions"] {
        assert_eq!(mode(&home.join(sub)), 0o700, "{sub}");
    }
    for file in
        ["state.db", "state.db-wal", "state.db-shm", "keys/store.key", "run/sess_a.lock", "run/open.lock"]
    {
        assert_eq!(mode(&home.join(file)), 0o600, "{file}");
    }
    assert_eq!(fs::read_dir(home.join("keys")).unwrap().count(), 1);
    assert_eq!(store.session_dir(&id("a")).unwrap(), home.join("sessions/sess_a"));
}

#[test]
fn a_key_or_database_that_others_may_reach_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    for file in ["keys/store.key", "state.db"] {
        let path = dir.path().join(file);
        for wide in [0o640, 0o604, 0o660, 0o700] {
            set_mode(&path, wide);
            let expected = StoreError::Permissions { path: path.clone(), mode: wide, expected: 0o600 };
            assert_eq!(refusal(dir.path()), expected);
            assert_eq!(Store::open_read_only(dir.path()).unwrap_err(), expected);
        }
        set_mode(&path, 0o600);
    }
    set_mode(&dir.path().join("keys"), 0o755);
    drop(open(dir.path()));
    assert_eq!(mode(&dir.path().join("keys")), 0o700);
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a file away");
        return;
    }
    for file in ["keys/store.key", "state.db", "keys", ""] {
        let dir = tempfile::tempdir().unwrap();
        drop(open(dir.path()));
        std::os::unix::fs::chown(dir.path().join(file), Some(4242), None).unwrap();
        assert!(matches!(refusal(dir.path()), StoreError::ForeignOwner { owner: 4242, .. }), "{file}");
    }
}

#[test]
fn a_missing_or_foreign_key_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    drop(session(&open(dir.path()), "a", 2));
    let path = dir.path().join("keys/store.key");
    let own = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(refusal(dir.path()), StoreError::KeyMissing { path: path.clone() });
    assert!(!path.exists());
    let other = tempfile::tempdir().unwrap();
    drop(open(other.path()));
    fs::copy(other.path().join("keys/store.key"), &path).unwrap();
    assert!(matches!(refusal(dir.path()), StoreError::Key { why: "is not the one of this database", .. }));
    for bad in [
        &b""[..],
        b"enclos-store-key-1 00\n",
        &own[..own.len() - 1],
        &[&own[..], b"\n"].concat(),
        &[0xff; 84],
    ] {
        fs::write(&path, bad).unwrap();
        assert!(matches!(refusal(dir.path()), StoreError::Key { .. } | StoreError::Place { .. }));
    }
    fs::write(&path, own).unwrap();
    assert_eq!(open(dir.path()).events(&id("a")).unwrap().len(), 2);
}

#[test]
fn a_newer_schema_and_a_foreign_file_are_refused_untouched() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let path = dir.path().join("state.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    assert_eq!(refusal(dir.path()), StoreError::NewerSchema { found: 99, known: 2 });
    assert!(matches!(Store::open_read_only(dir.path()).unwrap_err(), StoreError::NewerSchema { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (x)").unwrap();
    set_mode(&path, 0o600);
    assert_eq!(refusal(dir.path()), StoreError::NotAStore { path: path.clone() });
    fs::write(
        &path,
        "a text of somebody, long enough to be a header of a database, but it is none of that at all, no",
    )
    .unwrap();
    assert_eq!(refusal(dir.path()), StoreError::NotAStore { path });
}

#[test]
fn reading_needs_a_store_and_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    assert_eq!(Store::open_read_only(dir.path()).unwrap_err(), StoreError::NoStore { path });
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_name_that_is_no_session_never_becomes_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for bad in ["sess_../../x", "sess_", "x", "sess_a/b", "../run", "sess_a\0"] {
        let name = enclos_core::ids::SessionId::new(bad);
        let expected = StoreError::BadSession(bad.to_owned());
        assert_eq!(store.create(&name, meta()).unwrap_err(), LeaseError::Store(expected.clone()));
        assert_eq!(store.lease(&name).unwrap_err(), LeaseError::Store(expected.clone()));
        assert_eq!(store.session_dir(&name).unwrap_err(), expected);
    }
    assert_eq!(fs::read_dir(dir.path().join("run")).unwrap().count(), 1);
}

#[test]
fn a_file_taken_away_while_open_stops_everything() {
    for file in ["state.db", "state.db-wal"] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let lease = session(&store, "a", 2);
        let path = dir.path().join(file);
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        let refused = lease.append_wait(vec![record("x", 1, &json!({}))]).unwrap_err();
        assert_eq!(refused, StoreError::Moved { path: path.clone() }, "{file}");
        fs::rename(dir.path().join("elsewhere"), &path).unwrap();
        // Nobody knows what happened meanwhile: the process has to start again.
        let refused = lease.append_wait(vec![record("x", 1, &json!({}))]).unwrap_err();
        assert_eq!(refused, StoreError::Moved { path });
    }
}

/// Fills a file system of one megabyte, which only root can mount.
#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::tmpfs(dir.path()) else {
        eprintln!("skipped: a small file system can only be mounted by root");
        return;
    };
    let home = dir.path().join("home");
    let store = open(&home);
    let lease = store.create(&id("a"), meta()).unwrap();
    let filler = dir.path().join("filler");
    let mut written = 0_u64;
    let refused = loop {
        if written == 5 {
            fs::write(&filler, vec![0; 700_000]).unwrap();
        }
        match lease.append_wait(vec![record("x", 1, &json!({"x": "y".repeat(9_000)}))]) {
            Ok(receipt) => written = receipt.last_seq(),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::DiskFull);
    assert!(written > 5);
    assert_eq!(store.events(&id("a")).unwrap().len() as u64, written, "the head has not moved");
    fs::remove_file(&filler).unwrap();
    let receipt = lease.append_wait(vec![record("x", 1, &json!({}))]).unwrap();
    assert_eq!(receipt.first_seq(), written + 1);
    assert_eq!(store.verify().unwrap().result, Outcome::Ok);
}

/// A small file system that goes with the value.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn tmpfs(path: &'a Path) -> Option<Self> {
        tool("mount", &["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", path.to_str()?])
            .then_some(Self(path))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        tool("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test mounts a small file system")]
fn tool(name: &str, args: &[&str]) -> bool {
    let quiet = std::process::Stdio::null;
    let outcome = std::process::Command::new(name).args(args).stderr(quiet()).stdout(quiet()).status();
    outcome.is_ok_and(|status| status.success())
}
