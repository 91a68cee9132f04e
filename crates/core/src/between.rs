//! What sessions may know of each other, say to each other and start: one plain function for each question.
//!
//! A session that may not be seen is answered as one that there is not. What a session reads of another joins its label; what
//! it sends goes only where its label may flow. Nothing here lowers a label, and only a reset, which ends all that a session
//! was, begins again at the lowest.

use serde::{Deserialize, Serialize};

use crate::decision::DecidedBy;
use crate::flow::{Consent, Destination, Flow, flow};
use crate::label::{Label, Level};
use crate::verdict::Verdict;

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A person's direct work.
    Main,
    /// One connected channel.
    Channel,
    /// A task that somebody or something started: it lives as long as the task.
    Background,
    /// One named agent.
    Agent,
    /// A discussion of several people.
    Group,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Main, Self::Channel, Self::Background, Self::Agent, Self::Group];

    /// The word of this kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Channel => "channel",
            Self::Background => "background",
            Self::Agent => "agent",
            Self::Group => "group",
        }
    }

    /// What it knows at first, whoever made it.
    pub const fn first_label(self) -> Label {
        match self {
            Self::Main | Self::Channel | Self::Background | Self::Agent | Self::Group => Label::LOWEST,
        }
    }

    /// Whether it goes on after its task, and a restart.
    pub const fn persists(self) -> bool {
        match self {
            Self::Main | Self::Channel | Self::Agent | Self::Group => true,
            Self::Background => false,
        }
    }
}

/// The clearance of a group: that of its least cleared member; a member who is not known is PUBLIC, and so is no member.
pub fn clearance_of_group(members: impl IntoIterator<Item = Option<Level>>) -> Level {
    members.into_iter().map(|member| member.unwrap_or(Level::Public)).min().unwrap_or(Level::Public)
}

/// Whether a session may know that another exists, and its state: that one knows no more than it does.
pub fn may_see(caller: Label, other: Label) -> bool {
    other.level() <= caller.level()
}

/// What a session knows once it has read the transcript of another; `None` for one that it may not see, as for none.
pub fn reads_history(caller: Label, other: Label) -> Option<Label> {
    may_see(caller, other).then(|| caller.join(other))
}

/// Whether a session may send a text to another. `channel`: the class of the channel that the other speaks on, where it has
/// one; else it counts by its label.
pub fn may_send(source: Label, other: Label, channel: Option<&Destination>, rules: &[Consent]) -> Flow {
    match channel {
        Some(channel) => flow(source, channel, rules),
        None => flow(source, &Destination::new("session", other.level()), rules),
    }
}

/// What the receiver knows once it has read a message.
#[must_use]
pub fn receives(receiver: Label, message: Label) -> Label {
    receiver.join(message)
}

/// Who wrote the task of a session that is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A session, with what it knew.
    Written(Label),
    /// An administrator, stored beforehand.
    Stored,
}

/// What a session knows that was started with a task, at its first event.
pub fn spawned(kind: Kind, task: Task) -> Label {
    match task {
        Task::Written(label) => kind.first_label().join(label),
        Task::Stored => kind.first_label(),
    }
}

/// The deepest chain of sessions that start each other, where no policy says less.
pub const MOST_DEPTH: usize = 3;

/// Why a session may not start another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    /// The chain is too deep.
    #[error("sessions start each other {most} deep at most")]
    TooDeep {
        /// The most.
        most: usize,
    },
    /// It would be its own ancestor.
    #[error("`{agent}` is already at work in this chain")]
    Cycle {
        /// The agent.
        agent: String,
    },
    /// It is not cleared for what the caller knows.
    #[error("it is not cleared for what it would be told")]
    NotCleared,
}

/// Whether a chain of agents may be gone on with by one more, which is cleared for so much. Gives what that one knows.
///
/// # Errors
/// [`NotStarted`].
pub fn invokes(
    caller: Label,
    chain: &[&str],
    agent: &str,
    clearance: Level,
    most: usize,
) -> Result<Label, NotStarted> {
    if chain.len() >= most {
        return Err(NotStarted::TooDeep { most });
    }
    if chain.contains(&agent) {
        return Err(NotStarted::Cycle { agent: agent.to_owned() });
    }
    if !caller.level().may_flow_to(clearance) {
        return Err(NotStarted::NotCleared);
    }
    Ok(spawned(Kind::Agent, Task::Written(caller)))
}

/// What becomes of reading something above what a session knows. `clearance`: of whoever reads, where they are not known,
/// PUBLIC; `silently`: the policy lets it rise without a question.
pub fn reads(label: Label, class: Level, clearance: Option<Level>, silently: bool) -> Verdict {
    if class > clearance.unwrap_or(Level::Public) {
        return Verdict::Disabled;
    }
    if class <= label.level() || silently { Verdict::Allow } else { Verdict::Ask }
}

/// What becomes of a session's wish for a secret of that class. Where nobody is there to be asked, none above what it knows
/// is given, and no RESTRICTED one ever.
pub fn reads_secret(kind: Kind, label: Label, class: Level) -> Verdict {
    let clearance = match kind {
        Kind::Main | Kind::Channel | Kind::Agent | Kind::Group => Level::Restricted,
        Kind::Background => label.level().min(Level::Confidential),
    };
    reads(label, class, Some(clearance), false)
}

/// What becomes of the wish to reset a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// It is done: the session knows nothing any more.
    Done,
    /// A person has to confirm it.
    Confirm,
    /// Whoever wishes it may not.
    Refused,
}

/// Whether a session is reset: only by a person whose session it is, and only once they confirmed it.
pub fn reset(by: &DecidedBy, own: bool, confirmed: bool) -> Reset {
    match by {
        DecidedBy::Human(_) if !own => Reset::Refused,
        DecidedBy::Human(_) if confirmed => Reset::Done,
        DecidedBy::Human(_) | DecidedBy::Automation(_) if !confirmed => Reset::Confirm,
        DecidedBy::Human(_) | DecidedBy::Automation(_) => Reset::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{RuleId, UserId};

    fn all() -> Vec<Label> {
        Level::ALL.into_iter().flat_map(|level| [Label::trusted(level), Label::untrusted(level)]).collect()
    }

    #[test]
    fn the_table_of_messages_between_sessions() {
        use Level::{Confidential, Public, Restricted};
        for (from, to, goes) in [
            (Public, Public, true),
            (Confidential, Confidential, true),
            (Confidential, Public, false),
            (Restricted, Confidential, false),
        ] {
            let answer = may_send(Label::trusted(from), Label::trusted(to), None, &[]);
            assert_eq!(answer == Flow::Pass, goes, "{from} to {to}");
            let channel = Destination::new("channel:x", to);
            let answer = may_send(Label::trusted(from), Label::LOWEST, Some(&channel), &[]);
            assert_eq!(answer == Flow::Pass, goes, "{from} to a channel of {to}");
        }
        // A channel's class counts, not what the session behind it happens to know.
        let channel = Destination::new("channel:x", Public);
        assert_eq!(
            may_send(Label::trusted(Confidential), Label::trusted(Restricted), Some(&channel), &[]),
            Flow::Block
        );
    }

    #[test]
    fn every_kind_begins_at_the_lowest_and_only_tasks_end() {
        for kind in Kind::ALL {
            assert_eq!(kind.first_label(), Label::LOWEST);
            assert_eq!(kind.persists(), kind != Kind::Background);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn a_hidden_session_is_as_none_and_what_is_read_is_known() {
        for caller in all() {
            for other in all() {
                let read = reads_history(caller, other);
                assert_eq!(read.is_some(), may_see(caller, other));
                assert!(read.is_none_or(|label| label.covers(caller) && label.covers(other)));
                assert!(receives(caller, other).covers(other));
            }
        }
        assert!(!may_see(Label::trusted(Level::Internal), Label::trusted(Level::Confidential)));
    }

    #[test]
    fn a_task_carries_its_writers_label_and_a_stored_one_none() {
        for label in all() {
            for kind in Kind::ALL {
                assert_eq!(spawned(kind, Task::Written(label)), label);
                assert_eq!(spawned(kind, Task::Stored), Label::LOWEST);
            }
        }
    }

    #[test]
    fn a_chain_has_an_end_no_circle_and_no_leak() {
        let label = Label::trusted(Level::Internal);
        assert_eq!(invokes(label, &["a"], "b", Level::Internal, 3), Ok(label));
        assert_eq!(invokes(label, &["a"], "b", Level::Public, 3), Err(NotStarted::NotCleared));
        assert_eq!(
            invokes(label, &["a", "b", "c"], "d", Level::Internal, 3),
            Err(NotStarted::TooDeep { most: 3 })
        );
        assert!(matches!(
            invokes(label, &["a", "b"], "a", Level::Internal, 3),
            Err(NotStarted::Cycle { .. })
        ));
    }

    #[test]
    fn the_least_cleared_member_sets_the_clearance_of_a_group() {
        assert_eq!(clearance_of_group([Some(Level::Restricted), Some(Level::Internal)]), Level::Internal);
        assert_eq!(clearance_of_group([Some(Level::Restricted), None]), Level::Public);
        assert_eq!(clearance_of_group([]), Level::Public);
    }

    #[test]
    fn a_background_task_gets_no_secret_above_what_it_knows() {
        use Level::{Confidential, Internal, Restricted};
        for label in all() {
            assert_eq!(reads_secret(Kind::Background, label, Restricted), Verdict::Disabled);
            assert!(reads_secret(Kind::Background, label, Confidential) != Verdict::Ask);
            assert!(reads_secret(Kind::Main, label, Restricted) != Verdict::Disabled);
        }
        assert_eq!(reads_secret(Kind::Main, Label::trusted(Internal), Confidential), Verdict::Ask);
        assert_eq!(reads_secret(Kind::Main, Label::trusted(Confidential), Internal), Verdict::Allow);
    }

    #[test]
    fn a_reset_is_a_persons_who_confirms_it() {
        let human = DecidedBy::Human(UserId::new("ada"));
        let program = DecidedBy::Automation(RuleId::new("r"));
        assert_eq!(reset(&human, true, true), Reset::Done);
        assert_eq!(reset(&human, true, false), Reset::Confirm);
        assert_eq!(reset(&human, false, true), Reset::Refused);
        assert_eq!(reset(&program, true, true), Reset::Refused);
        assert_eq!(reset(&program, true, false), Reset::Confirm);
    }
}
