//! The place `server`: a session on an execution host makes what it would make here, and neither side's death loses or
//! leaves anything.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{World, alive, bash, call, eventually, say, streamed, turn};

/// An execution host at the place where the gateways of a world look for it. Ended as by a power cut, unless it was
/// ended before.
struct Host(Child);

impl Host {
    fn start(world: &World) -> Self {
        let mut child = world.enclos(&["host"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listens = |line: std::io::Result<String>| line.unwrap().starts_with("listening at ");
        assert!(lines.by_ref().any(listens), "the host ended");
        // What it tells later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn server(world: World) -> World {
    world.with("ENCLOS_AGENT_EXECUTION", "server")
}

fn headless(model: &str) -> Vec<&str> {
    streamed(model, &["--preset", "balanced", "do it"])
}

/// Uncommitted changes of every kind.
fn change(world: &World) {
    world.write("kept.txt", "kept\n");
    world.write("gone.txt", "gone\n");
    world.write("dir/a", "a\n");
    world.write("dir/b", "b\n");
    world.write("eol.txt", "as in the history\n");
    world.write(".gitattributes", "eol.txt text eol=crlf\n");
    world.write(".gitignore", "*.log\ntarget/\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "second"]);
    std::fs::remove_file(world.repo().join("gone.txt")).unwrap();
    std::fs::remove_dir_all(world.repo().join("dir")).unwrap();
    world.write("hello.txt", "one\ntwo\nthree, not committed\n");
    world.write("eol.txt", "as in the history\r\n");
    world.write("new/deep/file.txt", "untracked\n");
    world.write("debug.log", "hidden\n");
    world.write("target/built", "built\n");
    std::os::unix::fs::symlink("hello.txt", world.repo().join("link")).unwrap();
}

/// What a session sees, and what it changes.
fn turns() -> Vec<Value> {
    let look = "cat hello.txt new/deep/file.txt; readlink link; tail -c 3 eol.txt | od -An -c; ls; git log --format=%s";
    let work = "echo more >> hello.txt; rm -r new; mkdir -p d/e; echo x > d/e/f; chmod +x src/lib.sh; rm kept.txt; \
                ln -s f d/e/g; echo y > ignored.log; printf 'a\\0b' > binary; mkfifo pipe; mv eol.txt moved.txt";
    let edit = json!({"path": "hello.txt", "old": "two\n", "new": "TWO\n"});
    vec![turn(&[bash(look)]), turn(&[bash(work)]), turn(&[call("edit", edit)]), say("done")]
}

#[test]
fn a_session_on_a_host_sees_and_makes_what_one_here_does() {
    let outcome = |world: &World| {
        change(world);
        let run = world.run("balanced", &turns());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let texts = run.of("call.output").into_iter().map(|event| event["text"].as_str().unwrap().to_owned());
        let output: String = texts.collect();
        let diff = world.output(&["diff", &run.session(), "--json"]);
        let view: Value = serde_json::from_slice(&diff.stdout).unwrap();
        let place = run.of("session.opened")[0]["place"].clone();
        (place, output, view, run.session())
    };
    let here = World::new();
    let (place, output, view, _) = outcome(&here);
    assert_eq!(place, "workstation");
    let there = server(World::new());
    let host = Host::start(&there);
    let (place, output_there, mut view_there, session) = outcome(&there);
    assert_eq!(place, "server");
    // A dependency folder is not brought to a host; its name is all that differs.
    assert_eq!(output.replace("target\n", ""), output_there);
    assert!(
        output_there.contains("three, not committed") && output_there.contains("\\r  \\n"),
        "{output_there}"
    );
    assert_eq!(view_there["patch"], view["patch"]);
    view_there["patch"] = view["patch"].clone();
    assert_eq!(view_there, view);
    let applied = there.output(&["apply", &session, "--files", "hello.txt"]);
    assert_eq!(applied.status.code(), Some(0), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(there.read("hello.txt"), "one\nTWO\nthree, not committed\nmore\n");
    drop(host);
    assert_eq!(there.verified()["result"], "ok");
}

#[test]
fn a_folder_without_git_and_one_without_a_commit_work_on_a_host() {
    for init in [false, true] {
        let world = server(World::bare_folder());
        world.write("a.txt", "a\n");
        if init {
            world.git(&["init", "-q"]);
        }
        let _host = Host::start(&world);
        let run = world.run("balanced", &[turn(&[bash("cat a.txt; echo b >> a.txt; ls -A")]), say("done")]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.of("changeset")[0]["files"][0]["path"], "a.txt");
        let output: String =
            run.of("call.output").iter().map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(output, "a\na.txt\n");
    }
}

#[test]
fn the_place_is_said_by_policy_then_by_the_variable_and_never_guessed() {
    let world = World::new();
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("policy.toml"), "name = \"ours\"\n[execution]\nplace = \"server\"\n")
        .unwrap();
    let model = world.script(&[turn(&[call("read", json!({"path": "hello.txt"}))]), say("done")]);
    let args = streamed(&model, &["do it"]);
    let wrong = world.enclos(&args).env("ENCLOS_AGENT_EXECUTION", "workstation").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let text = String::from_utf8(wrong.stderr).unwrap();
    for part in ["ENCLOS_AGENT_EXECUTION", "instance", "execution.place", "policy.toml"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let unknown = world.enclos(&["sessions"]).env("ENCLOS_AGENT_EXECUTION", "cloud").output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    let nobody = world.output(&args);
    assert_eq!(nobody.status.code(), Some(6), "it is never opened here instead");
    assert!(String::from_utf8(nobody.stderr).unwrap().contains("enclos host"));
    assert_eq!(world.sessions().len(), 0, "nothing was begun");
    let alone = world.output(&["sandbox", "run", "--", "pwd"]);
    assert_eq!(alone.status.code(), Some(125));
    let _host = Host::start(&world);
    let run = world.headless(&args);
    assert_eq!((run.code, &run.of("session.opened")[0]["place"]), (0, &json!("server")), "{}", run.stderr);
}

#[test]
fn what_a_host_says_is_journaled_as_its_own_word() {
    let world = server(World::new());
    let _host = Host::start(&world);
    let run = world.run("balanced", &[turn(&[bash("pwd")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    let line = export.lines().find(|line| line.contains("sandbox.opened")).unwrap();
    for part in ["claimed_by_host", "\\\"server\\\"", "host_uid"] {
        assert!(line.contains(part) || line.contains(&part.replace('\\', "")), "{part}: {line}");
    }
    let state = world.home().join("host/sessions");
    let kept = || {
        std::fs::read_dir(&state)
            .unwrap()
            .flatten()
            .flat_map(|who| std::fs::read_dir(who.path()).unwrap())
            .count()
    };
    assert_eq!(kept(), 0, "nothing was made, the session is closed, and the host has forgotten it");
    let run = world.run("balanced", &[turn(&[bash("echo x > made")]), say("done")]);
    assert_eq!(kept(), 1);
    assert_eq!(world.output(&["discard", &run.session()]).status.code(), Some(0));
    assert_eq!(kept(), 0);
}

#[test]
fn a_host_that_is_killed_takes_everything_with_it_and_the_session_goes_on_at_the_next() {
    let world = server(World::new());
    let mut host = Host::start(&world);
    let model = world.script(&[
        turn(&[bash("echo begun >> log; (sleep 4141 &); sleep 4141")]),
        turn(&[bash("cat log")]),
        say("done"),
    ]);
    let mut watched = world.start(&headless(&model));
    watched.until_type("call.calling");
    eventually("it runs", || alive("sleep\u{0}4141"));
    let start = Instant::now();
    host.kill();
    while alive("sleep\u{0}4141") {
        assert!(start.elapsed() < Duration::from_secs(30), "processes of a host that is dead");
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = watched.finish();
    assert_eq!(run.code, 6, "{}", run.stderr);
    let errored = run.of("call.errored");
    assert!(errored[0]["error"].as_str().unwrap().contains("may have happened"), "{errored:?}");
    assert!(run.finished()["next_step"].as_str().unwrap().contains("enclos resume"));
    let session = run.session();
    let gone = world.output(&["diff", &session]);
    assert_eq!(gone.status.code(), Some(6), "what is on the host is not guessed at");
    assert_eq!(world.output(&["apply", &session]).status.code(), Some(6));
    let elsewhere = world
        .enclos(&["resume", &session, "--headless"])
        .env("ENCLOS_AGENT_EXECUTION", "workstation")
        .output()
        .unwrap();
    assert_eq!(elsewhere.status.code(), Some(2), "a session keeps its place");
    let _host = Host::start(&world);
    let again = world.resumed(&session);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(again.of("call.output")[0]["text"], "begun\n", "what was written before is there");
    assert_eq!(world.output(&["apply", &session]).status.code(), Some(0));
    assert_eq!(world.read("log"), "begun\n");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_gateway_that_is_killed_loses_its_sandbox_with_the_lease_and_nothing_else() {
    let world = server(World::new());
    let _host = Host::start(&world);
    let model = world.script(&[
        turn(&[bash("echo begun >> log; sleep 4242")]),
        turn(&[bash("cat log")]),
        say("done"),
    ]);
    let mut watched = world.start(&headless(&model));
    let session = watched.until_type("call.calling")["session"].as_str().unwrap().to_owned();
    eventually("it runs", || alive("sleep\u{0}4242"));
    watched.kill();
    eventually("the lease has ended", || !alive("sleep\u{0}4242"));
    // What the host holds is fetched before anything is made of it.
    let diff = world.output(&["diff", &session]);
    assert!(String::from_utf8(diff.stdout).unwrap().contains("+begun"));
    let again = world.resumed(&session);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(again.of("call.output")[0]["text"], "begun\n");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn two_gateways_work_on_one_host_at_the_same_time() {
    let world = server(World::new());
    let _host = Host::start(&world);
    let model = world
        .script(&[turn(&[bash("cat /proc/self/uid_map; mktemp -p . own.XXXXXX; ls; sleep 1")]), say("done")]);
    let watched = [world.start(&headless(&model)), world.start(&headless(&model))];
    let runs = watched.map(crate::harness::Watched::finish);
    let owner = |run: &crate::harness::Run| {
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text: String =
            run.of("call.output").iter().map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(text.matches("own.").count(), 2, "its own file alone: {text}");
        text.split_whitespace().nth(1).unwrap().to_owned()
    };
    let [one, two] = runs.each_ref().map(owner);
    let root =
        std::fs::metadata(world.home()).is_ok_and(|facts| std::os::unix::fs::MetadataExt::uid(&facts) == 0);
    assert_eq!(one != two, root, "as root each has a user number of its own: {one} {two}");
}

#[test]
fn an_undo_on_a_host_is_refused_as_a_whole() {
    let world = server(World::new());
    let _host = Host::start(&world);
    let run = world.run("balanced", &[turn(&[bash("echo x >> hello.txt")]), say("done")]);
    let undo = world.output(&["undo", &run.session()]);
    assert_eq!(undo.status.code(), Some(2));
    assert!(String::from_utf8(undo.stderr).unwrap().contains("execution host"));
    let diff = world.output(&["diff", &run.session()]);
    assert!(String::from_utf8(diff.stdout).unwrap().contains("+x"));
}

#[test]
fn a_host_ends_when_it_is_asked_to_and_leaves_no_socket() {
    let world = server(World::new());
    let mut host = Host::start(&world);
    let socket = world.home().join("run/host.sock");
    assert!(socket.exists());
    let second = world.output(&["host"]);
    assert_eq!(second.status.code(), Some(2), "one host for one folder");
    let sent = crate::harness::program("kill").args(["-TERM", &host.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(host.0.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}

/// What is above the project's level stays here, its history too; a call that would read it changes nothing.
#[test]
fn a_host_is_brought_nothing_that_is_masked_and_reading_it_is_refused() {
    let world = server(World::new());
    world.write("plans/a.txt", "canary-of-the-host\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "plans"]);
    let _host = Host::start(&world);
    let policy = "name = \"m\"\n[[rule]]\nid = \"all\"\ncategory = [\"read\", \"write\", \"delete\", \"bash\"]\n\
        verdict = \"allow\"\n[commands]\ncontained = \"allow\"\n[labels]\nraise = \"allow\"\n[[labels.path]]\npath = \"/plans/\"\n\
        level = \"CONFIDENTIAL\"\n[[labels.model]]\nname = \"*\"\nclearance = \"RESTRICTED\"\n";
    let file = world.path("m.toml");
    std::fs::write(&file, policy).unwrap();
    let find = bash("ls -A; grep -ra canary-of / 2>/dev/null; git log -p --all; cat hello.txt");
    let read = call("read", json!({"path": "plans/a.txt"}));
    let model = world.script(&[turn(&[find]), turn(&[read]), turn(&[bash("ls")]), say("done")]);
    let run = world.headless(&streamed(&model, &["--policy", file.to_str().unwrap(), "look"]));
    assert_eq!(run.code, 4, "{}", run.stderr);
    let all = run.events.iter().map(Value::to_string).collect::<String>();
    assert!(!all.contains("canary-of-the-host"), "{all}");
    let output: String = run.of("call.output").iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert!(output.contains("one\ntwo") && !output.contains("plans") && !output.contains(".git"), "{output}");
    let rules: Vec<&str> =
        run.of("call.decided").iter().map(|event| event["rule"].as_str().unwrap()).collect();
    assert_eq!(rules[1], "label.place");
    assert_eq!(run.of("label.raised").len(), 1, "the project's level alone");
}

#[test]
fn a_host_that_gives_less_isolation_than_is_demanded_is_refused() {
    let world = server(World::new());
    let _host = Host::start(&world);
    let policy = world.path("policy.toml");
    let text =
        "name = \"p\"\n[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n[execution]\nisolation = \"hard\"\n";
    std::fs::write(&policy, text).unwrap();
    let model = world.script(&[turn(&[bash("echo ran > ran.txt")]), say("done")]);
    let run = world.headless(&streamed(&model, &["--policy", policy.to_str().unwrap(), "do it"]));
    // A host of the level `hard` opens it; none other does.
    if let [opened] = run.of("session.opened").as_slice() {
        assert_eq!(opened["isolation"], "hard");
    } else {
        assert_eq!(run.code, 2, "{}", run.stderr);
        for part in ["policy.toml", "execution.isolation", "the execution host", "standard"] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
        assert!(run.of("call.calling").is_empty(), "nothing ran");
    }
    assert!(!world.repo().join("ran.txt").exists());
}
