//! Every error of a command: whose fault it is, what was wrong, what to do next, and the exit code that follows.
//!
//! The one place where an error becomes text, or the object of `--json`. It decides nothing about what a command does.

use std::io;

use enclos_protocol::error::{ApiError, Fault, Place};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::layout::{Gutter, Row, exact, prose};
use crate::style::Role;
use crate::text;

/// Why a command could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// The exit code.
    pub exit: Exit,
    /// Whose fault it is.
    pub fault: Fault,
    /// What was wrong; empty for an end without words.
    pub message: String,
    /// What to do next, a line each.
    pub hints: Vec<String>,
    /// Where it is, as far as it is known.
    pub place: Box<Place>,
}

impl CommandError {
    /// An error whose exit code follows from its fault.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            exit: Exit::from(fault),
            fault,
            message: message.into(),
            hints: Vec::new(),
            place: Box::default(),
        }
    }

    /// A mistake on the command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Fault::Usage, message)
    }

    /// The same error with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same error with another exit code.
    #[must_use]
    pub fn exit(mut self, exit: Exit) -> Self {
        if self.exit != Exit::Pipe {
            self.exit = exit;
        }
        self
    }

    /// The same error at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        *self.place = place;
        self
    }

    /// A file that could not be used.
    pub fn file(doing: &str, path: &std::path::Path, error: &io::Error) -> Self {
        let name = path.display().to_string();
        Self::usage(text::file_failed(doing, &name, &error.to_string())).at(Place::line(name, 0))
    }

    /// The error as one object: `kind`, `message`, `hint` (lines, or `null`), `exit_code`, and `file`, `line`, `field`
    /// where they are known.
    pub fn object(&self) -> Value {
        let mut told = json!(self.place);
        if let Value::Object(told) = &mut told {
            let hint = (!self.hints.is_empty()).then(|| self.hints.join("\n"));
            told.insert("kind".to_owned(), json!(self.fault));
            told.insert("message".to_owned(), json!(self.message));
            told.insert("hint".to_owned(), json!(hint));
            told.insert("exit_code".to_owned(), json!(self.exit.code()));
        }
        json!({ "error": told })
    }

    /// The error as rows.
    pub fn rows(&self, width: usize) -> Vec<Row> {
        if self.message.is_empty() {
            return Vec::new();
        }
        let head = Row::of(Role::Bad, text::ERROR);
        let rest = Row::new().to(head.width());
        let mut rows = prose(&Gutter { first: head, rest }, Role::Plain, &self.message, width);
        for hint in &self.hints {
            let gutter =
                Gutter { first: Row::of(Role::Good, text::HINT), rest: Row::new().to(text::HINT.len()) };
            rows.extend(exact(&gutter, Role::Plain, hint, width));
        }
        rows
    }
}

impl From<ApiError> for CommandError {
    fn from(error: ApiError) -> Self {
        let ApiError { fault, message, hints, place } = error;
        Self { exit: Exit::from(fault), fault, message, hints, place }
    }
}

/// An error of the person's own terminal or pipe. Whoever read the output being gone is a quiet end.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { exit: Exit::Pipe, ..Self::new(Fault::Internal, "") };
        }
        Self::new(Fault::Internal, text::output_failed(&error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use enclos_protocol::error::{ApiError, Fault, Place};

    use super::CommandError;
    use crate::exit::Exit;
    use crate::style::Paint;

    #[test]
    fn an_error_says_what_to_do_next() {
        let error = CommandError::from(ApiError::new(Fault::Usage, "bad\u{1b}[2J thing").hint("try this"));
        let rows: Vec<_> = error.rows(80).iter().map(|row| row.render(Paint::PLAIN)).collect();
        assert_eq!(rows, [r"error: bad\x1b[2J thing", "hint: try this"]);
        assert_eq!(error.exit, Exit::Usage);
    }

    #[test]
    fn as_json_an_error_is_one_object_with_its_place() {
        let place = Place::line("p.toml", 3).with_field(Some("rules"));
        let error = ApiError::new(Fault::Configuration, "no").hint("a").hint("b").at(place);
        let told = serde_json::json!({"error": {
            "kind": "configuration", "message": "no", "hint": "a\nb", "exit_code": 2,
            "file": "p.toml", "line": 3, "field": "rules",
        }});
        assert_eq!(CommandError::from(error).object(), told);
        let plain = CommandError::new(Fault::Internal, "no").exit(Exit::OUR_FAILURE).object();
        let told = serde_json::json!({"kind": "internal", "message": "no", "hint": null, "exit_code": 125});
        assert_eq!(plain["error"], told);
    }

    #[test]
    fn a_closed_pipe_is_a_quiet_end() {
        let error = CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(error.rows(80).is_empty());
        assert_eq!(error.exit, Exit::Pipe);
        assert_eq!(error.exit(Exit::OUR_FAILURE).exit, Exit::Pipe);
    }
}
