//! `sessions`, `show`, `stop`: what there is, and the end of it.

use std::path::Path;

use enclos_protocol::api::Gateway;
use enclos_protocol::error::ApiError;
use enclos_protocol::event::SessionState;
use enclos_protocol::report::{SessionDetail, SessionRow};
use serde_json::json;

use crate::cli::{JsonArgs, OneArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, words};
use crate::render::table::{pairs, table};
use crate::render::title;
use crate::style::Role;
use crate::text;

/// Lists sessions.
pub(crate) fn list<G, M>(cx: &mut Context<'_, '_, M>, args: JsonArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let rows = cx.gateway()?.sessions()?;
    if args.json {
        cx.world.json(&rows)?;
    } else if rows.is_empty() {
        cx.world.rows(cx.look, &[Row::of(Role::Dim, text::NO_SESSIONS_YET)])?;
    } else {
        cx.world.rows(cx.look, &listing(&rows, cx.look.width))?;
    }
    Ok(Exit::Done)
}

/// The listing as rows.
fn listing(rows: &[SessionRow], width: usize) -> Vec<Row> {
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                (Role::Bold, row.session.to_string()),
                (state_role(row), state_words(row)),
                (Role::Dim, text::minute(&row.opened)),
                (Role::Plain, folder(&row.repo)),
                (Role::Plain, title::first_line(&row.task)),
            ]
        })
        .collect();
    table(&text::SESSION_HEADS, &lines, width)
}

fn folder(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn state_words(row: &SessionRow) -> String {
    match (row.outcome, row.live) {
        (Some(outcome), _) => text::outcome(outcome).to_owned(),
        (None, true) => text::at_work(&text::live(row.state), row.background.len()),
        // Its gateway ended without a word: killed, or the machine went down.
        (None, false) if is_busy(row) => text::INTERRUPTED.to_owned(),
        (None, false) => text::state(row.state).to_owned(),
    }
}

fn is_busy(row: &SessionRow) -> bool {
    matches!(row.state, SessionState::Opening | SessionState::Running)
}

fn state_role(row: &SessionRow) -> Role {
    match row.state {
        SessionState::Closed => Role::Dim,
        _ if is_busy(row) && row.live => Role::Good,
        _ => Role::Warn,
    }
}

/// Shows one session.
pub(crate) fn show<G, M>(cx: &mut Context<'_, '_, M>, args: &OneArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    let detail = gateway.show(&session)?;
    if args.json.json {
        cx.world.json(&detail)?;
    } else {
        cx.world.rows(cx.look, &detail_rows(&detail, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn detail_rows(detail: &SessionDetail, width: usize) -> Vec<Row> {
    let row = &detail.row;
    let mut told = vec![
        (text::SHOW_SESSION, row.session.to_string()),
        (text::SHOW_STATE, state_words(row)),
        (text::SHOW_REPO, row.repo.clone()),
        (text::SHOW_TASK, row.task.clone()),
        (text::SHOW_MODEL, detail.model.clone()),
        (text::SHOW_OPENED, row.opened.clone()),
        (text::SHOW_POLICY, detail.policy_digest.clone()),
        (text::SHOW_LABEL, detail.label.to_string()),
        (text::SHOW_BUDGET, text::budget_left(&detail.budget)),
        (text::SHOW_JOURNAL, text::journal_head(detail.entries, &detail.head)),
    ];
    if !row.background.is_empty() {
        told.insert(2, (text::SHOW_BACKGROUND, row.background.join(", ")));
    }
    let mut rows = pairs(&told, width);
    rows.push(Row::new());
    for line in &detail.timeline {
        let first =
            Row::of(Role::Dim, &text::clock(&line.time)).and(Role::Plain, " ").and(Role::Bold, &line.kind);
        let first = first.to(30).and(Role::Plain, " ");
        rows.extend(words(&Gutter { first, rest: Row::new().to(4) }, Role::Plain, &line.text, width));
    }
    rows
}

/// Stops a session.
pub(crate) async fn stop<G, M>(cx: &mut Context<'_, '_, M>, args: &OneArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (gateway, session) = cx.of(&args.id)?;
    gateway.stop(&session).await?;
    if args.json.json {
        cx.world.json(&json!({ "session": session, "stopped": true }))?;
    } else {
        cx.world.rows(cx.look, &[Row::of(Role::Good, &text::stopped(session.as_str()))])?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use enclos_core::ids::SessionId;
    use enclos_core::label::{Label, Level};
    use enclos_protocol::event::{Amounts, BudgetView, Outcome, SessionState};
    use enclos_protocol::report::{SessionDetail, SessionRow, TimelineLine};

    use super::{detail_rows, listing};
    use crate::layout::Row;
    use crate::style::Paint;

    fn row(name: &str, state: SessionState, outcome: Option<Outcome>, task: &str) -> SessionRow {
        SessionRow {
            session: SessionId::new(name),
            state,
            outcome,
            repo: "/home/ada/site".to_owned(),
            task: task.to_owned(),
            opened: "2026-11-30T12:00:00.123456Z".to_owned(),
            live: state == SessionState::Running,
            background: Vec::new(),
        }
    }

    fn shown(rows: &[Row]) -> String {
        rows.iter().map(|row| row.render(Paint::PLAIN) + "\n").collect()
    }

    #[test]
    fn a_listing_and_a_detail() {
        let rows = [
            row("sess_01kb", SessionState::Running, None, "fix the failing test\nand more"),
            row("sess_01ka", SessionState::Closed, Some(Outcome::Accepted), "write \u{1b}[31mred"),
        ];
        insta::assert_snapshot!("listing", shown(&listing(&rows, 100)));
        let detail = SessionDetail {
            row: rows[1].clone(),
            model: "script".to_owned(),
            policy_digest: "sha256:ab".to_owned(),
            label: Label::untrusted(Level::Internal),
            budget: BudgetView {
                used: Amounts { actions: 4, minutes: 1, tokens: 900, commands: 2 },
                granted: Amounts { actions: 150, minutes: 45, tokens: 2_000_000, commands: 150 },
                extensions_left: 5,
            },
            timeline: vec![TimelineLine {
                time: "2026-11-30T12:00:01.123456Z".to_owned(),
                kind: "call.decided".to_owned(),
                text: "bash: allowed by ada".to_owned(),
            }],
            entries: 17,
            head: "00ff".to_owned(),
        };
        insta::assert_snapshot!("detail", shown(&detail_rows(&detail, 80)));
    }
}
