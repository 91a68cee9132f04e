//! Approvals as authority objects: parked, answered from elsewhere, raced, granted, edited, overtaken by a change.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::harness::{World, bash, call, eventually, say, streamed, text, turn};
use crate::terminal::Person;

/// The questions that wait.
fn waiting(world: &World) -> Vec<Value> {
    serde_json::from_slice(&world.output(&["approvals", "--json"]).stdout).unwrap()
}

/// The name of the one question that waits.
fn one(world: &World) -> String {
    let rows = waiting(world);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows[0]["approval"].as_str().unwrap().to_owned()
}

fn code(output: &std::process::Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn resume(world: &World, session: &str) -> crate::harness::Run {
    world.resumed(session)
}

/// A policy file that asks for commands and writes in this way.
fn policy(world: &World, approve: &str) -> String {
    let file = world.path("policy.toml");
    let rule = format!(
        "name = \"test\"\nversion = 1\n[[rule]]\nid = \"test.read\"\ncategory = \"read\"\nverdict = \"allow\"\n\
         [[rule]]\nid = \"test.work\"\ntool = [\"bash\", \"write\"]\nverdict = \"ask\"\napprove = {approve}\n"
    );
    std::fs::write(&file, rule).unwrap();
    text(&file)
}

#[test]
fn a_parked_question_is_seen_and_approved_by_a_person_and_resume_goes_on() {
    let world = World::new();
    let write = call("write", serde_json::json!({"path": "new.txt", "content": "made\n"}));
    let run = world.run("strict", &[turn(&[write]), say("done")]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let row = &waiting(&world)[0];
    assert_eq!(
        (&row["state"], &row["live"], &row["tool"]),
        (&"pending".into(), &false.into(), &"write".into())
    );
    assert_eq!(row["rule"], "strict.write");
    let mut person = Person::runs(world.enclos(&["approve", &one(&world)]));
    person.sees("Approval needed").sees("new.txt").sees("made").sees("approve once").types("\r");
    person.sees("approve once").types("a");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(waiting(&world).is_empty());
    let run = resume(&world, &run.session());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let decided = run.of("call.decided")[0];
    assert!(decided["decided_by"]["human"].is_string(), "{decided}");
    assert_eq!(run.of("call.done").len(), 1);
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_parked_session_is_stopped_from_the_card_and_a_resumed_one_names_its_calls() {
    let world = World::new();
    world.run("strict", &[turn(&[bash("make x")]), say("done")]);
    let mut person = Person::runs(world.enclos(&["approve", &one(&world)]));
    person.sees("make x").sees("approve once").types("!");
    let (code_, screen) = person.leaves();
    assert_eq!(code_, 130, "{screen}");
    assert!(screen.contains("the session is stopped"), "{screen}");
    assert!(waiting(&world).is_empty());

    let run = world.run("strict", &[turn(&[bash("touch made")]), say("done")]);
    assert_eq!(code(&world.output(&["approve", &one(&world)])), 0);
    let run = resume(&world, &run.session());
    let told = run.of("call.generated");
    assert_eq!(told[0]["arguments"]["command"], "touch made", "{:#?}", run.events);
    let told: String = run.of("notice").iter().map(|event| event["text"].to_string()).collect();
    assert!(told.contains("grants the next extension, 4 left"), "{told}");
}

#[test]
fn a_program_answers_as_a_program_and_never_a_rule_that_wants_a_person() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("make all")]), say("done")]);
    let file = policy(&world, "{ person = true }");
    let args = streamed(&model, &["--policy", &file, "do it"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let refused = world.output(&["approve", &one(&world)]);
    assert_eq!(code(&refused), 4, "{}", stderr(&refused));
    assert!(stderr(&refused).contains("wants a person"), "{}", stderr(&refused));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("make all"), "the card is shown first");
    assert_eq!(waiting(&world).len(), 1, "it still waits");
    let again = resume(&world, &run.session());
    assert_eq!(again.code, 5, "nothing ran: {}", again.stderr);
    assert_eq!(again.of("call.calling").len(), 0);

    let plain = World::new();
    let run = plain.run("strict", &[turn(&[bash("touch made")]), say("done")]);
    let taken = plain.output(&["approve", &one(&plain)]);
    assert_eq!(code(&taken), 0, "{}", stderr(&taken));
    let run = resume(&plain, &run.session());
    assert_eq!(run.of("call.decided")[0]["decided_by"]["automation"], "cli.approve");
}

#[test]
fn a_refusal_with_a_word_reaches_the_model_and_the_same_call_is_not_asked_again() {
    let world = World::new();
    let run = world.run("strict", &[turn(&[bash("make x")]), turn(&[bash("make x")]), say("done")]);
    let refused = world.output(&["reject", &one(&world), "--say", "use the script"]);
    assert_eq!(code(&refused), 0, "{}", stderr(&refused));
    let late = world.output(&["approve", run.of("approval.requested")[0]["approval"].as_str().unwrap()]);
    assert_eq!(code(&late), 4, "the first answer counts");
    assert!(stderr(&late).contains("was refused before"), "{}", stderr(&late));
    let run = resume(&world, &run.session());
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert_eq!(run.of("approval.requested").len(), 0, "a refused action is not asked again");
    assert_eq!(run.of("call.calling").len(), 0);
}

#[test]
fn a_file_that_changed_after_the_approval_is_asked_about_again() {
    let world = World::new();
    world.write("build.sh", "echo harmless\n");
    let run = world.run("strict", &[turn(&[bash("bash build.sh")]), say("done")]);
    let first = one(&world);
    assert_eq!(code(&world.output(&["approve", &first])), 0);
    world.write("build.sh", "echo something else\n");
    let run = resume(&world, &run.session());
    assert_eq!(run.code, 5, "{}", run.stderr);
    let decided = run.of("approval.decided")[0];
    assert_eq!((&decided["approval"], &decided["state"]), (&first.as_str().into(), &"superseded".into()));
    assert_eq!(run.of("call.calling").len(), 0);
    let second = one(&world);
    assert_ne!(first, second, "a new card has a new name");
    let late = world.output(&["approve", &first]);
    assert!(code(&late) == 4 && stderr(&late).contains("superseded"), "{}", stderr(&late));
    assert_eq!(code(&world.output(&["approve", &second])), 0);
    assert_eq!(resume(&world, &run.session()).of("call.done").len(), 1);
}

#[test]
fn a_quorum_cannot_be_met_by_one_person_and_is_never_allowed() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("make all")]), say("done")]);
    let file = policy(&world, "{ role = \"maintainer\", quorum = 2 }");
    let args = streamed(&model, &["--policy", &file, "do it"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let next = run.finished()["next_step"].to_string();
    assert!(next.contains("2 persons") && next.contains("enclos reject"), "{next}");
    let row = &waiting(&world)[0];
    assert!(row["needs"].as_str().unwrap().contains("2 persons"), "{row}");
    assert_eq!(row["card"]["may_approve"], false);
    let listed = String::from_utf8(world.output(&["approvals"]).stdout).unwrap();
    assert!(listed.contains("not to be approved here"), "{listed}");
    let refused = world.output(&["approve", &one(&world), "--json"]);
    let told: Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!((code(&refused), &told["error"]["kind"]), (4, &"refused".into()));
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains(row["needs"].as_str().unwrap()), "{message}");
    let mut person = Person::runs(world.enclos(&["approve", &one(&world)]));
    person.sees("2 persons").sees("reject").types("a").sees("nobody here can approve");
    person.types("r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0);
    assert!(!screen.contains("approve once"), "{screen}");
    let run = resume(&world, &run.session());
    assert_eq!(run.of("call.calling").len(), 0);
}

#[test]
fn of_two_terminals_the_first_answer_counts_and_the_other_card_closes_with_its_author() {
    let world = World::new();
    let model = world.script(&[turn(&[bash("touch made")]), say("done")]);
    let mut first = Person::runs(world.enclos(&["run", "--model", &model, "do it"]));
    first.sees("Approval needed").sees("approve once");
    eventually("the card is listed", || waiting(&world).len() == 1);
    let id = one(&world);
    let mut second = Person::runs(world.enclos(&["approve", &id]));
    second.sees("touch made").sees("approve once");
    let taken = world.output(&["approve", &id, "--json"]);
    assert_eq!(code(&taken), 0, "{}", stderr(&taken));
    let told: Value = serde_json::from_slice(&taken.stdout).unwrap();
    assert_eq!((&told["state"], &told["live"]), (&"approved".into(), &true.into()));
    first.sees("approved by rule cli.approve");
    second.sees("approved by rule cli.approve");
    assert_eq!(second.leaves().0, 1, "nothing was answered there");
    first.sees("What becomes of the changes?").types("x").sees("Throw away all").types("y");
    first.leaves();
    assert_eq!(code(&world.output(&["approve", &id])), 4);
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_pattern_is_previewed_granted_listed_and_revoked_in_a_running_session() {
    let world = World::new();
    let commands = ["npm run a", "npm run b", "npm run c", "npm run d > out", "npm run e"];
    let turns: Vec<Value> = commands.iter().map(|text| turn(&[bash(text)])).chain([say("done")]).collect();
    let model = world.script(&turns);
    let file = policy(&world, "{ remember = true }");
    let mut person = Person::runs(world.enclos(&["run", "--model", &model, "--policy", &file, "do it"]));
    person.sees("npm run a").sees("approve once").types("a");
    person.sees("npm run b").sees("a pattern for this session").types("p");
    person.sees("commands that begin with: npm run b").sees("nothing else of this session");
    person.sees("commands that begin with: npm run").sees("npm run a").sees("of this number").types("2");
    person.sees("npm run d > out").sees("approve once");
    let grants =
        || -> Vec<Value> { serde_json::from_slice(&world.output(&["grants", "--json"]).stdout).unwrap() };
    let granted = grants();
    assert_eq!(granted.len(), 1, "{granted:#?}");
    assert_eq!(granted[0]["pattern"], "commands that begin with: npm run");
    assert_eq!((&granted[0]["uses"], &granted[0]["expires"]), (&1.into(), &"with the session".into()));
    let revoked = world.output(&["grants", "revoke", granted[0]["grant"].as_str().unwrap()]);
    assert_eq!(code(&revoked), 0, "{}", stderr(&revoked));
    assert!(grants()[0]["revoked_by"].is_string());
    person.types("a").sees("npm run e").sees("approve once").types("r");
    person
        .sees("What becomes of the changes?")
        .sees("throw away")
        .types("x")
        .sees("Throw away all")
        .types("y");
    person.leaves();
    assert!(grants().is_empty(), "they die with the session");
    let journal = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    let under = |line: &&str| line.contains("call.intent") && line.contains("\"grant.gr_");
    assert_eq!(journal.lines().filter(under).count(), 1, "only `npm run c` ran under the grant");
    let intent = journal.lines().find(under).unwrap();
    assert!(intent.contains("granted_by"), "{intent}");
    assert!(journal.contains("grant.revoked"));
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_grant_of_exact_arguments_is_listed_with_them_and_with_what_ran_under_it() {
    let world = World::new();
    let long = format!("npm run a {}", "x".repeat(300));
    let turns = [turn(&[bash(&long)]), turn(&[bash(&long)]), turn(&[bash("npm run b")]), say("done")];
    let model = world.script(&turns);
    let file = policy(&world, "{ remember = true }");
    let mut person = Person::runs(world.enclos(&["run", "--model", &model, "--policy", &file, "do it"]));
    person.sees("npm run a").sees("this exact call for this session").types("s");
    person.sees("npm run b").sees("approve once");
    let told: Value = serde_json::from_slice(&world.output(&["grants", "--json"]).stdout).unwrap();
    assert_eq!(told[0]["arguments"]["command"], long);
    assert_eq!((&told[0]["uses"], told[0]["last_used"].is_string()), (&1.into(), true));
    let listed = String::from_utf8(world.output(&["grants"]).stdout).unwrap();
    assert!(listed.contains("exactly: npm run a x") && listed.contains("more characters"), "{listed}");
    person.types("!");
    person.leaves();
}

#[test]
fn an_edited_call_is_judged_afresh_as_a_new_card() {
    let world = World::new();
    let editor = world.path("editor");
    std::fs::write(&editor, "#!/bin/sh\nsed -i 's/touch wrong/touch right/' \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let world = world.with("EDITOR", &text(&editor));
    let model = world.script(&[turn(&[bash("touch wrong")]), say("done")]);
    let mut person = Person::runs(world.enclos(&["run", "--model", &model, "do it"]));
    person.sees("touch wrong").sees("approve once").types("e");
    person.sees("touch right").sees("approve once").types("a");
    person.sees("What becomes of the changes?").types("a");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(world.repo().join("right").exists() && !world.repo().join("wrong").exists());
    let journal = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    assert!(journal.contains("approval.edited") && journal.matches("approval.requested").count() == 2);
}

#[test]
fn no_surface_lets_a_card_write_to_the_terminal() {
    let world = World::new();
    let evil = "echo '\u{202e}evil\u{200b}'; make x";
    let run = world.run("strict", &[turn(&[bash(evil)]), say("done")]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let listing = world.output(&["approvals"]);
    let json = world.output(&["approvals", "--json"]);
    let card = world.output(&["approve", &one(&world)]);
    for output in [&listing, &json, &card] {
        let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output);
        assert!(!shown.contains('\u{202e}') && !shown.contains('\u{200b}'), "{shown:?}");
    }
    assert!(!run.stderr.contains('\u{202e}'));
}

/// Approves a command in a session that nobody works on, changes something, and says whether it ran all the same.
fn runs_after(command: &str, change: impl Fn(&World)) -> bool {
    let world = World::new();
    for (path, content) in
        [("a", "one\n"), ("d/b", "two\n"), ("m.py", "print(1)\n"), ("Makefile", "x:\n\ttrue\n")]
    {
        world.write(path, content);
    }
    std::os::unix::fs::symlink("a", world.repo().join("l")).unwrap();
    let run = world.run("strict", &[turn(&[bash(command)]), say("done")]);
    assert_eq!(run.code, 5, "{command}: {}", run.stderr);
    let first = one(&world);
    assert_eq!(code(&world.output(&["approve", &first])), 0, "{command}");
    change(&world);
    let run = resume(&world, &run.session());
    let ran = !run.of("call.calling").is_empty();
    assert_eq!(ran, run.code != 5, "{command}: {:#?}", run.events);
    ran
}

#[test]
fn an_approval_is_bound_to_what_a_command_names_however_it_names_it() {
    let a = |world: &World| world.write("a", "changed\n");
    let b = |world: &World| world.write("d/b", "changed\n");
    for command in [
        "touch x; cat <a",
        "touch x$(<a)",
        "dd if=a of=x",
        "make -fa",
        "make --file=a",
        "touch x; cat a*",
        "f=a; touch x; cat $f",
        "for i in a; do touch $i; done",
        "env -C . touch x a",
    ] {
        assert!(!runs_after(command, a), "{command}");
    }
    for command in [
        "cd d && touch x; cat b",
        "(cd d; touch b)",
        "env -C d touch b",
        "cp -r d e",
        "touch d/*",
        "touch d/$X",
    ] {
        assert!(!runs_after(command, b), "{command}");
    }
    assert!(!runs_after("python3 -m m", |world| world.write("m.py", "print(2)\n")));
    assert!(!runs_after("make x", |world| world.write("Makefile", "x:\n\tfalse\n")));
    assert!(
        !runs_after("touch x; cat l", |world| {
            std::fs::remove_file(world.repo().join("l")).unwrap();
            std::os::unix::fs::symlink("d/b", world.repo().join("l")).unwrap();
        }),
        "a link that leads elsewhere"
    );
    assert!(
        !runs_after("touch x; test -x a", |world| {
            std::fs::set_permissions(world.repo().join("a"), std::fs::Permissions::from_mode(0o755)).unwrap();
        }),
        "another mode"
    );
    assert!(runs_after("touch x; cat a", b), "what it does not name may change");
}

#[test]
fn the_card_of_a_command_shows_what_it_names_and_what_is_under_control() {
    let world = World::new();
    world.write("a", "one\n");
    world.write(".github/workflows/ci.yml", "on: push\n");
    std::os::unix::fs::symlink(".github", world.repo().join("gl")).unwrap();
    std::os::unix::fs::symlink("a", world.repo().join("l")).unwrap();
    for (command, flagged) in [
        ("cp a .github/workflows/new.yml", ".github/workflows/new.yml"),
        ("cp a .github/work*/ci.yml", ".github/workflows/ci.yml"),
        ("cp a -t .github/workflows", ".github/workflows"),
        ("cp a -t.github/workflows", ".github/workflows"),
        ("cp a gl/workflows/", ".github/workflows"),
        ("cat a > Makefile", "Makefile"),
    ] {
        let run = world.run("strict", &[turn(&[bash(command)]), say("done")]);
        let card = &run.of("approval.requested")[0]["card"];
        let found = card["flagged"].as_array().unwrap().iter().any(|flag| flag["path"] == flagged);
        assert!(found, "{command}: {card:#}");
        assert!(card["files"].as_array().unwrap().contains(&"a".into()), "{command}: {card:#}");
    }
    let run = world.run("strict", &[turn(&[bash("touch l")]), say("done")]);
    let card = &run.of("approval.requested")[0]["card"];
    assert_eq!(card["files"], serde_json::json!(["l → a"]), "{card:#}");
}

#[test]
fn a_card_that_would_be_too_long_is_refused_however_its_lines_are_counted() {
    let world = World::new();
    let wide = "x".repeat(900_000);
    let calls = [
        bash(&"make everything;".repeat(2500)),
        call("write", serde_json::json!({"path": "wide.txt", "content": wide})),
    ];
    let run = world.run("strict", &[turn(&calls), say("done")]);
    assert_eq!(run.of("approval.requested").len(), 0, "{:#?}", run.of("approval.requested").len());
    let errors = run.of("call.errored");
    assert_eq!(errors.len(), 2);
    assert!(
        errors.iter().all(|event| event["error"].as_str().unwrap().contains("2000 lines")),
        "{errors:#?}"
    );
}

#[test]
fn no_grant_takes_a_folder_away_or_reaches_what_is_under_control() {
    let world = World::new();
    world.write("d/sub/Makefile", "x:\n");
    world.write("d/file", "x\n");
    world.write("a", "x\n");
    let file = world.path("policy.toml");
    let rules = "name = \"test\"\n[[rule]]\nid = \"test.work\"\ntool = [\"bash\", \"delete\"]\nverdict = \"ask\"\n\
                 approve = { remember = true }\n";
    std::fs::write(&file, rules).unwrap();
    let calls = [
        call("delete", serde_json::json!({"path": "d/sub", "recursive": true})),
        call("delete", serde_json::json!({"path": "d/file"})),
        bash("cp a Makefil?"),
        bash("cp a b"),
    ];
    world.write("Makefile", "x:\n");
    for (call, grantable) in calls.into_iter().zip([false, true, false, true]) {
        let model = world.script(&[turn(std::slice::from_ref(&call)), say("done")]);
        let policy = text(&file);
        let args = streamed(&model, &["--policy", &policy, "x"]);
        let run = world.headless(&args);
        let card = &run.of("approval.requested")[0]["card"];
        assert_eq!(card["may_remember"], grantable, "{card:#}");
    }
}
