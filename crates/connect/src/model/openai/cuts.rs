//! A property: however the bytes of a stream are cut, the answer and what is shown of it are the same.

use enclos_core::model::{Answer, Request, ToolSpec};
use proptest::prelude::*;
use serde_json::json;

use super::super::{Delta, ToolMode};
use super::assemble::Assembler;
use super::sse::Sse;
use super::stream::take;

fn request() -> Request {
    Request {
        instructions: String::new(),
        messages: Vec::new(),
        tools: vec![ToolSpec { name: "read".into(), description: String::new(), schema: json!({}) }],
        completed_calls: 0,
        max_calls: 64,
        max_bytes: 1 << 20,
    }
}

/// The answer that these pieces of a stream make, and the pieces told, those of one kind joined.
fn play(pieces: &[&[u8]], form: ToolMode) -> (Option<Answer>, Vec<Delta>) {
    let request = request();
    let mut told: Vec<Delta> = Vec::new();
    let mut on = |delta| match (told.last_mut(), delta) {
        (Some(Delta::Text(all)), Delta::Text(more))
        | (Some(Delta::Reasoning(all)), Delta::Reasoning(more)) => {
            all.push_str(&more);
        }
        (
            Some(Delta::CallArguments { index, fragment: all }),
            Delta::CallArguments { index: same, fragment: more },
        ) if *index == same => all.push_str(&more),
        (_, delta) => told.push(delta),
    };
    let (mut sse, mut assembler, mut frames) =
        (Sse::new(1 << 20), Assembler::new(form, &request), Vec::new());
    for piece in pieces {
        sse.feed(piece, &mut frames).unwrap();
    }
    sse.end(&mut frames).unwrap();
    let over = frames.iter().find_map(|frame| match take(frame, &mut assembler, true, &mut on) {
        Ok(false) => None,
        Ok(true) => Some(true),
        Err(_) => Some(false),
    });
    let answer = if over == Some(false) { None } else { assembler.finish(&mut on).ok() };
    (answer, told)
}

/// A stream in which `words` and `arguments` come in pieces of that many characters.
fn stream(words: &str, arguments: &str, size: usize) -> String {
    let pieces = |text: &str| -> Vec<String> {
        text.chars().collect::<Vec<_>>().chunks(size).map(|piece| piece.iter().collect()).collect()
    };
    let mut events: Vec<serde_json::Value> = vec![json!({ "choices": [] })];
    events
        .extend(pieces(words).iter().map(|piece| json!({ "choices": [{ "delta": { "content": piece } }] })));
    for (place, piece) in pieces(arguments).iter().enumerate() {
        let name = (place == 0).then_some("read");
        let call = json!({ "index": 0, "function": { "name": name, "arguments": piece } });
        events.push(json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }));
    }
    events.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
    let events: Vec<String> = events.iter().map(|event| format!(": hm\r\ndata: {event}\r\n\r\n")).collect();
    events.concat() + "data: [DONE]"
}

/// The bytes in pieces of these lengths, again and again.
fn cut<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for length in lengths.iter().cycle() {
        let (piece, next) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = next;
        if rest.is_empty() {
            break;
        }
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_cut_changes_an_answer(
        words in "(<think>)?[a-zé<>{}\"\\\\/\n😀]{0,40}(</think>)?.{0,20}",
        arguments in r#"\{"a":"[a-zé\\"{}]{0,20}"\}"#,
        size in 1_usize..12,
        lengths in prop::collection::vec(1_usize..30, 1..8),
    ) {
        let text = stream(&words, &arguments, size);
        let whole = play(&[text.as_bytes()], ToolMode::Native);
        prop_assert_eq!(&play(&cut(text.as_bytes(), &lengths), ToolMode::Native), &whole);
        let at_once = stream(&words, &arguments, 1000);
        prop_assert_eq!(&play(&[at_once.as_bytes()], ToolMode::Native), &whole);
        let answer = whole.0.unwrap();
        prop_assert_eq!(&answer.calls[0].arguments, &arguments);
    }

    #[test]
    fn a_cut_stream_never_gives_a_call(arguments in r#"\{"a":"[a-z]{0,20}"\}"#, size in 1_usize..9, at in any::<prop::sample::Index>()) {
        let text = stream("hi", &arguments, size);
        let end = text.find("\"finish_reason\"").unwrap();
        let kept = at.index(end);
        prop_assert_eq!(play(&[&text.as_bytes()[..kept]], ToolMode::Native).0, None);
    }

    #[test]
    fn no_cut_changes_an_answer_in_json(
        content in r#"\{"(tool":"read","arguments":\{"a":"[a-z}\\{]{0,9}"\}|final":"[a-zé\\n"]{0,20}"|[a-z":{}]{0,20})\} ?"#,
        size in 1_usize..12,
    ) {
        let (pieces, whole) = (stream(&content, "", size), stream(&content, "", 1000));
        let pieces = play(&[pieces.as_bytes()], ToolMode::JsonSchema);
        let whole = play(&[whole.as_bytes()], ToolMode::JsonSchema);
        prop_assert_eq!(&pieces.0, &whole.0);
        let answer = whole.0.unwrap();
        prop_assert!(answer.malformed.is_none() || answer.calls.is_empty());
    }
}
