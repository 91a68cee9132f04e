//! Settings that cannot be read are exit 2, and nothing is started.

use crate::harness::{World, say};

fn refused(world: &World, args: &[&str], expected: &str) {
    let output = world.output(args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(expected), "{stderr}");
    let sessions = std::fs::read_dir(world.home().join("sessions"));
    assert_eq!(sessions.map_or(0, Iterator::count), 0, "no session was begun");
}

#[test]
fn an_unknown_place_is_refused() {
    for value in ["Server", "cloud", ""] {
        let world = World::new().with("ENCLOS_AGENT_EXECUTION", value);
        let model = world.script(&[say("done")]);
        refused(&world, &["run", "--headless", "--model", &model, "t"], "ENCLOS_AGENT_EXECUTION");
    }
}

#[test]
fn an_unknown_key_of_the_configuration_is_refused_with_its_line() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.toml"), "preset = \"strict\"\nmodle = \"x\"\n").unwrap();
    let model = world.script(&[say("done")]);
    refused(&world, &["run", "--headless", "--model", &model, "t"], "line 2");
}

#[test]
fn an_interactive_run_without_a_terminal_is_refused_with_the_hint() {
    let world = World::new();
    let model = world.script(&[say("done")]);
    refused(&world, &["run", "--model", &model, "t"], "--headless");
}

#[test]
fn a_missing_model_a_missing_script_and_an_unknown_preset_are_usage_errors() {
    let world = World::new();
    refused(&world, &["run", "--headless", "t"], "--model");
    refused(&world, &["run", "--headless", "--model", "script:/nowhere.json", "t"], "/nowhere.json");
    let model = world.script(&[say("done")]);
    refused(&world, &["run", "--headless", "--model", &model, "--preset", "lax", "t"], "lax");
}

#[test]
fn a_policy_that_is_not_understood_whole_gives_no_tool_at_all() {
    let world = World::new();
    let model = world.script(&[say("done")]);
    let policy = world.path("policy.toml");
    std::fs::write(&policy, "name = \"p\"\n[[rule]]\ntool = \"bash\"\nverdct = \"allow\"\n").unwrap();
    refused(
        &world,
        &["run", "--headless", "--model", &model, "--policy", policy.to_str().unwrap(), "t"],
        "verdct",
    );
}

/// Whether sandboxes of this machine are of the level `hard`, as `doctor` says.
fn machine_is_hard(world: &World) -> bool {
    let output = world.output(&["doctor", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = told["checks"].as_array().or(told.as_array()).unwrap();
    let isolation = checks.iter().find(|check| check["name"] == "isolation").expect("doctor tells the level");
    isolation["result"] == "ok"
}

#[test]
fn a_policy_that_demands_more_isolation_than_there_is_opens_no_session() {
    let world = World::new();
    let policy = world.path("policy.toml");
    let text = |level: &str| {
        format!(
            "name = \"p\"\n[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n[execution]\nisolation = \"{level}\"\n"
        )
    };
    let model = world.script(&[crate::harness::turn(&[crate::harness::bash("echo ran")]), say("done")]);
    let args = [
        "run",
        "--headless",
        "--output",
        "stream-json",
        "--model",
        &model,
        "--policy",
        policy.to_str().unwrap(),
        "t",
    ];
    std::fs::write(&policy, text("standard")).unwrap();
    let run = world.headless(&args);
    assert_eq!(run.of("call.done").len(), 1, "what every machine has is enough: {}", run.stderr);
    std::fs::write(&policy, text("hard")).unwrap();
    let output = world.output(&args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if machine_is_hard(&world) {
        assert!(output.status.success(), "{stderr}");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in ["policy.toml", "execution.isolation", "standard", "quota", "enclos doctor"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(!String::from_utf8_lossy(&output.stdout).contains("call.calling"), "nothing ran");
    let sessions = world.sessions();
    let closed = sessions.iter().filter(|session| session["outcome"] == "failed").count();
    assert_eq!(closed, 1, "the session that was refused is closed: {sessions:?}");
    let by_hand = world.output(&["sandbox", "run", "--policy", policy.to_str().unwrap(), "--", "echo ran"]);
    assert!(!String::from_utf8_lossy(&by_hand.stdout).contains("ran"), "a sandbox by hand neither");
    assert!(world.verified()["result"] == "ok");
}
