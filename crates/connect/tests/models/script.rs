//! The script model: what it plays, and what it refuses before it plays.

use std::time::Duration;

use enclos_connect::model::{Delta, Model, ModelError, ModelSpec, Script};
use enclos_core::model::{Answer, Cut, Proposed, Request, Usage};

use crate::support::{ask_any, request, run};

fn model(text: &str) -> Model {
    Model::Script(Script::parse(text, "s.json").expect(text))
}

fn at(completed_calls: u64) -> Request {
    Request { completed_calls, ..request() }
}

fn refused(text: &str) -> (usize, String) {
    match Script::parse(text, "s.json") {
        Err(ModelError::Script { file, line, problem, .. }) => {
            assert_eq!(file, "s.json");
            (line, problem)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn turns_are_played_by_their_number_and_then_there_is_nothing_to_say() {
    let model = model(
        r#"{"turns":[
            {"text":"first","calls":[{"name":"bash","arguments":{"command": "ls", "command": "rm"}},{"name":"read","arguments":"{oops"}]},
            {"text":"second","reasoning":"hm","usage":{"input":7,"output":3},"truncated":true}
        ]}"#,
    );
    run(async {
        let (answer, _) = ask_any(&model, &at(0)).await;
        let call = |name: &str, arguments: &str| Proposed {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
        };
        let calls = vec![call("bash", r#"{"command": "ls", "command": "rm"}"#), call("read", "{oops")];
        assert_eq!(answer, Ok(Answer { text: "first".into(), calls, ..Answer::default() }));
        for _ in 0..2 {
            let (answer, _) = ask_any(&model, &at(1)).await;
            let usage = Some(Usage { input: 7, output: 3 });
            let wanted = Answer {
                text: "second".into(),
                reasoning: "hm".into(),
                usage,
                cut: Some(Cut::Length),
                ..Answer::default()
            };
            assert_eq!(answer, Ok(wanted));
        }
        for after in [2, 99, u64::MAX] {
            assert_eq!(ask_any(&model, &at(after)).await, (Ok(Answer::default()), vec![]));
        }
        assert_eq!(model.context_tokens().await, None);
    });
    assert_eq!(model.name(), "script:s.json");
}

#[test]
fn an_answer_comes_in_as_many_pieces_as_the_script_says() {
    let model = model(
        r#"{"turns":[{"text":"héllo","calls":[{"name":"now","arguments":"abcd"}],"chunks":3,"delay_ms":1}]}"#,
    );
    let (_, told) = run(ask_any(&model, &at(0)));
    let argument = |fragment: &str| Delta::CallArguments { index: 0, fragment: fragment.into() };
    let wanted = [
        Delta::Text("hé".into()),
        Delta::Text("ll".into()),
        Delta::Text("o".into()),
        Delta::CallStarted { index: 0, name: "now".into() },
        argument("ab"),
        argument("cd"),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_turn_may_fail() {
    let model = model(
        r#"{"turns":[
            {"error":"too_long","times":1,"text":"shorter"},
            {"error":"cut","text":"abcd","chunks":2},
            {"error":"unreachable"},{"error":"rate_limited"},{"error":"refused"},{"error":"malformed"}
        ]}"#,
    );
    run(async {
        assert!(matches!(ask_any(&model, &at(0)).await, (Err(ModelError::TooLong { .. }), _)));
        assert_eq!(ask_any(&model, &at(0)).await.0.expect("the second time").text, "shorter");
        for _ in 0..2 {
            let (answer, told) = ask_any(&model, &at(1)).await;
            assert!(matches!(answer, Err(ModelError::Cut { .. })));
            assert_eq!(told, [Delta::Text("ab".into())]);
        }
        assert!(matches!(ask_any(&model, &at(2)).await.0, Err(ModelError::Unreachable { .. })));
        assert!(matches!(ask_any(&model, &at(3)).await.0, Err(ModelError::RateLimited { .. })));
        assert!(matches!(ask_any(&model, &at(4)).await.0, Err(ModelError::Refused { .. })));
        assert!(matches!(ask_any(&model, &at(5)).await.0, Err(ModelError::Malformed { .. })));
    });
}

#[test]
fn the_bounds_of_an_answer_hold_here_too() {
    let calls = vec![r#"{"name":"now","arguments":{}}"#; 65].join(",");
    let many = model(&format!(r#"{{"turns":[{{"calls":[{calls}]}}]}}"#));
    let large = model(&format!(r#"{{"turns":[{{"text":"{}"}}]}}"#, "x".repeat((1 << 20) + 1)));
    run(async {
        let (answer, told) = ask_any(&many, &at(0)).await;
        assert_eq!(answer, Err(ModelError::TooLarge { limit: 64, unit: "calls" }));
        assert_eq!(told, []);
        assert_eq!(
            ask_any(&large, &at(0)).await.0,
            Err(ModelError::TooLarge { limit: 1 << 20, unit: "bytes" })
        );
    });
}

#[test]
fn a_pause_can_be_left() {
    let model = model(r#"{"turns":[{"text":"late","delay_ms":3600000}]}"#);
    run(async {
        let request = at(0);
        let mut on = |_| {};
        let asking = model.ask(&request, &mut on);
        assert!(tokio::time::timeout(Duration::from_millis(5), asking).await.is_err());
    });
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, line, says) in [
        ("{\n\"turns\":[],\n\"turn\":1}", 3, "unknown field `turn`"),
        ("{\"turns\":[\n{\"txt\":\"a\"}]}", 2, "unknown field `txt`"),
        (
            "{\"turns\":[\n{\"calls\":[\n{\"name\":\"a\",\"arguments\":{},\"id\":1}]}]}",
            3,
            "unknown field `id`",
        ),
        ("{\"turns\":[\n{\"calls\":[\n{\"name\":\"a\"}]}]}", 3, "missing field `arguments`"),
        (
            "{\"turns\":[\n{\"calls\":[\n{\"name\":\"a\",\"arguments\":[1]}]}]}",
            3,
            "`arguments` of `a`: expected an object or a text",
        ),
        ("{\"turns\":[\n{\"chunks\":0}]}", 2, "`chunks` is 0: expected 1 to"),
        ("{\"turns\":[\n{\"delay_ms\":3600001}]}", 2, "`delay_ms` is 3600001: expected at most"),
        ("{\"turns\":[\n{\"times\":1}]}", 2, "expected `error` beside it"),
        ("{\"turns\":[\n{\"error\":\"boom\"}]}", 2, "unknown variant `boom`"),
        ("{\"turns\":[\n{\"usage\":{\"input\":1,\"output\":1,\"x\":1}}]}", 2, "unknown field `x`"),
        ("{}", 1, "missing field `turns`"),
        ("{\"turns\":[]} x", 1, "trailing characters"),
        ("{\"turns\":[\n", 2, "EOF"),
        ("", 1, "EOF"),
    ] {
        let (found, problem) = refused(text);
        assert!(problem.contains(says), "{text}: {problem}");
        assert_eq!(found, line, "{text}");
    }
}

#[test]
fn a_file_is_read_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("s.json");
    let spec = ModelSpec::parse(&format!("script:{}", file.display())).expect("a script");
    let error = Model::from_spec(&spec, None).expect_err("no such file");
    assert!(error.to_string().contains("cannot be read"), "{error}");
    std::fs::write(&file, "{\"turns\":[{\"text\":\"hi\"}]}").expect("written");
    let model = Model::from_spec(&spec, None).expect("a model");
    assert_eq!(run(ask_any(&model, &at(0))).0.expect("an answer").text, "hi");
    assert_eq!(model.name(), format!("script:{}", file.display()));
    std::fs::write(&file, "{\"turns\":[{\"txt\":\"hi\"}]}").expect("written");
    assert!(Model::from_spec(&spec, None).expect_err("a wrong field").to_string().contains(":1:"));
}
