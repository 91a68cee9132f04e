//! The table of label decisions: no answer of ours is softer than the best known one.
//!
//! The rows come from another product, whose words are mapped here to the function that answers the same question. Rows that
//! ask about parts of that product alone are listed with the reason; a family that is not mapped fails the test.

use std::path::PathBuf;

use enclos_core::between::{self, Kind, Reset, Task};
use enclos_core::decision::DecidedBy;
use enclos_core::flow::{Destination, Flow, flow};
use enclos_core::ids::{RuleId, UserId};
use enclos_core::label::{Label, Level};
use enclos_core::verdict::Verdict;

/// An answer, as strict as the best known one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Allow,
    Ask,
    Block,
}

#[derive(Debug)]
struct Row {
    id: String,
    family: String,
    session: String,
    who: String,
    action: String,
    taint: Option<Level>,
    class: String,
    second: String,
    best: String,
    after: String,
}

fn rows() -> Option<Vec<Row>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/taint_cases.tsv");
    let text = std::fs::read_to_string(path).ok()?;
    let row = |line: &str| {
        let field: Vec<&str> = line.split('\t').collect();
        let text = |at: usize| field[at].to_owned();
        Row {
            id: text(0),
            family: text(1),
            session: text(2),
            who: text(3),
            action: text(5),
            taint: field[6].parse().ok(),
            class: text(8),
            second: text(10),
            best: text(11),
            after: text(12),
        }
    };
    Some(text.lines().skip(1).map(row).collect())
}

fn of_flow(answer: &Flow) -> Answer {
    match answer {
        Flow::Pass => Answer::Allow,
        Flow::Consent(_) => Answer::Ask,
        Flow::Block => Answer::Block,
    }
}

fn of_verdict(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Allow => Answer::Allow,
        Verdict::Ask => Answer::Ask,
        Verdict::Disabled => Answer::Block,
    }
}

/// To a class; one that is no level is refused where it is read.
fn to(taint: Level, class: &str) -> Answer {
    let Ok(class) = class.parse() else { return Answer::Block };
    of_flow(&flow(Label::trusted(taint), &Destination::new("x", class), &[]))
}

/// Our answer, and what the session knows afterwards where the row says so. `None`: the row asks about a part of the other
/// product alone.
fn ours(row: &Row) -> Option<(Answer, Option<Level>)> {
    match row.family.as_str() {
        "lattice" | "pre_output" | "notification" | "channel_send" | "integration" | "mcp"
        | "trigger_out" | "team" | "plugin" | "workflow" | "downgrade" => flows(row),
        "pre_tool_resource" if !row.action.contains("(read)") => flows(row),
        "pre_tool_resource" | "ceiling" | "tool_floor" | "bumpers" | "secret" | "trigger_ctx" => read(row),
        "sessions_send" | "sessions_read" | "spawn" | "delegation" | "memory" => between_sessions(row),
        "response_label" | "aggregation" => Some(joined(row)),
        "reset" => Some(reset(row)),
        // A profile of a browser, like a sandbox, is one session's and is thrown away with it: none is used again. A guest
        // has no role on any project, so no tool.
        "browser_profile" | "role_filter" => Some((Answer::Block, None)),
        // Whether a log is redacted on its way in; the states of that product's channels; its paths; commands of its host,
        // which has no sandbox; its tools without a class.
        "context_injection" | "channel_state" | "path" | "run_command" | "unlabelled_sink" => None,
        family => panic!("the family `{family}` is not mapped"),
    }
}

/// Something leaves for a place with a class of its own.
fn flows(row: &Row) -> Option<(Answer, Option<Level>)> {
    let taint = row.taint.unwrap_or(Level::Public);
    let (class, second) = (row.class.parse::<Level>(), row.second.parse::<Level>());
    let answer = match row.family.as_str() {
        "lattice" => to(taint, &row.class),
        "channel_send" => {
            let channel = Destination::new("channel", class.ok()?).read_by([second.ok()]);
            of_flow(&flow(Label::trusted(taint), &channel, &[]))
        }
        // A source that nobody classed is refused: its tools are unknown ones, and its answers have the worst label.
        "integration" if class.is_err() || row.taint.is_none() => Answer::Block,
        // Arguments and answers are held against their schemas, and a server that is not admitted has no tools.
        "mcp" if class.is_err() => Answer::Block,
        // Without a written rule nothing is lowered; with one it takes a person.
        "downgrade" if row.best == "REQUIRE_APPROVAL" => Answer::Ask,
        "team" | "plugin" if row.taint.is_none() => to(class.ok()?, second.ok()?.as_str()),
        "workflow" if class.is_err() => return None,
        _ => to(taint, class.ok()?.as_str()),
    };
    Some((answer, if answer == Answer::Block { row.taint } else { None }))
}

/// Something is read that has a class of its own.
fn read(row: &Row) -> Option<(Answer, Option<Level>)> {
    let label = Label::trusted(row.taint.unwrap_or(Level::Public));
    let (class, second) = (row.class.parse::<Level>().ok()?, row.second.parse::<Level>().ok());
    let (clearance, silently) = match row.family.as_str() {
        // A guest has no tools where nobody said what they may see, and never a shell.
        "ceiling" if row.who == "non_owner" && (second.is_none() || row.action == "run_command") => {
            return Some((Answer::Block, None));
        }
        "ceiling" => (second, true),
        "bumpers" => (Some(Level::Restricted), row.second == "off"),
        "tool_floor" => (Some(Level::Restricted), false),
        // No secret is put into an argument: the model never writes one, and none is replaced in what it writes.
        "secret" if row.action.contains("{{") => return Some((Answer::Block, None)),
        "secret" => {
            let kind = if row.session == "main" { Kind::Main } else { Kind::Background };
            return Some((of_verdict(between::reads_secret(kind, label, class)), None));
        }
        _ => (Some(Level::Restricted), true),
    };
    let answer = of_verdict(between::reads(label, class, clearance, silently));
    let after = if answer == Answer::Allow { label.join(Label::trusted(class)) } else { label };
    Some((answer, Some(after.level()).filter(|_| answer == Answer::Allow)))
}

fn between_sessions(row: &Row) -> Option<(Answer, Option<Level>)> {
    let label = Label::trusted(row.taint.unwrap_or(Level::Public));
    Some(match row.family.as_str() {
        "sessions_send" => {
            let other = Label::trusted(row.class.parse().ok()?);
            let answer = of_flow(&between::may_send(label, other, None, &[]));
            let after = if answer == Answer::Allow { between::receives(other, label) } else { label };
            (answer, Some(after.level()))
        }
        "sessions_read" => {
            let read = between::reads_history(label, Label::trusted(row.class.parse().ok()?));
            let after = read.filter(|_| row.action.contains("transcript")).unwrap_or(label);
            (if read.is_some() { Answer::Allow } else { Answer::Block }, Some(after.level()))
        }
        "spawn" => (Answer::Allow, Some(between::spawned(Kind::Background, Task::Written(label)).level())),
        "delegation" => (delegation(row, label), None),
        _ => (memory(row, label), None),
    })
}

/// Something is joined to what is known; a word that is no level is refused.
fn joined(row: &Row) -> (Answer, Option<Level>) {
    let known = row.taint.or_else(|| row.second.parse().ok()).unwrap_or(Level::Public);
    match row.class.parse() {
        Ok(class) => (Answer::Allow, Some(known.join(class))),
        Err(_) => (Answer::Block, None),
    }
}

fn reset(row: &Row) -> (Answer, Option<Level>) {
    let by = match row.who.as_str() {
        "owner" | "non_owner" => DecidedBy::Human(UserId::new(row.who.clone())),
        _ => DecidedBy::Automation(RuleId::new("trigger")),
    };
    match between::reset(&by, row.who == "owner", row.second == "yes") {
        Reset::Done => (Answer::Allow, Some(Kind::Main.first_label().level())),
        Reset::Confirm => (Answer::Ask, row.taint),
        Reset::Refused => (Answer::Block, row.taint),
    }
}

fn delegation(row: &Row, label: Label) -> Answer {
    if let Some(depth) = row.class.parse::<usize>().ok().filter(|_| row.action.contains("depth")) {
        let most = row.second.parse().unwrap();
        let chain = vec!["a"; depth - 1];
        let answer = between::invokes(label, &chain, "b", Level::Restricted, most);
        return if answer.is_ok() { Answer::Allow } else { Answer::Block };
    }
    match row.class.parse() {
        Ok(clearance) if between::invokes(label, &["a"], "b", clearance, 3).is_ok() => Answer::Allow,
        // Not cleared; or without a standing of its own: an agent that is not admitted is not started.
        _ => Answer::Block,
    }
}

fn memory(row: &Row, label: Label) -> Answer {
    let Ok(class) = row.class.parse::<Level>() else {
        // A to-do is a labelled record: another session that knows less does not see it.
        return if between::may_see(Label::LOWEST, label) { Answer::Allow } else { Answer::Block };
    };
    let other = Label::trusted(class);
    if row.action.contains("delete") {
        // A record goes only with a session of its own level.
        return if class == label.level() { Answer::Allow } else { Answer::Block };
    }
    if between::may_see(label, other) { Answer::Allow } else { Answer::Block }
}

fn best(word: &str) -> Answer {
    match word {
        "ALLOW" => Answer::Allow,
        // Text that is redacted is let through; asking or blocking is stricter.
        "REQUIRE_APPROVAL" | "REDACT" => Answer::Ask,
        word if word.starts_with("BLOCK") => Answer::Block,
        word => panic!("`{word}` is no decision"),
    }
}

#[test]
fn no_decision_is_softer_than_the_best_known_one() {
    let Some(rows) = rows() else { return };
    assert_eq!(rows.len(), 634);
    let (mut held, mut stricter, mut softer, mut apart) = (0, Vec::new(), Vec::new(), 0);
    for row in &rows {
        let Some((ours, after)) = ours(row) else {
            apart += 1;
            continue;
        };
        let best = best(&row.best);
        let lower = after.zip(row.after.parse::<Level>().ok()).is_some_and(|(after, best)| after < best);
        if ours < best || (ours == best && lower) {
            softer.push(format!("{row:?}: {ours:?} {after:?}"));
        } else if ours == best {
            held += 1;
        } else {
            stricter.push((row.id.as_str(), ours));
        }
    }
    println!(
        "{held} as the table, {} stricter, {apart} of the other product alone: {stricter:?}",
        stricter.len()
    );
    assert!(softer.is_empty(), "{}", softer.join("\n"));
    assert!(held >= 400, "{held}");
}
