//! The built-in tools: what the model is told of each, the schema of its arguments, and its category.
//!
//! A tool that is not here is unknown: it is judged as a delete and never run.

use serde_json::{Value, json};

use crate::model::ToolSpec;

/// The working directory of every tool.
pub const WORKSPACE: &str = "/workspace";

/// The tool that looks at the commands in the background and stops them.
pub const BACKGROUND: &str = "background";

/// What a command in the background is called when it is given no name.
pub const UNNAMED: &str = "background";

/// Names of background commands.
const NAME: &str = "^[A-Za-z0-9._-]{1,64}$";

/// Most seconds that one call waits for a background command.
pub const WAIT_SECONDS: u64 = 600;

/// Whether a tool only reads the workspace, so that several may run together.
pub fn is_read(tool: &str) -> bool {
    matches!(tool, "read" | "list" | "glob" | "grep")
}

/// Whether a call of the tool itself may change files of the workspace.
pub fn changes_files(tool: &str) -> bool {
    !is_read(tool) && tool != BACKGROUND
}

/// Whether a tool works on one path of the workspace, told from there.
pub fn is_file(tool: &str) -> bool {
    is_read(tool) || matches!(tool, "write" | "edit" | "delete")
}

/// The built-in tools, in the order in which the model sees them.
pub fn built_in() -> Vec<ToolSpec> {
    let path = || json!({"type": "string", "minLength": 1, "maxLength": 4096});
    let text = || json!({"type": "string"});
    let name = || json!({"type": "string", "pattern": NAME});
    let number = |most: u64| json!({"type": "integer", "minimum": 1, "maximum": most});
    vec![
        spec(
            "read",
            "Read a text file. Lines come numbered; use offset and limit for long files.",
            &json!({"path": path(), "offset": number(10_000_000), "limit": number(2000)}),
            &["path"],
        ),
        spec("list", "List a folder.", &json!({"path": path()}), &["path"]),
        spec(
            "glob",
            "Find files by pattern, such as **/*.rs.",
            &json!({"pattern": path(), "path": path()}),
            &["pattern"],
        ),
        spec(
            "grep",
            "Search file contents with a regular expression.",
            &json!({"pattern": path(), "path": path(), "include": path()}),
            &["pattern"],
        ),
        spec(
            "write",
            "Create or replace a file.",
            &json!({"path": path(), "content": text()}),
            &["path", "content"],
        ),
        spec(
            "edit",
            "Replace one exact piece of a file. old must occur exactly once.",
            &json!({"path": path(), "old": {"type": "string", "minLength": 1}, "new": text()}),
            &["path", "old", "new"],
        ),
        spec(
            "delete",
            "Delete a file, or a folder with recursive.",
            &json!({"path": path(), "recursive": {"type": "boolean"}}),
            &["path"],
        ),
        spec(
            "bash",
            "Run a bash command in /workspace. No network. Output is cut in the middle when long. With background (true or a \
             name) it is started under name and goes on, for servers and watchers; pty gives it a terminal.",
            &json!({
                "command": {"type": "string", "minLength": 1, "maxLength": 65536},
                "background": {"type": ["boolean", "string"], "pattern": NAME},
                "name": name(),
                "pty": {"type": "boolean"},
            }),
            &["command"],
        ),
        spec(
            BACKGROUND,
            "Look at background commands or stop one. read gives the output since the last look, or from a byte. wait \
             does so when it has ended, or wrote text, or after seconds (60).",
            &json!({
                "action": {"type": "string", "enum": ["list", "read", "wait", "stop"]},
                "name": name(),
                "from": {"type": "integer", "minimum": 0},
                "text": {"type": "string", "minLength": 1, "maxLength": 256},
                "seconds": number(WAIT_SECONDS),
            }),
            &["action"],
        ),
    ]
}

fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}
