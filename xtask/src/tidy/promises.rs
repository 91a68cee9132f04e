//! Every promise of SPECIFICATION.md has a number and names a test that exists.
//!
//! A promise is a row of a table that starts with its number; its last cell names the tests, each as
//! `crate::name_of_the_test`. Whether the test shows what the promise says is for a person to read.

use super::Finding;
use crate::source::Source;

/// The page with the promises.
pub(crate) const PAGE: &str = "SPECIFICATION.md";

/// The names of crates in the last cell, and where their tests are.
const CRATES: &[(&str, &str)] = &[
    ("core", "crates/core/"),
    ("sandbox", "crates/sandbox/"),
    ("store", "crates/store/"),
    ("protocol", "crates/protocol/"),
    ("connect", "crates/connect/"),
    ("gateway", "crates/gateway/"),
    ("client", "crates/client/"),
    ("scenarios", "tests/"),
    ("xtask", "xtask/"),
];

struct Promise<'a> {
    line: usize,
    number: &'a str,
    tests: Vec<&'a str>,
}

/// Findings about the page, held against the sources.
pub(crate) fn findings(page: &str, sources: &[Source]) -> Vec<Finding> {
    let promises: Vec<Promise<'_>> =
        page.lines().enumerate().filter_map(|(at, line)| promise(at + 1, line)).collect();
    let mut found = Vec::new();
    for (at, promise) in promises.iter().enumerate() {
        if promises[..at].iter().any(|earlier| earlier.number == promise.number) {
            let what = format!("the number {} is used twice", promise.number);
            found.push(Finding::at(PAGE, promise.line, what, "give the later promise the next free number"));
        }
        if promise.tests.is_empty() {
            let what = format!("promise {} names no test", promise.number);
            let mend = "name one as `crate::name_of_the_test` in the last cell, or take the promise out";
            found.push(Finding::at(PAGE, promise.line, what, mend));
        }
        for test in promise.tests.iter().filter(|test| !exists(test, sources)) {
            let what = format!("promise {} names `{test}`, which is no test", promise.number);
            let mend = "write the test, or name the one that shows the promise";
            found.push(Finding::at(PAGE, promise.line, what, mend));
        }
    }
    if promises.is_empty() {
        found.push(Finding::whole(
            PAGE,
            "no promise was found",
            "write each as `| 1.1 | promise | `crate::test` |`",
        ));
    }
    found
}

fn promise(line: usize, text: &str) -> Option<Promise<'_>> {
    let row = text.trim().strip_prefix('|')?.strip_suffix('|')?;
    let number = row.split('|').next()?.trim();
    let numbered = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let last = row.rsplit('|').next()?;
    let tests = last.split('`').skip(1).step_by(2).collect();
    numbered.then_some(Promise { line, number, tests })
}

/// True when a source of the crate has a function of that name among its tests.
fn exists(test: &str, sources: &[Source]) -> bool {
    let (Some((name, _)), Some(function)) = (test.split_once("::"), test.rsplit("::").next()) else {
        return false;
    };
    let Some((_, folder)) = CRATES.iter().find(|(known, _)| *known == name) else {
        return false;
    };
    let start = format!("fn {function}");
    let mut within = sources.iter().filter(|source| source.path.starts_with(folder));
    within.any(|source| source.lines_with(&start).into_iter().any(|line| source.is_test(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Vec<Source> {
        let text = "//! x\nfn helper() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn holds() {}\n}\n";
        vec![
            Source::new("crates/core/src/a.rs", text),
            Source::new("crates/store/tests/b.rs", "fn keeps() {}\n"),
        ]
    }

    fn check(page: &str) -> Vec<usize> {
        findings(page, &sources()).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_promise_with_its_test_passes() {
        assert!(
            check("| number | promise | tests |\n|---|---|---|\n| 1.1 | it `holds` | `core::holds` |\n")
                .is_empty()
        );
        assert!(check("| 1 | a | `core::call::holds`, `store::keeps` |\n").is_empty());
    }

    #[test]
    fn a_promise_without_a_real_test_is_found() {
        assert_eq!(check("| 1.1 | a | |\n"), [1]);
        assert_eq!(check("\n| 1.1 | a | `core::gone` |\n"), [2]);
        assert_eq!(check("| 1.1 | a | `core::helper` |\n"), [1]);
        assert_eq!(check("| 1.1 | a | `nowhere::holds` |\n"), [1]);
        assert_eq!(check("| 1.1 | a | `store::holds` |\n"), [1]);
    }

    #[test]
    fn numbers_are_used_once() {
        assert_eq!(check("| 1.1 | a | `core::holds` |\n| 1.1 | b | `core::holds` |\n"), [2]);
    }

    #[test]
    fn a_page_without_promises_is_found() {
        assert_eq!(check("# Promises\n"), [0]);
    }
}
