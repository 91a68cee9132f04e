//! The project's own commands: everyday ones, refused ones in every place, hidden ones, harmless ones.
//!
//! The tables under `tests/data/command` say what each must get; these tests only compare.

use enclos_core::args::{Schema, parse, validate};
use enclos_core::command::{Rules, judge};
use enclos_core::policy::{Caller, Layer, Policy, Preset, Request, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;
use serde_json::json;

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/command/", $name))
    };
}

fn read(text: &str, base: Verdict, contained: bool) -> Verdict {
    judge(text, &Rules { base, contained, freed: &[] }).verdict
}

fn text(json: &str) -> String {
    serde_json::from_str(json).unwrap()
}

fn verdict(word: &str) -> Verdict {
    word.parse().unwrap()
}

/// The rows of a table, without its head.
fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().skip(1).map(|line| line.split('\t').collect())
}

fn none_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What a preset says of a command, rules and all.
fn under(policy: &Policy, command: &str) -> Verdict {
    let schema =
        Schema::new(&json!({"type": "object", "properties": {"command": {"type": "string"}}})).unwrap();
    let args = validate(parse(&json!({ "command": command }).to_string()).unwrap(), &schema).unwrap();
    let tool = Tool::named("bash");
    let caller = Caller { tool: &tool, role: Role::Developer, surface: Surface::Terminal };
    policy.judge(&Request { caller, args: &args }).verdict
}

#[test]
fn everyday_commands_get_what_a_maintainer_expects() {
    let presets = Preset::ALL.map(|preset| {
        let layer = Layer { scope: Scope::Project, source: preset.to_string(), text: preset.text() };
        (preset, Policy::load(&[layer]).unwrap())
    });
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows(table!("everyday.tsv")) {
        let [wanted, by_preset @ .., json] = row.as_slice() else { panic!("{row:?}") };
        let command = text(json);
        let got = read(&command, Verdict::Allow, false);
        if got != verdict(wanted) {
            wrong.push(format!("{command:?} is read as {got}, not {wanted}"));
        }
        assert_eq!(by_preset.len(), presets.len(), "{row:?}");
        for ((preset, policy), wanted) in presets.iter().zip(by_preset) {
            let got = under(policy, &command);
            if got != verdict(wanted) {
                wrong.push(format!("{command:?} under {preset}: {got}, not {wanted}"));
            }
        }
        count += 1;
    }
    assert!(count >= 1000, "{count}");
    none_wrong(&wrong);
}

#[test]
fn a_stricter_base_is_never_softened_by_what_is_read() {
    for row in rows(table!("everyday.tsv")) {
        let command = text(row.last().unwrap());
        for contained in [false, true] {
            let refused = read(&command, Verdict::Allow, contained) == Verdict::Disabled;
            let asks = if refused { Verdict::Disabled } else { Verdict::Ask };
            assert_eq!(read(&command, Verdict::Ask, contained), asks, "{command:?}");
            assert_eq!(read(&command, Verdict::Disabled, contained), Verdict::Disabled, "{command:?}");
        }
    }
}

#[test]
fn no_everyday_command_is_refused_without_a_family() {
    for row in rows(table!("everyday.tsv")) {
        let command = text(row.last().unwrap());
        let reading = judge(&command, &Rules { base: Verdict::Allow, contained: true, freed: &[] });
        assert!(reading.unreadable.is_none(), "{command:?}: {reading:?}");
        for piece in reading.pieces.iter().filter(|piece| piece.verdict == Verdict::Disabled) {
            assert!(piece.rule.as_str().starts_with("command.refused."), "{command:?}: {piece:?}");
        }
    }
}

/// Every refused command at every place of a table of templates.
fn refused_at(places: &str) {
    let mut wrong = Vec::new();
    for place in places.lines() {
        for command in table!("refused.txt").lines() {
            let command = place.replace('@', command);
            for contained in [false, true] {
                let reading = judge(&command, &Rules { base: Verdict::Allow, contained, freed: &[] });
                let refused =
                    reading.pieces.iter().any(|piece| piece.rule.as_str().starts_with("command.refused."));
                if reading.verdict != Verdict::Disabled || reading.unreadable.is_some() || !refused {
                    wrong.push(format!("{command:?} is {}: {:?}", reading.verdict, reading.unreadable));
                }
            }
        }
    }
    none_wrong(&wrong);
}

#[test]
fn refused_commands_are_seen_wherever_they_stand() {
    refused_at(table!("contexts.txt"));
}

#[test]
fn refused_commands_are_seen_behind_wrappers() {
    refused_at(table!("wrappers.txt"));
}

#[test]
fn hidden_commands_get_at_least_what_they_hide() {
    let mut wrong = Vec::new();
    for row in rows(table!("hidden.tsv")) {
        let [least, least_contained, json] = row.as_slice() else { panic!("{row:?}") };
        let command = text(json);
        for (contained, least) in [(false, verdict(least)), (true, verdict(least_contained))] {
            let got = read(&command, Verdict::Allow, contained);
            if got < least {
                wrong.push(format!("{command:?}, contained {contained}: {got}, below {least}"));
            }
        }
    }
    none_wrong(&wrong);
}

#[test]
fn what_only_looks_dangerous_is_allowed() {
    let mut wrong = Vec::new();
    for line in table!("harmless.txt").lines() {
        let command = text(line);
        let reading = judge(&command, &Rules { base: Verdict::Allow, contained: false, freed: &[] });
        if reading.verdict != Verdict::Allow {
            wrong.push(format!("{command:?}: {:?} {:?}", reading.pieces, reading.unreadable));
        }
    }
    none_wrong(&wrong);
}
