//! What lies inside a repository besides its own files: other repositories, files of Git LFS, pipes, other file systems,
//! ignored files that a policy names.

use serde_json::{Value, json};

use crate::harness::{Run, World, bash, call, program, say, streamed, text, turn};

fn shown(run: &Run) -> String {
    run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect()
}

fn notes(run: &Run) -> String {
    run.of("session.opened").iter().map(|event| event["notes"].to_string()).collect()
}

fn notices(run: &Run) -> String {
    run.of("notice").iter().map(ToString::to_string).collect()
}

fn append(path: &str) -> Value {
    bash(&format!("echo more >> {path}"))
}

/// A world with a submodule `sub`, which holds `x.txt`.
fn with_submodule() -> World {
    let world = World::new();
    let other = world.path("other");
    let git = |folder: &str, args: &[&str]| {
        let mut command = program("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-C", folder]).args(args);
        assert!(command.output().unwrap().status.success(), "{args:?}");
    };
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("x.txt"), "x\n").unwrap();
    let other = text(&other);
    git(&other, &["init", "-q", "-b", "main"]);
    git(&other, &["add", "."]);
    git(&other, &["commit", "-qm", "other"]);
    world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &other, "sub"]);
    world.git(&["commit", "-qm", "a submodule"]);
    world
}

#[test]
fn a_change_below_a_submodule_goes_into_its_own_tree_and_is_remarked() {
    let world = with_submodule();
    let look = bash("git status --short; ls -A sub; git diff --stat");
    let turns = [turn(&[look]), turn(&[append("sub/x.txt"), append("hello.txt")]), say("done")];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(notes(&run).contains("below the submodule `sub`: commit there"), "{}", notes(&run));
    assert_eq!(shown(&run).trim(), "x.txt", "clean, and without its `.git`");
    assert!(notices(&run).contains("below the submodule `sub`: commit there"), "{}", notices(&run));
    let diff = world.output(&["diff", &run.session()]);
    let diff = String::from_utf8_lossy(&diff.stdout).into_owned();
    assert!(diff.contains("below the submodule `sub`: commit there"), "{diff}");
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert_eq!(world.read("sub/x.txt"), "x\nmore\n");
    assert_eq!(world.git(&["-C", "sub", "status", "--short"]), " M x.txt\n");
}

#[test]
fn a_submodule_that_is_not_checked_out_is_told_and_git_works() {
    let world = with_submodule();
    world.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    let look = bash("git status --short; ls -A sub; git log --oneline | wc -l; echo end");
    let run = world.run("balanced", &[turn(&[look]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(notes(&run).contains("the submodule `sub` is not checked out"), "{}", notes(&run));
    assert!(notes(&run).contains("git submodule update --init"), "{}", notes(&run));
    assert_eq!(shown(&run), "2\nend\n");
}

#[test]
fn a_repository_that_is_no_submodule_is_told_as_one_of_its_own() {
    let world = World::new();
    world.write("tool/t.txt", "t\n");
    assert!(program("git").args(["init", "-q"]).arg(world.repo().join("tool")).status().unwrap().success());
    let look = bash("git status --short; ls -A tool");
    let run = world.run("balanced", &[turn(&[look]), turn(&[append("tool/t.txt")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(notes(&run).contains("below the repository of its own `tool`: commit there"), "{}", notes(&run));
    assert!(shown(&run).ends_with("t.txt\n") && !shown(&run).contains(".git"), "{}", shown(&run));
    assert!(
        notices(&run).contains("below the repository of its own `tool`: commit there"),
        "{}",
        notices(&run)
    );
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert_eq!(world.read("tool/t.txt"), "t\nmore\n");
}

#[test]
fn a_change_of_a_file_of_git_lfs_is_remarked() {
    let world = World::new();
    world.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    world.write("a.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "lfs"]);
    let run = world.run("balanced", &[turn(&[bash("printf new > a.bin"), append("hello.txt")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        notices(&run).contains("kept by Git LFS") && notices(&run).contains("`a.bin`"),
        "{}",
        notices(&run)
    );
    assert!(!notices(&run).contains("hello.txt"), "{}", notices(&run));
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert_eq!(world.read("a.bin"), "new");
}

#[test]
fn pipes_and_sockets_are_not_shown_and_are_named() {
    let world = World::new();
    let pipe = world.repo().join("pipe");
    assert!(program("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(world.repo().join("sock")).unwrap();
    let run = world.run("balanced", &[turn(&[bash("ls -A; echo x > new")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!shown(&run).contains("pipe") && !shown(&run).contains("sock"), "{}", shown(&run));
    assert!(notes(&run).contains("named pipes, sockets and devices are not shown"), "{}", notes(&run));
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert!(world.repo().join("new").exists() && pipe.symlink_metadata().is_ok());
}

#[test]
fn ignored_files_come_in_only_when_the_policy_names_them() {
    let world = World::new();
    world.write(".gitignore", "/data/\n*.log\n");
    world.write("data/a.csv", "one\n");
    world.write("data/b.txt", "canary\n");
    world.write("data/.env", "KEY=canary\n");
    world.write("x.log", "canary\n");
    let look = || {
        [
            turn(&[bash(
                "cat data/* data/.env *.log 2>/dev/null; [ -e data ] && echo w >> data/a.csv; echo w > new",
            )]),
            say("done"),
        ]
    };
    let run = world.run("balanced", &look());
    assert_eq!(shown(&run), "", "{}", run.stderr);
    world.git(&["add", ".gitignore"]);
    let policy = world.path("p.toml");
    let balanced = include_str!("../../policies/balanced.toml");
    let written = format!("{balanced}\n[repository]\nignored = [\"*.csv\", \"data/.env*\"]\n");
    std::fs::write(&policy, written).unwrap();
    let applied = world.output(&["policy", "apply", &text(&policy)]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let run = world.run("balanced", &look());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(shown(&run), "one\n", "{}", notes(&run));
    assert!(notes(&run).contains("part of no change set: data/a.csv"), "{}", notes(&run));
    assert!(
        notes(&run).contains("look like credentials") && notes(&run).contains("data/.env"),
        "{}",
        notes(&run)
    );
    assert!(world.output(&["apply", &run.session()]).status.success());
    assert_eq!(world.read("data/a.csv"), "one\n", "what a session makes of them stays in it");
    std::fs::write(&policy, "name = \"p\"\n[repository]\nignored = [\"../x\"]\n").unwrap();
    let refused = world.output(&["policy", "apply", &text(&policy)]);
    assert_ne!(refused.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("../x"));
}

/// As root, since only root mounts: another file system in the tree is taken in by a copy, which is told, journaled, found
/// again after a kill, and applied like any other; and which cannot be gone back in.
#[test]
fn a_session_on_a_copy_is_told_journaled_resumed_and_applied() {
    let world = World::new();
    let point = text(&world.repo().join("data"));
    std::fs::create_dir(&point).unwrap();
    if !program("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs", &point])
        .output()
        .unwrap()
        .status
        .success()
    {
        return;
    }
    let result = std::panic::catch_unwind(|| on_a_copy(&world));
    assert!(program("umount").arg(&point).status().unwrap().success());
    result.unwrap();
}

fn on_a_copy(world: &World) {
    world.write("data/in.txt", "in\n");
    let slow = json!({"text": "thinking", "calls": [bash("cat data/in.txt hello.txt")], "chunks": 2, "delay_ms": 400});
    let turns =
        [turn(&[append("data/in.txt"), call("delete", json!({"path": "src/lib.sh"}))]), slow, say("done")];
    let model = world.script(&turns);
    let args = streamed(&model, &["--preset", "open", "do it"]);
    let mut watched = world.start(&args);
    let opened = watched.until_type("session.opened");
    let said = opened["notes"].to_string();
    assert!(said.contains("workspace: copy, since another file system is mounted at `data`"), "{said}");
    let delta = watched.until(|event| event["type"] == "message.delta");
    let session = delta["session"].as_str().unwrap().to_owned();
    watched.kill();
    let run = world.resumed(&session);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(notes(&run).contains("workspace: copy, since another file system"), "{}", notes(&run));
    assert!(shown(&run).contains("in\nmore\none\n"), "{}", shown(&run));
    let file = world.path("journal.jsonl");
    assert!(world.output(&["journal", "export", "-o", &text(&file)]).status.success());
    let exported = std::fs::read_to_string(file).unwrap();
    assert!(exported.contains("another file system is mounted at `data`"), "{exported}");
    let undone = world.output(&["undo", &session]);
    assert_eq!(undone.status.code(), Some(4), "{}", String::from_utf8_lossy(&undone.stdout));
    assert!(
        String::from_utf8_lossy(&undone.stderr).contains("is a copy"),
        "{}",
        String::from_utf8_lossy(&undone.stderr)
    );
    let applied = world.output(&["apply", &session]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(world.read("data/in.txt"), "in\nmore\n");
    assert!(!world.repo().join("src/lib.sh").exists());
    assert_eq!(world.verified()["result"], "ok");
}
