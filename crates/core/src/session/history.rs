//! What the model is sent: messages, in order, and their compaction.
//!
//! Every call in an assistant's message has its result in the history before the next message follows.

use std::sync::Arc;

use super::event::Answer;
use crate::call::Call;
use crate::ids::{CallId, UserId};
use crate::model::{Message, PastCall};

/// Turns that a compaction keeps as they are.
const KEPT_TURNS: usize = 4;

/// What the model is told when the session goes on in a new sandbox.
const RESTARTED: &str = "[Enclos] The session was interrupted and taken up again in a new sandbox. The files in \
                         /workspace are as they were; processes and /tmp are gone.";

/// What the model is told before the result of a call that a person changed.
const EDITED: &str = "[Enclos] A person changed the arguments of this call. It was judged with these: ";

/// The history of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    messages: Vec<Arc<Message>>,
    /// The names that the model's server gave to the calls of the open turn.
    names: Vec<(CallId, String)>,
    /// What the model is to be told as soon as the open calls are resolved, or before the next message.
    untold: Vec<String>,
}

impl History {
    /// The messages.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    fn push(&mut self, message: Message) {
        self.messages.push(Arc::new(message));
    }

    pub(super) fn said(&mut self, text: &str) {
        self.tell();
        self.push(Message::User { text: text.to_owned() });
    }

    /// Tells the model something when it can next be told.
    pub(super) fn note_later(&mut self, text: String) {
        self.untold.push(text);
    }

    fn tell(&mut self) {
        for text in std::mem::take(&mut self.untold) {
            self.push(Message::User { text });
        }
    }

    pub(super) fn answered(&mut self, answer: &Answer) {
        let name =
            |call: &super::Proposal| call.server_id.clone().unwrap_or_else(|| call.call.as_str().to_owned());
        self.names = answer.calls.iter().map(|call| (call.call.clone(), name(call))).collect();
        let calls = answer.calls.iter().map(|call| PastCall {
            id: name(call),
            name: call.tool.clone(),
            arguments: call.arguments.clone(),
        });
        self.push(Message::Assistant { text: answer.text.clone(), calls: calls.collect() });
        if let Some(correction) = &answer.correction {
            self.push(Message::User { text: correction.clone() });
        }
    }

    /// Takes the results of a turn. `edits`: the calls whose arguments a person changed before they were answered.
    pub(super) fn resolved(&mut self, calls: &[Call], edits: &[(CallId, UserId)]) {
        for call in calls {
            let name = self.names.iter().find(|(id, _)| id == call.id()).map(|(_, name)| name.clone());
            let id = name.unwrap_or_else(|| call.id().as_str().to_owned());
            let mut text = call.told().unwrap_or_default();
            if edits.iter().any(|(edited, _)| edited == call.id()) {
                text = format!("{EDITED}{}\n\n{text}", call.arguments());
            }
            self.push(Message::Result { call: id, text });
        }
        self.names.clear();
        self.tell();
    }

    /// Tells the model that it works in a new sandbox. `gone`: the background commands that were at work.
    pub(super) fn note_restored(&mut self, between_turns: bool, gone: &[String]) {
        if gone.is_empty() {
            if !self.untold.iter().any(|untold| untold.starts_with(RESTARTED)) {
                self.note_later(RESTARTED.to_owned());
            }
        } else {
            let names = gone.join("`, `");
            self.note_later(format!("{RESTARTED} Of the background commands these were at work: `{names}`."));
        }
        if between_turns {
            self.tell();
        }
    }

    /// Tells the model where an undo led. `last`: the last call that was undone; `None` when the undo went to another
    /// branch of the work.
    pub(super) fn note_undone(&mut self, to: &str, last: Option<&str>) {
        let which = match last {
            Some(last) if last == to => format!("what was done by {to}"),
            Some(last) => format!("what was done from {to} to {last}"),
            None => "what was done last".to_owned(),
        };
        self.said(&format!(
            "[Enclos] The person undid {which}. The files in /workspace are again as they were just before {to}."
        ));
    }

    /// Index of the first message that a compaction keeps: the last `KEPT_TURNS` answers of the model and what
    /// follows them. `None` when there is nothing between the task and them.
    pub fn compaction_point(&self) -> Option<usize> {
        let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
        let answers = self.messages.iter().enumerate().filter(|(_, message)| is_answer(message));
        let starts: Vec<usize> = answers.map(|(index, _)| index).collect();
        let keep = starts.len().checked_sub(KEPT_TURNS).and_then(|at| starts.get(at).copied());
        let keep = keep.or_else(|| starts.last().copied())?;
        (keep > 2).then_some(keep)
    }

    pub(super) fn compact(&mut self, summary: &str, from: usize) {
        let from = from.clamp(1.min(self.messages.len()), self.messages.len());
        let tail = self.messages.split_off(from);
        self.messages.truncate(1);
        self.push(Message::User { text: summary.to_owned() });
        self.messages.extend(tail);
    }

    /// An estimate of its tokens, from below: a third of its bytes.
    pub fn tokens(&self) -> u64 {
        let of_call = |call: &PastCall| call.name.len() + call.arguments.len() + 16;
        let bytes: usize = self
            .messages
            .iter()
            .map(|message| match message.as_ref() {
                Message::User { text } | Message::Result { text, .. } => text.len() + 16,
                Message::Assistant { text, calls } => {
                    text.len() + calls.iter().map(of_call).sum::<usize>() + 16
                }
            })
            .sum();
        u64::try_from(bytes / 3).unwrap_or(u64::MAX)
    }
}
