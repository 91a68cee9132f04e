//! The budget: the last action, the exit code, the extension, the setting that cannot be read.

use serde_json::Value;

use crate::harness::{World, bash, say, streamed, turn};

#[test]
fn the_hundred_and_fifty_first_action_does_not_run_and_the_exit_code_is_three() {
    let world = World::new();
    let mut turns: Vec<Value> = Vec::new();
    for first in [0, 50, 100] {
        turns.push(turn(&(0..50).map(|n| bash(&format!("echo {}", first + n))).collect::<Vec<_>>()));
    }
    turns.push(turn(&[bash("touch one-too-many")]));
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.of("call.done").len(), 150);
    assert_eq!(run.of("extension.requested").len(), 1);
    assert!(run.of("changeset")[0]["files"].as_array().unwrap().is_empty());
}

#[test]
fn a_call_beyond_the_last_action_of_a_turn_is_errored_with_the_budget_named() {
    let world = World::new().with("ENCLOS_SESSION_MAX_ACTIONS", "2");
    let calls = [bash("echo 1"), bash("echo 2"), bash("touch three")];
    let run = world.run("balanced", &[turn(&calls), say("done")]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.of("call.done").len(), 2);
    let error = run.of("call.errored")[0]["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("budget"), "{error}");
    let notes = run.of("session.opened")[0]["notes"].to_string();
    assert!(notes.contains("tighter than the default"), "{notes}");
}

#[test]
fn a_spent_session_goes_on_with_an_extension_from_where_it_was() {
    let world = World::new().with("ENCLOS_SESSION_MAX_ACTIONS", "3");
    let turns: Vec<Value> =
        (0..4).map(|n| turn(&[bash(&format!("echo {n} >> log"))])).chain([say("done")]).collect();
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 3);
    let again = world.resumed(&run.session());
    assert_eq!(again.code, 3, "without --extend nothing is granted");
    let again =
        world.headless(&["resume", &run.session(), "--headless", "--extend", "--output", "stream-json"]);
    assert_eq!(again.of("extension.decided")[0]["granted"], true);
    assert_eq!(again.of("call.done").len(), 1, "{:#?}", again.events);
    world.output(&["apply", &run.session()]);
    assert!(world.read("log").starts_with("0\n1\n2\n3"));
}

#[test]
fn a_limit_that_cannot_be_read_is_exit_two_and_no_session() {
    for value in ["many", "", "-1", "0", "1.5"] {
        let world = World::new().with("ENCLOS_SESSION_MAX_ACTIONS", value);
        let model = world.script(&[say("done")]);
        let output = world.output(&["run", "--headless", "--model", &model, "t"]);
        assert_eq!(output.status.code(), Some(2), "`{value}`");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("ENCLOS_SESSION_MAX_ACTIONS"), "{stderr}");
        assert!(!world.home().join("state.db").exists());
    }
}

#[test]
fn a_mere_look_at_a_session_costs_no_extension() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[bash("echo a > made")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for _ in 0..7 {
        let again = world.resumed(&run.session());
        assert_eq!(again.code, 0, "{}", again.stderr);
        assert!(again.of("extension.decided").is_empty(), "{:#?}", again.events);
    }
    let left = world.json(&["show", &run.session(), "--json"])["budget"]["extensions_left"].clone();
    assert_eq!(left, 5);
    let more = world.headless(&["resume", &run.session(), "--headless", "--output", "stream-json", "go on"]);
    assert_eq!(more.of("extension.decided").len(), 1, "{:#?}", more.events);
    let journal = world.journal();
    let granted = journal.iter().find(|entry| entry["kind"] == "extension.granted").unwrap();
    assert_eq!(granted["entry"]["through"], "resume");
}

#[test]
fn a_model_that_cannot_be_reached_costs_no_extension() {
    let world = World::new();
    let model = "openai:http://127.0.0.1:9/v1#none";
    let run = world.headless(&streamed(model, &["do it"]));
    assert_eq!(run.code, 6, "{}", run.stderr);
    let session = run.events[0]["session"].as_str().unwrap().to_owned();
    for _ in 0..3 {
        let again = world.resumed(&session);
        assert_eq!(again.code, 6, "{}", again.stderr);
    }
    let left = world.json(&["show", &session, "--json"])["budget"]["extensions_left"].as_u64().unwrap();
    assert!(left >= 4, "only the last one, of which nothing is known yet: {left}");
}
