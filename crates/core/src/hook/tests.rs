//! What hooks are told, what counts as an answer, and that no answers soften a verdict.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const VERDICTS: [Verdict; 3] = [Verdict::Allow, Verdict::Ask, Verdict::Disabled];

fn subject(label: Label) -> Subject<'static> {
    Subject {
        hook: Hook::PreToolCall,
        session: "s1",
        label,
        tool: Some("bash"),
        digest: "d",
        content: "the plan",
    }
}

fn told(label: Label, clearance: Level) -> Value {
    serde_json::to_value(Message::to(&RuleId::new("dlp"), clearance, &subject(label))).unwrap()
}

#[test]
fn the_hooks_stand_in_the_order_of_the_specification_and_are_written_by_their_names() {
    let names = [
        "PRE_CONTEXT_INJECTION",
        "PRE_TOOL_CALL",
        "POST_TOOL_RESPONSE",
        "PRE_OUTPUT",
        "SECRET_ACCESS",
        "SESSION_RESET",
        "AGENT_INVOCATION",
        "MCP_TOOL_CALL",
    ];
    assert_eq!(Hook::ALL.map(Hook::as_str), names);
    assert!(Hook::ALL.is_sorted());
    for hook in Hook::ALL {
        assert_eq!(serde_json::to_value(hook).unwrap(), json!(hook.as_str()));
    }
    assert!(serde_json::from_value::<Hook>(json!("pre_tool_call")).is_err());
}

#[test]
fn a_hook_gets_content_exactly_up_to_its_clearance() {
    for level in Level::ALL {
        for clearance in Level::ALL {
            for label in [Label::trusted(level), Label::untrusted(level)] {
                let message = told(label, clearance);
                let expected = (level <= clearance).then(|| json!("the plan"));
                assert_eq!(message.get("content").cloned(), expected, "{level} to {clearance}");
                assert_eq!(message["bytes"], json!(8));
                assert_eq!(message["level"], json!(level.as_str()));
            }
        }
    }
    let kept = told(Label::trusted(Level::Internal), Level::Public);
    assert!(!kept.to_string().contains("plan"));
}

#[test]
fn the_three_answers_are_read() {
    assert_eq!(Answer::read(br#"{"answer":"allow"}"#), Answer::Allow);
    assert_eq!(Answer::read(b" {\"answer\":\"ask\",\"reason\":\"new\"}\n"), Answer::Ask("new".into()));
    assert_eq!(Answer::read(br#"{"reason":"no","answer":"block"}"#), Answer::Block("no".into()));
}

#[test]
fn anything_else_than_an_answer_blocks() {
    let long = format!(r#"{{"answer":"allow","reason":"{}"}}"#, "x".repeat(MOST_ANSWER));
    for written in [
        "",
        "allow",
        r#""allow""#,
        "{}",
        "null",
        r#"["allow"]"#,
        r#"["allow",""]"#,
        r#"{"answer":"Allow"}"#,
        r#"{"answer":"redact"}"#,
        r#"{"answer":true}"#,
        r#"{"answer":{"allow":null}}"#,
        r#"{"answer":"allow","answer":"allow"}"#,
        r#"{"answer":"allow","more":1}"#,
        r#"{"answer":"allow","reason":null}"#,
        r#"{"answer":"allow"}{"answer":"allow"}"#,
        r#"{"answer":"allow"} x"#,
        r#"{"answer":"allow""#,
        &long,
    ] {
        assert_eq!(Answer::read(written.as_bytes()).as_str(), "block", "{written:.60}");
    }
    assert_eq!(Answer::read(b"{\"answer\":\"allow\",\"reason\":\"\xff\"}").as_str(), "block");
}

#[test]
fn every_failure_blocks_and_says_why() {
    use Failure::{Ended, NoAnswer, NotRun, TimedOut, TooLong};
    for failure in [NotRun, Ended, TimedOut, TooLong, NoAnswer] {
        let answer = Answer::from(failure);
        assert_eq!(answer.verdict(), Verdict::Disabled);
        assert_eq!(answer.reason(), Some(failure.to_string().as_str()));
    }
}

#[test]
fn the_first_hook_that_hardens_is_named_with_its_reason() {
    let (a, b, c) = (RuleId::new("a"), RuleId::new("b"), RuleId::new("c"));
    let (no, never) = (Answer::Block("no".into()), Answer::Block("never".into()));
    let ruling = combine(Verdict::Allow, [(&a, &Answer::Allow), (&b, &no), (&c, &never)]);
    assert_eq!(ruling.hardened_by(), Some((&b, "no")));
    assert_eq!(combine(Verdict::Disabled, [(&b, &no)]).hardened_by(), None);
    assert_eq!(combine(Verdict::Ask, [(&a, &Answer::Allow)]), Ruling::of(Verdict::Ask));
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(Answer::Allow),
        ".{0,8}".prop_map(Answer::Ask),
        ".{0,8}".prop_map(Answer::Block),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Answer::read(&bytes)),
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_answers_softens_a_verdict(
        start in 0..VERDICTS.len(),
        answers in proptest::collection::vec(any_answer(), 0..12),
    ) {
        let hook = RuleId::new("h");
        let mut ruling = Ruling::of(VERDICTS[start]);
        for answer in &answers {
            let before = ruling.verdict();
            ruling = ruling.and(&hook, answer);
            prop_assert!(ruling.verdict() >= before && ruling.verdict() >= answer.verdict());
        }
        let strictest = answers.iter().map(Answer::verdict).fold(VERDICTS[start], Verdict::max);
        prop_assert_eq!(ruling.verdict(), strictest);
        let turned = combine(VERDICTS[start], answers.iter().rev().map(|answer| (&hook, answer)));
        prop_assert_eq!(turned.verdict(), strictest);
    }

    #[test]
    fn no_bytes_but_an_object_with_the_word_allow(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let object = serde_json::from_slice::<Value>(&bytes).ok();
        let said = object.as_ref().and_then(|value| value.get("answer")).and_then(Value::as_str) == Some("allow");
        prop_assert!(said || Answer::read(&bytes) != Answer::Allow);
    }
}
