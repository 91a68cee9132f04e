//! What a change of a scope's policy makes looser: for the scope, and for each scope below that has a policy.
//!
//! Said before the change is made. The journal keeps it with the change, without the names of rules, the words of commands
//! and the values of settings, which are the text's and sealed with it. Nothing here decides whether the change is made.

use std::collections::BTreeSet;

use enclos_core::policy::{CellChange, Direction, MAX_BYTES, Policy, Seen, SettingChange};

use super::save::{Desk, Replacement};
use super::{ScopeName, lying, read, save};

/// The most changes that are told of one change of a policy.
const MOST: usize = 40;

/// Something that gives more room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Looser {
    /// In words, for the person.
    pub(super) told: String,
    /// For the journal.
    pub(super) kept: String,
}

impl Looser {
    fn plain(words: impl Into<String>) -> Self {
        let told = words.into();
        Self { kept: told.clone(), told }
    }

    fn of_setting(change: &SettingChange) -> Self {
        Self {
            told: format!("`{}`: {} → {}", change.key, change.before, change.after),
            kept: format!("setting `{}`", change.key),
        }
    }

    fn of_cell(change: &CellChange) -> Self {
        let CellChange { before, after, .. } = change;
        let what = match change.seen {
            Seen::Category => "category",
            Seen::Tool => "tool",
            Seen::Command => "command",
            Seen::Call => "call",
        };
        let less = if before.verdict == after.verdict { ", with less asked for" } else { "" };
        let name = match change.seen {
            Seen::Category | Seen::Tool => format!(" `{}`", change.name),
            Seen::Command | Seen::Call => String::new(),
        };
        Self {
            told: format!(
                "{what} `{}`: {} by `{}` → {} by `{}`{less}",
                change.name, before.verdict, before.rule, after.verdict, after.rule
            ),
            kept: format!("{what}{name}: {} → {}{less}", before.verdict, after.verdict),
        }
    }

    /// The same of another scope.
    fn below(self, scope: &ScopeName) -> Self {
        Self { told: format!("{scope}: {}", self.told), kept: format!("{scope}: {}", self.kept) }
    }
}

impl Desk<'_> {
    /// What gives more room once the text of a scope is replaced, in words.
    pub(super) fn loosened(&self, scope: &ScopeName, mine: Replacement<'_>) -> Vec<Looser> {
        let mut told: Vec<Looser> = Vec::new();
        let file = scope.file(self.places);
        if read(&file, MAX_BYTES).is_err() || !self.loads(scope) {
            told.push(Looser::plain(format!(
                "the policy of the {scope} cannot be read now, so that no agent receives a tool: after this they do"
            )));
        }
        let left = self.texts(&scope.line(), Some(mine)).is_ok_and(|texts| texts.is_empty());
        if left && lying(&file).is_some() {
            told.push(Looser::plain(
                "no scope has a policy any more: what a session is given by `--preset` or `--policy` counts",
            ));
        }
        told.extend(self.softer(scope, mine));
        let own: BTreeSet<Looser> = told.iter().cloned().collect();
        for lower in ScopeName::written(self.places).iter().filter(|lower| scope.is_above(lower)) {
            let new = self.softer(lower, mine).into_iter().filter(|line| !own.contains(line));
            told.extend(new.map(|line| line.below(lower)));
        }
        let more = told.len().saturating_sub(MOST);
        told.truncate(MOST);
        told.extend((more > 0).then(|| Looser::plain(format!("and {more} more"))));
        told
    }

    /// Whether the policy of a scope, with those above, is understood.
    fn loads(&self, scope: &ScopeName) -> bool {
        let texts = self.texts(&scope.line(), None);
        texts.is_ok_and(|texts| Policy::load_standing(&save::layers_of(&texts)).is_ok())
    }

    fn softer(&self, scope: &ScopeName, mine: Replacement<'_>) -> Vec<Looser> {
        let policy = |mine: Option<Replacement<'_>>| {
            let texts = self.texts(&scope.line(), mine).ok()?;
            Policy::load_standing(&save::layers_of(&texts)).ok()
        };
        let (Some(old), Some(new)) = (policy(None), policy(Some(mine))) else { return Vec::new() };
        let difference = old.difference(&new);
        let softer = |direction: Direction| direction != Direction::Harder;
        let settings =
            difference.settings.iter().filter(|change| softer(change.direction)).map(Looser::of_setting);
        let cells = difference.cells.iter().filter(|change| softer(change.direction)).map(Looser::of_cell);
        let notes = difference
            .notes
            .iter()
            .map(|note| Looser { told: note.clone(), kept: "calls to compare by eye".to_owned() });
        settings.chain(cells).chain(notes).collect()
    }
}
