//! The generated pages under docs/reference: what the built product says of itself, written down.
//!
//! A page that differs from what the product prints now is a finding: documents and code cannot drift apart unseen.
//! Nothing here knows what is on a page; the product writes it.

use std::fs;
use std::path::Path;

use crate::tidy::Finding;
use crate::{process, tree};

/// The folder of the pages.
const FOLDER: &str = "docs/reference";

/// Each page, as the product names it, and its file: `enclos reference NAME` prints `docs/reference/FILE`.
const PAGES: &[(&str, &str)] = &[
    ("cli", "cli.md"),
    ("environment", "environment.md"),
    ("events", "events.md"),
    ("policy", "policy.md"),
    ("policy.schema", "policy.schema.json"),
    ("repository.schema", "repository.schema.json"),
    ("cases.schema", "cases.schema.json"),
];

/// `cargo xtask reference [--check]`.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let root = tree::root()?;
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => write(&root),
        ["--check"] => {
            let findings = stale(&root)?;
            for finding in &findings {
                eprintln!("{finding}");
            }
            if findings.is_empty() { Ok(()) } else { Err("generated pages are stale".to_owned()) }
        }
        other => Err(format!("`reference` takes `--check` or nothing, and got `{}`", other.join(" "))),
    }
}

fn write(root: &Path) -> Result<(), String> {
    fs::create_dir_all(root.join(FOLDER)).map_err(|error| format!("`{FOLDER}` cannot be made: {error}"))?;
    for (page, file) in PAGES {
        let (path, text) = (path(file), printed(root, page)?);
        fs::write(root.join(&path), text).map_err(|error| format!("`{path}` cannot be written: {error}"))?;
        println!("{path}");
    }
    Ok(())
}

/// The pages that exist and are not what the product prints. Builds the product when there is a page to check.
fn stale(root: &Path) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for (page, file) in PAGES {
        let path = path(file);
        if root.join(&path).exists() {
            let (kept, now) = (tree::read(root, &path)?, printed(root, page)?);
            found.extend(difference(&path, &kept, &now));
        }
    }
    Ok(found)
}

fn path(file: &str) -> String {
    format!("{FOLDER}/{file}")
}

/// What the product prints for a page.
fn printed(root: &Path, page: &str) -> Result<String, String> {
    let words = ["run", "--quiet", "--locked", "--package", "enclos-client", "--", "reference", page];
    let output = process::output(process::cargo(root, &words))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`enclos reference {page}` ended with {}: {}", output.status, said.trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`enclos reference {page}` printed no UTF-8"))
}

fn difference(path: &str, kept: &str, now: &str) -> Option<Finding> {
    if kept == now {
        return None;
    }
    let same = kept.lines().zip(now.lines()).take_while(|(kept, now)| kept == now).count();
    let what = "the page is not what the product prints now";
    Some(Finding::at(path, same + 1, what, "run `cargo xtask reference` and read what changed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(difference("a.md", "x\ny\n", "x\ny\n"), None);
        assert_eq!(difference("a.md", "x\ny\n", "x\nz\n").unwrap().line, 2);
        assert_eq!(difference("a.md", "x\n", "x\ny\n").unwrap().line, 2);
        assert_eq!(difference("a.md", "x\n", "x").unwrap().line, 2);
    }
}
