//! Errors as a client receives them: whose fault it is, what was wrong, where, and what to do next.

use serde::{Deserialize, Serialize};

/// Whose fault an error is; the client derives its exit code from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The command line, or what it asks for at this moment. Exit 2.
    Usage,
    /// A file or a variable that the person wrote: configuration, policy, environment. Exit 2.
    Configuration,
    /// A name of nothing that there is: a session, an approval, a grant, a version. Exit 2.
    NotFound,
    /// The budget is spent. Exit 3.
    Budget,
    /// Refused by policy or a person. Exit 4.
    Refused,
    /// An approval is needed or expired. Exit 5.
    Approval,
    /// The gateway or the model cannot be reached. Exit 6.
    Unreachable,
    /// Anything else. Exit 1.
    Internal,
}

impl Fault {
    /// Every fault, in the order of their exit codes.
    pub const ALL: [Self; 8] = [
        Self::Internal,
        Self::Usage,
        Self::Configuration,
        Self::NotFound,
        Self::Budget,
        Self::Refused,
        Self::Approval,
        Self::Unreachable,
    ];

    /// Its word, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Configuration => "configuration",
            Self::NotFound => "not_found",
            Self::Budget => "budget",
            Self::Refused => "refused",
            Self::Approval => "approval",
            Self::Unreachable => "unreachable",
            Self::Internal => "internal",
        }
    }
}

/// Where a mistake is, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The key, the variable or the argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Place {
    /// A line of a file; 0 where the whole file is meant.
    pub fn line(file: impl Into<String>, line: usize) -> Self {
        let file = Some(file.into()).filter(|file| !file.is_empty());
        Self { file, line: u64::try_from(line).ok().filter(|line| *line > 0), field: None }
    }

    /// A key, a variable or an argument.
    pub fn field(name: impl Into<String>) -> Self {
        Self { field: Some(name.into()), ..Self::default() }
    }

    /// The same place with a key.
    #[must_use]
    pub fn with_field(mut self, name: Option<&str>) -> Self {
        self.field = name.map(str::to_owned);
        self
    }
}

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Whose fault it is.
    pub fault: Fault,
    /// What was wrong: the field, the value, what was expected.
    pub message: String,
    /// What to do next, a line each.
    pub hints: Vec<String>,
    /// Where it is.
    #[serde(default)]
    pub place: Box<Place>,
}

impl ApiError {
    /// An error without a hint.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), hints: Vec::new(), place: Box::default() }
    }

    /// The same error with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same error at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        *self.place = place;
        self
    }
}
