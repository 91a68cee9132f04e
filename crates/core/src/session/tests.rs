//! The life of a session, event by event.

use proptest::prelude::*;

use super::*;
use crate::budget::Limits;
use crate::ids::{RuleId, UserId};
use crate::model::Message;

fn ada() -> DecidedBy {
    DecidedBy::Human(UserId::new("ada"))
}

fn settings() -> Settings {
    Settings { limits: Limits::DEFAULT, continue_after_rejection: false, afresh_at_message: false }
}

fn said(text: &str) -> Event {
    Event::Said { text: text.into(), by: ada() }
}

fn id(name: &str) -> CallId {
    CallId::new(name)
}

fn answer(calls: &[(&str, &str)]) -> Event {
    let proposal = |(call, tool): &(&str, &str)| Proposal {
        call: id(call),
        server_id: None,
        tool: (*tool).into(),
        arguments: "{}".into(),
    };
    let calls = calls.iter().map(proposal).collect();
    Event::Answered(Answer { text: "text".into(), calls, tokens: 10, correction: None })
}

fn started(call: &str) -> Event {
    Event::Started { call: id(call), decided_by: ada(), rule: RuleId::new("r"), command: false }
}

fn finished(call: &str) -> Event {
    Event::Finished { call: id(call), output: format!("output of {call}") }
}

fn asked(call: &str) -> Event {
    let digest = Digest::new(format!("digest of {call}"));
    let approval = Approval { id: format!("ap_{call}"), action: digest.clone(), digest, expires_us: 99 };
    Event::Asked { call: id(call), approval }
}

fn settled(call: &str, answer: Settlement) -> Event {
    Event::Settled { call: id(call), answer }
}

fn after(events: &[Event]) -> Session {
    let mut session = Session::open(settings(), 0);
    for event in events {
        session.fold(1, event).unwrap();
    }
    session
}

#[test]
fn a_turn_calls_the_model_runs_its_calls_and_calls_it_again() {
    let mut session = after(&[said("mend it")]);
    assert_eq!(session.next(1), Next::AskModel);
    session.fold(1, &answer(&[("call_1", "bash")])).unwrap();
    assert_eq!(session.next(1), Next::Judge(vec![id("call_1")]));
    session.fold(1, &started("call_1")).unwrap();
    assert_eq!(session.next(1), Next::Wait);
    session.fold(1, &finished("call_1")).unwrap();
    assert_eq!(session.next(1), Next::AskModel);
    session.fold(1, &answer(&[])).unwrap();
    assert_eq!(session.next(1), Next::EndOfTurn(End::Answered));
    assert_eq!(session.phase(), Phase::WaitingInput);
    assert_eq!(session.budget().used(1).actions, 1);
    assert_eq!(session.model_calls(), 2);
}

#[test]
fn reads_go_together_and_everything_else_in_order() {
    let turn = answer(&[("a", "read"), ("b", "grep"), ("c", "write"), ("d", "read"), ("e", "bash")]);
    let mut session = after(&[said("x"), turn]);
    assert_eq!(session.next(1), Next::Judge(vec![id("a"), id("b")]));
    session.fold(1, &started("a")).unwrap();
    assert_eq!(session.next(1), Next::Judge(vec![id("b")]));
    for event in [started("b"), finished("b")] {
        session.fold(1, &event).unwrap();
    }
    assert_eq!(session.next(1), Next::Wait, "the write waits for the first read");
    session.fold(1, &finished("a")).unwrap();
    assert_eq!(session.next(1), Next::Judge(vec![id("c")]));
    for event in [started("c"), finished("c")] {
        session.fold(1, &event).unwrap();
    }
    assert_eq!(session.next(1), Next::Judge(vec![id("d")]));
}

#[test]
fn a_question_waits_in_generated_and_an_approval_makes_the_call_due_again() {
    let mut session = after(&[said("x"), answer(&[("a", "bash")]), asked("a")]);
    assert_eq!(session.next(1), Next::Wait);
    assert_eq!(session.phase(), Phase::WaitingApproval);
    let yes = Settlement::Approved { by: ada(), for_session: true };
    session.fold(1, &settled("a", yes.clone())).unwrap();
    assert_eq!(session.next(1), Next::Judge(vec![id("a")]));
    assert_eq!(session.question(&id("a")).and_then(|(_, by)| by), Some(&ada()));
    let granted = Remembered::Granted(UserId::new("ada"));
    assert_eq!(session.remembered(&Digest::new("digest of a")), Some(&granted));
    assert!(session.fold(1, &settled("a", yes)).is_err(), "an answer counts once");
}

#[test]
fn after_a_refusal_the_siblings_run_and_only_the_model_is_withheld() {
    let no = Settlement::Denied { by: ada(), word: None };
    let mut session =
        after(&[said("x"), answer(&[("a", "bash"), ("b", "read")]), asked("a"), settled("a", no)]);
    assert_eq!(session.next(1), Next::Judge(vec![id("b")]));
    for event in [started("b"), finished("b")] {
        session.fold(1, &event).unwrap();
    }
    assert_eq!(session.next(1), Next::EndOfTurn(End::Refused));
    let told = session.history().messages().iter().any(
        |message| matches!(message.as_ref(), Message::Result { text, .. } if text.contains("person refused")),
    );
    assert!(told);
    assert!(session.was_refused());
    let refused = Remembered::Refused(UserId::new("ada"));
    assert_eq!(session.remembered(&Digest::new("digest of a")), Some(&refused));
}

#[test]
fn a_word_with_a_refusal_and_a_refusal_by_policy_go_on_at_once() {
    let word = Settlement::Denied { by: ada(), word: Some("use make".into()) };
    let session = after(&[said("x"), answer(&[("a", "bash")]), asked("a"), settled("a", word)]);
    assert_eq!(session.next(1), Next::AskModel);
    let policy = Canceled::Policy { rule: RuleId::new("r") };
    let refused = Event::Refused { call: id("a"), reason: policy };
    let session = after(&[said("x"), answer(&[("a", "bash")]), refused]);
    assert_eq!(session.next(1), Next::AskModel);
}

#[test]
fn an_interruption_cancels_what_waits_and_ends_what_runs() {
    let turn = answer(&[("a", "read"), ("b", "read"), ("c", "bash")]);
    let by = ada();
    let mut session = after(&[said("x"), turn, started("a"), Event::Interrupted { by }]);
    assert_eq!(session.next(1), Next::EndOfTurn(End::Interrupted));
    assert!(session.fold(1, &finished("a")).is_err(), "a late result counts no more");
    let results = session.history().messages().iter();
    let told: Vec<&str> = results
        .filter_map(|message| match message.as_ref() {
            Message::Result { text, .. } => Some(text.as_str()),
            Message::User { .. } | Message::Assistant { .. } => None,
        })
        .collect();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0], "Error: interrupted");
    assert!(!session.was_refused());
}

#[test]
fn a_restart_interrupts_what_ran_keeps_questions_and_restores_no_budget() {
    let turn = answer(&[("a", "read"), ("b", "bash")]);
    let session = after(&[said("x"), turn.clone(), started("a"), Event::Restored]);
    assert_eq!(session.calls()[0].state().name(), "errored");
    assert_eq!(session.next(1), Next::Judge(vec![id("b")]));
    assert!(session.budget().left(1).is_err());
    let mut session = after(&[said("x"), answer(&[("b", "bash")]), asked("b"), Event::Restored]);
    assert_eq!(session.phase(), Phase::WaitingApproval);
    session.fold(2, &Event::ExtensionGranted { by: ada() }).unwrap();
    assert_eq!(session.budget().granted().actions, 50);
}

#[test]
fn a_spent_budget_asks_for_an_extension_and_a_refusal_of_it_ends_the_turn() {
    let limits = Limits { actions: 1, ..Limits::DEFAULT };
    let mut session = Session::open(Settings { limits, ..settings() }, 0);
    for event in [said("x"), answer(&[("a", "read"), ("b", "read")]), started("a"), finished("a")] {
        session.fold(1, &event).unwrap();
    }
    assert_eq!(session.fold(1, &started("b")), Err(Impossible::Spent(Exhausted::Actions)));
    session.fold(1, &Event::Failed { call: id("b"), error: "budget".into() }).unwrap();
    assert_eq!(session.next(1), Next::AskExtension(Exhausted::Actions));
    session.fold(1, &Event::ExtensionAsked { spent: Exhausted::Actions }).unwrap();
    assert_eq!(session.phase(), Phase::WaitingExtension);
    session.fold(1, &Event::ExtensionRefused { by: ada() }).unwrap();
    assert_eq!(session.next(1), Next::EndOfTurn(End::Budget));
}

#[test]
fn a_compaction_keeps_the_task_and_the_last_four_turns_whole() {
    let mut session = after(&[said("the task")]);
    for n in 0..9 {
        let call = format!("c{n}");
        for event in [answer(&[(&call, "read")]), started(&call), finished(&call)] {
            session.fold(1, &event).unwrap();
        }
    }
    let from = session.history().compaction_point().unwrap();
    let compacted = Event::Compacted { summary: "so far".into(), from, charged: true, tokens: 5 };
    session.fold(1, &compacted).unwrap();
    let messages = session.history().messages();
    assert_eq!(messages.len(), 2 + 4 * 2);
    assert_eq!(*messages[0], Message::User { text: "the task".into() });
    assert_eq!(*messages[1], Message::User { text: "so far".into() });
    assert!(matches!(messages[2].as_ref(), Message::Assistant { .. }));
    assert_eq!(session.next(1), Next::AskModel);
}

#[test]
fn a_closed_session_takes_nothing() {
    let closed = Event::Closed { outcome: Outcome::Stopped, reason: "by ada".into() };
    let mut session = after(&[said("x"), closed]);
    assert_eq!(session.next(1), Next::Nothing);
    assert_eq!(session.fold(1, &said("y")), Err(Impossible::Closed));
}

/// Any event, possible or not.
fn any_event() -> impl Strategy<Value = Event> {
    let call = (0_u8..4).prop_map(|n| format!("c{n}"));
    prop_oneof![
        Just(said("go on")),
        proptest::collection::vec((0_u8..4, any::<bool>()), 0..4).prop_map(|calls| {
            let names: Vec<_> = calls.iter().map(|(n, _)| format!("c{n}")).collect();
            let tools = calls.iter().map(|(_, read)| if *read { "read" } else { "bash" });
            answer(&names.iter().map(String::as_str).zip(tools).collect::<Vec<_>>())
        }),
        call.clone().prop_map(|c| started(&c)),
        call.clone().prop_map(|c| finished(&c)),
        call.clone().prop_map(|c| asked(&c)),
        call.clone().prop_map(|c| settled(&c, Settlement::Approved { by: ada(), for_session: false })),
        call.clone().prop_map(|c| settled(&c, Settlement::Denied { by: ada(), word: None })),
        call.prop_map(|c| Event::Failed { call: id(&c), error: "e".into() }),
        Just(Event::Restored),
        Just(Event::Interrupted { by: ada() }),
        Just(Event::ExtensionGranted { by: ada() }),
    ]
}

proptest! {
    #[test]
    fn a_replay_gives_the_same_session_and_a_refused_event_changes_nothing(
        events in proptest::collection::vec(any_event(), 0..60),
    ) {
        let mut session = Session::open(settings(), 0);
        let mut kept = vec![(0_i64, Event::Opened(settings()))];
        for event in events {
            let before = session.clone();
            if session.fold(1, &event).is_ok() {
                kept.push((1, event));
            } else {
                prop_assert_eq!(&session, &before);
            }
        }
        let replayed = Session::replay(kept.iter().map(|(time, event)| (*time, event))).unwrap();
        prop_assert_eq!(replayed, session);
    }

    #[test]
    fn an_event_keeps_its_meaning_at_rest(event in any_event()) {
        let text = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
