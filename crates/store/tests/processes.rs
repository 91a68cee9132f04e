//! Several processes and sudden death: what was acknowledged is there, chains never fork, leases keep gateways apart.
//!
//! The children are this test program again, told by their environment what to be.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{check, export, id, meta, open, record, with_content};
use enclos_store::journal::Outcome;
use enclos_store::{LeaseError, Store, StoreError};
use serde_json::json;

const ROLE: &str = "ENCLOS_STORE_TEST_ROLE";
const DIR: &str = "ENCLOS_STORE_TEST_DIR";
const NAME: &str = "ENCLOS_STORE_TEST_NAME";

fn child(role: &str, dir: &Path, name: &str) -> Child {
    start("exec \"$@\"", role, dir, name)
}

/// Starts this program through a shell that sets something up and then becomes it.
#[expect(clippy::disallowed_methods, reason = "the children of this test are this program again")]
fn start(shell: &str, role: &str, dir: &Path, name: &str) -> Child {
    Command::new("/bin/sh")
        .args(["-c", shell, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "this_program_as_a_child", "--nocapture"])
        .envs([(ROLE, role), (NAME, name)])
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the children of this test are this program again")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test of its own: what a child does.
#[test]
fn this_program_as_a_child() {
    let (Some(role), Some(dir), Some(name)) = (told(ROLE), told(DIR), told(NAME)) else { return };
    let store = open(Path::new(&dir));
    match role.as_str() {
        "append" => append_for_ever(&store, &name),
        "hundred" => append_a_hundred(&store, &name),
        "hold" => hold(&store, &name),
        "fill" => fill(&store, &name),
        other => panic!("no role {other}"),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Four sessions, four threads, until killed; each acknowledged entry is told.
fn append_for_ever(store: &Store, name: &str) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let session = format!("{name}t{thread}");
                let lease = match store.create(&id(&session), meta()) {
                    Err(LeaseError::Store(StoreError::SessionExists(_))) => {
                        store.lease(&id(&session)).unwrap()
                    }
                    other => other.unwrap(),
                };
                for i in 0.. {
                    let record = with_content("x", i, &json!({ "i": i }), format!("content {i}").as_bytes());
                    let receipt = lease.append_wait(vec![record]).unwrap();
                    say(&format!("ack {session} {}", receipt.last_seq()));
                }
            });
        }
    });
}

fn append_a_hundred(store: &Store, name: &str) {
    let lease = store.create(&id(name), meta()).unwrap();
    for i in 0..100 {
        lease.append_wait(vec![record("x", i, &json!({ "i": i }))]).unwrap();
    }
}

/// Appends until it is refused, and once more.
fn fill(store: &Store, name: &str) {
    let lease = store.create(&id(name), meta()).unwrap();
    let mut written = 0;
    let large = || record("x", 1, &json!({"x": "y".repeat(20_000)}));
    let refused = loop {
        match lease.append_wait(vec![large(), large()]) {
            Ok(receipt) => written = receipt.last_seq(),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::DiskFull);
    assert_eq!(lease.append_wait(vec![large(), large()]).unwrap_err(), StoreError::DiskFull);
    assert_eq!(store.events(&id(name)).unwrap().len() as u64, written, "the head has not moved");
    say(&format!("ack {name} {written}"));
}

fn hold(store: &Store, name: &str) {
    let _lease = store.lease(&id(name)).unwrap();
    say("held");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[test]
fn after_kill_9_everything_acknowledged_is_there_and_chains_verify() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = std::collections::BTreeMap::<String, u64>::new();
    for round in 0..8_u32 {
        let mut child = child("append", dir.path(), "crash");
        let mut output = BufReader::new(child.stdout.take().unwrap());
        // Dies after another number of acknowledgements each time, and so at another point of a commit.
        let mut line = String::new();
        let mut seen = 0;
        while seen < 5 + round * 37 && output.read_line(&mut line).unwrap() > 0 {
            seen += u32::from(line.starts_with("ack "));
            note(&mut acknowledged, &line);
            line.clear();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in output.lines().map_while(Result::ok) {
            note(&mut acknowledged, &line);
        }
        let store = open(dir.path());
        let verified = store.verify().unwrap();
        assert_eq!(verified.result, Outcome::Ok, "round {round}: {}", verified.message);
        assert_eq!(check(&export(&store)).result, Outcome::Ok);
        for (session, last) in &acknowledged {
            let events = store.events(&id(session)).unwrap();
            assert!(
                events.len() as u64 >= *last,
                "round {round}: {session} lost entries after {}",
                events.len()
            );
            assert!(events.iter().all(|e| e.content.is_some()));
        }
    }
    assert_eq!(acknowledged.len(), 4);
}

/// The last line of a killed child may be cut, which leaves a smaller number or none.
fn note(acknowledged: &mut std::collections::BTreeMap<String, u64>, line: &str) {
    let mut words = line.split_whitespace();
    if let (Some("ack"), Some(session), Some(seq)) = (words.next(), words.next(), words.next()) {
        let last = acknowledged.entry(session.to_owned()).or_default();
        *last = seq.parse().unwrap_or(0).max(*last);
    }
}

#[test]
fn at_the_limit_of_file_size_nothing_is_written_by_half() {
    let dir = tempfile::tempdir().unwrap();
    let child = start("trap '' XFSZ; ulimit -f 800; exec \"$@\"", "fill", dir.path(), "a");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let mut acknowledged = std::collections::BTreeMap::new();
    String::from_utf8(output.stdout).unwrap().lines().for_each(|line| note(&mut acknowledged, line));
    let written = acknowledged["a"];
    assert!(written >= 2 && written % 2 == 0, "{written}");
    let store = open(dir.path());
    assert_eq!(store.verify().unwrap().entries, written);
    let lease = store.lease(&id("a")).unwrap();
    assert_eq!(lease.append_wait(vec![record("x", 1, &json!({}))]).unwrap().first_seq(), written + 1);
}

#[test]
fn gateways_share_one_database_without_a_fork_or_a_loss() {
    let dir = tempfile::tempdir().unwrap();
    // All open at once, so that they also race to make the store and its key.
    let children: Vec<Child> = (0..5).map(|i| child("hundred", dir.path(), &format!("p{i}"))).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let store = open(dir.path());
    for i in 0..5 {
        assert_eq!(store.events(&id(&format!("p{i}"))).unwrap().len(), 100);
    }
    let verified = store.verify().unwrap();
    assert_eq!((verified.result, verified.entries, verified.sessions), (Outcome::Ok, 500, 5));
}

#[test]
fn opening_twice_in_one_process_keeps_the_locks_against_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let _second = open(dir.path());
    let _third = Store::open_read_only(dir.path()).unwrap();
    // Were the locks gone, the child would take itself for the last and remove the log under us.
    assert!(child("hundred", dir.path(), "b").wait_with_output().unwrap().status.success());
    lease.append_wait(vec![record("x", 1, &json!({}))]).unwrap();
    assert_eq!(store.verify().unwrap().entries, 101);
}

#[test]
fn a_lease_is_exclusive_and_ends_with_its_process() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    drop(store.create(&id("a"), meta()).unwrap());
    let mut holder = child("hold", dir.path(), "a");
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("held")));
    assert_eq!(store.lease(&id("a")).unwrap_err(), LeaseError::Held { pid: Some(holder.id()) });
    holder.kill().unwrap();
    holder.wait().unwrap();
    let lease = store.lease(&id("a")).unwrap();
    assert_eq!(lease.epoch(), 3);
    assert!(dir.path().join("run/sess_a.lock").exists());
    drop(lease);
    assert!(!dir.path().join("run/sess_a.lock").exists());
}

#[test]
fn leases_exclude_each_other_within_a_process() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let held = LeaseError::Held { pid: Some(std::process::id()) };
    assert_eq!(store.lease(&id("a")).unwrap_err(), held);
    assert_eq!(open(dir.path()).lease(&id("a")).unwrap_err(), held);
    assert_eq!(store.create(&id("a"), meta()).unwrap_err(), held);
    drop(lease);
    let exists = LeaseError::Store(StoreError::SessionExists(id("a")));
    assert_eq!(store.create(&id("a"), meta()).unwrap_err(), exists);
    assert_eq!(store.lease(&id("b")).unwrap_err(), LeaseError::Store(StoreError::UnknownSession(id("b"))));
    store.lease(&id("a")).unwrap();
}

#[test]
fn a_lease_of_an_older_epoch_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let paused = store.create(&id("a"), meta()).unwrap();
    paused.append_wait(vec![record("x", 1, &json!({}))]).unwrap();
    // A lock can be lost without its holder noticing, when somebody removes the file.
    std::fs::remove_file(dir.path().join("run/sess_a.lock")).unwrap();
    let newer = open(dir.path()).lease(&id("a")).unwrap();
    newer.append_wait(vec![record("y", 2, &json!({}))]).unwrap();
    let refusal = paused.append_wait(vec![with_content("x", 3, &json!({}), b"late")]).unwrap_err();
    assert_eq!(refusal, StoreError::LostLease(id("a")));
    newer.append_wait(vec![record("z", 4, &json!({}))]).unwrap();
    drop(paused);
    assert!(dir.path().join("run/sess_a.lock").exists(), "the lock of another was removed");
    let kinds: Vec<String> = store.events(&id("a")).unwrap().into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, ["x", "y", "z"]);
    assert_eq!(store.verify().unwrap().result, Outcome::Ok);
}

#[test]
fn a_lost_lease_fails_alone_in_a_batch() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let paused = store.create(&id("a"), meta()).unwrap();
    let good = store.create(&id("b"), meta()).unwrap();
    std::fs::remove_file(dir.path().join("run/sess_a.lock")).unwrap();
    let _newer = open(dir.path()).lease(&id("a")).unwrap();
    let (answer, answers) = std::sync::mpsc::channel();
    for i in 0..40 {
        for lease in [&paused, &good] {
            let answer = answer.clone();
            let session = lease.session().clone();
            let done =
                Box::new(move |outcome: Result<_, _>| answer.send((session, outcome.is_ok())).unwrap());
            lease.append(vec![record("x", i, &json!({}))], done);
        }
    }
    drop(answer);
    assert!(answers.iter().all(|(session, fits)| fits == (session == id("b"))));
    assert_eq!(store.events(&id("b")).unwrap().len(), 40);
    assert!(store.events(&id("a")).unwrap().is_empty());
}

#[test]
fn a_database_that_somebody_locks_for_a_while_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let other = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (answer, wait) = std::sync::mpsc::channel();
    let done = Box::new(move |outcome: Result<_, _>| answer.send(outcome.is_ok()).unwrap());
    lease.append(vec![record("x", 1, &json!({}))], done);
    assert!(wait.recv_timeout(Duration::from_millis(50)).is_err(), "acknowledged while it cannot be written");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(wait.recv().unwrap());
}
