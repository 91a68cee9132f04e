//! The strict reading of arguments: what is refused, in which words, and that nothing else is.

use enclos_core::args::{Args, ArgsError, MAX_BYTES, MAX_DEPTH, Schema, SchemaError, parse, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(serde::Deserialize)]
struct Read {
    path: String,
    offset: u64,
}

fn read_schema() -> Schema {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 40},
            "offset": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["text", "bytes"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["path"],
    });
    Schema::new(&schema).unwrap()
}

fn take(text: &str) -> Result<Args, ArgsError> {
    validate(parse(text)?, &read_schema())
}

fn said(text: &str) -> String {
    take(text).unwrap_err().to_string()
}

#[test]
fn what_fits_is_taken_as_it_is() {
    let args = take(r#" {"path": "a", "offset": 7} "#).unwrap();
    assert_eq!(args.value(), &json!({"path": "a", "offset": 7}));
    let read: Read = args.get().unwrap();
    assert_eq!((read.path.as_str(), read.offset), ("a", 7));
}

#[test]
fn equal_arguments_have_one_canonical_text() {
    let one = take(r#"{"path": "a\u0041/", "offset": 7, "tags": ["x", "y"]}"#).unwrap();
    let other = take(r#"{ "tags":["x","y"], "offset":7,"path":"aA/" }"#).unwrap();
    assert_eq!(one.canonical(), r#"{"offset":7,"path":"aA/","tags":["x","y"]}"#);
    assert_eq!(one.canonical(), other.canonical());
}

#[test]
fn broken_text_is_an_error_that_names_its_place() {
    assert_eq!(
        said(r#"{"path": "a" "offset": 1}"#),
        "the arguments are not one JSON object: expected `,` or `}` at `/path` (line 1, column 14), \
         found `\"offset\": 1}`"
    );
    assert_eq!(
        said("{\"path\": \"a\",\n  \"tags\": [\"x\", tru]}"),
        "the arguments are not one JSON object: expected `true`, `false` or `null` at `/tags/1` (line 2, \
         column 20), found `]}`"
    );
    assert_eq!(
        said(r#"{"path": "a"} and more"#),
        "the arguments are not one JSON object: trailing characters at the object (line 1, column 15), \
         found `and more`"
    );
    assert!(
        said(r#"{"path": "a"#)
            .starts_with("the arguments are not one JSON object: EOF while parsing a string")
    );
    assert!(said(r#"{"path": "a"}{"path": "b"}"#).contains("trailing characters"));
    assert!(said("{'path': 'a'}").contains("key must be a string"));
    assert!(said("{\"path\": \"a\",}").contains("trailing comma"));
}

#[test]
fn another_value_than_an_object_is_refused() {
    assert_eq!(
        said("[1]"),
        "the arguments are an array, `[1]`: expected one JSON object such as `{\"field\": …}`"
    );
    for text in ["null", "7", "\"{}\"", "true"] {
        assert!(matches!(take(text), Err(ArgsError::NotAnObject { .. })), "{text}");
    }
}

#[test]
fn a_key_stands_once_at_every_depth() {
    assert_eq!(
        said(r#"{"path": "a", "path": "b"}"#),
        "the key `path` stands twice in the object (line 1, column 20): expected each key once"
    );
    let deep = r#"{"path": {"a": [{"k": 1, "\u006b": 2}]}}"#;
    assert!(said(deep).starts_with("the key `k` stands twice in `/path/a/0`"), "{}", said(deep));
}

#[test]
fn integers_keep_their_digits_or_are_refused() {
    assert_eq!(
        said(r#"{"path": "a", "offset": 18446744073709551616}"#),
        "the integer `18446744073709551616` at `/offset` (line 1, column 25) is out of range: expected one of 64 \
         bits; send longer ones as text"
    );
    let most = take(r#"{"path": "a", "offset": 18446744073709551615}"#).unwrap();
    assert_eq!(most.value()["offset"], json!(u64::MAX));
    assert!(parse(r#"{"n": -9223372036854775808}"#).is_ok());
    assert!(parse(r#"{"n": -9223372036854775809}"#).is_err());
    assert!(parse(r#"{"n": "99999999999999999999", "99999999999999999999": 1e30}"#).is_ok());
    assert!(parse(r#"{"n": 1e400}"#).is_err());
}

#[test]
fn a_float_is_no_integer() {
    assert_eq!(
        said(r#"{"path": "a", "offset": 1.0}"#),
        "the arguments do not fit the tool: at `/offset` (line 1, column 25) found `1.0`, expected an integer and \
         not a number with a fraction or exponent"
    );
    assert!(take(r#"{"path": "a", "offset": 1e2}"#).is_err());
}

#[test]
fn each_misfit_names_place_value_and_expectation() {
    assert_eq!(
        said(r#"{"offset": 3}"#),
        "the arguments do not fit the tool: at the object (line 1, column 1), expected the field `path`"
    );
    assert_eq!(
        said(r#"{"path": 3}"#),
        "the arguments do not fit the tool: at `/path` (line 1, column 10) found `3`, expected a string and not a \
         number"
    );
    assert_eq!(
        said(r#"{"path": "a", "lines": 3}"#),
        "the arguments do not fit the tool: at `/lines` (line 1, column 24) found `lines`, expected no such field \
         but `mode`, `offset`, `path`, `tags`"
    );
    assert_eq!(
        said(r#"{"path": "", "offset": 0, "mode": "x"}"#),
        "the arguments do not fit the tool: at `/mode` (line 1, column 35) found `\"x\"`, expected one of \
         [\"text\",\"bytes\"]; at `/offset` (line 1, column 24) found `0`, expected at least 1; at `/path` (line 1, \
         column 10) found `\"\"`, expected at least 1 character"
    );
    let long = format!(r#"{{"path": "{}"}}"#, "x".repeat(500));
    assert!(said(&long).len() < 250, "the value is cut: {}", said(&long));
}

#[test]
fn an_empty_text_is_an_object_only_where_no_field_is_declared() {
    assert_eq!(
        said("  "),
        "the arguments are empty: expected one JSON object with the fields `mode`, `offset`, `path`, `tags`"
    );
    let none = Schema::new(&json!({"type": "object"})).unwrap();
    assert_eq!(validate(parse("").unwrap(), &none).unwrap().value(), &json!({}));
    assert!(validate(parse(r#"{"x": 1}"#).unwrap(), &none).is_err(), "a tool without fields takes none");
    let optional = Schema::new(&json!({"type": "object", "properties": {"a": {}}})).unwrap();
    assert!(validate(parse("").unwrap(), &optional).is_err());
    let choice = json!({"type": "object", "anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]});
    assert!(validate(parse("").unwrap(), &Schema::new(&choice).unwrap()).is_err());
}

#[test]
fn size_and_depth_are_bounded() {
    let long = format!(r#"{{"path": "{}"}}"#, "x".repeat(MAX_BYTES));
    assert!(matches!(parse(&long), Err(ArgsError::TooLarge { .. })));
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert!(matches!(parse(&nested(MAX_DEPTH + 1)), Err(ArgsError::TooDeep { .. })));
    assert!(parse(&"{\"a\":".repeat(100_000)).is_err());
    assert!(parse(&format!("{{\"a\":{}", "[".repeat(900_000))).is_err());
}

#[test]
fn messages_carry_no_control_characters() {
    let message = said("{\"path\": \"a\u{202e}b\", \"x\\u001b\": 1}");
    assert!(!message.chars().any(|c| c.is_control() || c == '\u{202e}'), "{message:?}");
    let broken = said("{\"path\": \u{1b}[31m");
    assert!(!broken.chars().any(char::is_control), "{broken:?}");
}

#[test]
fn fields_are_closed_where_a_schema_lists_them() {
    let schema = json!({
        "type": "object",
        "properties": {
            "who": {"$ref": "#/$defs/person"},
            "either": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]},
            "many": {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
            "free": {"type": "object"},
            "open": {"type": "object", "properties": {"x": {}}, "additionalProperties": true},
        },
        "allOf": [{"properties": {"also": {}}}],
        "$defs": {"person": {"type": "object", "properties": {"name": {}}}},
    });
    let schema = Schema::new(&schema).unwrap();
    let fits = |text: &str| validate(parse(text).unwrap(), &schema).is_ok();
    for text in [
        r#"{"also": 1}"#,
        r#"{"who": {"name": 1}}"#,
        r#"{"either": null}"#,
        r#"{"either": {"name": 1}}"#,
        r#"{"many": [{"x": 1}]}"#,
        r#"{"free": {"anything": 1}}"#,
        r#"{"open": {"anything": 1}}"#,
    ] {
        assert!(fits(text), "{text}");
    }
    for text in [
        r#"{"other": 1}"#,
        r#"{"who": {"name": 1, "age": 2}}"#,
        r#"{"either": {"age": 2}}"#,
        r#"{"many": [{"x": 1}, {"y": 1}]}"#,
    ] {
        assert!(!fits(text), "{text}");
    }
}

#[test]
fn schemas_that_cannot_be_trusted_are_refused() {
    let error = |schema: Value| Schema::new(&schema).unwrap_err();
    assert!(matches!(error(json!({"type": "string"})), SchemaError::NotAnObject(_)));
    assert!(matches!(error(json!({})), SchemaError::NotAnObject(_)));
    let dialect = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"});
    assert_eq!(
        error(dialect).to_string(),
        "the schema is of the dialect `http://json-schema.org/draft-07/schema#`: expected JSON Schema 2020-12, or \
         none named"
    );
    let remote = json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}});
    assert!(matches!(error(remote), SchemaError::Malformed(_)));
    let backtracking = json!({"type": "object", "properties": {"a": {"pattern": "(a+)\\1"}}});
    assert!(matches!(error(backtracking), SchemaError::Malformed(_)));
    assert!(matches!(
        error(json!({"type": "object", "properties": {"a": {"type": "text"}}})),
        SchemaError::Malformed(_)
    ));
}

/// Whether our own refusals explain why a text that `serde_json` takes is not taken.
fn ours(value: &Value, error: &ArgsError) -> bool {
    match error {
        ArgsError::NotAnObject { .. } => !value.is_object(),
        ArgsError::DuplicateKey { .. } | ArgsError::TooDeep { .. } | ArgsError::IntegerRange { .. } => true,
        _ => false,
    }
}

fn agrees(text: &str) -> Result<(), TestCaseError> {
    let parsed = parse(text);
    match (serde_json::from_str::<Value>(text), &parsed) {
        (Ok(value), Err(error)) => prop_assert!(ours(&value, error), "{text:?}: {error}"),
        (Err(_), Ok(_)) => prop_assert!(text.trim().is_empty(), "{text:?}"),
        (Ok(value), Ok(_)) => {
            let open = Schema::new(&json!({"type": "object", "additionalProperties": true})).unwrap();
            let args = validate(parsed.unwrap(), &open).unwrap();
            prop_assert_eq!(args.value(), &value);
            let again: Value = serde_json::from_str(&args.canonical()).unwrap();
            prop_assert_eq!(again, value);
        }
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_taken_or_refused_as_serde_json_would(text in ".{0,80}") {
        agrees(&text)?;
    }

    #[test]
    fn texts_that_resemble_json_too(parts in prop::collection::vec(
        prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\u0061\"", "1", "-0", "1.0", "1e3", "99999999999999999999",
            "true", "null", " ", "\n", "\"", "\\", "é", "\"x\":", "{\"a\":1}", "\u{feff}",
        ]), 0..24)) {
        agrees(&parts.concat())?;
    }

    #[test]
    fn a_cut_or_changed_object_never_panics(cut in 0usize..60, byte in any::<char>()) {
        let whole = r#"{"path": "aé\u00e9b", "tags": ["x", {"y": [1, -2.5e3]}], "n": 123456789}"#;
        let at = whole.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(0);
        agrees(&whole[..at])?;
        let mut changed = whole.to_owned();
        changed.insert(at, byte);
        agrees(&changed)?;
    }
}
