//! The life of a session, event by event.

use proptest::prelude::*;

use super::approval::State;
use super::*;
use crate::budget::Limits;
use crate::decision::DecidedBy;
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
    Event::Answered(Answer { text: "text".into(), calls, tokens: 10, correction: None, cut: None })
}

fn started(call: &str) -> Event {
    started_as(call, None)
}

fn started_as(call: &str, background: Option<&str>) -> Event {
    Event::Started {
        call: id(call),
        decided_by: ada(),
        rule: RuleId::new("r"),
        command: false,
        background: background.map(str::to_owned),
    }
}

fn finished(call: &str) -> Event {
    Event::Finished { call: id(call), output: format!("output of {call}") }
}

fn asked(call: &str) -> Event {
    Event::Asked {
        call: id(call),
        approval: Box::new(approval(call, Needs::default())),
        card: serde_json::Value::Null,
    }
}

fn asked_of(call: &str, needs: Needs) -> Event {
    Event::Asked { call: id(call), approval: Box::new(approval(call, needs)), card: serde_json::Value::Null }
}

fn bound() -> Bound {
    let digest = |text: &str| Digest::new(text);
    Bound { tool: "bash".into(), rule: RuleId::new("r"), policy: digest("p"), definition: digest("d") }
}

fn approval(call: &str, needs: Needs) -> Approval {
    let digest = Digest::new(format!("digest of {call}"));
    Approval {
        id: format!("ap_{call}"),
        action: digest.clone(),
        digest,
        expires_us: 99,
        needs,
        requesters: vec![UserId::new("ada")],
        grantable: Some(bound()),
        patterns: vec![Pattern::Command { argv: vec!["make".into()] }],
    }
}

fn yes(remember: Remember) -> Settlement {
    Settlement::Approved { by: ada(), remember }
}

fn consent(call: &str, by: &str) -> Event {
    let owner = Some(crate::policy::Role::Owner);
    let standing = Standing { at_opening: owner, now: owner };
    Event::Consented { call: id(call), by: UserId::new(by), standing }
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
    let yes = yes(Remember::Exact);
    session.fold(1, &settled("a", yes.clone())).unwrap();
    assert_eq!(session.next(1), Next::Judge(vec![id("a")]));
    assert_eq!(session.question(&id("a")).and_then(|(_, by)| by), Some(&ada()));
    assert!(session.fold(1, &settled("a", yes)).is_err(), "an answer counts once");
    let no = Settlement::Denied { by: ada(), word: None };
    assert!(session.fold(1, &settled("a", no)).is_err(), "the first answer counts");
    assert_eq!(session.approval("ap_a"), Some((State::Approved, Some(&ada()))));
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
    assert_eq!(session.refuser(&Digest::new("digest of a")), Some(&ada()));
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

#[test]
fn an_expiry_is_no_refusal_and_the_loop_goes_on() {
    let late = settled("a", Settlement::Expired);
    let session = after(&[said("x"), answer(&[("a", "bash")]), asked("a"), late]);
    assert_eq!(session.next(1), Next::AskModel);
    assert!(session.has_expired() && !session.was_refused());
    assert_eq!(session.refuser(&Digest::new("digest of a")), None, "it may be asked again");
    assert_eq!(session.approval("ap_a"), Some((State::Expired, None)));
}

#[test]
fn what_ends_or_interrupts_the_session_withdraws_its_questions() {
    let by = ada();
    let ends = [
        Event::Interrupted { by },
        Event::Closed { outcome: Outcome::Stopped, reason: "by ada".into() },
        Event::Failed { call: id("a"), error: "e".into() },
    ];
    for end in ends {
        let session = after(&[said("x"), answer(&[("a", "bash")]), asked("a"), end]);
        assert_eq!(session.approval("ap_a"), Some((State::Withdrawn, None)));
        assert_eq!(session.pending().count(), 0);
    }
}

#[test]
fn a_quorum_is_distinct_persons_and_no_single_yes() {
    let needs = Needs { quorum: 2, separate: true, ..Needs::default() };
    let mut session = after(&[said("x"), answer(&[("a", "bash")]), asked_of("a", needs)]);
    assert!(session.fold(1, &settled("a", yes(Remember::Nothing))).is_err(), "one yes is not enough");
    assert_eq!(
        session.fold(1, &consent("a", "ada")),
        Err(Impossible::Uncounted(Uncounted::Requester)),
        "the requester does not count"
    );
    session.fold(1, &consent("a", "bob")).unwrap();
    assert_eq!(session.fold(1, &consent("a", "bob")), Err(Impossible::Uncounted(Uncounted::Twice)));
    assert_eq!(session.next(1), Next::Wait);
    assert_eq!(session.consents(&id("a")), [UserId::new("bob")]);
    session.fold(1, &consent("a", "cyd")).unwrap();
    assert_eq!(session.next(1), Next::Judge(vec![id("a")]));
    assert!(session.grants().is_empty());
}

#[test]
fn an_edit_voids_the_answers_and_makes_its_author_a_requester() {
    let edit = Event::Edited { call: id("a"), by: UserId::new("bob"), arguments: "{\"x\":1}".into() };
    let needs = Needs { quorum: 2, separate: true, ..Needs::default() };
    let events = [said("x"), answer(&[("a", "bash")]), asked_of("a", needs), consent("a", "cyd"), edit];
    let mut session = after(&events);
    assert_eq!(session.approval("ap_a"), Some((State::Superseded, None)));
    assert_eq!(session.next(1), Next::Judge(vec![id("a")]), "it is judged afresh");
    assert_eq!(session.calls()[0].arguments(), "{\"x\":1}");
    assert_eq!(session.editors(&id("a")).collect::<Vec<_>>(), [&UserId::new("bob")]);
    assert!(session.consents(&id("a")).is_empty());
    for event in [started("a"), finished("a")] {
        session.fold(1, &event).unwrap();
    }
    let told = session.history().messages().iter().any(|message| {
        matches!(message.as_ref(), Message::Result { text, .. } if text.contains("person changed") && text.contains("{\"x\":1}"))
    });
    assert!(told, "the model is told what ran");
}

#[test]
fn a_grant_is_what_the_card_offered_and_ends_when_it_is_revoked() {
    let asked = [said("x"), answer(&[("a", "bash")]), asked("a")];
    let mut session = after(&asked);
    assert!(session.fold(1, &settled("a", yes(Remember::Pattern(1)))).is_err(), "it was not offered");
    session.fold(1, &settled("a", yes(Remember::Pattern(0)))).unwrap();
    let action = Digest::new("another");
    let argv = vec!["make".to_owned(), "all".to_owned()];
    let piece = crate::command::Piece {
        span: 0..8,
        text: "make all".into(),
        argv,
        verdict: crate::verdict::Verdict::Ask,
        rule: RuleId::new("r"),
        reason: String::new(),
    };
    let bound = bound();
    let asking = Asking { bound: &bound, action: &action, pieces: std::slice::from_ref(&piece), file: None };
    assert_eq!(session.granted(&asking).map(|grant| grant.id.as_str()), Some("gr_a"));
    let revoked = Event::GrantRevoked { grant: "gr_a".into(), by: UserId::new("ada") };
    session.fold(1, &revoked).unwrap();
    assert_eq!(session.granted(&asking), None);
    assert!(session.fold(1, &revoked).is_err(), "once");
    session.fold(1, &Event::Closed { outcome: Outcome::Stopped, reason: String::new() }).unwrap();
    assert!(session.grants().is_empty(), "they die with the session");
}

#[test]
fn a_program_grants_nothing_and_meets_no_rule_that_wants_a_person() {
    let program = DecidedBy::Automation(RuleId::new("cli.approve"));
    let answer_of = |remember| Settlement::Approved { by: program.clone(), remember };
    let mut session = after(&[said("x"), answer(&[("a", "bash")]), asked("a")]);
    assert!(session.fold(1, &settled("a", answer_of(Remember::Exact))).is_err());
    session.fold(1, &settled("a", answer_of(Remember::Nothing))).unwrap();
    let needs = Needs { person: true, ..Needs::default() };
    let mut session = after(&[said("x"), answer(&[("a", "bash")]), asked_of("a", needs)]);
    assert_eq!(
        session.fold(1, &settled("a", answer_of(Remember::Nothing))),
        Err(Impossible::Uncounted(Uncounted::Program))
    );
    assert!(session.fold(1, &settled("a", yes(Remember::Exact))).is_err(), "no grant answers such a rule");
    session.fold(1, &settled("a", yes(Remember::Nothing))).unwrap();
}

/// Any event, possible or not.
fn undoing(call: &str) -> Event {
    Event::Undoing { to: id(call), by: ada() }
}

fn undone(call: &str) -> Event {
    Event::Undone { to: id(call) }
}

/// Two turns, each of a read, a write and a command.
fn two_turns() -> Vec<Event> {
    let mut events = Vec::new();
    for (turn, calls) in [("one", ["a1", "a2", "a3"]), ("two", ["b1", "b2", "b3"])] {
        let [read, write, command] = calls;
        events.push(said(turn));
        events.push(answer(&[(read, "read"), (write, "write"), (command, "bash")]));
        events.extend(calls.iter().flat_map(|call| [started(call), finished(call)]));
        events.push(answer(&[]));
    }
    events
}

#[test]
fn an_undo_leads_before_the_first_change_of_the_last_turn_and_then_of_the_one_before() {
    let mut session = after(&two_turns());
    let target = |session: &Session| session.last_turn().map(|ran| ran.call.clone());
    assert_eq!(target(&session), Ok(id("b2")), "a read changes nothing");
    for (to, next) in [("b2", Ok(id("a2"))), ("a2", Err(NothingToUndo::AtAll))] {
        session.fold(1, &undoing(to)).unwrap();
        session.fold(1, &undone(to)).unwrap();
        assert_eq!(target(&session), next);
    }
    session.fold(1, &undoing("b3")).unwrap();
    session.fold(1, &undone("b3")).unwrap();
    assert_eq!(target(&session), Ok(id("b2")), "what was undone can be had again up to a later call");
    session.fold(1, &said("three")).unwrap();
    let named = Err(NothingToUndo::InLastTurn(id("b2")));
    assert_eq!(target(&session), named, "a turn without changes is not skipped unasked");
    assert_eq!(session.nearest_ran("bal_b3"), None);
    assert_eq!(session.nearest_ran("b33"), Some("b3"));
}

#[test]
fn an_undo_gives_back_files_alone_and_voids_what_was_shown() {
    let mut session = after(&two_turns());
    session.fold(1, &Event::Reviewing { digest: Digest::new("d") }).unwrap();
    let (budget, messages) = (*session.budget(), session.history().messages().to_vec());
    session.fold(1, &undoing("b2")).unwrap();
    session.fold(1, &undone("b2")).unwrap();
    assert_eq!(session.review(), None);
    assert_eq!(session.phase(), Phase::WaitingInput);
    assert_eq!(session.next(1), Next::EndOfTurn(End::Undone));
    assert_eq!(*session.budget(), budget);
    let now = session.history().messages();
    assert_eq!(now[..messages.len()], messages);
    let [note] = &now[messages.len()..] else { panic!("one note: {now:?}") };
    let Message::User { text } = note.as_ref() else { panic!("{note:?}") };
    assert!(text.contains("from write (b2) to bash (b3)"), "{text}");
    session.fold(1, &said("otherwise")).unwrap();
    assert_eq!(session.next(1), Next::AskModel);
}

#[test]
fn nothing_happens_between_the_two_ends_of_an_undo_and_open_calls_are_interrupted() {
    let mut events = two_turns();
    let open = [said("three"), answer(&[("c1", "bash"), ("c2", "bash")]), started("c1"), finished("c1")];
    events.extend(open);
    events.push(asked("c2"));
    let mut session = after(&events);
    session.fold(1, &undoing("c1")).unwrap();
    assert!(session.calls().is_empty() && session.pending().next().is_none());
    assert_eq!(session.undoing(), Some(&id("c1")));
    for event in [said("x"), answer(&[]), Event::Restored, Event::Reviewing { digest: Digest::new("d") }] {
        assert!(matches!(session.fold(1, &event), Err(Impossible::Misplaced(_))), "{event:?}");
    }
    assert!(session.fold(1, &undone("b2")).is_err(), "another end");
    session.fold(1, &undoing("b2")).unwrap();
    session.fold(1, &undone("b2")).unwrap();
    assert_eq!(session.undoing(), None);
    assert!(session.fold(1, &undone("b2")).is_err(), "it is over");
    for call in ["b1", "c2", "zz"] {
        assert_eq!(session.fold(1, &undoing(call)), Err(Impossible::NoCall(id(call))), "it changed nothing");
    }
}

fn ended(call: &str, cause: Cause) -> Event {
    Event::BackgroundEnded { call: id(call), cause, told: "exit code 1".into() }
}

fn texts(session: &Session) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { text } | Message::Assistant { text, .. } | Message::Result { text, .. } => {
            text.clone()
        }
    };
    session.history().messages().iter().map(|message| text(message)).collect()
}

#[test]
fn a_background_command_is_known_from_its_intent_to_its_end() {
    let mut session =
        after(&[said("x"), answer(&[("a", "bash"), ("b", "bash")]), started_as("a", Some("web"))]);
    assert_eq!(session.background(), [Running { call: id("a"), name: "web".into() }]);
    session.fold(1, &finished("a")).unwrap();
    session.fold(1, &started_as("b", Some("web"))).unwrap();
    session.fold(1, &Event::Failed { call: id("b"), error: "the name is taken".into() }).unwrap();
    assert_eq!(session.background().len(), 1, "what did not start is not at work");
    session.fold(1, &ended("a", Cause::Itself)).unwrap();
    assert!(session.background().is_empty());
    assert_eq!(session.fold(1, &ended("a", Cause::Itself)), Err(Impossible::NoBackground(id("a"))), "once");
}

#[test]
fn the_model_is_told_of_an_end_behind_the_results_of_its_calls() {
    let mut session =
        after(&[said("x"), answer(&[("a", "bash")]), started_as("a", Some("web")), finished("a")]);
    session.fold(1, &answer(&[("b", "read")])).unwrap();
    session.fold(1, &ended("a", Cause::Itself)).unwrap();
    assert!(!texts(&session).iter().any(|text| text.contains("`web`")), "not between calls and results");
    session.fold(1, &started("b")).unwrap();
    session.fold(1, &finished("b")).unwrap();
    let told = texts(&session).pop().unwrap();
    assert_eq!(told, "[Enclos] The background command `web` (a) ended: exit code 1.");
}

#[test]
fn the_model_is_told_before_the_next_message_what_the_review_ended_and_not_what_it_stopped_itself() {
    let start = [
        said("x"),
        answer(&[("a", "bash"), ("b", "bash")]),
        started_as("a", Some("web")),
        finished("a"),
        started_as("b", Some("watch")),
        finished("b"),
        answer(&[]),
    ];
    let mut session = after(&start);
    session.fold(1, &ended("a", Cause::Call(id("c")))).unwrap();
    session.fold(1, &ended("b", Cause::Review)).unwrap();
    session.fold(1, &said("go on")).unwrap();
    let texts = texts(&session);
    assert!(
        texts[texts.len() - 2].contains("`watch` (b) was ended before the change set was made"),
        "{texts:?}"
    );
    assert_eq!(texts[texts.len() - 1], "go on");
    assert!(!texts.iter().any(|text| text.contains("`web`")), "{texts:?}");
}

#[test]
fn a_restored_session_has_no_background_command_and_the_model_is_told_which_are_gone() {
    for open in [false, true] {
        let mut events =
            vec![said("x"), answer(&[("a", "bash")]), started_as("a", Some("web")), finished("a")];
        if open {
            events.extend([answer(&[("b", "bash")]), started("b")]);
        }
        let mut session = after(&events);
        session.fold(2, &Event::Restored).unwrap();
        assert!(session.background().is_empty());
        let told = texts(&session).pop().unwrap();
        assert!(told.contains("taken up again") && told.contains("`web`"), "{told}");
        session.fold(2, &Event::Restored).unwrap();
        assert!(!texts(&session).pop().unwrap().contains("`web`"), "told once");
    }
}

#[test]
fn a_look_at_a_background_command_changes_no_file_and_goes_in_order() {
    let calls = answer(&[("a", "read"), ("b", "background"), ("c", "read")]);
    let mut session = after(&[said("x"), calls, started("a"), finished("a")]);
    assert_eq!(session.next(1), Next::Judge(vec![id("b")]));
    session.fold(1, &started("b")).unwrap();
    assert_eq!(session.ran().count(), 0);
}

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
        call.clone().prop_map(|c| started_as(&c, Some("web"))),
        call.clone().prop_map(|c| ended(&c, Cause::Call(id("c9")))),
        call.clone().prop_map(|c| ended(&c, Cause::Session)),
        call.clone().prop_map(|c| finished(&c)),
        call.clone().prop_map(|c| asked(&c)),
        call.clone().prop_map(|c| settled(&c, yes(Remember::Pattern(0)))),
        call.clone().prop_map(|c| settled(&c, Settlement::Superseded)),
        call.clone().prop_map(|c| settled(&c, Settlement::Expired)),
        call.clone().prop_map(|c| consent(&c, "bob")),
        call.clone().prop_map(|c| asked_of(&c, Needs { quorum: 2, separate: true, ..Needs::default() })),
        call.clone().prop_map(|c| Event::Edited {
            call: id(&c),
            by: UserId::new("ada"),
            arguments: "{\"x\":1}".into()
        }),
        call.clone().prop_map(|c| Event::GrantRevoked { grant: format!("gr_{c}"), by: UserId::new("ada") }),
        call.clone().prop_map(|c| settled(&c, Settlement::Denied { by: ada(), word: None })),
        call.clone().prop_map(|c| undoing(&c)),
        call.clone().prop_map(|c| undone(&c)),
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

#[test]
fn nothing_starts_from_an_answer_that_is_not_whole() {
    for cut in [Cut::Length, Cut::Filter, Cut::Other("error".into())] {
        let mut session = Session::open(settings(), 0);
        let Event::Answered(whole) = answer(&[("c1", "bash")]) else { panic!("an answer") };
        session.fold(1, &said("do it")).unwrap();
        session.fold(1, &Event::Answered(Answer { cut: Some(cut.clone()), ..whole })).unwrap();
        assert_eq!(session.cut(), Some(&cut));
        assert!(session.fold(1, &started("c1")).is_err());
        session.fold(1, &Event::Failed { call: id("c1"), error: cut.told() }).unwrap();
        session.fold(1, &answer(&[("c2", "bash")])).unwrap();
        assert_eq!(session.cut(), None);
        session.fold(1, &started("c2")).unwrap();
    }
}
