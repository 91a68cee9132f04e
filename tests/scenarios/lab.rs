//! The policy lab on real sessions: what a candidate would have changed, and tables of expectations.

use serde_json::Value;

use crate::harness::{World, bash, call, say, text, turn};

fn file(world: &World, name: &str, content: &str) -> String {
    let file = world.path(name);
    std::fs::write(&file, content).unwrap();
    text(&file)
}

/// Changes as direction, tool, the rule before, the rule after, and how often.
fn changes(simulation: &Value) -> Vec<[String; 5]> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rows = simulation["changes"].as_array().unwrap().iter();
    rows.map(|row| ["direction", "tool", "rule_before", "rule_after", "count"].map(|key| word(&row[key])))
        .collect()
}

const CANDIDATE: &str = "name = \"new\"\nversion = 1\n[[rule]]\nid = \"new.read\"\ncategory = \"read\"\nverdict = \"allow\"\n\
    [[rule]]\nid = \"new.make\"\ncommand = [\"make\"]\nverdict = \"disabled\"\n";

#[test]
fn a_simulation_replays_the_journal_and_changes_nothing() {
    let world = World::new();
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let write = call("write", serde_json::json!({"path": "new.txt", "content": "made\n"}));
    let read = call("read", serde_json::json!({"path": "new.txt"}));
    let command = bash(&format!("make deploy TOKEN={secret}"));
    world.run("balanced", &[turn(&[write, read]), turn(&[command]), say("done")]);
    let before = world.json(&["journal", "verify", "--json"]);

    let candidate = file(&world, "new.toml", CANDIDATE);
    let harder = world.json(&["policy", "simulate", &candidate, "--json"]);
    assert_eq!(
        (&harder["sessions"], &harder["decisions"], &harder["same"]),
        (&1.into(), &3.into(), &1.into())
    );
    let expected = [
        ["harder", "bash", "balanced.work", "new.make", "1"],
        ["harder", "write", "balanced.work", "default.write", "1"],
    ];
    let mut told = changes(&harder);
    told.sort();
    assert_eq!(told, expected, "{harder:#}");
    assert!(!harder.to_string().contains(secret), "{harder}");
    assert!(harder.to_string().contains("make deploy"), "{harder}");

    let same = world.json(&["policy", "simulate", "balanced", "--json"]);
    assert_eq!((&same["same"], &same["changed"]), (&3.into(), &0.into()), "{same:#}");
    assert_eq!(world.json(&["journal", "verify", "--json"]), before, "nothing was written");
}

#[test]
fn a_simulation_tells_what_it_could_not_replay() {
    let world = World::new();
    world.run("balanced", &[turn(&[bash("true")]), say("done")]);
    let candidate = file(&world, "loose.toml", "name = \"loose\"\nverdct = 1\n");
    let output = world.output(&["policy", "simulate", &candidate]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("verdct"));
    std::fs::write(world.repo().join(".enclos.toml"), "[[rule]]\ntool = \"bash\"\nverdct = \"ask\"\n")
        .unwrap();
    let told = world.json(&["policy", "simulate", "balanced", "--json"]);
    assert_eq!(told["not_replayed"][0]["count"], 1, "{told:#}");
    assert!(told["not_replayed"][0]["reason"].as_str().unwrap().contains("verdct"), "{told:#}");
    assert!(
        told["sources"].to_string().contains(".enclos.toml, as it is now"),
        "what counts besides is named"
    );
}

#[test]
fn a_simulation_shows_as_many_decisions_as_it_counts_or_says_how_many_more() {
    let world = World::new();
    world.run(
        "balanced",
        &[turn(&[bash("make a"), bash("make b"), bash("make c"), bash("make d")]), say("done")],
    );
    let shown =
        String::from_utf8(world.output(&["policy", "simulate", "strict", "--examples", "3"]).stdout).unwrap();
    assert!(shown.contains("4 would change") && shown.contains("and 1 more"), "{shown}");
}

#[test]
fn options_that_would_not_count_are_refused() {
    let world = World::new();
    for more in [["--preset", "strict"], ["--policy", "p.toml"], ["--role", "owner"], ["--repo", "."]] {
        let args = [&["policy", "explain-command", "--base", "allow"][..], &more, &["--", "ls"]].concat();
        assert_eq!(world.output(&args).status.code(), Some(2), "{more:?}");
    }
}

#[test]
fn a_table_that_does_not_hold_is_exit_1_and_names_the_row() {
    let world = World::new();
    let policy = file(&world, "new.toml", CANDIDATE);
    let row = |verdict: &str| format!("[[case]]\ncommand = \"make all\"\nverdict = \"{verdict}\"\n");
    let right = file(&world, "right.cases.toml", &row("disabled"));
    assert_eq!(world.output(&["policy", "test", &policy, &right]).status.code(), Some(0));
    let wrong = file(&world, "wrong.cases.toml", &row("allow"));
    let output = world.output(&["policy", "test", &policy, &wrong]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("new.make") && told.contains("make all"), "{told}");
}

fn refused(world: &World, args: &[&str]) -> String {
    let output = world.output(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A repository's own rule on `write`.
const TIGHT: &str = "[[rule]]\nid = \"repo.write\"\ntool = \"write\"\nverdict = \"disabled\"\n";

/// Rules that tell roles, commands, shadows and approvers apart.
const ASKS: &str = r#"name = "asks"
[[rule]]
id = "asks.ci"
tool = "edit"
when = [{ pointer = "/path", equals = "ci.yml" }]
verdict = "ask"
approve = { role = "maintainer", quorum = 2, person = true }
[[rule]]
id = "asks.later"
tool = "edit"
verdict = "disabled"
shadow = true
[[rule]]
id = "asks.owners"
tool = "write"
role = "owner"
verdict = "allow"
[[rule]]
id = "asks.test"
command = ["cargo", "test"]
role = "developer"
verdict = "allow"
"#;

#[test]
fn what_is_explained_is_what_a_session_here_would_get() {
    let world = World::new();
    world.write(
        ".enclos.toml",
        &format!("{TIGHT}[[rule]]\nid = \"repo.make\"\ncommand = [\"make\"]\nverdict = \"disabled\"\n"),
    );
    let told = world.json(&["policy", "explain", "--tool", "write", "--json"]);
    assert_eq!((&told["verdict"], &told["rule"]), (&"disabled".into(), &"repo.write".into()), "{told:#}");
    assert_eq!((&told["role"], &told["surface"]), (&"owner".into(), &"terminal".into()));
    let make = ["policy", "explain-command", "--json", "--", "make"];
    let told = world.json(&make);
    assert_eq!((&told["verdict"], &told["rule"]), (&"disabled".into(), &"repo.make".into()), "{told:#}");
    let table = file(
        &world,
        "t.cases.toml",
        "[[case]]\ntool = \"write\"\nverdict = \"disabled\"\nrule = \"repo.write\"\n",
    );
    assert_eq!(world.output(&["policy", "test", "current", &table]).status.code(), Some(0));
    let told = world.json(&["policy", "diff", "strict", "current", "--json"]);
    assert!(told["rules"].to_string().contains("repo.write"), "{told:#}");
    let told = world.json(&["policy", "simulate", "current", "--json"]);
    assert!(told["sources"].to_string().contains(".enclos.toml"), "{told:#}");

    let elsewhere = |args: &[&str]| {
        let output = world.enclos(args).current_dir("/").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(elsewhere(&make)["verdict"], "ask", "where no session could be opened, no repository counts");
    let repo = text(&world.repo());
    let named = ["policy", "explain-command", "--repo", &repo, "--json", "--", "make"];
    assert_eq!(elsewhere(&named)["rule"], "repo.make");
    let named = ["policy", "diff", "strict", "current", "--repo", &repo, "--json"];
    assert!(elsewhere(&named)["rules"].to_string().contains("repo.write"));
    assert_eq!(world.output(&["policy", "test", &table, "--repo", "/"]).status.code(), Some(2));
}

#[test]
fn a_broken_file_of_the_repository_is_an_error_wherever_its_policy_counts() {
    let world = World::new();
    world.write(".enclos.toml", "[[rule]]\ntool = \"bash\"\nverdct = \"ask\"\n");
    let table = file(&world, "t.cases.toml", "[[case]]\ntool = \"read\"\nverdict = \"allow\"\n");
    let commands: [&[&str]; 5] = [
        &["policy", "explain", "--tool", "write"],
        &["policy", "explain-command", "--", "ls"],
        &["policy", "test", "current", &table],
        &["policy", "diff", "current", "strict"],
        &["policy", "simulate", "current"],
    ];
    for args in commands {
        let told = refused(&world, args);
        assert!(told.contains("verdct") && told.contains(".enclos.toml"), "{args:?}: {told}");
    }
    let told = world.json(&["policy", "explain-command", "--base", "allow", "--json", "--", "ls"]);
    assert_eq!((&told["verdict"], &told["rule"]), (&"allow".into(), &Value::Null), "no policy counts here");
}

#[test]
fn a_policy_that_is_gone_is_refused_by_whoever_asks_what_is_in_force() {
    let world = World::new();
    let saved = file(&world, "p.toml", "name = \"p\"\n[[rule]]\ntool = \"bash\"\nverdict = \"disabled\"\n");
    world.json(&["policy", "apply", &saved, "--json"]);
    std::fs::remove_file(world.home().join("policy.toml")).unwrap();
    let commands: [&[&str]; 6] = [
        &["policy", "explain", "--tool", "bash"],
        &["policy", "explain-command", "--", "ls"],
        &["policy", "test", "current"],
        &["policy", "diff", "current", "strict"],
        &["policy", "simulate", "current"],
        &["policy", "show"],
    ];
    for args in commands {
        let told = refused(&world, args);
        assert!(told.contains("but its version 1 is in force"), "{args:?}: {told}");
        assert!(told.contains("policy rollback --scope instance --to 1"), "{args:?}: {told}");
    }
    let output = world.output(&["sandbox", "run", "--", "true"]);
    assert_eq!(output.status.code(), Some(125), "the code of a command that never ran");
    let told = String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("but its version 1 is in force"), "{told}");
}

#[test]
fn a_question_is_explained_with_who_approves_and_what_shadow_rules_would_say() {
    let world = World::new();
    let policy = file(&world, "asks.toml", ASKS);
    let ask = ["policy", "explain", "--tool", "edit", "--args", r#"{"path":"ci.yml"}"#, "--policy", &policy];
    let told = world.json(&[&ask[..], &["--json"]].concat());
    let approve = serde_json::json!({"role": "maintainer", "quorum": 2, "person": true, "remember": false});
    assert_eq!((&told["rule"], &told["approve"]), (&"asks.ci".into(), &approve), "{told:#}");
    assert_eq!(told["shadow"][0]["rule"], "asks.later", "{told:#}");
    let shown = String::from_utf8(world.output(&ask).stdout).unwrap();
    for words in [
        "maintainer approves, 2 approvers, a person only, each time",
        "owner on terminal",
        "shadow, would say disabled",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn calls_are_explained_for_the_role_and_surface_that_are_named() {
    let world = World::new();
    let policy = file(&world, "asks.toml", ASKS);
    let write = |role: &[&str]| {
        let args = ["policy", "explain", "--tool", "write", "--policy", &policy, "--json"];
        world.json(&[&args[..], role].concat())
    };
    assert_eq!(write(&[])["rule"], "asks.owners");
    assert_eq!(write(&["--role", "developer"])["rule"], "default.write");
    let test = |more: &[&str]| {
        let args = ["policy", "explain-command", "--policy", &policy, "--json"];
        world.json(&[&args[..], more, &["--", "cargo", "test"]].concat())
    };
    assert_eq!((test(&[])["role"].clone(), test(&[])["verdict"].clone()), ("owner".into(), "ask".into()));
    let told = test(&["--role", "developer", "--surface", "web"]);
    assert_eq!(
        (&told["verdict"], &told["rule"], &told["surface"]),
        (&"allow".into(), &"asks.test".into(), &"web".into())
    );
    let args =
        ["policy", "explain", "--tool", "bash", "--args", r#"{"command":"cargo test"}"#, "--role", "reader"];
    let told = world.json(&[&args[..], &["--policy", &policy, "--json"]].concat());
    assert_eq!(told["considered"][0]["why"], "for another role", "{told:#}");
}

#[test]
fn a_tool_or_an_argument_that_does_not_exist_is_said_with_what_is_near() {
    let world = World::new();
    let told = world.json(&["policy", "explain", "--tool", "wirte", "--json"]);
    let note = told["notes"][0].as_str().unwrap();
    assert!(note.contains("`wirte`") && note.contains("did you mean `write`?"), "{note}");
    assert_eq!(told["verdict"], "ask");
    assert!(refused(&world, &["policy", "explain", "--tool", ""]).contains("`--tool` is empty"));
    let args = |args: &'static str| ["policy", "explain", "--tool", "edit", "--args", args];
    assert_eq!(world.output(&args(r#"{"path":"ci.yml"}"#)).status.code(), Some(0));
    assert!(refused(&world, &args(r#"{"pth":"ci.yml"}"#)).contains("did you mean `path`?"));
    assert!(refused(&world, &args(r#"{"path":7}"#)).contains("/path"));
}

#[test]
fn a_command_under_a_disabled_bash_names_rule_scope_and_reason() {
    let world = World::new();
    let policy = "name = \"calm\"\n[[rule]]\nid = \"calm.bash\"\ntool = \"bash\"\nverdict = \"disabled\"\nreason = \"no commands here\"\n";
    let policy = file(&world, "calm.toml", policy);
    let output = world.output(&["policy", "explain-command", "--policy", &policy, "--", "ls"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    for words in ["disabled", "calm.bash", "project", "calm.toml", "no commands here"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn the_same_text_in_force_and_in_a_file_is_no_difference() {
    let world = World::new();
    let same = file(&world, "same.toml", CANDIDATE);
    world.json(&["policy", "apply", &same, "--json"]);
    let shown = world.output(&["policy", "diff", "current", &same]).stdout;
    assert_eq!(String::from_utf8(shown).unwrap(), "Both say the same.\n");
}

#[test]
fn a_table_under_another_name_is_recognised() {
    let world = World::new();
    let table = file(&world, "team.toml", "[[case]]\ncommand = \"ls\"\nverdict = \"ask\"\n");
    for args in [
        ["policy", "test", "strict", &table].as_slice(),
        &["policy", "test", &table],
        &["policy", "check", &table],
    ] {
        let told = refused(&world, args);
        assert!(told.contains("is a table of expectations"), "{args:?}: {told}");
    }
    assert!(refused(&world, &["policy", "test", &table]).contains("`….cases.toml`"));
}
