//! The approval card: the exact command or the exact change, complete, and everything a person needs beside it.

use enclos_core::call::Call;
use enclos_core::command::Piece;
use enclos_core::noun::count;
use enclos_core::session::Approval;
use enclos_protocol::card::{Action as Shown, Card, Flagged};
use enclos_protocol::changeset::Hunk;
use enclos_protocol::event::Body;
use enclos_sandbox::FileOp;

use super::Live;
use super::handle::of;
use super::judge::Decided;
use super::names::Named;
use crate::changes;
use crate::clock::rfc3339;
use crate::effects::{self, Action, Run};

/// Bytes of a file that are read to show a change.
pub(super) const MOST_SHOWN: u64 = 8 * 1024 * 1024;

impl Live {
    /// Tells the card of a question.
    pub(super) fn show_card(&mut self, call: &Call, approval: &str, card: Card) {
        let body =
            Body::ApprovalRequested { of: of(call), approval: approval.to_owned(), card: Box::new(card) };
        self.teller.tell(body);
    }

    /// The card of a question.
    pub(super) fn card(
        &self,
        call: &Call,
        decided: &Decided,
        named: Option<&Named>,
        approval: &Approval,
    ) -> Card {
        let decision = &decided.decision;
        let could = self.here().who_could(approval);
        let (files, flagged) = if let Some(named) = named {
            (named.listed(), named.flagged())
        } else {
            let files: Vec<String> = named_file(&decided.action).into_iter().collect();
            let flagged = files.iter().flat_map(|file| flags(file)).collect();
            (files, flagged)
        };
        Card {
            tool: call.tool().to_owned(),
            title: title(&decided.action),
            action: self.shown(decided),
            directory: enclos_core::tool::WORKSPACE.to_owned(),
            flagged,
            files,
            beside: self.background_names(),
            raises: self.raises(&decided.action),
            rule: decision.rule.clone(),
            scope: format!("{} ({})", decision.scope, decision.source),
            reason: decision.reason.clone(),
            may_approve: could.is_none(),
            may_remember: approval.grantable.is_some(),
            patterns: self.offers(call, approval),
            needs: could.unwrap_or_else(|| needs(approval)),
            arguments: decided.args.canonical(),
            budget: self.budget_view(),
            expires: rfc3339(approval.expires_us),
            digest: approval.digest.as_str().to_owned(),
        }
    }

    fn shown(&self, decided: &Decided) -> Shown {
        let op = match &decided.action {
            Action::Command(run) => {
                return Shown::Command { text: run.text.clone(), pieces: decided.decision.pieces.clone() };
            }
            Action::Background(_) => return arguments(decided),
            Action::File(op) => op,
        };
        let before = named_file(&decided.action).map(|path| effects::peek(&self.sandbox, &path, MOST_SHOWN));
        let before = match before {
            Some(Ok(before)) => before,
            Some(Err(_)) | None => None,
        };
        match op {
            FileOp::Write { path, content } => diff(path, before, Some(content.clone())),
            FileOp::Edit { path, old, new } => match before.map(String::from_utf8) {
                Some(Ok(text)) if text.matches(old.as_str()).count() == 1 => {
                    let after = text.replacen(old.as_str(), new, 1);
                    diff(path, Some(text.into_bytes()), Some(after))
                }
                _ => arguments(decided),
            },
            FileOp::Delete { path, recursive: false } if before.is_some() => diff(path, before, None),
            FileOp::Delete { .. }
            | FileOp::Read { .. }
            | FileOp::List { .. }
            | FileOp::Glob { .. }
            | FileOp::Grep { .. }
            | FileOp::ReadBytes { .. }
            | FileOp::Stat { .. }
            | FileOp::Look { .. } => arguments(decided),
        }
    }
}

/// Characters that a line of a card has room for.
const LINE: usize = 72;

/// Lines that a text takes on a card.
pub(super) fn lines_of(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(LINE).max(1)).sum()
}

/// Lines that a card needs to show its action whole, with the pieces of a command and why each is judged as it is.
pub(super) fn lines(card: &Card) -> usize {
    match &card.action {
        Shown::Command { text, pieces } => {
            let of_piece = |piece: &Piece| lines_of(&piece.text) + lines_of(&piece.reason);
            lines_of(text) + pieces.iter().map(of_piece).sum::<usize>()
        }
        Shown::Diff { hunks, .. } => {
            hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| lines_of(&line.text).max(1)).sum::<usize>()
                + hunks.len()
        }
        Shown::Arguments { json } => lines_of(json),
    }
}

/// Whose yes counts, where not any does.
fn needs(approval: &Approval) -> String {
    let person = "a person at a terminal: the answer of a program does not count";
    if approval.needs.person { person.to_owned() } else { String::new() }
}

fn arguments(decided: &Decided) -> Shown {
    Shown::Arguments { json: decided.args.canonical() }
}

/// The change of one file. What is not text is said, not shown.
fn diff(path: &str, before: Option<Vec<u8>>, after: Option<String>) -> Shown {
    let note = match (&before, &after) {
        (None, _) => "new file",
        (Some(_), None) => "deletes the file",
        (Some(_), Some(_)) => "",
    };
    let path = path.to_owned();
    match String::from_utf8(before.unwrap_or_default()) {
        Ok(old) => {
            let hunks: Vec<Hunk> = changes::hunks(&old, &after.unwrap_or_default());
            Shown::Diff { path, hunks, note: note.to_owned() }
        }
        Err(bytes) => {
            let note =
                format!("{note}: the file is not text, {}", count(bytes.as_bytes().len(), "byte", "bytes"));
            Shown::Diff { path, hunks: Vec::new(), note: note.trim_start_matches(": ").to_owned() }
        }
    }
}

pub(super) fn named_file(action: &Action) -> Option<String> {
    match action {
        Action::File(
            FileOp::Write { path, .. }
            | FileOp::Edit { path, .. }
            | FileOp::Delete { path, .. }
            | FileOp::Read { path, .. },
        ) => Some(path.clone()),
        Action::File(_) | Action::Command(_) | Action::Background(_) => None,
    }
}

pub(super) fn title(action: &Action) -> String {
    match action {
        Action::Command(Run { terminal, background, .. }) => {
            let terminal = if *terminal { " with a terminal" } else { "" };
            match background {
                Some(name) => format!("start a command in the background as {name}{terminal}"),
                None => format!("run a command{terminal}"),
            }
        }
        Action::Background(look) => look.in_words(),
        Action::File(FileOp::Write { path, .. }) => format!("write {path}"),
        Action::File(FileOp::Edit { path, .. }) => format!("edit {path}"),
        Action::File(FileOp::Delete { path, recursive: true }) => format!("delete {path} and all below it"),
        Action::File(FileOp::Delete { path, .. }) => format!("delete {path}"),
        Action::File(FileOp::Read { path, .. }) => format!("read {path}"),
        Action::File(FileOp::List { path }) => format!("list {path}"),
        Action::File(FileOp::Glob { pattern, .. }) => format!("find {pattern}"),
        Action::File(FileOp::Grep { regex, .. }) => format!("search {regex}"),
        Action::File(FileOp::ReadBytes { path, .. } | FileOp::Stat { path }) => format!("look at {path}"),
        Action::File(FileOp::Look { words }) => format!("look at {}", words.join(" ")),
    }
}

/// Why a file is under dedicated control, by its path alone.
fn flags(path: &str) -> Vec<Flagged> {
    let flags = changes::flags_of_path(changes::in_workspace(path));
    flags.into_iter().map(|why| Flagged { path: path.to_owned(), why }).collect()
}
