//! The shape of files: each opens by saying what it decides, and none grows past what a person reads at once.

use super::Finding;
use crate::tree::File;

/// No file is longer, in lines.
const LONGEST: usize = 700;
/// Almost every file is shorter, in lines.
const LONG: usize = 450;
/// Of a hundred files, at most this many may be long.
const LONG_PER_HUNDRED: usize = 5;

/// Findings about every Rust file.
pub(crate) fn findings(files: &[File]) -> Vec<Finding> {
    let mut found: Vec<Finding> = files.iter().filter_map(header).collect();
    found.extend(files.iter().filter_map(too_long));
    found.extend(many_long(files));
    found
}

/// True for the sources of the product and of the automation; tests and examples are free in their first line.
fn needs_header(path: &str) -> bool {
    (path.starts_with("crates/") && path.contains("/src/")) || path.starts_with("xtask/src/")
}

fn header(file: &File) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or("");
    let says = first.strip_prefix("//!").is_some_and(|rest| !rest.trim().is_empty());
    (needs_header(&file.path) && !says).then(|| {
        Finding::at(
            &file.path,
            1,
            "the file does not open with `//!`",
            "say in 2 to 15 lines what the file decides and what it never does",
        )
    })
}

fn too_long(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > LONGEST).then(|| {
        Finding::at(
            &file.path,
            LONGEST + 1,
            format!("{lines} lines, and the limit is {LONGEST}"),
            "find the concept that is missing and give it a file",
        )
    })
}

fn many_long(files: &[File]) -> Option<Finding> {
    let mut long: Vec<(usize, &str)> =
        files.iter().map(|file| (file.text.lines().count(), file.path.as_str())).collect();
    long.retain(|&(lines, _)| lines > LONG);
    long.sort_unstable_by(|a, b| b.cmp(a));
    let (&(lines, path), share) = (long.first()?, long.len() * 100);
    (share > files.len() * LONG_PER_HUNDRED).then(|| {
        let names: Vec<String> = long.iter().map(|(lines, path)| format!("{path} ({lines})")).collect();
        Finding::at(
            path,
            lines,
            format!(
                "{} of {} files are over {LONG} lines; {LONG_PER_HUNDRED} in a hundred may be",
                long.len(),
                files.len()
            ),
            format!("split some of: {}", names.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: usize) -> File {
        File { path: path.to_owned(), text: format!("//! what it decides\n{}", "x\n".repeat(lines - 1)) }
    }

    #[test]
    fn a_source_opens_with_its_purpose() {
        let bare = |path: &str| File { path: path.to_owned(), text: "fn f() {}\n".to_owned() };
        assert_eq!(header(&bare("crates/core/src/a.rs")).unwrap().line, 1);
        assert!(header(&bare("crates/sandbox/init/src/main.rs")).is_some());
        assert!(header(&bare("xtask/src/a.rs")).is_some());
        assert!(header(&bare("crates/core/tests/a.rs")).is_none());
        assert!(header(&File { path: "xtask/src/a.rs".to_owned(), text: "//!\n".to_owned() }).is_some());
    }

    #[test]
    fn no_file_is_over_the_limit() {
        assert!(too_long(&file("crates/a/src/a.rs", LONGEST)).is_none());
        assert!(too_long(&file("crates/a/src/a.rs", LONGEST + 1)).is_some());
    }

    #[test]
    fn almost_every_file_is_short() {
        let mut files: Vec<File> = (0..19).map(|n| file(&format!("crates/a/src/{n}.rs"), 10)).collect();
        files.push(file("crates/a/src/long.rs", LONG + 1));
        assert!(many_long(&files).is_none());
        files.push(file("crates/a/src/longer.rs", LONG + 2));
        assert_eq!(many_long(&files).unwrap().file, "crates/a/src/longer.rs");
    }
}
