//! What the journal keeps of each event: names, sizes and digests, never content.
//!
//! The content goes beside it into the session store, where it is sealed and has a retention of its own.

use enclos_core::call::Canceled;
use enclos_core::command::Piece;
use enclos_core::session::{Event, Settlement};
use enclos_store::{CommitKey, Record};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::record::Facts;

/// Words of a command that are longer are kept as size and digest.
const LONGEST_WORD: usize = 128;

/// Entries of a list that are kept; the rest is counted.
const LONGEST_LIST: usize = 100;

/// A value as JSON. What the product serialises itself always can be.
pub(super) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// The record of an event: its entry for the journal, its content for the session store.
pub(super) fn record(event: &Event, facts: &Facts, time_us: i64, key: &CommitKey) -> Record {
    let (kind, mut entry) = of_event(event, key);
    entry.extend(facts.clone());
    let content = serde_json::to_vec(event).ok();
    Record { kind: kind.to_owned(), time_us, entry, content, state: None }
}

/// Facts from pairs.
pub(crate) fn facts<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn of_event(event: &Event, key: &CommitKey) -> (&'static str, Map<String, Value>) {
    let text = |text: &str| json!({"bytes": text.len(), "digest": key.digest(text.as_bytes())});
    match event {
        Event::Opened(settings) => ("session.opened", facts([("settings", json(settings))])),
        Event::Said { text: words, by } => ("message.said", facts([("by", json(by)), ("text", text(words))])),
        Event::Answered(answer) => {
            let calls = answer.calls.iter().take(LONGEST_LIST).map(|call| {
                json!({"call": call.call, "tool": short(&call.tool, key), "arguments": text(&call.arguments)})
            });
            let entry = facts([
                ("calls", calls.collect()),
                ("text", text(&answer.text)),
                ("tokens", json!(answer.tokens)),
                ("corrected", json!(answer.correction.is_some())),
            ]);
            ("model.answered", entry)
        }
        Event::ModelFailed { error } => ("model.failed", facts([("error", json!(error))])),
        Event::Interrupted { by } => ("turn.interrupted", facts([("by", json(by))])),
        Event::Failed { call, error } => {
            ("call.errored", facts([("call", json(call)), ("error", text(error))]))
        }
        Event::Refused { call, reason } => {
            ("call.canceled", facts([("call", json(call)), ("reason", refusal(reason, key))]))
        }
        Event::Asked { call, approval } => (
            "approval.requested",
            facts([
                ("call", json(call)),
                ("approval", json!(approval.id)),
                ("digest", json(&approval.digest)),
                ("expires_us", json!(approval.expires_us)),
            ]),
        ),
        Event::Settled { call, answer } => {
            ("approval.decided", facts([("call", json(call)), ("answer", settlement(answer, key))]))
        }
        Event::Started { call, decided_by, rule, command } => (
            "call.intent",
            facts([
                ("call", json(call)),
                ("decided_by", json(decided_by)),
                ("rule", json(rule)),
                ("command", json!(command)),
            ]),
        ),
        Event::Finished { call, output } => {
            ("call.done", facts([("call", json(call)), ("output", text(output))]))
        }
        Event::Compacted { summary, from, charged, tokens } => (
            "history.compacted",
            facts([
                ("summary", text(summary)),
                ("from", json!(from)),
                ("charged", json!(charged)),
                ("tokens", json!(tokens)),
            ]),
        ),
        Event::ExtensionAsked { spent } => ("extension.requested", facts([("spent", json(spent))])),
        Event::ExtensionGranted { by } => ("extension.granted", facts([("by", json(by))])),
        Event::ExtensionRefused { by } => ("extension.refused", facts([("by", json(by))])),
        Event::Restored => ("session.restored", Map::new()),
        Event::Reviewing { digest } => {
            ("changeset.made", facts([("digest", json(&key.digest(digest.as_str().as_bytes())))]))
        }
        Event::Closed { outcome, reason } => {
            ("session.closed", facts([("outcome", json(outcome)), ("reason", json!(reason))]))
        }
    }
}

/// A refusal without the words that a person added to it.
fn refusal(reason: &Canceled, key: &CommitKey) -> Value {
    match reason {
        Canceled::Refused { who, word } => {
            let word =
                word.as_ref().map(|word| json!({"bytes": word.len(), "digest": key.digest(word.as_bytes())}));
            json!({"by": "refused", "who": who, "word": word})
        }
        Canceled::Interrupted | Canceled::Policy { .. } | Canceled::Expired => json(reason),
    }
}

fn settlement(answer: &Settlement, key: &CommitKey) -> Value {
    match answer {
        Settlement::Denied { by, word } => {
            let word =
                word.as_ref().map(|word| json!({"bytes": word.len(), "digest": key.digest(word.as_bytes())}));
            json!({"state": "denied", "by": by, "word": word})
        }
        Settlement::Approved { .. } | Settlement::Expired | Settlement::Superseded => json(answer),
    }
}

/// The pieces of a command as the journal keeps them: program, options and paths; what is long, or a text handed to
/// an interpreter or a message, as size and digest.
pub(super) fn pieces(pieces: &[Piece], key: &CommitKey) -> Value {
    let kept = pieces.iter().take(LONGEST_LIST).map(|piece| {
        let mut after_text_option = false;
        let words = piece.argv.iter().take(LONGEST_LIST).map(|word| {
            let kept = if after_text_option { digest_only(word, key) } else { short(word, key) };
            after_text_option = TEXT_OPTIONS.contains(&word.as_str());
            kept
        });
        let argv: Vec<Value> = words.collect();
        let more = piece.argv.len().saturating_sub(LONGEST_LIST);
        json!({"argv": argv, "more": more, "verdict": piece.verdict, "rule": piece.rule})
    });
    let more = pieces.len().saturating_sub(LONGEST_LIST);
    json!({"kept": kept.collect::<Vec<_>>(), "more": more})
}

/// Options whose value is a text: a script or a message.
const TEXT_OPTIONS: [&str; 8] = ["-c", "-e", "-m", "--message", "--eval", "-p", "--body", "--expression"];

pub(super) fn short(word: &str, key: &CommitKey) -> Value {
    if word.len() <= LONGEST_WORD && !word.contains('\n') { json!(word) } else { digest_only(word, key) }
}

fn digest_only(word: &str, key: &CommitKey) -> Value {
    json!({"bytes": word.len(), "digest": key.digest(word.as_bytes())})
}
