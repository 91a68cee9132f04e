//! Commands in the background, with a terminal, and with an output that is larger than its limit.

use serde_json::{Value, json};

use crate::harness::{Run, World, alive, bash, call, eventually, say, streamed, turn};
use crate::server::Server;

/// A command in the background, for a script.
fn start(name: &str, command: &str) -> Value {
    call("bash", json!({"command": command, "background": name}))
}

/// A look, for a script.
fn look(arguments: Value) -> Value {
    call("background", arguments)
}

/// The calls that failed, as they were told.
fn errors(run: &Run) -> Vec<&str> {
    run.of("call.errored").iter().filter_map(|event| event["error"].as_str()).collect()
}

/// What calls of the tool `background` handed to the model.
fn shown(run: &Run) -> String {
    let of = |event: &&&Value| event["tool"] == "background";
    run.of("call.output").iter().filter(of).filter_map(|event| event["text"].as_str()).collect()
}

/// The journal's entries of a kind.
fn entries(world: &World, run: &Run, kind: &str) -> Vec<Value> {
    let export = world.output(&["journal", "export", "--session", &run.session()]);
    let text = String::from_utf8(export.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.to_string().contains(&format!("\"{kind}\""))).collect()
}

/// A loop such as a server has: it writes a line, and a file, until it is ended.
const SERVER: &str = "n=0; while :; do n=$((n+1)); echo \"ready $n\"; echo $n > counter; sleep 0.05; done";

#[test]
fn a_server_is_started_looked_at_and_stopped() {
    let world = World::new();
    let turns = [
        turn(&[start("web", SERVER)]),
        turn(&[look(json!({"action": "wait", "name": "web", "text": "ready 3", "seconds": 60}))]),
        turn(&[look(json!({"action": "list"})), bash("test -s counter")]),
        turn(&[look(json!({"action": "stop", "name": "web"}))]),
        turn(&[look(json!({"action": "read", "name": "web", "from": 0}))]),
        say("done"),
    ];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(errors(&run).is_empty(), "{:#?}", errors(&run));
    assert!(shown(&run).contains("ready 3\n"), "what it wrote is the output of the call that looks");
    let list = run.of("call.done")[2];
    assert_eq!(list["result"]["summary"], "1 at work, 0 ended", "{list}");
    assert_eq!(run.of("background.started").len(), 1);
    let ended = run.of("background.ended");
    assert_eq!(ended.len(), 1, "{ended:#?}");
    assert_eq!((&ended[0]["name"], &ended[0]["call"]), (&json!("web"), &json!("call_1")));
    assert_eq!((&ended[0]["reason"], &ended[0]["result"]["killed"]), (&json!("was stopped"), &json!("stop")));
    let budget = run.of("budget").last().copied().unwrap()["used"].clone();
    assert_eq!((&budget["commands"], &budget["actions"]), (&json!(2), &json!(6)), "{budget}");
    let journaled = entries(&world, &run, "background.ended");
    assert_eq!(journaled.len(), 1, "{journaled:#?}");
    let entry = journaled[0].to_string();
    for word in ["\"web\"", "{\"call\":\"call_5\"}", "duration_ms", "kept_bytes"] {
        assert!(entry.contains(word), "{word}: {entry}");
    }
    let intent = entries(&world, &run, "call.intent")[0].to_string();
    assert!(intent.contains("\"background\":\"web\""), "{intent}");
    let export = world.output(&["journal", "export", "--session", &run.session()]);
    assert!(!String::from_utf8_lossy(&export.stdout).contains("ready 3"), "no output is in the journal");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_name_is_one_commands_and_there_is_a_most_of_commands() {
    let world = World::new();
    let mut many: Vec<Value> = (0..16).map(|n| start(&format!("job-{n}"), "sleep 3241")).collect();
    many.push(start("job-16", "sleep 3241"));
    let turns = [
        turn(&[start("web", "sleep 3241"), start("web", "echo second")]),
        turn(&[start("bad name", "true")]),
        turn(&[look(json!({"action": "stop", "name": "web"})), start("web", "exit 7")]),
        turn(&[
            look(json!({"action": "wait", "name": "web"})),
            look(json!({"action": "read", "name": "nobody"})),
        ]),
        turn(&many),
        say("done"),
    ];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let errors = errors(&run);
    assert_eq!(errors.len(), 4, "{errors:#?}");
    assert!(errors[0].contains("a background command `web` is at work"), "{}", errors[0]);
    assert!(errors[1].contains("/background"), "{}", errors[1]);
    assert!(errors[2].contains("there is no background command `nobody`"), "{}", errors[2]);
    assert!(errors[3].contains("16 background commands are at work"), "{}", errors[3]);
    let exit = |event: &&&Value| event["result"]["exit_code"] == 7;
    assert_eq!(run.of("background.ended").iter().filter(exit).count(), 1);
    assert_eq!(run.of("background.ended").len(), 18, "each that started ended once");
    eventually("nothing is left", || !alive("sleep\u{0}3241"));
}

#[test]
fn nothing_runs_any_more_when_the_change_set_is_made() {
    let world = World::new();
    let turns = [
        turn(&[start(
            "writer",
            "trap '' TERM HUP; (setsid sleep 3242 &); while :; do date +%N >> noise; done",
        )]),
        turn(&[look(json!({"action": "wait", "name": "writer", "seconds": 1}))]),
        say("done"),
    ];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let place = |kind: &str| run.events.iter().position(|event| event["type"] == kind).unwrap();
    assert!(place("background.ended") < place("changeset"));
    let ended = run.of("background.ended")[0];
    assert_eq!(ended["reason"], "was ended before the change set was made", "{ended}");
    let notices = run.of("notice");
    let said = notices.iter().any(|event| event["text"].as_str().unwrap().ends_with("is made: writer"));
    assert!(said, "{notices:#?}");
    assert!(!alive("sleep\u{0}3242"), "its daemons neither");
    let applied = world.output(&["apply", &run.session()]);
    assert!(applied.status.success(), "what was shown is what is there: {applied:?}");
    assert!(entries(&world, &run, "background.ended")[0].to_string().contains("\"review\""));
}

#[test]
fn a_background_command_is_judged_as_any_other_and_disabled_with_its_tool() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[start("x", "sudo id")]), say("done")]);
    assert_eq!(run.code, 4);
    assert!(run.of("call.calling").is_empty() && run.of("background.started").is_empty());
    let strict = world.run("strict", &[turn(&[start("x", "make serve")]), say("done")]);
    let card = &strict.of("approval.requested")[0]["card"];
    assert_eq!(card["title"], "start a command in the background as x");
    assert!(card["arguments"].as_str().unwrap().contains("\"background\":\"x\""), "{card}");
    let policy = world.path("none.toml");
    let text = "name = \"none\"\n[[rule]]\ntool = \"background\"\nverdict = \"disabled\"\n";
    std::fs::write(&policy, text).unwrap();
    let model = world.script(&[turn(&[start("x", "sleep 1"), bash("true")]), say("done")]);
    let policy = crate::harness::text(&policy);
    let run = world.headless(&streamed(&model, &["--preset", "balanced", "--policy", &policy, "do it"]));
    assert_eq!(run.of("call.canceled").len(), 1, "{:#?}", run.events);
    assert_eq!(run.of("call.done").len(), 1, "other commands run");
    let tools = &run.of("session.opened")[0]["tools"];
    assert!(!tools.as_array().unwrap().contains(&json!("background")), "{tools}");
}

#[test]
fn an_end_is_recorded_while_the_model_is_still_asked() {
    let world = World::new();
    let slow =
        json!({"text": "a text in pieces", "calls": [bash("echo on")], "chunks": 2, "delay_ms": 900_000});
    let model = world.script(&[turn(&[start("short", "exit 9")]), slow]);
    let args = streamed(&model, &["--preset", "balanced", "do it"]);
    let mut watched = world.start(&args);
    let session = watched.until_type("background.started")["session"].as_str().unwrap().to_owned();
    eventually("the end is in the journal", || {
        let shown = world.output(&["show", &session]);
        String::from_utf8_lossy(&shown.stdout).contains("background.ended")
    });
    watched.kill();
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn a_card_says_what_is_at_work_beside_the_call() {
    let world = World::new();
    let turns = [turn(&[start("web", "sleep 3247")]), turn(&[bash("program=ls; $program")]), say("done")];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.of("approval.requested")[0]["card"]["beside"], json!(["web"]));
    assert_eq!(run.of("background.ended").len(), 1, "a session that is left has none");
    eventually("nothing is left", || !alive("sleep\u{0}3247"));
}

#[test]
fn a_sandbox_by_hand_gives_a_terminal_when_asked() {
    let world = World::new();
    let code = |args: &[&str]| world.output(&[&["sandbox", "run"], args].concat()).status.code();
    assert_eq!(code(&["--pty", "--", "test -t 0 -a -t 1 -a -t 2"]), Some(0));
    assert_eq!(code(&["--", "test -t 1"]), Some(1));
}

#[test]
fn killed_with_the_gateway_it_is_gone_and_the_model_is_told() {
    let world = World::new();
    let turns = [
        turn(&[start("web", "echo up; sleep 3243")]),
        json!({"text": "thinking", "calls": [look(json!({"action": "list"}))], "chunks": 4, "delay_ms": 400}),
        say("done"),
    ];
    let model = world.script(&turns);
    let args = streamed(&model, &["--preset", "balanced", "do it"]);
    let mut watched = world.start(&args);
    let session = watched.until_type("background.started")["session"].as_str().unwrap().to_owned();
    watched.until_type("message.delta");
    let shown = world.output(&["show", &session, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["background"], json!(["web"]), "{shown}");
    assert_eq!(world.sessions()[0]["background"], json!(["web"]));
    watched.kill();
    eventually("nothing is left", || !alive("sleep\u{0}3243"));
    let run = world.resumed(&session);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let notices = run.of("notice");
    assert!(
        notices.iter().any(|event| event["text"].as_str().unwrap().ends_with("old sandbox: web")),
        "{notices:#?}"
    );
    let list = run.of("call.done")[0];
    assert_eq!(list["result"]["summary"], "0 at work, 0 ended", "it is not started again: {list}");
    let restored = entries(&world, &run, "session.restored");
    assert!(restored[0].to_string().contains("\"background\":[\"web\"]"), "{restored:#?}");
    assert_eq!(world.verified()["result"], "ok");
}

#[test]
fn it_ends_with_a_session_that_is_stopped_or_left() {
    for (signal, expected) in [("TERM", "session"), ("INT", "session")] {
        let world = World::new();
        let turns = [turn(&[start("web", "sleep 3244")]), turn(&[bash("sleep 3244")]), say("done")];
        let model = world.script(&turns);
        let args = streamed(&model, &["--preset", "balanced", "do it"]);
        let mut watched = world.start(&args);
        watched.until(|event| event["type"] == "call.calling" && event["call"] == "call_2");
        watched.signal(signal);
        let run = watched.finish();
        let ended = run.of("background.ended");
        assert_eq!(ended.len(), 1, "{signal}: {:#?}", run.events);
        eventually("nothing is left", || !alive("sleep\u{0}3244"));
        let journaled = entries(&world, &run, "background.ended");
        assert!(journaled[0].to_string().contains(expected), "{signal}: {journaled:#?}");
    }
}

#[test]
fn a_stopped_session_says_that_its_background_commands_are_dead_with_it() {
    let world = World::new();
    let turns = [turn(&[start("web", "sleep 3245")]), turn(&[bash("sleep 3245")]), say("done")];
    let model = world.script(&turns);
    let args = streamed(&model, &["--preset", "balanced", "do it"]);
    let mut watched = world.start(&args);
    let event = watched.until(|event| event["type"] == "call.calling" && event["call"] == "call_2");
    let stopped = world.output(&["stop", event["session"].as_str().unwrap()]);
    assert!(stopped.status.success(), "{stopped:?}");
    let run = watched.finish();
    let place = |kind: &str| run.events.iter().position(|event| event["type"] == kind).unwrap();
    assert!(place("background.ended") < place("session.closed"));
    assert_eq!(run.of("background.ended")[0]["reason"], "ended with the sandbox");
    eventually("nothing is left", || !alive("sleep\u{0}3245"));
}

#[test]
fn a_command_has_a_terminal_only_when_it_asks_for_one() {
    let world = World::new();
    let test = "test -t 1 && echo yes || echo no";
    let asked = call("bash", json!({"command": test, "pty": true}));
    let behind = call("bash", json!({"command": test, "pty": true, "background": "x"}));
    let turns =
        [turn(&[bash(test), asked, behind, look(json!({"action": "wait", "name": "x"}))]), say("done")];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said = |call: &str| -> String {
        let of = |event: &&&Value| event["call"] == call;
        run.of("call.output").iter().filter(of).filter_map(|event| event["text"].as_str()).collect()
    };
    assert_eq!(said("call_1"), "no\n");
    assert_eq!(said("call_2"), "yes\r\n");
    assert_eq!(said("call_4"), "yes\r\n");
}

#[test]
fn of_a_flood_the_end_is_kept_where_the_policy_says_so() {
    let flood = "head -c 52428800 /dev/zero | tr '\\0' x; echo; echo THE END";
    for (keep, tail) in [("head", false), ("head_and_tail", true)] {
        let world = World::new();
        let policy = world.path("keep.toml");
        std::fs::write(&policy, format!("name = \"keep\"\n[execution]\noutput_keep = \"{keep}\"\n")).unwrap();
        let model = world.script(&[turn(&[bash(flood)]), say("done")]);
        let policy = crate::harness::text(&policy);
        let run = world.headless(&streamed(&model, &["--preset", "balanced", "--policy", &policy, "do it"]));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let result = &run.of("call.done")[0]["result"];
        assert_eq!(
            (&result["kept_bytes"], &result["dropped_bytes"]),
            (&json!(10_485_760), &json!(41_943_049))
        );
        let outputs = run.of("call.output");
        let last = outputs.last().unwrap()["text"].as_str().unwrap();
        assert_eq!(last.ends_with("THE END\n"), tail, "{keep}");
        let gaps: Vec<u64> = outputs.iter().filter_map(|event| event["left_out"].as_u64()).collect();
        assert_eq!(gaps, if tail { vec![41_943_049] } else { vec![] }, "{keep}");
    }
}

#[test]
fn output_that_is_no_text_is_safe_on_every_way() {
    let world = World::new();
    let binary = "printf '\\000\\377\\033]0;x\\007\\303'; head -c 300000 /dev/urandom";
    let run = world.run("balanced", &[turn(&[bash(binary)]), say("done")]);
    assert_eq!(run.code, 0, "every line of the stream is JSON: {}", run.stderr);
    assert_eq!(run.of("call.done")[0]["result"]["kept_bytes"], 300_009);
    let model = world.script(&[turn(&[bash(binary)]), say("done")]);
    let text = world.output(&["run", "--headless", "--model", &model, "--preset", "balanced", "do it"]);
    let told = [text.stdout, text.stderr].concat();
    let bad = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\n');
    assert!(!told.iter().any(bad), "no control character reaches a terminal");
    assert!(String::from_utf8(told).is_ok());
}

/// The results that a model's server was sent last, and what Enclos told beside them.
fn told(server: &Server) -> (Vec<String>, Vec<String>) {
    let of = |wanted: &str| {
        let last = server.last().into_iter();
        last.filter(|(role, _)| role == wanted).map(|(_, text)| text).collect::<Vec<_>>()
    };
    (of("tool"), of("user"))
}

#[test]
fn the_model_is_told_where_each_output_is_from_and_how_each_command_ended() {
    let world = World::new();
    let policy = world.path("disk.toml");
    let text = "name = \"disk\"\n[execution]\nsandbox_disk_bytes = 8388608\noutput_keep = \"head_and_tail\"\n\
         command_max_output_bytes = 100000\n";
    std::fs::write(&policy, text).unwrap();
    let files = (0..12).map(|n| format!("head -c 1000000 /dev/zero > m{n}; "));
    let fill = files.collect::<String>() + "sleep 600";
    let server = Server::play(vec![
        turn(&[start("web", "printf 'up\\377'; until [ -e go ]; do sleep 0.02; done; echo late; exit 3")]),
        turn(&[look(json!({"action": "wait", "name": "web", "text": "up", "seconds": 60}))]),
        turn(&[bash("touch go"), look(json!({"action": "wait", "name": "web"}))]),
        turn(&[look(json!({"action": "read", "name": "web", "from": 1}))]),
        turn(&[bash("seq -f 'line %06.0f' 100000")]),
        turn(&[start("disk", &fill), look(json!({"action": "wait", "name": "disk"}))]),
        say("done"),
    ]);
    let (model, policy) = (server.model(), crate::harness::text(&policy));
    let run = world.headless(&streamed(&model, &["--preset", "balanced", "--policy", &policy, "do it"]));
    assert_eq!(run.code, 0, "{:#?}", run.of("approval.requested"));
    let (results, beside) = told(&server);
    assert_eq!(results[0], "[started in the background as `web`: see it with the tool background]");
    let (first, state) = results[1].split_once("\n[background command web (call_1): at work for ").unwrap();
    assert_eq!(first, "up\u{FFFD}\n[1 byte is not UTF-8 and is shown as \u{FFFD}]");
    assert!(state.ends_with(" s; bytes 0 to 3]"), "{state}");
    assert!(results[3].starts_with("late\n[background command web (call_1): ended after "), "{}", results[3]);
    assert!(results[3].ends_with("exit code 3; bytes 3 to 8]"), "{}", results[3]);
    assert!(results[4].starts_with("p\u{FFFD}late\n"), "{}", results[4]);
    let flood = &results[5];
    assert!(flood.starts_with("line 000001\n") && flood.ends_with("line 100000\n[exit code 0]"), "{flood}");
    assert_eq!(flood.matches(" bytes left out …]").count(), 1);
    assert!(results[7].contains("killed: disk (the disk ceiling of the sandbox) after "), "{}", results[7]);
    let ends: Vec<&String> =
        beside.iter().filter(|text| text.starts_with("[Enclos] The background")).collect();
    assert_eq!(ends.len(), 2, "{beside:#?}");
    assert_eq!(ends[0], "[Enclos] The background command `web` (call_1) ended: exit code 3.");
    assert!(ends[1].contains("`disk` (call_7) ended: killed: disk"), "{}", ends[1]);
    let disk = run.of("background.ended")[1];
    assert_eq!(disk["result"]["killed"], "disk", "the person is told as well: {disk}");
}

#[test]
fn the_model_is_told_of_commands_that_died_with_their_gateway() {
    let world = World::new();
    let server = Server::play(vec![
        turn(&[start("web", "sleep 3246")]),
        turn(&[bash("echo waiting; sleep 3246")]),
        turn(&[look(json!({"action": "list"}))]),
    ]);
    let model = server.model();
    let args = streamed(&model, &["--preset", "balanced", "do it"]);
    let mut watched = world.start(&args);
    let session = watched.until_type("call.output")["session"].as_str().unwrap().to_owned();
    watched.kill();
    let run = world.resumed(&session);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (results, beside) = told(&server);
    assert_eq!(results[2], "[no background command was started]");
    let told = beside.iter().find(|text| text.contains("taken up again")).unwrap();
    assert!(told.ends_with("Of the background commands these were at work: `web`."), "{told}");
    eventually("nothing is left", || !alive("sleep\u{0}3246"));
}

#[test]
fn a_command_goes_to_the_background_with_or_without_a_name_of_its_own() {
    let world = World::new();
    let in_background = |args: Value| call("bash", args);
    let turns = [
        turn(&[in_background(json!({"command": "sleep 60", "background": true}))]),
        turn(&[in_background(json!({"command": "sleep 60", "background": true, "name": "second"}))]),
        turn(&[in_background(json!({"command": "true", "background": false}))]),
        turn(&[in_background(json!({"command": "true", "name": "third"}))]),
        say("done"),
    ];
    let run = world.run("balanced", &turns);
    let names: Vec<&Value> = run.of("background.started").iter().map(|event| &event["name"]).collect();
    assert_eq!(names, [&json!("background"), &json!("second")]);
    let errors = run.of("call.errored");
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0]["error"].as_str().unwrap().contains("set `background` to true"), "{errors:#?}");
}

#[test]
fn what_goes_on_rewriting_a_file_does_not_change_what_was_shown() {
    let world = World::new();
    let rewrite = "trap '' TERM HUP INT; (setsid bash -c 'trap \"\" TERM; while :; do date +%s%N > .h; mv .h hello.txt; sleep 0.01; done' &); \
                   while :; do date +%s%N > .m; mv .m made.txt; sleep 0.01; done";
    let turns = [
        turn(&[start("writer", rewrite)]),
        turn(&[look(json!({"action": "wait", "name": "writer", "seconds": 1}))]),
        turn(&[bash("until [ -s made.txt ] && ! grep -q one hello.txt; do sleep 0.01; done")]),
        say("done"),
    ];
    let run = world.run("open", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let id = run.session();
    let diff = || String::from_utf8(world.output(&["diff", &id]).stdout).unwrap();
    let shown = diff();
    assert_eq!(shown, diff(), "nothing writes any more");
    let applied = world.output(&["apply", &id]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    for name in ["hello.txt", "made.txt"] {
        let now = world.read(name);
        let number = now.trim_end();
        assert!(number.parse::<u64>().is_ok(), "{name}: {now}");
        assert!(shown.contains(number), "{name} is `{number}`, which was not shown:\n{shown}");
    }
}
