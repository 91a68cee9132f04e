//! The strict reader of arguments: a serde visitor over `serde_json`, with what that leaves open closed.
//!
//! Refused here and not by `serde_json`: equal keys in one object (it keeps the last), nesting beyond
//! [`MAX_DEPTH`](super::MAX_DEPTH), and an integer outside 64 bits (it would become a float and lose digits).

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::{ArgsError, excerpt, kind_of};
use super::place::{Place, pointer, walk};
use super::{MAX_DEPTH, place};

/// Reads one JSON object.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, ArgsError> {
    let refusal = RefCell::new(None);
    let seed = Reader { depth: 0, refusal: &refusal };
    let mut source = serde_json::Deserializer::from_str(text);
    let value = seed
        .deserialize(&mut source)
        .and_then(|value| source.end().map(|()| value))
        .map_err(|error| refused(text, &error, refusal.borrow_mut().take()))?;
    let Value::Object(fields) = value else {
        return Err(ArgsError::NotAnObject { found: kind_of(&value), value: excerpt(text.trim()) });
    };
    match wide_integer(text) {
        Some(error) => Err(error),
        None => Ok(fields),
    }
}

/// What the visitor refuses of its own. `serde` carries only text, so it travels beside.
enum Refusal {
    Duplicate(String),
    TooDeep,
}

/// Joins the reader's refusal with the position that `serde_json` knows.
fn refused(text: &str, error: &serde_json::Error, refusal: Option<Refusal>) -> ArgsError {
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut offset = (line_start + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let place = Place::of_offset(text, offset);
    match refusal {
        Some(Refusal::Duplicate(key)) => {
            ArgsError::DuplicateKey { place: owner_of(place), key: excerpt(&key) }
        }
        Some(Refusal::TooDeep) => ArgsError::TooDeep { place },
        None => {
            let message = error.to_string();
            let expected = message.split(" at line ").next().unwrap_or(&message);
            let expected = expected.replace("expected ident", "expected `true`, `false` or `null`");
            let rest = text.get(offset..).unwrap_or_default();
            ArgsError::Syntax { place, expected, found: excerpt(rest) }
        }
    }
}

/// A repeated key is reported at the end of the key: the object that holds it is one step up.
fn owner_of(mut place: Place) -> Place {
    let owner = place.pointer.rsplit_once('/').map_or(String::new(), |(owner, _)| owner.to_owned());
    place.pointer = owner;
    place
}

/// The first integer of an accepted text that 64 bits do not hold.
fn wide_integer(text: &str) -> Option<ArgsError> {
    let spot = walk(text, |spot| {
        let literal = text.get(spot.start..spot.end).unwrap_or_default();
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && literal.parse::<i64>().is_err()
            && literal.parse::<u64>().is_err()
    })?;
    let literal = text.get(spot.start..spot.end).unwrap_or_default();
    let place = place::Place::at(text, spot.start, pointer(text, &spot.frames));
    Some(ArgsError::IntegerRange { place, literal: excerpt(literal) })
}

/// Reads one value at a depth.
#[derive(Clone, Copy)]
struct Reader<'r> {
    depth: usize,
    refusal: &'r RefCell<Option<Refusal>>,
}

impl Reader<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(self.refuse(Refusal::TooDeep));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn refuse<E: serde::de::Error>(self, refusal: Refusal) -> E {
        *self.refusal.borrow_mut() = Some(refusal);
        E::custom("refused")
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = source.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut fields = Map::new();
        while let Some(key) = source.next_key::<String>()? {
            if fields.contains_key(&key) {
                return Err(self.refuse(Refusal::Duplicate(key)));
            }
            let value = source.next_value_seed(inner)?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}
