//! What every scenario needs: a state folder, a repository, a script, and the binary.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

/// A state folder and a repository of their own.
pub(crate) struct World {
    dir: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

/// What a run printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub code: i32,
    pub events: Vec<Value>,
    pub stderr: String,
}

/// A call for a script.
pub(crate) fn call(name: &str, arguments: impl Into<Value>) -> Value {
    json!({"name": name, "arguments": arguments.into()})
}

/// A command for a script.
pub(crate) fn bash(command: &str) -> Value {
    call("bash", json!({"command": command}))
}

/// A turn with calls.
pub(crate) fn turn(calls: &[Value]) -> Value {
    json!({"calls": calls})
}

/// The last turn.
pub(crate) fn say(text: &str) -> Value {
    json!({"text": text})
}

#[expect(clippy::disallowed_methods, reason = "scenarios start the product and git")]
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}

/// The words of a headless run on a model that prints a stream of events.
pub(crate) fn streamed<'a>(model: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--headless", "--output", "stream-json", "--model", model], rest].concat()
}

/// A policy under which everything inside runs, and what is below a folder is CONFIDENTIAL.
pub(crate) fn labelled(folder: &str, raise: &str, clearance: &str) -> String {
    format!(
        r#"name = "labelled"
[[rule]]
id = "free.all"
category = ["read", "write", "delete", "bash"]
verdict = "allow"
[commands]
contained = "allow"
[labels]
raise = "{raise}"
[[labels.path]]
path = "{folder}"
level = "CONFIDENTIAL"
[[labels.model]]
name = "*"
clearance = "{clearance}"
"#
    )
}

impl World {
    /// A repository with two files and one commit.
    pub(crate) fn new() -> Self {
        let world = Self::bare_folder();
        world.write("hello.txt", "one\ntwo\nthree\n");
        world.write("src/lib.sh", "add() { echo $(($1 - $2)); }\n");
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["add", "."]);
        world.git(&["commit", "-qm", "first"]);
        world
    }

    /// A folder without git.
    pub(crate) fn bare_folder() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        Self { dir, environment: Vec::new() }
    }

    /// The same world with one more variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.repo().join(path)).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = program("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-C"])
            .arg(self.repo())
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Writes a script and gives its `--model`.
    pub(crate) fn script(&self, turns: &[Value]) -> String {
        let file = self.path("script.json");
        std::fs::write(&file, json!({"turns": turns}).to_string()).unwrap();
        format!("script:{}", file.display())
    }

    /// The binary, with nothing of this process's environment but what is needed.
    pub(crate) fn enclos(&self, args: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_enclos"));
        command.args(args).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("ENCLOS_HOME", self.home()).env("HOME", self.path("home")).current_dir(self.repo());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.enclos(args).output().unwrap()
    }

    /// What a command prints as JSON; it must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.output(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The entries of the whole journal.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let output = self.output(&["journal", "export"]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| parse(line, "")).collect()
    }

    /// A headless run on a script under a preset.
    pub(crate) fn run(&self, preset: &str, turns: &[Value]) -> Run {
        let model = self.script(turns);
        self.headless(&streamed(&model, &["--preset", preset, "do it"]))
    }

    /// A session taken up again, headless.
    pub(crate) fn resumed(&self, session: &str) -> Run {
        self.headless(&["resume", session, "--headless", "--output", "stream-json"])
    }

    /// Any headless command that prints a stream of events.
    pub(crate) fn headless(&self, args: &[&str]) -> Run {
        let output = self.output(args);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let events = stdout.lines().map(|line| parse(line, &stderr)).collect();
        Run { code: output.status.code().unwrap_or(-1), events, stderr }
    }

    /// Starts a headless run, to be watched.
    pub(crate) fn start(&self, args: &[&str]) -> Watched {
        let mut child = self.enclos(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watched { child, lines, seen: Vec::new() }
    }

    /// The result of verifying the whole journal.
    pub(crate) fn verified(&self) -> Value {
        let output = self.output(&["journal", "verify", "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            output.status.code(),
            report["exit_code"].as_i64().map(|code| i32::try_from(code).unwrap())
        );
        report
    }

    pub(crate) fn sessions(&self) -> Vec<Value> {
        let output = self.output(&["sessions", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn parse(line: &str, stderr: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("`{line}`: {error}\n{stderr}"))
}

impl Run {
    /// The events of a type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// The last event, which ends every headless stream.
    pub(crate) fn finished(&self) -> &Value {
        let last = self.events.last().unwrap_or_else(|| panic!("no event; {}", self.stderr));
        assert_eq!(last["type"], "run.finished", "{}", self.stderr);
        assert_eq!(last["exit_code"], self.code);
        last
    }

    /// The session.
    pub(crate) fn session(&self) -> String {
        self.events[0]["session"].as_str().unwrap().to_owned()
    }
}

/// A run that is watched while it goes on.
pub(crate) struct Watched {
    child: Child,
    lines: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Watched {
    /// Reads events until one that fits.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                let mut stderr = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
                panic!("the stream ended first: {:#?}\n{stderr}", self.seen);
            }
            let event = parse(&line, "");
            self.seen.push(event.clone());
            if fits(&event) {
                return event;
            }
        }
    }

    /// Reads events until one of a type.
    pub(crate) fn until_type(&mut self, kind: &str) -> Value {
        self.until(|event| event["type"] == kind)
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = program("kill").args([&format!("-{name}"), &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Run {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        self.seen.extend(rest.lines().map(|line| parse(line, "")));
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Run { code, events: self.seen, stderr }
    }
}

/// Whether anything of a process tree that was named so is alive on this machine.
pub(crate) fn alive(marker: &str) -> bool {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let is_own = entry.file_name().to_str() == Some(own.as_str());
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        !is_own && String::from_utf8_lossy(&line).contains(marker)
    })
}

/// Waits until a condition holds; fails after a generous time.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("never: {what}");
}

/// The path as text.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
