//! Times the reading of commands: p50 and p99 of short texts, texts of 1 KiB and of 64 KiB, and the slowest hostile text.
//!
//! `reading_rate [ROUNDS]` prints one JSON object, times in microseconds. The texts are the everyday and the hidden
//! commands of `tests/data/command`, alone and joined; hostile ones repeat what nests or multiplies. It measures and
//! asserts nothing.

use std::hint::black_box;
use std::time::Instant;

use enclos_core::args::{Args, Schema, parse, validate};
use enclos_core::command::{MAX_TEXT, Rules, judge};
use enclos_core::policy::{Caller, Layer, Policy, Request, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;
use serde_json::{Value, json};

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/command/", $name))
    };
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const RULES: Rules<'static> = Rules { base: Verdict::Allow, contained: false, freed: &[] };
/// The longest text that counts as a short one, in bytes.
const SHORT: usize = 120;
/// How many rules the policy of a whole decision has.
const POLICY: usize = 1_000;
/// What multiplies or nests, and is not told apart until late.
const HOSTILE: [&str; 14] = [
    "( ",
    "{a,",
    "{a,b}",
    "$((",
    "\"$(",
    "${x:-",
    "`\\`",
    "cat <<E\n",
    "sh -c 'a' ",
    "xargs ",
    "find . -exec ",
    "[[ a == @(",
    "a|",
    "2>&1 ",
];

fn main() -> Outcome<()> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(50), |rounds| rounds.parse())?;
    let corpus = corpus()?;
    let short: Vec<&str> = corpus.iter().map(String::as_str).filter(|text| text.len() <= SHORT).collect();
    let medium = joined(&corpus, 1024);
    let large = joined(&corpus, MAX_TEXT);
    let hostile: Vec<String> = HOSTILE.iter().map(|unit| unit.repeat(MAX_TEXT / unit.len())).collect();
    let report = json!({
        "short": quantiles(&short, rounds),
        "kib": quantiles(&medium, rounds),
        "largest": quantiles(&large, rounds.div_ceil(10)),
        "hostile": quantiles(&hostile, rounds.div_ceil(10)),
        "decision": decisions(&short, rounds)?,
        "rules": POLICY,
    });
    println!("{report}");
    Ok(())
}

/// The commands of the tables.
fn corpus() -> Outcome<Vec<String>> {
    let json = |line: &str| serde_json::from_str::<String>(line.rsplit('\t').next().unwrap_or_default());
    let tables = [table!("everyday.tsv"), table!("hidden.tsv")];
    let rows = tables.iter().flat_map(|table| table.lines().skip(1));
    Ok(rows.map(json).collect::<Result<Vec<_>, _>>()?)
}

/// Texts of about `size` bytes and never more, of commands that can be read, a line each.
fn joined(corpus: &[String], size: usize) -> Vec<String> {
    let readable: Vec<&String> = corpus
        .iter()
        .filter(|text| judge(text, &RULES).unreadable.is_none() && !text.contains("<<"))
        .collect();
    (0..readable.len().min(64))
        .map(|first| {
            let mut text = String::new();
            for command in readable.iter().cycle().skip(first) {
                if text.len() + command.len() + 1 > size {
                    break;
                }
                text.push_str(command);
                text.push('\n');
            }
            text
        })
        .collect()
}

/// The middle, the 99th hundredth and the greatest of the times to read each text so many times.
fn quantiles<T: AsRef<str>>(texts: &[T], rounds: usize) -> Value {
    times(texts.iter().cycle().take(texts.len() * rounds).map(|text| {
        let start = Instant::now();
        black_box(judge(black_box(text.as_ref()), &RULES));
        start.elapsed().as_secs_f64()
    }))
}

fn times(seconds: impl Iterator<Item = f64>) -> Value {
    let mut times: Vec<f64> = seconds.map(|time| time * 1e6).collect();
    times.sort_by(f64::total_cmp);
    let at = |hundredth: usize| {
        let place = (times.len() * hundredth / 100).min(times.len().saturating_sub(1));
        times.get(place).map_or(0.0, |time| (time * 10.0).round() / 10.0)
    };
    json!({ "p50_us": at(50), "p99_us": at(99), "max_us": at(100), "samples": times.len() })
}

/// Whole decisions on short commands under a policy of many rules.
fn decisions(short: &[&str], rounds: usize) -> Outcome<Value> {
    let text = policy();
    let policy = Policy::load(&[Layer { scope: Scope::Project, source: "bench".to_owned(), text: &text }])?;
    let schema = Schema::new(
        &json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),
    )?;
    let calls: Vec<Args> = short
        .iter()
        .filter_map(|command| validate(parse(&json!({ "command": command }).to_string()).ok()?, &schema).ok())
        .collect();
    let tool = Tool::named("bash");
    let caller = Caller { tool: &tool, role: Role::Developer, surface: Surface::Terminal };
    Ok(times(calls.iter().cycle().take(calls.len() * rounds.div_ceil(10)).map(|args| {
        let start = Instant::now();
        black_box(policy.judge(&Request { caller, args: black_box(args) }));
        start.elapsed().as_secs_f64()
    })))
}

/// Half of the rules on commands, half on tools and paths.
fn policy() -> String {
    let rules = (0..POLICY).map(|number| {
        if number % 2 == 0 {
            format!("[[rule]]\ncommand = [\"program-{number}\", \"test\"]\nverdict = \"allow\"\n")
        } else {
            format!(
                "[[rule]]\ntool = \"server-{number}/get\"\nwhen = [{{ pointer = \"/path\", glob = \"src/{number}/*\" }}]\nverdict = \"allow\"\n"
            )
        }
    });
    format!("name = \"bench\"\n{}", rules.collect::<String>())
}
