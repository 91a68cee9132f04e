//! Files above what the session knows, in the real binary: no command finds them, in no corner of git either, until `read`
//! raises the session; then every command does, and the change set knows what was shown and what was not.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Run, World, bash, call, labelled, say, streamed, text, turn};

/// What must never be read.
const CANARY: &str = "canary-of-the-plan-90be";
/// A word that only the names of masked files have.
const NAME: &str = "zebra";

/// What is in `zebras` is CONFIDENTIAL, and reading it is not asked about.
fn policy() -> String {
    labelled("/zebras/", "allow", "CONFIDENTIAL")
}

/// Ways to it through git and around it.
const WAYS: [&str; 24] = [
    "git show HEAD:zebras/plan.txt; git show HEAD~1:zebras/plan.txt; git show main:zebras/old.txt",
    "git log -p --all; git log --all --stat; git reflog; git log -g -p",
    "git cat-file --batch-all-objects --batch; git cat-file --batch-all-objects --batch-check --unordered",
    "git stash list -p; git stash show -p stash@{0}; git stash apply; git stash",
    "git archive HEAD | tar xO; git archive HEAD~1 | tar xO; git bundle create /tmp/b --all; strings /tmp/b",
    "git worktree add /tmp/w HEAD; cat /tmp/w/zebras/plan.txt; git clone -q . /tmp/c; cat /tmp/c/zebras/plan.txt",
    "git checkout HEAD -- zebras; git checkout HEAD~1; git restore --source=HEAD zebras; git reset --hard; cat zebras/plan.txt",
    "git ls-files -s; git ls-files --debug; git ls-tree -r HEAD; git ls-files -o; git ls-files -d",
    "git fsck --lost-found --unreachable; ls -R .git; cat .git/lost-found/*/*",
    "git grep canary-of; git grep canary-of HEAD; git log -Scanary-of --all --oneline",
    "git diff HEAD~1; git diff HEAD; git diff; git diff-tree -p HEAD; git whatchanged -p; git blame zebras/plan.txt",
    "git fetch /workspace; git remote -v; git ls-remote .; git branch -a; git tag; git notes",
    "git show side:zebras/side.txt; git show v1:zebras/plan.txt; git rev-parse HEAD^{tree} HEAD~1",
    "git unpack-objects < $(ls /run/git/*/pack/*.pack | head -1); git verify-pack -v /run/git/*/pack/*.idx",
    "for p in /run/git/*/pack/*.pack; do git index-pack --stdin < $p; done; git show-index < $(ls /run/git/*/pack/*.idx | head -1)",
    "find /run/git -type f | xargs -r cat | strings; find .git -type f | xargs -r strings",
    "python3 -c \"import glob,zlib; [print(zlib.decompress(open(f,'rb').read())) for f in glob.glob('/run/git/*/??/*')]\"",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES=/run/git/0:/run/git/1 git cat-file --batch-all-objects --batch",
    "git init -q /tmp/i; cp -r /run/git/* /tmp/i/.git/objects/; git -C /tmp/i cat-file --batch-all-objects --batch",
    "git rev-list --all --objects; git rev-list --all --reflog --objects; git for-each-ref; cat .git/packed-refs",
    "git submodule foreach cat zebras/plan.txt; git sparse-checkout set zebras; git read-tree -u HEAD; cat zebras/plan.txt",
    "cat zebras/plan.txt hard.txt soft.txt; readlink soft.txt; tar c . | strings; cp -aL . /tmp/x; grep -r canary-of /tmp/x",
    "find / -name '*zebra*'; grep -ra canary-of /workspace /tmp /proc/1/root/workspace; ls -laR",
    "cat .env notes.txt",
];

fn world() -> World {
    let world = World::new();
    world.write("zebras/plan.txt", &format!("{CANARY}\n"));
    world.write("zebras/old.txt", &format!("{CANARY} old\n"));
    world.write("src/a.txt", "a\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "one"]);
    world.git(&["tag", "v1"]);
    world.git(&["checkout", "-qb", "side"]);
    world.write("zebras/side.txt", CANARY);
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "side"]);
    world.git(&["checkout", "-q", "main"]);
    world.git(&["rm", "-q", "zebras/old.txt"]);
    world.git(&["commit", "-qm", "two"]);
    world.write("zebras/plan.txt", &format!("{CANARY} stashed\n"));
    world.git(&["stash", "-q"]);
    world.write("src/b.txt", "staged\n");
    world.git(&["add", "src/b.txt"]);
    world.write("src/a.txt", "a, changed\n");
    let repo = world.repo();
    std::fs::hard_link(repo.join("zebras/plan.txt"), repo.join("hard.txt")).unwrap();
    std::os::unix::fs::symlink("zebras/plan.txt", repo.join("soft.txt")).unwrap();
    world
}

fn run(world: &World, policy: &str, turns: &[Value]) -> Run {
    let file = world.path("masked.toml");
    std::fs::write(&file, policy).unwrap();
    let model = world.script(turns);
    world.headless(&streamed(&model, &["--policy", &text(&file), "look"]))
}

fn read(path: &str) -> Value {
    call("read", json!({"path": path}))
}

/// What the calls of a run gave, in order.
fn results(run: &Run) -> Vec<String> {
    let of = |event: &&Value| ["call.done", "call.errored"].contains(&event["type"].as_str().unwrap());
    run.events.iter().filter(of).map(Value::to_string).collect()
}

/// All that was written by the commands of a run.
fn output(run: &Run) -> String {
    run.of("call.output").iter().map(|event| event["text"].as_str().unwrap()).collect()
}

/// Whether the change set of a run is empty.
fn unchanged(run: &Run) -> bool {
    run.of("changeset").iter().all(|set| set["files"] == json!([]))
}

fn opened(run: &Run) -> String {
    run.of("session.opened")[0]["notes"].to_string()
}

fn in_git(command: &str) -> Value {
    turn(&[bash(command)])
}

/// A turn for each way.
fn ways() -> Vec<Value> {
    let way = |way: &&str| {
        let script = call("write", json!({"path": "/tmp/way.sh", "content": way}));
        turn(&[script, bash("bash /tmp/way.sh")])
    };
    WAYS.iter().map(way).collect()
}

#[test]
fn where_nothing_is_masked_most_of_these_ways_lead_to_it() {
    let world = world();
    let mut turns = ways();
    turns.push(say("done"));
    let run = run(&world, &policy().replace("/zebras/", "/elsewhere/"), &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let calls: std::collections::BTreeSet<&str> = run
        .of("call.output")
        .iter()
        .filter(|event| event["text"].as_str().unwrap().contains(CANARY))
        .map(|event| event["call"].as_str().unwrap())
        .collect();
    assert!(calls.len() >= 12, "{calls:?}");
    assert_eq!(run.of("session.opened")[0]["notes"].to_string().matches("masked").count(), 0);
}

#[test]
fn no_command_finds_a_masked_file_in_the_tree_or_in_git_until_read_raises_the_session() {
    let world = world();
    let mut turns = ways();
    turns.push(turn(&[call("glob", json!({"pattern": "**/*"})), call("list", json!({"path": "."}))]));
    turns.push(turn(&[call("grep", json!({"pattern": "canary"}))]));
    turns.push(say("done"));
    let run = run(&world, &policy(), &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let seen = output(&run) + &results(&run).join("\n");
    assert!(!seen.contains(CANARY), "{seen}");
    assert!(seen.contains("a, changed"), "what is open is found: {seen}");
    assert!(opened(&run).contains("files above INTERNAL are masked"), "{}", opened(&run));
    assert!(opened(&run).contains("one commit of the files that are shown") && !opened(&run).contains(NAME));
    let journal = world.journal();
    let entry = journal.iter().find(|entry| entry["kind"] == "sandbox.opened").unwrap();
    assert_eq!(
        (&entry["entry"]["masked"], &entry["entry"]["history"]),
        (&json!(true), &json!("visible files"))
    );
    assert_eq!(
        world.git(&["status", "--porcelain"]),
        "M  src/a.txt\n".replace("M  ", " M ") + "A  src/b.txt\n?? hard.txt\n?? soft.txt\n"
    );
}

#[test]
fn git_still_works_on_what_is_shown() {
    let world = world();
    let run = run(
        &world,
        &policy(),
        &[
            in_git("git status --porcelain"),
            in_git("git diff"),
            in_git("git diff --cached --name-only; git log --format=%s"),
            in_git("git add -A; git commit -qm mine; git show --stat HEAD"),
            say("done"),
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let seen = output(&run);
    assert!(seen.contains(" M src/a.txt\nA  src/b.txt\n"), "{seen}");
    assert!(
        seen.contains("-a\n+a, changed")
            && seen.contains("src/b.txt\nThe files that this session is shown\n"),
        "{seen}"
    );
    assert!(seen.contains("2 files changed") && !seen.contains(NAME), "{seen}");
}

#[test]
fn once_read_has_raised_the_session_commands_see_files_of_that_level_and_no_higher() {
    let world = world();
    world.write(".env", "KEY=restricted-canary\n");
    world.git(&["add", "-f", ".env"]);
    let run = run(
        &world,
        &policy(),
        &[
            in_git("cat zebras/plan.txt hard.txt; ls"),
            turn(&[read("zebras/plan.txt")]),
            in_git("cat zebras/plan.txt hard.txt soft.txt; stat -c %a zebras/plan.txt; cat .env; ls -A"),
            say("done"),
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(results(&run)[1].contains("call.done"), "{:?}", results(&run));
    let seen = output(&run);
    assert_eq!(seen.matches(CANARY).count(), 3, "{seen}");
    assert!(
        seen.contains("644\n") && !seen.contains("restricted-canary") && !seen.contains(".env\n"),
        "{seen}"
    );
    assert!(unchanged(&run), "what was shown is no change");
    let kinds: Vec<String> = world.journal().iter().map(|entry| entry["kind"].to_string()).collect();
    let at = |kind: &str| kinds.iter().rposition(|found| found.contains(kind)).unwrap();
    assert!(at("label.raised") < at("sandbox.unmasked"), "{kinds:?}");
}

#[test]
fn credentials_and_files_with_a_private_key_are_restricted_unless_a_rule_says_less() {
    let world = World::new();
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n";
    world.write("notes.txt", key);
    world.write("server.pem", "content-of-pem\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "keys"]);
    let turns =
        [in_git("ls; cat notes.txt server.pem; git cat-file --batch-all-objects --batch"), say("done")];
    let masked = run(&world, &policy(), &turns);
    let seen = output(&masked);
    assert!(
        seen.contains("hello.txt") && !seen.contains("PRIVATE KEY") && !seen.contains("content-of-pem"),
        "{seen}"
    );
    let less = policy()
        .replace("/zebras/", "*.pem")
        .replace("CONFIDENTIAL\"\n[[labels.model]]", "INTERNAL\"\n[[labels.model]]")
        + "[[labels.path]]\npath = \"notes.txt\"\nlevel = \"PUBLIC\"\n";
    let shown = run(&world, &less, &turns);
    assert!(
        output(&shown).contains("PRIVATE KEY") && output(&shown).contains("content-of-pem"),
        "{}",
        output(&shown)
    );
}

#[test]
fn what_the_agent_makes_at_a_masked_path_never_replaces_what_it_did_not_see() {
    let world = world();
    let run = run(
        &world,
        &policy(),
        &[
            turn(&[call("write", json!({"path": "zebras/plan.txt", "content": "mine\n"}))]),
            in_git("mkdir -p zebras; echo mine > zebras/other.txt"),
            turn(&[read("zebras/plan.txt")]),
            in_git("cat zebras/plan.txt"),
            say("done"),
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(output(&run).contains("mine\n") && !output(&run).contains(CANARY), "its own file stays");
    let applied = world.output(&["apply", &run.session()]);
    assert!(!applied.status.success(), "{applied:?}");
    assert_eq!(world.read("zebras/plan.txt"), format!("{CANARY}\n"));
}

#[test]
fn a_session_taken_up_again_sees_what_it_saw_and_what_it_removed_stays_removed() {
    let world = world();
    let file = world.path("masked.toml");
    std::fs::write(&file, policy()).unwrap();
    let turns = [
        turn(&[read("zebras/plan.txt")]),
        in_git("rm hard.txt; echo more >> zebras/plan.txt"),
        say("done"),
        in_git("cat zebras/plan.txt soft.txt; ls"),
        say("done again"),
    ];
    let model = world.script(&turns);
    let first = world.headless(&streamed(&model, &["--policy", &text(&file), "look"]));
    assert_eq!(first.code, 0, "{}", first.stderr);
    let again = ["resume", &first.session(), "--headless", "--output", "stream-json", "more"];
    let second = world.headless(&again);
    assert_eq!(second.code, 0, "{}", second.stderr);
    let seen = output(&second);
    assert_eq!(seen.matches(&format!("{CANARY}\nmore\n")).count(), 2, "{seen}");
    assert!(!seen.contains("hard.txt"), "{seen}");
    let shown = world.json(&["diff", &first.session(), "--json"]);
    let files = shown["files"].as_array().unwrap();
    let mut changed: Vec<String> = files
        .iter()
        .map(|file| format!("{} {}", file["change"].as_str().unwrap(), file["path"].as_str().unwrap()))
        .collect();
    changed.sort();
    assert_eq!(changed, ["deleted hard.txt", "modified zebras/plan.txt"], "{shown}");
}

#[test]
fn an_undo_to_before_the_raise_loses_nothing_of_the_tree() {
    let world = world();
    let file = world.path("masked.toml");
    std::fs::write(&file, policy()).unwrap();
    let turns = [
        turn(&[call("write", json!({"path": "a.txt", "content": "a\n"}))]),
        turn(&[read("zebras/plan.txt")]),
        in_git("rm hard.txt; echo b > b.txt"),
        say("done"),
        in_git("cat zebras/plan.txt hard.txt; ls"),
        say("done again"),
    ];
    let model = world.script(&turns);
    let first = world.headless(&streamed(&model, &["--policy", &text(&file), "look"]));
    assert_eq!(first.code, 0, "{}", first.stderr);
    let undone = world.output(&["undo", &first.session(), "--json"]);
    assert!(undone.status.success(), "{undone:?}");
    let again = ["resume", &first.session(), "--headless", "--output", "stream-json", "more"];
    let second = world.headless(&again);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert_eq!(output(&second).matches(CANARY).count(), 2, "{}", output(&second));
    assert!(unchanged(&second), "{:?}", second.of("changeset"));
}

#[test]
fn nothing_of_a_session_with_masks_is_left_in_the_repository() {
    let world = world();
    let before = tree(&world.repo());
    let run = run(&world, &policy(), &[turn(&[read("zebras/plan.txt")]), in_git("git status"), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(tree(&world.repo()), before);
}

/// Every path below a folder, `.git` included.
fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
            found.push(text(&entry.path()));
        }
    }
    found.sort();
    found
}
