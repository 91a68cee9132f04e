//! An approval as an authority object: what it is bound to, its states, and whose answer counts.
//!
//! [`step`] is the only way from one state to another, and [`Needs::counts`] the only judge of who may answer. An
//! expiry is never a refusal, a program never meets a rule that wants a person, and where several persons are needed
//! none of them is one who asked for the call or changed it. Nothing here shows a card or runs a call.

use serde::{Deserialize, Serialize};

use super::grant::{Bound, Pattern};
use crate::decision::DecidedBy;
use crate::ids::{Digest, UserId};
use crate::policy::Role;

/// A question to a person about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name. Another question of the session never has the same.
    pub id: String,
    /// Digest of everything that is approved.
    pub digest: Digest,
    /// Digest of tool and arguments alone, for what is remembered in the session.
    pub action: Digest,
    /// When it expires, in microseconds of the Unix epoch.
    pub expires_us: i64,
    /// Whose answers it takes, and how many.
    #[serde(default)]
    pub needs: Needs,
    /// Who asked for the call, or changed its arguments.
    #[serde(default)]
    pub requesters: Vec<UserId>,
    /// What a grant given with the answer is bound to. `None`: no grant can be given.
    #[serde(default)]
    pub grantable: Option<Bound>,
    /// The patterns that may be granted with the answer, as the card shows them.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
}

/// Whose answers a question takes, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// How many distinct persons must approve; at least 1.
    pub quorum: u32,
    /// The least role of who approves.
    pub role: Option<Role>,
    /// Whether only a person may approve.
    pub person: bool,
    /// Whether none of the approvers may be a requester.
    pub separate: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self { quorum: 1, role: None, person: false, separate: false }
    }
}

/// The role of who answers: both when the card opened and now, for a role that was lost or came later counts no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// When the card opened. `None`: no role on the project.
    pub at_opening: Option<Role>,
    /// Now.
    pub now: Option<Role>,
}

/// Why a yes does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncounted {
    /// It came from a program.
    #[error("the rule wants a person, and this answer came from a program: answer at a terminal")]
    Program,
    /// It came from who asked for the call or changed it.
    #[error("the rule wants somebody other than who asked for the call or changed it")]
    Requester,
    /// They said yes already.
    #[error("each person counts once, and this one has approved already")]
    Twice,
    /// They have too little a role, or did not have it when the card opened.
    #[error("the rule wants the role `{0}` or above, held since the card opened")]
    Role(Role),
}

impl Needs {
    /// Whether several persons must agree.
    pub fn several(&self) -> bool {
        self.quorum > 1
    }

    /// Whether these persons, with the role of each, are enough to approve.
    pub fn can_be_met<'p>(
        &self,
        persons: impl IntoIterator<Item = (&'p UserId, Standing)>,
        requesters: &[UserId],
    ) -> bool {
        let mut counted: Vec<UserId> = Vec::new();
        for (user, standing) in persons {
            let human = DecidedBy::Human(user.clone());
            if self.counts(&human, standing, requesters, &counted).is_ok() && !counted.contains(user) {
                counted.push(user.clone());
            }
        }
        u32::try_from(counted.len()).is_ok_and(|counted| counted >= self.quorum)
    }

    /// Whether a yes counts.
    ///
    /// # Errors
    /// [`Uncounted`] says why not.
    pub fn counts(
        &self,
        by: &DecidedBy,
        standing: Standing,
        requesters: &[UserId],
        yes: &[UserId],
    ) -> Result<(), Uncounted> {
        let user = match by {
            DecidedBy::Human(user) => user,
            DecidedBy::Automation(_) if self.person || self.several() || self.separate => {
                return Err(Uncounted::Program);
            }
            DecidedBy::Automation(_) => return Ok(()),
        };
        if let Some(least) = self.role
            && standing.at_opening.min(standing.now).is_none_or(|held| held < least)
        {
            return Err(Uncounted::Role(least));
        }
        if self.separate && requesters.contains(user) {
            return Err(Uncounted::Requester);
        }
        if yes.contains(user) {
            return Err(Uncounted::Twice);
        }
        Ok(())
    }
}

/// The states of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody answered yet, or too few did.
    Pending,
    /// Granted.
    Approved,
    /// Refused.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// What it was about has changed.
    Superseded,
    /// The session ended or was interrupted first.
    Withdrawn,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Approved, Self::Denied, Self::Expired, Self::Superseded, Self::Withdrawn];
}

/// An event that has no place in the state of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an approval that is {from:?} cannot become {to:?}")]
pub struct Over {
    /// The state.
    pub from: State,
    /// The state that was meant.
    pub to: State,
}

/// Moves an approval. The first answer counts; what is approved can still be overtaken by a change or an end before it
/// is used.
///
/// # Errors
/// [`Over`] for every pair that is not in the table; the state stays as it is.
pub fn step(from: State, to: State) -> Result<State, Over> {
    match (from, to) {
        (State::Pending, State::Approved | State::Denied | State::Expired)
        | (State::Pending | State::Approved, State::Superseded | State::Withdrawn) => Ok(to),
        (
            State::Pending
            | State::Approved
            | State::Denied
            | State::Expired
            | State::Superseded
            | State::Withdrawn,
            _,
        ) => Err(Over { from, to }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RuleId;

    fn human(name: &str) -> DecidedBy {
        DecidedBy::Human(UserId::new(name))
    }

    fn held(role: Role) -> Standing {
        Standing { at_opening: Some(role), now: Some(role) }
    }

    #[test]
    fn every_state_takes_exactly_the_moves_of_the_table() {
        use State::{Approved, Denied, Expired, Pending, Superseded, Withdrawn};
        let table = [
            (Pending, Approved),
            (Pending, Denied),
            (Pending, Expired),
            (Pending, Superseded),
            (Pending, Withdrawn),
            (Approved, Superseded),
            (Approved, Withdrawn),
        ];
        for from in State::ALL {
            for to in State::ALL {
                let listed = table.contains(&(from, to));
                assert_eq!(step(from, to), if listed { Ok(to) } else { Err(Over { from, to }) });
            }
        }
    }

    #[test]
    fn two_maintainers_other_than_the_requester_make_a_quorum() {
        let needs = Needs { quorum: 2, role: Some(Role::Maintainer), person: true, separate: true };
        let asked = [UserId::new("ada")];
        let counts = |by: &str, standing, yes: &[UserId]| needs.counts(&human(by), standing, &asked, yes);
        assert_eq!(counts("ada", held(Role::Owner), &[]), Err(Uncounted::Requester));
        assert_eq!(counts("eve", held(Role::Developer), &[]), Err(Uncounted::Role(Role::Maintainer)));
        assert_eq!(counts("bob", held(Role::Maintainer), &[]), Ok(()));
        assert_eq!(counts("bob", held(Role::Maintainer), &[UserId::new("bob")]), Err(Uncounted::Twice));
        assert_eq!(counts("cyd", held(Role::Owner), &[UserId::new("bob")]), Ok(()));
    }

    #[test]
    fn a_question_can_be_met_by_as_many_persons_as_it_needs_and_no_fewer() {
        let (ada, bob, cyd) = (UserId::new("ada"), UserId::new("bob"), UserId::new("cyd"));
        let needs = Needs { quorum: 2, role: Some(Role::Maintainer), person: true, separate: true };
        let asked = [ada.clone()];
        let met = |needs: Needs, persons: &[(&UserId, Role)]| {
            needs.can_be_met(persons.iter().map(|(user, role)| (*user, held(*role))), &asked)
        };
        assert!(!met(needs, &[(&ada, Role::Owner)]));
        assert!(!met(needs, &[(&ada, Role::Owner), (&bob, Role::Maintainer)]));
        assert!(!met(needs, &[(&bob, Role::Maintainer), (&bob, Role::Maintainer)]));
        assert!(!met(needs, &[(&bob, Role::Maintainer), (&cyd, Role::Developer)]));
        assert!(met(needs, &[(&ada, Role::Owner), (&bob, Role::Maintainer), (&cyd, Role::Owner)]));
        let one = Needs { role: Some(Role::Owner), ..Needs::default() };
        assert!(met(one, &[(&ada, Role::Owner)]) && !met(one, &[(&ada, Role::Maintainer)]));
        assert!(!met(Needs::default(), &[]));
    }

    #[test]
    fn a_role_counts_only_when_it_was_held_at_the_opening_and_still_is() {
        let needs = Needs { role: Some(Role::Maintainer), ..Needs::default() };
        let lost = Standing { at_opening: Some(Role::Owner), now: Some(Role::Reader) };
        let late = Standing { at_opening: Some(Role::Reader), now: Some(Role::Owner) };
        let gone = Standing { at_opening: Some(Role::Owner), now: None };
        for standing in [lost, late, gone] {
            let counted = needs.counts(&human("bob"), standing, &[], &[]);
            assert_eq!(counted, Err(Uncounted::Role(Role::Maintainer)), "{standing:?}");
        }
        assert_eq!(needs.counts(&human("bob"), held(Role::Maintainer), &[], &[]), Ok(()));
    }

    #[test]
    fn a_program_never_meets_a_rule_that_wants_a_person_a_quorum_or_somebody_else() {
        let program = DecidedBy::Automation(RuleId::new("cli.approve"));
        let plain = Needs::default();
        assert_eq!(plain.counts(&program, held(Role::Owner), &[], &[]), Ok(()));
        let wants = [
            Needs { person: true, ..plain },
            Needs { quorum: 2, ..plain },
            Needs { separate: true, ..plain },
        ];
        for needs in wants {
            assert_eq!(needs.counts(&program, held(Role::Owner), &[], &[]), Err(Uncounted::Program));
        }
    }
}
