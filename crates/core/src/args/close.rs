//! Closing a schema: an object whose schema lists its fields takes no other field.
//!
//! Schemas of tools often list their fields without saying that there are no more. Here that is said for them with
//! `unevaluatedProperties: false`, which counts fields that `allOf` and `$ref` bring. What a schema leaves open in
//! so many words (`additionalProperties`, `patternProperties`), and an inner object with no listed field, stays open.

use serde_json::{Map, Value, json};

/// The deepest chain of references that is followed.
const MAX_REFERENCES: usize = 16;

/// The schema of the outermost object and of every value below it, closed.
pub(super) fn closed(schema: &Value) -> Value {
    let mut out = schema.clone();
    close(&mut out, schema);
    if let Value::Object(map) = &mut out
        && !says_itself(map)
    {
        map.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    out
}

/// Whether a schema lists fields, itself or by reference or `allOf`.
pub(super) fn names_fields(schema: &Value, root: &Value, depth: usize) -> bool {
    if depth > MAX_REFERENCES {
        return false;
    }
    let listed =
        |schema: &Value| schema.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty());
    let below = |schema: &Value| names_fields(schema, root, depth + 1);
    listed(schema)
        || schema.get("$ref").and_then(|r| resolve(r, root)).is_some_and(below)
        || schema.get("allOf").and_then(Value::as_array).is_some_and(|all| all.iter().any(below))
}

/// Closes the complete description of one value.
fn close(schema: &mut Value, root: &Value) {
    let fields = names_fields(schema, root, 0);
    let Value::Object(map) = schema else { return };
    if fields && !says_itself(map) {
        map.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    for keyword in ["anyOf", "oneOf"] {
        for branch in array(map, keyword) {
            if fields { within(branch, root) } else { close(branch, root) }
        }
    }
    within_map(map, root);
}

/// Closes what stands below a part of a description, but not the part itself.
fn within(schema: &mut Value, root: &Value) {
    let Value::Object(map) = schema else { return };
    for keyword in ["anyOf", "oneOf"] {
        for branch in array(map, keyword) {
            within(branch, root);
        }
    }
    within_map(map, root);
}

fn within_map(map: &mut Map<String, Value>, root: &Value) {
    for part in array(map, "allOf") {
        within(part, root);
    }
    for definition in values(map, "$defs") {
        within(definition, root);
    }
    for keyword in ["properties", "patternProperties"] {
        for property in values(map, keyword) {
            close(property, root);
        }
    }
    for keyword in ["items", "additionalProperties", "contains"] {
        if let Some(inner) = map.get_mut(keyword) {
            close(inner, root);
        }
    }
    for item in array(map, "prefixItems") {
        close(item, root);
    }
}

/// Whether a schema says of its own what further fields are.
fn says_itself(map: &Map<String, Value>) -> bool {
    ["additionalProperties", "unevaluatedProperties"].iter().any(|keyword| map.contains_key(*keyword))
}

fn array<'m>(map: &'m mut Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'m mut Value> {
    map.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten()
}

fn values<'m>(map: &'m mut Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'m mut Value> {
    map.get_mut(keyword).and_then(Value::as_object_mut).into_iter().flatten().map(|(_, value)| value)
}

/// The schema that a reference within the document names.
fn resolve<'s>(reference: &Value, root: &'s Value) -> Option<&'s Value> {
    root.pointer(reference.as_str()?.strip_prefix('#')?)
}
