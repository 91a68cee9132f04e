//! The loop: several calls in a turn, refusals, parallel reads, a stop from elsewhere, a model that is not there.

use serde_json::json;

use crate::harness::{World, alive, bash, call, eventually, say, streamed, turn};

#[test]
fn a_refused_command_never_runs_and_is_journaled() {
    let world = World::new();
    let run = world.run("open", &[turn(&[bash("touch before; sudo touch owned")]), say("done")]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.of("call.calling").is_empty());
    let decided = run.of("call.decided")[0];
    assert_eq!(decided["verdict"], "disabled");
    assert!(decided["decided_by"]["automation"].is_string());
    assert_eq!(run.of("call.canceled").len(), 1);
    assert!(run.of("changeset")[0]["files"].as_array().unwrap().is_empty());
    let export = world.output(&["journal", "export"]);
    let export = String::from_utf8(export.stdout).unwrap();
    assert!(export.contains("call.canceled"), "{export}");
    assert!(!export.contains("call.intent"));
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn of_five_calls_in_a_turn_one_is_refused_and_the_others_run_in_order() {
    let calls = [
        bash("echo 1 >> log"),
        bash("echo 2 >> log"),
        bash("sudo id"),
        bash("echo 4 >> log"),
        bash("echo 5 >> log"),
    ];
    let world = World::new();
    let run = world.run("balanced", &[turn(&calls), turn(&[bash("cat log")]), say("done")]);
    assert_eq!(run.code, 4);
    assert_eq!(run.of("call.canceled").len(), 1);
    assert_eq!(run.of("call.done").len(), 5);
    let shown: String = run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(shown, "1\n2\n4\n5\n");
}

#[test]
fn reads_of_one_turn_run_together_and_each_has_its_result() {
    let world = World::new();
    let calls = [
        call("read", json!({"path": "hello.txt"})),
        call("list", json!({"path": "."})),
        call("glob", json!({"pattern": "**/*.sh"})),
        call("grep", json!({"pattern": "t[wh]"})),
    ];
    let run = world.run("strict", &[turn(&calls), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.of("call.done").len(), 4);
    let summaries: Vec<&str> =
        run.of("call.done").iter().filter_map(|event| event["result"]["summary"].as_str()).collect();
    assert!(summaries.iter().any(|summary| summary.contains("2 matches")), "{summaries:?}");
}

#[test]
fn under_strict_a_headless_run_parks_and_exits_with_five() {
    let world = World::new();
    let run = world.run("strict", &[turn(&[bash("touch x")]), say("done")]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.finished()["session_state"], "waiting_approval");
    assert!(run.of("call.calling").is_empty());
    let card = &run.of("approval.requested")[0]["card"];
    assert_eq!(card["action"]["text"], "touch x");
    assert!(card["rule"].is_string() && card["expires"].is_string());
}

#[test]
fn on_ask_deny_cancels_as_automation_and_on_ask_stop_closes() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("touch x")]), say("done")]);
    let args = streamed(&model, &["--on-ask", "deny", "t"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 4);
    assert!(run.of("call.decided")[0]["decided_by"]["automation"].is_string());
    let args = streamed(&model, &["--on-ask", "stop", "t"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 5);
    assert_eq!(run.of("session.closed")[0]["outcome"], "stopped");
}

#[test]
fn a_session_is_stopped_from_another_process_and_its_commands_end() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("touch begun; sleep 3117")]), say("done")]);
    let args = streamed(&model, &["--preset", "balanced", "t"]);
    let mut watched = world.start(&args);
    let session = watched.until_type("call.calling")["session"].as_str().unwrap().to_owned();
    eventually("the command runs", || alive("sleep\u{0}3117"));
    let stopped = world.output(&["stop", &session]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let run = watched.finish();
    assert_eq!(run.code, 130);
    assert_eq!(run.of("session.closed")[0]["outcome"], "stopped");
    eventually("nothing is left", || !alive("sleep\u{0}3117"));
    assert_eq!(world.verified()["result"], "ok");
    assert!(!world.home().join("sessions").join(&session).join("layer").exists());
}

#[test]
fn a_model_that_cannot_be_reached_is_exit_six_and_the_session_can_be_resumed() {
    let world = World::new();
    let args = streamed("openai:http://127.0.0.1:9/v1#m", &["t"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert_eq!(run.finished()["session_state"], "running");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn the_word_of_a_terminal_interrupt_is_exit_130_and_the_session_stays() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("sleep 3118")]), say("done")]);
    let args = streamed(&model, &["--preset", "balanced", "t"]);
    let mut watched = world.start(&args);
    watched.until_type("call.calling");
    watched.signal("TERM");
    let run = watched.finish();
    assert_eq!(run.code, 143, "{}", run.stderr);
    eventually("nothing is left", || !alive("sleep\u{0}3118"));
    assert_ne!(world.sessions()[0]["state"], "closed");
}

#[test]
fn what_a_card_cannot_show_whole_is_refused() {
    let world = World::new();
    let long = "line\n".repeat(2001);
    let write = call("write", json!({"path": "long.txt", "content": long}));
    let run = world.run("strict", &[turn(&[write]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.of("approval.requested").is_empty());
    let error = run.of("call.errored")[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("2000 lines"), "{error}");
}
