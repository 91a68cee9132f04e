//! The events of the stream, for the reference page: name, meaning and own fields of each.
//!
//! A test holds this list against the types, so that neither can change without the other.

/// An event of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventInfo {
    /// Its `type`.
    pub name: &'static str,
    /// What it tells.
    pub purpose: &'static str,
    /// Its fields besides those that all events or all events of a call have; those in brackets may be absent.
    pub fields: &'static str,
}

const fn event(name: &'static str, purpose: &'static str, fields: &'static str) -> EventInfo {
    EventInfo { name, purpose, fields }
}

/// All events, in the order of the reference page.
pub const EVENTS: &[EventInfo] = &[
    event(
        "session.opened",
        "The policy is loaded and the sandbox is open",
        "repo model policy policy_digest surface tools place isolation toolchains notes budget open_ms",
    ),
    event("session.state", "The session is in another state", "state"),
    event("message.delta", "A fragment of the model's text", "text"),
    event("message", "A complete message", "role text"),
    event("notice", "A remark of Enclos itself", "text"),
    event("call.generating", "The first fragment of a call arrived; nothing runs from here", ""),
    event("call.generated", "The call is complete: a proposal", "arguments"),
    event(
        "call.decided",
        "The call leaves `generated` with its final verdict and its author",
        "verdict decided_by rule [reason] [pieces] [shadow]",
    ),
    event("approval.requested", "A person is asked", "approval card"),
    event("approval.decided", "The question is over", "approval state [decided_by]"),
    event("call.calling", "The intent is in the journal and the call runs", ""),
    event("label.raised", "The session knows more from here, and nothing lowers that", "from to source"),
    event("call.output", "Output of a running command", "text stderr [left_out]"),
    event("background.started", "A command goes on in the background", "name"),
    event("background.ended", "A command in the background is over", "name reason result"),
    event("call.done", "The tool answered", "result"),
    event("call.errored", "The call failed; the loop goes on", "error [result]"),
    event("call.canceled", "The call was refused or interrupted before it ran", "reason"),
    event("extension.requested", "The budget is spent and a person is asked", "spent grants left"),
    event("extension.decided", "The question of an extension is over", "granted decided_by"),
    event("budget", "What was used and what is granted", "used granted extensions_left"),
    event("compaction", "The history was summarised", "messages tokens_before tokens_after"),
    event("changeset", "What the session made", "files insertions deletions flagged digest"),
    event(
        "run.finished",
        "The run is over; the last line of a headless stream",
        "exit_code session_state [next_step] [error]",
    ),
    event("session.closed", "The session is over for good", "outcome reason"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use enclos_core::decision::DecidedBy;
    use enclos_core::ids::{CallId, RuleId, SessionId, UserId};
    use enclos_core::label::{Label, Level};
    use enclos_core::verdict::Verdict;

    use super::EVENTS;
    use crate::card::{Action, Card, Raises};
    use crate::event::{
        Amounts, ApprovalState, Body, BudgetView, Event, Of, Opened, Outcome, ResultFacts, SessionState,
        Speaker,
    };

    /// The body after this one, so that a new variant cannot be forgotten: the match has no wildcard.
    fn next(body: Option<&Body>) -> Option<Body> {
        let of = || Of { call: CallId::new("call_1"), tool: "bash".to_owned() };
        let text = || "x".to_owned();
        let by = || DecidedBy::Human(UserId::new("ada"));
        Some(match body {
            None => Body::Opened(opened()),
            Some(Body::Opened(_)) => Body::MessageDelta { text: text() },
            Some(Body::MessageDelta { .. }) => Body::Message { role: Speaker::User, text: text() },
            Some(Body::Message { .. }) => Body::Notice { text: text() },
            Some(Body::Notice { .. }) => Body::CallGenerating { of: of() },
            Some(Body::CallGenerating { .. }) => {
                Body::CallGenerated { of: of(), arguments: serde_json::Value::Null }
            }
            Some(Body::CallGenerated { .. }) => Body::CallDecided {
                of: of(),
                verdict: Verdict::Ask,
                decided_by: by(),
                rule: RuleId::new("r"),
                reason: text(),
                pieces: vec![piece()],
                shadow: vec![shadow()],
            },
            Some(Body::CallDecided { .. }) => {
                Body::ApprovalRequested { of: of(), approval: text(), card: Box::new(card()) }
            }
            Some(Body::ApprovalRequested { .. }) => Body::ApprovalDecided {
                of: of(),
                approval: text(),
                state: ApprovalState::Expired,
                decided_by: Some(by()),
            },
            Some(Body::ApprovalDecided { .. }) => Body::CallCalling { of: of() },
            Some(Body::CallCalling { .. }) => Body::LabelRaised {
                from: Label::LOWEST,
                to: Label::untrusted(Level::Internal),
                source: text(),
                of: Some(of()),
            },
            Some(Body::LabelRaised { .. }) => {
                Body::CallOutput { of: of(), text: text(), stderr: false, left_out: 1 }
            }
            Some(Body::CallOutput { .. }) => Body::BackgroundStarted { of: of(), name: text() },
            Some(Body::BackgroundStarted { .. }) => Body::BackgroundEnded {
                of: of(),
                name: text(),
                reason: text(),
                result: ResultFacts::default(),
            },
            Some(Body::BackgroundEnded { .. }) => Body::CallDone { of: of(), result: ResultFacts::default() },
            Some(Body::CallDone { .. }) => {
                Body::CallErrored { of: of(), error: text(), result: Some(ResultFacts::default()) }
            }
            Some(Body::CallErrored { .. }) => Body::CallCanceled { of: of(), reason: text() },
            Some(Body::CallCanceled { .. }) => Body::State { state: SessionState::Running },
            Some(Body::State { .. }) => {
                Body::ExtensionRequested { spent: text(), grants: Amounts::default(), left: 5 }
            }
            Some(Body::ExtensionRequested { .. }) => {
                Body::ExtensionDecided { granted: true, decided_by: by() }
            }
            Some(Body::ExtensionDecided { .. }) => Body::Budget(BudgetView::default()),
            Some(Body::Budget(_)) => Body::Compaction { messages: 1, tokens_before: 2, tokens_after: 1 },
            Some(Body::Compaction { .. }) => {
                Body::ChangeSet { files: Vec::new(), insertions: 0, deletions: 0, flagged: 0, digest: text() }
            }
            Some(Body::ChangeSet { .. }) => Body::Finished {
                exit_code: 0,
                session_state: SessionState::Closed,
                next_step: text(),
                error: Some(text()),
            },
            Some(Body::Finished { .. }) => Body::Closed { outcome: Outcome::Accepted, reason: text() },
            Some(Body::Closed { .. }) => return None,
        })
    }

    fn opened() -> Opened {
        Opened {
            repo: String::new(),
            model: String::new(),
            policy: Vec::new(),
            policy_digest: String::new(),
            surface: String::new(),
            tools: Vec::new(),
            place: String::new(),
            isolation: String::new(),
            toolchains: Vec::new(),
            notes: Vec::new(),
            budget: BudgetView::default(),
            open_ms: 1.0,
        }
    }

    fn piece() -> enclos_core::command::Piece {
        let value = serde_json::json!({
            "span": {"start": 0, "end": 2}, "text": "ls", "argv": ["ls"], "verdict": "allow", "rule": "r", "reason": "",
        });
        serde_json::from_value(value).expect("a piece")
    }

    fn shadow() -> enclos_core::policy::Shadow {
        let value = serde_json::json!({"rule": "r", "scope": "project", "verdict": "disabled"});
        serde_json::from_value(value).expect("a shadow")
    }

    fn card() -> Card {
        Card {
            tool: "bash".to_owned(),
            title: String::new(),
            action: Action::Arguments { json: "{}".to_owned() },
            directory: String::new(),
            files: Vec::new(),
            flagged: Vec::new(),
            beside: Vec::new(),
            raises: Some(Raises { from: Label::LOWEST, to: Label::LOWEST, forbids: String::new() }),
            rule: RuleId::new("r"),
            scope: String::new(),
            reason: String::new(),
            may_approve: true,
            may_remember: false,
            patterns: Vec::new(),
            needs: String::new(),
            arguments: String::new(),
            budget: BudgetView::default(),
            expires: String::new(),
            digest: String::new(),
        }
    }

    #[test]
    fn the_list_is_that_of_the_types() {
        let mut body = next(None);
        let mut seen = BTreeSet::new();
        while let Some(current) = body {
            body = next(Some(&current));
            let event =
                Event { seq: 1, time: "t".to_owned(), session: SessionId::new("sess_1"), body: current };
            let value = serde_json::to_value(&event).expect("an event is JSON");
            let object = value.as_object().expect("an event is an object");
            let name = object["type"].as_str().expect("a name");
            let info = EVENTS
                .iter()
                .find(|info| info.name == name)
                .unwrap_or_else(|| panic!("`{name}` is not listed"));
            let mut fields: BTreeSet<&str> =
                info.fields.split_whitespace().map(|field| field.trim_matches(['[', ']'])).collect();
            fields.extend(["seq", "time", "session", "type"]);
            if object.contains_key("call") {
                fields.extend(["call", "tool"]);
            }
            assert_eq!(object.keys().map(String::as_str).collect::<BTreeSet<_>>(), fields, "{name}");
            let back: Event = serde_json::from_value(value.clone()).expect("an event is read again");
            assert_eq!(serde_json::to_value(&back).ok().as_ref(), Some(&value), "{name}");
            seen.insert(info.name);
        }
        assert_eq!(seen.len(), EVENTS.len());
    }
}
