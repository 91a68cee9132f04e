//! The JSON Schema of each kind of file, for editors and for checks outside of Enclos.
//!
//! Draft 7, which editors of TOML understand. A schema knows shapes only: what a rule means, and whether it collides
//! with another, is for the loader to say.

use serde_json::{Map, Value, json};

use super::{Form, Key, Kind};

/// The schema of a kind of file.
pub fn schema(kind: Kind) -> Value {
    let mut schema = table(kind.keys());
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
        fields.insert("title".to_owned(), json!(kind.title()));
    }
    schema
}

/// The schema as it is printed and kept.
pub fn schema_text(kind: Kind) -> String {
    format!("{:#}\n", schema(kind))
}

fn table(keys: &[Key]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

fn property(key: &Key) -> Value {
    let mut value = form(key.form);
    if let Some(fields) = value.as_object_mut() {
        let default =
            if key.default.is_empty() { String::new() } else { format!(" Default: {}.", key.default) };
        let law =
            if key.law.is_empty() { String::new() } else { format!(" Of several scopes: {}.", key.law) };
        fields.insert("description".to_owned(), json!(format!("{}.{default}{law}", key.means)));
    }
    value
}

fn form(form: Form) -> Value {
    let one_or_many = |one: Value| json!({"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]});
    match form {
        Form::Text => json!({"type": "string"}),
        Form::Name => json!({"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-z0-9._-]+$"}),
        Form::Count(least, None) => json!({"type": "integer", "minimum": least}),
        Form::Count(least, Some(most)) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Form::Truth => json!({"type": "boolean"}),
        Form::Word(words) => json!({"enum": words}),
        Form::Words(words) => one_or_many(json!({"enum": words})),
        Form::Texts => one_or_many(json!({"type": "string"})),
        Form::Argv => json!({
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "minLength": 1, "not": {"const": "*"}},
        }),
        Form::Mounts => {
            json!({"anyOf": [{"enum": ["all", "none"]}, {"type": "array", "items": {"type": "string"}}]})
        }
        Form::Value => json!({}),
        Form::Values => json!({"type": "array", "minItems": 1}),
        Form::Arguments => json!({"type": "object"}),
        Form::Examples(keys) => {
            json!({"type": "array", "items": {"anyOf": [{"type": "string"}, table(keys)]}})
        }
        Form::Table(keys) => table(keys),
        Form::Tables(keys) => json!({"type": "array", "items": table(keys)}),
        Form::SomeTables(keys) => json!({"type": "array", "minItems": 1, "items": table(keys)}),
    }
}
