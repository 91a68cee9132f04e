//! Before a call may change the workspace, what it is now is kept, so that the call can be undone.
//!
//! A call runs whether or not that succeeds; the journal says of each whether it can be gone back to. It decides
//! nothing about the call.

use enclos_core::ids::CallId;
use enclos_core::tool::changes_files;

use super::Live;
use crate::undo::{Keeper, Kept};

impl Live {
    /// Keeps what the workspace is before the one call of these that may change it. Gives that call, and the word for
    /// the journal.
    pub(super) async fn keep_moment(&mut self, calls: &[CallId]) -> Option<(CallId, &'static str)> {
        let changes = |call: &&CallId| self.find(call).is_some_and(|found| changes_files(found.tool()));
        let call = calls.iter().find(changes)?.clone();
        // What the layer says is known only on its host.
        if self.elsewhere.is_some() {
            return Some((call, "none"));
        }
        let mut keeper = match self.keeper.take() {
            Some(keeper) => keeper,
            None => Keeper::new(self.layer.parent()?.to_owned(), self.repo.clone(), self.lease.sealer()),
        };
        let asked = call.clone();
        let kept = tokio::task::spawn_blocking(move || {
            let kept = keeper.keep(&asked);
            (keeper, kept)
        });
        let kept = match kept.await {
            Ok((keeper, kept)) => {
                self.keeper = Some(keeper);
                kept
            }
            Err(error) => Kept::Failed(error.to_string()),
        };
        self.tell_moment(&call, &kept);
        Some((call, kept.as_str()))
    }

    /// Tells once that there is no way back.
    fn tell_moment(&mut self, call: &CallId, kept: &Kept) {
        let (Kept::Incomplete(why) | Kept::Failed(why)) = kept else {
            self.told_no_way_back = false;
            return;
        };
        if !std::mem::replace(&mut self.told_no_way_back, true) {
            self.teller.notice(format!("from {call} on, calls cannot be undone: {why}"));
        }
    }
}
