//! Errors as a script reads them: one object on the standard error, the standard output left to reports.

use serde_json::{Value, json};

use crate::harness::{World, say};

/// The error of a command that was refused with this code.
fn error(world: &World, args: &[&str], code: i32) -> Value {
    let output = world.output(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{args:?}: {stderr}");
    let told: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(told["error"]["exit_code"], code, "{told}");
    assert_eq!(told.as_object().map(serde_json::Map::len), Some(1), "{told}");
    told["error"].clone()
}

#[test]
fn a_wrong_command_line_is_an_object_that_names_the_argument() {
    let world = World::new();
    let told = error(&world, &["sessions", "--bogus", "--json"], 2);
    assert_eq!((&told["kind"], &told["field"]), (&json!("usage"), &json!("--bogus")));
    assert!(told["message"].as_str().is_some_and(|message| !message.starts_with("error")), "{told}");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("Usage: enclos sessions")), "{told}");
    let told = error(&world, &["run", "--headless", "--output", "json", "--on-ask", "allow", "x"], 2);
    assert_eq!(told["kind"], "usage");
    let told = error(&world, &["run", "--headless", "--output", "stream-json"], 2);
    assert!(told["message"].as_str().is_some_and(|message| message.contains("needs a task")), "{told}");
    let plain = world.output(&["sandbox", "run", "--bogus", "--", "--json"]);
    assert!(plain.stderr.starts_with(b"error: "), "a command's own words ask for nothing");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named_by_file_line_and_variable() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    let file = world.home().join("config.toml");
    std::fs::write(&file, "preset = \"strict\"\nmodle = \"x\"\n").unwrap();
    let told = error(&world, &["sessions", "--json"], 2);
    let place = (&told["kind"], &told["file"], &told["line"]);
    assert_eq!(place, (&json!("configuration"), &json!(file), &json!(2)));
    let world = World::new().with("ENCLOS_SESSION_MAX_ACTIONS", "many");
    let told = error(&world, &["approvals", "--json"], 2);
    assert_eq!(told["kind"], "configuration");
    assert_eq!(told["field"], "ENCLOS_SESSION_MAX_ACTIONS");
}

#[test]
fn a_name_of_nothing_is_not_found() {
    let world = World::new();
    for args in
        [&["show", "zzzz", "--json"][..], &["approve", "ap_x_1", "--json"], &["diff", "last", "--json"]]
    {
        assert_eq!(error(&world, args, 2)["kind"], "not_found", "{args:?}");
    }
    let args = &["grants", "revoke", "gr_none", "--json"];
    assert!(error(&world, args, 2)["hint"].as_str().is_some_and(|hint| hint.contains("enclos grants")));
}

#[test]
fn a_bad_policy_is_named_by_file_line_and_key_whoever_reads_it() {
    let world = World::new();
    let bad = world.path("bad.toml");
    std::fs::write(&bad, "name = \"p\"\n\n[[rules]]\ntool = \"bash\"\n").unwrap();
    let table = world.path("table.toml");
    std::fs::write(&table, "\n\n[[case]]\ncommand = \"ls\"\nverdict = \"ask\"\n").unwrap();
    for (file, key) in [(&bad, "rules"), (&table, "case")] {
        let name = file.to_str().unwrap();
        let mut messages = Vec::new();
        for args in [
            &["policy", "check", name, "--json"][..],
            &["policy", "apply", name, "--json"],
            &["policy", "explain", "--tool", "bash", "--policy", name, "--json"],
            &["policy", "test", name, "--json"],
            &["policy", "diff", name, "strict", "--json"],
        ] {
            let told = error(&world, args, 2);
            let place = (&told["kind"], &told["file"], &told["line"], &told["field"]);
            assert_eq!(place, (&json!("configuration"), &json!(name), &json!(3), &json!(key)), "{args:?}");
            messages.push(told["message"].clone());
        }
        assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
    }
}

#[test]
fn an_unreachable_model_is_an_error_besides_the_report() {
    let world = World::new();
    let model = "openai:http://127.0.0.1:9/v1#none";
    for output in ["json", "stream-json"] {
        let args = ["run", "--headless", "--output", output, "--model", model, "t"];
        let told = error(&world, &args, 6);
        assert_eq!(told["kind"], "unreachable");
        assert!(told["message"].as_str().is_some_and(|message| message.contains("127.0.0.1:9")), "{told}");
        assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("enclos resume")), "{told}");
    }
    let done = world.output(&[
        "run",
        "--headless",
        "--output",
        "json",
        "--model",
        &world.script(&[say("done")]),
        "t",
    ]);
    assert_eq!((done.status.code(), done.stderr.as_slice()), (Some(0), &b""[..]), "no error, no object");
}
