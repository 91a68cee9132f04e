//! The script model: recorded turns, for demonstrations and tests.
//!
//! A script is one JSON file, read and checked at the start; an unknown field is refused with its place. Each model call
//! plays the turn whose number is the count of model calls completed in the session, so a resumed session goes on where
//! it was; after the last turn comes an empty final message. It never touches the network.
//!
//! ```json
//! {"turns": [{"text": "…", "calls": [{"name": "bash", "arguments": {…} or "raw text"}], "chunks": 3, "delay_ms": 0}]}
//! ```
//! More that a turn may have: `"reasoning": "…"` · `"usage": {"input": 10, "output": 5}` · `"truncated": true` (the length
//! limit was reached) · `"finish"`: the reason to end, as a server gives it · `"error"`: one of `cut` (the stream breaks before its last chunk), `unreachable`, `too_long`,
//! `rate_limited`, `refused`, `malformed`, in place of the answer · `"times": N`: the error comes only the first N
//! times the turn is played in this process (else always).

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use enclos_core::model::{Answer, Cut, Proposed, Request, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Delta, ModelError};

/// The largest script, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The most pieces that a text is cut into, and the longest pause between two, in milliseconds.
const MAX_CHUNKS: usize = 100_000;
const MAX_DELAY_MS: u64 = 3_600_000;

/// A checked script.
#[derive(Debug)]
pub struct Script {
    name: String,
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    turns: Vec<Turn>,
}

/// A turn as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    text: String,
    #[serde(default)]
    reasoning: String,
    #[serde(default)]
    calls: Vec<WrittenCall>,
    #[serde(default = "one")]
    chunks: usize,
    #[serde(default)]
    delay_ms: u64,
    usage: Option<WrittenUsage>,
    #[serde(default)]
    truncated: bool,
    finish: Option<String>,
    error: Option<Failure>,
    times: Option<u32>,
}

/// A call as a model would send it.
#[derive(Deserialize)]
#[serde(try_from = "RawCall")]
struct WrittenCall(Proposed);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    arguments: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUsage {
    input: u64,
    output: u64,
}

/// What comes in place of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Failure {
    Cut,
    Unreachable,
    TooLong,
    RateLimited,
    Refused,
    Malformed,
}

/// A turn as it is played.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
struct Turn {
    answer: Answer,
    chunks: usize,
    delay: Duration,
    error: Option<Failure>,
    /// How often the error still comes.
    left: AtomicU32,
}

fn one() -> usize {
    1
}

impl Script {
    /// Reads and checks a script.
    ///
    /// Error: [`ModelError::Script`], with the place and the field.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let file = path.display().to_string();
        let text = read(path).map_err(|problem| ModelError::Script {
            file: file.clone(),
            line: 0,
            column: 0,
            problem,
        })?;
        Self::parse(&text, &file)
    }

    /// Checks the text of a script; `file` is its name for messages.
    ///
    /// Error: [`ModelError::Script`].
    pub fn parse(text: &str, file: &str) -> Result<Self, ModelError> {
        let read: File = serde_json::from_str(text).map_err(|error| ModelError::Script {
            file: file.to_owned(),
            line: error.line(),
            column: error.column(),
            problem: without_place(&error),
        })?;
        Ok(Self { name: format!("script:{file}"), turns: read.turns })
    }

    /// `script:FILE`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Plays the turn of `request.completed_calls`.
    ///
    /// Errors: those that the turn names, and [`ModelError::TooLarge`].
    pub async fn ask(
        &self,
        request: &Request,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        let number = usize::try_from(request.completed_calls).unwrap_or(usize::MAX);
        let Some(turn) = self.turns.get(number) else {
            return Ok(Answer::default());
        };
        let failure = turn.failure();
        if let Some(failure) = failure.filter(|&failure| failure != Failure::Cut) {
            tokio::time::sleep(turn.delay).await;
            return Err(failure.error(&self.name));
        }
        within_bounds(&turn.answer, request)?;
        let mut pieces = turn.pieces();
        if failure.is_some() {
            pieces.pop();
        }
        for piece in pieces {
            if !turn.delay.is_zero() {
                tokio::time::sleep(turn.delay).await;
            }
            on(piece);
        }
        failure.map_or_else(|| Ok(turn.answer.clone()), |failure| Err(failure.error(&self.name)))
    }
}

impl Turn {
    /// The failure of this playing of the turn.
    fn failure(&self) -> Option<Failure> {
        let fewer = |left: u32| if left == u32::MAX { Some(left) } else { left.checked_sub(1) };
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).ok().and(self.error)
    }

    /// The pieces of the answer, in order.
    fn pieces(&self) -> Vec<Delta> {
        let mut pieces = Vec::new();
        pieces.extend(cut(&self.answer.reasoning, self.chunks).map(Delta::Reasoning));
        pieces.extend(cut(&self.answer.text, self.chunks).map(Delta::Text));
        for (index, call) in self.answer.calls.iter().enumerate() {
            pieces.push(Delta::CallStarted { index, name: call.name.clone() });
            let argument = |fragment| Delta::CallArguments { index, fragment };
            pieces.extend(cut(&call.arguments, self.chunks).map(argument));
        }
        pieces
    }
}

impl Failure {
    fn error(self, file: &str) -> ModelError {
        let server = file.to_owned();
        let reason = "the script says so".to_owned();
        match self {
            Self::Cut => ModelError::Cut { server, reason },
            Self::Unreachable => ModelError::Unreachable { server, reason },
            Self::TooLong => ModelError::TooLong { reason },
            Self::RateLimited => ModelError::RateLimited { server, reason },
            Self::Refused => ModelError::Refused { server, status: 403, reason },
            Self::Malformed => ModelError::Malformed { server, reason },
        }
    }
}

/// Reads a file of at most [`MAX_FILE`] bytes.
fn read(path: &Path) -> Result<String, String> {
    use std::io::Read as _;
    let unreadable = |error: std::io::Error| format!("the file cannot be read: {error}");
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(unreadable)?;
    if u64::try_from(read).is_ok_and(|read| read <= MAX_FILE) {
        Ok(text)
    } else {
        Err(format!("the file is too large: expected at most {MAX_FILE} bytes"))
    }
}

/// serde's message without the place that it ends with, which is told apart.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

impl TryFrom<Written> for Turn {
    type Error = String;

    /// Checks what the types cannot.
    fn try_from(written: Written) -> Result<Self, String> {
        if !(1..=MAX_CHUNKS).contains(&written.chunks) {
            return Err(format!("`chunks` is {}: expected 1 to {MAX_CHUNKS}", written.chunks));
        }
        if written.delay_ms > MAX_DELAY_MS {
            return Err(format!("`delay_ms` is {}: expected at most {MAX_DELAY_MS}", written.delay_ms));
        }
        if written.times.is_some() && written.error.is_none() {
            return Err("`times` counts an error: expected `error` beside it".to_owned());
        }
        let answer = Answer {
            text: written.text,
            reasoning: written.reasoning,
            calls: written.calls.into_iter().map(|WrittenCall(call)| call).collect(),
            usage: written.usage.map(|usage| Usage { input: usage.input, output: usage.output }),
            cut: written
                .finish
                .as_deref()
                .and_then(Cut::of_reason)
                .or(written.truncated.then_some(Cut::Length)),
            malformed: None,
        };
        let left = AtomicU32::new(written.times.unwrap_or(u32::MAX));
        let delay = Duration::from_millis(written.delay_ms);
        Ok(Self { answer, chunks: written.chunks, delay, error: written.error, left })
    }
}

impl TryFrom<RawCall> for WrittenCall {
    type Error = String;

    /// Takes an object as it is written, a text as it reads.
    fn try_from(call: RawCall) -> Result<Self, String> {
        let written = call.arguments.get();
        let arguments = match written.as_bytes().first() {
            Some(b'{') => written.to_owned(),
            Some(b'"') => serde_json::from_str(written).map_err(|error| without_place(&error))?,
            _ => return Err(format!("`arguments` of `{}`: expected an object or a text", call.name)),
        };
        Ok(Self(Proposed { id: None, name: call.name, arguments }))
    }
}

/// The bounds of one answer hold here too.
fn within_bounds(answer: &Answer, request: &Request) -> Result<(), ModelError> {
    let calls: usize = answer.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
    if answer.calls.len() > request.max_calls {
        Err(ModelError::TooLarge { limit: request.max_calls, unit: "calls" })
    } else if answer.text.len() + answer.reasoning.len() + calls > request.max_bytes {
        Err(ModelError::TooLarge { limit: request.max_bytes, unit: "bytes" })
    } else {
        Ok(())
    }
}

/// Cuts a text into at most `chunks` pieces of about the same number of characters; an empty text has none.
fn cut(text: &str, chunks: usize) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(chunks.max(1)).max(1);
    let pieces: Vec<String> = characters.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
