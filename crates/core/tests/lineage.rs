//! Rules of lineage and downgrades: what may never happen, over many cases.

use std::collections::BTreeSet;

use enclos_core::downgrade::{Aggregation, Certified, Function, Lowering, NotComputed, Query, Row};
use enclos_core::flow::Consent;
use enclos_core::ids::{Digest, RuleId, SessionId};
use enclos_core::label::{Label, Level, Provenance};
use enclos_core::lineage::{
    Change, Draft, Input, Kind, LineageId, Moment, Origin, Refused, Seen, Sent, SourceType, admit,
};
use proptest::prelude::*;

fn id(number: u32) -> LineageId {
    LineageId::of(&SessionId::new("sess_a"), number).unwrap()
}

fn seen(number: u32, label: Label) -> Seen {
    Seen {
        id: id(number),
        kind: Kind::ToolResult,
        label,
        can_be_downgraded: true,
        source: "crm".into(),
        record_id: Some(format!("r{number}")),
        record_type: Some("opportunity".into()),
        made: false,
        archived: false,
    }
}

fn draft(number: u32, label: Label, inputs: &[Seen]) -> Draft {
    let inputs: Vec<Input> = inputs.iter().map(|input| Input::declared(input.id.clone())).collect();
    let change =
        Change { word: "answered".into(), description: String::new(), agent: "model".into(), inputs };
    Draft {
        id: id(number),
        kind: Kind::LlmOutput,
        content: Digest::new("sha256:00"),
        origin: Origin {
            source_type: SourceType::Model,
            source_name: "m".into(),
            record_id: None,
            record_type: None,
            accessed_at: Moment(0),
            accessed_by: "ada".into(),
            access_method: "model".into(),
        },
        label,
        reason: "its inputs".into(),
        can_be_downgraded: true,
        change: (!change.inputs.is_empty()).then_some(change),
        sent: None,
        lowering: None,
    }
}

fn any_label() -> impl Strategy<Value = Label> {
    (0..4_usize, any::<bool>()).prop_map(|(level, untrusted)| {
        let provenance = if untrusted { Provenance::Untrusted } else { Provenance::Trusted };
        Label::new(Level::ALL[level], provenance)
    })
}

fn rule() -> Aggregation {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    Aggregation {
        id: RuleId::new("crm.means"),
        from: Level::Confidential,
        to: Level::Internal,
        source: "crm".into(),
        functions: [Function::Mean, Function::Count].into(),
        fields: words(&["amount"]),
        groups: words(&["*", "north"]),
        least: 10,
        queries: 5,
        author: "owner".into(),
    }
}

fn query(function: Function, field: &str, group: &str) -> Query {
    Query { function, field: field.into(), group: group.into() }
}

fn rows(count: u32) -> Vec<Row> {
    let row = |number| Row {
        seen: seen(number, Label::untrusted(Level::Confidential)),
        groups: ["north".to_owned()].into(),
        value: Some(f64::from(number)),
    };
    (1..=count).map(row).collect()
}

proptest! {
    #[test]
    fn a_record_is_made_exactly_when_its_label_covers_its_inputs(
        said in any_label(), known in prop::collection::vec(any_label(), 1..6)
    ) {
        let inputs: Vec<Seen> = known.iter().zip(1..).map(|(label, n)| seen(n, *label)).collect();
        let joined = known.iter().copied().reduce(Label::join).unwrap();
        let admitted = admit(&draft(99, said, &inputs), &inputs);
        prop_assert_eq!(admitted.is_ok(), said.covers(joined));
        if let Ok(admitted) = admitted {
            let witness = inputs.iter().find(|input| Some(&input.id) == admitted.witness.as_ref());
            prop_assert_eq!(witness.is_some(), said.level() == joined.level());
            prop_assert!(witness.is_none_or(|input| input.label.level() == said.level()));
        }
    }

    #[test]
    fn no_downgrade_covers_restricted_untrusted_or_what_can_never_be(
        level in 0..4_usize, never in any::<bool>(), to in 0..4_usize, from in 0..4_usize
    ) {
        let mut input = seen(1, Label::untrusted(Level::ALL[level]));
        input.can_be_downgraded = !never;
        let rule = Consent {
            id: RuleId::new("c"), from: Level::ALL[from], to: Level::ALL[to], destination: "*".into(), author: "o".into(),
        };
        let inputs = [input];
        if let Ok(lowering) = Lowering::consented(&rule, Level::ALL[level]) {
            for said in Level::ALL {
                for provenance in [Provenance::Trusted, Provenance::Untrusted] {
                    let mut draft = draft(2, Label::new(said, provenance), &inputs);
                    draft.lowering = Some(lowering.clone());
                    if admit(&draft, &inputs).is_ok() && !draft.label.covers(inputs[0].label) {
                        prop_assert!(!never && Level::ALL[level] < Level::Restricted);
                        prop_assert!(said >= rule.to && provenance == Provenance::Untrusted);
                    }
                }
            }
        } else {
            prop_assert!(to >= from.min(2) || level > from || level == 3);
        }
    }
}

#[test]
fn a_record_needs_the_inputs_that_it_names() {
    let inputs = [seen(1, Label::LOWEST), seen(2, Label::LOWEST)];
    let made = draft(3, Label::LOWEST, &inputs);
    assert!(admit(&made, &inputs).is_ok());
    assert!(matches!(admit(&made, &inputs[..1]), Err(Refused::NoInput { .. })));
    let mut archived = inputs.clone();
    archived[1].archived = true;
    assert!(matches!(admit(&made, &archived), Err(Refused::Archived { .. })));
    let twice = [inputs[0].clone(), inputs[0].clone()];
    assert!(matches!(admit(&draft(3, Label::LOWEST, &twice), &twice), Err(Refused::Shape { .. })));
    let itself = [seen(3, Label::LOWEST)];
    assert!(matches!(admit(&draft(3, Label::LOWEST, &itself), &itself), Err(Refused::Shape { .. })));
}

#[test]
fn what_is_sent_goes_to_an_equal_or_higher_class_or_by_consent_and_never_restricted() {
    for from in Level::ALL {
        for class in Level::ALL {
            for consent in [None, Some(RuleId::new("c"))] {
                let inputs = [seen(1, Label::trusted(from))];
                let mut out = draft(2, Label::trusted(from), &inputs);
                out.kind = Kind::MessageOut;
                out.sent = Some(Sent { destination: "channel:x".into(), class, consent: consent.clone() });
                let expected = from <= class || (consent.is_some() && from < Level::Restricted);
                assert_eq!(admit(&out, &inputs).is_ok(), expected, "{from} to {class}, {consent:?}");
            }
        }
    }
    let inputs = [seen(1, Label::LOWEST)];
    let mut nowhere = draft(2, Label::LOWEST, &inputs);
    nowhere.kind = Kind::MessageOut;
    assert!(matches!(admit(&nowhere, &inputs), Err(Refused::Shape { .. })));
}

#[test]
fn an_aggregate_is_computed_and_is_lower_than_its_records() {
    let computed = rule().compute(&query(Function::Mean, "amount", "north"), &rows(11), 0).unwrap();
    assert!((computed.value - 6.0).abs() < 1e-9);
    assert_eq!(computed.label, Label::untrusted(Level::Internal));
    let inputs: Vec<Seen> = rows(11).into_iter().map(|row| row.seen).collect();
    let mut made = draft(99, computed.label, &inputs);
    made.kind = Kind::Aggregate;
    assert!(matches!(admit(&made, &inputs), Err(Refused::Lowered { .. })));
    made.lowering = Some(computed.lowering);
    assert_eq!(admit(&made, &inputs).unwrap().witness, None);
    let few = &inputs[..9];
    let mut of_few = draft(99, computed.label, few);
    (of_few.kind, of_few.lowering) = (Kind::Aggregate, made.lowering.clone());
    assert!(matches!(admit(&of_few, few), Err(Refused::NotCovered { .. })), "the store counts for itself");
    let mut text = made;
    text.kind = Kind::LlmOutput;
    assert!(matches!(admit(&text, &inputs), Err(Refused::NotCovered { .. })), "a model computes nothing");
}

#[test]
fn an_aggregate_answers_within_its_rule_alone() {
    let ask = |query: &Query, rows: &[Row], spent| rule().compute(query, rows, spent).unwrap_err();
    let mean = query(Function::Mean, "amount", "north");
    assert!(matches!(ask(&mean, &rows(9), 0), NotComputed::TooFew { least: 10, .. }));
    assert!(matches!(ask(&mean, &rows(12), 5), NotComputed::Spent { queries: 5, .. }));
    assert!(matches!(
        ask(&query(Function::Sum, "amount", "north"), &rows(12), 0),
        NotComputed::NotNamed { .. }
    ));
    assert!(matches!(
        ask(&query(Function::Mean, "age", "north"), &rows(12), 0),
        NotComputed::NotNamed { .. }
    ));
    assert!(matches!(ask(&query(Function::Mean, "amount", "x"), &rows(12), 0), NotComputed::NotNamed { .. }));
    let changed = |change: &dyn Fn(&mut Row)| {
        let mut rows = rows(12);
        change(&mut rows[3]);
        ask(&mean, &rows, 0)
    };
    assert!(matches!(changed(&|row| row.seen.kind = Kind::LlmOutput), NotComputed::Own { .. }));
    assert!(matches!(changed(&|row| row.seen.kind = Kind::FileVersion), NotComputed::Own { .. }));
    assert!(matches!(changed(&|row| row.seen.made = true), NotComputed::Own { .. }));
    assert!(matches!(changed(&|row| row.seen.record_id = Some("r1".into())), NotComputed::Foreign { .. }));
    assert!(matches!(changed(&|row| row.seen.record_id = None), NotComputed::Foreign { .. }));
    assert!(matches!(changed(&|row| row.seen.source = "x".into()), NotComputed::Foreign { .. }));
    assert!(matches!(changed(&|row| row.groups.clear()), NotComputed::Foreign { .. }));
    assert!(matches!(changed(&|row| row.value = None), NotComputed::NoNumber { .. }));
    assert!(matches!(changed(&|row| row.value = Some(f64::NAN)), NotComputed::NoNumber { .. }));
    assert!(matches!(changed(&|row| row.seen.can_be_downgraded = false), NotComputed::Rule(_)));
    assert!(matches!(
        changed(&|row| row.seen.label = Label::untrusted(Level::Restricted)),
        NotComputed::Rule(_)
    ));
    let mut of_restricted = rule();
    of_restricted.from = Level::Restricted;
    assert!(of_restricted.compute(&mean, &rows(12), 0).is_err());
}

#[test]
fn a_certificate_counts_for_its_source_and_type_until_its_end() {
    let rule = Certified {
        id: RuleId::new("crm.anonymised"),
        from: Level::Confidential,
        to: Level::Public,
        source: "crm".into(),
        record_type: "opportunity".into(),
        certifier: "dpo".into(),
        until: Moment(100),
        author: "owner".into(),
    };
    let inputs = [seen(1, Label::trusted(Level::Confidential))];
    let mut made = draft(2, Label::trusted(Level::Public), &inputs);
    made.lowering = Some(rule.certify(Moment(99), &inputs).unwrap());
    assert!(admit(&made, &inputs).is_ok());
    assert!(rule.certify(Moment(100), &inputs).is_err());
    let mut other = inputs.clone();
    other[0].record_type = Some("note".into());
    assert!(rule.certify(Moment(0), &other).is_err());
    assert!(matches!(admit(&made, &other), Err(Refused::NotCovered { .. })));
}
