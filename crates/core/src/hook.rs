//! The eight points at which a session stops to be judged, what is said there, and what an answer may do.
//!
//! An organisation's own hook is a destination with a clearance: it is told what is judged, and the content itself only if
//! what the session knows may flow to it. Its answer can harden a verdict and nothing else: [`Ruling::and`] takes the
//! stricter, and whatever is not an answer blocks. Nothing here runs a hook, and nothing here lowers a verdict.

use serde::{Deserialize, Serialize};

use crate::flow::{Destination, Flow, flow};
use crate::ids::RuleId;
use crate::label::{Label, Level};
use crate::verdict::Verdict;

/// A point at which a session is judged, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Hook {
    /// Before a text enters what the model is sent.
    PreContextInjection,
    /// Before a call runs, or a person is asked about it.
    PreToolCall,
    /// After a call has a result, before the model is given it.
    PostToolResponse,
    /// Before a text is shown or sent outside.
    PreOutput,
    /// Before a secret is read.
    SecretAccess,
    /// Before a session is erased.
    SessionReset,
    /// Before another agent is started.
    AgentInvocation,
    /// Before a tool of an MCP server is called.
    McpToolCall,
}

impl Hook {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::PreContextInjection,
        Self::PreToolCall,
        Self::PostToolResponse,
        Self::PreOutput,
        Self::SecretAccess,
        Self::SessionReset,
        Self::AgentInvocation,
        Self::McpToolCall,
    ];

    /// The word of this hook in policy files, entries of the journal and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreContextInjection => "PRE_CONTEXT_INJECTION",
            Self::PreToolCall => "PRE_TOOL_CALL",
            Self::PostToolResponse => "POST_TOOL_RESPONSE",
            Self::PreOutput => "PRE_OUTPUT",
            Self::SecretAccess => "SECRET_ACCESS",
            Self::SessionReset => "SESSION_RESET",
            Self::AgentInvocation => "AGENT_INVOCATION",
            Self::McpToolCall => "MCP_TOOL_CALL",
        }
    }
}

impl std::fmt::Display for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is judged: facts that every hook is told, and a content that only a cleared one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    /// Where the session stands.
    pub hook: Hook,
    /// The session.
    pub session: &'a str,
    /// What the session knows, the content included.
    pub label: Label,
    /// The tool that is called, where one is.
    pub tool: Option<&'a str>,
    /// A digest of the content. The caller makes it such that a short content cannot be guessed from it.
    pub digest: &'a str,
    /// What is judged.
    pub content: &'a str,
}

/// One message to a hook, as it is written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message<'a> {
    hook: Hook,
    session: &'a str,
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    digest: &'a str,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

impl<'a> Message<'a> {
    /// What that hook is told of this subject. No consent covers a hook: above its clearance it gets no content.
    pub fn to(hook: &RuleId, clearance: Level, subject: &Subject<'a>) -> Self {
        let destination = Destination::new(format!("hook:{hook}"), clearance);
        let cleared = flow(subject.label, &destination, &[]) == Flow::Pass;
        Self {
            hook: subject.hook,
            session: subject.session,
            level: subject.label.level(),
            tool: subject.tool,
            digest: subject.digest,
            bytes: subject.content.len(),
            content: cleared.then_some(subject.content),
        }
    }
}

/// Bytes of an answer that are read. A longer one is none.
pub const MOST_ANSWER: usize = 16 * 1024;

/// What a hook says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has nothing against it. That changes nothing.
    Allow,
    /// A person is to be asked at least.
    Ask(String),
    /// It does not happen.
    Block(String),
}

/// An answer as a hook writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    answer: String,
    #[serde(default)]
    reason: String,
}

impl Answer {
    /// Reads what a hook wrote: one JSON object with `answer` and at most `reason`. Anything else blocks.
    pub fn read(bytes: &[u8]) -> Self {
        if bytes.len() > MOST_ANSWER {
            return Failure::TooLong.into();
        }
        // A sequence would be taken for the struct's fields in order; only an object is an answer.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Failure::NoAnswer.into();
        }
        let Ok(Written { answer, reason }) = serde_json::from_slice(bytes) else {
            return Failure::NoAnswer.into();
        };
        match answer.as_str() {
            "allow" => Self::Allow,
            "ask" => Self::Ask(reason),
            "block" => Self::Block(reason),
            _ => Failure::NoAnswer.into(),
        }
    }

    /// The word of this answer in the journal.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask(_) => "ask",
            Self::Block(_) => "block",
        }
    }

    /// The least verdict that this answer leaves.
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask(_) => Verdict::Ask,
            Self::Block(_) => Verdict::Disabled,
        }
    }

    /// Why, where the hook said so. It is for a person and never for the model.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allow => None,
            Self::Ask(reason) | Self::Block(reason) => Some(reason),
        }
    }
}

/// Why a hook gave no answer. Each of them blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It could not be started or reached.
    #[error("the hook could not be run")]
    NotRun,
    /// It ended with an error.
    #[error("the hook ended with an error")]
    Ended,
    /// It did not answer in time.
    #[error("the hook did not answer in time")]
    TimedOut,
    /// It wrote more than is read.
    #[error("the hook wrote more than {MOST_ANSWER} bytes")]
    TooLong,
    /// What it wrote is no answer.
    #[error("what the hook wrote is no answer: expected an object with `answer` and at most `reason`")]
    NoAnswer,
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::Block(failure.to_string())
    }
}

/// A verdict, and the hook that made it as hard as it is, if one did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    verdict: Verdict,
    by: Option<(RuleId, String)>,
}

impl Ruling {
    /// What is ruled before any hook of an organisation was asked.
    pub const fn of(verdict: Verdict) -> Self {
        Self { verdict, by: None }
    }

    /// The stricter of what was ruled and what this hook says. Of two that are as strict the first is named.
    #[must_use]
    pub fn and(self, hook: &RuleId, answer: &Answer) -> Self {
        let verdict = self.verdict.and(answer.verdict());
        if verdict == self.verdict {
            return self;
        }
        Self { verdict, by: Some((hook.clone(), answer.reason().unwrap_or_default().to_owned())) }
    }

    /// The verdict as it stands.
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The hook that hardened it to what it is, and its reason.
    pub fn hardened_by(&self) -> Option<(&RuleId, &str)> {
        self.by.as_ref().map(|(hook, reason)| (hook, reason.as_str()))
    }
}

/// What is ruled once all these answers are in: the strictest of them and of the verdict itself.
pub fn combine<'a>(verdict: Verdict, answers: impl IntoIterator<Item = (&'a RuleId, &'a Answer)>) -> Ruling {
    answers.into_iter().fold(Ruling::of(verdict), |ruling, (hook, answer)| ruling.and(hook, answer))
}

#[cfg(test)]
mod tests;
