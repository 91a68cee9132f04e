//! The policy lab on real sessions: what a candidate would have changed, and tables of expectations.

use serde_json::Value;

use crate::harness::{World, bash, call, say, text, turn};

fn json_of(world: &World, args: &[&str]) -> Value {
    let output = world.output(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn file(world: &World, name: &str, content: &str) -> String {
    let file = world.path(name);
    std::fs::write(&file, content).unwrap();
    text(&file)
}

/// Changes as direction, tool, the rule before, the rule after, and how often.
fn changes(simulation: &Value) -> Vec<[String; 5]> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rows = simulation["changes"].as_array().unwrap().iter();
    rows.map(|row| ["direction", "tool", "rule_before", "rule_after", "count"].map(|key| word(&row[key])))
        .collect()
}

const CANDIDATE: &str = "name = \"new\"\nversion = 1\n[[rule]]\nid = \"new.read\"\ncategory = \"read\"\nverdict = \"allow\"\n\
    [[rule]]\nid = \"new.make\"\ncommand = [\"make\"]\nverdict = \"disabled\"\n";

#[test]
fn a_simulation_replays_the_journal_and_changes_nothing() {
    let world = World::new();
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let write = call("write", serde_json::json!({"path": "new.txt", "content": "made\n"}));
    let read = call("read", serde_json::json!({"path": "new.txt"}));
    let command = bash(&format!("make deploy TOKEN={secret}"));
    world.run("balanced", &[turn(&[write, read]), turn(&[command]), say("done")]);
    let before = json_of(&world, &["journal", "verify", "--json"]);

    let candidate = file(&world, "new.toml", CANDIDATE);
    let harder = json_of(&world, &["policy", "simulate", &candidate, "--json"]);
    assert_eq!(
        (&harder["sessions"], &harder["decisions"], &harder["same"]),
        (&1.into(), &3.into(), &1.into())
    );
    let expected = [
        ["harder", "bash", "balanced.work", "new.make", "1"],
        ["harder", "write", "balanced.work", "default.write", "1"],
    ];
    let mut told = changes(&harder);
    told.sort();
    assert_eq!(told, expected, "{harder:#}");
    assert!(!harder.to_string().contains(secret), "{harder}");
    assert!(harder.to_string().contains("make deploy"), "{harder}");

    let same = json_of(&world, &["policy", "simulate", "balanced", "--json"]);
    assert_eq!((&same["same"], &same["changed"]), (&3.into(), &0.into()), "{same:#}");
    assert_eq!(json_of(&world, &["journal", "verify", "--json"]), before, "nothing was written");
}

#[test]
fn a_simulation_tells_what_it_could_not_replay() {
    let world = World::new();
    world.run("balanced", &[turn(&[bash("true")]), say("done")]);
    let candidate = file(&world, "loose.toml", "name = \"loose\"\nverdct = 1\n");
    let output = world.output(&["policy", "simulate", &candidate]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("verdct"));
    std::fs::write(world.repo().join(".enclos.toml"), "[[rule]]\ntool = \"bash\"\nverdct = \"ask\"\n")
        .unwrap();
    let told = json_of(&world, &["policy", "simulate", "balanced", "--json"]);
    assert_eq!(told["not_replayed"][0]["count"], 1, "{told:#}");
    assert!(told["not_replayed"][0]["reason"].as_str().unwrap().contains("verdct"), "{told:#}");
}

#[test]
fn a_table_that_does_not_hold_is_exit_1_and_names_the_row() {
    let world = World::new();
    let policy = file(&world, "new.toml", CANDIDATE);
    let row = |verdict: &str| format!("[[case]]\ncommand = \"make all\"\nverdict = \"{verdict}\"\n");
    let right = file(&world, "right.cases.toml", &row("disabled"));
    assert_eq!(world.output(&["policy", "test", &policy, &right]).status.code(), Some(0));
    let wrong = file(&world, "wrong.cases.toml", &row("allow"));
    let output = world.output(&["policy", "test", &policy, &wrong]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("new.make") && told.contains("make all"), "{told}");
}
