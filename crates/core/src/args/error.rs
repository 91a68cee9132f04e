//! What may be wrong with arguments, in words that a model can mend them by.
//!
//! Each message names the place, the value (cut to a bound) and what was expected.

use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use super::{MAX_BYTES, MAX_DEPTH};

/// The longest excerpt of a value in a message, in characters.
const EXCERPT_CHARS: usize = 80;

/// Why arguments were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
    /// The text is longer than [`MAX_BYTES`].
    #[error("the arguments are {bytes} bytes long: expected at most {MAX_BYTES}; send less at once")]
    TooLarge {
        /// The length of the text.
        bytes: usize,
    },
    /// The text is not JSON, or goes on after its end.
    #[error("the arguments are not one JSON object: {expected} at {place}, found `{found}`")]
    Syntax {
        /// Where reading stopped.
        place: Place,
        /// What the reader says was expected there.
        expected: String,
        /// The text from there on, cut.
        found: String,
    },
    /// The text is a JSON value of another kind.
    #[error("the arguments are {found}, `{value}`: expected one JSON object such as `{{\"field\": …}}`")]
    NotAnObject {
        /// The kind of the value.
        found: &'static str,
        /// The value, cut.
        value: String,
    },
    /// A key stands twice in one object.
    #[error("the key `{key}` stands twice in {place}: expected each key once")]
    DuplicateKey {
        /// The object, and where the second key ends.
        place: Place,
        /// The key.
        key: String,
    },
    /// Objects and arrays nest deeper than [`MAX_DEPTH`].
    #[error("the arguments nest deeper than {MAX_DEPTH} at {place}: expected a flatter value")]
    TooDeep {
        /// Where the bound was passed.
        place: Place,
    },
    /// An integer that 64 bits do not hold.
    #[error(
        "the integer `{literal}` at {place} is out of range: expected one of 64 bits; send longer ones as text"
    )]
    IntegerRange {
        /// Where it stands.
        place: Place,
        /// The digits, cut.
        literal: String,
    },
    /// An empty text for a tool that declares fields.
    #[error("the arguments are empty: expected one JSON object with the fields {}", listed(fields))]
    Empty {
        /// The fields that the tool declares.
        fields: Vec<String>,
    },
    /// The object does not fit the tool's schema.
    #[error("the arguments do not fit the tool: {}", joined(.0))]
    Misfits(
        /// The first places that do not fit, at most three.
        Vec<Misfit>,
    ),
    /// The schema let pass what the tool's own type refuses.
    #[error("the arguments fit the schema but not the tool: {why}")]
    Shape {
        /// What the type says.
        why: String,
    },
}

/// One place that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfit {
    /// Where.
    pub place: Place,
    /// The value there, cut; empty where a field is missing.
    pub value: String,
    /// What the schema expects there.
    pub expected: String,
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {}", self.place)?;
        if !self.value.is_empty() {
            write!(f, " found `{}`", self.value)?;
        }
        write!(f, ", expected {}", self.expected)
    }
}

/// A schema that cannot be used: the tool is refused, never taken without it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema names another dialect.
    #[error("the schema is of the dialect `{0}`: expected JSON Schema 2020-12, or none named")]
    Dialect(String),
    /// The schema does not describe an object.
    #[error("the schema describes `{0}`: expected `\"type\": \"object\"`, as arguments are one object")]
    NotAnObject(String),
    /// The schema is malformed, or refers to something outside itself.
    #[error("the schema cannot be used: {0}")]
    Malformed(String),
}

/// A text cut to a bound, with what would disturb a line escaped.
pub(super) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT_CHARS).flat_map(quiet).collect();
    if text.chars().nth(EXCERPT_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// A character, escaped where it is a control, a direction mark or otherwise invisible.
fn quiet(c: char) -> Vec<char> {
    if c == '\'' || c == '"' || c == '\\' { vec![c] } else { c.escape_debug().collect() }
}

/// The kind of a JSON value in words.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Names in back-ticks, with commas.
pub(super) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn joined(misfits: &[Misfit]) -> String {
    misfits.iter().map(Misfit::to_string).collect::<Vec<_>>().join("; ")
}
