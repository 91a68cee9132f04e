//! What a session may still spend: actions, minutes, model tokens, commands, and how often it may be extended.
//!
//! A budget is charged before the act and is never absent. It does not come back to life in a new process: a
//! restored session has nothing left until a person grants the next extension. This module reads no clock; the
//! time comes in as microseconds.

use serde::{Deserialize, Serialize};

const MINUTE_US: i64 = 60_000_000;

/// The largest limit that can be set. More is taken for a mistake and refused.
pub const LARGEST: u64 = 1_000_000_000;

/// The limits of a session. Every one is at least 1, but extensions, which may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Tool calls.
    pub actions: u64,
    /// Minutes since the start.
    pub minutes: u64,
    /// Extensions, each a third of the other limits.
    pub extensions: u64,
    /// Model tokens.
    pub tokens: u64,
    /// Commands.
    pub commands: u64,
}

impl Limits {
    /// 150 actions, 45 minutes, 5 extensions, 2,000,000 tokens, 150 commands.
    pub const DEFAULT: Self =
        Self { actions: 150, minutes: 45, extensions: 5, tokens: 2_000_000, commands: 150 };

    /// What one extension grants: a third of each, rounded up.
    pub fn extension(&self) -> Amounts {
        Amounts {
            actions: self.actions.div_ceil(3),
            minutes: self.minutes.div_ceil(3),
            tokens: self.tokens.div_ceil(3),
            commands: self.commands.div_ceil(3),
        }
    }

    /// The smaller of two settings, limit by limit.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            actions: self.actions.min(other.actions),
            minutes: self.minutes.min(other.minutes),
            extensions: self.extensions.min(other.extensions),
            tokens: self.tokens.min(other.tokens),
            commands: self.commands.min(other.commands),
        }
    }
}

/// Amounts of the four things that are spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Tool calls.
    pub actions: u64,
    /// Minutes.
    pub minutes: u64,
    /// Model tokens.
    pub tokens: u64,
    /// Commands.
    pub commands: u64,
}

/// What is about to be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A tool call.
    Action,
    /// A tool call that runs a command.
    Command,
    /// Tokens that a model call used.
    Tokens(u64),
    /// A model call: it spends nothing by itself, but there must be something left.
    ModelCall,
}

/// What a budget ran out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// Tool calls.
    Actions,
    /// Time.
    Minutes,
    /// Model tokens.
    Tokens,
    /// Commands.
    Commands,
}

impl Exhausted {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Actions => "actions",
            Self::Minutes => "minutes",
            Self::Tokens => "tokens",
            Self::Commands => "commands",
        }
    }
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The budget of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    limits: Limits,
    granted: Amounts,
    used: Amounts,
    started_us: i64,
    deadline_us: i64,
    extensions_used: u64,
    /// Whether what was left ended with its process.
    lapsed: bool,
    /// What was used when the last extension was granted, while that is the last thing that happened.
    unused_since: Option<Amounts>,
}

impl Budget {
    /// A fresh budget that starts at `now_us`.
    pub fn new(limits: Limits, now_us: i64) -> Self {
        let granted = Amounts {
            actions: limits.actions,
            minutes: limits.minutes,
            tokens: limits.tokens,
            commands: limits.commands,
        };
        let deadline_us = now_us.saturating_add(minutes_us(limits.minutes));
        Self {
            limits,
            granted,
            used: Amounts::default(),
            started_us: now_us,
            deadline_us,
            extensions_used: 0,
            lapsed: false,
            unused_since: None,
        }
    }

    /// Spends `cost`, or says what is exhausted and spends nothing.
    ///
    /// # Errors
    /// What the budget ran out of. Tokens are spent even so: they are counted after the model used them.
    pub fn charge(self, cost: Cost, now_us: i64) -> Result<Self, Exhausted> {
        let mut next = self;
        match cost {
            Cost::Tokens(tokens) => {
                next.used.tokens = next.used.tokens.saturating_add(tokens);
                return Ok(next);
            }
            Cost::ModelCall => self.left(now_us)?,
            Cost::Action => next.spend_action(now_us)?,
            Cost::Command => {
                next.spend_action(now_us)?;
                if next.used.commands >= next.granted.commands {
                    return Err(Exhausted::Commands);
                }
                next.used.commands += 1;
            }
        }
        Ok(next)
    }

    fn spend_action(&mut self, now_us: i64) -> Result<(), Exhausted> {
        if self.used.actions >= self.granted.actions {
            return Err(Exhausted::Actions);
        }
        if now_us >= self.deadline_us {
            return Err(Exhausted::Minutes);
        }
        self.used.actions += 1;
        Ok(())
    }

    /// Whether a model may still be called.
    ///
    /// # Errors
    /// What the budget ran out of.
    pub fn left(&self, now_us: i64) -> Result<(), Exhausted> {
        if self.used.actions >= self.granted.actions {
            Err(Exhausted::Actions)
        } else if now_us >= self.deadline_us {
            Err(Exhausted::Minutes)
        } else if self.used.tokens >= self.granted.tokens {
            Err(Exhausted::Tokens)
        } else {
            Ok(())
        }
    }

    /// The budget with one extension more.
    ///
    /// # Errors
    /// [`NoExtension`] when all were granted.
    pub fn extend(self, now_us: i64) -> Result<Self, NoExtension> {
        if self.extensions_used >= self.limits.extensions {
            return Err(NoExtension);
        }
        let more = self.limits.extension();
        let base = self.deadline_us.max(now_us);
        Ok(Self {
            granted: Amounts {
                actions: self.granted.actions.saturating_add(more.actions),
                minutes: self.granted.minutes.saturating_add(more.minutes),
                tokens: self.granted.tokens.max(self.used.tokens).saturating_add(more.tokens),
                commands: self.granted.commands.saturating_add(more.commands),
            },
            deadline_us: base.saturating_add(minutes_us(more.minutes)),
            extensions_used: self.extensions_used + 1,
            lapsed: false,
            unused_since: Some(self.used),
            ..self
        })
    }

    /// The budget in a process that was started again: nothing is left of what was granted. An extension of which nothing was
    /// used, since the model could not be reached, counts as not granted.
    #[must_use]
    pub fn restored(mut self, now_us: i64) -> Self {
        if self.unused_since.take() == Some(self.used) {
            self.extensions_used = self.extensions_used.saturating_sub(1);
        }
        let used = Amounts { minutes: self.minutes_used(now_us), ..self.used };
        let lapsed = self.lapsed || self.left(now_us).is_ok();
        Self { granted: used, deadline_us: now_us.min(self.deadline_us), lapsed, ..self }
    }

    /// Whether something is left, or was when its process ended: it was interrupted and not spent.
    pub fn was_left(&self, now_us: i64) -> bool {
        self.lapsed || self.left(now_us).is_ok()
    }

    /// A fresh budget, as at each message of a person in a terminal. Extensions start afresh with it.
    #[must_use]
    pub fn afresh(self, now_us: i64) -> Self {
        Self::new(self.limits, now_us)
    }

    /// The limits it started with.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// What was used, minutes since the start included.
    pub fn used(&self, now_us: i64) -> Amounts {
        Amounts { minutes: self.minutes_used(now_us), ..self.used }
    }

    /// What was granted, extensions included.
    pub fn granted(&self) -> Amounts {
        self.granted
    }

    /// Extensions that can still be granted.
    pub fn extensions_left(&self) -> u64 {
        self.limits.extensions.saturating_sub(self.extensions_used)
    }

    /// When its time is over, in microseconds.
    pub fn deadline_us(&self) -> i64 {
        self.deadline_us
    }

    fn minutes_used(&self, now_us: i64) -> u64 {
        let elapsed = now_us.saturating_sub(self.started_us).max(0);
        u64::try_from(elapsed / MINUTE_US).unwrap_or(0)
    }
}

/// Every extension was granted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no extension is left")]
pub struct NoExtension;

fn minutes_us(minutes: u64) -> i64 {
    i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(MINUTE_US)
}

/// Reads a limit as a person wrote it: a whole number from `least` to [`LARGEST`].
///
/// # Errors
/// [`BadLimit`], which names the setting and what was expected. Nothing is guessed and no default is taken.
pub fn read_limit(name: &str, text: &str, least: u64) -> Result<u64, BadLimit> {
    let bad = || BadLimit { name: name.to_owned(), value: text.to_owned(), least };
    let plain = !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
    let value: u64 = if plain { text.parse().map_err(|_| bad())? } else { return Err(bad()) };
    if (least..=LARGEST).contains(&value) { Ok(value) } else { Err(bad()) }
}

/// A limit that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is `{value}`: expected a whole number from {least} to {LARGEST}; set it right or unset it")]
pub struct BadLimit {
    /// The setting.
    pub name: String,
    /// What was written.
    pub value: String,
    /// The smallest number that would do.
    pub least: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_000_000;

    fn spend(mut budget: Budget, n: u64) -> Budget {
        for _ in 0..n {
            budget = budget.charge(Cost::Action, START).unwrap();
        }
        budget
    }

    #[test]
    fn what_was_left_when_a_process_ended_is_remembered_until_it_is_granted_again() {
        let limits = Limits { actions: 2, ..Limits::DEFAULT };
        let fresh = Budget::new(limits, 0);
        let looked_at = fresh.restored(1).restored(2).restored(3);
        assert!(looked_at.left(3).is_err() && looked_at.was_left(3));
        assert_eq!(looked_at.extensions_left(), limits.extensions);
        let unreachable = looked_at.extend(4).unwrap().restored(5);
        assert_eq!(unreachable.extensions_left(), limits.extensions, "nothing of it was used");
        let worked = looked_at.extend(4).unwrap().charge(Cost::Tokens(1), 5).unwrap().restored(6);
        assert_eq!(worked.extensions_left(), limits.extensions - 1);
        assert_eq!(worked.restored(7).extensions_left(), limits.extensions - 1);
        let goes_on = looked_at.extend(4).unwrap();
        assert!(goes_on.left(4).is_ok());
        let spent = fresh.charge(Cost::Action, 1).unwrap().charge(Cost::Action, 1).unwrap();
        assert!(!spent.restored(2).was_left(2));
    }

    #[test]
    fn the_hundred_and_fifty_first_action_is_refused() {
        let budget = spend(Budget::new(Limits::DEFAULT, START), 150);
        assert_eq!(budget.charge(Cost::Action, START), Err(Exhausted::Actions));
        assert_eq!(budget.left(START), Err(Exhausted::Actions));
    }

    #[test]
    fn an_extension_grants_fifty_actions_and_fifteen_minutes_five_times() {
        let mut budget = spend(Budget::new(Limits::DEFAULT, START), 150);
        for _ in 0..5 {
            budget = budget.extend(START).unwrap();
            budget = spend(budget, 50);
            assert_eq!(budget.charge(Cost::Action, START), Err(Exhausted::Actions));
        }
        assert_eq!(budget.extend(START), Err(NoExtension));
        assert_eq!(budget.granted().minutes, 45 + 5 * 15);
    }

    #[test]
    fn time_runs_out_and_an_extension_counts_from_now() {
        let late = START + 45 * MINUTE_US;
        let budget = Budget::new(Limits::DEFAULT, START);
        assert_eq!(budget.charge(Cost::Action, late), Err(Exhausted::Minutes));
        let later = late + 60 * MINUTE_US;
        let extended = budget.extend(later).unwrap();
        assert!(extended.left(later + 15 * MINUTE_US - 1).is_ok());
        assert_eq!(extended.left(later + 15 * MINUTE_US), Err(Exhausted::Minutes));
    }

    #[test]
    fn a_restored_budget_has_nothing_left_until_it_is_extended() {
        let budget = spend(Budget::new(Limits::DEFAULT, START), 3).restored(START);
        assert!(budget.left(START).is_err());
        let extended = budget.extend(START).unwrap();
        assert!(extended.left(START).is_ok());
        assert!(spend(extended, 50).charge(Cost::Action, START).is_err());
    }

    #[test]
    fn tokens_are_counted_even_beyond_the_last() {
        let budget = Budget::new(Limits { tokens: 10, ..Limits::DEFAULT }, START);
        let spent = budget.charge(Cost::Tokens(25), START).unwrap();
        assert_eq!(spent.left(START), Err(Exhausted::Tokens));
        assert!(spent.extend(START).unwrap().left(START).is_ok());
    }

    #[test]
    fn a_limit_that_cannot_be_read_is_refused() {
        for text in ["", " 5", "5 ", "-1", "+5", "0", "1e3", "0x10", "5.0", "99999999999", "cent", "٥"] {
            let error = read_limit("ENCLOS_SESSION_MAX_ACTIONS", text, 1).unwrap_err();
            assert!(error.to_string().contains("ENCLOS_SESSION_MAX_ACTIONS"), "{text}");
        }
        assert_eq!(read_limit("x", "150", 1), Ok(150));
        assert_eq!(read_limit("x", "0", 0), Ok(0));
    }

    proptest! {
        #[test]
        fn no_sequence_of_acts_uses_more_than_was_granted(acts in prop::collection::vec(0_u8..4, 0..400)) {
            let limits = Limits { actions: 9, commands: 4, extensions: 2, ..Limits::DEFAULT };
            let mut budget = Budget::new(limits, START);
            for act in acts {
                budget = match act {
                    0 => budget.charge(Cost::Action, START).unwrap_or(budget),
                    1 => budget.charge(Cost::Command, START).unwrap_or(budget),
                    2 => budget.extend(START).unwrap_or(budget),
                    _ => budget.restored(START),
                };
                prop_assert!(budget.used(START).actions <= budget.granted().actions);
                prop_assert!(budget.used(START).commands <= budget.granted().commands);
                prop_assert!(budget.granted().actions <= 9 + 2 * 3);
            }
        }
    }
}
