//! What the journal keeps of each event: names, sizes and digests, never content.
//!
//! The content goes beside it into the session store, where it is sealed and has a retention of its own.

use enclos_core::call::Canceled;
use enclos_core::command::Piece;
use enclos_core::ids::CallId;
use enclos_core::label::Label;
use enclos_core::session::{Approval, Event, Outcome, Settlement};
use enclos_store::{CommitKey, Record};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::record::Facts;

/// Words of a command that are longer are kept as size and digest.
const LONGEST_WORD: usize = 128;

/// Bytes of an entry before the store escapes what could mislead a reader; its own bound is 64 KiB.
const LARGEST_ENTRY: usize = 24 * 1024;

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
    bound(&mut entry, key);
    let content = serde_json::to_vec(event).ok();
    let archives = matches!(event, Event::Closed { outcome: Outcome::Reset, .. });
    Record { kind: kind.to_owned(), time_us, entry, content, state: None, lineage: Vec::new(), archives }
}

/// Holds an entry within its bound: the largest fields become size and digest, until the rest fits. A model that
/// writes a huge command must not be able to stop the journal with it.
pub(crate) fn bound(entry: &mut Map<String, Value>, key: &CommitKey) {
    let size = |value: &Value| value.to_string().len();
    while entry.values().map(size).sum::<usize>() > LARGEST_ENTRY {
        let largest = entry.iter_mut().max_by_key(|(_, value)| size(value));
        let Some((_, value)) = largest else { return };
        let text = value.to_string();
        *value = digest_only(&text, key);
    }
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
            let mut entry = facts([
                ("calls", calls.collect()),
                ("text", text(&answer.text)),
                ("tokens", json!(answer.tokens)),
                ("corrected", json!(answer.correction.is_some())),
            ]);
            entry.extend(answer.cut.iter().map(|cut| ("cut".to_owned(), json(cut))));
            ("model.answered", entry)
        }
        Event::ModelFailed { error } => ("model.failed", facts([("error", text(error))])),
        Event::Interrupted { by } => ("turn.interrupted", facts([("by", json(by))])),
        Event::Failed { call, error } => {
            ("call.errored", facts([("call", json(call)), ("error", text(error))]))
        }
        Event::Refused { call, reason } => {
            ("call.canceled", facts([("call", json(call)), ("reason", refusal(reason, key))]))
        }
        Event::Asked { call, approval, .. } => ("approval.requested", asked(call, approval)),
        Event::Consented { call, by, standing } => (
            "approval.consented",
            facts([("call", json(call)), ("by", json(by)), ("standing", json(standing))]),
        ),
        Event::Edited { call, by, arguments } => (
            "approval.edited",
            facts([("call", json(call)), ("by", json(by)), ("arguments", text(arguments))]),
        ),
        Event::GrantRevoked { grant, by } => {
            ("grant.revoked", facts([("grant", json!(grant)), ("by", json(by))]))
        }
        Event::Settled { call, answer } => {
            ("approval.decided", facts([("call", json(call)), ("answer", settlement(answer, key))]))
        }
        Event::Started { .. } => ("call.intent", intent(event)),
        Event::BackgroundEnded { call, cause, told: _ } => {
            ("background.ended", facts([("call", json(call)), ("cause", json(cause))]))
        }
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
        Event::Raised { label, source, call, written: _ } => {
            ("label.raised", raised(*label, source, call.as_ref(), key))
        }
        Event::Reviewing { digest } => {
            ("changeset.made", facts([("digest", json(&key.digest(digest.as_str().as_bytes())))]))
        }
        Event::Undoing { to, by } => ("undo.begun", facts([("to", json(to)), ("by", json(by))])),
        Event::Undone { to } => ("undo.done", facts([("to", json(to))])),
        Event::Closed { outcome, reason } => {
            ("session.closed", facts([("outcome", json(outcome)), ("reason", json!(reason))]))
        }
    }
}

/// A call that is about to run.
fn intent(event: &Event) -> Map<String, Value> {
    let Event::Started { call, decided_by, rule, command, background } = event else { return Map::new() };
    let mut entry = facts([
        ("call", json(call)),
        ("decided_by", json(decided_by)),
        ("rule", json(rule)),
        ("command", json!(command)),
    ]);
    entry.extend(background.iter().map(|name| ("background".to_owned(), json!(name))));
    entry
}

/// What the session learns, and from what.
fn raised(label: Label, source: &str, call: Option<&CallId>, key: &CommitKey) -> Map<String, Value> {
    let mut entry = facts([("label", json(&label)), ("source", short(source, key))]);
    entry.extend(call.map(|call| ("call".to_owned(), json(call))));
    entry
}

/// A question, without the card that showed it.
fn asked(call: &CallId, approval: &Approval) -> Map<String, Value> {
    facts([
        ("call", json(call)),
        ("approval", json!(approval.id)),
        ("digest", json(&approval.digest)),
        ("expires_us", json!(approval.expires_us)),
        ("needs", json(&approval.needs)),
        ("requesters", json(&approval.requesters)),
    ])
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

#[cfg(test)]
mod tests {
    use enclos_core::ids::{RuleId, SessionId};
    use enclos_core::verdict::Verdict;
    use enclos_store::{NoRedaction, SessionMeta, Store};

    use super::*;

    fn with_key(test: impl FnOnce(&CommitKey)) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("state"), std::sync::Arc::new(NoRedaction)).unwrap();
        let meta = SessionMeta {
            task: String::new(),
            repo: "/r".into(),
            surface: "terminal".into(),
            state: "opening".into(),
            created_us: 0,
            extra: Map::new(),
        };
        let lease = store.create(&SessionId::new("sess_1"), meta).unwrap();
        test(lease.commit_key());
    }

    fn piece(argv: &[&str]) -> Piece {
        Piece {
            span: 0..1,
            text: String::new(),
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            verdict: Verdict::Ask,
            rule: RuleId::new("r"),
            reason: String::new(),
        }
    }

    #[test]
    fn a_script_a_message_and_a_long_word_are_kept_as_size_and_digest() {
        with_key(|key| {
            let long = "x".repeat(129);
            let kept =
                pieces(&[piece(&["git", "commit", "-m", "the words", "src/a.rs", &long])], key).to_string();
            assert!(kept.contains("src/a.rs") && kept.contains("commit"));
            assert!(!kept.contains("the words") && !kept.contains(&long));
        });
    }

    #[test]
    fn a_huge_command_does_not_make_a_huge_entry() {
        with_key(|key| {
            let words = vec!["w".repeat(128); 100];
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let many = vec![piece(&words); 100];
            let mut entry = facts([("call", json!("call_1")), ("pieces", pieces(&many, key))]);
            assert!(json(&entry).to_string().len() > 100_000);
            bound(&mut entry, key);
            assert!(json(&entry).to_string().len() < LARGEST_ENTRY);
            assert_eq!(entry["call"], "call_1");
        });
    }
}
