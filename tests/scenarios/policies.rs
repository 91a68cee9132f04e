//! Saved policies: scopes, versions, and a change that reaches a session at work.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Watched, World, bash, call, program, say, streamed, text, turn};

/// A policy under which everything inside the sandbox runs.
const FREE: &str = r#"name = "free"
[[rule]]
id = "free.all"
category = ["read", "write", "delete", "bash"]
verdict = "allow"
[commands]
contained = "allow"
"#;

/// As [`FREE`], without commands.
const NO_BASH: &str = r#"name = "calm"
[[rule]]
id = "calm.files"
category = ["read", "write", "delete"]
verdict = "allow"
[[rule]]
id = "calm.bash"
tool = "bash"
verdict = "disabled"
"#;

fn file(world: &World, name: &str, policy: &str) -> String {
    let path = world.path(name);
    std::fs::write(&path, policy).unwrap();
    text(&path)
}

fn apply(world: &World, name: &str, policy: &str, scope: &[&str]) -> Value {
    let file = file(world, name, policy);
    world.json(&[&["policy", "apply", &file, "--json", "--scope"], scope].concat())
}

fn refused(world: &World, args: &[&str]) -> String {
    let output = world.output(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn history(world: &World) -> Vec<Value> {
    world.json(&["policy", "history", "--json"]).as_array().unwrap().clone()
}

fn in_force(world: &World) -> PathBuf {
    world.home().join("policy.toml")
}

/// A turn that comes late enough for a policy to change before it.
fn late(mut turn: Value) -> Value {
    turn["delay_ms"] = json!(1500);
    turn["chunks"] = json!(2);
    turn["text"] = json!("thinking about it");
    turn
}

fn start(world: &World, turns: &[Value]) -> Watched {
    let model = world.script(turns);
    world.start(&streamed(&model, &["do it"]))
}

fn notices(events: &[Value]) -> String {
    events.iter().filter(|event| event["type"] == "notice").map(|event| event["text"].to_string()).collect()
}

#[test]
fn a_policy_tightened_in_a_session_disables_a_tool_at_the_next_call() {
    let world = World::new();
    apply(&world, "free.toml", FREE, &["instance"]);
    let mut watched =
        start(&world, &[turn(&[bash("echo one > a")]), late(turn(&[bash("echo two > b")])), say("done")]);
    let opened = watched.until_type("session.opened");
    watched.until_type("call.done");
    let saved = apply(&world, "calm.toml", NO_BASH, &["instance"]);
    assert_eq!(saved["version"], 2);
    let run = watched.finish();
    assert_eq!(run.code, 4, "{:#?}", run.events);
    assert_eq!(run.of("call.done").len(), 1);
    assert_eq!(run.of("call.canceled").len(), 1);
    assert_eq!(run.of("call.decided")[1]["rule"], "calm.bash");
    let told = notices(&run.events);
    assert!(told.contains("the policy changed") && told.contains("no longer available: bash"), "{told}");
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    let loaded = export.lines().find(|line| line.contains("policy.loaded")).unwrap();
    assert!(loaded.contains(opened["policy_digest"].as_str().unwrap()), "{loaded}");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_policy_file_broken_in_a_session_stops_every_call_until_it_loads_again() {
    let world = World::new();
    apply(&world, "free.toml", FREE, &["instance"]);
    let read = || turn(&[call("read", json!({"path": "hello.txt"}))]);
    let mut watched = start(&world, &[read(), late(read()), late(read()), say("done")]);
    watched.until_type("call.done");
    std::fs::write(in_force(&world), "name = \"x\"\n[[rule]]\ntoool = \"read\"\n").unwrap();
    let canceled = watched.until_type("call.canceled");
    let reason = canceled["reason"].as_str().unwrap();
    assert!(reason.contains("policy.toml:3") && reason.contains("toool"), "{reason}");
    std::fs::write(in_force(&world), FREE).unwrap();
    let run = watched.finish();
    assert_eq!(run.of("call.done").len(), 2, "{:#?}", run.events);
    assert!(notices(&run.events).contains("no tool is available"), "{:#?}", run.events);
}

#[test]
fn a_policy_that_is_gone_is_not_taken_for_none() {
    let world = World::new();
    apply(&world, "calm.toml", NO_BASH, &["instance"]);
    std::fs::remove_file(in_force(&world)).unwrap();
    let model = world.script(&[say("done")]);
    let why = refused(&world, &["run", "--headless", "--model", &model, "do it"]);
    assert!(why.contains("is gone") && why.contains("policy rollback --scope instance --to 1"), "{why}");
    let saved = world.json(&["policy", "rollback", "--to", "1", "--json"]);
    assert_eq!((&saved["version"], &saved["changed"]), (&json!(1), &json!(true)));
    assert_eq!(std::fs::read_to_string(in_force(&world)).unwrap(), NO_BASH);
    world.json(&["policy", "apply", "--remove", "--loosen", "--json"]);
    assert!(!in_force(&world).exists());
    assert_eq!(history(&world)[0]["how"], "remove");
    assert_eq!(world.output(&["run", "--headless", "--model", &model, "do it"]).status.code(), Some(0));
}

#[test]
fn a_lower_scope_that_loosens_is_refused_at_its_save_with_line_and_rule() {
    let world = World::new();
    apply(&world, "calm.toml", NO_BASH, &["instance"]);
    let loose = "name = \"loose\"\n\n[[rule]]\nid = \"loose.bash\"\ntool = \"bash\"\nverdict = \"allow\"\n";
    let loose = file(&world, "loose.toml", loose);
    let scope = ["--scope", "project", "acme/site"];
    let why = refused(&world, &[&["policy", "apply", &loose], &scope[..]].concat());
    for word in ["loose.toml:3", "loose.bash", "calm.bash", "instance", "nothing was changed"] {
        assert!(why.contains(word), "`{word}`: {why}");
    }
    assert_eq!(history(&world).len(), 1);
    assert!(!world.home().join("policy/project").exists());
    let tight = "name = \"tight\"\n[[rule]]\ntool = \"write\"\nverdict = \"ask\"\n";
    apply(&world, "tight.toml", tight, &["project", "acme/site"]);
}

#[test]
fn a_higher_scope_that_tightens_names_the_lower_rules_that_count_no_more() {
    let world = World::new();
    apply(&world, "free.toml", FREE, &["project", "acme/site"]);
    let saved = apply(&world, "calm.toml", NO_BASH, &["group", "acme"]);
    assert!(saved["overruled"].as_array().unwrap().is_empty(), "a category stays softer on files: {saved}");
    let strict = "name = \"s\"\n[[rule]]\nid = \"s.all\"\ntool = \"*\"\nverdict = \"ask\"\n";
    let saved = apply(&world, "strict.toml", strict, &["instance"]);
    let overruled = saved["overruled"].to_string();
    assert!(overruled.contains("free.all") && overruled.contains("s.all"), "{overruled}");
    // What is left looser stands, and the stricter holds.
    std::fs::write(
        world.home().join("config.toml"),
        format!("[projects]\n\"acme/site\" = \"{}\"\n", text(&world.repo())),
    )
    .unwrap();
    let model =
        world.script(&[turn(&[bash("ls")]), turn(&[call("write", json!({"path": "a", "content": "b"}))])]);
    let run = world.headless(&streamed(&model, &["do it"]));
    assert_eq!(run.of("call.canceled").len(), 1, "the group's rule holds: {:#?} {}", run.events, run.stderr);
    assert_eq!(run.of("approval.requested").len(), 1, "the instance's rule holds: {:#?}", run.events);
}

#[test]
fn history_tells_every_version_a_hand_s_too_and_rollback_makes_a_new_one() {
    let world = World::new();
    apply(&world, "one.toml", FREE, &["instance"]);
    let same = apply(&world, "one.toml", FREE, &["instance"]);
    assert_eq!((&same["version"], &same["changed"]), (&json!(1), &json!(false)));
    std::fs::write(in_force(&world), NO_BASH).unwrap();
    let versions = history(&world);
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[0]["author"], "unknown (edited by hand)");
    assert_eq!(versions[0]["previous"], versions[1]["digest"]);
    assert_ne!(versions[1]["author"], versions[0]["author"]);
    let back = world.json(&["policy", "rollback", "--json"]);
    assert_eq!((&back["version"], &back["digest"]), (&json!(3), &versions[1]["digest"]));
    assert_eq!(std::fs::read_to_string(in_force(&world)).unwrap(), FREE);
    let shown = world.json(&["policy", "show", "--json"]);
    assert_eq!(shown["version"]["how"], "rollback to 1");
    let why = refused(&world, &["policy", "rollback", "--to", "9"]);
    assert!(why.contains("no version 9") && why.contains("expected one from 1 to 3"), "{why}");
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    assert_eq!(export.matches("policy.changed").count(), 3);
    assert!(!export.contains("free.all"), "the text is sealed");
    assert_eq!(world.verified()["result"], "ok");
    assert!(world.sessions().is_empty());
}

#[test]
fn killed_in_the_middle_of_a_save_the_old_policy_or_the_new_one_stands() {
    let world = World::new();
    apply(&world, "one.toml", FREE, &["instance"]);
    let files = [file(&world, "calm.toml", NO_BASH), file(&world, "free.toml", FREE)];
    for round in 0..24_u64 {
        let before = std::fs::read_to_string(in_force(&world)).unwrap();
        let wanted = &files[usize::from(before == NO_BASH)];
        let mut child = world.enclos(&["policy", "apply", wanted]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(round * 4));
        child.kill().unwrap();
        child.wait().unwrap();
        let versions = history(&world);
        let there = std::fs::read_to_string(in_force(&world)).unwrap();
        assert!(there == FREE || there == NO_BASH, "round {round}: {there}");
        let shown = world.json(&["policy", "show", "--json"]);
        assert_eq!(
            shown["digest"], versions[0]["digest"],
            "round {round}: what stands is the newest version"
        );
        assert!(
            versions.iter().all(|version| version["author"] != "unknown (edited by hand)"),
            "round {round}: {versions:#?}"
        );
        assert_eq!(world.verified()["result"], "ok", "round {round}");
    }
}

#[test]
fn of_two_saves_at_once_both_are_versions_and_the_last_one_stands() {
    let world = World::new();
    let policies = ["a", "b", "c", "d"].map(|name| format!("name = \"{name}\"\n"));
    let files: Vec<String> =
        policies.iter().enumerate().map(|(at, policy)| file(&world, &format!("{at}.toml"), policy)).collect();
    let children: Vec<_> =
        files.iter().map(|file| world.enclos(&["policy", "apply", file]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let versions = history(&world);
    assert_eq!(versions.len(), 4, "{versions:#?}");
    let shown = world.json(&["policy", "show", "--json"]);
    assert_eq!(shown["version"], versions[0]);
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn an_approval_under_another_policy_is_judged_afresh() {
    let world = World::new();
    let asking = "name = \"ask\"\n[[rule]]\nid = \"ask.bash\"\ntool = \"bash\"\nverdict = \"ask\"\n";
    apply(&world, "ask.toml", asking, &["instance"]);
    let model = world.script(&[turn(&[bash("touch x")]), say("done")]);
    let args = streamed(&model, &["do it"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 5, "{}", run.stderr);
    apply(&world, "calm.toml", NO_BASH, &["instance"]);
    let again = world.resumed(&run.session());
    assert!(again.of("call.calling").is_empty(), "{:#?}", again.events);
    assert_eq!(again.code, 4, "{:#?}", again.events);
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    assert!(export.contains("superseded"), "{export}");
}

#[test]
fn rollback_goes_to_the_last_policy_that_could_be_read() {
    let world = World::new();
    apply(&world, "one.toml", FREE, &["instance"]);
    apply(&world, "two.toml", NO_BASH, &["instance"]);
    for broken in [&b"name = \"x\"\nverdct = 1\n"[..], &b"\xff\xfe not text"[..], &[]] {
        if broken.is_empty() {
            std::fs::remove_file(in_force(&world)).unwrap();
        } else {
            std::fs::write(in_force(&world), broken).unwrap();
        }
        let back = world.json(&["policy", "rollback", "--json"]);
        assert_eq!((&back["version"], &back["restored"]), (&json!(2), &json!(2)), "{broken:?}");
        assert_eq!(std::fs::read_to_string(in_force(&world)).unwrap(), NO_BASH);
    }
    assert_eq!(world.json(&["policy", "rollback", "--json"])["restored"], 1, "then to the one before");
    std::fs::write(in_force(&world), b"\xff").unwrap();
    apply(&world, "two.toml", NO_BASH, &["instance"]);
    std::fs::write(in_force(&world), b"\xff").unwrap();
    assert_eq!(world.json(&["policy", "apply", "--remove", "--loosen", "--json"])["removed"], true);
    assert!(!in_force(&world).exists());
}

#[test]
fn a_policy_that_is_no_plain_file_is_refused_and_never_waited_for() {
    let world = World::new();
    let pipe = world.path("pipe.toml");
    assert!(program("mkfifo").arg(&pipe).status().unwrap().success());
    for odd in [text(&pipe), text(&world.repo()), "/dev/zero".to_owned()] {
        for args in [&["policy", "check", &odd][..], &["policy", "apply", &odd]] {
            assert!(refused(&world, args).contains("not a plain file"), "{args:?}");
        }
    }
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::rename(&pipe, in_force(&world)).unwrap();
    let model = world.script(&[say("done")]);
    assert!(refused(&world, &["run", "--headless", "--model", &model, "x"]).contains("not a plain file"));
}

#[test]
fn a_shadow_rule_is_reported_and_not_enforced() {
    let world = World::new();
    let shadow = format!(
        "{FREE}[[rule]]\nid = \"free.soon\"\ncommand = [\"touch\"]\nverdict = \"disabled\"\nshadow = true\n"
    );
    apply(&world, "shadow.toml", &shadow, &["instance"]);
    let model = world.script(&[turn(&[bash("touch made"), bash("true")]), say("done")]);
    let run = world.headless(&streamed(&model, &["x"]));
    let decided = run.of("call.decided");
    assert_eq!(decided[0]["verdict"], "allow");
    let said = json!([{"rule": "free.soon", "scope": "instance", "verdict": "disabled"}]);
    assert_eq!(decided[0]["shadow"], said, "{:#?}", decided[0]);
    assert!(decided[1].get("shadow").is_none(), "{:#?}", decided[1]);
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    let intents: Vec<&str> = export.lines().filter(|line| line.contains("\"call.intent\"")).collect();
    assert_eq!(intents.iter().filter(|line| line.contains("free.soon")).count(), 1, "{intents:#?}");
}

#[test]
fn a_file_and_the_policy_in_force_each_have_one_digest_wherever_they_are_named() {
    let world = World::new();
    let path = file(&world, "free.toml", FREE);
    let checked = world.json(&["policy", "check", &path, "--json"]);
    let saved = apply(&world, "free.toml", FREE, &["instance"]);
    let shown = world.json(&["policy", "show", "--json"]);
    let explained = world.json(&["policy", "explain", "--tool", "bash", "--json"]);
    assert_eq!(checked["files"], json!([{"file": path, "digest": saved["digest"]}]));
    assert_eq!((&saved["digest"], &history(&world)[0]["digest"]), (&shown["digest"], &shown["digest"]));
    for told in [&saved["policy_digest"], &shown["policy_digest"], &explained["policy_digest"]] {
        assert_eq!(*told, checked["digest"]);
    }
    let words = |args: &[&str]| String::from_utf8(world.output(args).stdout).unwrap();
    for args in [&["policy", "check", &path][..], &["policy", "apply", &path], &["policy", "show"]] {
        let told = words(args).split_whitespace().collect::<Vec<_>>().join(" ");
        for (name, digest) in [("file", &saved["digest"]), ("policy", &checked["digest"])] {
            let line = format!("{name} digest {}", digest.as_str().unwrap());
            assert!(told.contains(&line), "{args:?}: {told}");
        }
    }
}

#[test]
fn a_stored_policy_that_is_not_understood_is_shown_with_its_line() {
    let world = World::new();
    apply(&world, "free.toml", FREE, &["instance"]);
    std::fs::write(in_force(&world), "name = \"p\"\n\n[[rules]]\ntool = \"bash\"\n").unwrap();
    let shown = world.json(&["policy", "show", "--json"]);
    assert_eq!((&shown["problem"]["line"], &shown["problem"]["field"]), (&json!(3), &json!("rules")));
    assert_eq!((&shown["version"], &shown["policy_digest"]), (&Value::Null, &Value::Null));
    let told = String::from_utf8(world.output(&["policy", "show"]).stdout).unwrap();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("policy.toml:3: unknown field `rules`"), "{told}");
    assert!(told.contains("did you mean `rule`?") && told.contains("tool = \"bash\""), "{told}");
}

#[test]
fn a_removal_that_loosens_is_told_before_it_is_done_and_kept_in_the_journal() {
    let world = World::new();
    apply(&world, "free.toml", FREE, &["instance"]);
    apply(&world, "calm.toml", NO_BASH, &["group", "acme"]);
    let remove = ["policy", "apply", "--remove", "--scope", "group", "acme"];
    let why = refused(&world, &remove);
    assert!(
        why.contains("becomes looser") && why.contains("tool `bash`") || why.contains("category `bash`"),
        "{why}"
    );
    assert!(
        why.contains("nothing was changed") && why.contains("--remove --loosen --scope group acme"),
        "{why}"
    );
    assert_eq!(history(&world).len(), 2, "nothing was saved");
    let saved = world.json(&[&remove[..], &["--loosen", "--json"]].concat());
    assert!(saved["looser"].to_string().contains("bash"), "{saved:#}");
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    assert!(export.contains("\"looser\":["), "{export}");
    // Where nothing becomes looser, nothing is asked for.
    let strict = "name = \"same\"\n[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n";
    apply(&world, "same.toml", strict, &["group", "other"]);
    world.json(&["policy", "apply", "--remove", "--scope", "group", "other", "--json"]);
}

#[test]
fn what_was_chosen_for_a_session_and_counts_less_is_told() {
    let world = World::new();
    let uncontained = FREE.replace("[commands]\ncontained = \"allow\"\n", "");
    apply(&world, "free.toml", &uncontained, &["instance"]);
    let model = world.script(&[say("done")]);
    let chosen = file(&world, "mine.toml", "name = \"mine\"\n[commands]\ncontained = \"allow\"\n");
    let run = world.headless(&streamed(&model, &["--policy", &chosen, "do it"]));
    let told = notices(&run.events);
    assert!(told.contains("counts less than it says") && told.contains("commands.contained"), "{told}");
    let run = world.headless(&streamed(&model, &["do it"]));
    assert!(!notices(&run.events).contains("counts less"), "{:#?}", run.events);
}
