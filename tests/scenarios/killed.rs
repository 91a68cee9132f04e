//! `kill -9` of the gateway in each state of a call, then `resume`: the same session, nothing lost, nothing run twice.

use serde_json::{Value, json};

use crate::harness::{Run, World, alive, bash, call, eventually, say, streamed, turn};

fn run_args(model: &str) -> Vec<&str> {
    streamed(model, &["--preset", "balanced"])
}

/// Starts a run, kills it at the first event that fits, and takes the session up again.
fn killed_at(world: &World, turns: &[Value], fits: impl Fn(&Value) -> bool) -> Run {
    let model = world.script(turns);
    let mut args = run_args(&model);
    args.push("do it");
    let mut watched = world.start(&args);
    let session = watched.until(fits)["session"].as_str().unwrap().to_owned();
    watched.kill();
    let report = world.verified();
    assert_eq!(report["result"], "ok", "{report}");
    let run = world.resumed(&session);
    assert_eq!(world.verified()["result"], "ok");
    run
}

#[test]
fn killed_while_a_call_is_generating() {
    let world = World::new();
    let slow = json!({"text": "a text in pieces", "calls": [bash("echo once >> log")], "chunks": 4, "delay_ms": 300});
    let run = killed_at(&world, &[slow, say("done")], |event| event["type"] == "message.delta");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.of("call.done").len(), 1, "the answer was not complete, so it is asked for again");
    world.output(&["apply", &run.session()]);
    assert_eq!(world.read("log"), "once\n");
}

#[test]
fn killed_while_a_call_runs() {
    let world = World::new();
    let first = bash("echo begun >> log; sleep 3131");
    let run = killed_at(&world, &[turn(&[first]), turn(&[bash("cat log")]), say("done")], |event| {
        event["type"] == "call.calling"
    });
    eventually("nothing is left", || !alive("sleep\u{0}3131"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.of("call.done").len(), 1, "what ran is not run again: {:#?}", run.events);
    let shown = world.output(&["show", &run.session(), "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let kinds: Vec<&str> =
        shown["timeline"].as_array().unwrap().iter().filter_map(|line| line["kind"].as_str()).collect();
    assert!(kinds.contains(&"session.restored"), "{kinds:?}");
}

#[test]
fn killed_after_a_call_is_done() {
    let world = World::new();
    let turns = [
        turn(&[bash("echo once >> log")]),
        json!({"text": "thinking", "calls": [bash("echo twice >> log")], "chunks": 2, "delay_ms": 400}),
        say("done"),
    ];
    let run = killed_at(&world, &turns, |event| event["type"] == "call.done");
    assert_eq!(run.code, 0, "{}", run.stderr);
    world.output(&["apply", &run.session()]);
    assert_eq!(world.read("log"), "once\ntwice\n");
}

#[test]
fn killed_while_a_question_is_pending() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("touch x")]), say("done")]);
    let args = streamed(&model, &["t"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 5);
    let again = world.resumed(&run.session());
    assert_eq!(again.code, 5, "{}", again.stderr);
    assert_eq!(again.of("approval.requested").len(), 1, "{:#?}", again.events);
    assert!(again.of("call.calling").is_empty());
}

#[test]
fn killed_in_the_middle_of_five_calls_the_rest_is_judged_and_run() {
    let world = World::new();
    let calls = [bash("echo 1 >> log"), bash("echo 2 >> log; sleep 1"), bash("echo 3 >> log")];
    let seen = std::cell::Cell::new(0);
    let run = killed_at(&world, &[turn(&calls), say("done")], |event| {
        seen.set(seen.get() + usize::from(event["type"] == "call.calling"));
        seen.get() == 2
    });
    assert_eq!(run.code, 0, "{}", run.stderr);
    world.output(&["apply", &run.session()]);
    let log = world.read("log");
    assert!(log.starts_with("1\n") && log.ends_with("3\n"), "{log}");
    assert_eq!(log.matches('3').count(), 1);
}

#[test]
fn killed_in_review_the_change_set_is_still_there() {
    let world = World::new();
    let write = call("write", json!({"path": "made.txt", "content": "made\n"}));
    let run = killed_at(&world, &[turn(&[write]), say("done")], |event| event["type"] == "changeset");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let applied = world.output(&["apply", &run.session()]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(world.read("made.txt"), "made\n");
}

#[test]
fn a_socket_that_a_killed_process_left_is_gone_after_the_next_start_and_one_in_use_stays() {
    let world = World::new();
    let slow = json!({"text": "a text in pieces", "calls": [], "chunks": 2, "delay_ms": 600_000});
    let model = world.script(&[slow]);
    let start = || {
        let mut watched = world.start(&[&run_args(&model)[..], &["do it"]].concat());
        let session = watched.until(|event| event["type"] == "session.opened")["session"].clone();
        (watched, session.as_str().unwrap().to_owned())
    };
    let ((killed, gone), (works, stays)) = (start(), start());
    killed.kill();
    let socket = |session: &str| world.home().join("run").join(format!("{session}.sock"));
    assert!(socket(&gone).exists());
    let listed = world.sessions();
    assert!(!socket(&gone).exists() && socket(&stays).exists());
    let live = |session: &str| listed.iter().find(|row| row["session"] == session).unwrap()["live"].clone();
    assert_eq!((live(&gone), live(&stays)), (json!(false), json!(true)));
    works.kill();
}
