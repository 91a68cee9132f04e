//! `disagree [COUNT [SEED]]`: holds mutations of the tables against bash and `brush-parser`, and prints what nobody has
//! explained. With a fixed seed; what one prints, everyone can print again, and other seeds are other parts of a longer run.

use enclos_core::command::{Rules, judge};
use enclos_core::verdict::Verdict;
use enclos_fuzz::{oracles, tables};

const FRAGMENTS: [&str; 68] = [
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
    "'",
    "\"",
    "\\",
    "\n",
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
    "}",
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
    "time ",
    "! ",
    "select x ",
    "until ",
    "|&",
    ";&",
    "&>",
    "<<<",
    "@(",
    "`",
    "<<E\n",
    "<<-E\n",
    "<<'E'\n",
    "\nE\n",
    "${x",
    "${a[",
    ":-",
    "$((",
    "$[",
    "$\"",
    "\\\n",
];

/// Texts that bash is asked at once.
const BATCH: u64 = 64;

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn mutated(dice: &mut Dice, texts: &[String]) -> String {
    let mut text: Vec<char> = texts[dice.below(texts.len())].chars().take(200).collect();
    for _ in 0..=dice.below(3) {
        let at = dice.below(text.len() + 1);
        match dice.below(4) {
            0 => drop(text.splice(at..at, FRAGMENTS[dice.below(FRAGMENTS.len())].chars())),
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

fn main() {
    let mut words = std::env::args().skip(1);
    let mut number = |default: u64| words.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (count, seed) = (number(10_000), number(0x5eed));
    let (texts, mut dice) = (tables::commands(), Dice(seed.max(1)));
    let rules = Rules { base: Verdict::Allow, contained: false, freed: &[] };
    let unreadable = |text: &str| judge(text, &rules).unreadable;
    let (mut explained, mut unexplained, mut brush) = (0_u64, 0_u64, [0_u64; 2]);
    let mut left = count;
    while left > 0 {
        let batch = (0..left.min(BATCH)).map(|_| mutated(&mut dice, &texts));
        let readable = |text: &String| !text.chars().any(|c| c.is_control() && !"\n\t".contains(c));
        let batch: Vec<String> = batch.filter(readable).collect();
        left -= left.min(BATCH);
        let Some(answers) = oracles::bash_accepts(&batch) else { return println!("no bash to compare with") };
        for (text, bash) in batch.iter().zip(answers) {
            let found = unreadable(text);
            if found.is_none() == bash {
                continue;
            }
            if let Some(taken) = oracles::brush_accepts(text) {
                brush[usize::from(taken == bash)] += 1;
            }
            match found {
                Some(found) if oracles::is_explained(&found.reason) => explained += 1,
                Some(found) => {
                    unexplained += 1;
                    println!("refused, and bash takes it: {text:?}: {found}");
                }
                None => {
                    unexplained += 1;
                    println!("taken, and bash refuses it: {text:?}");
                }
            }
        }
    }
    println!(
        "{count} texts: {explained} differences explained, {unexplained} not; brush-parser sides with bash on {} of \
         them, with the reader on {}",
        brush[1], brush[0]
    );
}
