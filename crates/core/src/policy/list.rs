//! One word or a list of words: `tool = "read"` and `tool = ["read", "list"]` are the same kind of thing.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// A list, written as one word or as an array of words. Empty where the field is absent, never as written.
#[derive(Clone, Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Words(PhantomData))
    }
}

struct Words<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Words<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word, or an array of words that is not empty")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<List<T>, E> {
        T::deserialize(StrDeserializer::<E>::new(word)).map(|word| List(vec![word]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<List<T>, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = source.next_element()? {
            words.push(word);
        }
        if words.is_empty() {
            return Err(A::Error::invalid_length(0, &self));
        }
        Ok(List(words))
    }
}
