//! The whole command over a scripted gateway: what it prints, what it orders, with which code it ends.

mod support;

use std::io::Cursor;

use enclos_client::world::{Tty, World};
use enclos_protocol::env::Environment;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::SessionState;
use enclos_protocol::report::CommandRun;
use serde_json::Value;
use support::{Fake, tell};

/// What a command left.
struct Ran {
    code: u8,
    out: String,
    err: String,
}

const PIPES: Tty = Tty { input: false, output: false, error: false, width: 80, height: 24 };

fn run_with(fake: &Fake, args: &[&str], input: &str, tty: Tty) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut world = World {
        env: Environment::of([]),
        now: || "2026-11-30T12:00:00Z".parse().expect("a time"),
        input: &mut Cursor::new(input.as_bytes().to_vec()),
        out: &mut out,
        err: &mut err,
        tty,
    };
    let args = std::iter::once("enclos").chain(args.iter().copied()).map(Into::into);
    let code = enclos_client::run(args, &mut world, |_| Ok(fake.clone()));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ran { code, out: text(out), err: text(err) }
}

fn run(fake: &Fake, args: &[&str]) -> Ran {
    run_with(fake, args, "", PIPES)
}

fn no_control(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

fn whole_run(exit_code: u8) -> Fake {
    let mut script = vec![tell(support::opened())];
    script.extend(support::says("I will look.\u{1b}[2J"));
    script.extend(support::done(1, "read", serde_json::json!({"path": "calc.sh"})));
    script.extend(support::refused(2));
    script.extend(support::says("All is well."));
    script.push(tell(support::changes()));
    script.push(tell(support::finished(exit_code, SessionState::Reviewing)));
    Fake { script, ..Fake::default() }
}

#[test]
fn interactive_without_a_terminal_is_refused_with_the_way_out() {
    for args in [&["run", "x"][..], &["chat"], &["resume", "last"], &["demo"]] {
        let ran = run(&Fake::default(), args);
        assert_eq!(ran.code, 2, "{args:?}");
        let hint = if args == ["demo"] { "--yes" } else { "--headless" };
        assert!(ran.err.contains(hint) && ran.out.is_empty(), "{}", ran.err);
    }
    let half = Tty { input: false, output: true, ..PIPES };
    assert_eq!(run_with(&Fake::default(), &["run", "x"], "a\na\n", half).code, 2, "a pipe never answers");
}

#[test]
fn a_headless_run_prints_its_last_message_and_a_summary() {
    let ran = run(&whole_run(4), &["run", "--headless", "fix it"]);
    assert_eq!(ran.code, 4);
    insta::assert_snapshot!("headless_out", ran.out);
    insta::assert_snapshot!("headless_err", ran.err);
    no_control(&ran.out);
    no_control(&ran.err);
}

#[test]
fn a_json_run_prints_one_object() {
    let ran = run(&whole_run(4), &["run", "--headless", "--output", "json", "fix it"]);
    assert_eq!((ran.code, ran.out.lines().count()), (4, 1));
    let object: Value = serde_json::from_str(&ran.out).expect("an object");
    assert_eq!(object["session"], "sess_01fake");
    assert_eq!(object["exit_code"], 4);
    assert_eq!(object["state"], "reviewing");
    assert_eq!(object["message"], "All is well.");
    assert_eq!(object["changeset"]["insertions"], 2);
    assert_eq!(object["budget"]["granted"]["actions"], 150);
    assert_eq!(object["refused"][0]["call"], "call_2");
    assert_eq!(object["refused"].as_array().map(Vec::len), Some(1));
    assert!(ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn a_stream_is_every_event_and_ends_with_the_last() {
    let fake = whole_run(0);
    let ran = run(&fake, &["run", "--headless", "--output", "stream-json", "fix it"]);
    assert_eq!(ran.code, 0);
    let events: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    assert_eq!(events.len(), fake.script.len());
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let last = events.last().expect("a last event");
    assert_eq!((last["type"].as_str(), last["exit_code"].as_u64()), (Some("run.finished"), Some(0)));
    no_control(&ran.out);
}

#[test]
fn the_code_of_a_run_is_that_of_its_last_event() {
    for code in [0, 1, 2, 3, 4, 5, 6, 130] {
        let script = vec![tell(support::finished(code, SessionState::Closed))];
        let fake = Fake { script, ..Fake::default() };
        assert_eq!(run(&fake, &["run", "--headless", "x"]).code, code);
    }
    let cut = Fake { script: vec![tell(support::opened())], ..Fake::default() };
    let ran = run(&cut, &["run", "--headless", "x"]);
    assert_eq!(ran.code, 6, "a stream without a last event is a gateway that went away");
}

#[test]
fn an_error_of_the_gateway_keeps_its_fault() {
    let faults = [
        (Fault::Usage, 2),
        (Fault::Configuration, 2),
        (Fault::NotFound, 2),
        (Fault::Budget, 3),
        (Fault::Refused, 4),
        (Fault::Approval, 5),
        (Fault::Unreachable, 6),
        (Fault::Internal, 1),
    ];
    for (fault, code) in faults {
        let failure = Some(ApiError::new(fault, "it went wrong").hint("mend it"));
        let fake = Fake { failure, ..Fake::default() };
        let ran = run(&fake, &["run", "--headless", "--output", "json", "x"]);
        assert_eq!(ran.code, code);
        let told: Value = serde_json::from_str(&ran.err).expect("an error");
        let error = serde_json::json!({
            "kind": fault.as_str(), "message": "it went wrong", "hint": "mend it", "exit_code": code,
        });
        assert_eq!(told["error"], error);
        let words = run(&fake, &["run", "--headless", "x"]).err;
        assert!(words.contains("error: it went wrong") && words.contains("hint: mend it"), "{words}");
        let object: Value = serde_json::from_str(&ran.out).expect("an object");
        assert_eq!(object["error"]["message"], "it went wrong");
    }
}

#[test]
fn what_is_asked_for_reaches_the_gateway() {
    let fake = whole_run(0);
    let args = ["run", "--headless", "--on-ask", "deny", "--preset", "balanced", "--policy", "p.toml", "-"];
    assert_eq!(run_with(&fake, &args, "the task\n", PIPES).code, 0);
    let opened = fake.opened.borrow().join("");
    for part in ["Nobody(Deny)", "\"balanced\"", "p.toml", "the task"] {
        assert!(opened.contains(part), "{opened}");
    }
    assert_eq!(run(&fake, &["run", "--headless"]).code, 2, "no task");
    assert_eq!(run(&fake, &["run", "--headless", " "]).code, 2, "an empty task");
    assert_eq!(run(&fake, &["run", "--on-ask", "deny", "x"]).code, 2, "only a headless run has nobody");
}

#[test]
fn a_session_is_named_by_its_beginning() {
    let fake = whole_run(0);
    assert_eq!(run(&fake, &["resume", "last", "--headless", "--extend", "go on"]).code, 0);
    let opened = fake.opened.borrow().join("");
    assert!(
        opened.contains("sess_01kb") && opened.contains("extend: true") && opened.contains("go on"),
        "{opened}"
    );
    assert_eq!(run(&fake, &["stop", "01ka"]).code, 0);
    assert_eq!(run(&fake, &["apply", "last", "--files", "a", "b"]).code, 0);
    assert_eq!(run(&fake, &["discard", "sess_01ka"]).code, 0);
    let orders = fake.orders();
    assert_eq!(
        orders,
        ["stop sess_01ka", "apply sess_01kb Some([\"a\", \"b\"])", "discard sess_01ka"].map(str::to_owned)
    );
    let ran = run(&fake, &["show", "sess_01k"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("2 sessions"), "{}", ran.err);
}

#[test]
fn listings_and_reports_have_a_json_form() {
    let fake = Fake { run: Some(ok_run(0, None)), ..Fake::default() };
    let forms: [&[&str]; 12] = [
        &["sessions", "--json"],
        &["show", "last", "--json"],
        &["diff", "last", "--json"],
        &["apply", "last", "--json"],
        &["policy", "check", "p.toml", "--json"],
        &["policy", "test", "p.toml", "--json"],
        &["policy", "diff", "strict", "open", "--json"],
        &["policy", "simulate", "p.toml", "--json"],
        &["policy", "explain", "--tool", "write", "--json"],
        &["policy", "explain-command", "--json", "--", "ls"],
        &["sandbox", "run", "--json", "--repeat", "2", "--", "ls"],
        &["doctor", "--json"],
    ];
    for args in forms {
        let ran = run(&fake, args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        assert_eq!(ran.out.lines().count(), 1, "{args:?}");
        serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    }
}

#[test]
fn a_diff_is_shown_escaped_and_its_patch_as_it_is() {
    let fake = Fake::default();
    let shown = run(&fake, &["diff", "last"]);
    insta::assert_snapshot!("diff", shown.out);
    no_control(&shown.out);
    insta::assert_snapshot!("diff_stat", run(&fake, &["diff", "last", "--stat"]).out);
    assert_eq!(run(&fake, &["diff", "last", "--patch"]).out, support::change_set().patch);
    let terminal = Tty { output: true, ..PIPES };
    no_control(&run_with(&fake, &["--color", "never", "diff", "last", "--patch"], "", terminal).out);
}

#[test]
fn colours_are_asked_for_and_refused() {
    let fake = Fake::default();
    assert!(run(&fake, &["--color", "always", "diff", "last"]).out.contains("\u{1b}[32m"));
    assert!(!run(&fake, &["diff", "last"]).out.contains('\u{1b}'));
    let terminal = Tty { output: true, ..PIPES };
    assert!(run_with(&fake, &["diff", "last"], "", terminal).out.contains("\u{1b}[32m"));
    assert!(!run_with(&fake, &["--plain", "diff", "last"], "", terminal).out.contains('\u{1b}'));
}

fn ok_run(exit_code: i32, killed: Option<&str>) -> CommandRun {
    CommandRun {
        exit_code,
        duration_ms: 1.0,
        stdout: "out".to_owned(),
        stderr: String::new(),
        dropped_bytes: 0,
        killed: killed.map(str::to_owned),
    }
}

#[test]
fn a_sandbox_gives_the_codes_of_its_command() {
    let of = |run: Option<CommandRun>| Fake { run, ..Fake::default() };
    assert_eq!(run(&of(Some(ok_run(7, None))), &["sandbox", "run", "--", "exit 7"]).code, 7);
    assert_eq!(run(&of(Some(ok_run(137, Some("timeout")))), &["sandbox", "run", "--", "x"]).code, 124);
    assert_eq!(run(&of(None), &["sandbox", "run", "--", "x"]).code, 125);
    let ran = run(&of(Some(ok_run(0, None))), &["sandbox", "run", "--", "echo", "a b"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("echo a b", "\u{1b}[31mred\n"), "bytes as they are");
    let terminal = Tty { output: true, error: true, ..PIPES };
    let ran = run_with(&of(Some(ok_run(0, None))), &["sandbox", "run", "--", "x"], "", terminal);
    assert_eq!(ran.err, "\\x1b[31mred\n", "a terminal is not given the bytes of a sandbox");
}

#[test]
fn a_verification_ends_with_its_class() {
    for code in 0..=5 {
        let fake = Fake { verify_code: code, ..Fake::default() };
        let ran = run(&fake, &["journal", "verify"]);
        assert_eq!(ran.code, code);
        assert!(ran.out.contains("unanchored"), "{}", ran.out);
    }
    let fake = Fake { verify_code: 1, ..Fake::default() };
    let ran = run(&fake, &["journal", "verify", "--json", "x.jsonl"]);
    let object: Value = serde_json::from_str(&ran.out).expect("an object");
    assert_eq!(object["first_bad"], "sess_01 entry 7 (line 9)");
}

#[test]
fn lineage_is_told_as_a_table_and_as_json_and_escapes_names() {
    let fake = Fake::default();
    let ran = run(&fake, &["lineage", "backward", "lin_01_2"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("RECORD") && ran.out.contains("lin_01_2"), "{}", ran.out);
    assert!(ran.out.contains("there is more") && !ran.out.contains('\u{1b}'), "{}", ran.out);
    let ran = run(&fake, &["lineage", "downgrades", "--since", "2026-11-30", "--json"]);
    let answer: Value = serde_json::from_str(&ran.out).expect("an object");
    assert_eq!(answer["records"][1]["kind"], "llm_output");
    assert_eq!(answer["truncated"], true);
    for wrong in [&["lineage", "why", "lin_nothing"][..], &["lineage", "downgrades", "--since", "soon"]] {
        assert_eq!(run(&fake, wrong).code, 2, "{wrong:?}");
    }
    for code in [0, 1] {
        let fake = Fake { verify_code: code, ..Fake::default() };
        let ran = run(&fake, &["lineage", "verify", "x"]);
        assert_eq!(ran.code, code);
        assert!(ran.out.contains("unanchored"), "{}", ran.out);
    }
}

#[test]
fn an_export_goes_to_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("journal.jsonl");
    let ran =
        run(&Fake::default(), &["journal", "export", "--session", "last", "-o", &file.to_string_lossy()]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(std::fs::read_to_string(&file).expect("a file").contains("sess_01kb"));
    assert_eq!(run(&Fake::default(), &["journal", "export", "-o", "/nowhere/x"]).code, 2);
}

#[test]
fn a_failed_check_fails_the_doctor() {
    assert_eq!(run(&Fake::default(), &["doctor"]).code, 0);
    let ran = run(&Fake { verify_code: 1, ..Fake::default() }, &["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("mend: allow them"), "{}", ran.out);
}

#[test]
fn a_batch_answers_each_line_and_survives_bad_ones() {
    let input = concat!(
        "{\"id\":1,\"base\":\"ask\",\"command\":\"ls\"}\n",
        "not json\n",
        "\n",
        "{\"id\":\"x\",\"base\":\"perhaps\",\"command\":\"ls\"}\n",
        "{\"id\":3,\"base\":\"allow\",\"comand\":\"ls\"}\n",
        "{\"id\":4,\"command\":\"sudo ls\"}"
    );
    let ran = run_with(&Fake::default(), &["policy", "explain-command", "--batch"], input, PIPES);
    assert_eq!(ran.code, 2, "some lines were no questions");
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 5, "{}", ran.out);
    assert_eq!((answers[0]["id"].as_u64(), answers[0]["verdict"].as_str()), (Some(1), Some("ask")));
    assert_eq!(answers[0]["pieces"][0]["argv"][0], "ls");
    assert_eq!(answers[0]["pieces"][0]["rule"], "rule");
    assert_eq!((answers[1]["line"].as_u64(), answers[1]["id"].is_null()), (Some(2), true));
    assert_eq!((answers[2]["line"].as_u64(), answers[2]["id"].as_str()), (Some(4), Some("x")));
    assert!(answers[2]["error"].as_str().is_some_and(|error| error.contains("perhaps")));
    assert_eq!((answers[3]["id"].as_u64(), answers[3]["error"].is_string()), (Some(3), true));
    assert_eq!(answers[4]["verdict"], "disabled");
    let right = "{\"id\":1,\"base\":\"ask\",\"command\":\"ls\"}\n";
    assert_eq!(run_with(&Fake::default(), &["policy", "explain-command", "--batch"], right, PIPES).code, 0);
    let preset = ["policy", "explain-command", "--batch", "--preset", "strict"];
    let ran = run_with(&Fake::default(), &preset, right, PIPES);
    assert!(ran.code == 2 && ran.out.contains("`base` stands beside `--preset`"), "{}", ran.out);
}

#[test]
fn a_batch_line_without_an_end_is_skipped() {
    let input = format!("{}\n{{\"id\":2,\"command\":\"ls\"}}\n", "x".repeat(3 << 20));
    let ran = run_with(&Fake::default(), &["policy", "explain-command", "--batch"], &input, PIPES);
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 2);
    assert!(answers[0]["error"].is_string());
    assert_eq!(answers[1]["id"], 2);
}

#[test]
fn help_begins_with_examples_and_typos_get_a_suggestion() {
    let help = run(&Fake::default(), &["--help"]);
    assert_eq!(help.code, 0);
    insta::assert_snapshot!("help", help.out);
    let help = run(&Fake::default(), &["run", "--help"]);
    insta::assert_snapshot!("help_run", help.out);
    let ran = run(&Fake::default(), &["ru", "x"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("'run'"), "{}", ran.err);
    let ran = run(&Fake::default(), &["run", "--headles"]);
    assert!(ran.err.contains("--headless"), "{}", ran.err);
    no_control(&run(&Fake::default(), &["run", "--\u{1b}[2J"]).err);
}

#[test]
fn completions_and_reference_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&Fake::default(), &["completions", shell]).out.contains("enclos"), "{shell}");
    }
    let cli = run(&Fake::default(), &["reference", "cli"]).out;
    for part in
        ["## `enclos journal verify`", "`--on-ask WHAT`", "`park`, `stop`, `deny`", "`-o, --output FILE`"]
    {
        assert!(cli.contains(part), "{part}\n{cli}");
    }
    let environment = run(&Fake::default(), &["reference", "environment"]).out;
    assert!(environment.contains("`ENCLOS_HOME`") && environment.contains("`NO_COLOR`"));
    assert!(run(&Fake::default(), &["reference", "events"]).out.contains("`run.finished`"));
}

#[test]
fn a_demonstration_that_was_not_applied_is_no_success() {
    let script = vec![tell(support::opened()), tell(support::finished(0, SessionState::Closed))];
    let ran = run(&Fake { script, ..Fake::default() }, &["demo", "--yes"]);
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
}

#[test]
fn a_policy_test_tells_what_failed_and_exits_one() {
    let ran = run(&Fake::default(), &["policy", "test", "p.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    insta::assert_snapshot!("policy_test", ran.out);
    let ran = run(&Fake::default(), &["policy", "test", "wrong.toml"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!("policy_test_failed", ran.out);
}

#[test]
fn two_policies_are_compared_in_rules_settings_and_answers() {
    let ran = run(&Fake::default(), &["policy", "diff", "strict", "balanced"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    insta::assert_snapshot!("policy_diff", ran.out);
    assert_eq!(run(&Fake::default(), &["policy", "diff", "open", "open"]).out, "Both say the same.\n");
}

#[test]
fn a_simulation_tells_what_would_change_escaped() {
    let ran = run(&Fake::default(), &["policy", "simulate", "new.toml", "--days", "7"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    no_control(&ran.out);
    insta::assert_snapshot!("policy_simulate", ran.out);
    assert_eq!(run(&Fake::default(), &["policy", "simulate", "new.toml", "--days", "0"]).code, 2);
}

#[test]
fn the_schema_of_each_kind_of_file_is_printed() {
    for kind in ["policy", "repository", "cases"] {
        let ran = run(&Fake::default(), &["policy", "schema", "--of", kind]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let schema: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{kind}");
    }
}

#[test]
fn a_grant_says_what_it_covers_who_gave_it_when_it_ends_and_how_often_it_was_used() {
    let ran = run(&Fake::default(), &["grants"]);
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["by ada, 2026-11-30 12:00", "2 calls, last 2026-11-30 12:05", "with the session"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(
        told.contains(r"exactly: echo \x1b[2Jxxx") && told.contains("… and 69 more characters"),
        "{told}"
    );
    no_control(&ran.out);
    let object: Value =
        serde_json::from_str(&run(&Fake::default(), &["grants", "--json"]).out).expect("rows");
    let command = object[0]["arguments"]["command"].as_str().expect("a command");
    assert_eq!(command.len(), 309, "whole in JSON");
    let revoked = run(&Fake::default(), &["grants", "revoke", "gr_1"]);
    assert!(revoked.out.contains("is revoked: bash asks again: exactly: echo"), "{}", revoked.out);
}
