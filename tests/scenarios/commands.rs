//! Commands in a session: floods, time limits, daemons, and what a command may see.

use crate::harness::{World, alive, bash, eventually, say, turn};

#[test]
fn a_flood_of_output_is_kept_to_the_limit_and_the_rest_is_counted() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[bash("head -c 52428800 /dev/zero | tr '\\0' x")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let result = &run.of("call.done")[0]["result"];
    assert_eq!(result["kept_bytes"], 10 * 1024 * 1024);
    assert_eq!(result["dropped_bytes"], 40 * 1024 * 1024);
}

#[test]
fn a_command_past_its_time_is_killed_with_its_tree_and_reported() {
    let world = World::new().with("ENCLOS_COMMAND_MAX_SECONDS", "1");
    let run = world.run("balanced", &[turn(&[bash("sleep 3121 & sleep 3121")]), say("done")]);
    let errored = run.of("call.errored")[0];
    assert_eq!(errored["result"]["killed"], "timeout", "{errored}");
    assert_eq!(run.code, 0, "the loop goes on");
    eventually("nothing is left", || !alive("sleep\u{0}3121"));
}

#[test]
fn daemons_that_a_command_leaves_behind_are_ended() {
    let world = World::new();
    let command = "(setsid nohup sleep 3122 >/dev/null 2>&1 &) ; echo started";
    let run = world.run("balanced", &[turn(&[bash(command)]), turn(&[bash("echo on")]), say("done")]);
    assert_eq!(run.of("call.done").len(), 2, "{:#?}", run.events);
    eventually("nothing is left", || !alive("sleep\u{0}3122"));
}

#[test]
fn a_command_sees_uncommitted_work_and_leaves_the_tree_untouched() {
    let world = World::new();
    world.write("hello.txt", "changed but not committed\n");
    world.write("new.txt", "untracked\n");
    let command = "cat hello.txt new.txt; echo agent > hello.txt; rm new.txt; git status --short";
    let run = world.run("balanced", &[turn(&[bash(command)]), say("done")]);
    let shown: String = run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(shown.contains("changed but not committed") && shown.contains("untracked"), "{shown}");
    assert_eq!(world.read("hello.txt"), "changed but not committed\n");
    assert_eq!(world.read("new.txt"), "untracked\n");
}

#[test]
fn nothing_of_the_person_reaches_a_command_and_nothing_of_git_comes_back() {
    let world = World::new().with("ENCLOS_MODEL_KEY", "sk-canary-0123456789");
    std::fs::create_dir_all(world.path("home/.ssh")).unwrap();
    std::fs::write(world.path("home/.ssh/id_rsa"), "canary").unwrap();
    let head = world.git(&["rev-parse", "HEAD"]);
    let home = world.path("home");
    let command = format!(
        "env | sort; id -u; ls -a ~; ls {0} 2>&1; cat {0}/.ssh/id_rsa 2>&1; cat < /dev/tcp/127.0.0.1/80; \
         git config user.name evil; git config core.hooksPath /tmp; git commit -qam x --allow-empty; git log --oneline",
        home.display()
    );
    let run = world.run("balanced", &[turn(&[bash(&command)]), say("done")]);
    let shown: String = run.of("call.output").iter().filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(run.of("call.done").len(), 1, "{shown}");
    assert!(!shown.contains("canary"), "{shown}");
    assert!(shown.contains("HOME=/home/agent") && !shown.contains("ENCLOS_"), "{shown}");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert!(!world.read(".git/config").contains("evil"));
}
