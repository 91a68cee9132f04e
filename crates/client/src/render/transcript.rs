//! The record of a session as a person reads it: each event becomes rows that stay, and the calls under way are known.
//!
//! Shared by the terminal and by the progress of a headless run. It shows; it answers nothing and decides nothing.

use std::collections::VecDeque;

use enclos_core::ids::CallId;
use enclos_core::verdict::Verdict;
use enclos_protocol::event::{Body, BudgetView, Event, Of, ResultFacts, SessionState, Speaker};
use jiff::Timestamp;

use crate::layout::{Gutter, Row, prose, words};
use crate::render::stream::{MARGIN, Stream};
use crate::render::{change, title};
use crate::style::Role;
use crate::text;

/// Lines of a command's output that are shown under it.
const TAIL: usize = 6;
/// Bytes of an output line that are kept for showing.
const LINE: usize = 400;

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its first fragment arrived.
    Generating,
    /// It is complete, and being judged.
    Generated,
    /// It waits for a person.
    Asking,
    /// It runs.
    Calling,
}

/// A call under way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its name.
    pub(crate) id: CallId,
    /// Its tool.
    pub(crate) tool: String,
    /// What it is about.
    pub(crate) title: String,
    /// Where it stands.
    pub(crate) stage: Stage,
    /// Since when.
    pub(crate) since: Timestamp,
    /// Who decided, once it is decided.
    decided: String,
    /// Why it was refused.
    reason: String,
    /// The last lines of its output.
    tail: VecDeque<String>,
    /// Lines before those.
    hidden: u64,
}

impl Call {
    fn output(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 || self.tail.is_empty() {
                self.tail.push_back(String::new());
            }
            if let Some(last) = self.tail.back_mut() {
                let room = LINE.saturating_sub(last.len());
                last.extend(line.chars().take(room));
            }
            if self.tail.len() > TAIL + 1 {
                self.tail.pop_front();
                self.hidden += 1;
            }
        }
    }
}

/// A command in the background.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    /// The call that started it.
    pub(crate) call: CallId,
    /// Its name and its text.
    pub(crate) title: String,
    /// Since when.
    pub(crate) since: Timestamp,
}

/// The record of a session.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// Calls under way, oldest first.
    pub(crate) calls: Vec<Call>,
    /// Commands in the background, oldest first.
    pub(crate) background: Vec<Background>,
    /// The budget as last told.
    pub(crate) budget: BudgetView,
    /// The state as last told.
    pub(crate) state: SessionState,
    width: usize,
    streaming: bool,
    stream: Option<Stream>,
    /// Whether the message that is to come was shown as it was written.
    streamed: bool,
    /// What the call was about that ended last.
    last_title: String,
}

impl Transcript {
    /// An empty record; `streaming` shows text as it comes rather than message by message.
    pub(crate) fn new(width: usize, streaming: bool) -> Self {
        Self {
            calls: Vec::new(),
            background: Vec::new(),
            budget: BudgetView::default(),
            state: SessionState::Opening,
            width,
            streaming,
            stream: None,
            streamed: false,
            last_title: String::new(),
        }
    }

    /// Draws for another width from here on.
    pub(crate) fn resize(&mut self, width: usize) {
        self.width = width;
    }

    /// The row of text that is still being written.
    pub(crate) fn partial(&self) -> Option<Row> {
        self.stream.as_ref().and_then(Stream::partial)
    }

    /// One more event; gives the rows that it adds to the record.
    pub(crate) fn event(&mut self, event: &Event, now: Timestamp) -> Vec<Row> {
        match &event.body {
            Body::Opened(opened) => {
                self.budget = opened.budget;
                self.remarks(&text::opened(event.session.as_str(), opened))
            }
            Body::MessageDelta { text } => self.delta(text),
            Body::Message { role, text } => self.message(*role, text),
            Body::Notice { text } => self.remark(text),
            Body::State { state } => {
                self.state = *state;
                Vec::new()
            }
            Body::ExtensionRequested { .. } => Vec::new(),
            Body::ExtensionDecided { granted, decided_by } => {
                self.remark(&text::extension_decided(*granted, decided_by))
            }
            Body::Budget(view) => {
                self.budget = *view;
                Vec::new()
            }
            Body::Compaction { messages, tokens_before, tokens_after } => {
                self.remark(&text::compacted(*messages, *tokens_before, *tokens_after))
            }
            Body::ChangeSet { files, insertions, deletions, .. } => {
                let mut rows = self.flush();
                rows.extend(self.change_set(files, *insertions, *deletions));
                rows
            }
            Body::LabelRaised { from, to, source, .. } => {
                self.remark(&text::label_raised(*from, *to, source))
            }
            Body::BackgroundStarted { of, .. } => {
                let title = self.last_title.clone();
                self.background.push(Background { call: of.call.clone(), title, since: now });
                Vec::new()
            }
            Body::BackgroundEnded { of, name, reason, result } => {
                self.background.retain(|running| running.call != of.call);
                self.remark(&text::background_ended(name, reason, result))
            }
            Body::Closed { outcome, reason } => self.remark(&text::closed(*outcome, reason)),
            Body::Finished { next_step, .. } => self.remark(next_step),
            body => self.call_event(body, now),
        }
    }

    fn change_set(&self, files: &[enclos_protocol::changeset::FileView], plus: u64, minus: u64) -> Vec<Row> {
        if files.is_empty() {
            return vec![Row::new().to(MARGIN).and(Role::Dim, text::NO_CHANGES)];
        }
        let mut rows = vec![Row::new(), Row::of(Role::Bold, text::CHANGES)];
        rows.extend(change::summary(files, plus, minus, self.width));
        rows
    }

    fn delta(&mut self, text: &str) -> Vec<Row> {
        if !self.streaming {
            return Vec::new();
        }
        self.streamed = true;
        self.stream.get_or_insert_with(|| Stream::new(self.width)).put(text)
    }

    fn message(&mut self, role: Speaker, text: &str) -> Vec<Row> {
        match role {
            Speaker::User => {
                let mut rows = self.flush();
                let gutter = Gutter { first: Row::of(Role::Bold, "› "), rest: Row::new().to(MARGIN) };
                rows.extend(prose(&gutter, Role::Bold, text, self.width));
                rows
            }
            Speaker::Assistant if std::mem::take(&mut self.streamed) => self.flush(),
            Speaker::Assistant if text.is_empty() => Vec::new(),
            Speaker::Assistant => prose(&Gutter::spaces(MARGIN), Role::Plain, text, self.width),
        }
    }

    /// Ends the text that is being written.
    fn flush(&mut self) -> Vec<Row> {
        self.stream.take().map(|mut stream| stream.end()).unwrap_or_default()
    }

    fn remark(&mut self, text: &str) -> Vec<Row> {
        if text.is_empty() { self.flush() } else { self.remarks(&[text.to_owned()]) }
    }

    fn remarks(&mut self, lines: &[String]) -> Vec<Row> {
        let mut rows = self.flush();
        let gutter = Gutter { first: Row::of(Role::Dim, "· "), rest: Row::new().to(MARGIN) };
        rows.extend(lines.iter().flat_map(|line| words(&gutter, Role::Dim, line, self.width)));
        rows
    }

    fn call_event(&mut self, body: &Body, now: Timestamp) -> Vec<Row> {
        match body {
            Body::CallGenerating { of } => self.stage(of, Stage::Generating, now),
            Body::CallGenerated { of, arguments } => {
                self.stage(of, Stage::Generated, now);
                self.call(of, now).title = title::call(&of.tool, arguments);
            }
            Body::ApprovalRequested { of, .. } => self.stage(of, Stage::Asking, now),
            Body::ApprovalDecided { of, state, .. } => {
                self.stage(of, Stage::Generated, now);
                return self.remark(text::approval_remark(*state));
            }
            Body::CallDecided { of, verdict, decided_by, rule, reason, .. } => {
                self.call(of, now).decided = text::decided(*verdict, decided_by, rule.as_str());
                self.call(of, now).reason =
                    if *verdict == Verdict::Disabled { reason.clone() } else { String::new() };
            }
            Body::CallCalling { of } => self.stage(of, Stage::Calling, now),
            Body::CallOutput { of, text, left_out, .. } => {
                let call = self.call(of, now);
                if *left_out > 0 {
                    call.output(&text::left_out(*left_out));
                }
                call.output(text);
            }
            Body::CallDone { of, result } => {
                return self.end(of, "✓", Role::Good, &text::result(result), now);
            }
            Body::CallErrored { of, error, result } => return self.errored(of, error, result.as_ref(), now),
            Body::CallCanceled { of, reason } => return self.end(of, "⊘", Role::Warn, reason, now),
            _ => {}
        }
        self.flush_before(body)
    }

    /// Text that came before a call stands before it in the record.
    fn flush_before(&mut self, body: &Body) -> Vec<Row> {
        if matches!(body, Body::CallOutput { .. }) { Vec::new() } else { self.flush() }
    }

    fn errored(&mut self, of: &Of, error: &str, result: Option<&ResultFacts>, now: Timestamp) -> Vec<Row> {
        let told = match result {
            Some(result) => format!("{error} · {}", text::result(result)),
            None => error.to_owned(),
        };
        self.end(of, "✗", Role::Bad, &told, now)
    }

    fn call(&mut self, of: &Of, now: Timestamp) -> &mut Call {
        let known = self.calls.iter().position(|call| call.id == of.call);
        let index = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.calls.push(Call {
                id: of.call.clone(),
                tool: of.tool.clone(),
                title: String::new(),
                stage: Stage::Generating,
                since: now,
                decided: String::new(),
                reason: String::new(),
                tail: VecDeque::new(),
                hidden: 0,
            });
        }
        &mut self.calls[index]
    }

    fn stage(&mut self, of: &Of, stage: Stage, now: Timestamp) {
        let call = self.call(of, now);
        if call.stage != stage {
            call.stage = stage;
            call.since = now;
        }
    }

    /// A call is over: one line that says what came of it, who decided, and the end of its output.
    fn end(&mut self, of: &Of, sign: &str, role: Role, told: &str, now: Timestamp) -> Vec<Row> {
        let mut rows = self.flush();
        self.call(of, now);
        let Some(index) = self.calls.iter().position(|call| call.id == of.call) else { return rows };
        let call = self.calls.remove(index);
        self.last_title.clone_from(&call.title);
        let head = Row::of(role, sign).to(MARGIN).and(Role::Bold, &call.tool).and(Role::Plain, " ");
        rows.push(head.and(Role::Plain, &call.title).cut(self.width));
        let under = Gutter::spaces(2 * MARGIN);
        let reason = if told.contains(&call.reason) { "" } else { &call.reason };
        let parts: Vec<&str> =
            [told, &call.decided, reason].into_iter().filter(|part| !part.is_empty()).collect();
        rows.extend(words(&under, Role::Dim, &parts.join(" · "), self.width));
        let mut tail: Vec<&String> = call.tail.iter().collect();
        if tail.last().is_some_and(|line| line.is_empty()) {
            tail.pop();
        }
        let skipped = tail.len().saturating_sub(TAIL);
        let hidden = call.hidden + skipped as u64;
        if hidden > 0 {
            rows.push(Row::new().to(2 * MARGIN).and(Role::Dim, &text::lines_hidden(hidden)));
        }
        let row = |line: &&String| {
            Row::new().to(2 * MARGIN).and(Role::Dim, "  ").and(Role::Plain, line).cut(self.width)
        };
        rows.extend(tail[skipped..].iter().map(row));
        rows
    }
}

#[cfg(test)]
mod tests {
    use enclos_core::ids::{CallId, SessionId};
    use enclos_protocol::event::{Body, Event, Of, ResultFacts, Speaker};
    use jiff::Timestamp;

    use super::Transcript;
    use crate::style::Paint;

    fn shown(transcript: &mut Transcript, bodies: Vec<Body>) -> String {
        let event = |body| Event { seq: 1, time: String::new(), session: SessionId::new("sess_1"), body };
        let rows = bodies.into_iter().flat_map(|body| transcript.event(&event(body), Timestamp::UNIX_EPOCH));
        rows.map(|row| row.render(Paint::PLAIN) + "\n").collect()
    }

    fn of() -> Of {
        Of { call: CallId::new("call_1"), tool: "bash".to_owned() }
    }

    #[test]
    fn a_text_is_shown_once_however_it_comes() {
        let bodies = || {
            vec![
                Body::MessageDelta { text: "I will ".to_owned() },
                Body::MessageDelta { text: "look.".to_owned() },
                Body::CallGenerating { of: of() },
                Body::Message { role: Speaker::Assistant, text: "I will look.".to_owned() },
                Body::CallGenerated { of: of(), arguments: serde_json::json!({}) },
                Body::Message { role: Speaker::Assistant, text: "And again.".to_owned() },
            ]
        };
        for streaming in [true, false] {
            let text = shown(&mut Transcript::new(40, streaming), bodies());
            assert_eq!(text, "  I will look.\n  And again.\n", "{streaming}");
        }
    }

    #[test]
    fn a_background_command_is_listed_until_it_ends() {
        let started = || {
            vec![
                Body::CallGenerated {
                    of: of(),
                    arguments: serde_json::json!({"command": "npm start", "background": "web"}),
                },
                Body::CallDone { of: of(), result: ResultFacts::default() },
                Body::BackgroundStarted { of: of(), name: "web".to_owned() },
            ]
        };
        let mut transcript = Transcript::new(60, true);
        shown(&mut transcript, started());
        assert_eq!(transcript.background.len(), 1);
        assert_eq!(transcript.background[0].title, "web: npm start");
        let result = ResultFacts { exit_code: Some(1), duration_ms: 2000.0, ..ResultFacts::default() };
        let ended =
            Body::BackgroundEnded { of: of(), name: "web".to_owned(), reason: "ended".to_owned(), result };
        let text = shown(&mut transcript, vec![ended]);
        assert_eq!(text, "· background command web ended: exit 1 · 2.0 s\n");
        assert!(transcript.background.is_empty());
    }

    #[test]
    fn the_end_of_an_output_is_kept_and_the_rest_counted() {
        let lines: String =
            (0..100).fold(String::new(), |lines, number| lines + "line " + &number.to_string() + "\n");
        let mut bodies =
            vec![Body::CallGenerated { of: of(), arguments: serde_json::json!({"command": "seq"}) }];
        // Fragments end anywhere.
        for fragment in lines.as_bytes().chunks(7) {
            let text = String::from_utf8_lossy(fragment).into_owned();
            bodies.push(Body::CallOutput { of: of(), text, stderr: false, left_out: 0 });
        }
        bodies.push(Body::CallCanceled { of: of(), reason: "interrupted".to_owned() });
        let text = shown(&mut Transcript::new(40, true), bodies);
        assert!(text.contains("… 94 lines before") && text.contains("line 99"), "{text}");
        assert!(!text.contains("line 93"), "{text}");
    }
}
