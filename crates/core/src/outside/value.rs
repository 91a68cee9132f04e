//! What kind of value an argument is, and whether the person's own words name it.
//!
//! A number, a yes or no, a date and a bare name carry little and reach nobody by themselves: a name works only inside the
//! service that knows it. A text that is an address (mail, web, account, telephone) reaches whoever holds it, so it is text.

use serde_json::Value;

/// The kind of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number, also one that is written as text.
    Number,
    /// Yes or no, or nothing.
    Flag,
    /// A day, with or without a time.
    Date,
    /// A few words without an address in them.
    Name,
    /// Anything else.
    Text,
}

/// Characters of a bare name, and digits in it, at most. An account or a telephone number has more digits.
const NAME: usize = 64;
const NAME_DIGITS: usize = 6;

/// The kind of a value without parts.
pub(super) fn kind(value: &Value) -> Kind {
    match value {
        Value::Null | Value::Bool(_) => Kind::Flag,
        Value::Number(_) => Kind::Number,
        Value::String(text) if is_date(text) => Kind::Date,
        Value::String(text) if is_name(text) => Kind::Name,
        Value::String(_) | Value::Array(_) | Value::Object(_) => Kind::Text,
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '\'' | '&' | '(' | ')');
    !text.trim().is_empty()
        && text.chars().count() <= NAME
        && text.chars().all(fits)
        && text.chars().filter(char::is_ascii_digit).count() <= NAME_DIGITS
}

/// `2026-11-30`, with or without a time behind a blank or `T`.
fn is_date(text: &str) -> bool {
    let (day, time) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let lengths: Vec<usize> = day.split('-').map(str::len).collect();
    lengths == [4, 2, 2]
        && day.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        && time.len() <= 8
        && time.bytes().all(|b| b.is_ascii_digit() || b == b':')
}

/// The values without parts that an argument holds.
pub(super) fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values().flat_map(leaves).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![value],
    }
}

/// The shortest text that is looked for in what a person wrote or a tool answered.
const SHORTEST: usize = 3;

/// Whether a text holds that value as a whole: nothing that belongs to a word stands before or behind it.
pub(super) fn names(text: &str, value: &Value) -> bool {
    match value {
        Value::String(wanted) => wanted.chars().count() >= SHORTEST && holds(text, wanted),
        Value::Number(number) => number.as_f64().is_some_and(|number| holds_number(text, number)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn holds(text: &str, wanted: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(wanted).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let mut behind = text.get(at + wanted.len()..).unwrap_or_default().chars();
        // An address goes on behind a full stop, a hyphen or a slash that a letter follows.
        let goes_on = match behind.next() {
            Some('.' | '-' | '@' | '/' | ':') => behind.next().is_some_and(char::is_alphanumeric),
            Some(c) => joins(c),
            None => false,
        };
        let began = before.is_some_and(|c| joins(c) || matches!(c, '@' | '-' | '.' | '/'));
        !began && !goes_on
    })
}

fn holds_number(text: &str, wanted: f64) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != '.')
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .any(|word| word.parse::<f64>().is_ok_and(|number| (number - wanted).abs() < f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_address_is_never_a_name() {
        for text in [
            "dora@gmail.com",
            "www.dora.com",
            "https://x",
            "UK12345678901234567890",
            "+41 44 123 45 67",
            "0441234567",
            "a/b",
        ] {
            assert_eq!(kind(&json!(text)), Kind::Text, "{text}");
        }
        for text in ["Charlie", "External_0", "Le Marais Boutique", "13"] {
            assert_eq!(kind(&json!(text)), Kind::Name, "{text}");
        }
        assert_eq!(kind(&json!("2022-04-01")), Kind::Date);
        assert_eq!(kind(&json!("2022-04-01 10:00")), Kind::Date);
        assert_eq!(kind(&json!(4.5)), Kind::Number);
        assert_eq!(kind(&json!("x".repeat(65))), Kind::Text);
    }

    #[test]
    fn a_value_is_named_only_as_a_whole() {
        let prompt = "Send 98.70 to GB29NWBK60161331926819 (see www.dora-website.com), and ask Bob.";
        for named in
            [json!("GB29NWBK60161331926819"), json!("www.dora-website.com"), json!("Bob"), json!(98.7)]
        {
            assert!(names(prompt, &named), "{named}");
        }
        for not in [
            json!("GB29NWBK6016133192681"),
            json!("dora-website.com"),
            json!("www.dora-website"),
            json!("www.dora"),
            json!("Bo"),
            json!(98),
            json!(70),
            json!("bob"),
            json!(true),
        ] {
            assert!(!names(prompt, &not), "{not}");
        }
        assert!(!names("write to bob@evil.com.attacker.net", &json!("bob@evil.com")));
        assert!(names("write to bob@evil.com.", &json!("bob@evil.com")));
    }
}
