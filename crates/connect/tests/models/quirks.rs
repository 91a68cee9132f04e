//! What servers really send: the recorded quirks, each played by a server and answered on purpose.
//!
//! Each row has its number in the list of bug reports that it comes from, and names where it was seen.

use enclos_connect::model::ModelError;
use enclos_core::model::{Answer, Cut, Message, PastCall};
use serde_json::Value;

use crate::support::{self, Server, ask, request, run, says, stream};

/// The answer in one line: text, `[reasoning]`, each call as `id:name:arguments`, and flags.
fn shown(answer: &Answer) -> String {
    let mut parts = vec![answer.text.clone()];
    if !answer.reasoning.is_empty() {
        parts.push(format!("[{}]", answer.reasoning));
    }
    for call in &answer.calls {
        parts.push(format!(" {}:{}:{}", call.id.as_deref().unwrap_or("-"), call.name, call.arguments));
    }
    if let Some(cut) = &answer.cut {
        parts.push(match cut {
            Cut::Length => " truncated".to_owned(),
            Cut::Filter => " filtered".to_owned(),
            Cut::Other(reason) => format!(" ended:{reason}"),
        });
    }
    if answer.malformed.is_some() {
        assert!(answer.calls.is_empty(), "a malformed answer holds no call");
        parts.push(" malformed".to_owned());
    }
    parts.concat()
}

/// A chunk with this `delta`.
fn delta(delta: &str) -> String {
    format!(r#"{{"id":"r","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

/// A chunk with this list of tool calls.
fn calls(list: &str) -> String {
    delta(&format!(r#"{{"tool_calls":[{list}]}}"#))
}

/// The last chunk.
fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#)
}

/// What comes of a stream of these chunks and `[DONE]`.
fn answer(chunks: &[String]) -> Result<Answer, ModelError> {
    let mut events: Vec<&str> = chunks.iter().map(String::as_str).collect();
    events.push("[DONE]");
    let replies = vec![stream(&events); 3];
    run(async { ask(&Server::start(replies).model(""), &request()).await.0 })
}

#[track_caller]
fn gives(quirk: &str, chunks: &[String], wanted: &str) {
    match answer(chunks) {
        Ok(answer) => assert_eq!(shown(&answer), wanted, "{quirk}"),
        Err(error) => panic!("{quirk}: {error}"),
    }
}

const A: &str = r#"{\"a\":1}"#;

/// A whole call in one piece.
fn call(index: &str, id: &str, name: &str, arguments: &str) -> String {
    format!(r#"{{{index}"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#)
}

/// A piece of arguments alone.
fn more(piece: &str) -> String {
    calls(&format!(r#"{{"index":0,"function":{{"arguments":"{piece}"}}}}"#))
}

fn read(id: &str, arguments: &str) -> String {
    call(r#""index":0,"#, id, r#""read""#, arguments)
}

#[test]
fn identifiers_missing_empty_or_numeric() {
    let whole = format!(r#""{A}""#);
    let no_id = format!(r#"{{"index":0,"function":{{"name":"read","arguments":"{A}"}}}}"#);
    gives("1 vLLM: no identifier", &[calls(&no_id), finish(r#""tool_calls""#)], r#" -:read:{"a":1}"#);
    gives(
        "6 Mistral: identifiers of its own form come back as they are",
        &[calls(&read(r#""a1B2c3D4e""#, &whole)), finish(r#""tool_calls""#)],
        r#" a1B2c3D4e:read:{"a":1}"#,
    );
    gives(
        "an identifier that is a number",
        &[calls(&read("7", &whole)), finish(r#""stop""#)],
        r#" 7:read:{"a":1}"#,
    );
    let later =
        |id: &str| calls(&format!(r#"{{"index":0,"id":{id},"function":{{"name":"","arguments":"1}}"}}}}"#));
    for (quirk, id) in [
        ("18 LM Studio: empty name, null identifier later", "null"),
        ("25 LMDeploy: empty identifier later", r#""""#),
    ] {
        let first = calls(&read(r#""x""#, r#""{\"a\":""#));
        gives(quirk, &[first, later(id), finish(r#""tool_calls""#)], r#" x:read:{"a":1}"#);
    }
    let hollow = r#"{"index":0,"id":"","type":"function"}"#;
    gives(
        "19 LM Studio: a call of nothing",
        &[delta(r#"{"content":"hi"}"#), calls(hollow), finish(r#""stop""#)],
        "hi",
    );
}

#[test]
fn arguments_in_every_shape() {
    let end = finish(r#""tool_calls""#);
    let null = calls(&read(r#""x""#, "null"));
    gives("2 vLLM: null first", &[null, more(r#"{\"a\""#), more(":1}"), end.clone()], r#" x:read:{"a":1}"#);
    gives(
        "5 vLLM: corrupt arguments stay as they are",
        &[calls(&read(r#""x""#, r#""{\"a\": [\"b\"}""#)), end.clone()],
        r#" x:read:{"a": ["b"}"#,
    );
    gives("8 vLLM: empty arguments stay empty", &[calls(&read(r#""x""#, r#""""#)), end.clone()], " x:read:");
    gives(
        "14, 15 Ollama: all in one chunk, with the reason to end",
        &[format!(
            r#"{{"choices":[{{"delta":{{"role":"assistant","content":"","tool_calls":[{}]}},"finish_reason":"tool_calls"}}]}}"#,
            read(r#""x""#, &format!(r#""{A}""#))
        )],
        r#" x:read:{"a":1}"#,
    );
    gives(
        "16 Ollama: an object",
        &[calls(&read(r#""x""#, r#"{"a": 1, "a": 12345678901234567890123}"#)), end.clone()],
        r#" x:read:{"a": 1, "a": 12345678901234567890123}"#,
    );
    gives(
        "20 llama.cpp: incomplete",
        &[calls(&read(r#""x""#, r#""{\"a\":""#)), end.clone()],
        r#" x:read:{"a":"#,
    );
    gives(
        "27 OpenVINO: not JSON, and stop",
        &[calls(&read(r#""x""#, r#""a=1""#)), finish(r#""stop""#)],
        " x:read:a=1",
    );
    gives(
        "38 Python's literals",
        &[calls(&read(r#""x""#, r#""{'a': True}""#)), end.clone()],
        " x:read:{'a': True}",
    );
    gives(
        "39 encoded twice is not decoded twice",
        &[calls(&read(r#""x""#, r#""\"{\\\"a\\\":1}\"""#)), end.clone()],
        r#" x:read:"{\"a\":1}""#,
    );
    gives(
        "40 text after the object stays to be refused",
        &[calls(&read(r#""x""#, r#""{} done""#)), end.clone()],
        " x:read:{} done",
    );
    gives(
        "3, 4 vLLM: pieces that do not join",
        &[calls(&read(r#""x""#, r#""{\"a""#)), more(r#"{\"a\":1}"#), end],
        r#" x:read:{"a{"a":1}"#,
    );
}

#[test]
fn which_call_a_piece_belongs_to() {
    let end = finish(r#""tool_calls""#);
    let whole = format!(r#""{A}""#);
    let list = |index: &str, id: &str| call(index, id, r#""list""#, r#""{}""#);
    let none = [calls(&call("", r#""x""#, r#""read""#, &whole)), calls(&list("", r#""y""#)), end.clone()];
    gives("12 Ollama: no index", &none, r#" x:read:{"a":1} y:list:{}"#);
    let zero = r#""index":0,"#;
    let all_zero = [calls(&read(r#""x""#, &whole)), calls(&list(zero, r#""y""#)), end.clone()];
    gives("13, 26 Ollama, Dynamo: index 0 for all", &all_zero, r#" x:read:{"a":1} y:list:{}"#);
    let one_chunk = [calls(&format!("{},{}", read(r#""x""#, &whole), list(zero, r#""y""#))), end.clone()];
    gives("13 two in one chunk", &one_chunk, r#" x:read:{"a":1} y:list:{}"#);
    let again = |piece: &str| calls(&read(r#""x""#, &format!(r#""{piece}""#)));
    gives(
        "30 the name with each piece",
        &[again(r#"{\"a\""#), again(":1}"), end.clone()],
        r#" x:read:{"a":1}"#,
    );
    let several = [calls(&read("null", &whole)), calls(&read("null", r#""{\"a\":2}""#)), end.clone()];
    gives("30 several objects under one index", &several, r#" -:read:{"a":1} -:read:{"a":2}"#);
    let null_name = call(zero, r#""x""#, "null", r#""""#);
    let named = calls(r#"{"index":0,"function":{"name":"read","arguments":"{}"}}"#);
    gives("31 the name comes after the first piece", &[calls(&null_name), named, end], " x:read:{}");
}

#[test]
fn the_end_hangs_on_calls_and_whether_they_run_on_the_reason() {
    let one = calls(&read(r#""x""#, r#""{}""#));
    for (quirk, reason) in [
        ("28 opencode: stop", r#""stop""#),
        ("29 MLX: stop", r#""stop""#),
        ("45 other", r#""other""#),
        ("41 an empty reason, then DONE", r#""""#),
        ("no reason at all, then DONE", "null"),
    ] {
        gives(quirk, &[one.clone(), finish(reason)], " x:read:{}");
    }
    let changing = [
        r#"{"id":"r1","choices":[{"delta":{"role":"assistant"}}]}"#.to_owned(),
        one.replace(r#""id":"r""#, r#""id":"r2""#).replace(r#""{}""#, r#"{"a":1}"#),
        finish(r#""stop""#),
    ];
    gives("17 LiteLLM: an object, stop, the response's identifier changes", &changing, r#" x:read:{"a":1}"#);
    gives(
        "7 vLLM: a call announced, none sent",
        &[delta(r#"{"content":""}"#), finish(r#""tool_calls""#)],
        " malformed",
    );
    let babble = [delta(r#"{"content":"and so on"}"#), finish(r#""length""#)];
    gives("22 llama.cpp: runs to the length limit", &babble, "and so on truncated");
    let cut = [calls(&read(r#""x""#, r#""{\"a\":""#)), finish(r#""length""#)];
    gives("a call cut by the length limit", &cut, r#" x:read:{"a": truncated"#);
    for (reason, told) in [
        ("stop", ""),
        ("tool_calls", ""),
        ("function_call", ""),
        ("tool_use", ""),
        ("end_turn", ""),
        ("length", " truncated"),
        ("max_tokens", " truncated"),
        ("content_filter", " filtered"),
        ("error", " ended:error"),
        ("something_new", " ended:something_new"),
    ] {
        let events = [calls(&read(r#""x""#, r#""{\"a\":1}""#)), finish(&format!("\"{reason}\""))];
        gives(reason, &events, &format!(r#" x:read:{{"a":1}}{told}"#));
    }
}

#[test]
fn words_thoughts_and_calls_in_prose() {
    let end = finish(r#""stop""#);
    let think = [delta(r#"{"content":"<thi"}"#), delta(r#"{"content":"nk>hm</think>\n\nyes"}"#), end.clone()];
    gives("9 vLLM: tags left in the words", &think, "yes[hm]");
    let tail = [delta(r#"{"content":"hm\n</think>\n\nyes"}"#), end.clone()];
    gives("9 vLLM: only the closing tag", &tail, "yes[hm\n]");
    for field in ["reasoning_content", "reasoning", "thinking"] {
        let chunks = [
            delta(&format!(r#"{{"content":null,"{field}":"hm"}}"#)),
            delta(r#"{"content":"yes"}"#),
            end.clone(),
        ];
        gives("10 vLLM: the field's other names", &chunks, "yes[hm]");
    }
    let both = delta(r#"{"reasoning":"hm","reasoning_content":"hm"}"#);
    gives("10 both names at once", &[both, delta(r#"{"content":"yes"}"#), end.clone()], "yes[hm]");
    let parts = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]}"#;
    gives("Mistral: parts", &[delta(parts), end.clone()], "yes[hm]");
    let fence = delta(r#"{"content":"```json\n{\"name\": \"read\", \"arguments\": {\"a\": 1}}\n```"}"#);
    let wanted = "```json\n{\"name\": \"read\", \"arguments\": {\"a\": 1}}\n``` malformed";
    gives("23 llama.cpp: a code fence instead of a call", &[fence, end], wanted);
}

#[test]
fn chunks_without_words() {
    let hi = delta(r#"{"content":"hi"}"#);
    let end = finish(r#""stop""#);
    let empty = r#"{"choices":[]}"#.to_owned();
    gives("32 goose: no choices", &[empty.clone(), hi.clone(), end.clone()], "hi");
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#.to_owned();
    let got = answer(&[hi.clone(), end.clone(), usage]).expect("35 go-openai: usage with no choices");
    assert_eq!(got.usage.map(|usage| (usage.input, usage.output)), Some((3, 2)));
    let got = answer(&[hi.clone(), end.clone(), r#"{"choices":[],"usage":{}}"#.to_owned()])
        .expect("36 Zed: empty usage");
    assert_eq!((got.text.as_str(), got.usage), ("hi", None));
    let odd = r#"{"choices":null,"usage":null,"error":null,"x":[1],"service_tier":{}}"#.to_owned();
    gives("nulls and unknown fields", &[odd, hi, end], "hi");
    gives(
        "an empty final message",
        &[delta(r#"{"role":"assistant","content":""}"#), finish(r#""stop""#)],
        "",
    );
}

#[test]
fn errors_inside_an_answer_are_errors() {
    let half = calls(&read(r#""x""#, r#""{\"a\":""#));
    let error = r#"{"error":{"code":500,"message":"Invalid diff: now finding less tool calls!"}}"#.to_owned();
    for (quirk, chunks) in [
        ("21 llama.cpp: aborts in the middle", vec![half, error.clone()]),
        ("33 goose: an error object in a 200", vec![error.clone()]),
        ("34 OmniRoute: no choices and an error", vec![error.replacen('{', r#"{"choices":[],"#, 1)]),
        (
            "3 vLLM: the parser raises, then a tidy end",
            vec![delta(r#"{"content":"a"}"#), error, finish(r#""stop""#)],
        ),
        ("an old spelling", vec![r#"{"object":"error","message":"Invalid diff","code":500}"#.to_owned()]),
    ] {
        let failed = answer(&chunks).expect_err(quirk);
        assert!(
            matches!(&failed, ModelError::Failed { reason, .. } if reason.contains("Invalid diff") && reason.contains("3 times")),
            "{quirk}: {failed:?}"
        );
    }
}

#[test]
fn bytes_in_every_cut() {
    let hi = delta(r#"{"content":"hé"}"#);
    let end = finish(r#""stop""#);
    let run_raw = |body: String| {
        let reply = vec![support::send(support::STREAM), support::send(&body)];
        run(async { ask(&Server::start(vec![reply; 3]).model(""), &request()).await.0 })
    };
    let text = |body: String| shown(&run_raw(body).expect("an answer"));
    assert_eq!(
        text(format!(": ping\r\n\r\ndata: {hi}\r\n\r\ndata: {end}\r\n\r\ndata: [DONE]\r\n\r\n")),
        "hé"
    );
    assert_eq!(
        text(format!("data: {hi}\n\ndata: {end}")),
        "hé",
        "43 Higress: the last event is not terminated"
    );
    assert_eq!(text(format!("data: {hi}\n\ndata: {end}\n\n")), "hé", "no DONE");
    assert_eq!(text(format!("data: {hi}\n\ndata: [DONE]\n\n")), "hé", "no reason");
    assert_eq!(text(format!("data: {hi}\n\ndata: {end}\n\ndata: {{\"usa")), "hé", "cut after the end");
    let Err(ModelError::Cut { .. }) = run_raw(format!("data: {hi}\n\n")) else { panic!("cut") };
    let Err(ModelError::Cut { .. }) = run_raw(format!("data: {hi}\n\ndata: {{\"cho")) else {
        panic!("cut in an event")
    };
    let Err(ModelError::Cut { .. }) = run_raw("data: [DONE]\n\n".to_owned()) else {
        panic!("nothing but DONE")
    };
    let Err(ModelError::Cut { .. }) = run_raw(String::new()) else { panic!("nothing") };
    let Err(ModelError::Malformed { .. }) = run_raw(format!("data: nonsense\n\ndata: {end}\n\n")) else {
        panic!("not JSON")
    };
}

#[test]
fn a_whole_completion_instead_of_a_stream() {
    let message =
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, read(r#""x""#, r#""{}""#));
    let body = format!(
        r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":1,"completion_tokens":2}}}}"#
    );
    let reply = support::response("200 OK", "content-type: application/json; charset=utf-8\r\n", &body);
    let (answer, told) = run(async { ask(&Server::start(vec![reply]).model(""), &request()).await });
    assert_eq!(shown(&answer.expect("11 Ollama, 44 Unsloth: stream or not")), " x:read:{}");
    assert_eq!(told.len(), 2);
    let half = support::response("200 OK", "content-type: application/json\r\n", &body[..40]);
    let cut = run(async { ask(&Server::start(vec![half]).model(""), &request()).await.0 });
    assert!(matches!(cut, Err(ModelError::Malformed { .. })), "{cut:?}");
}

/// No `null` and no empty list anywhere in what is sent.
fn tidy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty() && list.iter().all(tidy),
        Value::Object(members) => members.values().all(tidy),
        _ => true,
    }
}

#[test]
fn what_is_sent_is_what_the_strictest_take() {
    let server = Server::start(vec![says("ok")]);
    let past = |id: &str, arguments: &str| PastCall {
        id: id.into(),
        name: "read".into(),
        arguments: arguments.into(),
    };
    let mut request = request();
    request.messages.extend([
        Message::Assistant {
            text: String::new(),
            calls: vec![past("x", "{'a': True}"), past("y", r#"{"a":1}"#)],
        },
        Message::Result { call: "x".into(), text: "not JSON".into() },
        Message::Result { call: "y".into(), text: "ok".into() },
        Message::Assistant { text: "done".into(), calls: vec![] },
        Message::User { text: "on".into() },
    ]);
    run(async { ask(&server.model(""), &request).await.0 }).expect("an answer");
    let body = server.body(0);
    assert!(tidy(&body), "37 aichat: {body}");
    assert_eq!(body["stream"], true, "44 always asked for");
    assert!(body.get("tool_choice").is_none(), "24, 22 not to be relied on");
    let calls = body["messages"][2]["tool_calls"].as_array().expect("calls");
    for call in calls {
        let arguments = call["function"]["arguments"].as_str().expect("text");
        assert!(serde_json::from_str::<Value>(arguments).expect("38 agno: JSON").is_object());
    }
    assert_eq!(calls[0]["function"]["arguments"], r#"{"_invalid_arguments":"{'a': True}"}"#);
    assert_eq!(calls[1]["function"]["arguments"], r#"{"a":1}"#);
}

#[test]
fn events_split_at_every_byte() {
    let body = format!("data: {}\n\ndata: {}\n\n", delta(r#"{"content":"é😀"}"#), finish(r#""stop""#));
    let mut reply = vec![support::send(support::STREAM)];
    for byte in body.bytes() {
        reply.push(support::Step::Send(vec![byte]));
    }
    let answer = run(async { ask(&Server::start(vec![reply]).model(""), &request()).await.0 });
    assert_eq!(shown(&answer.expect("42 AIBrix: events split across reads")), "é😀");
}
