//! The chain of policy versions: numbered by scope, verified like any chain, changed by one process at a time.

mod common;

use common::{check, export, id, open, session};
use enclos_store::{LeaseError, POLICY_CHAIN, PolicyChange, SessionFilter, StoreError, policy_digest};

fn change(scope: &str, text: &str, time_us: i64) -> PolicyChange {
    PolicyChange {
        scope: scope.to_owned(),
        text: text.to_owned(),
        author: "ada".to_owned(),
        how: "apply".to_owned(),
        looser: Vec::new(),
        time_us,
    }
}

#[test]
fn versions_are_numbered_by_scope_and_name_the_text_before() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert!(store.policy_versions().unwrap().is_empty());
    let lease = store.lease_policy(1).unwrap();
    lease.append(change("instance", "one", 1)).unwrap();
    lease.append(change("project site", "other", 2)).unwrap();
    let second = lease.append(change("instance", "two", 3)).unwrap();
    assert_eq!((second.number, second.previous.as_ref()), (2, Some(&policy_digest("one"))));
    let versions = store.policy_versions().unwrap();
    assert_eq!(versions.len(), 3);
    assert_eq!(versions.last(), Some(&second));
    assert_eq!(versions[0].previous, None);
    assert_eq!(store.policy_text(&versions[0]).unwrap(), "one");
    assert_eq!(store.policy_text(&second).unwrap(), "two");
}

#[test]
fn the_chain_verifies_with_the_journal_and_is_no_session() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    drop(session(&store, "a", 3));
    store.lease_policy(1).unwrap().append(change("instance", "the text of it", 1)).unwrap();
    assert_eq!(store.verify().unwrap().entries, 4);
    let bytes = export(&store);
    assert_eq!(check(&bytes).entries, 4);
    let bytes = String::from_utf8(bytes).unwrap();
    assert!(bytes.contains("policy.changed") && !bytes.contains("the text of it"));
    let listed = store.sessions(&SessionFilter::default()).unwrap();
    assert_eq!(listed.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), [id("a")]);
    let chain = enclos_core::ids::SessionId::new(POLICY_CHAIN);
    assert!(matches!(store.session(&chain), Err(StoreError::UnknownSession(_))));
}

#[test]
fn one_changes_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (open(dir.path()), open(dir.path()));
    let held = store.lease_policy(1).unwrap();
    assert!(matches!(other.lease_policy(1), Err(LeaseError::Held { .. })));
    held.append(change("instance", "one", 1)).unwrap();
    drop(held);
    let second = other.lease_policy(2).unwrap().append(change("instance", "two", 2)).unwrap();
    assert_eq!(second.number, 2);
}
