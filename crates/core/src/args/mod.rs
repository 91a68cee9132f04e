//! The arguments of a tool call: parsed once, complete, strictly.
//!
//! [`parse`] reads the text that a model sent: one JSON object, no equal keys at any depth, no trailing text, no
//! integer that would lose digits. [`validate`] holds it against the tool's schema. Only what passed both is an
//! [`Args`], and that one value is what the policy judges, the card shows, the tool runs on and the journal names.
//! Nothing is repaired, completed or guessed here; what does not parse is an error that names its place.

mod close;
mod error;
mod misfit;
mod place;
mod read;
mod schema;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use error::{ArgsError, Misfit, SchemaError};
pub use place::Place;
pub use schema::Schema;

/// The longest text of arguments, in bytes (1 MiB, the bound of one answer of a model).
pub const MAX_BYTES: usize = 1024 * 1024;

/// The deepest nesting of objects and arrays, the outermost object counted.
pub const MAX_DEPTH: usize = 64;

/// A text that is one strict JSON object, not yet held against a schema. Nothing but [`validate`] reads it.
#[derive(Clone, Debug)]
pub struct Parsed {
    text: String,
    /// `None` for an empty text, which only a tool without fields may mean as `{}`.
    fields: Option<Map<String, Value>>,
}

/// Arguments that fit their tool. They can only be had from [`validate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    value: Value,
}

impl Args {
    /// The arguments as one JSON object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The arguments as compact JSON with the keys of every object in the order of their bytes: equal arguments
    /// have equal texts. For digests.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        canonical(&self.value, &mut out);
        out
    }

    /// The arguments as a type of the caller's.
    ///
    /// # Errors
    /// [`ArgsError::Shape`] where the tool's schema let pass what its type does not take: a defect of the tool.
    pub fn get<T: DeserializeOwned>(&self) -> Result<T, ArgsError> {
        T::deserialize(&self.value).map_err(|error| ArgsError::Shape { why: error.to_string() })
    }
}

/// Reads a text as one JSON object.
///
/// # Errors
/// Every variant of [`ArgsError`] but those of the schema; each names the place.
pub fn parse(text: &str) -> Result<Parsed, ArgsError> {
    if text.len() > MAX_BYTES {
        return Err(ArgsError::TooLarge { bytes: text.len() });
    }
    let blank = text.bytes().all(|b| b.is_ascii_whitespace());
    let fields = if blank { None } else { Some(read::object(text)?) };
    Ok(Parsed { text: text.to_owned(), fields })
}

/// Reads a text of any length as one JSON object, as strictly: for lines and files that are not arguments.
///
/// # Errors
/// Every variant of [`ArgsError`] but those of the schema and of size; each names the place.
pub fn object(text: &str) -> Result<Map<String, Value>, ArgsError> {
    read::object(text)
}

/// Holds parsed arguments against the schema of their tool.
///
/// # Errors
/// [`ArgsError::Empty`] for an empty text where the schema declares a field, [`ArgsError::Misfits`] with the first
/// places that do not fit.
pub fn validate(parsed: Parsed, schema: &Schema) -> Result<Args, ArgsError> {
    let Parsed { text, fields } = parsed;
    let fields = match fields {
        Some(fields) => fields,
        None if schema.declares_no_field() => Map::new(),
        None => return Err(ArgsError::Empty { fields: schema.fields().to_vec() }),
    };
    let value = Value::Object(fields);
    schema.check(&value, &text)?;
    Ok(Args { value })
}

/// Writes `value` with sorted keys, whatever order the map keeps.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_bytes());
            separated(out, ['{', '}'], entries, |(key, value), out| {
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                canonical(value, out);
            });
        }
        Value::Array(items) => separated(out, ['[', ']'], items, canonical),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

/// Writes items between brackets, with commas.
fn separated<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}
