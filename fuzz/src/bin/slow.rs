//! `slow [SECONDS [SEED]]`: searches for texts that take long to read for their length, and prints the slowest.
//!
//! It puts units that nest or multiply together, keeps what is slowest and changes it on, with a fixed seed. A text is
//! measured as the least of several readings of it made 4 KiB long; of the slowest, how the time grows to 64 KiB.

use std::hint::black_box;
use std::time::{Duration, Instant};

use enclos_core::command::{MAX_TEXT, Rules, judge};
use enclos_core::verdict::Verdict;

const UNITS: [&str; 96] = [
    "( ",
    "{ ",
    "{a,",
    "{a,b}",
    "{1..9}",
    "}",
    "$(",
    "$((",
    "((",
    ")",
    "))",
    "\"",
    "'",
    "`",
    "\\",
    "\\\n",
    "\n",
    "${x:-",
    "${a[",
    "]",
    "[[ ",
    "[[ ( ",
    " ]]",
    "if ",
    "while ",
    "case x in a) ",
    "f() { ",
    "<(",
    "x=(",
    "a[",
    "<<E\n",
    "<<-E\n\t",
    "E\n",
    "sh -c ",
    "bash -c '",
    "env ",
    "watch ",
    "find . -exec ",
    " \\;",
    " {} +",
    "xargs ",
    "rm ",
    "rm -rf ",
    "/etc ",
    "$'",
    "\\x41",
    "; ",
    "a;",
    "a|",
    "! ",
    "time ",
    "& ",
    "< ",
    "2>&1 ",
    "> x ",
    "$x",
    "$IFS",
    "*",
    "?",
    "[a]",
    "/../",
    "a=b ",
    "chmod 777,",
    "chmod -v ",
    "sed 's/a/b/;",
    "awk '{system(\"",
    "#",
    "\t",
    "é",
    "bash <<E\n",
    "cd /etc;",
    "cd /usr;",
    "strace ",
    "install ",
    "cp ",
    "mv ",
    "dd of=",
    "python -c '",
    "system(\"",
    "git -c alias.x='!",
    "tmux '",
    "vim -c '!",
    "make <<E\n",
    "jobs -x ",
    "parallel ::: ",
    "alias x='",
    "trap '",
    "nice ",
    "sudo ",
    "-o ",
    "-- ",
    "a",
    " ",
    "x[$(",
    "@(",
    "|",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Units before, a body that is repeated, units behind.
#[derive(Clone, Debug, Default)]
struct Recipe {
    head: Vec<usize>,
    body: Vec<usize>,
    tail: Vec<usize>,
}

impl Recipe {
    fn text(&self, size: usize) -> String {
        let of = |units: &[usize]| units.iter().map(|unit| UNITS[*unit]).collect::<String>();
        let (head, body, tail) = (of(&self.head), of(&self.body), of(&self.tail));
        let room = size.saturating_sub(head.len() + tail.len());
        format!("{head}{}{tail}", body.repeat(room / body.len().max(1)))
    }

    fn changed(&self, dice: &mut Dice) -> Self {
        let mut next = self.clone();
        for _ in 0..=dice.below(3) {
            let unit = dice.below(UNITS.len());
            let part = match dice.below(4) {
                0 => &mut next.head,
                1 => &mut next.tail,
                _ => &mut next.body,
            };
            let at = dice.below(part.len() + 1);
            match dice.below(3) {
                0 if part.len() > 1 => drop(part.remove(at.min(part.len() - 1))),
                1 if !part.is_empty() => {
                    let last = part.len() - 1;
                    part[at.min(last)] = unit;
                }
                _ if part.len() < 8 => part.insert(at, unit),
                _ => {}
            }
        }
        next
    }
}

fn seconds(text: &str, times: usize) -> f64 {
    let rules = Rules { base: Verdict::Allow, contained: true, freed: &[] };
    let one = |_| {
        let start = Instant::now();
        black_box(judge(black_box(text), &rules));
        start.elapsed().as_secs_f64()
    };
    (0..times).map(one).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut words = std::env::args().skip(1);
    let mut number = |default: u64| words.next().and_then(|word| word.parse().ok()).unwrap_or(default);
    let (limit, seed) = (Duration::from_secs(number(60)), number(0x5eed));
    let mut dice = Dice(seed.max(1));
    let first = |unit| Recipe { body: vec![unit], ..Recipe::default() };
    let cost = |recipe: &Recipe| seconds(&recipe.text(4096), 3) / 4096.0 * 1e9;
    let mut best: Vec<(f64, Recipe)> =
        (0..UNITS.len()).map(first).map(|recipe| (cost(&recipe), recipe)).collect();
    let start = Instant::now();
    while start.elapsed() < limit {
        let parent = best[dice.below(best.len())].1.clone();
        let next = parent.changed(&mut dice);
        let time = cost(&next);
        best.push((time, next));
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        best.truncate(40);
    }
    for (time, recipe) in best.iter().step_by(4) {
        let [kib, four, all] = [1024, 4096, MAX_TEXT].map(|size| seconds(&recipe.text(size), 3) * 1e6);
        let reading = judge(&recipe.text(4096), &Rules { base: Verdict::Allow, contained: true, freed: &[] });
        println!(
            "{time:7.0} ns/byte  1K {kib:7.0} us  4K {four:7.0} us  64K {all:8.0} us  {:?}\n    head {:?} body {:?} tail {:?}",
            reading.unreadable.map(|unreadable| unreadable.reason),
            recipe.head.iter().map(|unit| UNITS[*unit]).collect::<String>(),
            recipe.body.iter().map(|unit| UNITS[*unit]).collect::<String>(),
            recipe.tail.iter().map(|unit| UNITS[*unit]).collect::<String>(),
        );
    }
}
