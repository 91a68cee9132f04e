//! `diff`, `apply`, `undo`, `discard`: the change set, and what a person does with it.

use std::path::Path;

use enclos_protocol::api::Gateway;
use enclos_protocol::changeset::{AppliedView, UndoneView};
use enclos_protocol::error::ApiError;
use serde_json::json;

use crate::cli::{ApplyArgs, DiffArgs, OneArgs, UndoArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, exact, name, words};
use crate::render::change;
use crate::style::Role;
use crate::{terminal, text};

/// Shows a change set.
pub(crate) fn diff<G, M>(cx: &mut Context<'_, '_, M>, args: &DiffArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    let set = gateway.diff(&session)?;
    let width = cx.look.width;
    if args.json {
        cx.world.json(&set)?;
    } else if args.patch && !cx.world.tty.output {
        cx.world.out.write_all(set.patch.as_bytes())?;
        cx.world.out.flush()?;
    } else if args.patch {
        // To be read, not applied: a terminal is never given the repository's own bytes.
        cx.world.rows(cx.look, &exact(&Gutter::default(), Role::Plain, &set.patch, width))?;
    } else if args.stat {
        let mut rows: Vec<Row> = set.files.iter().flat_map(|view| change::file(view, width)).collect();
        rows.extend(change::remarks(&set, width));
        cx.world.rows(cx.look, &rows)?;
    } else {
        cx.world.rows(cx.look, &change::whole(&set, width))?;
    }
    Ok(Exit::Done)
}

/// Applies a change set.
pub(crate) fn apply<G, M>(cx: &mut Context<'_, '_, M>, args: ApplyArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    let at_terminal = cx.world.tty.input && cx.world.tty.output;
    let applied = gateway.apply(&session, args.files, args.release, at_terminal)?;
    if args.json.json {
        cx.world.json(&applied)?;
    } else {
        let mut rows = applied_rows(&applied, cx.look.width);
        if !applied.left.is_empty() {
            let next = text::applied_left(session.as_str(), &applied.left);
            rows.extend(words(&Gutter::spaces(0), Role::Dim, &next, cx.look.width));
        }
        cx.world.rows(cx.look, &rows)?;
    }
    Ok(Exit::Done)
}

/// What an acceptance applied, as rows.
pub(crate) fn applied_rows(applied: &AppliedView, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (role, sign, files) in [
        (Role::Good, "✓", &applied.files),
        (Role::Warn, "⑂", &applied.merged),
        (Role::Dim, "-", &applied.left),
    ] {
        let gutter = Gutter { first: Row::of(role, sign).to(2), rest: Row::new().to(2) };
        rows.extend(files.iter().flat_map(|file| name(&gutter, Role::Plain, file, width)));
    }
    let sum = text::applied(applied.files.len(), applied.merged.len(), applied.left.len());
    rows.push(Row::of(Role::Bold, &sum));
    rows
}

/// Puts the files of a session back.
pub(crate) async fn undo<G, M>(cx: &mut Context<'_, '_, M>, args: UndoArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    let at_terminal = cx.world.tty.input && cx.world.tty.output;
    let undone = gateway.undo(&session, args.to.as_deref(), at_terminal).await?;
    if args.json.json {
        cx.world.json(&undone)?;
    } else {
        cx.world.rows(cx.look, &undone_rows(&undone, cx.look.width))?;
    }
    Ok(Exit::Done)
}

/// What an undo put back, as rows.
fn undone_rows(undone: &UndoneView, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (role, sign, files) in [
        (Role::Good, "↺", &undone.restored),
        (Role::Good, "+", &undone.recreated),
        (Role::Warn, "-", &undone.removed),
    ] {
        let gutter = Gutter { first: Row::of(role, sign).to(2), rest: Row::new().to(2) };
        rows.extend(files.iter().flat_map(|file| name(&gutter, Role::Plain, file, width)));
    }
    if !undone.left_out.is_empty() {
        let told = text::undo_left_out(&undone.left_out.join(", "));
        rows.extend(words(&Gutter::default(), Role::Dim, &told, width));
    }
    let sum =
        text::undone(undone.to.as_str(), undone.restored.len(), undone.recreated.len(), undone.removed.len());
    rows.extend(words(&Gutter::default(), Role::Bold, &sum, width));
    rows.extend(words(&Gutter::default(), Role::Dim, &text::undo_next(undone.session.as_str()), width));
    rows
}

/// Throws a change set away.
pub(crate) fn discard<G, M>(cx: &mut Context<'_, '_, M>, args: &OneArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    gateway.discard(&session)?;
    if args.json.json {
        cx.world.json(&json!({ "session": session, "discarded": true }))?;
    } else {
        cx.world.rows(cx.look, &[Row::of(Role::Good, &text::discarded(session.as_str()))])?;
    }
    Ok(Exit::Done)
}

/// Erases a session, once a person confirmed it in words.
pub(crate) fn reset<G, M>(cx: &mut Context<'_, '_, M>, args: &OneArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    let at_terminal = cx.world.tty.input && cx.world.tty.output;
    let confirmed = at_terminal && {
        let told = text::reset_asks(session.as_str());
        cx.world.rows(cx.look, &words(&Gutter::default(), Role::Warn, &told, cx.look.width))?;
        terminal::ask(text::RESET_PROMPT)?.is_some_and(|line| line.trim() == text::RESET_WORD)
    };
    // Where nobody sits there is nobody to confirm it, and the gateway says so.
    gateway.reset(&session, confirmed || !at_terminal, at_terminal)?;
    if args.json.json {
        cx.world.json(&json!({ "session": session, "reset": true }))?;
    } else {
        cx.world.rows(cx.look, &[Row::of(Role::Good, &text::reset_done(session.as_str()))])?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use enclos_core::ids::{CallId, SessionId};
    use enclos_protocol::changeset::UndoneView;
    use enclos_protocol::event::SessionState;

    use super::undone_rows;
    use crate::style::Paint;

    #[test]
    fn an_undo_says_what_it_put_back_and_what_comes_next() {
        let undone = UndoneView {
            session: SessionId::new("sess_01kb"),
            to: CallId::new("call_3"),
            restored: vec!["src/lib.rs".to_owned()],
            removed: vec!["new\u{1b}[31m.txt".to_owned()],
            recreated: vec!["README.md".to_owned()],
            left_out: vec!["target".to_owned()],
            session_state: SessionState::WaitingInput,
        };
        let rows = undone_rows(&undone, 80);
        let shown: String = rows.iter().map(|row| row.render(Paint::PLAIN) + "\n").collect();
        insta::assert_snapshot!("undone", shown);
    }
}
