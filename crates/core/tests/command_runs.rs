//! Bash itself, running: what it runs, the reader has seen or has refused to read.
//!
//! Texts are put together with a fixed seed from brackets, quotes and one marked `echo`. Nothing else in them is a
//! program, and nothing writes but to `/dev/null`. Where there is no bash the test says so and holds nothing.

use std::process::Stdio;

use enclos_core::command::{Rules, judge};
use enclos_core::verdict::Verdict;

const MARK: &str = "here-it-runs";
/// Texts that are tried; any number, with any seed, must hold.
const TEXTS: usize = 1_500;
/// What may make bash and the reader disagree about where a construct ends.
const UNITS: [&str; 60] = [
    "$((",
    "$(",
    "$[",
    "${x:-",
    "${x[",
    "${#x[",
    "((",
    "(",
    ")",
    "))",
    "]",
    "}",
    "a[",
    "b[",
    "]=2",
    "a=1 ",
    "x=(",
    ">/dev/null ",
    "2>&1 ",
    "<<< x ",
    "<(",
    "[[ x == ",
    "[[ x =~ ",
    "@(",
    "(a|",
    " ]]",
    "\"",
    "'",
    "`",
    "\\",
    "$'",
    "$\"",
    "#",
    " # ",
    "\n",
    " ; ",
    ";;",
    " & ",
    " | ",
    " && ",
    "{ ",
    "; }",
    "declare ",
    "time ",
    "! ",
    "coproc ",
    "case x in ",
    "x) ",
    " esac",
    "if ",
    "; then ",
    "; fi",
    "for i in 1; do ",
    "; done",
    "for ((;0;",
    "f() ",
    "<<E\n",
    "\nE\n",
    "\\\n",
    "+",
];

/// A small generator with a fixed seed: the same texts on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Units, the marked command somewhere between them, and often what closes again.
    fn text(&mut self) -> String {
        let mut text = String::new();
        let before = 1 + self.below(4);
        for _ in 0..before {
            text.push_str(UNITS[self.below(UNITS.len())]);
        }
        text.extend([" ; echo ", MARK, " ; "]);
        for _ in 0..self.below(5) {
            text.push_str(UNITS[self.below(UNITS.len())]);
        }
        text
    }
}

/// Whether bash runs the marked command. `None`: there is no bash.
#[expect(clippy::disallowed_methods, reason = "bash is the oracle of this test")]
fn runs(text: &str) -> Option<bool> {
    let output = std::process::Command::new("bash")
        .args(["--noprofile", "--norc", "-c", "--", text])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let told = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&told).lines().any(|line| line == MARK))
}

/// Whether the reader sees the marked command, or refuses the text.
fn is_seen(text: &str) -> bool {
    let reading = judge(text, &Rules { base: Verdict::Allow, contained: true, freed: &[] });
    let marked = |argv: &[String]| argv.windows(2).any(|pair| pair == ["echo", MARK]);
    reading.unreadable.is_some() || reading.pieces.iter().any(|piece| marked(&piece.argv))
}

fn unseen_of(texts: impl Iterator<Item = String>) -> (usize, Vec<String>) {
    let mut ran = 0;
    let mut unseen = Vec::new();
    for text in texts {
        match runs(&text) {
            None => eprintln!("no bash to compare with"),
            Some(true) => {
                ran += 1;
                if !is_seen(&text) {
                    unseen.push(format!("{text:?}"));
                }
            }
            Some(false) => {}
        }
    }
    (ran, unseen)
}

#[test]
fn what_bash_runs_between_odd_brackets_is_seen_or_refused() {
    let mut dice = Dice(0x5eed);
    let (ran, unseen) = unseen_of((0..TEXTS).map(|_| dice.text()));
    assert!(unseen.is_empty(), "{} of {ran} run unseen:\n{}", unseen.len(), unseen.join("\n"));
}

#[test]
fn what_hid_a_command_once_hides_none() {
    let texts = [
        "(echo ${a[}); @; (echo ]})",
        "echo $((a[) ) ; @ ; # ] ))",
        "echo $(( ${x:-) ) ; @ ; #} ))",
        "cat <<< $((a[) ) ; @ ; # ] ))",
        "x=( $((a[) ) ) ; @ ; # ] )) )",
        "(echo $[ ${x:-] ) ; @ ; #} ])",
        "a=1 >/dev/null b[ ; @ ; ]=2",
        "(a; @)",
    ];
    let (ran, unseen) = unseen_of(texts.iter().map(|text| text.replace('@', &format!("echo {MARK}"))));
    assert!(unseen.is_empty(), "{unseen:?}");
    assert!(ran == 0 || ran >= 6, "only {ran} run in bash at all");
}
