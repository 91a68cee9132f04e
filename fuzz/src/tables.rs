//! The tables of the project's tests, as the first inputs of every target.

use std::path::Path;

use serde_json::{Value, json};

/// The commands of `tests/data/command`.
pub fn commands() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/command");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let json = |row: &str| serde_json::from_str::<String>(row.rsplit('\t').next().unwrap_or("")).ok();
    let tables = ["everyday.tsv", "hidden.tsv", "harmless.txt"].map(read);
    let mut commands: Vec<String> = tables.iter().flat_map(|table| table.lines().filter_map(json)).collect();
    commands.extend(read("contexts.txt").lines().map(|line| line.replace('@', "sudo id")));
    commands
}

/// The policies of the product and of its tests, and two of them as layers.
pub fn policies() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["policies", "tests/data/policy"].map(|folder| root.join(folder));
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let toml = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut texts: Vec<String> = toml.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    texts.sort();
    let layered = texts.windows(2).map(|pair| pair.join("\n---\n")).collect::<Vec<_>>();
    texts.extend(layered);
    texts
}

/// Arguments that hold the commands, and values of every kind.
pub fn arguments() -> Vec<String> {
    let kinds = json!({"n": 1.5, "a": [1, null, {"x": true}], "d": "x", "big": 9_007_199_254_740_993_i64});
    let with = |command: String| {
        let mut fields = kinds.clone();
        if let Value::Object(fields) = &mut fields {
            fields.insert("command".to_owned(), Value::String(command));
        }
        fields.to_string()
    };
    commands().into_iter().map(with).collect()
}
