//! Reads Rust source just far enough to tell code from comments, literals and tests.
//!
//! A check that searched the raw text would take a word in a message or a comment for code. This is no parser: it
//! trusts that the file compiles, which the next step of the tests shows.

mod mask;

/// One Rust file, cut into what is code and what is comment. Every view has the same lines as the text.
pub(crate) struct Source {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// The code, with comments and the insides of literals blanked.
    pub(crate) code: String,
    /// The comments, with everything else blanked.
    pub(crate) comments: String,
    /// The text as it was written.
    pub(crate) text: String,
    tests: Vec<(usize, usize)>,
    all_tests: bool,
}

/// An attribute, `#[…]` or `#![…]`, without its brackets.
pub(crate) struct Attribute<'a> {
    /// Its first line, from 1.
    pub(crate) line: usize,
    /// Whether it is of the form `#![…]`.
    pub(crate) inner: bool,
    /// What stands in the brackets.
    pub(crate) body: &'a str,
}

impl Source {
    /// Cuts a file.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (code, comments) = mask::mask(text);
        let tests = test_items(&code);
        let name = path.rsplit('/').next().unwrap_or(path);
        let in_tests = path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples"));
        let all_tests =
            in_tests || name == "tests.rs" || name.ends_with("_tests.rs") || code.contains("#![cfg(test)]");
        Self { path: path.to_owned(), code, comments, text: text.to_owned(), tests, all_tests }
    }

    /// True when the line, counted from 1, is compiled for tests only.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.all_tests || self.tests.iter().any(|&(first, last)| (first..=last).contains(&line))
    }

    /// The lines of the code where `word` stands as a whole word, counted from 1.
    pub(crate) fn lines_with(&self, word: &str) -> Vec<usize> {
        let hit = |(at, line): (usize, &str)| contains_word(line, word).then_some(at + 1);
        self.code.lines().enumerate().filter_map(hit).collect()
    }

    /// Every attribute of the file.
    pub(crate) fn attributes(&self) -> Vec<Attribute<'_>> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices('#') {
            let after = &self.code[at + 1..];
            let rest = after.strip_prefix('!').unwrap_or(after);
            let inner = rest.len() < after.len();
            if let Some(rest) = rest.strip_prefix('[') {
                let body = rest.get(..closing(rest, b'[', b']')).unwrap_or(rest);
                found.push(Attribute { line: line_of(&self.code, at), inner, body: body.trim() });
            }
        }
        found
    }
}

/// Marks the files that are modules for tests only: those that another file names after `#[cfg(test)]`.
pub(crate) fn mark_test_modules(sources: &mut [Source]) {
    let modules: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in sources {
        source.all_tests |= modules.contains(&source.path);
    }
}

/// Where the modules of a file that are for tests only may be.
fn test_modules(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let folder = match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        other => format!("{folder}/{}", other.trim_end_matches(".rs")),
    };
    let named = source.code.split("#[cfg(test)]").skip(1).filter_map(|rest| {
        let (item, _) = rest.trim_start().split_once(';')?;
        item.strip_prefix("mod ")
    });
    named.flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]).collect()
}

/// True when `word` stands in `line` with no letter, digit or `_` touching its ends.
pub(crate) fn contains_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let starts = !word.starts_with(joins) || !before.is_some_and(joins);
        let ends = !word.ends_with(joins) || !after.is_some_and(joins);
        starts && ends
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The position of the bracket that closes one opened just before `text`, or its length.
fn closing(text: &str, open: u8, close: u8) -> usize {
    let mut depth = 1_usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The first and last lines of every item under `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn test_items(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for start in ["#[cfg(test)]", "#[cfg(all(test,"] {
        for (at, _) in code.match_indices(start) {
            let after = at + start.len();
            let end = code[after..].find(['{', ';']).map_or(code.len(), |brace| {
                let inside = after + brace + 1;
                let block = code.as_bytes().get(inside - 1) == Some(&b'{');
                if block { inside + closing(&code[inside..], b'{', b'}') } else { inside }
            });
            found.push((line_of(code, at), line_of(code, end.min(code.len()))));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r##"
//! unsafe words in a comment
fn real<'a>(text: &'a str) -> char { '"' } // todo!()
const S: &str = "unsafe \" // no comment";
const R: &str = r#"#[ignore] " unsafe"#;
/* one /* two */ unsafe */ fn after() {}
#[cfg(test)]
mod tests {
    fn inner() { unsafe {} }
}
fn last() {}
"##;

    #[test]
    fn comments_and_literals_are_not_code() {
        let source = Source::new("crates/x/src/a.rs", SAMPLE);
        assert_eq!(source.lines_with("unsafe"), [9]);
        assert!(source.lines_with("todo!").is_empty());
        assert_eq!(source.lines_with("real"), [3]);
        assert_eq!(source.lines_with("after"), [6]);
        assert!(source.comments.contains("todo!()"));
        assert_eq!(source.code.lines().count(), SAMPLE.lines().count());
    }

    #[test]
    fn test_items_are_known_by_their_lines() {
        let source = Source::new("crates/x/src/a.rs", SAMPLE);
        assert!(source.is_test(7) && source.is_test(9) && source.is_test(10));
        assert!(!source.is_test(6) && !source.is_test(11));
        assert!(Source::new("crates/x/tests/a.rs", "fn f() {}").is_test(1));
    }

    #[test]
    fn a_module_for_tests_may_be_a_file_of_its_own() {
        let files = [
            ("crates/x/src/a/mod.rs", "#[cfg(test)]\nmod cuts;\nmod real;\n"),
            ("crates/x/src/a/cuts.rs", "fn f() {}\n"),
            ("crates/x/src/a/real.rs", "#[cfg(test)]\nmod deep;\n#[cfg(test)]\nmod own { fn f() {} }\n"),
            ("crates/x/src/a/real/deep/mod.rs", "fn f() {}\n"),
        ];
        let mut sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        mark_test_modules(&mut sources);
        let tests: Vec<bool> = sources.iter().map(|source| source.all_tests).collect();
        assert_eq!(tests, [false, true, false, true]);
    }

    #[test]
    fn attributes_are_read_whole() {
        let text = "#[expect(\n  dead_code,\n  reason = \"[why]\"\n)]\nfn f() {}\n#![allow(x)]\n";
        let source = Source::new("crates/x/src/a.rs", text);
        let found: Vec<_> = source.attributes().iter().map(|a| (a.line, a.body.replace(' ', ""))).collect();
        assert_eq!(found[0].0, 1);
        assert!(found[0].1.contains("reason="));
        assert_eq!(found[1], (6, "allow(x)".to_owned()));
    }

    #[test]
    fn words_end_where_names_end() {
        assert!(contains_word("a unsafe {", "unsafe"));
        assert!(!contains_word("unsafe_code", "unsafe"));
        assert!(contains_word("x.file(y)", ".file("));
    }
}
