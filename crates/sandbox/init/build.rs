//! Turns the table of system calls into code: each row becomes a number with its rule, and the proof that the number is
//! that of the name. A row that cannot be meant fails the build.
#![expect(clippy::disallowed_methods, reason = "a build script talks to cargo by environment")]
use std::fmt::Write;
use std::path::PathBuf;

const TABLE: &str = "syscalls.tsv";

fn main() {
    println!("cargo::rerun-if-changed={TABLE}");
    let text = std::fs::read_to_string(TABLE).unwrap_or_default();
    let out = std::env::var("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let code = match code(&text) {
        Ok(code) => code,
        Err(message) => return println!("cargo::error={TABLE}: {message}"),
    };
    if let Err(error) = std::fs::write(out.join("syscalls.rs"), code) {
        println!("cargo::error=the table of system calls cannot be written: {error}");
    }
}

fn code(text: &str) -> Result<String, String> {
    let mut proofs = String::new();
    let mut rows = String::new();
    let mut last = None;
    for line in text.lines().skip(1) {
        let parts: Vec<&str> = line.split('\t').collect();
        let &[number, name, rule, _purpose] = parts.as_slice() else {
            return Err(format!("`{line}` has not four columns"));
        };
        let number: u32 = number.parse().map_err(|_| format!("`{line}` has no number"))?;
        if last.is_some_and(|last| last >= number) {
            return Err(format!("`{line}` is not in order, or there twice"));
        }
        last = Some(number);
        let rule = match rule {
            "allow" => "Allow",
            "nothing" => "Nothing",
            "unix" => "Unix",
            "no-namespaces" => "NoNamespaces",
            "no-terminal-input" => "NoTerminalInput",
            "no-core-first" => "NoCoreFirst",
            "no-core-second" => "NoCoreSecond",
            "ask" => "Ask",
            other => return Err(format!("`{other}` is no rule")),
        };
        let _ = writeln!(proofs, "const _: () = assert!(libc::SYS_{name} == {number});");
        let _ = writeln!(rows, "    ({number}, Rule::{rule}),");
    }
    if last.is_none() {
        return Err("it is empty".into());
    }
    Ok(format!("{proofs}pub(crate) const TABLE: &[(u32, Rule)] = &[\n{rows}];\n"))
}
