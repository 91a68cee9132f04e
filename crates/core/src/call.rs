//! The six states of a tool call, and the one function that moves a call.
//!
//! `generating → generated → calling → done | errored`, and `canceled`. What belongs to a state is inside its
//! variant: a call in `calling` without an attributed decision cannot be written. Any move that [`step`] does not
//! know is refused, so a late result never overwrites `canceled` and nothing runs from `generating`.

use serde::{Deserialize, Serialize};

use crate::decision::DecidedBy;
use crate::ids::{CallId, RuleId, UserId};

/// The state of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its fragments arrive. Nothing but a preview may read them.
    Generating,
    /// It is complete: a proposal, to be judged. A call that waits for a person waits here.
    Generated {
        /// Its arguments, as the model sent them.
        arguments: String,
    },
    /// It runs; the intent is in the journal.
    Calling {
        /// Who agreed.
        decided_by: DecidedBy,
        /// Under which rule.
        rule: RuleId,
    },
    /// The tool answered.
    Done {
        /// What the model is told.
        output: String,
    },
    /// It failed.
    Errored {
        /// What the model is told.
        error: String,
    },
    /// It was refused or interrupted before it ran.
    Canceled {
        /// By whom, and why.
        reason: Canceled,
    },
}

/// Why a call was canceled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Canceled {
    /// The answer was interrupted or its stream was cut. No refusal.
    Interrupted,
    /// A person, or a program in their place, refused.
    Refused {
        /// Who.
        who: DecidedBy,
        /// A word to the model.
        word: Option<String>,
    },
    /// The policy forbids it.
    Policy {
        /// The rule. Never told to the model.
        rule: RuleId,
    },
    /// Nobody answered in time. Never told as a refusal.
    Expired,
}

/// What can happen to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The model's message is complete.
    Complete {
        /// The arguments, whole.
        arguments: String,
    },
    /// A person changed the arguments of a proposal. It is judged afresh.
    Edit {
        /// The arguments, whole.
        arguments: String,
    },
    /// The answer or the turn is interrupted, by anyone, or the stream is cut.
    Interrupt,
    /// A person or the policy refuses it.
    Cancel {
        /// By whom, and why.
        reason: Canceled,
    },
    /// It is allowed or approved, and its intent is in the journal.
    Start {
        /// Who agreed.
        decided_by: DecidedBy,
        /// Under which rule.
        rule: RuleId,
    },
    /// The tool answered.
    Finish {
        /// What the model is told.
        output: String,
    },
    /// It does not parse, is unknown or forbidden; or it ran and failed, timed out or was killed.
    Fail {
        /// What the model is told.
        error: String,
    },
}

/// What the model is told of a call that was interrupted while it ran.
pub const INTERRUPTED: &str = "interrupted";

/// Moves a call.
///
/// # Errors
/// [`IllegalMove`] for every pair of state and event that has no place in the table; the call stays as it is.
pub fn step(state: &State, event: Event) -> Result<State, IllegalMove> {
    match (state, event) {
        (State::Generating, Event::Complete { arguments })
        | (State::Generated { .. }, Event::Edit { arguments }) => Ok(State::Generated { arguments }),
        (State::Generating | State::Generated { .. }, Event::Interrupt) => {
            Ok(State::Canceled { reason: Canceled::Interrupted })
        }
        (State::Generated { .. }, Event::Cancel { reason }) => Ok(State::Canceled { reason }),
        (State::Generated { .. }, Event::Start { decided_by, rule }) => {
            Ok(State::Calling { decided_by, rule })
        }
        (State::Generated { .. } | State::Calling { .. }, Event::Fail { error }) => {
            Ok(State::Errored { error })
        }
        (State::Calling { .. }, Event::Finish { output }) => Ok(State::Done { output }),
        (State::Calling { .. }, Event::Interrupt) => Ok(State::Errored { error: INTERRUPTED.to_owned() }),
        (state, event) => Err(IllegalMove { from: state.name(), event: event.name() }),
    }
}

/// A move that the table of calls does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call in `{from}` cannot take `{event}`")]
pub struct IllegalMove {
    /// The state.
    pub from: &'static str,
    /// The event.
    pub event: &'static str,
}

impl State {
    /// The name of the state in events and documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Generating => "generating",
            Self::Generated { .. } => "generated",
            Self::Calling { .. } => "calling",
            Self::Done { .. } => "done",
            Self::Errored { .. } => "errored",
            Self::Canceled { .. } => "canceled",
        }
    }

    /// Whether nothing can happen to it any more.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Errored { .. } | Self::Canceled { .. })
    }
}

impl Event {
    /// The name of the event in errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Complete { .. } => "complete",
            Self::Edit { .. } => "edit",
            Self::Interrupt => "interrupt",
            Self::Cancel { .. } => "cancel",
            Self::Start { .. } => "start",
            Self::Finish { .. } => "finish",
            Self::Fail { .. } => "fail",
        }
    }
}

impl Canceled {
    /// Why, as a person is told.
    pub fn describe(&self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_owned(),
            Self::Refused { who: DecidedBy::Human(user), .. } => format!("refused by {user}"),
            Self::Refused { who: DecidedBy::Automation(rule), .. } => format!("refused by {rule}"),
            Self::Policy { rule } => format!("forbidden by the rule {rule}"),
            Self::Expired => "nobody answered in time".to_owned(),
        }
    }

    /// What the model is told: the truth, and no name of a rule or a level.
    pub fn told(&self) -> String {
        match self {
            Self::Interrupted => "This call was interrupted before it ran.".to_owned(),
            Self::Refused { who: DecidedBy::Human(_), word: None } => {
                "A person refused this call. It did not run. Do not try it again in another form.".to_owned()
            }
            Self::Refused { who: DecidedBy::Human(_), word: Some(word) } => {
                format!("A person refused this call, so it did not run. They say: {word}")
            }
            Self::Refused { who: DecidedBy::Automation(_), word: None } => {
                "This call needs the approval of a person, and there is none to ask. It did not run."
                    .to_owned()
            }
            Self::Refused { who: DecidedBy::Automation(_), word: Some(word) } => {
                format!("A program refused this call in the place of a person, so it did not run: {word}")
            }
            Self::Policy { .. } => {
                "This action is not available under the governance policy. It did not run.".to_owned()
            }
            Self::Expired => {
                "Nobody answered the request for approval in time. The call did not run; it was not refused."
                    .to_owned()
            }
        }
    }
}

/// A call of a session. Only [`Call::take`] moves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    id: CallId,
    tool: String,
    arguments: String,
    state: State,
}

impl Call {
    /// A call whose first fragment arrived.
    pub fn new(id: CallId, tool: String) -> Self {
        Self { id, tool, arguments: String::new(), state: State::Generating }
    }

    /// Its name.
    pub fn id(&self) -> &CallId {
        &self.id
    }

    /// The tool, as the model named it.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Its arguments as the model sent them; empty while it is generating.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Its state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes an event through [`step`].
    ///
    /// # Errors
    /// [`IllegalMove`]; the call stays as it is.
    pub fn take(&mut self, event: Event) -> Result<(), IllegalMove> {
        let next = step(&self.state, event)?;
        if let State::Generated { arguments } = &next {
            self.arguments.clone_from(arguments);
        }
        self.state = next;
        Ok(())
    }

    /// What the model is told of it, once it is final.
    pub fn told(&self) -> Option<String> {
        match &self.state {
            State::Generating | State::Generated { .. } | State::Calling { .. } => None,
            State::Done { output } => Some(output.clone()),
            State::Errored { error } => Some(format!("Error: {error}")),
            State::Canceled { reason } => Some(reason.told()),
        }
    }
}

/// The person who refused a call, when a person did.
pub fn refuser(reason: &Canceled) -> Option<&UserId> {
    match reason {
        Canceled::Refused { who: DecidedBy::Human(user), .. } => Some(user),
        Canceled::Refused { who: DecidedBy::Automation(_), .. }
        | Canceled::Interrupted
        | Canceled::Policy { .. }
        | Canceled::Expired => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn human() -> DecidedBy {
        DecidedBy::Human(UserId::new("ada"))
    }

    fn states() -> Vec<State> {
        vec![
            State::Generating,
            State::Generated { arguments: "{}".into() },
            State::Calling { decided_by: human(), rule: RuleId::new("r") },
            State::Done { output: String::new() },
            State::Errored { error: String::new() },
            State::Canceled { reason: Canceled::Interrupted },
        ]
    }

    fn events() -> Vec<Event> {
        vec![
            Event::Complete { arguments: "{}".into() },
            Event::Edit { arguments: "{\"a\":1}".into() },
            Event::Interrupt,
            Event::Cancel { reason: Canceled::Policy { rule: RuleId::new("r") } },
            Event::Start { decided_by: human(), rule: RuleId::new("r") },
            Event::Finish { output: "out".into() },
            Event::Fail { error: "no".into() },
        ]
    }

    /// The table of the specification, written down a second time.
    const TABLE: [(&str, &str, &str); 10] = [
        ("generating", "complete", "generated"),
        ("generated", "edit", "generated"),
        ("generating", "interrupt", "canceled"),
        ("generated", "interrupt", "canceled"),
        ("generated", "cancel", "canceled"),
        ("generated", "start", "calling"),
        ("generated", "fail", "errored"),
        ("calling", "finish", "done"),
        ("calling", "fail", "errored"),
        ("calling", "interrupt", "errored"),
    ];

    #[test]
    fn every_state_takes_exactly_the_events_of_the_table() {
        for state in states() {
            for event in events() {
                let name = event.name();
                let listed = TABLE.iter().find(|(from, by, _)| *from == state.name() && *by == name);
                match (step(&state, event), listed) {
                    (Ok(next), Some((_, _, to))) => assert_eq!(next.name(), *to),
                    (Err(error), None) => assert_eq!((error.from, error.event), (state.name(), name)),
                    (got, listed) => panic!("{} + {name}: {got:?}, table {listed:?}", state.name()),
                }
            }
        }
    }

    #[test]
    fn an_illegal_move_leaves_the_call_as_it_was() {
        let mut call = Call::new(CallId::new("call_1"), "bash".into());
        assert!(call.take(Event::Start { decided_by: human(), rule: RuleId::new("r") }).is_err());
        assert_eq!(call.state(), &State::Generating);
        call.take(Event::Interrupt).unwrap();
        assert!(call.take(Event::Finish { output: "late".into() }).is_err());
        assert_eq!(call.state(), &State::Canceled { reason: Canceled::Interrupted });
    }

    #[test]
    fn an_expiry_is_never_told_as_a_refusal() {
        assert!(Canceled::Expired.told().contains("not refused"));
        assert!(
            !Canceled::Policy { rule: RuleId::new("instance.secret") }.told().contains("instance.secret")
        );
    }
}
