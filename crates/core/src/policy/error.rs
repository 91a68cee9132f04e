//! Why a policy was refused: the file, the line, and how to mend it.
//!
//! A policy that cannot be read in full is not read at all.

use crate::ids::RuleId;
use crate::near::nearest;
use crate::verdict::Verdict;

use super::scope::Scope;

/// A policy text that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {problem}", at(*.line))]
pub struct PolicyError {
    /// The file or place of the text.
    pub file: String,
    /// The line, from 1; 0 where the whole text is meant.
    pub line: usize,
    /// The key that it is about, where it is one.
    pub key: Option<Box<str>>,
    /// What is wrong.
    pub problem: Problem,
}

fn at(line: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

/// What is wrong with a policy text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Not TOML, or not of the shape of a policy.
    #[error("{0}")]
    Shape(String),
    /// Longer than its bound.
    #[error("the text is {bytes} bytes long: expected at most {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// A layer of a scope that no text can have.
    #[error(
        "a policy text cannot be of the scope `built-in`: expected `instance`, `group`, `project`, `repository` or `session`"
    )]
    BuiltIn,
    /// A tool that nothing knows.
    #[error("the tool `{name}` is unknown: expected a tool of Enclos, `server/tool`, or `*` as a whole segment{}", meant(.near.as_deref()))]
    UnknownTool {
        /// As written.
        name: String,
        /// The nearest known name.
        near: Option<String>,
    },
    /// A name that cannot be one.
    #[error("`{name}` is not a name of a {what}: expected {expected}")]
    BadName {
        /// As written.
        name: String,
        /// Of what.
        what: &'static str,
        /// The form that names have.
        expected: &'static str,
    },
    /// Two rules of one text with one name.
    #[error("the rule `{0}` is written twice: expected each `id` once in a file")]
    TwiceNamed(String),
    /// A rule that says nothing of where it applies, or too much.
    #[error("the rule `{rule}` {why}")]
    BadRule {
        /// The rule.
        rule: RuleId,
        /// What is wrong and how to mend it.
        why: String,
    },
    /// An example that the rule does not decide as its author says.
    #[error("the rule `{rule}` {} example {example}: mend the rule or the example", if *.wanted { "does not match its `match`" } else { "matches its `not_match`" })]
    Example {
        /// The rule.
        rule: RuleId,
        /// The example.
        example: String,
        /// Whether it should have matched.
        wanted: bool,
    },
    /// A rule that is softer than what a higher scope says.
    #[error(
        "the rule `{rule}` of the {scope} says `{verdict}`, but `{against}` of the {higher} ({source_file}) says \
         `{stricter}`, and a lower scope can only tighten: write `{stricter}` or remove the rule"
    )]
    Looser {
        /// The rule.
        rule: RuleId,
        /// Its scope.
        scope: Scope,
        /// Its verdict.
        verdict: Verdict,
        /// The rule that it collides with.
        against: RuleId,
        /// The scope of that rule.
        higher: Scope,
        /// The file or place of that rule.
        source_file: String,
        /// What that rule says.
        stricter: Verdict,
    },
    /// A rule whose question asks for less than what a higher scope asks for.
    #[error(
        "the rule `{rule}` of the {scope} asks for {less}, but {against} asks for {more}, and a lower scope can only tighten: write the same or leave it out"
    )]
    Lesser {
        /// The rule.
        rule: RuleId,
        /// Its scope.
        scope: Scope,
        /// What it asks for.
        less: Box<str>,
        /// The rule that it collides with, with its scope and place, in words.
        against: Box<str>,
        /// What that rule asks for.
        more: Box<str>,
    },
    /// A setting that gives more room than a higher scope.
    #[error(
        "`{key}` of the {scope} is {value}, but {higher} says {stricter}, and a lower scope can only tighten: write \
         {stricter} or less room, or leave it out"
    )]
    LooserSetting {
        /// The key.
        key: &'static str,
        /// The scope.
        scope: Scope,
        /// What it says.
        value: Box<str>,
        /// The scope and place above, in words.
        higher: Box<str>,
        /// What is said there.
        stricter: Box<str>,
    },
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

impl PolicyError {
    /// An error at a line of a text; 0 where the whole text is meant.
    pub(super) fn new(file: &str, line: usize, problem: Problem) -> Self {
        let mut key = None;
        if let Problem::LooserSetting { key: of, .. } = &problem {
            key = Some(Box::from(*of));
        }
        Self { file: file.to_owned(), line, key, problem }
    }

    /// An error of the TOML reader, with a suggestion where a word is nearly right.
    pub(super) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map_or(0, |span| line_of(text, span.start));
        let message = error.message().trim().replace('\n', " ");
        let mut words = message.split('`').skip(1).step_by(2);
        let mut problem = plain(&message);
        let told = message.starts_with("unknown ") || message.starts_with("missing ");
        let mut key = key_at(text, line);
        if let Some(key) = key.filter(|_| !told) {
            problem = format!("`{key}`: {problem}");
        }
        let known: Vec<&str>;
        if message.starts_with("unknown ")
            && let Some(word) = words.next()
        {
            key = key.or(message.starts_with("unknown field").then_some(word));
            known = words.collect();
            problem.push_str(&meant(nearest(word, &known)));
        }
        Self { file: file.to_owned(), line, key: key.map(Box::from), problem: Problem::Shape(problem) }
    }
}

/// What the reader expected, in the words of TOML instead of its own.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 9] = [
        ("expected u64", "expected a whole number that is not negative"),
        ("expected u32", "expected a whole number that is not negative"),
        ("expected a sequence", "expected an array, `[…]`"),
        ("expected a boolean", "expected `true` or `false`"),
        ("expected a string", "expected text in quotes"),
        ("wanted string or table", "expected one of its words in quotes"),
        ("invalid type: map", "found a table"),
        ("invalid type: sequence", "found an array"),
        ("invalid type: ", "found "),
    ];
    WORDS.iter().fold(message.to_owned(), |told, (theirs, ours)| told.replace(theirs, ours))
}

/// The key that a line of TOML gives a value to.
fn key_at(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line.checked_sub(1)?)?.split_once('=')?;
    let key = key.trim();
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.chars().all(bare)).then_some(key)
}

/// The line, from 1, of a byte of the text.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&b| b == b'\n').count() + 1
}
