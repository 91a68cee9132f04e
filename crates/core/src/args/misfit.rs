//! The words for a place that does not fit the schema.
//!
//! The validator's own messages quote whole values; these quote a bounded excerpt and say what to send instead.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;

use super::error::{Misfit, excerpt, listed};
use super::place::{Place, escaped};
use crate::near::nearest;
use crate::noun::count;

/// Describes one error of the validator.
pub(super) fn describe(error: &ValidationError<'_>, text: &str, fields: &[String]) -> Misfit {
    let at = error.instance_path().as_str();
    if let Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } =
        error.kind()
        && let Some(name) = unexpected.first()
    {
        let known = if at.is_empty() { fields } else { &[] };
        return unknown_field(text, at, name, known);
    }
    let missing = matches!(error.kind(), Kind::Required { .. });
    let value = if missing { String::new() } else { excerpt(&error.instance().to_string()) };
    Misfit { place: Place::of_pointer(text, at), value, expected: expected(error) }
}

/// A field that the schema does not know, with the nearest that it does.
fn unknown_field(text: &str, at: &str, name: &str, known: &[String]) -> Misfit {
    let pointer = format!("{at}/{}", escaped(name));
    let meant = nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let expected = match known {
        [] => "no such field".to_owned(),
        known => format!("no such field but {}{meant}", listed(known)),
    };
    Misfit { place: Place::of_pointer(text, &pointer), value: excerpt(name), expected }
}

/// What the schema expects, in words.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the validator's kinds are many; what has no words of ours gets the validator's"
)]
fn expected(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Custom { message, .. } => message.clone(),
        Kind::Required { property } => format!("the field `{}`", property.as_str().unwrap_or_default()),
        Kind::Enum { options } => format!("one of {}", excerpt(&options.to_string())),
        Kind::Constant { expected_value } => excerpt(&expected_value.to_string()),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::MaxLength { limit } => format!("at most {}", count(*limit, "character", "characters")),
        Kind::MinLength { limit } => format!("at least {}", count(*limit, "character", "characters")),
        Kind::MaxItems { limit } => format!("at most {}", count(*limit, "item", "items")),
        Kind::MinItems { limit } => format!("at least {}", count(*limit, "item", "items")),
        Kind::MaxProperties { limit } => format!("at most {}", count(*limit, "field", "fields")),
        Kind::MinProperties { limit } => format!("at least {}", count(*limit, "field", "fields")),
        Kind::UniqueItems => "items that all differ".to_owned(),
        Kind::Pattern { pattern } => format!("text that matches `{}`", excerpt(pattern)),
        _ => another(error),
    }
}

/// The validator's own words, without the value.
fn another(error: &ValidationError<'_>) -> String {
    let keyword = error.kind().keyword().to_owned();
    let shown = error.masked_with("it").to_string();
    format!("what the schema's `{keyword}` says ({})", excerpt(&shown))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{ArgsError, Schema, parse, validate};

    fn error(schema: &serde_json::Value, text: &str) -> String {
        let schema = Schema::new(schema).unwrap();
        match validate(parse(text).unwrap(), &schema) {
            Err(error @ ArgsError::Misfits(_)) => error.to_string(),
            other => panic!("expected misfits, got {other:?}"),
        }
    }

    #[test]
    fn the_nearest_field_is_named() {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        assert_eq!(
            error(&schema, r#"{"pth": "a"}"#),
            "the arguments do not fit the tool: at `/pth` (line 1, column 9) found `pth`, \
             expected no such field but `path`; did you mean `path`?"
        );
    }
}
