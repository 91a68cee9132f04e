//! The schema of a tool's arguments: JSON Schema 2020-12, closed and stricter in two points.
//!
//! An object that lists its fields takes no other one (see [`close`](super::close)), and `1.0` is not an integer.
//! Patterns run in linear time. A reference that leaves the schema is refused; nothing is ever fetched.

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::error::{ArgsError, SchemaError, kind_of};
use super::{close, misfit};

/// The one dialect, as `$schema` names it.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The most misfits that one error lists.
const MAX_MISFITS: usize = 3;

/// The largest compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;

/// A compiled schema of arguments.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    fields: Vec<String>,
    declares_no_field: bool,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] for another dialect, a schema of something else than an object, or a malformed one.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        if let Some(dialect) = schema.get("$schema").and_then(Value::as_str)
            && dialect.trim_end_matches('#') != DIALECT
        {
            return Err(SchemaError::Dialect(dialect.to_owned()));
        }
        let described = schema.get("type").unwrap_or(&Value::Null);
        if described != "object" {
            return Err(SchemaError::NotAnObject(described.to_string()));
        }
        let closed = close::closed(schema);
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .with_keyword("type", |_, value, _| Ok(Box::new(Types::read(value)?)))
            .build(&closed)
            .map_err(|error| SchemaError::Malformed(error.masked().to_string()))?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let declares_no_field =
            fields.is_empty() && !close::names_fields(schema, schema, 0) && !requires(schema);
        Ok(Self { validator, fields, declares_no_field })
    }

    /// As [`Schema::new`], with no field of the outermost object required: for a call that a person wrote in part.
    /// Unknown fields and values of another type stay refused. Never for a call that is to run.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub fn of_part(schema: &Value) -> Result<Self, SchemaError> {
        let mut part = schema.clone();
        if let Some(keywords) = part.as_object_mut() {
            keywords.remove("required");
        }
        Self::new(&part)
    }

    /// Holds a value that was read from something else than JSON text against the schema.
    ///
    /// # Errors
    /// [`ArgsError::Misfits`] with the first places that do not fit, without line and column.
    pub fn holds(&self, value: &Value) -> Result<(), ArgsError> {
        self.check(value, "")
    }

    /// The names of the fields of the outermost object.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Whether the schema declares no field at all, so that an empty text may mean `{}`.
    pub(super) fn declares_no_field(&self) -> bool {
        self.declares_no_field
    }

    /// Holds a value, read from `text`, against the schema.
    pub(super) fn check(&self, value: &Value, text: &str) -> Result<(), ArgsError> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let errors = self.validator.iter_errors(value).take(MAX_MISFITS);
        Err(ArgsError::Misfits(errors.map(|error| misfit::describe(&error, text, &self.fields)).collect()))
    }
}

/// Whether a schema asks for a field in a way that [`close::names_fields`] does not see.
fn requires(schema: &Value) -> bool {
    ["required", "anyOf", "oneOf", "not", "if", "minProperties", "dependentRequired", "patternProperties"]
        .iter()
        .any(|keyword| schema.get(keyword).is_some())
}

/// The keyword `type`, for which a float is no integer whatever its fraction.
struct Types(Vec<String>);

impl Types {
    fn read(value: &Value) -> Result<Self, ValidationError<'static>> {
        let names = match value {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        let known = ["null", "boolean", "integer", "number", "string", "array", "object"];
        if names.is_empty() || names.iter().any(|name| !known.contains(name)) {
            return Err(ValidationError::custom("the keyword `type` names no known type"));
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    fn admits(&self, instance: &Value) -> bool {
        self.0.iter().any(|name| match name.as_str() {
            "null" => instance.is_null(),
            "boolean" => instance.is_boolean(),
            "integer" => instance.is_i64() || instance.is_u64(),
            "number" => instance.is_number(),
            "string" => instance.is_string(),
            "array" => instance.is_array(),
            "object" => instance.is_object(),
            _ => false,
        })
    }
}

impl<'i> Keyword<'i> for Types {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.admits(instance) {
            return Ok(());
        }
        let float = instance.is_f64() && self.0.iter().any(|name| name == "integer");
        let found = if float { "a number with a fraction or exponent" } else { kind_of(instance) };
        Err(ValidationError::custom(format!("{} and not {found}", articled(&self.0))))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.admits(instance)
    }
}

/// `an integer or null`.
fn articled(names: &[String]) -> String {
    let words = names.iter().map(|name| match name.as_str() {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    });
    words.collect::<Vec<_>>().join(" or ")
}
