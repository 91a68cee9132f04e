//! The one door out: what a session made is shown, applied whole or by file, exported, or refused.

use serde_json::json;

use crate::harness::{World, bash, call, program, say, streamed, text, turn};

fn write(path: &str, content: &str) -> serde_json::Value {
    call("write", json!({"path": path, "content": content}))
}

#[test]
fn a_patch_is_taken_by_git_apply_and_gives_the_same_tree() {
    let world = World::new();
    let command = "echo four >> hello.txt; git mv src/lib.sh src/moved.sh; printf '\\0\\1\\2' > bin.dat; \
                   ln -s hello.txt link; printf '#!/bin/sh\\n' > tool; chmod +x tool; mkdir -p deep/er; echo x > 'deep/er/a b.txt'";
    let model = world.script(&[turn(&[bash(command)]), say("done")]);
    let patch = text(&world.path("out.patch"));
    let args = streamed(&model, &["--preset", "balanced", "--patch"]);
    let run = world.headless(&[args.as_slice(), &[&patch, "t"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let flagged: Vec<&str> = run.of("changeset")[0]["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["flags"].as_array().is_some_and(|flags| !flags.is_empty()))
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(flagged, ["tool"], "a new execute bit needs its own yes, and is not in the patch");
    let clone = world.path("clone");
    let cloned = program("git").args(["clone", "-q"]).arg(world.repo()).arg(&clone).status().unwrap();
    assert!(cloned.success());
    let applied = program("git").arg("-C").arg(&clone).args(["apply", &patch]).output().unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(std::fs::read(clone.join("bin.dat")).unwrap(), [0, 1, 2]);
    assert_eq!(std::fs::read_link(clone.join("link")).unwrap().to_str(), Some("hello.txt"));
    assert!(clone.join("src/moved.sh").exists() && !clone.join("src/lib.sh").exists());
    assert_eq!(std::fs::read_to_string(clone.join("deep/er/a b.txt")).unwrap(), "x\n");
}

#[test]
fn a_change_set_is_applied_by_file_and_then_whole() {
    let world = World::new();
    let calls = [write("a.txt", "a\n"), write("b.txt", "b\n"), write("Makefile", "all:\n\ttrue\n")];
    let run = world.run("balanced", &[turn(&calls), say("done")]);
    let session = run.session();
    assert_eq!(run.of("changeset")[0]["flagged"], 1);
    let applied = world.output(&["apply", &session, "--files", "a.txt"]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(world.read("a.txt"), "a\n");
    assert!(!world.repo().join("b.txt").exists());
    let applied = world.output(&["apply", &session]);
    assert!(applied.status.success());
    assert_eq!(world.read("b.txt"), "b\n");
    assert!(!world.repo().join("Makefile").exists(), "a flagged file needs its own yes");
    let applied = world.output(&["apply", &session, "--files", "Makefile"]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(world.sessions()[0]["outcome"], "accepted");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_tree_that_moved_is_merged_three_way_or_nothing_is_applied() {
    let world = World::new();
    let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
    world.write("long.txt", &(lines.join("\n") + "\n"));
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "long"]);
    let edit = call("edit", json!({"path": "long.txt", "old": "line 5\n", "new": "line five\n"}));
    let run = world.run("balanced", &[turn(&[edit.clone(), write("new.txt", "n\n")]), say("done")]);
    world.write("long.txt", &world.read("long.txt").replace("line 25\n", "line twenty-five\n"));
    let applied = world.output(&["apply", &run.session()]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert!(world.read("long.txt").contains("line five\n") && world.read("long.txt").contains("twenty-five"));
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "merged"]);
    let edit = call("edit", json!({"path": "long.txt", "old": "line 9\n", "new": "line nine\n"}));
    let run = world.run("balanced", &[turn(&[edit, write("other.txt", "o\n")]), say("done")]);
    world.write("long.txt", &world.read("long.txt").replace("line 9\n", "line IX\n"));
    let before = world.read("long.txt");
    let applied = world.output(&["apply", &run.session()]);
    assert!(!applied.status.success());
    let stderr = String::from_utf8(applied.stderr).unwrap();
    assert!(stderr.contains("long.txt"), "{stderr}");
    assert_eq!(world.read("long.txt"), before);
    assert!(!world.repo().join("other.txt").exists(), "all or nothing");
}

#[test]
fn a_refused_change_set_leaves_nothing_and_closes_the_session() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[write("a.txt", "a\n")]), say("done")]);
    let diff = world.output(&["diff", &run.session(), "--patch"]);
    assert!(String::from_utf8(diff.stdout).unwrap().contains("+++ b/a.txt"));
    assert!(world.output(&["discard", &run.session()]).status.success());
    assert!(!world.repo().join("a.txt").exists());
    assert_eq!(world.sessions()[0]["outcome"], "rejected");
    assert_eq!(world.output(&["apply", &run.session()]).status.code(), Some(2));
}

#[test]
fn ignored_files_are_hidden_from_a_session_and_what_it_makes_of_them_stays_out() {
    let world = World::new();
    world.write(".gitignore", "*.env\ntarget/\n");
    world.write("prod.env", "KEY=canary\n");
    world.git(&["add", ".gitignore"]);
    world.git(&["commit", "-qm", "ignore"]);
    let command = "cat prod.env; mkdir -p target; echo x > target/out; echo y > local.env; echo z > kept.txt";
    let run = world.run("balanced", &[turn(&[bash(command)]), say("done")]);
    let shown: String = run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(!shown.contains("canary"), "{shown}");
    let files = run.of("changeset")[0]["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0]["path"], "kept.txt");
}

#[test]
fn what_was_not_shown_is_not_applied() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[write("a.txt", "good\n")]), say("done")]);
    let layer = world.home().join("sessions").join(run.session()).join("layer/upper/a.txt");
    std::fs::write(layer, "changed behind the person's back\n").unwrap();
    let applied = world.output(&["apply", &run.session()]);
    assert_eq!(applied.status.code(), Some(4), "{}", String::from_utf8_lossy(&applied.stderr));
    assert!(!world.repo().join("a.txt").exists());
    assert!(world.output(&["diff", &run.session()]).status.success());
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert!(world.read("a.txt").starts_with("changed"));
}
