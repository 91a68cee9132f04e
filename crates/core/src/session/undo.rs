//! Which calls changed the workspace, and to which of them it can be put back.
//!
//! An undo gives back files and nothing else: budget, grants, refusals and the history stay as they are, and what was
//! shown for review counts no more. It decides where an undo leads by the events alone. Whether the files of that
//! moment are kept is known elsewhere.

use std::sync::Arc;

use super::{End, Event, Impossible, Session, Turn};
use crate::ids::CallId;
use crate::near::nearest;
use crate::tool::changes_files;

/// A call that ran and could change files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// The number of its turn, from 1.
    turn: u64,
    /// The place of the call whose outcome it found: the one before it, of those that were not undone by then.
    after: Option<usize>,
}

/// The calls that changed the workspace, as a tree: an undo goes back to a branching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trail {
    ran: Vec<Arc<Ran>>,
    /// The last call whose outcome the workspace holds.
    tip: Option<usize>,
    /// The number of the turn.
    turn: u64,
    /// Whether an undo came after the last message.
    undone: bool,
    /// Where an undo leads that is under way.
    under_way: Option<CallId>,
}

/// Why the last turn cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NothingToUndo {
    /// No call changed anything, or all that did are undone.
    AtAll,
    /// The last turn ran no call that could change a file. The last call that could is named.
    InLastTurn(CallId),
}

impl Trail {
    pub(super) fn said(&mut self) {
        self.turn = self.turn.saturating_add(1);
        self.undone = false;
    }

    pub(super) fn started(&mut self, call: &CallId, tool: &str) {
        if !changes_files(tool) {
            return;
        }
        let ran = Ran { call: call.clone(), tool: tool.to_owned(), turn: self.turn, after: self.tip };
        self.tip = Some(self.ran.len());
        self.ran.push(Arc::new(ran));
    }

    fn find(&self, call: &CallId) -> Option<&Ran> {
        self.ran.iter().find(|ran| ran.call == *call).map(Arc::as_ref)
    }

    fn at(&self, place: Option<usize>) -> Option<&Ran> {
        self.ran.get(place?).map(Arc::as_ref)
    }

    /// Whether the workspace holds the outcome of a call.
    fn holds(&self, call: &CallId) -> bool {
        let chain = std::iter::successors(self.at(self.tip), |ran| self.at(ran.after));
        chain.into_iter().any(|ran| ran.call == *call)
    }

    /// The first call of the last turn that is not undone.
    fn target(&self) -> Result<&Ran, NothingToUndo> {
        let mut first = self.at(self.tip).ok_or(NothingToUndo::AtAll)?;
        if !self.undone && first.turn != self.turn {
            return Err(NothingToUndo::InLastTurn(first.call.clone()));
        }
        let turn = first.turn;
        while let Some(before) = self.at(first.after).filter(|before| before.turn == turn) {
            first = before;
        }
        Ok(first)
    }
}

impl Session {
    /// The call that an undo of the last turn leads to: the workspace as it was just before it. After an undo, that is
    /// the turn before the one that was undone.
    pub fn last_turn(&self) -> Result<&Ran, NothingToUndo> {
        self.trail.target()
    }

    /// Every call that ran and could change files, in order.
    pub fn ran(&self) -> impl DoubleEndedIterator<Item = &Ran> {
        self.trail.ran.iter().map(Arc::as_ref)
    }

    /// The call that somebody may have meant.
    pub fn nearest_ran(&self, typed: &str) -> Option<&str> {
        let known: Vec<&str> = self.ran().map(|ran| ran.call.as_str()).collect();
        let found = nearest(typed, &known)?;
        self.ran().map(|ran| ran.call.as_str()).find(|call| *call == found)
    }

    /// The last call whose outcome the workspace holds.
    pub fn newest_ran(&self) -> Option<&Ran> {
        self.trail.at(self.trail.tip)
    }

    /// Where an undo leads that was begun and is not done. Nothing else happens in the session until it is.
    pub fn undoing(&self) -> Option<&CallId> {
        self.trail.under_way.as_ref()
    }

    /// While an undo is under way, the tree is half one thing and half another: nothing is made of it.
    pub(super) fn admits(&self, event: &Event) -> Result<(), Impossible> {
        let goes_on = matches!(
            event,
            Event::Undoing { .. } | Event::Undone { .. } | Event::GrantRevoked { .. } | Event::Closed { .. }
        );
        if self.undoing().is_some() && !goes_on {
            return Err(Impossible::Misplaced("anything but its end while an undo is under way"));
        }
        Ok(())
    }

    pub(super) fn begin_undo(&mut self, to: &CallId) -> Result<(), Impossible> {
        if self.trail.find(to).is_none() {
            return Err(Impossible::NoCall(to.clone()));
        }
        self.interrupted()?;
        self.turn = Turn::Over(End::Undone);
        self.review = None;
        self.trail.under_way = Some(to.clone());
        Ok(())
    }

    pub(super) fn end_undo(&mut self, to: &CallId) -> Result<(), Impossible> {
        if self.trail.under_way.as_ref() != Some(to) {
            return Err(Impossible::Misplaced("an end of an undo that was not begun"));
        }
        let reached = self.trail.find(to).ok_or_else(|| Impossible::NoCall(to.clone()))?.clone();
        let newest = self.newest_ran().filter(|_| self.trail.holds(to)).map(|ran| ran.call.clone());
        let last = newest.map(|call| self.told_name(&call));
        self.history.note_undone(&self.told_name(to), last.as_deref());
        self.trail.tip = reached.after;
        self.trail.undone = true;
        self.trail.under_way = None;
        Ok(())
    }

    /// A call as the model knows it: its tool, and the name that its server gave it.
    fn told_name(&self, call: &CallId) -> String {
        let found = self.proposals.iter().find(|proposal| proposal.call == *call);
        let name = |proposal: &super::Proposal| {
            let id = proposal.server_id.as_deref().unwrap_or(proposal.call.as_str());
            format!("{} ({id})", proposal.tool)
        };
        found.map_or_else(|| call.to_string(), |proposal| name(proposal))
    }
}
