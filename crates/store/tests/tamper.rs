//! Tampering with an export: whatever is changed, cut, moved or added, it never verifies, and the place is named.

mod common;

use common::{check, closing, export, id, lines, open, session};
use enclos_core::ids::SessionId;
use enclos_store::Store;
use enclos_store::journal::Outcome;
use proptest::prelude::*;

/// An export of three sessions, the second one without entries, and where each line belongs.
fn sample() -> (tempfile::TempDir, Store, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    session(&store, "a1", 4).append_wait(vec![closing(9_000)]).unwrap();
    drop(session(&store, "b2", 0));
    drop(session(&store, "c3", 3));
    let bytes = export(&store);
    (dir, store, bytes)
}

/// The session and entry of each line of the sample.
fn places() -> Vec<(Option<&'static str>, Option<u64>)> {
    let entries = |s: &'static str, n: u64| (1..=n).map(move |i| (Some(s), Some(i)));
    let mut all = vec![(None, None)];
    all.extend(entries("sess_a1", 5).chain([(Some("sess_a1"), None), (Some("sess_b2"), None)]));
    all.extend(entries("sess_c3", 3).chain([(Some("sess_c3"), None), (None, None)]));
    all
}

#[test]
fn an_export_verifies_and_is_the_same_each_time() {
    let (_dir, store, bytes) = sample();
    let found = check(&bytes);
    assert_eq!((found.result, found.entries, found.sessions), (Outcome::Ok, 8, 3), "{}", found.message);
    assert_eq!((found.first_bad, found.anchored), (None, false));
    assert!(found.message.contains("unanchored"));
    assert_eq!(export(&store), bytes);
    for line in lines(&bytes) {
        serde_json::from_slice::<serde_json::Value>(&line).unwrap();
    }
    let mut one = Vec::new();
    let summary = store.export(Some(&id("a1")), &mut one).unwrap();
    assert_eq!((summary.sessions, summary.entries), (1, 5));
    assert_eq!(check(&one).result, Outcome::Ok);
    assert!(store.export(Some(&id("none")), &mut one).is_err());
}

#[test]
fn one_byte_changed_anywhere_shows_and_its_entry_is_named() {
    let (_dir, _store, bytes) = sample();
    let places = places();
    let mut line = 0;
    for at in 0..bytes.len() {
        for mask in [0x01_u8, 0x80] {
            let mut bad = bytes.clone();
            bad[at] ^= mask;
            let found = check(&bad);
            let what = format!("byte {at} of line {} with {mask:#x}: {}", line + 1, found.message);
            assert_ne!(found.result, Outcome::Ok, "{what}");
            assert_ne!(found.result, Outcome::Fork, "{what}");
            let place = found.first_bad.clone().expect(&what);
            // A line feed that is changed into another byte joins two lines, and the first is the bad one.
            assert_eq!(place.line, Some(line + 1), "{what}");
            let (session, seq) = places[usize::try_from(line).unwrap()];
            if let Some(seq) = seq {
                assert_eq!(place.seq, Some(seq), "{what}");
                assert_eq!(place.session.as_ref().map(SessionId::as_str), session, "{what}");
            }
        }
        line += u64::from(bytes[at] == b'\n');
    }
}

#[test]
fn a_cut_anywhere_shows() {
    let (_dir, _store, bytes) = sample();
    let header = lines(&bytes)[0].len();
    for at in 0..bytes.len() {
        let found = check(&bytes[..at]);
        let expected = if at < header { Outcome::BadInput } else { Outcome::Truncated };
        assert_eq!(found.result, expected, "cut at {at}: {}", found.message);
        assert!(found.first_bad.is_some());
    }
}

#[test]
fn a_byte_added_or_removed_anywhere_shows() {
    let (_dir, _store, bytes) = sample();
    for at in 0..=bytes.len() {
        for byte in [b' ', b'\n', b'0', b'{', 0] {
            let mut bad = bytes.clone();
            bad.insert(at, byte);
            assert_ne!(check(&bad).result, Outcome::Ok, "{byte} at {at}");
        }
        if at < bytes.len() {
            let mut bad = bytes.clone();
            bad.remove(at);
            assert_ne!(check(&bad).result, Outcome::Ok, "without {at}");
        }
    }
}

#[test]
fn a_missing_line_is_named() {
    let (_dir, _store, bytes) = sample();
    let all = lines(&bytes);
    for (gone, (session, seq)) in places().iter().enumerate().skip(1) {
        let mut left = all.clone();
        left.remove(gone);
        let found = check(&left.concat());
        let place = found.first_bad.clone().unwrap();
        let what = format!("without line {}: {}", gone + 1, found.message);
        assert_eq!(found.result, Outcome::Truncated, "{what}");
        if seq.is_some() {
            assert_eq!(place.seq, *seq, "{what}");
            assert_eq!(place.session.as_ref().map(SessionId::as_str), *session, "{what}");
        }
    }
}

#[test]
fn a_line_there_twice_or_moved_is_named() {
    let (_dir, _store, bytes) = sample();
    let all = lines(&bytes);
    for (at, (_, seq)) in places().iter().enumerate() {
        let mut twice = all.clone();
        twice.insert(at, all[at].clone());
        let found = check(&twice.concat());
        assert_eq!(found.result, Outcome::Altered, "line {} twice: {}", at + 1, found.message);
        assert_eq!(found.first_bad.unwrap().line, Some(at as u64 + 2));
        if seq.is_some() && places()[at + 1].1.is_some() {
            let mut swapped = all.clone();
            swapped.swap(at, at + 1);
            let found = check(&swapped.concat());
            assert_eq!(found.result, Outcome::Altered, "line {} moved: {}", at + 1, found.message);
            assert_eq!(found.first_bad.unwrap().seq, *seq);
        }
    }
}

#[test]
fn two_writers_of_one_chain_are_called_a_fork_not_tampering() {
    let (dir, store, _) = sample();
    let copy = tempfile::tempdir().unwrap();
    drop(store);
    common::copy_dir(dir.path(), copy.path());
    let branch = |dir: &std::path::Path, word: &str| {
        let store = open(dir);
        let lease = store.lease(&id("c3")).unwrap();
        lease.append_wait(vec![common::record(word, 9_000, &serde_json::json!({}))]).unwrap();
        lines(&export(&store))
    };
    let (left, right) = (branch(dir.path(), "left"), branch(copy.path(), "right"));
    let both = [&left[..12], &right[11..]].concat().concat();
    let found = check(&both);
    assert_eq!(found.result, Outcome::Fork, "{}", found.message);
    assert_eq!(found.first_bad.unwrap().seq, Some(4));
    assert_eq!(found.result.exit_code(), 3);
}

#[test]
fn sessions_cannot_be_taken_out_moved_or_brought_in() {
    let (_dir, _store, bytes) = sample();
    let all = lines(&bytes);
    let without = [&all[..7], &all[8..]].concat().concat();
    assert_eq!(check(&without).result, Outcome::Truncated);
    let without = [&all[..1], &all[7..]].concat().concat();
    assert_eq!(check(&without).result, Outcome::Truncated);
    let moved = [&all[..1], &all[8..12], &all[1..8], &all[12..]].concat().concat();
    assert_eq!(check(&moved).result, Outcome::Altered);

    // The chain of another deployment begins elsewhere.
    let other = sample().2;
    let other = lines(&other);
    let foreign = [&all[..1], &other[1..7], &all[7..]].concat().concat();
    let found = check(&foreign);
    assert_eq!(found.result, Outcome::Altered, "{}", found.message);
    assert_eq!(found.first_bad.unwrap().seq, Some(1));
    // So does the end of another export.
    let foreign = [&all[..12], &other[12..]].concat().concat();
    assert_eq!(check(&foreign).result, Outcome::Altered);
}

#[test]
fn what_is_no_export_is_bad_input() {
    let (_dir, _store, bytes) = sample();
    let newer = String::from_utf8(bytes.clone()).unwrap().replacen("\"version\":1", "\"version\":2", 1);
    let found = check(newer.as_bytes());
    assert_eq!(found.result, Outcome::BadInput);
    assert!(found.message.contains("version 2"), "{}", found.message);
    for other in [&b""[..], b"\n", b"{}\n", b"hello", &vec![0; 200_000], &bytes[1..]] {
        assert_eq!(check(other).result, Outcome::BadInput);
    }
    let endless = [&bytes[..], &vec![b'x'; 300_000]].concat();
    assert_eq!(check(&endless).result, Outcome::Altered);
    let header = lines(&bytes)[0].clone();
    let endless = [&header[..], &vec![b'x'; 300_000]].concat();
    assert_eq!(check(&endless).result, Outcome::Altered);
}

/// Changes of a file, as an attacker or a bad disk makes them.
#[derive(Clone, Debug)]
enum Change {
    Set(usize, Vec<u8>),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Repeat(usize, usize),
    SwapLines(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let bytes = proptest::collection::vec(any::<u8>(), 1..8);
    prop_oneof![
        (any::<usize>(), bytes.clone()).prop_map(|(at, b)| Change::Set(at, b)),
        (any::<usize>(), bytes).prop_map(|(at, b)| Change::Insert(at, b)),
        (any::<usize>(), 1_usize..400).prop_map(|(at, n)| Change::Remove(at, n)),
        (any::<usize>(), 1_usize..400).prop_map(|(at, n)| Change::Repeat(at, n)),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::SwapLines(a, b)),
    ]
}

fn changed(bytes: &[u8], change: &Change) -> Vec<u8> {
    let mut out = bytes.to_vec();
    match change {
        Change::Set(at, new) => {
            let at = at % out.len();
            let end = (at + new.len()).min(out.len());
            out.splice(at..end, new.iter().copied());
        }
        Change::Insert(at, new) => {
            let at = at % (out.len() + 1);
            out.splice(at..at, new.iter().copied());
        }
        Change::Remove(at, n) => {
            let at = at % out.len();
            out.drain(at..(at + n).min(bytes.len()));
        }
        Change::Repeat(at, n) => {
            let at = at % out.len();
            let end = (at + n).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            out.splice(end..end, piece);
        }
        Change::SwapLines(a, b) => {
            let mut all = lines(bytes);
            let n = all.len();
            all.swap(a % n, b % n);
            out = all.concat();
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_list_of_changes_verifies(changes in proptest::collection::vec(change(), 1..4)) {
        static SAMPLE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let bytes = SAMPLE.get_or_init(|| sample().2);
        let mut bad = bytes.clone();
        for change in &changes {
            if !bad.is_empty() {
                bad = changed(&bad, change);
            }
        }
        let found = check(&bad);
        prop_assert_eq!(found.result == Outcome::Ok, bad == *bytes, "{}", found.message);
        prop_assert_eq!(found.first_bad.is_none(), found.result == Outcome::Ok);
    }
}
