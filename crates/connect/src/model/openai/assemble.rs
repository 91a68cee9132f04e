//! One answer, put together from the chunks of a stream.
//!
//! Decides when an answer is complete (the server gave a reason to end, or said `[DONE]`, after at least one choice), holds
//! it to the bounds of the request, and gives it its final form. Whether the turn goes on hangs on the presence of calls,
//! never on the server's reason; whether they may run hangs on it, for a reason may say that the answer was cut or
//! filtered. An answer that is not complete never comes out.

use enclos_core::model::{Answer, Cut, Request, ToolSpec, Usage};

use super::super::{Delta, ToolMode};
use super::calls::Calls;
use super::failure::{Failure, Kind};
use super::json_mode::{self, Form};
use super::preview::Preview;
use super::prose;
use super::think::{self, Said, Think};
use super::wire::{Chunk, Piece};

/// An answer in the making.
#[derive(Debug)]
pub(super) struct Assembler<'a> {
    tools: &'a [ToolSpec],
    max_calls: usize,
    max_bytes: usize,
    bytes: usize,
    text: String,
    reasoning: String,
    think: Think,
    preview: Option<Preview>,
    calls: Calls,
    usage: Option<Usage>,
    begun: bool,
    finish: Option<String>,
    done: bool,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(mode: ToolMode, request: &'a Request) -> Self {
        Self {
            tools: &request.tools,
            max_calls: request.max_calls,
            max_bytes: request.max_bytes,
            bytes: 0,
            text: String::new(),
            reasoning: String::new(),
            think: Think::default(),
            preview: (mode == ToolMode::JsonSchema).then(Preview::default),
            calls: Calls::default(),
            usage: None,
            begun: false,
            finish: None,
            done: false,
        }
    }

    /// Takes the next chunk.
    pub(super) fn add(&mut self, chunk: &Chunk, on: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        if let Some(error) = chunk.error() {
            return Err(Failure::of_object(&error));
        }
        self.usage = chunk.usage().or(self.usage);
        let Some(choice) = chunk.choice() else {
            return Ok(());
        };
        self.begun = true;
        if let Some(piece) = choice.piece() {
            self.piece(piece, on)?;
        }
        if let Some(reason) = choice.finish() {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    /// The server said `[DONE]`, or all that it sends has come.
    pub(super) fn done(&mut self) {
        self.done = true;
    }

    /// Whether the answer is complete; more may follow, but no more words or calls are needed.
    pub(super) fn is_complete(&self) -> bool {
        self.begun && (self.done || self.finish.is_some())
    }

    fn piece(&mut self, piece: &Piece, on: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let (reasoning, text) = (piece.reasoning(), piece.text());
        self.weigh(reasoning.len() + text.len())?;
        self.say(Said::Thought(reasoning), on);
        for said in self.think.add(&text) {
            self.say(said, on);
        }
        for fragment in piece.fragments() {
            let words = [&fragment.id, &fragment.name].into_iter().flatten().map(String::len).sum::<usize>();
            self.weigh(words + fragment.arguments.len())?;
            self.calls.add(fragment, on);
            if self.calls.len() > self.max_calls {
                return Err(too_large(self.max_calls, "calls"));
            }
        }
        Ok(())
    }

    /// Holds the answer to its bound in bytes.
    fn weigh(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes { Err(too_large(self.max_bytes, "bytes")) } else { Ok(()) }
    }

    fn say(&mut self, said: Said, on: &mut dyn FnMut(Delta)) {
        match said {
            Said::Text(text) | Said::Thought(text) if text.is_empty() => {}
            Said::Thought(text) => {
                self.reasoning.push_str(&text);
                on(Delta::Reasoning(text));
            }
            Said::Text(text) => {
                self.text.push_str(&text);
                match &mut self.preview {
                    Some(preview) => preview.add(&text, on),
                    None => on(Delta::Text(text)),
                }
            }
        }
    }

    /// The stream is over: the complete answer, or how it was cut.
    pub(super) fn finish(mut self, on: &mut dyn FnMut(Delta)) -> Result<Answer, Failure> {
        if !self.is_complete() {
            let reason = if self.begun {
                "the stream ended in the middle"
            } else {
                "the stream ended before the answer began"
            };
            return Err(Failure::new(Kind::Cut, reason));
        }
        if let Some(said) = self.think.end() {
            self.say(said, on);
        }
        let parted = think::unopened(&self.text).map(|(thought, text)| (thought.to_owned(), text.to_owned()));
        if let Some((thought, text)) = parted {
            self.reasoning.push_str(&thought);
            self.text = text;
        }
        let cut = self.finish.as_deref().and_then(Cut::of_reason);
        let mut answer = Answer {
            text: self.text,
            reasoning: self.reasoning,
            calls: self.calls.finish(),
            usage: self.usage,
            cut,
            malformed: None,
        };
        match self.preview {
            Some(mut preview) => {
                preview.end(on);
                in_form(&mut answer);
            }
            None => answer.malformed = native_fault(&answer, self.finish.as_deref(), self.tools),
        }
        Ok(answer)
    }
}

/// What is wrong with an answer of the native mode that holds no call.
fn native_fault(answer: &Answer, finish: Option<&str>, tools: &[ToolSpec]) -> Option<String> {
    let announced = matches!(finish, Some("tool_calls" | "function_call" | "tool_use"));
    match answer.calls.is_empty() {
        true if announced => Some(
            "the answer announced a tool call but held none, so nothing was run: make it again".to_owned(),
        ),
        true if prose::holds_call(&answer.text, tools) => Some(prose::ADVICE.to_owned()),
        _ => None,
    }
}

/// Gives an answer of the `json_schema` mode its meaning: one call, the final words, or what is wrong with it.
fn in_form(answer: &mut Answer) {
    let written = std::mem::take(&mut answer.text);
    let form = if let Some(cut) = &answer.cut {
        Err(cut.told())
    } else if answer.calls.is_empty() {
        json_mode::read(&written)
    } else {
        Err("the answer must be one JSON object, not a tool call beside it; nothing was run".to_owned())
    };
    answer.calls.clear();
    match form {
        Ok(Form::Call(call)) => answer.calls.push(call),
        Ok(Form::Final(text)) => answer.text = text,
        Err(reason) => {
            answer.text = written;
            answer.malformed = Some(reason);
        }
    }
}

fn too_large(limit: usize, unit: &'static str) -> Failure {
    Failure::new(Kind::TooLarge { limit, unit }, "the answer is too large")
}
