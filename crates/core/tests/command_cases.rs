//! The command cases, when they are there: every row against what the contract allows for it.
//!
//! The rows live beside the project; without them these tests have nothing to read, and the copy of their
//! essence in `tests/data/command` is what holds.

use std::path::PathBuf;

use enclos_core::command::{Rules, judge};
use enclos_core::verdict::Verdict;

/// The rows of a file of cases, in columns, without its head. `None` when the file is not there.
fn rows(name: &str) -> Option<Vec<Vec<String>>> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases")).join(name);
    let text = std::fs::read_to_string(path).ok()?;
    let columns = |line: &str| line.split('\t').map(str::to_owned).collect();
    Some(text.lines().skip(1).map(columns).collect())
}

fn verdict(word: &str) -> Verdict {
    word.parse().unwrap()
}

fn read(base: &str, command: &str) -> (String, Verdict) {
    let text: String = serde_json::from_str(command).unwrap();
    let rules = Rules { base: verdict(base), contained: false, freed: &[] };
    let reading = judge(&text, &rules);
    (text, reading.verdict)
}

fn report(name: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{} rows of {name} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_case_gets_its_verdict() {
    let Some(rows) = rows("command_cases.tsv") else { return };
    assert!(rows.len() > 600);
    let mut wrong = Vec::new();
    for row in &rows {
        let [wanted, base, command, reliability] = row.as_slice() else { panic!("{row:?}") };
        let (text, got) = read(base, command);
        if got != verdict(wanted) {
            wrong.push(format!("{reliability} {base}: {text:?} is {got}, not {wanted}"));
        }
    }
    report("command_cases.tsv", &wrong);
}

#[test]
fn no_bypass_is_below_its_minimum() {
    let Some(rows) = rows("command_bypass.tsv") else { return };
    assert!(rows.len() > 200);
    let mut wrong = Vec::new();
    for row in &rows {
        let [_, command, minimum, why] = row.as_slice() else { panic!("{row:?}") };
        let (text, got) = read("allow", command);
        if got < verdict(minimum) {
            wrong.push(format!("{text:?} is {got}, below {minimum}: {why}"));
        }
    }
    report("command_bypass.tsv", &wrong);
}

#[test]
fn refused_commands_are_refused_in_every_context() {
    let Some(rows) = rows("command_matrix.tsv") else { return };
    assert!(rows.len() > 600);
    let mut wrong = Vec::new();
    for row in &rows {
        let [wanted, base, command] = row.as_slice() else { panic!("{row:?}") };
        let (text, got) = read(base, command);
        if got != verdict(wanted) {
            wrong.push(format!("{text:?} is {got}, not {wanted}"));
        }
    }
    report("command_matrix.tsv", &wrong);
}

#[test]
fn every_choice_is_an_acceptable_one() {
    let Some(rows) = rows("command_choices.tsv") else { return };
    assert!(rows.len() > 100);
    let mut wrong = Vec::new();
    for row in &rows {
        let [acceptable, _, base, command, why] = row.as_slice() else { panic!("{row:?}") };
        let (text, got) = read(base, command);
        if !acceptable.split('|').any(|word| verdict(word) == got) {
            wrong.push(format!("{text:?} is {got}, not {acceptable}: {why}"));
        }
    }
    report("command_choices.tsv", &wrong);
}
