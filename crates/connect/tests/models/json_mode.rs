//! `tool_mode=json_schema`: one object of the offered schema, or words for the model that say what is wrong.

use enclos_connect::model::Delta;
use enclos_core::model::{Answer, Proposed, Request};
use serde_json::{Value, json};

use crate::support::{Server, ask, request, run, stream};

/// What comes of this text, sent in pieces of three characters.
fn answer(text: &str, finish: &str) -> (Answer, Vec<Delta>) {
    let characters: Vec<char> = text.chars().collect();
    let chunk = |piece: &[char]| {
        let content: String = piece.iter().collect();
        json!({ "choices": [{ "delta": { "content": content } }] }).to_string()
    };
    let mut events: Vec<String> = characters.chunks(3).map(chunk).collect();
    events.push(json!({ "choices": [{ "delta": {}, "finish_reason": finish }] }).to_string());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (answer, told) = run(async {
        ask(&Server::start(vec![stream(&events)]).model("?tool_mode=json_schema"), &request()).await
    });
    (answer.expect("an answer"), told)
}

#[test]
fn a_call() {
    let (answer, told) = answer(r#"{"tool":"read","arguments":{"path":"a}"}}"#, "stop");
    let arguments = r#"{"path":"a}"}"#.to_owned();
    assert_eq!(answer.calls, [Proposed { id: None, name: "read".into(), arguments: arguments.clone() }]);
    assert_eq!((answer.text.as_str(), &answer.malformed), ("", &None));
    assert_eq!(told[0], Delta::CallStarted { index: 0, name: "read".into() });
    let shown: String = told[1..]
        .iter()
        .map(|delta| match delta {
            Delta::CallArguments { index: 0, fragment } => fragment.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, arguments);
}

#[test]
fn the_end() {
    let (answer, told) = answer(r#"<think>so</think>{"final":"done \"é\"\n"}"#, "stop");
    assert_eq!(
        (answer.text.as_str(), answer.reasoning.as_str(), answer.calls.len()),
        ("done \"é\"\n", "so", 0)
    );
    assert_eq!(answer.malformed, None);
    let text = |delta: &Delta| match delta {
        Delta::Text(text) => Some(text.clone()),
        _ => None,
    };
    assert_eq!(told.iter().filter_map(text).collect::<String>(), "done \"é\"\n");
}

#[test]
fn anything_else_runs_nothing_and_says_why() {
    for (text, finish) in [
        ("I will call read.", "stop"),
        ("", "stop"),
        ("```json\n{\"tool\":\"read\",\"arguments\":{}}\n```", "stop"),
        (r#"{"tool":"read","arguments":{}} and more"#, "stop"),
        (r#"{"tool":"read","arguments":{"a"#, "length"),
        (r#"{"tool":"read","arguments":{}}"#, "length"),
        (r#"{"tool":"read","arguments":{}}"#, "content_filter"),
    ] {
        let (answer, _) = answer(text, finish);
        assert!(answer.calls.is_empty() && answer.malformed.is_some(), "{text}: {answer:?}");
        assert_eq!(answer.text, text);
    }
}

#[test]
fn a_native_call_is_not_of_the_form() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let server = Server::start(vec![stream(&[call, "[DONE]"])]);
    let answer = run(ask(&server.model("?tool_mode=json_schema"), &request())).0.expect("an answer");
    assert!(answer.calls.is_empty() && answer.malformed.is_some(), "{answer:?}");
    let body = server.body(0);
    let forms =
        |body: &Value| body["response_format"]["json_schema"]["schema"]["anyOf"].as_array().map(Vec::len);
    assert_eq!(forms(&body), Some(3), "the tools, no end yet");
    assert!(body.get("tools").is_none());

    let server = Server::start(vec![stream(&[call, "[DONE]"])]);
    let later = Request { completed_calls: 1, ..request() };
    run(ask(&server.model("?tool_mode=json_schema"), &later)).0.expect("an answer");
    assert_eq!(forms(&server.body(0)), Some(4));
}
