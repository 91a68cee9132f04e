//! The cases of secrets: how many are found, and that what is none stays.

use std::collections::BTreeMap;
use std::io::Read as _;

use enclos_core::secret::Redactor;

/// The rows of the shared cases, where they are beside the project; else the project's own.
fn rows() -> Vec<(String, bool, String)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let shared = std::fs::read(format!("{root}/../shared/cases/secret_cases.tsv.gz"));
    let packed = match shared {
        Ok(packed) => packed,
        Err(_) => std::fs::read(format!("{root}/tests/data/secret/cases.tsv.gz")).unwrap(),
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let row = |line: &str| {
        let mut columns = line.split('\t');
        let label = columns.next().unwrap().to_owned();
        let secret = columns.next().unwrap() == "1";
        (label, secret, serde_json::from_str(columns.next().unwrap()).unwrap())
    };
    text.lines().filter(|line| !line.is_empty()).map(row).collect()
}

#[test]
fn nearly_all_secrets_are_found_and_nothing_else() {
    let redactor = Redactor::new(Vec::new()).unwrap();
    let (mut found, mut missed, mut wrong, mut placeholders) = (0, Vec::new(), Vec::new(), Vec::new());
    for (label, secret, text) in rows() {
        let hit = redactor.redact(&text) != text;
        match (secret, hit) {
            (true, true) => found += 1,
            (true, false) => missed.push((label, text)),
            (false, true) if label.starts_with("neg/") => wrong.push((label, text)),
            (false, true) => placeholders.push((label, text)),
            (false, false) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let total = found + missed.len();
    let mut by_label: BTreeMap<&str, usize> = BTreeMap::new();
    for (label, _) in &missed {
        *by_label.entry(label.split('/').next().unwrap()).or_default() += 1;
    }
    assert!(found * 100 >= total * 97, "{found} of {total}: {by_label:?}");
    assert!(placeholders.len() <= 10, "{placeholders:#?}");
}
