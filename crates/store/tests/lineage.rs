//! Records of lineage in the store: nothing lowers a label, what is refused leaves nothing, and walks tell where they end.

mod common;

use common::{closing, export, id, map, meta, open};
use enclos_core::downgrade::{Aggregation, Function, Query, Row};
use enclos_core::ids::{Digest, RuleId};
use enclos_core::label::{Label, Level, Provenance};
use enclos_core::lineage::{
    Change, Draft, Input, Kind, LineageId, Moment, Origin, Seen, SourceType, digest_of, digest_over,
};
use enclos_store::{Direction, Lease, LineageError, Reach, Record, Store, StoreError};
use proptest::prelude::*;

fn lin(session: &str, number: u32) -> LineageId {
    LineageId::of(&id(session), number).unwrap()
}

fn draft(session: &str, number: u32, label: Label, inputs: &[LineageId]) -> Draft {
    let inputs: Vec<Input> = inputs.iter().cloned().map(Input::declared).collect();
    let change = Change {
        word: "answered".into(),
        description: "by a model".into(),
        agent: "script:x".into(),
        inputs,
    };
    let from = change.inputs.is_empty();
    Draft {
        id: lin(session, number),
        kind: if from { Kind::ToolResult } else { Kind::LlmOutput },
        content: Digest::new(format!("hmac-sha256:{number:064x}")),
        origin: Origin {
            source_type: SourceType::File,
            source_name: "src/lib.rs".into(),
            record_id: Some(format!("r{number}")),
            record_type: None,
            accessed_at: Moment(i64::from(number)),
            accessed_by: "ada".into(),
            access_method: "read".into(),
        },
        label,
        reason: "project".into(),
        can_be_downgraded: true,
        change: (!from).then_some(change),
        sent: None,
        lowering: None,
    }
}

fn with(drafts: Vec<Draft>) -> Record {
    Record {
        kind: "call.done".into(),
        time_us: 2_000,
        entry: map(&serde_json::json!({"n": 1})),
        lineage: drafts,
        ..Record::default()
    }
}

fn add(lease: &Lease, drafts: Vec<Draft>) -> Result<(), StoreError> {
    lease.append_wait(vec![with(drafts)]).map(drop)
}

const ALL: Reach = Reach { nodes: 10_000, in_session: false };

fn internal() -> Label {
    Label::untrusted(Level::Internal)
}

/// A chain: each record made of the one before.
fn chain(store: &Store, name: &str, length: u32) -> Lease {
    let lease = store.create(&id(name), meta()).unwrap();
    let drafts = (1..=length).map(|number| {
        let before: Vec<LineageId> = (number > 1).then(|| lin(name, number - 1)).into_iter().collect();
        draft(name, number, internal(), &before)
    });
    add(&lease, drafts.collect()).unwrap();
    lease
}

#[test]
fn a_record_comes_back_as_it_was_made_and_its_digest_is_in_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    let drafts = vec![draft("a", 1, internal(), &[]), draft("a", 2, internal(), &[lin("a", 1)])];
    add(&lease, drafts.clone()).unwrap();
    let mut digests = Vec::new();
    for draft in &drafts {
        let node = store.lineage(&draft.id).unwrap();
        assert_eq!(digest_of(&node.record), digest_of(&draft.record()));
        assert_eq!((node.kind, node.seq, node.archived), (draft.kind, 1, false));
        digests.push(digest_of(&node.record));
    }
    assert_eq!(store.lineage(&lin("a", 2)).unwrap().witness, Some(lin("a", 1)));
    let text = String::from_utf8(export(&store)).unwrap();
    let over = digest_over(&digests);
    assert!(text.contains(&format!(r#""lineage":{{"count":2,"digest":"{over}","first":1}}"#)), "{text}");
    assert!(matches!(store.lineage(&lin("a", 3)), Err(StoreError::Lineage(LineageError::Unknown(_)))));
    assert!(matches!(store.lineage(&lin("b", 1)), Err(StoreError::Lineage(LineageError::Unknown(_)))));
}

#[test]
fn a_refused_record_leaves_nothing_of_its_append() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = store.create(&id("a"), meta()).unwrap();
    add(&lease, vec![draft("a", 1, Label::untrusted(Level::Confidential), &[])]).unwrap();
    let before = export(&store);
    let lower = draft("a", 3, internal(), &[lin("a", 1), lin("a", 2)]);
    let refused = [
        vec![draft("a", 2, internal(), &[]), lower],
        vec![draft("a", 3, internal(), &[])],
        vec![draft("a", 1, internal(), &[])],
        vec![draft("b", 2, internal(), &[])],
        vec![draft("a", 2, internal(), &[lin("a", 9)])],
        vec![draft("a", 2, internal(), &[lin("nobody", 1)])],
        vec![Draft { content: Digest::new("sha256:short"), ..draft("a", 2, internal(), &[]) }],
    ];
    for drafts in refused {
        let error = add(&lease, drafts.clone()).unwrap_err();
        assert!(matches!(error, StoreError::Lineage(_)) && !error.is_fatal(), "{drafts:?}: {error}");
        assert_eq!(store.lineage_last(&id("a")).unwrap(), 1);
        assert_eq!(store.lineage_of_session(&id("a"), 0, 99).unwrap().len(), 1);
        assert!(store.lineage_hop(&lin("a", 1), Direction::Forward, 9).unwrap().is_empty());
    }
    assert_eq!(export(&store), before, "not even the entry was written");
    add(&lease, vec![draft("a", 2, internal(), &[])]).unwrap();
}

#[test]
fn walks_go_both_ways_and_tell_where_they_stop() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let _lease = chain(&store, "a", 30);
    let back = store.lineage_trace(&lin("a", 30), Direction::Backward, ALL).unwrap();
    assert_eq!((back.nodes.len(), back.edges.len(), back.truncated), (30, 29, false));
    let few = Reach { nodes: 5, in_session: true };
    let forward = store.lineage_trace(&lin("a", 1), Direction::Forward, few).unwrap();
    let names: Vec<u32> = forward.nodes.iter().map(|node| node.record.lineage_id.number()).collect();
    assert_eq!(names, [1, 2, 3, 4, 5]);
    assert_eq!((forward.truncated, forward.frontier), (true, vec![lin("a", 5)]));
    let on = store.lineage_trace(&lin("a", 5), Direction::Forward, ALL).unwrap();
    assert_eq!((on.nodes.len(), on.truncated), (26, false));
    let why = store.lineage_why(&lin("a", 30)).unwrap();
    assert_eq!((why.nodes.len(), why.edges.len()), (30, 29));
    assert_eq!(store.lineage_from_source("src/lib.rs", 0, 10).unwrap().len(), 1);
    assert!(store.lineage_from_source("src/lib.rs", 2, 10).unwrap().is_empty());
    assert!(store.lineage_from_source("other", 0, 10).unwrap().is_empty());
}

#[test]
fn a_walk_crosses_sessions_unless_it_is_told_not_to() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let _first = chain(&store, "a", 3);
    let lease = store.create(&id("b"), meta()).unwrap();
    add(&lease, vec![draft("b", 1, internal(), &[lin("a", 3)])]).unwrap();
    let all = store.lineage_trace(&lin("a", 1), Direction::Forward, ALL).unwrap();
    assert_eq!((all.nodes.len(), all.truncated), (4, false));
    let inside = Reach { nodes: 100, in_session: true };
    let own = store.lineage_trace(&lin("a", 1), Direction::Forward, inside).unwrap();
    assert_eq!((own.nodes.len(), own.truncated, own.frontier), (3, true, vec![lin("a", 3)]));
}

#[test]
fn a_reset_archives_and_nothing_new_is_made_of_what_was() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = chain(&store, "a", 3);
    lease.append_wait(vec![Record { archives: true, ..with(Vec::new()) }]).unwrap();
    let node = store.lineage(&lin("a", 2)).unwrap();
    assert!(node.archived && node.record.current_location.is_none());
    assert!(matches!(
        add(&lease, vec![draft("a", 4, internal(), &[lin("a", 3)])]),
        Err(StoreError::Lineage(_))
    ));
    add(&lease, vec![draft("a", 4, Label::LOWEST, &[])]).unwrap();
    assert!(!store.lineage(&lin("a", 4)).unwrap().archived);
}

#[test]
fn records_go_with_their_retention_and_links_to_them_are_told_as_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let lease = chain(&store, "a", 3);
    lease.append_wait(vec![Record { archives: true, ..with(Vec::new()) }]).unwrap();
    add(&lease, vec![draft("a", 4, internal(), &[])]).unwrap();
    let other = store.create(&id("b"), meta()).unwrap();
    add(&other, vec![draft("b", 1, internal(), &[lin("a", 4)])]).unwrap();
    assert_eq!(store.forget_lineage(i64::MAX, i64::MAX).unwrap().records, 0, "open sessions keep theirs");
    lease.append_wait(vec![closing(5_000)]).unwrap();
    assert_eq!(store.forget_lineage(5_000, 5_000).unwrap().records, 0);
    assert_eq!(store.forget_lineage(5_001, 0).unwrap().records, 1, "not the archived ones");
    assert!(store.lineage(&lin("a", 4)).is_err() && store.lineage(&lin("a", 1)).is_ok());
    assert_eq!(store.forget_lineage(5_001, 5_001).unwrap().records, 3);
    assert_eq!(store.forget_lineage(5_001, 5_001).unwrap().records, 0);
    let back = store.lineage_trace(&lin("b", 1), Direction::Backward, ALL).unwrap();
    assert_eq!((back.nodes.len(), back.gone), (1, vec![lin("a", 4)]));
    assert_eq!(store.verify().unwrap().result.exit_code(), 0, "the journal does not move");
}

#[test]
fn an_aggregate_is_lower_within_its_budget_over_all_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let rule = Aggregation {
        id: RuleId::new("means"),
        from: Level::Confidential,
        to: Level::Internal,
        source: "src/lib.rs".into(),
        functions: [Function::Mean].into(),
        fields: ["x".to_owned()].into(),
        groups: ["*".to_owned()].into(),
        least: 10,
        queries: 1,
        author: "owner".into(),
    };
    let ask = |name: &str| {
        let lease = store.create(&id(name), meta()).unwrap();
        let confidential = Label::untrusted(Level::Confidential);
        add(&lease, (1..=10).map(|number| draft(name, number, confidential, &[])).collect()).unwrap();
        let row = |node: enclos_store::Node| Row {
            seen: Seen {
                id: node.record.lineage_id.clone(),
                kind: node.kind,
                label: node.label(),
                can_be_downgraded: true,
                source: node.record.origin.source_name.clone(),
                record_id: node.record.origin.record_id.clone(),
                record_type: None,
                made: false,
                archived: false,
            },
            groups: ["*".to_owned()].into(),
            value: Some(1.0),
        };
        let rows: Vec<Row> =
            store.lineage_of_session(&id(name), 0, 99).unwrap().into_iter().map(row).collect();
        let query = Query { function: Function::Mean, field: "x".into(), group: "*".into() };
        let answer = rule.compute(&query, &rows, 0).unwrap();
        let mut made = draft(name, 11, answer.label, &answer.inputs);
        (made.kind, made.lowering) = (Kind::Aggregate, Some(answer.lowering));
        add(&lease, vec![made])
    };
    ask("a").unwrap();
    assert_eq!(store.lineage_answers("src/lib.rs").unwrap(), 1);
    assert!(matches!(ask("b"), Err(StoreError::Lineage(LineageError::Spent { answers: 1, .. }))));
    let listed = store.lineage_downgrades(0, 10).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].rule, Some(RuleId::new("means")));
    assert_eq!(listed[0].label(), internal());
}

#[test]
fn records_and_links_are_not_changed_at_rest() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    drop(chain(&store, "a", 2));
    drop(store);
    let connection = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    for sql in ["UPDATE lineage_record SET label = 0", "UPDATE lineage_edge SET src = 7"] {
        let error = connection.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("are not changed"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_sequence_lowers_a_label(
        steps in prop::collection::vec((0..4_usize, any::<bool>(), prop::collection::vec(1..40_u32, 0..4)), 1..40)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let lease = store.create(&id("a"), meta()).unwrap();
        let mut made = 0_u32;
        for (level, untrusted, mut inputs) in steps {
            inputs.sort_unstable();
            inputs.dedup();
            let provenance = if untrusted { Provenance::Untrusted } else { Provenance::Trusted };
            let label = Label::new(Level::ALL[level], provenance);
            let inputs: Vec<LineageId> = inputs.into_iter().map(|number| lin("a", number)).collect();
            let outcome = add(&lease, vec![draft("a", made + 1, label, &inputs)]);
            made += u32::from(outcome.is_ok());
            prop_assert_eq!(store.lineage_last(&id("a")).unwrap(), made);
        }
        for node in store.lineage_of_session(&id("a"), 0, 99).unwrap() {
            let whole = store.lineage_trace(&node.record.lineage_id, Direction::Backward, ALL).unwrap();
            for source in &whole.nodes {
                prop_assert!(node.label().covers(source.label()));
            }
            let why = store.lineage_why(&node.record.lineage_id).unwrap();
            let last = why.nodes.last().unwrap();
            prop_assert!(why.nodes.iter().all(|one| one.label().level() == node.label().level()));
            prop_assert!(last.witness.is_none());
        }
    }
}
