//! A turn, or everything from a call on, is undone: the files of the session and nothing else.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{Run, World, bash, call, eventually, say, streamed, turn};

/// Everything that a first turn may do.
const FIRST: &str = "echo four >> hello.txt; mkdir -p deep/er; echo x > 'deep/er/a b.txt'; printf '\\0\\1' > bin.dat; \
                     ln -s hello.txt link; printf '#!/bin/sh\\n' > tool; chmod +x tool; mv src/lib.sh src/moved.sh";

/// And a second one to it.
const SECOND: &str = "echo five > hello.txt; rm -rf deep; echo file > deep; rm link; ln -s /etc link; chmod -x tool; \
                      mv src/moved.sh lib.sh; rmdir src; mkfifo pipe; mkdir closed; echo x > closed/x; chmod 000 closed";

fn write(path: &str, content: &str) -> Value {
    call("write", json!({"path": path, "content": content}))
}

/// A session with these turns, the first of which was run.
fn session(world: &World, turns: &[Value]) -> String {
    let run = world.run("balanced", turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.session()
}

fn resume(world: &World, session: &str, message: &str) -> Run {
    let run = world.headless(&["resume", session, "--headless", "--output", "stream-json", message]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

fn patch(world: &World, session: &str) -> Vec<u8> {
    let output = world.output(&["diff", session, "--patch"]);
    assert!(output.status.success(), "{}", stderr(&output));
    output.stdout
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An undo that is done.
fn undo(world: &World, args: &[&str]) -> Value {
    let output = world.output(&[&["undo"], args, &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An undo that is refused with an exit code.
fn refused(world: &World, args: &[&str], code: i32) -> String {
    let output = world.output(&[&["undo"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    stderr(&output)
}

fn timeline(world: &World, session: &str) -> Vec<(String, String)> {
    let shown = world.output(&["show", session, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let lines = shown["timeline"].as_array().unwrap().iter();
    lines.map(|line| (line["kind"].as_str().unwrap().into(), line["text"].as_str().unwrap().into())).collect()
}

#[test]
fn the_last_turn_is_undone_to_the_same_patch_and_the_session_goes_on() {
    let world = World::new();
    let edit = call("edit", json!({"path": "hello.txt", "old": "one\n", "new": "ONE\n"}));
    let delete = call("delete", json!({"path": "bin.dat"}));
    let turns = [
        turn(&[bash(FIRST), write("made.txt", "made\n")]),
        say("first"),
        turn(&[bash(SECOND), edit, delete, write("made.txt", "other\n"), write("new.txt", "new\n")]),
        say("second"),
        turn(&[bash("cat hello.txt made.txt; ls new.txt closed pipe deep; ./tool; readlink link")]),
        say("third"),
    ];
    let id = session(&world, &turns);
    let tree = world.git(&["status", "--porcelain"]);
    let after_first = patch(&world, &id);
    resume(&world, &id, "go on");
    let after_second = patch(&world, &id);
    assert_ne!(after_first, after_second);

    let undone = undo(&world, &["last"]);
    assert_eq!(undone["to"], "call_3");
    assert_eq!(undone["session_state"], "waiting_input");
    for (list, path) in [("restored", "hello.txt"), ("recreated", "bin.dat"), ("removed", "new.txt")] {
        let files = undone[list].as_array().unwrap();
        assert!(files.iter().any(|file| file == path), "{list}: {undone:#}");
    }
    assert_eq!(patch(&world, &id), after_first);
    assert_eq!(world.git(&["status", "--porcelain"]), tree, "the person's tree is untouched");

    let run = resume(&world, &id, "look");
    let shown: String = run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(shown.contains("four\nmade\n") && shown.contains("\nhello.txt\n"), "{shown}");
    for gone in ["new.txt", "closed", "pipe"] {
        assert!(shown.contains(&format!("cannot access '{gone}'")), "{shown}");
    }
    assert!(shown.contains("er\n"), "{shown}");
    assert_eq!(patch(&world, &id), after_first);

    assert_eq!(world.verified()["result"], "ok");
    let lines = timeline(&world, &id);
    let of =
        |kind: &str| lines.iter().find(|(found, _)| found == kind).map(|(_, text)| text.clone()).unwrap();
    assert!(of("undo.begun").contains("to=call_3") && of("undo.begun").contains("automation(cli.undo)"));
    assert!(of("undo.done").contains("removed="), "{}", of("undo.done"));
    let journal = world.output(&["journal", "export", "--session", &id]);
    let journal = String::from_utf8(journal.stdout).unwrap();
    assert!(journal.contains("\"checkpoint\":\"complete\""), "{journal}");
}

#[test]
fn a_call_in_the_middle_is_gone_back_to_and_undoing_again_goes_on_to_the_turn_before() {
    let world = World::new();
    let turns = [
        turn(&[write("a.txt", "1\n"), write("a.txt", "2\n"), call("read", json!({"path": "a.txt"}))]),
        turn(&[write("a.txt", "3\n"), write("b.txt", "b\n")]),
        say("first"),
        turn(&[write("a.txt", "4\n")]),
        say("second"),
    ];
    let id = session(&world, &turns);
    resume(&world, &id, "go on");
    let now = |text: &str| {
        let patch = String::from_utf8(patch(&world, &id)).unwrap();
        assert!(patch.contains(&format!("+{text}\n")), "{text}: {patch}");
        assert_eq!(patch.contains("b.txt"), text == "3", "{patch}");
    };
    assert_eq!(undo(&world, &[&id])["to"], "call_6");
    now("3");
    assert_eq!(undo(&world, &[&id, "--to", "call_4"])["restored"], json!(["a.txt"]));
    now("2");
    assert_eq!(undo(&world, &[&id, "--to", "call_6"])["recreated"], json!(["b.txt"]));
    now("3");
    assert_eq!(undo(&world, &[&id])["to"], "call_1");
    assert!(patch(&world, &id).is_empty());
    assert!(refused(&world, &[&id], 2).contains("nothing to undo"));
    assert_eq!(undo(&world, &[&id, "--to", "call_2"])["recreated"], json!(["a.txt"]));
    now("1");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn what_cannot_be_meant_is_refused_by_name() {
    let world = World::new();
    let turns =
        [turn(&[call("read", json!({"path": "hello.txt"})), write("a.txt", "a\n")]), say("x"), say("y")];
    let id = session(&world, &turns);
    let told = refused(&world, &[&id, "--to", "call_22"], 2);
    assert!(told.contains("no call `call_22`") && told.contains("did you mean `call_2`?"), "{told}");
    let told = refused(&world, &[&id, "--to", "call_1"], 2);
    assert!(told.contains("changed no file") && told.contains("call_2 (write)"), "{told}");
    resume(&world, &id, "only talk");
    let told = refused(&world, &[&id], 2);
    assert!(told.contains("the last turn changed no file") && told.contains("--to call_2"), "{told}");
    let before = patch(&world, &id);
    assert!(world.output(&["discard", &id]).status.success());
    assert!(refused(&world, &[&id], 2).contains("closed"));
    assert!(!before.is_empty());
    let kept = world.home().join("sessions").join(&id).join("undo");
    assert!(!kept.exists(), "what was kept for undoing goes with the session's work");
}

#[test]
fn a_change_set_that_was_shown_before_an_undo_is_void() {
    let world = World::new();
    let turns = [turn(&[write("a.txt", "a\n")]), say("x"), turn(&[write("b.txt", "b\n")]), say("y")];
    let id = session(&world, &turns);
    resume(&world, &id, "go on");
    patch(&world, &id);
    undo(&world, &[&id]);
    assert_eq!(world.sessions()[0]["state"], "waiting_input");
    let applied = world.output(&["apply", &id]);
    assert!(stderr(&applied).contains("not the one that was shown last"), "{}", stderr(&applied));
    assert!(!world.repo().join("a.txt").exists());
    patch(&world, &id);
    let applied = world.output(&["apply", &id]);
    assert!(applied.status.success(), "{}", stderr(&applied));
    assert!(world.repo().join("a.txt").exists() && !world.repo().join("b.txt").exists());
}

#[test]
fn a_session_at_work_is_not_undone() {
    let world = World::new();
    let turns = [turn(&[write("a.txt", "a\n"), bash("sleep 60")]), say("x")];
    let model = world.script(&turns);
    let args = streamed(&model, &["--preset", "balanced", "t"]);
    let mut watched = world.start(&args);
    let calling = watched.until(|event| event["type"] == "call.calling" && event["tool"] == "bash");
    let id = calling["session"].as_str().unwrap().to_owned();
    let told = refused(&world, &[&id], 2);
    assert!(told.contains("at work") && told.contains("interrupt"), "{told}");
    watched.kill();
    // What ran was cut off with its gateway; now it is undone with the rest of the turn.
    let undone = undo(&world, &[&id]);
    assert_eq!(undone["removed"], json!(["a.txt"]));
    assert!(patch(&world, &id).is_empty());
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn over_the_bound_an_undo_is_refused_and_nothing_changed() {
    let world = World::new();
    let turns = [
        turn(&[write("a.txt", "1\n"), bash("truncate -s 70M big.bin"), write("a.txt", "2\n")]),
        turn(&[bash("rm big.bin"), write("a.txt", "3\n")]),
        say("x"),
    ];
    let run = world.run("balanced", &turns);
    let id = run.session();
    let notices: String = run.of("notice").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(notices.contains("cannot be undone") && notices.contains("big.bin"), "{notices}");
    let before = patch(&world, &id);
    let told = refused(&world, &[&id, "--to", "call_3"], 4);
    assert!(told.contains("`big.bin`: 64 MiB at most") && told.contains("nothing was changed"), "{told}");
    assert_eq!(patch(&world, &id), before);
    undo(&world, &[&id, "--to", "call_5"]);
    assert!(String::from_utf8(patch(&world, &id)).unwrap().contains("+2\n"));
    undo(&world, &[&id, "--to", "call_2"]);
    assert!(String::from_utf8(patch(&world, &id)).unwrap().contains("+1\n"));
}

#[test]
fn what_was_kept_is_sealed_and_a_damaged_moment_is_refused() {
    let world = World::new();
    let turns = [turn(&[write("a.txt", "canary-of-the-file\n"), write("a.txt", "2\n")]), say("x")];
    let id = session(&world, &turns);
    let kept = world.home().join("sessions").join(&id).join("undo");
    let blobs: Vec<_> = std::fs::read_dir(kept.join("blobs")).unwrap().map(|e| e.unwrap().path()).collect();
    let [blob] = blobs.as_slice() else { panic!("one content was kept: {blobs:?}") };
    let mut bytes = std::fs::read(blob).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"canary"));
    let frames =
        std::fs::read_dir(kept.join("frames")).unwrap().map(|e| std::fs::read(e.unwrap().path()).unwrap());
    assert!(!frames.flatten().collect::<Vec<u8>>().windows(5).any(|window| window == b"a.txt"));
    let before = patch(&world, &id);
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(blob, &bytes).unwrap();
    let told = refused(&world, &[&id, "--to", "call_2"], 1);
    assert!(told.contains("`a.txt`") && told.contains("nothing was changed"), "{told}");
    assert_eq!(patch(&world, &id), before);
    std::fs::remove_file(kept.join("frames/1")).unwrap();
    assert!(refused(&world, &[&id], 4).contains("was not kept"));
    assert_eq!(patch(&world, &id), before);
}

#[test]
fn built_folders_are_left_as_they_are_and_other_ignored_files_are_put_back() {
    let world = World::new();
    world.write(".gitignore", "target/\n*.env\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "ignore"]);
    let first = "mkdir -p target; echo 1 > target/out; echo 1 > local.env; echo k > kept.txt";
    let second = "echo 2 > target/out; echo 2 > local.env; mkdir sub; echo x > sub/x";
    let turns = [
        turn(&[bash(first)]),
        say("x"),
        turn(&[bash(second)]),
        say("y"),
        turn(&[bash("cat target/out local.env; ls")]),
    ];
    let id = session(&world, &turns);
    resume(&world, &id, "go on");
    let undone = undo(&world, &[&id]);
    assert_eq!(undone["restored"], json!(["local.env"]));
    assert_eq!(undone["removed"], json!(["sub/x"]));
    assert_eq!(undone["left_out"], json!(["target"]));
    let run = resume(&world, &id, "look");
    let shown: String = run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(shown.starts_with("2\n1\n") && !shown.contains("sub"), "{shown}");
}

/// Starts an undo and kills it once it has begun to move files. Whether it was cut short.
fn cut(world: &World, id: &str, to: &str) -> bool {
    let mut child =
        world.enclos(&["undo", id, "--to", to]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The first file that goes to its place.
    let first = world.home().join("sessions").join(id).join("layer/back/1");
    let mut ready = false;
    while child.try_wait().unwrap().is_none() {
        let there = first.exists();
        if ready && !there {
            child.kill().unwrap();
            break;
        }
        ready |= there;
    }
    child.wait().unwrap();
    world.output(&["diff", id]).status.code() == Some(4)
}

#[test]
fn killed_in_the_middle_an_undo_is_finished_and_nothing_is_made_of_a_mixed_tree() {
    let world = World::new();
    let many = |from: usize| bash(&format!("seq {from} {} | split -l 1 -a 3 - f", from + 999));
    let turns = [turn(&[many(1)]), say("x"), turn(&[many(2001)]), turn(&[bash("true")]), say("y"), say("z")];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let id = run.session();
    let after_first = patch(&world, &id);
    resume(&world, &id, "go on");
    let after_second = patch(&world, &id);
    let cut_short = |to: &str, other: &str| {
        // A kill that comes too late leaves it done: then the same way is gone once more.
        (0..50).any(|_| {
            let cut = cut(&world, &id, to);
            if !cut {
                undo(&world, &[&id, "--to", other]);
            }
            cut
        })
    };
    assert!(cut_short("call_2", "call_3"));
    let applied = world.output(&["apply", &id]);
    assert_eq!(applied.status.code(), Some(4), "{}", stderr(&applied));
    assert!(stderr(&applied).contains("cut short") && stderr(&applied).contains("--to call_2"));
    assert_eq!(undo(&world, &[&id])["to"], "call_2", "the same undo is finished");
    assert_eq!(patch(&world, &id), after_first);

    assert!(cut_short("call_3", "call_2"));
    resume(&world, &id, "go on");
    assert_eq!(patch(&world, &id), after_second, "resume finishes it first");
    eventually("the journal verifies", || world.verified()["result"] == "ok");
    let ended = timeline(&world, &id).iter().filter(|(kind, _)| kind == "undo.done").count();
    assert!(ended >= 2);
}
