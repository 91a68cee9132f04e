//! Bash and `brush-parser` as oracles: a text that the reader takes, they take; one that they take, it takes but for
//! the kinds that are named here.
//!
//! Bash only parses (`-n`), in one long-lived process; nothing ever runs. The other parser is left out where it is
//! known to need time beyond any bound.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use enclos_core::command::{Rules, judge};
use enclos_core::verdict::Verdict;

/// Parses each text under `-n` in a subshell, and answers `1` or `0`.
const ASK: &str = r#"while IFS= read -r -d '' text; do
    said=$(LC_ALL=C "$BASH" --noprofile --norc -n -c -- "$text" 2>&1 >/dev/null)
    code=$? errors=
    while IFS= read -r line; do [[ -z $line || $line == *warning:* ]] || errors=1; done <<< "$said"
    if [[ $code -eq 0 && -z $errors ]]; then echo 1; else echo 0; fi
done"#;

/// A bash that is asked many times.
struct Bash {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bash {
    fn start() -> Option<Self> {
        let mut child = Command::new("bash")
            .args(["--noprofile", "--norc", "-c", ASK])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        Some(Self { child, input, output })
    }

    /// The answers for texts that fit a pipe together.
    fn accepts(&mut self, texts: &[String]) -> Option<Vec<bool>> {
        let asked: String = texts.iter().flat_map(|text| [text.as_str(), "\0"]).collect();
        self.input.write_all(asked.as_bytes()).ok()?;
        self.input.flush().ok()?;
        let one = |_: &String| {
            let mut line = String::new();
            self.output.read_line(&mut line).ok()?;
            Some(line.trim() == "1")
        };
        texts.iter().map(one).collect()
    }
}

impl Drop for Bash {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `bash -n` says of each text; nothing where there is no bash. The texts have no NUL, and together less than a
/// pipe holds.
pub fn bash_accepts(texts: &[String]) -> Option<Vec<bool>> {
    thread_local!(static BASH: RefCell<Option<Bash>> = RefCell::new(Bash::start()));
    BASH.with(|bash| bash.borrow_mut().as_mut()?.accepts(texts))
}

/// What `brush-parser` says; nothing for text that nests so much that it may never answer.
pub fn brush_accepts(text: &str) -> Option<bool> {
    let openings = text.bytes().filter(|byte| b"({[$`<".contains(byte)).count();
    if openings > 12 || text.len() > 400 {
        return None;
    }
    let options = brush_parser::ParserOptions { enable_extended_globbing: false, ..Default::default() };
    let mut parser = brush_parser::Parser::new(text.as_bytes(), &options);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| parser.parse_program().is_ok())).ok()
}

/// Kinds that bash lets through under `-n` and refuses, or reads otherwise, only when it runs them; told by the reason
/// alone, so that a text which merely holds such a thing explains nothing.
pub fn is_explained(reason: &str) -> bool {
    // Parts that bash parses when it runs them.
    let later = [
        "in backquotes:",
        "in a here-document:",
        "in a text that is handed on:",
        "in a subscript:",
        "in a pattern:",
        "in arithmetic:",
        "in a substitution that begins like arithmetic:",
        "in single quotes that do not protect:",
    ];
    // `${…}` is only checked when it is expanded; an empty `[[ ]]` makes bash give up the whole text without a word,
    // and call that success, and `&&` right behind `=~` an expression; two versions of bash differ on the rest.
    let checked_later = [
        "`${`",
        "for ((",
        "stands behind `coproc`",
        "where bash knows no array",
        "a subscript stands behind",
        "`]]`",
        "`=~` stands without",
        "delimiter",
        "here-document begins in a substitution",
        "here-document inside `$(`",
        "here-document stands inside `((`",
        "process substitution inside",
        "only counts the parentheses",
        "in the subscript of an array's element",
    ];
    // What no text needs: too deep, too long to read.
    let bounds = ["takes too long", "deep", "are handed on over", "run each other over"];
    later.iter().any(|part| reason.starts_with(part))
        || checked_later.iter().chain(&bounds).any(|kind| reason.contains(kind))
}

/// Holds the reader against bash: what it takes bash takes, and what it refuses for no reason of its own bash refuses.
pub fn check(text: &str) {
    if text.chars().any(|c| c.is_control() && !"\n\t".contains(c)) || text.len() > 2000 {
        return;
    }
    let unreadable = judge(text, &Rules { base: Verdict::Allow, contained: false, freed: &[] }).unreadable;
    let accepted = bash_accepts(&[text.to_owned()]).and_then(|answers| answers.first().copied());
    let Some(accepted) = accepted else { return };
    match unreadable {
        Some(unreadable) if accepted => {
            assert!(is_explained(&unreadable.reason), "bash takes {text:?}: {unreadable}");
        }
        None if !accepted => panic!("bash refuses {text:?}, brush: {:?}", brush_accepts(text)),
        _ => {}
    }
}
