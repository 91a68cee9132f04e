//! Compaction: when the history nears the model's window it is summarised. No call changes state by it.

use enclos_core::model::{self, Message, Request};
use enclos_core::policy::Surface;
use enclos_core::session::Event;
use enclos_protocol::event::{Body, Speaker};
use serde_json::json;

use super::entry::facts;
use super::record::Facts;
use super::{Exit, Finish, Flow, Halt, Live};

/// Tokens of a window that nobody tells.
const WINDOW: u64 = 32_768;

/// Below this many tokens the window is not even asked for.
const SMALL: u64 = 8_000;

const SUMMARISE: &str = "Summarise the work so far for yourself, to go on with it later: the task, what was found, \
                         what was changed and where, what was refused and by whom, what is still to be done. \
                         Be exact about paths and names. Answer with the summary alone.";

impl Live {
    /// Whether the history has reached three quarters of the window.
    pub(super) async fn must_compact(&mut self) -> bool {
        if self.window.just_compacted || self.state.history().compaction_point().is_none() {
            return false;
        }
        let tokens = self.tokens_now();
        if tokens < SMALL {
            return false;
        }
        let window = match self.window.tokens {
            Some(window) => window,
            None => self.model.context_tokens().await.unwrap_or(WINDOW),
        };
        self.window.tokens = Some(window);
        tokens >= window / 4 * 3
    }

    /// Tokens of the next request: by the server's last count and what came since, else by our estimate.
    fn tokens_now(&self) -> u64 {
        let history = self.state.history().tokens();
        match self.window.last {
            Some((counted, then)) => counted.saturating_add(history.saturating_sub(then)),
            None => history.saturating_add(self.instructions.len() as u64 / 3),
        }
    }

    /// Summarises all but the task and the last turns.
    pub(super) async fn compact(&mut self) -> Result<Flow, Halt> {
        let Some(from) = self.state.history().compaction_point() else {
            let why = "the history does not fit the model's window and cannot be shortened further";
            self.teller.notice(why);
            return Ok(Flow::Finish(Finish::new(Exit::Failed, why.to_owned())));
        };
        let tokens_before = self.tokens_now();
        let (summary, tokens) = self.summary(from).await;
        let charged = matches!(self.surface, Surface::Terminal | Surface::Headless | Surface::Background);
        self.record(Event::Compacted { summary, from, charged, tokens }, Facts::new()).await?;
        self.window.last = None;
        self.window.just_compacted = true;
        let tokens_after = self.tokens_now();
        self.teller.tell(Body::Compaction { messages: from as u64 - 1, tokens_before, tokens_after });
        self.tell_budget();
        Ok(Flow::On)
    }

    /// The summary by the model itself; without one, a plain account of what was done.
    async fn summary(&mut self, from: usize) -> (String, u64) {
        let messages: Vec<Message> = self
            .state
            .history()
            .messages()
            .iter()
            .take(from)
            .map(|message| message.as_ref().clone())
            .collect();
        let account = account(&messages);
        if self.model_is_script() {
            return (account, 0);
        }
        let mut request = Request { messages, ..self.request() };
        request.tools = Vec::new();
        request.max_calls = 0;
        request.max_bytes = model::MAX_BYTES;
        request.messages.push(Message::User { text: SUMMARISE.to_owned() });
        match self.model.ask(&request, &mut |_| {}).await {
            Ok(answer) if !answer.text.trim().is_empty() => {
                let tokens = answer.usage.map_or(0, |usage| usage.input.saturating_add(usage.output));
                (format!("[Enclos] Summary of the session so far:\n{}", answer.text), tokens)
            }
            Ok(_) | Err(_) => (account, 0),
        }
    }
}

const LAST_WORD: &str = "The budget of this session is spent, and no tool is available any more. Say in a few lines \
                         what was done, what was not, and what comes next.";

impl Live {
    /// The last word of a session whose budget is spent: a summary by the model, without tools. A script has none.
    pub(super) async fn last_summary(&mut self) -> Result<(), Halt> {
        if self.model_is_script() {
            return Ok(());
        }
        let mut request = self.request();
        request.tools = Vec::new();
        request.max_calls = 0;
        request.messages.push(Message::User { text: LAST_WORD.to_owned() });
        match self.model.ask(&request, &mut |_| {}).await {
            Ok(answer) if !answer.text.trim().is_empty() => {
                let key = self.lease.commit_key();
                let entry = facts([(
                    "text",
                    json!({"bytes": answer.text.len(), "digest": key.digest(answer.text.as_bytes())}),
                )]);
                self.remark("session.summary", entry).await?;
                self.teller.tell(Body::Message { role: Speaker::Assistant, text: answer.text });
            }
            Ok(_) => {}
            Err(error) => self.teller.notice(format!("there is no last summary: {error}")),
        }
        Ok(())
    }
}

/// What was done, without a model: the calls, by name, and how each ended.
fn account(messages: &[Message]) -> String {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        Message::User { .. } | Message::Result { .. } => None,
    });
    let lines = calls.flatten().map(|call| {
        let arguments: String = call.arguments.chars().take(120).collect();
        format!("- {} {arguments}", call.name)
    });
    let head = "[Enclos] Earlier messages were removed to make room. What was done:".to_owned();
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}
