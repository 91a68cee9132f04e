//! The record of a call's result: where it comes from, and which earlier records it may hold.

use enclos_core::call::{Call, State};
use enclos_core::command::{self, Rules};
use enclos_core::ids::CallId;
use enclos_core::lineage::{Draft, Kind, SourceType};
use enclos_core::verdict::Verdict;
use serde_json::Value;

use super::{Known, Sketch, View, Weaver};
use crate::changes::in_workspace;

/// Characters of a path that are kept.
const LONGEST_NAME: usize = 512;

/// Characters of a program's name; a longer one is not told.
const LONGEST_PROGRAM: usize = 64;

impl Weaver {
    /// The record of what a call answered. A call that never ran read nothing.
    pub(super) fn result(&mut self, id: &CallId, text: &str, view: &View<'_>) -> Option<Draft> {
        let call = view.calls.iter().find(|call| call.id() == id)?;
        if !matches!(call.state(), State::Calling { .. }) {
            return None;
        }
        let arguments: Value = serde_json::from_str(call.arguments()).unwrap_or(Value::Null);
        let word = |name: &str| arguments.get(name).and_then(Value::as_str);
        let path = word("path").map(|path| shortened(in_workspace(path)));
        let sketch = match (call.tool(), path) {
            ("read", Some(path)) => self.read_of(call, path),
            ("write" | "edit" | "delete", Some(path)) => self.written_by(call, path),
            ("bash", _) => self.run_of(word("command").unwrap_or_default()),
            ("list" | "glob" | "grep", path) => {
                let path = path.unwrap_or_else(|| ".".to_owned());
                self.looked(call, SourceType::File, path)
            }
            ("background", _) => self.looked(call, SourceType::Tool, call.tool().to_owned()),
            // What answers from outside the sandbox reads nothing of the workspace.
            (tool, _) => Owned { inputs: Vec::new(), ..self.looked(call, SourceType::Tool, tool.to_owned()) },
        };
        let Owned { kind, source, name, method, word, how, inputs } = sketch;
        let sketch = Sketch {
            kind,
            source: (source, &name),
            method: &method,
            content: text,
            record_id: None,
            label: view.label,
            reason: "what the session knew when it read it",
            change: Some((word, how, view.model)),
            inputs,
        };
        self.draw(sketch, view)
    }

    /// A file that was read: what a call wrote there is in it, and what ran since may be.
    fn read_of(&self, call: &Call, path: String) -> Owned {
        let mut inputs: Vec<(Known, bool)> =
            self.written.get(&path).map(|known| (known.clone(), true)).into_iter().collect();
        inputs.extend(self.work.iter().map(|known| (known.clone(), false)));
        let how = format!("`{path}` as it was in the workspace");
        Owned {
            kind: Kind::ToolResult,
            source: SourceType::File,
            name: path,
            method: call.tool().to_owned(),
            word: "read",
            how,
            inputs,
        }
    }

    /// A file that a call wrote: its text is the model's, and of an edit the rest is what was there.
    fn written_by(&self, call: &Call, path: String) -> Owned {
        let mut inputs: Vec<(Known, bool)> =
            self.answered.iter().map(|known| (known.clone(), true)).collect();
        if call.tool() == "edit" {
            let before = self.written.get(&path).or_else(|| self.read.get(&path));
            inputs.extend(before.map(|known| (known.clone(), true)));
        }
        // The workspace goes on from here, so what it was before is one link away.
        inputs.extend(self.work.iter().map(|known| (known.clone(), false)));
        let word = match call.tool() {
            "edit" => "edited",
            "delete" => "deleted",
            _ => "written",
        };
        let how = format!("`{path}` by {}", call.tool());
        Owned {
            kind: Kind::FileVersion,
            source: SourceType::File,
            name: path,
            method: call.tool().to_owned(),
            word,
            how,
            inputs,
        }
    }

    /// A command: the model wrote it, and it may have read whatever is in the workspace.
    fn run_of(&self, text: &str) -> Owned {
        let mut inputs: Vec<(Known, bool)> =
            self.answered.iter().map(|known| (known.clone(), true)).collect();
        inputs.extend(self.work.iter().map(|known| (known.clone(), false)));
        let name = program(text);
        let how = format!("what `{name}` printed and may have changed");
        Owned {
            kind: Kind::ToolResult,
            source: SourceType::Command,
            name,
            method: "bash".to_owned(),
            word: "run",
            how,
            inputs,
        }
    }

    fn looked(&self, call: &Call, source: SourceType, name: String) -> Owned {
        let inputs = self.work.iter().map(|known| (known.clone(), false)).collect();
        let how = format!("by {}", call.tool());
        Owned {
            kind: Kind::ToolResult,
            source,
            name,
            method: call.tool().to_owned(),
            word: "read",
            how,
            inputs,
        }
    }
}

/// A sketch that owns its names.
struct Owned {
    kind: Kind,
    source: SourceType,
    name: String,
    method: String,
    word: &'static str,
    how: String,
    inputs: Vec<(Known, bool)>,
}

/// The first program of a command by its base name; `bash` where the reader sees none. An assignment, an expansion and a
/// redirection are pieces too, and can hold anything: what is no plain name is not told.
fn program(text: &str) -> String {
    let reading = command::judge(text, &Rules { base: Verdict::Ask, contained: false, freed: &[] });
    let plain = |name: &&str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
        !name.is_empty() && name.len() <= LONGEST_PROGRAM && name.chars().all(fits)
    };
    let mut names = reading.pieces.iter().filter_map(|piece| piece.argv.first()?.rsplit('/').next());
    names.find(plain).unwrap_or("bash").to_owned()
}

fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}
