//! The journal: exported, verified, and altered in every way.

use crate::harness::{World, bash, say, text, turn};

#[test]
fn one_byte_changed_anywhere_in_an_export_is_never_ok_and_the_entry_is_named() {
    let world = World::new();
    let run = world.run("balanced", &[turn(&[bash("echo hi > a.txt")]), say("done")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let file = world.path("export.jsonl");
    let exported = world.output(&["journal", "export", "-o", &text(&file)]);
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    assert_eq!(world.output(&["journal", "verify", &text(&file)]).status.code(), Some(0));
    let bytes = std::fs::read(&file).unwrap();
    let altered = world.path("altered.jsonl");
    // Every byte is tried in the store's own tests; here the whole way through the binary, at a stride.
    for at in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        std::fs::write(&altered, &changed).unwrap();
        let output = world.output(&["journal", "verify", "--json", &text(&altered)]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_ne!(report["result"], "ok", "byte {at}");
        assert_ne!(output.status.code(), Some(0), "byte {at}");
        assert!(report["first_bad"].is_string(), "byte {at}: {report}");
    }
}

#[test]
fn a_cut_export_is_truncated_and_a_missing_file_is_bad_input() {
    let world = World::new();
    world.run("balanced", &[say("done")]);
    let exported = world.output(&["journal", "export"]);
    let text_of = String::from_utf8(exported.stdout).unwrap();
    let lines: Vec<&str> = text_of.lines().collect();
    let cut = world.path("cut.jsonl");
    std::fs::write(&cut, lines[..lines.len() - 1].join("\n") + "\n").unwrap();
    assert_eq!(world.output(&["journal", "verify", &text(&cut)]).status.code(), Some(2));
    let nowhere = world.path("nowhere.jsonl");
    assert_eq!(world.output(&["journal", "verify", &text(&nowhere)]).status.code(), Some(5));
}

#[test]
fn no_content_and_no_secret_is_in_an_export_or_in_the_database() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let world = World::new().with("ENCLOS_MODEL_KEY", key);
    let run =
        world.run("balanced", &[turn(&[bash("echo the-output-text; : the task")]), say("the-final-text")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let export = String::from_utf8(world.output(&["journal", "export"]).stdout).unwrap();
    for content in ["the-final-text", "do it", key] {
        assert!(!export.contains(content), "{content}");
    }
    for name in ["state.db", "state.db-wal"] {
        let bytes = std::fs::read(world.home().join(name)).unwrap_or_default();
        let bytes = String::from_utf8_lossy(&bytes);
        assert!(!bytes.contains("the-final-text") && !bytes.contains(key), "{name}");
    }
}
