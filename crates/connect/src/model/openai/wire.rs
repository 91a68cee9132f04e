//! What a server sends: one chunk of a stream, or a whole completion, read as tolerantly as its meaning allows.
//!
//! Unknown fields and values are passed over, `null` is the same as absent, and what has several spellings is read in
//! all of them. The text of a call's arguments is kept as it came, never re-written.

use enclos_core::model::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A chunk, or a whole completion.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    object: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    code: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    index: Option<Value>,
    #[serde(default)]
    delta: Option<Piece>,
    /// In a whole completion.
    #[serde(default)]
    message: Option<Piece>,
    #[serde(default)]
    finish_reason: Option<Value>,
}

/// What a chunk adds to the answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Piece {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<Value>,
    #[serde(default)]
    reasoning_content: Option<Value>,
    #[serde(default)]
    reasoning: Option<Value>,
    #[serde(default)]
    thinking: Option<Value>,
    #[serde(default)]
    tool_calls: Option<Vec<Option<WireCall>>>,
}

#[derive(Debug, Default, Deserialize)]
struct WireCall {
    #[serde(default)]
    index: Option<Value>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    function: Option<WireFunction>,
}

#[derive(Debug, Default, Deserialize)]
struct WireFunction {
    #[serde(default)]
    name: Option<Value>,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

/// A piece of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: String,
}

impl Chunk {
    /// Reads the JSON of a chunk.
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The error that the chunk reports, if it does: an `error` that says something, or an object of the type `error`.
    pub(super) fn error(&self) -> Option<Value> {
        let says = |error: &&Value| !matches!(error, Value::Null | Value::Bool(false)) && **error != "";
        if let Some(error) = self.error.as_ref().filter(says) {
            return Some(error.clone());
        }
        let is_error = self.object.as_ref().is_some_and(|object| object == "error");
        is_error.then(|| {
            let message = self.message.clone().unwrap_or_default();
            serde_json::json!({ "message": message, "code": self.code })
        })
    }

    /// The choice that counts: the first. We ask for no other.
    pub(super) fn choice(&self) -> Option<&Choice> {
        let first = |choice: &&Choice| choice.index.as_ref().and_then(Value::as_u64).unwrap_or(0) == 0;
        self.choices.as_ref()?.iter().find(first)
    }

    /// The tokens, when both counts are told.
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = self.usage.as_ref()?;
        let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(name)?.as_u64());
        let input = count(["prompt_tokens", "input_tokens"])?;
        Some(Usage { input, output: count(["completion_tokens", "output_tokens"])? })
    }
}

impl Choice {
    /// What it adds.
    pub(super) fn piece(&self) -> Option<&Piece> {
        self.delta.as_ref().or(self.message.as_ref())
    }

    /// Why the answer ended; an empty reason is none.
    pub(super) fn finish(&self) -> Option<&str> {
        self.finish_reason.as_ref()?.as_str().filter(|reason| !reason.is_empty())
    }
}

impl Piece {
    /// Words; a refusal of the model's own counts as words.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for value in [&self.content, &self.refusal].into_iter().flatten() {
            parts(value, "text", &mut text);
        }
        text
    }

    /// Thoughts. Servers that spell the field twice mean it once.
    pub(super) fn reasoning(&self) -> String {
        let mut text = String::new();
        for value in [&self.reasoning_content, &self.reasoning, &self.thinking].into_iter().flatten() {
            parts(value, "text", &mut text);
            if !text.is_empty() {
                return text;
            }
        }
        if let Some(Value::Array(list)) = &self.content {
            list.iter()
                .filter_map(|part| part.get("thinking"))
                .for_each(|part| parts(part, "text", &mut text));
        }
        text
    }

    /// The pieces of calls.
    pub(super) fn fragments(&self) -> impl Iterator<Item = Fragment> {
        self.tool_calls.iter().flatten().flatten().map(Fragment::from)
    }
}

impl From<&WireCall> for Fragment {
    fn from(call: &WireCall) -> Self {
        let function = call.function.as_ref();
        Self {
            index: call.index.as_ref().and_then(Value::as_u64),
            id: call.id.as_ref().and_then(word),
            name: function.and_then(|function| function.name.as_ref()).and_then(word),
            arguments: function
                .and_then(|function| function.arguments.as_deref())
                .map_or_else(String::new, text_of),
        }
    }
}

/// Text, or the texts of a list of parts.
fn parts(value: &Value, key: &str, into: &mut String) {
    match value {
        Value::String(text) => into.push_str(text),
        Value::Array(list) => list
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part.get(key)?.as_str()))
            .for_each(|text| into.push_str(text)),
        _ => {}
    }
}

/// A name or an identifier; an empty one is none.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Arguments: a text as it reads, anything else as it is written (so a duplicate key or a long number stays to be
/// refused later), `null` as nothing.
fn text_of(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
        text => text.to_owned(),
    }
}
