//! Kinds of repository: without git, without a commit, bare, linked, a home folder; and the demonstration.

use serde_json::json;

use crate::harness::{World, bash, call, program, say, streamed, text, turn};

fn shown(run: &crate::harness::Run) -> String {
    run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect()
}

#[test]
fn a_folder_without_git_works_and_has_no_git_inside() {
    let world = World::bare_folder();
    world.write("a.txt", "a\n");
    let run = world.run("balanced", &[turn(&[bash("ls -a; echo b >> a.txt")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!shown(&run).contains(".git"));
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert_eq!(world.read("a.txt"), "a\nb\n");
}

#[test]
fn a_repository_without_a_commit_has_an_empty_history() {
    let world = World::bare_folder();
    world.write("a.txt", "a\n");
    world.git(&["init", "-q"]);
    let run =
        world.run("balanced", &[turn(&[bash("git status --short; git log 2>&1 | head -1")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(shown(&run).contains("a.txt"), "{}", shown(&run));
}

#[test]
fn a_linked_worktree_is_resolved() {
    let world = World::new();
    let linked = world.path("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);
    let model = world.script(&[turn(&[bash("git log --oneline; git status --short --branch")]), say("done")]);
    let linked = text(&linked);
    let args = streamed(&model, &["--preset", "balanced", "--repo", &linked, "t"]);
    let run = world.headless(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(shown(&run).contains("first") && shown(&run).contains("side"), "{}", shown(&run));
}

#[test]
fn bare_repositories_and_wide_folders_are_exit_two() {
    let world = World::new();
    let bare = world.path("bare.git");
    assert!(program("git").args(["init", "-q", "--bare"]).arg(&bare).status().unwrap().success());
    let model = world.script(&[say("done")]);
    std::fs::create_dir_all(world.path("home")).unwrap();
    for folder in [text(&bare), "/".to_owned(), text(&world.path("home")), text(&world.path("nowhere"))] {
        let output = world.output(&["run", "--headless", "--model", &model, "--repo", &folder, "t"]);
        assert_eq!(output.status.code(), Some(2), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn two_sessions_on_one_repository_share_nothing() {
    let world = World::new();
    let write = |name: &str| call("write", json!({"path": name, "content": "x\n"}));
    let first = world.run("balanced", &[turn(&[write("one.txt")]), say("done")]);
    let second = world.run("balanced", &[turn(&[write("two.txt"), bash("ls")]), say("done")]);
    assert!(!shown(&second).contains("one.txt"));
    assert!(world.output(&["apply", &first.session()]).status.success());
    assert!(world.output(&["apply", &second.session()]).status.success());
    assert!(world.repo().join("one.txt").exists() && world.repo().join("two.txt").exists());
}

#[test]
fn the_demonstration_answers_itself_and_ends_well() {
    let world = World::bare_folder();
    let output = world.output(&["demo", "--yes"]);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("verif"), "{stdout}");
}

#[test]
fn a_filter_that_a_repository_names_is_never_run() {
    let world = World::new();
    let proof = world.path("ran");
    world.write(".gitattributes", "*.txt filter=x\n");
    world.git(&["config", "filter.x.clean", &format!("sh -c 'touch {}; cat'", text(&proof))]);
    world.write("hello.txt", "one\nTWO\nthree\n");
    let run = world.run("strict", &[say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!proof.exists(), "a program of the repository ran on the host");
}

#[test]
fn of_an_ignored_folder_only_what_is_tracked_is_seen() {
    let world = World::new();
    world.write(".gitignore", "config/\n");
    world.write("config/example.yml", "example\n");
    world.write("config/prod.key", "canary\n");
    world.git(&["add", "-f", ".gitignore", "config/example.yml"]);
    world.git(&["commit", "-qm", "config"]);
    let run = world.run("balanced", &[turn(&[bash("cat config/*")]), say("done")]);
    assert!(shown(&run).contains("example") && !shown(&run).contains("canary"), "{}", shown(&run));
}
