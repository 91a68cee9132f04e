//! What a session of the host has read: its label, its answers, and what was released or endorsed of them.
//!
//! The label only rises. An answer in quarantine does not raise it: it keeps a label of its own, and what comes from it is
//! judged by that.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::label::{Label, Level};

use super::{listed, value};

/// Values that are released from one answer, and in one session, at most.
pub(super) const RELEASES_OF_ONE: u32 = 8;
pub(super) const RELEASES: u32 = 64;

/// Bytes of an answer that are kept to look for what comes from it.
const KEPT: usize = 256 * 1024;

/// A session of the host.
#[derive(Debug)]
pub(super) struct Session {
    prompt: String,
    label: Label,
    answers: Vec<Answer>,
    endorsed: BTreeSet<Endorsed>,
    releases: u32,
    asked: Option<(String, Vec<Endorsed>)>,
}

/// What a tool answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// The tool.
    pub tool: String,
    /// What it knows.
    pub label: Label,
    /// Whether the planner was not shown it.
    pub hidden: bool,
    text: String,
    names: BTreeSet<String>,
    releases: u32,
}

impl Answer {
    /// An answer; the names in it count where the tool is one that lists known names.
    pub(super) fn new(tool: &str, label: Label, hidden: bool, text: &str, lists_names: bool) -> Self {
        let mut end = text.len().min(KEPT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            tool: tool.to_owned(),
            label,
            hidden,
            text: text.get(..end).unwrap_or_default().to_owned(),
            names: if lists_names { listed::names(text) } else { BTreeSet::new() },
            releases: 0,
        }
    }

    /// Whether a number is one of the values that it lists.
    fn lists(&self, number: Option<f64>) -> bool {
        let same = |name: &String| {
            name.parse::<f64>()
                .is_ok_and(|listed| number.is_some_and(|number| (listed - number).abs() < f64::EPSILON))
        };
        self.names.iter().any(same)
    }

    /// Whether a value stands in it as a whole.
    pub(super) fn holds(&self, value: &Value) -> bool {
        value::names(&self.text, value)
    }
}

/// A value that a person accepted, for one argument of one tool at one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endorsed {
    pub tool: String,
    pub argument: String,
    pub value: String,
    pub label: String,
}

impl Session {
    /// A session that was given this task.
    pub(super) fn open(prompt: &str) -> Self {
        Self {
            prompt: prompt.to_owned(),
            label: Label::LOWEST,
            answers: Vec::new(),
            endorsed: BTreeSet::new(),
            releases: 0,
            asked: None,
        }
    }

    /// What it knows.
    pub(super) fn label(&self) -> Label {
        self.label
    }

    /// Takes what it now knows.
    pub(super) fn learn(&mut self, label: Label) {
        self.label = self.label.join(label);
    }

    /// Whether the person's own words name a value.
    pub(super) fn prompt_names(&self, value: &Value) -> bool {
        value::names(&self.prompt, value)
    }

    /// The answers so far, in the order in which they came.
    pub(super) fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// The answer of that number.
    pub(super) fn answer(&self, number: usize) -> Option<&Answer> {
        self.answers.get(number)
    }

    /// Takes an answer, and its label unless it is hidden. One that follows a question to a person says that they agreed.
    pub(super) fn answered(&mut self, answer: Answer) {
        if let Some((tool, endorsed)) = self.asked.take()
            && tool == answer.tool
        {
            self.endorsed.extend(endorsed);
        }
        if !answer.hidden {
            self.learn(answer.label);
        }
        self.answers.push(answer);
    }

    /// Shows the planner everything that was kept from it.
    pub(super) fn reveal(&mut self) {
        let hidden = self.answers.iter_mut().filter(|answer| answer.hidden);
        let known = hidden.fold(self.label, |known, answer| {
            answer.hidden = false;
            known.join(answer.label)
        });
        self.learn(known);
    }

    /// Whether a value stands as a whole item or field in what a tool answered that lists known names.
    pub(super) fn is_listed(&self, value: &Value) -> bool {
        let listed = |answer: &Answer| match value {
            Value::String(text) => answer.names.contains(text),
            Value::Number(number) => answer.lists(number.as_f64()),
            Value::Bool(_) | Value::Null => true,
            Value::Array(_) | Value::Object(_) => false,
        };
        self.answers.iter().any(listed)
    }

    /// Whether one more value may be released from each of these answers.
    pub(super) fn may_release(&self, from: &BTreeSet<usize>) -> bool {
        self.releases < RELEASES
            && from.iter().all(|&number| {
                self.answer(number).is_some_and(|answer| {
                    answer.releases < RELEASES_OF_ONE && answer.label.level() < Level::Restricted
                })
            })
    }

    /// Counts a value that was released from these answers.
    pub(super) fn released(&mut self, from: &BTreeSet<usize>) {
        self.releases += 1;
        for &number in from {
            if let Some(answer) = self.answers.get_mut(number) {
                answer.releases += 1;
            }
        }
    }

    /// Whether a person accepted that value before.
    pub(super) fn is_endorsed(&self, value: &Endorsed) -> bool {
        self.endorsed.contains(value)
    }

    /// Remembers what a person is asked about, until the tool answers or another call is proposed.
    pub(super) fn asks(&mut self, tool: &str, values: Vec<Endorsed>) {
        self.asked = Some((tool.to_owned(), values));
    }

    /// Forgets what a person was asked about: they did not agree.
    pub(super) fn asks_nothing(&mut self) {
        self.asked = None;
    }
}
