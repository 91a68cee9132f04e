//! Answers, exports and pictures of lineage, on stores that the tests fill.

use std::path::{Path, PathBuf};

use enclos_core::ids::{Digest, SessionId};
use enclos_core::label::{Label, Level};
use enclos_core::lineage::{Change, Draft, Input, Kind, LineageId, Moment, Origin, SourceType};
use enclos_protocol::lineage::{ExportRequest, Question, Start};
use enclos_store::{NoRedaction, Record, SessionMeta, Store};
use proptest::prelude::*;

use super::{ask, draw, export, verify};
use crate::clock::Clock;

struct Bench {
    dir: tempfile::TempDir,
    store: Store,
}

fn session() -> SessionId {
    SessionId::new("sess_a")
}

fn id(number: u32) -> LineageId {
    LineageId::of(&session(), number).unwrap()
}

fn draft(number: u32, name: &str, level: Level, inputs: &[u32]) -> Draft {
    let inputs: Vec<Input> = inputs.iter().map(|input| Input::declared(id(*input))).collect();
    let change = Change {
        word: "answered".into(),
        description: "by a model".into(),
        agent: "script:x".into(),
        inputs,
    };
    let read = change.inputs.is_empty();
    Draft {
        id: id(number),
        kind: if read { Kind::ToolResult } else { Kind::LlmOutput },
        content: Digest::new(format!("hmac-sha256:{number:064x}")),
        origin: Origin {
            source_type: SourceType::File,
            source_name: name.into(),
            record_id: None,
            record_type: None,
            accessed_at: Moment(i64::from(number)),
            accessed_by: "ada".into(),
            access_method: "read".into(),
        },
        label: Label::untrusted(level),
        reason: "path rule".into(),
        can_be_downgraded: true,
        change: (!read).then_some(change),
        sent: None,
        lowering: None,
    }
}

impl Bench {
    /// Two sources, and two answers: one of the first, one of both.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("state"), std::sync::Arc::new(NoRedaction)).unwrap();
        let meta = SessionMeta {
            task: String::new(),
            repo: "/r".into(),
            surface: "terminal".into(),
            state: "opening".into(),
            created_us: 1,
            extra: serde_json::Map::new(),
        };
        let lease = store.create(&session(), meta).unwrap();
        let drafts = [
            vec![draft(1, "a.rs", Level::Internal, &[]), draft(2, "<b>.rs", Level::Confidential, &[])],
            vec![draft(3, "m", Level::Internal, &[1])],
            vec![draft(4, "m", Level::Confidential, &[1, 2])],
        ];
        for lineage in drafts {
            let record = Record { kind: "x".into(), time_us: 9, lineage, ..Record::default() };
            lease.append_wait(vec![record]).unwrap();
        }
        Self { dir, store }
    }

    fn export(&self, name: &str, clearance: Level) -> PathBuf {
        let folder = self.dir.path().join(name);
        let question = Question::Backward(Start::Record(id(4)));
        let request = ExportRequest { question, clearance, folder: folder.clone() };
        export(&self.store, &Clock::by(|| 7), &request).unwrap();
        folder
    }

    fn key(&self) -> PathBuf {
        self.store.public_key_file()
    }

    fn first_bad(&self, folder: &Path) -> Option<String> {
        verify(folder, Some(&self.key()), Path::new("/nowhere")).unwrap().first_bad
    }
}

#[test]
fn an_export_verifies_with_the_public_key_alone_and_withholds_visibly() {
    let bench = Bench::new();
    let whole = bench.export("whole", Level::Restricted);
    let found = verify(&whole, Some(&bench.key()), Path::new("/nowhere")).unwrap();
    assert_eq!(found.first_bad, None);
    assert_eq!((found.records, found.withheld, found.entries), (3, 0, 3));
    assert_eq!(found.signer, "given");
    let alone = verify(&whole, None, Path::new("/nowhere")).unwrap();
    assert_eq!((alone.ok, alone.signer.as_str()), (true, "its own"), "whose key it is nobody knows");
    let part = bench.export("part", Level::Internal);
    let found = verify(&part, Some(&bench.key()), Path::new("/nowhere")).unwrap();
    assert_eq!((&found.first_bad, found.records, found.withheld), (&None, 1, 2));
    assert_eq!((found.unproven, found.entries), (3, 0), "its journal names what the reader may not know");
    assert!(found.message.contains("by the signature alone"), "{}", found.message);
    assert!(!part.join("journal-sess_a.jsonl").exists());
    for file in std::fs::read_dir(&part).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("<b>.rs"), "a name above the clearance: {text}");
    }
    let prov: serde_json::Value =
        serde_json::from_slice(&std::fs::read(whole.join("prov.json")).unwrap()).unwrap();
    assert_eq!(prov["wasDerivedFrom"].as_object().unwrap().len(), 2);
    assert_eq!(prov["entity"].as_object().unwrap().len(), 3);
}

#[test]
fn whatever_is_changed_in_an_export_is_found_and_named() {
    let bench = Bench::new();
    let folder = bench.export("whole", Level::Restricted);
    let files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 8);
    for file in &files {
        let before = std::fs::read(file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        for at in [0, before.len() / 2, before.len() - 1] {
            let mut changed = before.clone();
            changed[at] ^= 1;
            std::fs::write(file, &changed).unwrap();
            assert!(bench.first_bad(&folder).is_some(), "{name} byte {at}");
        }
        std::fs::remove_file(file).unwrap();
        assert!(bench.first_bad(&folder).unwrap().contains(name), "{name} removed");
        std::fs::write(file, &before).unwrap();
    }
    std::fs::write(folder.join("more.txt"), "x").unwrap();
    assert!(bench.first_bad(&folder).unwrap().contains("more.txt"));
    std::fs::remove_file(folder.join("more.txt")).unwrap();
    assert_eq!(bench.first_bad(&folder), None);
    let other = Bench::new();
    assert!(other.store.signer().is_ok());
    let found = verify(&folder, Some(&other.key()), Path::new("/nowhere")).unwrap();
    assert!(found.first_bad.unwrap().contains("another key"));
}

#[test]
fn a_record_that_the_signer_changed_is_not_the_one_of_the_journal() {
    let bench = Bench::new();
    let folder = bench.export("whole", Level::Restricted);
    let records = std::fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let lower = records.replace("CONFIDENTIAL", "PUBLIC");
    std::fs::write(folder.join("records.jsonl"), &lower).unwrap();
    let text = std::fs::read(folder.join("manifest.json")).unwrap();
    let mut manifest: super::bundle::Manifest = serde_json::from_slice(&text).unwrap();
    manifest.files.insert("records.jsonl".into(), super::bundle::digest(lower.as_bytes()));
    let listed = serde_json::to_vec(&manifest).unwrap();
    let signature = bench.store.signer().unwrap().sign(super::bundle::PURPOSE, &listed);
    std::fs::write(folder.join("manifest.json"), listed).unwrap();
    std::fs::write(folder.join("manifest.sig"), signature).unwrap();
    let bad = bench.first_bad(&folder).unwrap();
    assert!(bad.contains("are not those of entry 1"), "{bad}");
}

#[test]
fn an_export_makes_a_new_folder_and_answers_something() {
    let bench = Bench::new();
    let folder = bench.export("whole", Level::Restricted);
    let again = |folder: PathBuf, question| {
        let request = ExportRequest { question, clearance: Level::Restricted, folder };
        export(&bench.store, &Clock::by(|| 7), &request)
    };
    let error = again(folder, Question::Records(session())).unwrap_err();
    assert!(error.message.contains("cannot be made"), "{}", error.message);
    let none = again(bench.dir.path().join("none"), Question::Downgrades { since_us: 0 }).unwrap_err();
    assert!(none.message.contains("nothing to export"), "{}", none.message);
    assert!(!bench.dir.path().join("none").exists());
}

#[test]
fn questions_are_answered_from_a_record_a_session_and_a_source() {
    let bench = Bench::new();
    let asked = |question| ask(&bench.store, &question).unwrap();
    let numbers = |question| {
        let mut numbers: Vec<u32> =
            asked(question).records.iter().map(|item| item.record.lineage_id.number()).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(numbers(Question::Forward(Start::Record(id(1)))), [1, 3, 4]);
    assert_eq!(numbers(Question::Backward(Start::Record(id(4)))), [1, 2, 4]);
    assert_eq!(numbers(Question::Backward(Start::Session(session()))), [1, 2, 4]);
    assert_eq!(numbers(Question::Why(Start::Record(id(4)))), [2, 4], "what brought CONFIDENTIAL in");
    assert_eq!(numbers(Question::Records(session())), [1, 2, 3, 4]);
    assert_eq!(numbers(Question::Impact { source: "<b>.rs".into(), since_us: 0 }), [2, 4]);
    assert!(numbers(Question::Impact { source: "<b>.rs".into(), since_us: 3 }).is_empty());
    let error = ask(&bench.store, &Question::Why(Start::Record(id(9)))).unwrap_err();
    assert!(error.message.contains("`lin_a_9`") && !error.hints.is_empty());
    let hunk = Question::Hunk { session: session(), path: "a.rs".into(), line: None };
    assert!(ask(&bench.store, &hunk).unwrap_err().message.contains("no change set"));
}

#[test]
fn a_picture_escapes_names_and_shows_only_what_its_reader_is_cleared_for() {
    let bench = Bench::new();
    let start = Start::Record(id(4));
    let drawing = draw(&bench.store, &start, Level::Restricted).unwrap();
    assert_eq!((drawing.records, drawing.left_out), (3, 0));
    assert!(drawing.svg.contains("&lt;b&gt;.rs") && !drawing.svg.contains("<b>"));
    assert_eq!(drawing.svg.matches("<path").count(), 2);
    let less = draw(&bench.store, &start, Level::Internal).unwrap();
    assert!(!less.svg.contains(".rs") || !less.svg.contains("&lt;b"));
    assert!(less.svg.contains("withheld"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_graph_is_drawn_and_every_record_has_its_box(
        shape in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..4), 1..120)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), std::sync::Arc::new(NoRedaction)).unwrap();
        let meta = SessionMeta {
            task: String::new(), repo: "/r".into(), surface: "t".into(), state: "o".into(), created_us: 1,
            extra: serde_json::Map::new(),
        };
        let lease = store.create(&session(), meta).unwrap();
        let mut drafts = Vec::new();
        for (inputs, number) in shape.iter().zip(1_u32..) {
            let mut inputs: Vec<u32> = if number == 1 {
                Vec::new()
            } else {
                inputs.iter().map(|index| u32::try_from(index.index(number as usize - 1)).unwrap() + 1).collect()
            };
            inputs.sort_unstable();
            inputs.dedup();
            drafts.push(draft(number, "x", Level::Internal, &inputs));
        }
        let last = u32::try_from(drafts.len()).unwrap();
        lease.append_wait(vec![Record { kind: "x".into(), time_us: 1, lineage: drafts, ..Record::default() }]).unwrap();
        for number in [1, last] {
            let drawing = draw(&store, &Start::Record(id(number)), Level::Restricted).unwrap();
            // One rectangle is the paper.
            prop_assert_eq!(drawing.svg.matches("<rect").count() as u64, drawing.records + 1);
            prop_assert!(!drawing.svg.contains("NaN") && !drawing.svg.contains("inf"));
        }
    }
}
