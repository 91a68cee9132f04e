//! `approvals`, `approve`, `reject`, `grants`: questions that wait, from any terminal of the person.
//!
//! At a terminal the whole card is shown and a key answers it, as in the session itself. Without one it is a program
//! that answers: it is recorded as such, and refused where the rule wants a person.

use std::path::Path;

use enclos_protocol::api::Gateway;
use enclos_protocol::error::ApiError;
use enclos_protocol::order::Order;
use enclos_protocol::report::{Answered, ApprovalRow, GrantRow};

use crate::cli::{ApproveArgs, GrantsArgs, GrantsCommand, JsonArgs, RejectArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, name};
use crate::render::card;
use crate::render::table::table;
use crate::signals::Signals;
use crate::style::Role;
use crate::{resolve, terminal, text};

/// Lists the questions that wait.
pub(crate) fn list<G, M>(cx: &mut Context<'_, '_, M>, args: JsonArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let rows = cx.gateway()?.approvals()?;
    if args.json {
        cx.world.json(&rows)?;
    } else if rows.is_empty() {
        cx.world.rows(cx.look, &[Row::of(Role::Dim, text::NO_APPROVALS)])?;
    } else {
        cx.world.rows(cx.look, &listing(&rows, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn listing(rows: &[ApprovalRow], width: usize) -> Vec<Row> {
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                (Role::Bold, row.approval.clone()),
                (Role::Warn, text::waits(row)),
                (Role::Plain, row.tool.clone()),
                (Role::Dim, row.rule.clone()),
                (Role::Plain, row.card.as_ref().map(about).unwrap_or_default()),
            ]
        })
        .collect();
    table(&text::APPROVAL_HEADS, &lines, width)
}

/// What a question is about, in one line.
fn about(card: &enclos_protocol::card::Card) -> String {
    match &card.action {
        enclos_protocol::card::Action::Command { text, .. } => text.clone(),
        _ => card.title.clone(),
    }
}

/// Shows a card and takes the answer.
pub(crate) async fn approve<G, M>(
    cx: &mut Context<'_, '_, M>,
    args: ApproveArgs,
) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let gateway = cx.gateway()?;
    let person = cx.world.tty.input && cx.world.tty.output && !args.json.json;
    if person {
        let signals = Signals::catch()?;
        let attached = gateway.attend(&args.id)?;
        return terminal::follow(cx.world, cx.look, &gateway, attached, signals, false).await;
    }
    if !args.json.json {
        let shown = gateway.approvals()?.into_iter().find(|row| row.approval == args.id);
        if let Some(card) = shown.and_then(|row| row.card) {
            cx.world.rows(cx.look, &card::rows(&card, cx.look.width))?;
        }
    }
    let order = Order::Approve { approval: args.id, for_session: false, pattern: None };
    let answered = gateway.answer(order, false).await?;
    told(cx, &answered, args.json)
}

/// Refuses a question. What is refused need not be read.
pub(crate) async fn reject<G, M>(cx: &mut Context<'_, '_, M>, args: RejectArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let person = cx.world.tty.input && cx.world.tty.output;
    let word = args.say.filter(|word| !word.trim().is_empty());
    let order = Order::Reject { approval: args.id, word };
    let answered = cx.gateway()?.answer(order, person).await?;
    told(cx, &answered, args.json)
}

fn told<M>(cx: &mut Context<'_, '_, M>, answered: &Answered, args: JsonArgs) -> Result<Exit, CommandError> {
    if args.json {
        cx.world.json(answered)?;
    } else {
        let mut rows = vec![Row::of(Role::Good, &text::answered(answered))];
        if !answered.live {
            rows.push(Row::of(Role::Dim, &text::resume_it(answered.session.as_str())));
        }
        cx.world.rows(cx.look, &rows)?;
    }
    Ok(Exit::Done)
}

/// Lists grants, or revokes one.
pub(crate) async fn grants<G, M>(cx: &mut Context<'_, '_, M>, args: GrantsArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let gateway = cx.gateway()?;
    if let Some(GrantsCommand::Revoke(revoke)) = args.command {
        let row = gateway.revoke_grant(&revoke.id).await?;
        if revoke.json.json {
            cx.world.json(&row)?;
        } else {
            cx.world.rows(cx.look, &[Row::of(Role::Good, &text::revoked(&row))])?;
        }
        return Ok(Exit::Done);
    }
    let of = args.session.as_deref().map(|id| resolve::session(id, &gateway.sessions()?)).transpose()?;
    let rows = gateway.grants(of.as_ref())?;
    if args.json.json {
        cx.world.json(&rows)?;
    } else if rows.is_empty() {
        cx.world.rows(cx.look, &[Row::of(Role::Dim, text::NO_GRANTS)])?;
    } else {
        cx.world.rows(cx.look, &grant_listing(&rows, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn grant_listing(rows: &[GrantRow], width: usize) -> Vec<Row> {
    let lines: Vec<Vec<_>> = rows
        .iter()
        .map(|row| {
            let (role, state) = match &row.revoked_by {
                Some(user) => (Role::Dim, text::revoked_by(user)),
                None => (Role::Good, text::IN_FORCE.to_owned()),
            };
            vec![
                (Role::Bold, row.grant.clone()),
                (role, state),
                (Role::Plain, row.tool.clone()),
                (Role::Dim, text::given_by(&row.by, &row.given)),
                (Role::Dim, text::used(row)),
                (Role::Dim, row.expires.clone()),
            ]
        })
        .collect();
    let mut told = table(&text::GRANT_HEADS, &lines, width).into_iter();
    let mut listed: Vec<Row> = told.next().into_iter().collect();
    for (head, row) in told.zip(rows) {
        listed.push(head);
        listed.extend(name(&Gutter::spaces(2), Role::Plain, &text::covered(row), width));
    }
    listed
}
