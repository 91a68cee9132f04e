//! What a session knows, in the real binary: raised by what it reads, told, kept, and asked before anything is sent.

use serde_json::Value;

use crate::harness::{Run, World, bash, call, labelled, say, streamed, text, turn};
use crate::terminal::Person;

/// What is in `finance` is CONFIDENTIAL.
fn policy(raise: &str, clearance: &str) -> String {
    labelled("finance/", raise, clearance)
}

fn world() -> World {
    let world = World::new();
    world.write("finance/plan.txt", "buy everything\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "plans"]);
    world
}

fn run(world: &World, raise: &str, clearance: &str, calls: &[Value]) -> Run {
    let file = world.path("labelled.toml");
    std::fs::write(&file, policy(raise, clearance)).unwrap();
    let mut turns: Vec<Value> = calls.iter().map(|call| turn(std::slice::from_ref(call))).collect();
    turns.push(say("done"));
    let model = world.script(&turns);
    world.headless(&streamed(&model, &["--policy", &text(&file), "look"]))
}

fn read(path: &str) -> Value {
    call("read", serde_json::json!({"path": path}))
}

fn raised(run: &Run) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let events = run.events.iter().filter(|event| event["type"] == "label.raised");
    events.map(|event| (word(&event["to"]["level"]), word(&event["source"]))).collect()
}

#[test]
fn an_open_session_knows_its_project_and_says_so() {
    let world = world();
    let run = run(&world, "ask", "INTERNAL", &[read("hello.txt")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(raised(&run), [("INTERNAL".to_owned(), "project".to_owned())]);
    let shown = world.json(&["show", &run.session(), "--json"]);
    assert_eq!(shown["label"], serde_json::json!({"level": "INTERNAL", "provenance": "untrusted"}));
    let journal = world.journal();
    let entry = journal.iter().find(|entry| entry["kind"] == "label.raised").unwrap();
    assert_eq!(entry["entry"]["label"]["level"], "INTERNAL", "{entry}");
}

#[test]
fn reading_a_file_above_raises_the_session_before_the_call_runs_and_for_good() {
    let world = world();
    let run = run(&world, "allow", "CONFIDENTIAL", &[read("finance/plan.txt"), bash("true")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let levels: Vec<String> = raised(&run).into_iter().map(|(level, _)| level).collect();
    assert_eq!(levels, ["INTERNAL", "CONFIDENTIAL"]);
    let at =
        |kind: &str| run.events.iter().position(|event| event["type"] == kind && event["tool"] == "read");
    assert!(at("label.raised").unwrap() < at("call.calling").unwrap());
    let resumed =
        world.headless(&["resume", &run.session(), "--headless", "--output", "stream-json", "more"]);
    assert_eq!(raised(&resumed), []);
    let shown = world.json(&["show", &run.session(), "--json"]);
    assert_eq!(shown["label"]["level"], "CONFIDENTIAL");
}

#[test]
fn a_person_is_asked_and_told_what_it_forbids() {
    let world = world();
    let run = run(&world, "ask", "CONFIDENTIAL", &[read("finance/plan.txt")]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let asked = run.events.iter().find(|event| event["type"] == "approval.requested").unwrap();
    let raises = &asked["card"]["raises"];
    assert_eq!(
        (&raises["from"]["level"], &raises["to"]["level"]),
        (&"INTERNAL".into(), &"CONFIDENTIAL".into())
    );
    assert!(raises["forbids"].as_str().unwrap().contains("below CONFIDENTIAL"));
    assert_eq!(asked["card"]["rule"], "label.raise");
    assert_eq!(raised(&run).len(), 1);
}

#[test]
fn a_file_that_the_model_may_not_be_sent_is_not_read() {
    let world = world();
    let run = run(&world, "allow", "INTERNAL", &[read("finance/plan.txt")]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    let decided = run.events.iter().find(|event| event["type"] == "call.decided").unwrap();
    assert_eq!((&decided["verdict"], &decided["rule"]), (&"disabled".into(), &"label.model".into()));
    assert_eq!(raised(&run).len(), 1);
    assert!(!run.events.iter().any(|event| event["type"] == "call.calling"));
}

#[test]
fn a_model_below_the_project_is_not_asked() {
    let world = world();
    let run = run(&world, "allow", "PUBLIC", &[read("hello.txt")]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    let last = run.events.last().unwrap();
    assert!(last["next_step"].as_str().unwrap().contains("may be sent PUBLIC at most"), "{last}");
    assert!(!run.events.iter().any(|event| event["type"] == "message" && event["role"] == "assistant"));
}

fn write(path: &str) -> Value {
    call("write", serde_json::json!({"path": path, "content": "made\n"}))
}

/// A release for the change set, appended to a policy.
const RELEASE: &str = r#"
[[downgrade]]
id = "release.made"
kind = "consent"
from = "CONFIDENTIAL"
to = "INTERNAL"
destination = "change-set"
author = "owner"
"#;

/// A session that writes before and after it reads a CONFIDENTIAL file.
fn writes(world: &World, release: &str) -> Run {
    let file = world.path("labelled.toml");
    std::fs::write(&file, policy("allow", "CONFIDENTIAL") + release).unwrap();
    let turns = [
        turn(&[write("early.txt")]),
        turn(&[bash("echo early > early2.txt; mkdir -p kept; echo x > kept/early.txt")]),
        turn(&[read("finance/plan.txt")]),
        turn(&[write("late.txt"), write("finance/new.txt")]),
        turn(&[bash("echo more >> early2.txt; mv finance/plan.txt plan.txt")]),
        say("done"),
    ];
    let model = world.script(&turns);
    let patch = text(&world.path("made.patch"));
    world.headless(&streamed(&model, &["--policy", &text(&file), "--patch", &patch, "look"]))
}

fn held(files: &Value) -> Vec<String> {
    let files = files.as_array().unwrap().iter().filter(|file| !file["held"].is_null());
    files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_file_that_knows_more_than_its_path_may_hold_stays_and_the_others_go() {
    let world = world();
    let run = writes(&world, "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let made = run.of("changeset")[0];
    assert_eq!(held(&made["files"]), ["early2.txt", "late.txt", "plan.txt"]);
    let label = |path: &str| {
        let files = made["files"].as_array().unwrap();
        files.iter().find(|file| file["path"] == path).unwrap()["label"]["level"].clone()
    };
    assert_eq!((label("early.txt"), label("kept/early.txt")), ("INTERNAL".into(), "INTERNAL".into()));
    assert_eq!((label("late.txt"), label("finance/new.txt")), ("CONFIDENTIAL".into(), "CONFIDENTIAL".into()));
    let patch = std::fs::read_to_string(world.path("made.patch")).unwrap();
    assert!(
        patch.contains("early.txt") && !patch.contains("late.txt") && !patch.contains("plan.txt"),
        "{patch}"
    );
    let session = run.session();
    let named = world.output(&["apply", &session, "--files", "late.txt"]);
    assert_eq!(named.status.code(), Some(4));
    let said = String::from_utf8_lossy(&named.stderr).into_owned();
    assert!(said.contains("held") && said.contains("CONFIDENTIAL"), "{said}");
    let applied = world.json(&["apply", &session, "--json"]);
    assert_eq!(applied["files"], serde_json::json!(["early.txt", "finance/new.txt", "kept/early.txt"]));
    assert!(!world.repo().join("late.txt").exists());
}

#[test]
fn a_program_releases_nothing_even_under_a_rule() {
    let world = world();
    let run = writes(&world, RELEASE);
    let session = run.session();
    let without = world.output(&["apply", &session, "--files", "late.txt"]);
    assert!(String::from_utf8_lossy(&without.stderr).contains("release.made"), "{without:?}");
    let with = world.output(&["apply", &session, "--files", "late.txt", "--release", "agreed with finance"]);
    assert_eq!(with.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&with.stderr).contains("only a person at a terminal"), "{with:?}");
    assert!(!world.repo().join("late.txt").exists());
}

#[test]
fn a_person_releases_a_held_file_under_a_rule_with_a_reason_and_the_journal_says_so() {
    let world = world();
    let session = writes(&world, RELEASE).session();
    let args = ["apply", &session, "--files", "late.txt", "--release", "agreed with finance"];
    let mut person = Person::runs(world.enclos(&args));
    person.sees("1 file applied");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(world.read("late.txt"), "made\n");
    let journal = world.journal();
    let accepted = journal.iter().find(|entry| entry["kind"] == "changeset.accepted").unwrap();
    let released = &accepted["entry"]["released"][0];
    assert_eq!((&released["rule"], &released["path"]), (&"release.made".into(), &"late.txt".into()));
    assert_eq!(released["label"]["level"], "CONFIDENTIAL");
    assert!(!accepted.to_string().contains("agreed"), "{accepted}");
}

#[test]
fn a_reset_erases_all_that_a_session_said_and_made_and_only_a_person_does_it() {
    let world = world();
    let run = run(&world, "allow", "CONFIDENTIAL", &[read("finance/plan.txt"), write("late.txt")]);
    let session = run.session();
    let program = world.output(&["reset", &session]);
    assert_eq!(program.status.code(), Some(4), "{}", String::from_utf8_lossy(&program.stderr));
    let mut person = Person::runs(world.enclos(&["reset", &session]));
    person.sees("type reset to confirm").types("no\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 4, "{screen}");
    assert!(!world.json(&["show", &session, "--json"])["timeline"].as_array().unwrap().is_empty());
    let mut person = Person::runs(world.enclos(&["reset", &session]));
    person.sees("cannot be brought back").sees("type reset to confirm").types("reset\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("is erased"), "{screen}");
    for gone in [["diff", &session], ["resume", &session], ["apply", &session]] {
        assert_eq!(world.output(&gone).status.code(), Some(2), "{gone:?}");
    }
    assert!(!world.home().join("sessions").join(&session).exists());
    let journal = world.journal();
    let kinds: Vec<&str> = journal.iter().filter_map(|entry| entry["kind"].as_str()).collect();
    assert!(kinds.contains(&"session.closed") && kinds.contains(&"content.erased"), "{kinds:?}");
    assert_eq!(world.verified()["result"], "ok");
    let listed = world.sessions();
    assert_eq!(listed[0]["outcome"], "reset", "{listed:?}");
    assert!(!listed[0]["task"].as_str().unwrap_or_default().contains("look"), "{listed:?}");
    let fresh = self::run(&world, "ask", "INTERNAL", &[read("hello.txt")]);
    assert_eq!(raised(&fresh).len(), 1);
}
