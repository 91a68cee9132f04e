//! `lineage …`: questions about where something came from, pictures, exports and their verification.

use std::path::Path;

use enclos_core::lineage::{Confidence, LineageId};
use enclos_protocol::api::Gateway;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lineage::{Answer, ExportRequest, Item, Question, Start, Verified};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::cli::{FromArgs, GraphArgs, JsonArgs, LineageCommand, LineageExportArgs, LineageVerifyArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::hi::absolute;
use crate::layout::{Gutter, Row, prose};
use crate::render::table::{pairs, table};
use crate::resolve;
use crate::style::Role;
use crate::text::{self, lineage as words};

/// Inputs that a line of the table names; the rest is counted.
const NAMED: usize = 4;

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// Runs a command about lineage.
pub(crate) fn run<G, M>(cx: &mut Context<'_, '_, M>, command: LineageCommand) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let gateway = cx.gateway()?;
    let (question, json) = match command {
        LineageCommand::Forward(args) => (Question::Forward(start(&gateway, &args.id)?), args.json),
        LineageCommand::Backward(args) => (Question::Backward(start(&gateway, &args.id)?), args.json),
        LineageCommand::Why(args) => (Question::Why(start(&gateway, &args.id)?), args.json),
        LineageCommand::Records(args) => (records(&gateway, &args)?, args.json),
        LineageCommand::Impact(args) => {
            let since_us = since(cx, args.since.since.as_deref())?;
            (Question::Impact { source: args.source, since_us }, args.since.json)
        }
        LineageCommand::Hunk(args) => {
            let session = resolve::session(&args.session, &gateway.sessions()?)?;
            (Question::Hunk { session, path: args.path, line: args.line }, args.json)
        }
        LineageCommand::Downgrades(args) => {
            (Question::Downgrades { since_us: since(cx, args.since.as_deref())? }, args.json)
        }
        LineageCommand::Graph(args) => return graph(cx, &gateway, &args),
        LineageCommand::Export(args) => return export(cx, &gateway, &args),
        LineageCommand::Verify(args) => return verify(cx, &gateway, &args),
    };
    let answer = gateway.lineage(&question)?;
    told(cx, &answer, json)
}

/// Where a walk begins.
fn start<G: Gateway>(gateway: &G, id: &str) -> Result<Start, CommandError> {
    if id.starts_with("lin_") {
        let record = LineageId::parse(id);
        let unknown = || CommandError::new(Fault::NotFound, words::no_record(id)).hint(words::HINT_RECORDS);
        return record.map(Start::Record).ok_or_else(unknown);
    }
    Ok(Start::Session(resolve::session(id, &gateway.sessions()?)?))
}

fn records<G: Gateway>(gateway: &G, args: &FromArgs) -> Result<Question, CommandError> {
    Ok(match start(gateway, &args.id)? {
        Start::Record(id) => Question::Records(id.session().clone()),
        Start::Session(session) => Question::Records(session),
    })
}

/// A time as it is typed, in microseconds of the Unix epoch; the beginning of all when none is.
fn since<M>(cx: &Context<'_, '_, M>, typed: Option<&str>) -> Result<i64, CommandError> {
    let Some(typed) = typed else { return Ok(0) };
    let now_us = (cx.world.now)().as_microsecond();
    read_time(typed, now_us).ok_or_else(|| CommandError::usage(words::no_time(typed)))
}

fn read_time(typed: &str, now_us: i64) -> Option<i64> {
    if let Some(days) = typed.strip_suffix('d') {
        let days: u32 = days.parse().ok()?;
        return Some(now_us.saturating_sub(i64::from(days).saturating_mul(DAY_US)));
    }
    if let Ok(time) = typed.parse::<Timestamp>() {
        return Some(time.as_microsecond());
    }
    let day: Date = typed.parse().ok()?;
    Some(TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?.as_microsecond())
}

fn told<M>(cx: &mut Context<'_, '_, M>, answer: &Answer, json: JsonArgs) -> Result<Exit, CommandError> {
    if json.json {
        cx.world.json(answer)?;
    } else {
        cx.world.rows(cx.look, &rows(answer, cx.look.width))?;
    }
    Ok(Exit::Done)
}

/// An answer as a table.
fn rows(answer: &Answer, width: usize) -> Vec<Row> {
    if answer.records.is_empty() {
        return vec![Row::of(Role::Dim, words::NOTHING)];
    }
    let lines: Vec<_> = answer
        .records
        .iter()
        .map(|item| {
            let class = &item.record.classification;
            let made = item.record.transformations.first();
            vec![
                (Role::Bold, item.record.lineage_id.to_string()),
                (Role::Plain, item.kind.as_str().to_owned()),
                (Role::Warn, format!("{}/{}", class.level, class.provenance)),
                (Role::Plain, item.record.origin.source_name.clone()),
                (Role::Dim, made.map(|made| made.kind.clone()).unwrap_or_default()),
                (Role::Dim, inputs(item, answer)),
            ]
        })
        .collect();
    let mut rows = table(&words::HEADS, &lines, width);
    if answer.links.iter().any(|link| link.confidence == Confidence::Assumed) {
        rows.push(Row::of(Role::Dim, words::ASSUMED));
    }
    rows.extend(words::left_out(answer).iter().map(|told| Row::of(Role::Warn, told)));
    rows.push(Row::of(Role::Dim, words::NEXT));
    rows
}

/// What a record was made of: the numbers of records of its own session, whole names of others.
fn inputs(item: &Item, answer: &Answer) -> String {
    let id = &item.record.lineage_id;
    let all: Vec<&LineageId> =
        item.record.transformations.iter().flat_map(|made| &made.input_lineage_ids).collect();
    let mut named: Vec<String> = all
        .iter()
        .take(NAMED)
        .map(|input| {
            let link = answer.links.iter().find(|link| link.to == *id && link.from == **input);
            let assumed = link.is_some_and(|link| link.confidence == Confidence::Assumed);
            let name = if input.session() == id.session() {
                format!("_{}", input.number())
            } else {
                input.to_string()
            };
            if assumed { format!("~{name}") } else { name }
        })
        .collect();
    if all.len() > NAMED {
        named.push(format!("and {} more", all.len() - NAMED));
    }
    if let Some(rule) = &item.downgrade_rule {
        named.push(format!("under {rule}"));
    }
    named.join(" ")
}

fn graph<G: Gateway, M>(
    cx: &mut Context<'_, '_, M>,
    gateway: &G,
    args: &GraphArgs,
) -> Result<Exit, CommandError> {
    let drawing = gateway.lineage_graph(&start(gateway, &args.id)?, args.reader.clearance)?;
    std::fs::write(&args.output, &drawing.svg)
        .map_err(|error| CommandError::file(text::WRITE, &args.output, &error))?;
    if args.json.json {
        cx.world.json(&drawing)?;
    } else {
        let told = words::drawn(&drawing, &args.output.display().to_string());
        cx.world.rows(cx.look, &[Row::of(Role::Good, &told)])?;
    }
    Ok(Exit::Done)
}

fn export<G: Gateway, M>(
    cx: &mut Context<'_, '_, M>,
    gateway: &G,
    args: &LineageExportArgs,
) -> Result<Exit, CommandError> {
    let question = match (start(gateway, &args.id)?, args.forward) {
        (start, true) => Question::Forward(start),
        (Start::Session(session), false) => Question::Records(session),
        (start @ Start::Record(_), false) => Question::Backward(start),
    };
    let request =
        ExportRequest { question, clearance: args.reader.clearance, folder: absolute(&args.output)? };
    let exported = gateway.lineage_export(&request)?;
    if args.json.json {
        cx.world.json(&exported)?;
    } else {
        let rows: Vec<Row> =
            words::written(&exported).iter().map(|told| Row::of(Role::Plain, told)).collect();
        cx.world.rows(cx.look, &rows)?;
    }
    Ok(Exit::Done)
}

fn verify<G: Gateway, M>(
    cx: &mut Context<'_, '_, M>,
    gateway: &G,
    args: &LineageVerifyArgs,
) -> Result<Exit, CommandError> {
    let verified = gateway.lineage_verify(&args.folder, args.key.as_deref())?;
    if args.json.json {
        cx.world.json(&verified)?;
    } else {
        cx.world.rows(cx.look, &verification(&verified, cx.look.width))?;
    }
    Ok(if verified.ok { Exit::Done } else { Exit::Passed(1) })
}

fn verification(found: &Verified, width: usize) -> Vec<Row> {
    let (role, sign) = if found.ok { (Role::Good, "✓ ") } else { (Role::Bad, "✗ ") };
    let gutter = Gutter { first: Row::of(role, sign), rest: Row::new().to(2) };
    let mut rows = prose(&gutter, Role::Plain, &found.message, width);
    let facts = [
        (words::RECORDS_CHECKED, found.records.to_string()),
        (words::WITHHELD, found.withheld.to_string()),
        (words::ENTRIES_CHECKED, found.entries.to_string()),
        (words::SIGNED_BY, found.signer.clone()),
        (text::VERIFY_ANCHOR, text::anchor(&found.anchor)),
    ];
    rows.extend(pairs(&facts, width));
    rows
}

#[cfg(test)]
mod tests {
    use super::read_time;

    #[test]
    fn a_time_is_a_day_an_instant_or_days_ago() {
        let day = 86_400_000_000;
        assert_eq!(read_time("1970-01-02", 0), Some(day));
        assert_eq!(read_time("1970-01-02T00:00:01Z", 0), Some(day + 1_000_000));
        assert_eq!(read_time("2d", 5 * day), Some(3 * day));
        for wrong in ["", "d", "-1d", "yesterday", "1.5d", "2026-13-01"] {
            assert_eq!(read_time(wrong, 0), None, "{wrong}");
        }
    }
}
