//! The parser of arguments: never panics, reads nothing that JSON does not allow, and keeps every value.

use std::sync::OnceLock;

use enclos_core::args::{Schema, parse, validate};
use serde_json::{Value, json};

/// Two schemas that take any object: an open one, and one with fields of every kind.
fn schemas() -> &'static [Schema; 2] {
    static SCHEMAS: OnceLock<[Schema; 2]> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let fields = json!({
            "a": {"type": "integer", "minimum": 0}, "b": {"type": "string", "pattern": "^x*$"},
            "c": {"type": "array", "items": {"type": "number"}}, "d": {"enum": [1, "x", null]},
            "e": {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {"f": {"type": "null"}}}]},
        });
        [
            json!({"type": "object", "additionalProperties": true}),
            json!({"type": "object", "properties": fields}),
        ]
        .map(|schema| Schema::new(&schema).expect("the schema is well formed"))
    })
}

/// Holds what must be true of reading `text` as arguments.
pub fn check(text: &str) {
    let Ok(parsed) = parse(text) else { return };
    let lenient: Option<Value> = serde_json::from_str(text).ok();
    let [open, closed] = schemas();
    let _ = validate(parsed.clone(), closed);
    let Ok(args) = validate(parsed, open) else { return };
    assert!(text.trim().is_empty() || lenient.as_ref() == Some(args.value()), "a value was changed");
    let again = validate(parse(&args.canonical()).expect("canonical text is read"), open);
    let again = again.expect("canonical text fits");
    assert_eq!(args.value(), again.value(), "canonical text keeps every value");
    assert_eq!(args.canonical(), again.canonical(), "canonical text is canonical");
}
