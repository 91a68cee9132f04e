//! What went wrong with one attempt, and whether another may mend it.
//!
//! Sorts statuses and error objects into the classes of [`ModelError`]. A server's words are kept short and on one line,
//! and never hold a key: the caller scrubs them.

use std::time::Duration;

use serde_json::Value;

use super::super::ModelError;

/// The most characters of a server's words that are kept.
const MAX_REASON: usize = 400;

/// How servers say that the request passes the model's window, in lower case.
const TOO_LONG: [&str; 12] = [
    "context_length_exceeded",
    "maximum context length",
    "exceed_context_size",
    "exceeds the available context size",
    "context size has been exceeded",
    "context window",
    "context length",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "max_model_len",
    "reduce the length of the",
];

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    pub(super) reason: String,
    /// The wait that the server asks for.
    pub(super) asked: Option<Duration>,
}

/// The classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No connection could be made.
    NoConnection,
    /// A connection, but no answer: it broke, took too long, or the status was 408 or 5xx.
    OutOfOrder,
    TooLong,
    RateLimited,
    Refused(u16),
    /// An error of the server's own, inside an answer.
    Failed,
    Cut,
    Malformed,
    TooLarge {
        limit: usize,
        unit: &'static str,
    },
}

impl Failure {
    pub(super) fn new(kind: Kind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), asked: None }
    }

    /// The failure that a status and the body with it report.
    pub(super) fn of_status(status: u16, body: &str, asked: Option<Duration>) -> Self {
        let value: Value = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        let words = words(&value);
        let kind = match status {
            413 => Kind::TooLong,
            429 => Kind::RateLimited,
            408 | 425 | 500.. => Kind::OutOfOrder,
            _ => Kind::Refused(status),
        };
        let kind = if !matches!(status, 401 | 403 | 429) && is_too_long(body) { Kind::TooLong } else { kind };
        let reason = match (words.is_empty(), kind) {
            (true, _) => format!("it answered {status}"),
            (false, Kind::Refused(_)) => words,
            (false, _) => format!("it answered {status}: {words}"),
        };
        Self { kind, reason, asked }
    }

    /// The failure that an error object inside an answer reports.
    pub(super) fn of_object(error: &Value) -> Self {
        let text = error.to_string();
        let code = error.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let kind = match code.and_then(|code| u16::try_from(code).ok()) {
            _ if is_too_long(&text) => Kind::TooLong,
            Some(429) => Kind::RateLimited,
            _ if text.contains("rate_limit") => Kind::RateLimited,
            Some(code @ (400..=407 | 409..=424 | 426..=499)) => Kind::Refused(code),
            _ => Kind::Failed,
        };
        let words = words(error);
        Self::new(kind, if words.is_empty() { clean(&text) } else { words })
    }

    /// Whether the same request may succeed later.
    pub(super) fn may_pass(&self) -> bool {
        match self.kind {
            Kind::NoConnection | Kind::OutOfOrder | Kind::RateLimited | Kind::Failed | Kind::Cut => true,
            Kind::TooLong | Kind::Refused(_) | Kind::Malformed | Kind::TooLarge { .. } => false,
        }
    }

    /// The error for the session, after `attempts` attempts.
    pub(super) fn into_error(self, server: String, attempts: u32) -> ModelError {
        let times = if attempts > 1 { format!(" (asked {attempts} times)") } else { String::new() };
        let wish = self.asked.map(|asked| format!("; it asks to wait {} s", asked.as_secs()));
        let reason = format!("{}{times}{}", self.reason, wish.unwrap_or_default());
        match self.kind {
            Kind::NoConnection | Kind::OutOfOrder => ModelError::Unreachable { server, reason },
            Kind::TooLong => ModelError::TooLong { reason },
            Kind::RateLimited => ModelError::RateLimited { server, reason },
            Kind::Refused(status) => ModelError::Refused { server, status, reason },
            Kind::Failed => ModelError::Failed { server, reason },
            Kind::Cut => ModelError::Cut { server, reason },
            Kind::Malformed => ModelError::Malformed { server, reason },
            Kind::TooLarge { limit, unit } => ModelError::TooLarge { limit, unit },
        }
    }
}

fn is_too_long(text: &str) -> bool {
    let text = text.to_lowercase();
    TOO_LONG.iter().any(|sign| text.contains(sign))
}

/// The words of an error, wherever a server puts them.
fn words(value: &Value) -> String {
    let found = match value {
        Value::String(text) => Some(text.as_str()),
        Value::Object(_) => {
            ["error", "message", "detail", "msg"].iter().find_map(|key| match value.get(key)? {
                Value::String(text) => Some(text.as_str()),
                inner @ Value::Object(_) => inner.get("message")?.as_str(),
                _ => None,
            })
        }
        _ => None,
    };
    clean(found.unwrap_or_default())
}

/// One short line without control characters.
pub(super) fn clean(text: &str) -> String {
    let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut short = String::new();
    for word in line {
        if !short.is_empty() {
            short.push(' ');
        }
        short.extend(word.chars().take(MAX_REASON));
        if short.chars().count() > MAX_REASON {
            short = short.chars().take(MAX_REASON).collect::<String>() + "…";
            break;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(status: u16, body: &str) -> Kind {
        Failure::of_status(status, body, None).kind
    }

    #[test]
    fn statuses() {
        assert_eq!(kind(401, ""), Kind::Refused(401));
        assert_eq!(kind(404, "no such model"), Kind::Refused(404));
        assert_eq!(kind(302, ""), Kind::Refused(302));
        assert_eq!(kind(408, ""), Kind::OutOfOrder);
        assert_eq!(kind(429, "too many tokens per minute"), Kind::RateLimited);
        assert_eq!(kind(500, "oops"), Kind::OutOfOrder);
        assert_eq!(kind(503, r#"{"error":{"code":503,"message":"Loading model"}}"#), Kind::OutOfOrder);
        assert_eq!(kind(413, ""), Kind::TooLong);
    }

    #[test]
    fn too_long_as_servers_say_it() {
        for (status, body) in [
            (400, r#"{"error":{"code":"context_length_exceeded","message":"…"}}"#),
            (400, r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#),
            (
                400,
                r#"{"error":{"type":"exceed_context_size_error","message":"request (9000) exceeds the available context size"}}"#,
            ),
            (500, r#"{"error":"the prompt is too long"}"#),
        ] {
            assert_eq!(kind(status, body), Kind::TooLong, "{body}");
        }
    }

    #[test]
    fn error_objects_inside_an_answer() {
        let kind = |error: Value| Failure::of_object(&error).kind;
        assert_eq!(kind(json!({"message": "Internal", "code": 500})), Kind::Failed);
        assert_eq!(kind(json!("boom")), Kind::Failed);
        assert_eq!(kind(json!({"code": "429"})), Kind::RateLimited);
        assert_eq!(kind(json!({"type": "rate_limit_error"})), Kind::RateLimited);
        assert_eq!(kind(json!({"code": 403, "message": "no"})), Kind::Refused(403));
        assert_eq!(kind(json!({"message": "context length exceeded"})), Kind::TooLong);
        assert_eq!(Failure::of_object(&json!({"code": 1})).reason, r#"{"code":1}"#);
    }

    #[test]
    fn a_servers_words_are_one_short_line() {
        let body = r#"{"error":{"message":"bad\n\u001b[31m  thing"}}"#;
        assert_eq!(Failure::of_status(400, body, None).reason, "bad [31m thing");
        let long = "é".repeat(10_000);
        assert_eq!(clean(&long).chars().count(), MAX_REASON);
        assert_eq!(clean(&"word ".repeat(500)).chars().count(), MAX_REASON + 1);
    }
}
