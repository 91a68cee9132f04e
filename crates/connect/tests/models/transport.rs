//! What happens between the question and the answer: retries, waits, cuts, limits, and where a key goes.

use std::time::Duration;

use enclos_connect::model::patience::Patience;
use enclos_connect::model::{Delta, ModelError, ModelSpec, OpenAi, Secret};
use serde_json::json;

use crate::support::{STREAM, Server, Step, ask, patience, request, response, run, says, send, stream};

const HALF_CALL: &str = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{\"a\":"}}]}}]}"#;
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

fn retries(told: &[Delta]) -> Vec<(u32, Duration)> {
    let retry = |delta: &Delta| match delta {
        Delta::Retrying { attempt, wait, .. } => Some((*attempt, *wait)),
        _ => None,
    };
    told.iter().filter_map(retry).collect()
}

#[test]
fn a_server_in_trouble_is_asked_again() {
    for status in
        ["408 Request Timeout", "429 Too Many Requests", "500 Oops", "503 Loading", "529 Overloaded"]
    {
        let server = Server::start(vec![response(status, "", "busy"), says("hi")]);
        let (answer, told) = run(ask(&server.model(""), &request()));
        assert_eq!(answer.expect(status).text, "hi");
        assert_eq!(retries(&told), [(2, Duration::from_micros(750))], "{status}");
        assert_eq!(server.asked().len(), 2);
    }
}

#[test]
fn trouble_that_lasts_is_an_error_of_its_class() {
    let lasting = |status: &str| {
        let server = Server::start(vec![response(status, "", r#"{"error":{"message":"busy"}}"#); 4]);
        let (answer, told) = run(ask(&server.model(""), &request()));
        assert_eq!((server.asked().len(), retries(&told).len()), (3, 2), "{status}");
        answer.expect_err(status)
    };
    assert!(
        matches!(lasting("500 Oops"), ModelError::Unreachable { reason, .. } if reason.contains("500: busy"))
    );
    assert!(matches!(lasting("429 Slow"), ModelError::RateLimited { reason, .. } if reason.contains("busy")));
}

#[test]
fn a_wait_that_the_server_asks_for_is_honoured_up_to_a_minute() {
    let server = Server::start(vec![response("429 Slow", "retry-after: 1\r\n", ""), says("hi")]);
    let (answer, told) = run(ask(&server.model(""), &request()));
    assert_eq!(
        (answer.expect("an answer").text.as_str(), retries(&told)),
        ("hi", vec![(2, Duration::from_secs(1))])
    );

    let dates = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:38 GMT\r\n";
    let server = Server::start(vec![response("503 Later", dates, ""), says("hi")]);
    let (answer, told) = run(ask(&server.model(""), &request()));
    assert_eq!((answer.is_ok(), retries(&told)), (true, vec![(2, Duration::from_secs(1))]));

    let server = Server::start(vec![response("429 Slow", "retry-after: 61\r\n", "quota"), says("hi")]);
    let (answer, told) = run(ask(&server.model(""), &request()));
    let Err(ModelError::RateLimited { reason, .. }) = answer else { panic!("{answer:?}") };
    assert!(reason.contains("quota") && reason.contains("wait 61 s"), "{reason}");
    assert_eq!((server.asked().len(), told.len()), (1, 0));
}

#[test]
fn a_refusal_is_not_asked_again() {
    for (status, code) in
        [("400 Bad", 400), ("401 Who", 401), ("403 No", 403), ("404 What", 404), ("422 Hm", 422)]
    {
        let server = Server::start(vec![response(status, "", r#"{"detail":"no such thing"}"#), says("hi")]);
        let (answer, _) = run(ask(&server.model(""), &request()));
        let Err(ModelError::Refused { status, reason, server: shown }) = answer else { panic!("{answer:?}") };
        assert_eq!((status, reason.as_str(), shown), (code, "no such thing", server.address()));
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn a_request_that_is_too_long_is_told_apart() {
    let body = r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#;
    let server = Server::start(vec![response("400 Bad", "", body)]);
    let (answer, _) = run(ask(&server.model(""), &request()));
    assert!(matches!(answer, Err(ModelError::TooLong { .. })), "{answer:?}");
    let inside = format!(r#"{{"error":{}}}"#, r#"{"message":"maximum context length is 10"}"#);
    let (answer, _) = run(async { ask(&Server::events(&[&inside]).model(""), &request()).await });
    assert!(matches!(answer, Err(ModelError::TooLong { .. })), "{answer:?}");
}

#[test]
fn nobody_there() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let text = format!("openai:http://localhost:{port}#m");
    let Ok(ModelSpec::OpenAi(spec)) = ModelSpec::parse(&text) else { panic!("`{text}` is not read") };
    let model = OpenAi::new(spec, None, patience()).expect("a model");
    let (answer, told) = run(ask(&model, &request()));
    let Err(ModelError::Unreachable { server, reason }) = answer else { panic!("{answer:?}") };
    assert_eq!(server, format!("http://localhost:{port}"));
    assert!(reason.contains("asked 2 times"), "{reason}");
    assert_eq!(told.len(), 1);
}

#[test]
fn a_cut_stream_is_never_half_a_call() {
    let chunked = |rest: &str| {
        let head = STREAM.replace("connection: close", "transfer-encoding: chunked\r\nconnection: close");
        vec![send(&head), send(&format!("{:x}\r\n{rest}\r\n", rest.len()))]
    };
    let half = format!("data: {HALF_CALL}\n\n");
    for (how, reply) in [
        ("closed", stream(&[HALF_CALL])),
        ("closed inside an event", vec![send(STREAM), send(&half[..half.len() - 9])]),
        ("a chunk is missing", chunked(&half)),
        (
            "shorter than it said",
            vec![send(&STREAM.replace("connection", "content-length: 9999\r\nconnection")), send(&half)],
        ),
    ] {
        let server = Server::start(vec![reply.clone(), says("again")]);
        let (answer, told) = run(ask(&server.model(""), &request()));
        let answer = answer.expect(how);
        assert_eq!((answer.text.as_str(), answer.calls.len()), ("again", 0), "{how}");
        let place = told.iter().position(|delta| matches!(delta, Delta::Retrying { .. })).expect("a retry");
        assert!(told[place + 1..].iter().all(|delta| matches!(delta, Delta::Text(_))), "{how}");

        let server = Server::start(vec![reply; 3]);
        let (answer, _) = run(ask(&server.model(""), &request()));
        assert!(matches!(answer, Err(ModelError::Cut { .. })), "{how}: {answer:?}");
    }
}

#[test]
fn silence_has_limits() {
    let short = Patience { idle: Duration::from_millis(50), attempts: 1, ..patience() };
    let server = Server::start(vec![vec![send(STREAM), send(&format!("data: {HALF_CALL}\n\n")), Step::Hang]]);
    let (answer, _) = run(ask(&server.model_with("", None, short), &request()));
    assert!(
        matches!(&answer, Err(ModelError::Cut { reason, .. }) if reason.contains("0.05 s")),
        "{answer:?}"
    );
    let server = Server::start(vec![vec![Step::Hang]]);
    let short = Patience { begin: Duration::from_millis(50), attempts: 1, ..patience() };
    let (answer, _) = run(ask(&server.model_with("", None, short), &request()));
    assert!(matches!(&answer, Err(ModelError::Unreachable { .. })), "{answer:?}");

    let ping = vec![send(": ping\n\n"), Step::Pause(Duration::from_millis(5))];
    let reply = [vec![send(STREAM)], vec![ping; 200].concat()].concat();
    let whole = Patience { whole: Duration::from_millis(50), attempts: 1, ..patience() };
    let (answer, _) =
        run(async { ask(&Server::start(vec![reply]).model_with("", None, whole), &request()).await });
    assert!(matches!(&answer, Err(ModelError::Cut { .. })), "{answer:?}");
}

#[test]
fn a_complete_answer_does_not_wait_for_a_tidy_end() {
    let hi = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
    let reply = [stream(&[hi, STOP]), vec![Step::Hang]].concat();
    let (answer, _) = run(async { ask(&Server::start(vec![reply]).model(""), &request()).await });
    assert_eq!(answer.expect("an answer").text, "hi");
    let reply = [stream(&[hi, "[DONE]"]), vec![Step::Hang]].concat();
    let (answer, _) = run(async { ask(&Server::start(vec![reply]).model(""), &request()).await });
    assert_eq!(answer.expect("an answer").text, "hi");
}

#[test]
fn dropping_the_question_ends_the_request() {
    let server = Server::start(vec![[stream(&[HALF_CALL]), vec![Step::Hang]].concat()]);
    let model = server.model("");
    run(async {
        let begun = tokio::sync::Notify::new();
        let request = request();
        let mut on = |_| begun.notify_one();
        tokio::select! {
            answer = model.ask(&request, &mut on) => panic!("{answer:?}"),
            () = begun.notified() => {}
        }
        // The connection is closed by the client's own task, which needs a turn.
        tokio::task::spawn_blocking(move || server.wait_left()).await.expect("no panic");
    });
}

#[test]
fn an_answer_has_bounds() {
    let call =
        |n: usize| format!(r#"{{"index":{n},"id":"c{n}","function":{{"name":"now","arguments":"{{}}"}}}}"#);
    let calls = |n: usize| {
        let list: Vec<String> = (0..n).map(call).collect();
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#, list.join(","))
    };
    let asked = |events: &[&str]| run(async { ask(&Server::events(events).model(""), &request()).await.0 });
    assert_eq!(asked(&[&calls(64), STOP]).expect("64 calls").calls.len(), 64);
    assert_eq!(asked(&[&calls(65), STOP]), Err(ModelError::TooLarge { limit: 64, unit: "calls" }));

    let too_large = Err(ModelError::TooLarge { limit: 1 << 20, unit: "bytes" });
    let words =
        |field: &str, n: usize| json!({ "choices": [{ "delta": { field: "x".repeat(n) } }] }).to_string();
    assert_eq!(asked(&[&words("content", 1 << 20), STOP]).expect("1 MiB").text.len(), 1 << 20);
    let half = words("content", 1 << 19);
    assert_eq!(asked(&[&half, &half, &words("reasoning", 1), STOP]), too_large);
    let arguments = HALF_CALL.replace(r#"{\"a\":"#, &"x".repeat(1 << 20));
    assert_eq!(asked(&[&arguments, STOP]), too_large);
    let endless = vec![send(STREAM), send("data: "), Step::Send(vec![b'x'; 10 << 20])];
    assert_eq!(run(async { ask(&Server::start(vec![endless]).model(""), &request()).await.0 }), too_large);
}

#[test]
fn a_key_goes_to_its_host_and_nowhere_else() {
    const KEY: &str = "sk-very-secret";
    let elsewhere = Server::start(vec![says("stolen")]);
    let location = format!("location: {}/v1/chat/completions\r\n", elsewhere.address());
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let server = Server::start(vec![response(status, &location, "")]);
        let (answer, _) = run(ask(&server.model_with("", Some(KEY), patience()), &request()));
        assert!(
            matches!(&answer, Err(ModelError::Refused { reason, .. }) if reason.contains("no redirection"))
        );
        assert!(server.asked()[0].contains(&format!("authorization: Bearer {KEY}\r\n")));
    }
    assert_eq!(elsewhere.asked().len(), 0);
}

#[test]
fn a_key_is_never_told() {
    const KEY: &str = "sk-very-secret";
    let echo = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let replies = [
        response("401 Who", "", &echo),
        response("500 Oops", "", &echo),
        response("429 Slow", "", &format!("key {KEY} used up")),
        stream(&[&echo]),
        stream(&[&format!("nonsense {KEY}")]),
    ];
    for reply in replies {
        let server = Server::start(vec![reply; 3]);
        let model = server.model_with("", Some(&format!(" {KEY}\n")), patience());
        let (answer, told) = run(ask(&model, &request()));
        let error = answer.expect_err("no answer");
        let all = format!("{error} {error:?} {told:?} {model:?}");
        assert!(!all.contains(KEY), "{all}");
        assert!(server.asked().iter().all(|asked| asked.matches(KEY).count() == 1), "only in its header");
    }
}

#[test]
fn user_and_password_of_an_address() {
    let server = Server::start(vec![response("401 Who", "", "no, hunter2")]);
    let text = format!("openai:{}#m", server.address().replace("//", "//me:hunter2@"));
    let Ok(ModelSpec::OpenAi(spec)) = ModelSpec::parse(&text) else { panic!("not read") };
    let both = OpenAi::new(spec.clone(), Some(Secret::new("k")), patience()).expect_err("both");
    assert!(!both.to_string().contains("hunter2"), "{both}");
    let model = OpenAi::new(spec, Some(Secret::new(" ")), patience()).expect("a blank key is none");
    let error = run(ask(&model, &request())).0.expect_err("refused");
    assert!(server.asked()[0].contains("authorization: Basic bWU6aHVudGVyMg==\r\n"), "{:?}", server.asked());
    assert!(!format!("{error} {error:?} {model:?}").contains("hunter2"));
}

#[test]
fn a_key_that_no_header_can_carry() {
    let Ok(ModelSpec::OpenAi(spec)) = ModelSpec::parse("openai:https://127.0.0.1#m") else {
        panic!("not read")
    };
    let error = OpenAi::new(spec, Some(Secret::new("a\nb")), patience()).expect_err("refused");
    assert!(matches!(&error, ModelError::Spec { .. }) && !error.to_string().contains("a\nb"), "{error}");
}

#[test]
fn tls_is_not_taken_on_trust() {
    let server = Server::start(vec![says("hi"); 3]);
    let text = format!("openai:{}#m", server.address().replace("http:", "https:"));
    let Ok(ModelSpec::OpenAi(spec)) = ModelSpec::parse(&text) else { panic!("not read") };
    let limits = Patience { connect: Duration::from_millis(300), ..patience() };
    let model = OpenAi::new(spec, Some(Secret::new("sk")), limits).expect("a model");
    let (answer, _) = run(ask(&model, &request()));
    assert!(matches!(&answer, Err(ModelError::Unreachable { .. })), "{answer:?}");
}

#[test]
fn a_server_without_stream_options_is_asked_without() {
    let refusal = response("400 Bad", "", r#"{"error":{"message":"Unknown field: stream_options"}}"#);
    let server = Server::start(vec![refusal, says("one"), says("two")]);
    let model = server.model("");
    run(async {
        assert_eq!(ask(&model, &request()).await.0.expect("an answer").text, "one");
        assert_eq!(ask(&model, &request()).await.0.expect("an answer").text, "two");
    });
    let with: Vec<bool> = (0..3).map(|n| server.body(n).get("stream_options").is_some()).collect();
    assert_eq!(with, [true, false, false]);
}

#[test]
fn a_page_is_no_answer() {
    let page = response("200 OK", "content-type: text/html\r\n", "<html>Welcome</html>");
    let server = Server::start(vec![page]);
    let (answer, _) = run(ask(&server.model(""), &request()));
    assert!(
        matches!(&answer, Err(ModelError::Malformed { reason, .. }) if reason.contains("/v1")),
        "{answer:?}"
    );
}

#[test]
fn the_window_is_what_the_server_tells() {
    let json = |body: &str| response("200 OK", "content-type: application/json\r\n", body);
    let missing = || response("404 What", "", "");
    let tokens = |replies: Vec<Vec<Step>>, options: &str| {
        let server = Server::start(replies);
        let found = run(server.model(options).context_tokens());
        (found, server.asked())
    };
    let (found, asked) = tokens(vec![json(r#"{"default_generation_settings":{"n_ctx":8192}}"#)], "");
    assert_eq!(found, Some(8192));
    assert!(asked[0].starts_with("GET /props "), "{asked:?}");
    let (found, asked) = tokens(vec![missing(), json(r#"{"data":[{"id":"m","max_model_len":4096}]}"#)], "");
    assert_eq!(found, Some(4096));
    assert!(asked[1].starts_with("GET /v1/models "), "{asked:?}");
    assert_eq!(tokens(vec![missing(), missing()], "").0, None);
    assert_eq!(tokens(vec![json("nonsense"), json("[]")], "").0, None);
    assert_eq!(tokens(vec![], "").0, None);
    let (found, asked) = tokens(vec![], "?context_tokens=99");
    assert_eq!((found, asked.len()), (Some(99), 0));
}
