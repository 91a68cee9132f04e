//! What is said to a model and what it answers: plain data, shared by the session's history and the connectors.
//!
//! Nothing here decides anything. The text of a proposed call is kept exactly as the model sent it; it is parsed once,
//! later, by the tool-call machine. These types never hold a key.

use serde::{Deserialize, Serialize};

/// A tool as it is shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that the model calls it by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub schema: serde_json::Value,
}

/// One message of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the person, or the session on its own behalf, says.
    User {
        /// The words.
        text: String,
    },
    /// What the model said.
    Assistant {
        /// Its words; may be empty.
        text: String,
        /// The calls it proposed, in order.
        calls: Vec<PastCall>,
    },
    /// What became of one call.
    Result {
        /// The [`PastCall::id`] that it answers.
        call: String,
        /// The result, or the error, as the model sees it.
        text: String,
    },
}

/// A call of an earlier answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastCall {
    /// The server's identifier, or one made by [`mint_id`] when it gave none. Unique in the history.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them; possibly not JSON.
    pub arguments: String,
}

/// A call that a model proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposed {
    /// The server's identifier; none when it sent none, or one already used in this answer.
    pub id: Option<String>,
    /// The tool's name; empty when the server sent arguments without a name.
    pub name: String,
    /// The arguments: raw text, whole, exactly as the model sent it, never repaired.
    pub arguments: String,
}

/// Tokens of one answer, as the server counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

/// One complete answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The words for the person.
    pub text: String,
    /// What the model thought aloud. Shown, never replayed to the model, never journaled.
    pub reasoning: String,
    /// The calls, in order. Their presence alone says that the turn goes on.
    pub calls: Vec<Proposed>,
    /// Tokens, when the server told.
    pub usage: Option<Usage>,
    /// Why the answer is not whole although it ended. Nothing runs from it.
    pub cut: Option<Cut>,
    /// The answer does not have the form it must have, and why: words for the model, which may try again.
    /// There is no call in such an answer.
    pub malformed: Option<String>,
}

/// Why an answer that ended is not whole: its calls may be cut or filtered, so none of them runs, also where they parse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It reached its length limit.
    Length,
    /// A filter of the server took something out or stopped it.
    Filter,
    /// The server ended it for a reason that does not say that it is whole.
    Other(String),
}

/// Reasons to end that say that an answer is whole, folded to lower case and `_`. `other` is what gateways that translate
/// between servers say of an ordinary end for which they have no word.
const WHOLE: [&str; 13] = [
    "stop",
    "tool_calls",
    "tool_call",
    "function_call",
    "tool_use",
    "end_turn",
    "stop_sequence",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "done",
    "other",
];

/// Characters of a reason that are kept.
const MOST_REASON: usize = 40;

impl Cut {
    /// What a server's reason to end says. A word that is not known to say that the answer is whole says that it is not.
    pub fn of_reason(reason: &str) -> Option<Self> {
        let word = reason.trim().to_ascii_lowercase().replace('-', "_");
        match word.as_str() {
            word if WHOLE.contains(&word) => None,
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            | "model_context_window_exceeded" => Some(Self::Length),
            "content_filter" | "safety" | "sensitive" | "refusal" => Some(Self::Filter),
            word => Some(Self::Other(word.chars().take(MOST_REASON).collect())),
        }
    }

    /// What the model is told of each call of such an answer.
    pub fn told(&self) -> String {
        let why = match self {
            Self::Length => "was cut at the model's length limit".to_owned(),
            Self::Filter => "was stopped by the server's content filter".to_owned(),
            Self::Other(reason) => {
                format!("ended for the reason `{reason}`, which does not say that it was complete")
            }
        };
        format!("the answer {why}, so none of its calls ran: make it again, shorter or in smaller steps")
    }
}

/// What is asked of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The system message.
    pub instructions: String,
    /// The history, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may propose.
    pub tools: Vec<ToolSpec>,
    /// Model calls completed in the session so far: the position of a script model.
    pub completed_calls: u64,
    /// The most calls that one answer may hold.
    pub max_calls: usize,
    /// The most bytes that one answer may hold: words, reasoning, names and arguments together.
    pub max_bytes: usize,
}

/// The most calls of one answer.
pub const MAX_CALLS: usize = 64;

/// The most bytes of one answer.
pub const MAX_BYTES: usize = 1024 * 1024;

/// An identifier for the `number`-th call of a session, for servers that gave none.
///
/// Nine letters and digits (more from the hundred-millionth on): the one form that every server takes back, since
/// Mistral's chat templates refuse any other.
pub fn mint_id(number: u64) -> String {
    format!("c{number:08}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_id_is_nine_letters_and_digits() {
        assert_eq!(mint_id(7), "c00000007");
        assert!(mint_id(99_999_999).bytes().all(|b| b.is_ascii_alphanumeric()));
        assert_eq!(mint_id(99_999_999).len(), 9);
    }

    #[test]
    fn only_a_reason_that_is_known_to_say_so_makes_an_answer_whole() {
        for whole in WHOLE.into_iter().chain(["STOP", " end_turn ", "tool-calls"]) {
            assert_eq!(Cut::of_reason(whole), None, "{whole}");
        }
        for (reason, cut) in [
            ("length", Cut::Length),
            ("max_tokens", Cut::Length),
            ("MAX_TOKENS", Cut::Length),
            ("model_length", Cut::Length),
            ("content_filter", Cut::Filter),
            ("SAFETY", Cut::Filter),
            ("content-filter", Cut::Filter),
            ("error", Cut::Other("error".into())),
            ("malformed_function_call", Cut::Other("malformed_function_call".into())),
        ] {
            assert!(cut.told().contains("none of its calls ran"));
            assert_eq!(Cut::of_reason(reason), Some(cut), "{reason}");
        }
    }

    #[test]
    fn messages_keep_their_shape_at_rest() {
        let message = Message::Result { call: "c1".into(), text: "ok".into() };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(text, r#"{"role":"result","call":"c1","text":"ok"}"#);
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}
