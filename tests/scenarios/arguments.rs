//! Arguments that are not what the tool takes: an error for the model, nothing run, and the loop goes on.

use serde_json::{Value, json};

use crate::harness::{World, bash, call, say, turn};

#[test]
fn malformed_arguments_are_errors_for_the_model_and_nothing_runs() {
    let cases: [(&str, Value, &str); 9] = [
        ("broken JSON", json!("{\"command\": \"touch broken\""), "line 1"),
        ("trailing text", json!("{\"command\": \"touch trailing\"} and more"), "trail"),
        ("duplicate key", json!("{\"command\": \"true\", \"command\": \"touch twice\"}"), "command"),
        ("wrong type", json!({"command": ["touch", "typed"]}), "command"),
        ("unknown field", json!({"command": "touch unknown", "timeout": 5}), "timeout"),
        ("empty text", json!(""), "command"),
        ("not an object", json!("[\"touch\"]"), "object"),
        ("missing field", json!({}), "command"),
        ("number for text", json!({"command": 1}), "command"),
    ];
    let world = World::new();
    let mut turns: Vec<Value> =
        cases.iter().map(|(_, arguments, _)| turn(&[call("bash", arguments.clone())])).collect();
    turns.push(turn(&[bash("touch ran")]));
    turns.push(say("done"));
    let run = world.run("balanced", &turns);
    let errored = run.of("call.errored");
    assert_eq!(errored.len(), cases.len(), "{:#?}", run.events);
    for ((name, _, place), event) in cases.iter().zip(&errored) {
        let error = event["error"].as_str().unwrap();
        assert!(error.contains(place), "{name}: {error}");
    }
    assert_eq!(run.of("call.calling").len(), 1, "only the last one runs");
    let set = run.of("changeset")[0];
    assert_eq!(set["files"].as_array().unwrap().len(), 1);
    assert_eq!(set["files"][0]["path"], "ran");
    assert_eq!(run.code, 0);
}

#[test]
fn an_unknown_tool_is_an_error_that_names_the_tools_there_are() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[call("teleport", json!({}))]), say("done")]);
    let error = run.of("call.errored")[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("teleport") && error.contains("bash"), "{error}");
    assert_eq!(run.code, 0);
}

#[test]
fn more_calls_than_an_answer_may_hold_is_an_error_and_none_runs() {
    let world = World::new();
    let many: Vec<Value> = (0..65).map(|n| bash(&format!("touch f{n}"))).collect();
    let run = world.run("balanced", &[turn(&many), say("done")]);
    assert!(run.of("call.calling").is_empty());
    assert!(run.of("changeset")[0]["files"].as_array().unwrap().is_empty());
}

#[test]
fn calls_of_an_answer_that_was_cut_or_filtered_are_errors_for_the_model_and_nothing_runs() {
    let reasons = [("length", "length limit"), ("content_filter", "content filter"), ("error", "`error`")];
    let world = World::new();
    let mut turns: Vec<Value> = Vec::new();
    for (reason, _) in reasons {
        turns.push(json!({"calls": [bash("touch cut"), call("read", json!({"path": "hello.txt"}))], "finish": reason}));
    }
    turns.push(json!({"calls": [bash("touch whole")], "finish": "tool_calls"}));
    turns.push(say("done"));
    let run = world.run("balanced", &turns);
    let errored = run.of("call.errored");
    assert_eq!(errored.len(), 2 * reasons.len(), "every call, also the one that is whole: {:#?}", run.events);
    for (event, (_, told)) in errored.iter().zip(reasons.iter().flat_map(|reason| [reason, reason])) {
        assert!(event["error"].as_str().unwrap().contains(told), "{event}");
    }
    assert_eq!(run.of("call.calling").len(), 1);
    assert_eq!(run.of("changeset")[0]["files"][0]["path"], "whole");
    assert_eq!(run.code, 0);
}
