//! One attempt: a request sent, its response read to the end.
//!
//! Decides nothing about another attempt. Every wait has a limit; what comes in is bounded before it is kept. The stream
//! belongs to the future that reads it, so dropping the future closes the connection.

use std::ops::Deref;
use std::time::Duration;

use enclos_core::model::{Answer, Request};
use reqwest::{RequestBuilder, Response, header};
use tokio::time::timeout;

use super::super::patience::{Patience, asked};
use super::super::{Delta, ToolMode};
use super::assemble::Assembler;
use super::failure::{Failure, Kind};
use super::sse::{Frame, Sse, Unreadable};
use super::wire::Chunk;

/// The most bytes of an error's body that are read.
const MAX_ERROR: usize = 64 * 1024;

/// Sends and reads. `request` gives the bounds of the answer.
pub(super) async fn attempt(
    sending: RequestBuilder,
    mode: ToolMode,
    request: &Request,
    patience: &Patience,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Answer, Failure> {
    let whole = async {
        let response = send(sending, patience).await?;
        let assembler = Assembler::new(mode, request);
        if has_type(&response, "text/html") {
            let reason =
                "it sent a page for people; expected the address of an API, which mostly ends in `/v1`";
            return Err(Failure::new(Kind::Malformed, reason));
        }
        if has_type(&response, "application/json") {
            read_whole(response, assembler, request.max_bytes, patience, on).await
        } else {
            read_stream(response, assembler, request.max_bytes, patience, on).await
        }
    };
    let late = |_| Failure::new(Kind::Cut, format!("the answer took more than {}", seconds(patience.whole)));
    timeout(patience.whole, whole).await.map_err(late)?
}

/// Sends, and gives back a response that begins an answer.
async fn send(sending: RequestBuilder, patience: &Patience) -> Result<Response, Failure> {
    let response = match timeout(patience.begin, sending.send()).await {
        Err(_) => {
            let reason = format!("no answer began within {}", seconds(patience.begin));
            return Err(Failure::new(Kind::OutOfOrder, reason));
        }
        Ok(Err(error)) => {
            let kind = if error.is_connect() { Kind::NoConnection } else { Kind::OutOfOrder };
            return Err(Failure::new(kind, causes(error)));
        }
        Ok(Ok(response)) => response,
    };
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.is_redirection() {
        let reason = "it sends elsewhere, and no redirection is followed: give the final address";
        return Err(Failure::new(Kind::Refused(status.as_u16()), reason));
    }
    let wish = asked(response.headers());
    let body = error_body(response, patience.idle).await;
    Err(Failure::of_status(status.as_u16(), &body, wish))
}

/// What can be read of an error's body.
async fn error_body(mut response: Response, idle: Duration) -> String {
    let mut body = Vec::new();
    while body.len() < MAX_ERROR {
        match timeout(idle, response.chunk()).await {
            Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
            _ => break,
        }
    }
    body.truncate(MAX_ERROR);
    String::from_utf8_lossy(&body).into_owned()
}

/// Whether the response says that it is of this type. JSON is a whole completion, although a stream was asked for.
fn has_type(response: &Response, wanted: &str) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with(wanted))
}

/// The most bytes of one event or of a whole completion: JSON may write one byte as six.
fn raw_limit(max_bytes: usize) -> usize {
    max_bytes.saturating_mul(8).saturating_add(64 * 1024)
}

/// Reads a whole completion.
async fn read_whole(
    mut response: Response,
    mut assembler: Assembler<'_>,
    max_bytes: usize,
    patience: &Patience,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Answer, Failure> {
    let mut body = Vec::new();
    while let Some(bytes) = next(&mut response, patience.idle).await? {
        if body.len() + bytes.len() > raw_limit(max_bytes) {
            return Err(unreadable(Unreadable::TooLarge, max_bytes));
        }
        body.extend_from_slice(&bytes);
    }
    let text = std::str::from_utf8(&body).map_err(|_| unreadable(Unreadable::NotUtf8, max_bytes))?;
    let chunk = Chunk::read(text).map_err(|error| malformed(&error))?;
    assembler.add(&chunk, on)?;
    assembler.done();
    assembler.finish(on)
}

/// Reads a stream of events.
async fn read_stream(
    mut response: Response,
    mut assembler: Assembler<'_>,
    max_bytes: usize,
    patience: &Patience,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<Answer, Failure> {
    let mut sse = Sse::new(raw_limit(max_bytes));
    let mut frames = Vec::new();
    loop {
        let complete = assembler.is_complete();
        let limit = if complete { patience.tail } else { patience.idle };
        let bytes = match next(&mut response, limit).await {
            Ok(bytes) => bytes,
            // A complete answer needs no tidy end of the connection.
            Err(_) if complete => break,
            Err(failure) => return Err(failure),
        };
        let fed = match &bytes {
            Some(bytes) => sse.feed(bytes, &mut frames),
            None => sse.end(&mut frames),
        };
        for frame in frames.drain(..) {
            if take(&frame, &mut assembler, bytes.is_none(), on)? {
                return assembler.finish(on);
            }
        }
        fed.map_err(|reason| unreadable(reason, max_bytes))?;
        if bytes.is_none() {
            break;
        }
    }
    assembler.finish(on)
}

/// Takes one event; true when it says that the answer is over. `last`: the stream is over, so that an event that cannot
/// be read was cut.
pub(super) fn take(
    frame: &Frame,
    assembler: &mut Assembler<'_>,
    last: bool,
    on: &mut (dyn FnMut(Delta) + Send),
) -> Result<bool, Failure> {
    match frame {
        Frame::Data(data) if data.trim() == "[DONE]" => {
            assembler.done();
            return Ok(true);
        }
        Frame::Data(data) => match Chunk::read(data) {
            Ok(chunk) => assembler.add(&chunk, on)?,
            Err(_) if last && assembler.is_complete() => {}
            Err(_) if last => {
                return Err(Failure::new(Kind::Cut, "the stream ended in the middle of an event"));
            }
            Err(error) => return Err(malformed(&error)),
        },
        Frame::Error(text) => {
            let value = serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into());
            let inner = serde_json::Value::get(&value, "error").cloned();
            return Err(Failure::of_object(&inner.unwrap_or(value)));
        }
    }
    Ok(false)
}

/// The next bytes; none at the end.
async fn next(
    response: &mut Response,
    limit: Duration,
) -> Result<Option<impl Deref<Target = [u8]> + use<>>, Failure> {
    match timeout(limit, response.chunk()).await {
        Err(_) => Err(Failure::new(Kind::Cut, format!("nothing came for {}", seconds(limit)))),
        Ok(Err(error)) => Err(Failure::new(Kind::Cut, causes(error))),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

fn malformed(error: &serde_json::Error) -> Failure {
    Failure::new(Kind::Malformed, format!("expected the JSON of a chat completion: {error}"))
}

fn unreadable(reason: Unreadable, limit: usize) -> Failure {
    match reason {
        Unreadable::TooLarge => {
            Failure::new(Kind::TooLarge { limit, unit: "bytes" }, "the answer is too large")
        }
        Unreadable::NotUtf8 => Failure::new(Kind::Malformed, "expected UTF-8"),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// An error and what caused it, without the address, which may hold a password.
pub(super) fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.ends_with(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
