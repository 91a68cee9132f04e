//! The rules of this repository that the compiler does not know. Each finding names a file, a line, what is wrong
//! and how to mend it.
//!
//! A rule reads; it never changes a file and builds nothing, so that all of them take a second. What a rule allows is
//! written in a table of its module, with its reason.

mod code;
mod crates;
mod files;
mod links;
mod paths;
mod promises;

use std::fmt;

use crate::source::{self, Source};
use crate::tree;

/// What a rule found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path from the root of the repository.
    pub(crate) file: String,
    /// Line from 1; 0 when the finding is about the whole file.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) mend: String,
}

impl Finding {
    /// A finding at a line of a file.
    pub(crate) fn at(file: &str, line: usize, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into(), mend: mend.into() }
    }

    /// A finding about a whole file.
    pub(crate) fn whole(file: &str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::at(file, 0, what, mend)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what)?,
            line => write!(f, "{}:{line}: {}", self.file, self.what)?,
        }
        write!(f, "\n    to mend: {}", self.mend)
    }
}

/// `cargo xtask tidy`.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    if let Some(word) = words.first() {
        return Err(format!("`tidy` takes no argument, and got `{word}`"));
    }
    let findings = findings()?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err("1 finding".to_owned()),
        many => Err(format!("{many} findings")),
    }
}

/// Every finding of every rule.
fn findings() -> Result<Vec<Finding>, String> {
    let root = tree::root()?;
    let rust = tree::files(&root, &[".rs"])?;
    let mut sources: Vec<Source> = rust.iter().map(|file| Source::new(&file.path, &file.text)).collect();
    source::mark_test_modules(&mut sources);
    let pages = tree::files(&root, &[".md", ".toml", ".yml", ".yaml", ".sh"])?;

    let mut all = crates::findings(&root)?;
    all.extend(files::findings(&rust));
    all.extend(sources.iter().flat_map(code::findings));
    all.extend(code::lints_kept(&sources));
    all.extend(paths::findings(&root, &sources, &pages));
    all.extend(links::findings(&root, &pages));
    all.extend(promises::findings(&tree::read(&root, promises::PAGE)?, &sources));
    Ok(all)
}
