//! Lineage in the real binary: woven by a session, asked, exported, verified, drawn.

use serde_json::{Value, json};

use crate::harness::{World, bash, call, say, text, turn};

const SECRET: &str = "the tariff is forty-two";

/// A session that reads a file, writes one, and runs a command.
fn worked() -> (World, String) {
    let world = World::new();
    world.write("tariff.md", &format!("{SECRET}\n"));
    let write = call("write", json!({"path": "out.txt", "content": "forty-two\n"}));
    let turns = [
        turn(&[call("read", json!({"path": "tariff.md"}))]),
        turn(&[write]),
        turn(&[bash("cat out.txt > copy.txt")]),
        say("done"),
    ];
    let run = world.run("balanced", &turns);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let session = run.session();
    (world, session)
}

fn records(answer: &Value) -> &Vec<Value> {
    answer["records"].as_array().unwrap()
}

fn of<'v>(answer: &'v Value, kind: &str) -> Vec<&'v Value> {
    records(answer).iter().filter(|record| record["kind"] == kind).collect()
}

fn names(answer: &Value) -> Vec<&str> {
    records(answer).iter().map(|record| record["origin"]["source_name"].as_str().unwrap()).collect()
}

#[test]
fn a_session_leaves_records_and_every_question_is_answered_from_them() {
    let (world, session) = worked();
    let all = world.json(&["lineage", "records", &session, "--json"]);
    assert_eq!(of(&all, "prompt").len(), 1);
    assert_eq!(of(&all, "llm_output").len(), 4);
    assert_eq!(of(&all, "context_snapshot").len(), 4);
    assert_eq!(of(&all, "diff").len(), 1);
    assert_eq!(of(&all, "external_input")[0]["origin"]["source_name"], "project");
    let read = of(&all, "tool_result")[0];
    assert_eq!(read["origin"]["source_name"], "tariff.md");
    assert_eq!(read["classification"]["level"], "INTERNAL");
    assert!(read["content_hash"].as_str().unwrap().starts_with("hmac-sha256:"));

    let id = read["lineage_id"].as_str().unwrap();
    let forward = world.json(&["lineage", "forward", id, "--json"]);
    assert_eq!((of(&forward, "diff").len(), forward["truncated"].clone()), (1, json!(false)));
    let backward = world.json(&["lineage", "backward", &session, "--json"]);
    assert!(names(&backward).contains(&"tariff.md") && names(&backward).contains(&"project"));
    let why = world.json(&["lineage", "why", &session, "--json"]);
    assert_eq!(names(&why).last(), Some(&"project"));
    let impact = world.json(&["lineage", "impact", "tariff.md", "--since", "1d", "--json"]);
    assert_eq!(of(&impact, "diff").len(), 1);
    let hunk = world.json(&["lineage", "hunk", &session, "out.txt", "--line", "1", "--json"]);
    let links = hunk["links"].as_array().unwrap();
    assert!(links.iter().any(|link| link["confidence"] == "declared"), "{hunk}");
    let copied = world.json(&["lineage", "hunk", &session, "copy.txt", "--json"]);
    let links = copied["links"].as_array().unwrap();
    assert!(links.iter().all(|link| link["confidence"] == "assumed"), "no call names it: {copied}");
    assert_eq!(world.json(&["lineage", "downgrades", "--json"])["records"], json!([]));
    let table = world.output(&["lineage", "backward", &session]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("RECORD"));
    let none = world.output(&["lineage", "why", "lin_nothing_1"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("enclos lineage records"));
}

#[test]
fn an_export_is_verified_elsewhere_and_has_no_content() {
    let (world, session) = worked();
    let applied = world.output(&["apply", &session]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let folder = text(&world.path("custody"));
    let exported = world.json(&["lineage", "export", &session, "-o", &folder, "--json"]);
    let sent = world.json(&["lineage", "records", &session, "--json"]);
    assert_eq!(of(&sent, "message_out")[0]["origin"]["source_name"], "working tree");
    assert_eq!(exported["records"].as_u64().unwrap(), records(&sent).len() as u64);
    for file in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let found = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!found, "content in an export");
    }
    let key = text(&world.path("sign.pub"));
    std::fs::copy(world.home().join("keys/sign.pub"), &key).unwrap();
    // Elsewhere: another state, the folder and the key alone.
    let elsewhere = World::new();
    let verified = elsewhere.json(&["lineage", "verify", &folder, "--key", &key, "--json"]);
    assert_eq!(
        (verified["ok"].clone(), verified["signer"].clone()),
        (json!(true), json!("given")),
        "{verified}"
    );
    let records = world.path("custody/records.jsonl");
    let changed = std::fs::read_to_string(&records).unwrap().replacen("tariff.md", "public.md", 1);
    std::fs::write(&records, changed).unwrap();
    let refused = elsewhere.output(&["lineage", "verify", &folder, "--key", &key]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("`records.jsonl` is not the file"));
    let picture = text(&world.path("lineage.svg"));
    let drawn = world.json(&["lineage", "graph", &session, "-o", &picture, "--json"]);
    assert!(drawn["records"].as_u64().unwrap() > 5);
    assert!(std::fs::read_to_string(&picture).unwrap().starts_with("<svg"));
}

#[test]
fn a_session_that_is_resumed_goes_on_with_its_records() {
    let (world, session) = worked();
    let before = world.json(&["lineage", "records", &session, "--json"]);
    let run = world.headless(&["resume", &session, "--headless", "--output", "stream-json", "say more"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let after = world.json(&["lineage", "records", &session, "--json"]);
    assert!(records(&after).len() > records(&before).len());
    let newest = of(&after, "context_snapshot").pop().unwrap();
    let back = world.json(&["lineage", "backward", newest["lineage_id"].as_str().unwrap(), "--json"]);
    assert!(names(&back).contains(&"tariff.md"), "the chain of snapshots goes on");
}
