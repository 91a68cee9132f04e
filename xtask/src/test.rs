//! `cargo xtask test`: every check and every test of the repository, in order, stopping at the first that fails.
//!
//! The tests themselves come last, so that the last line printed is their summary. Nothing is tried twice.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::{process, tools, tree};

/// One step: its name, and what it does in the root of the repository.
type Step = (&'static str, fn(&Path) -> Result<(), String>);

/// The checks before the tests.
const CHECKS: &[Step] = &[
    ("tools", tools::components),
    ("fmt", |root| process::run(process::cargo(root, &["fmt", "--all", "--check"]))),
    ("tidy", |_| crate::tidy::run(&[])),
    ("deny", deny),
    ("clippy", |root| {
        let words = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        process::run(process::cargo(root, &words))
    }),
    ("doc", |root| {
        let mut doc = process::cargo(root, &["doc", "--workspace", "--no-deps", "--locked"]);
        doc.env("RUSTDOCFLAGS", "-D warnings");
        process::run(doc)
    }),
    ("reference", |_| crate::reference::run(&["--check".to_owned()])),
    ("doctest", |root| {
        process::run(process::cargo(root, &["test", "--workspace", "--doc", "--locked", "--quiet"]))
    }),
];

/// `cargo xtask test [--skip STEP]…`.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let skipped = skipped(words)?;
    let root = tree::root()?;
    let start = Instant::now();
    for (name, step) in CHECKS {
        if skipped.contains(name) {
            eprintln!("── {name}: skipped as asked");
            continue;
        }
        eprintln!("── {name}");
        let started = Instant::now();
        step(&root).map_err(|error| format!("the step `{name}` failed: {error}"))?;
        eprintln!("── {name}: {}", seconds(started.elapsed()));
    }
    eprintln!("── tests, after {} of checks", seconds(start.elapsed()));
    tests(&root).map_err(|error| format!("the tests failed: {error}"))
}

/// The names after each `--skip`.
fn skipped(words: &[String]) -> Result<Vec<&'static str>, String> {
    let names: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    let mut found = Vec::new();
    for pair in words.chunks(2) {
        let step = match pair {
            [flag, name] if flag == "--skip" => {
                CHECKS.iter().map(|(known, _)| *known).find(|known| known == name)
            }
            _ => None,
        };
        found.push(step.ok_or_else(|| {
            format!(
                "`{}` is not understood: expected `--skip` and one of {}",
                pair.join(" "),
                names.join(", ")
            )
        })?);
    }
    Ok(found)
}

fn deny(root: &Path) -> Result<(), String> {
    let mut deny = tools::command(root, &tools::DENY)?;
    deny.args(["--locked", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]);
    process::run(deny)
}

/// The tests, by nextest, or by cargo where nextest cannot be had.
fn tests(root: &Path) -> Result<(), String> {
    match tools::command(root, &tools::NEXTEST) {
        Ok(mut nextest) => {
            nextest.args(["nextest", "run", "--workspace", "--locked"]);
            process::run(nextest)
        }
        Err(error) => {
            eprintln!("{error}\ncargo-nextest cannot be had: `cargo test` runs the tests instead");
            process::run(process::cargo(root, &["test", "--workspace", "--all-targets", "--locked"]))
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn steps_are_skipped_by_name_only() {
        assert_eq!(skipped(&[]), Ok(vec![]));
        assert_eq!(skipped(&words("--skip deny --skip doc")), Ok(vec!["deny", "doc"]));
        assert!(skipped(&words("--skip tests")).is_err());
        assert!(skipped(&words("--skip")).is_err());
        assert!(skipped(&words("deny")).is_err());
    }
}
