//! Conditions on the arguments of a call: one value, named by a JSON pointer, compared in linear time.
//!
//! A missing value meets no condition. A value that cannot be compared as the condition asks is a failure, and a
//! failure disables the call. Paths of the file tools are compared as what they lead to, so that `./a`, `a//b` and
//! `/workspace/a` cannot slip past a rule on `a`; links are not followed here, the sandbox does that.

use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::file::ConditionFile;
use super::language::Language;

/// The largest compiled regex, in bytes.
const REGEX_BYTES: usize = 1024 * 1024;

/// One condition.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pointer: String,
    test: Test,
    /// The texts that meet it, to compare it with others.
    language: Language,
}

/// The most conditions that one with several values is taken apart to.
const MAX_APART: usize = 64;

#[derive(Clone, Debug)]
enum Test {
    Equals(Value),
    OneOf(Vec<Value>),
    Prefix(String),
    Glob(GlobMatcher),
    Regex(String, Regex),
}

/// A value that a condition cannot compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incomparable;

/// What a condition compares with.
pub(super) enum Compared<'c> {
    /// One of these values.
    Values(&'c [Value]),
    /// Text that begins so.
    Prefix(&'c str),
    /// Text that a pattern matches.
    Glob(&'c str),
    /// Text that an expression matches.
    Regex,
}

impl Condition {
    /// Gives a written condition its meaning, or says what is wrong with it.
    pub(super) fn new(file: ConditionFile) -> Result<Self, String> {
        let ConditionFile { pointer, equals, prefix, glob, regex, one_of } = file;
        if !pointer.starts_with('/') {
            return Err(format!("has the pointer `{pointer}`: expected a JSON pointer such as `/path`"));
        }
        if pointer.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
            return Err(format!(
                "has the pointer `{pointer}`: in a JSON pointer a `~` is written `~0`, and a `/` in a name `~1`"
            ));
        }
        let mut tests = Vec::new();
        tests.extend(equals.map(|value| json(&value).map(Test::Equals)));
        tests.extend(one_of.map(|values| values.iter().map(json).collect::<Result<_, _>>().map(Test::OneOf)));
        tests.extend(prefix.map(|prefix| Ok(Test::Prefix(prefix))));
        tests.extend(glob.map(|pattern| read_glob(&pattern)));
        tests.extend(regex.map(|pattern| read_regex(&pattern)));
        let test = tests.pop().filter(|_| tests.is_empty()).ok_or_else(|| {
            format!("has a condition on `{pointer}` without exactly one of `equals`, `prefix`, `glob`, `regex`, `in`")
        })?;
        Ok(Self::of(pointer, test?))
    }

    fn of(pointer: String, test: Test) -> Self {
        let language = match &test {
            Test::Prefix(prefix) => Language::of_prefix(prefix),
            Test::Glob(glob) => Language::of_regex(glob.glob().regex()),
            Test::Regex(pattern, _) => Language::of_regex(pattern),
            Test::Equals(_) | Test::OneOf(_) => Language::default(),
        };
        Self { pointer, test, language }
    }

    /// Whether the arguments of `tool` meet this condition.
    pub(super) fn holds(&self, tool: &str, args: &Value) -> Result<bool, Incomparable> {
        let Some(value) = args.pointer(&self.pointer) else { return Ok(false) };
        let led = self.path(tool, value);
        self.meets(led.as_ref().unwrap_or(value))
    }

    /// Whether a value meets it.
    fn meets(&self, value: &Value) -> Result<bool, Incomparable> {
        match &self.test {
            Test::Equals(wanted) => Ok(value == wanted),
            Test::OneOf(wanted) => Ok(wanted.contains(value)),
            Test::Prefix(prefix) => Ok(text(value)?.starts_with(prefix.as_str())),
            Test::Glob(glob) => Ok(glob.is_match(text(value)?)),
            Test::Regex(_, regex) => Ok(regex.is_match(text(value)?)),
        }
    }

    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }

    pub(super) fn compared(&self) -> Compared<'_> {
        match &self.test {
            Test::Equals(value) => Compared::Values(std::slice::from_ref(value)),
            Test::OneOf(values) => Compared::Values(values),
            Test::Prefix(prefix) => Compared::Prefix(prefix),
            Test::Glob(glob) => Compared::Glob(glob.glob().glob()),
            Test::Regex(..) => Compared::Regex,
        }
    }

    /// Whether another condition surely holds wherever this one does.
    pub(super) fn within(&self, other: &Self) -> bool {
        if self.pointer != other.pointer {
            return false;
        }
        let met = |value: &Value| other.meets(value) == Ok(true);
        let values = match &self.test {
            Test::Equals(value) => return met(value),
            Test::OneOf(values) => return values.iter().all(met),
            Test::Prefix(_) | Test::Glob(_) | Test::Regex(..) => self.language.texts(),
        };
        let few = values
            .is_some_and(|mut texts| texts.all(|text| text.is_some_and(|text| met(&Value::from(text)))));
        few || self.is_same(other) || self.language.within(&other.language)
    }

    /// Conditions that together hold where this one does, each as narrow as can be told.
    pub(super) fn apart(&self) -> Vec<Self> {
        match &self.test {
            Test::OneOf(values) if values.len() <= MAX_APART => {
                let one = |value: &Value| Self::of(self.pointer.clone(), Test::Equals(value.clone()));
                values.iter().map(one).collect()
            }
            Test::OneOf(_) | Test::Equals(_) | Test::Prefix(_) | Test::Glob(_) | Test::Regex(..) => {
                vec![self.clone()]
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let same_test = match (&self.test, &other.test) {
            (Test::Equals(one), Test::Equals(other)) => one == other,
            (Test::OneOf(one), Test::OneOf(other)) => one == other,
            (Test::Glob(one), Test::Glob(other)) => one.glob() == other.glob(),
            (Test::Prefix(one), Test::Prefix(other)) | (Test::Regex(one, _), Test::Regex(other, _)) => {
                one == other
            }
            (Test::Equals(_) | Test::OneOf(_) | Test::Prefix(_) | Test::Glob(_) | Test::Regex(..), _) => {
                false
            }
        };
        same_test && self.pointer == other.pointer
    }

    /// The condition as it is written.
    pub(super) fn written(&self) -> Value {
        let (word, value) = match &self.test {
            Test::Equals(wanted) => ("equals", wanted.clone()),
            Test::OneOf(wanted) => ("in", Value::Array(wanted.clone())),
            Test::Prefix(prefix) => ("prefix", Value::from(prefix.as_str())),
            Test::Glob(glob) => ("glob", Value::from(glob.glob().glob())),
            Test::Regex(pattern, _) => ("regex", Value::from(pattern.as_str())),
        };
        serde_json::json!({ "pointer": self.pointer, word: value })
    }

    /// What the path of a file tool leads to.
    fn path(&self, tool: &str, value: &Value) -> Option<Value> {
        let path = value.as_str().filter(|_| crate::tool::is_file(tool) && self.pointer == "/path")?;
        Some(Value::String(led_to(path)))
    }
}

/// What a path leads to from `/workspace`: relative to it where it stays within, absolute elsewhere.
pub(super) fn led_to(path: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { vec!["workspace"] };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    match parts.split_first() {
        Some((&"workspace", [])) => ".".to_owned(),
        Some((&"workspace", within)) => within.join("/"),
        _ => format!("/{}", parts.join("/")),
    }
}

fn text(value: &Value) -> Result<&str, Incomparable> {
    value.as_str().ok_or(Incomparable)
}

fn read_glob(pattern: &str) -> Result<Test, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    glob.map(|glob| Test::Glob(glob.compile_matcher()))
        .map_err(|error| format!("has the glob `{pattern}`, which cannot be read: {}", error.kind()))
}

/// A regex speaks of the whole value, new lines included: a half-anchored one is the usual hole in a rule.
fn read_regex(pattern: &str) -> Result<Test, String> {
    let whole = format!(r"\A(?:{pattern})\z");
    Regex::new(pattern)
        .and_then(|_| RegexBuilder::new(&whole).dot_matches_new_line(true).size_limit(REGEX_BYTES).build())
        .map(|regex| Test::Regex(pattern.to_owned(), regex))
        .map_err(|error| format!("has the regex `{pattern}`, which {}", unread(&error)))
}

/// Why a regex cannot be taken, in one line.
fn unread(error: &regex::Error) -> String {
    if let regex::Error::CompiledTooBig(limit) = error {
        return format!("is larger than {limit} bytes once compiled: make it smaller");
    }
    let told = error.to_string();
    let why = told.lines().rev().find_map(|line| line.trim().strip_prefix("error: ").map(str::to_owned));
    let why = why.unwrap_or_else(|| told.lines().next().unwrap_or_default().to_owned());
    format!(
        "cannot be read: {why} (look-around and back-references do not exist: every match takes linear time)"
    )
}

/// A TOML value as JSON. Dates and floats that are no number have no counterpart.
pub(super) fn json(value: &toml::Value) -> Result<Value, String> {
    match value {
        toml::Value::String(text) => Ok(Value::from(text.as_str())),
        toml::Value::Integer(number) => Ok(Value::from(*number)),
        toml::Value::Float(number) => serde_json::Number::from_f64(*number)
            .map(Value::Number)
            .ok_or_else(|| format!("compares with `{number}`: expected a finite number")),
        toml::Value::Boolean(truth) => Ok(Value::from(*truth)),
        toml::Value::Datetime(date) => {
            Err(format!("compares with the date `{date}`: write it as text in quotes"))
        }
        toml::Value::Array(items) => items.iter().map(json).collect::<Result<_, _>>().map(Value::Array),
        toml::Value::Table(table) => object(table).map(Value::Object),
    }
}

/// A TOML table as a JSON object.
pub(super) fn object(table: &toml::Table) -> Result<serde_json::Map<String, Value>, String> {
    table.iter().map(|(key, value)| json(value).map(|value| (key.clone(), value))).collect()
}

#[cfg(test)]
mod tests {
    use super::led_to;

    #[test]
    fn a_path_is_what_it_leads_to() {
        for spelling in [
            "src/a",
            "./src/a",
            "src//a",
            "src/./a",
            "src/b/../a",
            "/workspace/src/a",
            "//workspace/src/a",
            "../workspace/src/a",
            "src/a/",
        ] {
            assert_eq!(led_to(spelling), "src/a", "{spelling}");
        }
        assert_eq!(led_to("../etc/passwd"), "/etc/passwd");
        assert_eq!(led_to("../../../etc"), "/etc");
        assert_eq!(led_to("."), ".");
        assert_eq!(led_to("/workspace/.."), "/");
        assert_eq!(led_to("/workspaces/a"), "/workspaces/a");
    }
}
