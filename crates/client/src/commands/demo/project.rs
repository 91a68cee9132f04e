//! The small repository of the demonstration: a calculator in bash whose product is a sum, and a test that sees it.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use enclos_protocol::env::{self, Environment};
use serde_json::json;
use tempfile::TempDir;

use crate::error::CommandError;
use crate::text;

/// How the project is tested.
pub(crate) const TEST: &str = "bash test.sh";

const CALCULATOR: &str = "\
#!/usr/bin/env bash
# A calculator for whole numbers: calc.sh add 2 3

add() { echo $(($1 + $2)); }
multiply() { echo $(($1 + $2)); }

\"$@\"
";

const CHECKS: &str = "\
#!/usr/bin/env bash
# The calculator's test.
failed=0
expect() {
  local got
  got=$(bash calc.sh \"$1\" \"$2\" \"$3\")
  if [ \"$got\" != \"$4\" ]; then
    echo \"$1 $2 $3: expected $4, got $got\"
    failed=1
  fi
}
expect add 2 3 5
expect multiply 2 3 6
expect multiply 7 0 0
[ \"$failed\" = 0 ] && echo 'all tests pass'
exit \"$failed\"
";

const README: &str = "# Calculator\n\nRun `bash test.sh` to test it.\n";

/// The wrong line, and the line that mends it.
const WRONG: &str = "multiply() { echo $(($1 + $2)); }";
const RIGHT: &str = "multiply() { echo $(($1 * $2)); }";

/// A folder of the demonstration, gone when it is dropped.
pub(crate) fn folder(env: &Environment) -> Result<TempDir, CommandError> {
    let parent = Path::new(env.get(env::TMPDIR).filter(|value| !value.is_empty()).unwrap_or("/tmp"));
    tempfile::Builder::new()
        .prefix("enclos-demo-")
        .tempdir_in(parent)
        .map_err(|error| CommandError::file(text::WRITE, parent, &error))
}

/// Makes the repository and the script; whether it has a history.
pub(crate) fn make(repo: &Path, script: &Path, env: &Environment) -> Result<bool, CommandError> {
    fs::create_dir(repo).map_err(|error| CommandError::file(text::WRITE, repo, &error))?;
    for (name, content) in [("calc.sh", CALCULATOR), ("test.sh", CHECKS), ("README.md", README)] {
        let path = repo.join(name);
        fs::write(&path, content).map_err(|error| CommandError::file(text::WRITE, &path, &error))?;
    }
    fs::write(script, turns().to_string())
        .map_err(|error| CommandError::file(text::WRITE, script, &error))?;
    let path = env.get(env::PATH).unwrap_or("/usr/local/bin:/usr/bin:/bin");
    let who = ["-c", "user.name=Demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false"];
    Ok(git(repo, path, &["init", "-q"])
        && git(repo, path, &["add", "."])
        && git(repo, path, &[&who[..], &["commit", "-q", "-m", "A calculator"]].concat()))
}

/// Runs the person's own git, if there is one, without their configuration.
fn git(repo: &Path, path: &str, arguments: &[&str]) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the demonstration's repository is made with the person's own git"
    )]
    let mut command = std::process::Command::new("git");
    command
        .args(arguments)
        .current_dir(repo)
        .env_clear()
        .env("PATH", path)
        .env("HOME", repo)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether the change was applied.
pub(crate) fn was_mended(repo: &Path) -> bool {
    fs::read_to_string(repo.join("calc.sh")).is_ok_and(|text| text == CALCULATOR.replace(WRONG, RIGHT))
}

/// What the script model says and proposes, turn by turn.
fn turns() -> serde_json::Value {
    let call = |name: &str, arguments: serde_json::Value| json!({ "name": name, "arguments": arguments });
    json!({ "turns": [
        { "text": text::DEMO_TURNS[0], "chunks": 4, "calls": [
            call("list", json!({ "path": "." })),
            call("read", json!({ "path": "calc.sh" })),
            call("read", json!({ "path": "test.sh" })),
        ]},
        { "text": text::DEMO_TURNS[1], "chunks": 3, "calls": [call("bash", json!({ "command": TEST }))] },
        { "text": text::DEMO_TURNS[2], "chunks": 3, "calls": [
            call("bash", json!({ "command": "sudo chown root calc.sh" })),
        ]},
        { "text": text::DEMO_TURNS[3], "chunks": 3, "calls": [
            call("edit", json!({ "path": "calc.sh", "old": WRONG, "new": RIGHT })),
        ]},
        { "text": text::DEMO_TURNS[4], "chunks": 2, "calls": [call("bash", json!({ "command": TEST }))] },
        { "text": text::DEMO_TURNS[5], "chunks": 6 },
    ]})
}

#[cfg(test)]
mod tests {
    use enclos_protocol::env::Environment;

    use super::{CALCULATOR, RIGHT, WRONG, make, turns, was_mended};

    #[test]
    fn the_project_is_made_wrong_and_can_be_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let repo = folder.path().join("repo");
        make(&repo, &folder.path().join("turns.json"), &Environment::of([("PATH", "/nowhere")]))
            .expect("made");
        assert!(!was_mended(&repo));
        assert_eq!(CALCULATOR.matches(WRONG).count(), 1, "the edit names one place");
        std::fs::write(repo.join("calc.sh"), CALCULATOR.replace(WRONG, RIGHT)).expect("written");
        assert!(was_mended(&repo));
        assert_eq!(turns()["turns"].as_array().map(Vec::len), Some(6));
    }
}
