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
