//! What happens to every string of an entry before it is hashed.
//!
//! The store does not know a secret when it sees one; the [`Redact`] given at opening does. What it does decide is that
//! no string escapes it: kind, keys and values, at every depth.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Replaces secrets by typed marks.
pub trait Redact: Send + Sync {
    /// The text without its secrets.
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// A redactor that changes nothing, for tests, benches and stores that are opened for reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRedaction;

impl Redact for NoRedaction {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }
}

/// How deep an entry may nest.
pub(crate) const MAX_DEPTH: usize = 64;

/// An entry that nests over [`MAX_DEPTH`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooDeep;

/// Redacts every key and every string of an entry.
pub(crate) fn redact_map(
    redactor: &dyn Redact,
    map: Map<String, Value>,
) -> Result<Map<String, Value>, TooDeep> {
    map_within(redactor, map, MAX_DEPTH)
}

fn map_within(
    redactor: &dyn Redact,
    map: Map<String, Value>,
    depth: usize,
) -> Result<Map<String, Value>, TooDeep> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    let mut out = Map::new();
    for (key, value) in map {
        let value = value_within(redactor, value, depth)?;
        let mut name = owned(redactor, key);
        // Two secrets as keys may get the same mark; neither value is dropped for it.
        while out.contains_key(&name) {
            name.push('+');
        }
        out.insert(name, value);
    }
    Ok(out)
}

fn value_within(redactor: &dyn Redact, value: Value, depth: usize) -> Result<Value, TooDeep> {
    Ok(match value {
        Value::String(text) => Value::String(owned(redactor, text)),
        Value::Array(items) => {
            let depth = depth.checked_sub(1).ok_or(TooDeep)?;
            Value::Array(
                items
                    .into_iter()
                    .map(|item| value_within(redactor, item, depth))
                    .collect::<Result<_, _>>()?,
            )
        }
        Value::Object(map) => Value::Object(map_within(redactor, map, depth)?),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    })
}

fn owned(redactor: &dyn Redact, text: String) -> String {
    let changed = match redactor.redact(&text) {
        Cow::Borrowed(same) if same == text => None,
        Cow::Borrowed(other) => Some(other.to_owned()),
        Cow::Owned(other) => Some(other),
    };
    changed.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Hide;

    impl Redact for Hide {
        fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
            if text.contains("hunter2") {
                Cow::Owned(text.replace("hunter2", "[secret]"))
            } else {
                Cow::Borrowed(text)
            }
        }
    }

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn reaches_keys_and_values_at_every_depth() {
        let given = map(&json!({
            "hunter2": 1, "a": {"b": [{"x-hunter2": ["y hunter2 z", true, null]}], "n": 12.5}
        }));
        let text = serde_json::to_string(&redact_map(&Hide, given).unwrap()).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(text.matches("[secret]").count(), 3);
    }

    #[test]
    fn keys_that_become_equal_keep_both_values() {
        struct All;
        impl Redact for All {
            fn redact<'t>(&self, _: &'t str) -> Cow<'t, str> {
                Cow::Borrowed("k")
            }
        }
        let out = redact_map(&All, map(&json!({"one": 1, "two": 2, "three": 3}))).unwrap();
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn refuses_what_nests_too_deep() {
        let mut deep = json!("x");
        for _ in 0..MAX_DEPTH {
            deep = json!([deep]);
        }
        assert_eq!(redact_map(&Hide, map(&json!({"d": deep}))), Err(TooDeep));
    }
}
