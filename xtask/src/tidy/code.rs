//! What may be written where: `unsafe`, silenced lints, ignored tests, unfinished work, and calls that have one owner.

use super::Finding;
use crate::source::{Source, contains_word};

/// The folders of the one crate that may hold `unsafe`: the sandbox and its init.
const UNSAFE: &[&str] = &["crates/sandbox/"];

/// A call that only some modules may write.
struct Owned {
    words: &'static [&'static str],
    within: &'static [&'static str],
    owners: &'static [&'static str],
    why: &'static str,
}

/// The calls with an owner. `within` says where the row looks, `owners` which files or folders may write the words.
const OWNED: &[Owned] = &[
    Owned {
        words: &["Sandbox::run", "Sandbox::file", "sandbox::open", "sandbox.run(", "sandbox.file("],
        within: &["crates/gateway/src/"],
        owners: &["crates/gateway/src/effects.rs", "crates/gateway/src/workplace.rs"],
        why: "it is the one place that runs something, and asks for the receipt of the journal; `workplace.rs` only hands on to where the sandbox is",
    },
    Owned {
        words: &["policy.judge(", "policy.judge_tool(", "Policy::judge", "Policy::judge_tool"],
        within: &["crates/gateway/src/"],
        owners: &["crates/gateway/src/session/judge.rs"],
        why: "it is the one place where a verdict is made",
    },
    Owned {
        words: &["enclos_gateway"],
        within: &["crates/client/src/"],
        owners: &["crates/client/src/main.rs", "crates/client/src/embed.rs"],
        why: "the person's side sees the protocol; only the binary embeds the gateway",
    },
];

/// The crates where input must not be able to cause a panic, and the lints that hold it.
const NO_PANIC: &[&str] = &["crates/core/src/lib.rs", "crates/store/src/lib.rs"];
const NO_PANIC_LINTS: &[&str] = &[
    "unwrap_used",
    "expect_used",
    "panic",
    "unreachable",
    "todo",
    "unimplemented",
    "indexing_slicing",
    "string_slice",
];

/// Marks of unfinished work: in code as macros, in comments as words.
const UNFINISHED_CODE: &[&str] = &["todo!", "unimplemented!", "dbg!"];
const UNFINISHED_WORDS: &[&str] = &["TODO", "FIXME", "XXX"];

/// Findings about one source.
pub(crate) fn findings(source: &Source) -> Vec<Finding> {
    let mut found = unsafe_code(source);
    found.extend(attributes(source));
    found.extend(unfinished(source));
    found.extend(OWNED.iter().flat_map(|row| owned(source, row)));
    found
}

/// The crates that must not panic keep the lints that see to it.
pub(crate) fn lints_kept(sources: &[Source]) -> Vec<Finding> {
    let roots = sources.iter().filter(|source| NO_PANIC.contains(&source.path.as_str()));
    let lost = |source: &Source| {
        let crate_lints: String =
            source.attributes().iter().filter(|a| is_level(a.body)).map(|a| a.body.to_owned()).collect();
        NO_PANIC_LINTS
            .iter()
            .filter(|lint| !contains_word(&crate_lints, lint))
            .map(|lint| {
                Finding::whole(
                    &source.path,
                    format!("the lint `clippy::{lint}` is not on in this crate"),
                    "add it to `#![warn(…)]` at the head of the file",
                )
            })
            .collect::<Vec<_>>()
    };
    roots.flat_map(lost).collect()
}

fn is_level(attribute: &str) -> bool {
    ["warn", "deny", "forbid"].iter().any(|level| attribute.starts_with(level))
}

fn unsafe_code(source: &Source) -> Vec<Finding> {
    if UNSAFE.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let at = |line| {
        Finding::at(
            &source.path,
            line,
            "`unsafe` outside the sandbox",
            "call a safe wrapper (rustix), or move the code to crates/sandbox with its `// SAFETY:` reason",
        )
    };
    source.lines_with("unsafe").into_iter().map(at).collect()
}

fn attributes(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for attribute in source.attributes() {
        let body: String = attribute.body.split_whitespace().collect();
        let inner = body.strip_prefix("cfg_attr(").unwrap_or(&body);
        let silences = contains_word(inner, "allow(") || contains_word(inner, "expect(");
        // The bench that test files share: each of them uses another part, so nothing can be expected of all.
        let shared = attribute.inner && source.is_test(attribute.line);
        if body.starts_with("allow(") && !shared {
            found.push(Finding::at(
                &source.path,
                attribute.line,
                "`#[allow(…)]` stays when its cause is gone",
                "write `#[expect(lint, reason = \"…\")]`",
            ));
        } else if silences && !body.contains("reason=") {
            found.push(Finding::at(
                &source.path,
                attribute.line,
                "a lint is silenced without a reason",
                "add `reason = \"…\"`",
            ));
        }
        if body == "ignore" || body.ends_with(",ignore)") {
            found.push(Finding::at(
                &source.path,
                attribute.line,
                "a test is ignored without a reason",
                "write `#[ignore = \"…\"]`, or mend the test",
            ));
        }
    }
    found
}

fn unfinished(source: &Source) -> Vec<Finding> {
    let mend = "finish it, or take it out; what is left to do belongs in the issue tracker";
    let in_code = UNFINISHED_CODE.iter().flat_map(|word| {
        let at = move |line| Finding::at(&source.path, line, format!("`{word}` in the source"), mend);
        source.lines_with(word).into_iter().map(at)
    });
    let in_comments = source.comments.lines().enumerate().filter_map(|(at, line)| {
        let word = UNFINISHED_WORDS.iter().find(|word| contains_word(line, word))?;
        Some(Finding::at(&source.path, at + 1, format!("`{word}` in a comment"), mend))
    });
    in_code.chain(in_comments).collect()
}

fn owned(source: &Source, row: &Owned) -> Vec<Finding> {
    let watched = row.within.iter().any(|folder| source.path.starts_with(folder));
    if !watched || row.owners.iter().any(|owner| source.path.starts_with(owner)) {
        return Vec::new();
    }
    let lines =
        row.words.iter().flat_map(|word| source.lines_with(word).into_iter().map(move |at| (at, word)));
    let outside_tests = lines.filter(|&(line, _)| !source.is_test(line));
    outside_tests
        .map(|(line, word)| {
            let mend = format!("move the call to {}: {}", row.owners.join(" or "), row.why);
            Finding::at(&source.path, line, format!("`{word}` is not this module's to write"), mend)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        findings(&Source::new(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unsafe_stays_in_the_sandbox() {
        let text = "//! x\nfn f() { unsafe { g() } }\n";
        assert_eq!(lines("crates/store/src/a.rs", text), [2]);
        assert!(lines("crates/sandbox/src/a.rs", text).is_empty());
        assert!(lines("crates/sandbox/init/src/main.rs", text).is_empty());
        assert!(lines("crates/core/src/a.rs", "// unsafe\n#![forbid(unsafe_code)]\n").is_empty());
    }

    #[test]
    fn a_silenced_lint_has_a_reason() {
        let path = "crates/core/src/a.rs";
        assert_eq!(lines(path, "#[allow(dead_code, reason = \"x\")]\nfn f() {}\n"), [1]);
        assert_eq!(lines(path, "#![allow(dead_code, reason = \"x\")]\n"), [1]);
        assert!(lines("crates/core/tests/bench.rs", "#![allow(dead_code, reason = \"x\")]\n").is_empty());
        assert_eq!(lines("crates/core/tests/bench.rs", "#![allow(dead_code)]\n"), [1]);
        assert_eq!(lines(path, "\n#[expect(dead_code)]\nfn f() {}\n"), [2]);
        assert_eq!(lines(path, "#![cfg_attr(test, allow(clippy::panic))]\n"), [1]);
        assert!(lines(path, "#![cfg_attr(test, allow(clippy::panic, reason = \"x\"))]\n").is_empty());
        assert!(lines(path, "#[expect(\n    dead_code,\n    reason = \"x\"\n)]\nfn f() {}\n").is_empty());
    }

    #[test]
    fn an_ignored_test_has_a_reason() {
        let path = "crates/core/tests/a.rs";
        assert_eq!(lines(path, "#[test]\n#[ignore]\nfn f() {}\n"), [2]);
        assert_eq!(lines(path, "#[cfg_attr(x, ignore)]\nfn f() {}\n"), [1]);
        assert!(lines(path, "#[test]\n#[ignore = \"needs a cluster\"]\nfn f() {}\n").is_empty());
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_comments() {
        let path = "crates/core/src/a.rs";
        assert_eq!(lines(path, "fn f() {\n    todo!()\n}\n"), [2]);
        assert_eq!(lines(path, "// TODO: later\n"), [1]);
        assert!(lines(path, "const TOOL: &str = \"todo!\"; // the tool `todo`\n").is_empty());
    }

    #[test]
    fn the_sandbox_is_called_from_effects_only() {
        let text = "fn f() { let sandbox = enclos_sandbox::open(p); self.sandbox.file(op) }\n";
        assert!(!lines("crates/gateway/src/session/turn.rs", text).is_empty());
        assert!(lines("crates/gateway/src/effects.rs", text).is_empty());
        let tested = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert!(lines("crates/gateway/src/session/turn.rs", &tested).is_empty());
    }

    #[test]
    fn a_verdict_is_made_in_one_place() {
        let text = "fn f() { self.policy.judge(&request) }\n";
        assert_eq!(lines("crates/gateway/src/session/handle.rs", text), [1]);
        assert!(lines("crates/gateway/src/session/judge.rs", text).is_empty());
    }

    #[test]
    fn the_gateway_is_embedded_by_the_binary_only() {
        let text = "use enclos_gateway::serve;\n";
        assert_eq!(lines("crates/client/src/terminal/mod.rs", text), [1]);
        assert!(lines("crates/client/src/main.rs", text).is_empty());
        assert!(lines("crates/client/src/embed.rs", text).is_empty());
    }

    #[test]
    fn the_lints_against_panics_are_kept() {
        let paths: Vec<String> = NO_PANIC_LINTS.iter().map(|lint| format!("clippy::{lint}")).collect();
        let full = format!("#![warn({})]\n", paths.join(", "));
        assert!(lints_kept(&[Source::new(NO_PANIC[0], &full)]).is_empty());
        let less = full.replace("clippy::indexing_slicing", "dead_code");
        assert_eq!(lints_kept(&[Source::new(NO_PANIC[0], &less)]).len(), 1);
    }
}
