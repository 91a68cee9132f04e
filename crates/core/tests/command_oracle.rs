//! Bash itself as the oracle: what `bash -n` refuses the reader refuses, and the other way round but for the
//! few kinds that bash only refuses when it runs them.
//!
//! Where there is no bash the tests say so and hold nothing.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use enclos_core::command::{Rules, judge};
use enclos_core::verdict::Verdict;

#[path = "oracle/bash.rs"]
mod bash;

use bash::{ASK, is_explained};

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/command/", $name))
    };
}

/// What one bash says of many texts: whether each can be parsed. `None` when there is no bash to ask.
///
/// One bash for all.
#[expect(clippy::disallowed_methods, reason = "bash is the oracle of this test")]
fn bash_accepts(texts: &[String]) -> Option<Vec<bool>> {
    let mut child = std::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-c", ASK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    let joined: String = texts.iter().flat_map(|text| [text.as_str(), "\0"]).collect();
    let writer = std::thread::spawn(move || input.write_all(joined.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().unwrap().ok()?;
    let answers: Vec<bool> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line == "1").collect();
    (answers.len() == texts.len()).then_some(answers)
}

fn compare(texts: &[String]) {
    let Some(accepted) = bash_accepts(texts) else {
        eprintln!("no bash to compare with");
        return;
    };
    let rules = Rules { base: Verdict::Allow, contained: false, freed: &[] };
    let mut unexplained = Vec::new();
    for (text, accepted) in texts.iter().zip(accepted) {
        match (judge(text, &rules).unreadable, accepted) {
            (Some(unreadable), true) if !is_explained(&unreadable.reason) => {
                unexplained.push(format!("refused: {text:?}: {unreadable}"));
            }
            (None, false) => unexplained.push(format!("accepted: {text:?}")),
            _ => {}
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
}

fn own_texts() -> Vec<String> {
    let json = |line: &str| serde_json::from_str::<String>(line).unwrap();
    let mut texts: Vec<String> = table!("harmless.txt").lines().map(json).collect();
    let column = |line: &str| json(line.rsplit('\t').next().unwrap());
    texts.extend(table!("hidden.tsv").lines().skip(1).map(column));
    texts.extend(table!("everyday.tsv").lines().skip(1).map(column));
    texts.extend(table!("contexts.txt").lines().map(|line| line.replace('@', "sudo id")));
    texts.retain(|text| !text.chars().any(|c| c.is_control() && !"\n\t\r".contains(c)));
    texts
}

/// The texts of the command cases beside the project, when they are there.
fn shared_texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let files =
        ["cases", "bypass", "choices", "matrix"].map(|name| folder.join(format!("command_{name}.tsv")));
    let tables: Vec<String> = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    let json = |row: &str| row.split('\t').find_map(|column| serde_json::from_str::<String>(column).ok());
    let mut texts: Vec<String> =
        tables.iter().flat_map(|table| table.lines().skip(1).filter_map(json)).collect();
    texts.retain(|text| !text.chars().any(|c| c.is_control() && !"\n\t\r".contains(c)));
    texts
}

#[test]
fn bash_and_the_reader_agree_on_the_tables() {
    compare(&own_texts());
}

#[test]
fn bash_and_the_reader_agree_on_the_cases_beside_the_project() {
    compare(&shared_texts());
}

/// A small generator with a fixed seed: the same mutations on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

const FRAGMENTS: [&str; 52] = [
    "(",
    ")",
    "{ ",
    "; }",
    "if ",
    "; then ",
    "; fi",
    " do ",
    "; done",
    "case x in ",
    "a) ",
    ";;",
    " esac",
    "$(",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    "<<EOF\n",
    "\nEOF\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "<",
    ">",
    ">&",
    "2>",
    "[[ ",
    " ]]",
    "((",
    "))",
    "${x",
    "}",
    ":-",
    "#",
    "!",
    "$",
    "coproc ",
    "function f ",
    "f() ",
    "for i in a",
    "while ",
    "[",
    "]",
    "=",
    "a=(",
    "<(",
    "{a,b}",
    "$'",
];

fn mutated(dice: &mut Dice, texts: &[String]) -> String {
    let mut text: Vec<char> = texts[dice.below(texts.len())].chars().take(200).collect();
    for _ in 0..=dice.below(3) {
        let at = dice.below(text.len() + 1);
        match dice.below(4) {
            0 => {
                text.splice(at..at, FRAGMENTS[dice.below(FRAGMENTS.len())].chars());
            }
            1 => {
                let end = (at + 1 + dice.below(3)).min(text.len());
                text.drain(at.min(end)..end);
            }
            2 => {
                let other: Vec<char> = texts[dice.below(texts.len())].chars().take(20).collect();
                text.splice(at..at, other);
            }
            _ => {
                let copied = text[at..(at + 10).min(text.len())].to_vec();
                let to = dice.below(text.len() + 1);
                text.splice(to..to, copied);
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn bash_and_the_reader_agree_on_mutations() {
    let texts = own_texts();
    let mut dice = Dice(0x5eed_c0de_2026_1130);
    let mutations: Vec<String> = (0..2500).map(|_| mutated(&mut dice, &texts)).collect();
    compare(&mutations);
}
