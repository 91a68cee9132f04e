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

#[path = "../../crates/core/tests/oracle/bash.rs"]
mod bash;

use bash::ASK;

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

/// Whether a difference is explained: by what bash only finds out later, or as what no text needs, too deep or too long to
/// read.
pub fn is_explained(reason: &str) -> bool {
    let bounds = ["takes too long", "deep", "are handed on over", "run each other over"];
    bash::is_explained(reason) || bounds.iter().any(|kind| reason.contains(kind))
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
