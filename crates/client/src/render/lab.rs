//! How the reports of the policy lab look.

use enclos_core::policy::{Answer, CellChange, Difference, Direction, RuleChange, SettingChange, Where};
use enclos_core::policy::{Role as Person, Surface};
use enclos_protocol::lab::{CaseResult, Change, Simulation, TestReport};
use serde_json::{Map, Value};

use crate::layout::{Gutter, Row, exact, words};
use crate::render::card::verdict_role;
use crate::style::Role;
use crate::text;

/// Signs of good and bad news.
const GOOD: &str = "✓ ";
const BAD: &str = "✗ ";

/// What came of a test: what failed in full, and the counts.
pub(crate) fn tested(report: &TestReport, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for example in &report.examples {
        let line = format!(
            "{}:{} {} {} {}",
            example.source,
            example.line,
            example.rule,
            text::example_kind(example.wanted),
            example.example
        );
        rows.extend(marked(example.passed, &line, width));
        if !example.passed {
            let by = text::decided_by(
                example.decided_by.as_str(),
                example.scope.as_str(),
                example.verdict.as_str(),
            );
            rows.extend(exact(&Gutter::spaces(4), Role::Bad, text::example_failed(example.wanted), width));
            rows.extend(exact(&Gutter::spaces(4), Role::Dim, &by, width));
        }
    }
    for case in &report.cases {
        rows.extend(case_rows(case, width));
    }
    for collision in &report.collisions {
        rows.extend(marked(false, collision, width));
    }
    if report.examples.is_empty() && report.cases.is_empty() {
        rows.extend(exact(&Gutter::default(), Role::Warn, text::NOTHING_TO_TEST, width));
    }
    let role = if report.failed == 0 { Role::Good } else { Role::Bad };
    rows.push(Row::of(role, &text::tested(report.passed, report.failed)));
    rows
}

fn marked(good: bool, line: &str, width: usize) -> Vec<Row> {
    let (role, sign) = if good { (Role::Good, GOOD) } else { (Role::Bad, BAD) };
    let gutter = Gutter { first: Row::of(role, sign), rest: Row::new().to(2) };
    exact(&gutter, Role::Plain, line, width)
}

fn case_rows(case: &CaseResult, width: usize) -> Vec<Row> {
    let args = case.args.to_string();
    let call = text::case_call(&case.tool, &args, case.role.as_str(), case.surface.as_str());
    let mut rows = marked(case.passed, &format!("{}:{} {call}", case.source, case.line), width);
    let Some(told) = &case.explanation else { return rows };
    let rule = case.wanted_rule.as_deref();
    let failed = text::case_failed(case.wanted.as_str(), rule, case.got.as_str(), case.got_rule.as_str());
    rows.extend(exact(&Gutter::spaces(4), Role::Bad, &failed, width));
    rows.extend(exact(&Gutter::spaces(4), Role::Plain, &told.reason, width));
    for piece in &told.pieces {
        rows.extend(crate::render::card::piece(&Row::new().to(4), piece, width));
    }
    for rule in &told.considered {
        let first = Row::new().to(4).and(verdict_role(rule.verdict), rule.verdict.as_str()).to(14);
        let line = format!("{}: {}", text::rule_of_scope(&rule.rule, &rule.scope), rule.why);
        rows.extend(exact(&Gutter { first, rest: Row::new().to(14) }, Role::Dim, &line, width));
    }
    for rule in &told.shadow {
        let name = text::rule_of_scope(rule.rule.as_str(), rule.scope.as_str());
        let line = format!("{name}: {}", text::would_say(rule.verdict.as_str()));
        rows.extend(exact(&Gutter::spaces(14), Role::Dim, &line, width));
    }
    rows
}

/// Two policies compared.
pub(crate) fn difference(difference: &Difference, width: usize) -> Vec<Row> {
    if difference.is_empty() {
        return vec![Row::of(Role::Good, text::NO_DIFFERENCE)];
    }
    let head = |title: &str, any: bool| any.then(|| Row::of(Role::Bold, title));
    let mut rows = Vec::new();
    rows.extend(head(text::DIFF_RULES, !difference.rules.is_empty()));
    rows.extend(difference.rules.iter().flat_map(|change| rule_rows(change, width)));
    rows.extend(head(text::DIFF_SETTINGS, !difference.settings.is_empty()));
    rows.extend(difference.settings.iter().flat_map(|change| setting_rows(change, width)));
    rows.extend(head(text::DIFF_CELLS, !difference.cells.is_empty()));
    rows.extend(difference.cells.iter().flat_map(|change| cell_rows(change, width)));
    for note in &difference.notes {
        let gutter = Gutter { first: Row::of(Role::Warn, "! "), rest: Row::new().to(2) };
        rows.extend(words(&gutter, Role::Plain, note, width));
    }
    rows
}

fn rule_rows(change: &RuleChange, width: usize) -> Vec<Row> {
    let (role, sign) = match (&change.before, &change.after) {
        (None, _) => (Role::Added, "+ "),
        (_, None) => (Role::Removed, "- "),
        (Some(_), Some(_)) => (Role::Warn, "~ "),
    };
    let gutter = Gutter { first: Row::new().to(2).and(role, sign), rest: Row::new().to(4) };
    let mut rows = exact(&gutter, Role::Plain, change.rule.as_str(), width);
    let line = |field: &str, value: String| {
        let first = Row::new().to(4).and(Role::Dim, field).to(14);
        exact(&Gutter { first, rest: Row::new().to(14) }, Role::Plain, &value, width)
    };
    let value = |fields: &Option<Map<String, Value>>, field: &str| {
        fields.as_ref().and_then(|fields| fields.get(field)).map_or_else(|| "–".to_owned(), Value::to_string)
    };
    match (&change.before, &change.after) {
        (Some(_), Some(_)) => {
            for field in &change.fields {
                let told = text::from_to(&value(&change.before, field), &value(&change.after, field));
                rows.extend(line(field, told));
            }
        }
        (Some(fields), None) | (None, Some(fields)) => {
            rows.extend(fields.iter().flat_map(|(field, value)| line(field, value.to_string())));
        }
        (None, None) => {}
    }
    rows
}

fn setting_rows(change: &SettingChange, width: usize) -> Vec<Row> {
    let told = text::from_to(&change.before.to_string(), &change.after.to_string());
    let first = directed(change.direction);
    exact(&Gutter { first, rest: Row::new().to(10) }, Role::Plain, &format!("{} {told}", change.key), width)
}

fn cell_rows(change: &CellChange, width: usize) -> Vec<Row> {
    let gutter = Gutter { first: directed(change.direction), rest: Row::new().to(10) };
    let mut rows = exact(&gutter, Role::Plain, &text::cell(change.seen, &change.name), width);
    let told = text::from_to(&answer(&change.before), &answer(&change.after));
    rows.extend(exact(&Gutter::spaces(10), Role::Plain, &told, width));
    for place in &change.places {
        rows.extend(exact(&Gutter::spaces(10), Role::Dim, &place_words(place), width));
    }
    rows
}

fn directed(direction: Direction) -> Row {
    let role = match direction {
        Direction::Softer => Role::Warn,
        Direction::Harder => Role::Good,
        Direction::Other => Role::Dim,
    };
    Row::new().to(2).and(role, direction.as_str()).to(10)
}

fn answer(answer: &Answer) -> String {
    let mut asks = Vec::new();
    asks.extend(answer.approvers.map(|role| text::approvers(role.as_str())));
    asks.extend((answer.quorum > 1).then(|| text::quorum(answer.quorum)));
    asks.extend(answer.remember.then(|| text::REMEMBERED.to_owned()));
    asks.extend(answer.person.then(|| text::PERSON_ONLY.to_owned()));
    text::answer(answer.verdict.as_str(), &asks, answer.rule.as_str())
}

fn place_words(place: &Where) -> String {
    let all_roles = place.roles.len() == Person::ALL.len();
    let all_surfaces = place.surfaces.len() == Surface::ALL.len();
    if all_roles && all_surfaces {
        return text::EVERYWHERE.to_owned();
    }
    let roles = place.roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ");
    let surfaces = place.surfaces.iter().map(|surface| surface.as_str()).collect::<Vec<_>>().join(", ");
    text::place(
        if all_roles { text::EVERY_ROLE } else { &roles },
        if all_surfaces { text::EVERY_SURFACE } else { &surfaces },
    )
}

/// What a candidate would have decided otherwise.
pub(crate) fn simulated(report: &Simulation, width: usize) -> Vec<Row> {
    let plain = Gutter::default();
    let looked = text::simulated(report.decisions, report.sessions, &report.since);
    let lost = report.not_replayed.iter().map(|lost| lost.count).sum();
    let mut rows = exact(&plain, Role::Plain, &looked, width);
    for source in &report.sources {
        rows.extend(exact(&Gutter::spaces(2), Role::Dim, source, width));
    }
    rows.extend(exact(
        &plain,
        Role::Bold,
        &text::simulation_counts(report.same, report.changed, lost),
        width,
    ));
    for lost in &report.not_replayed {
        rows.extend(exact(&Gutter::spaces(2), Role::Dim, &format!("{}: {}", lost.count, lost.reason), width));
    }
    rows.extend(report.changes.iter().flat_map(|change| change_rows(change, width)));
    rows
}

fn change_rows(change: &Change, width: usize) -> Vec<Row> {
    let gutter = Gutter { first: directed(change.direction), rest: Row::new().to(10) };
    let mut rows =
        exact(&gutter, Role::Plain, &text::change(&change.tool, &change.person, change.count), width);
    let before = text::verdict_by(
        change.before.as_str(),
        change.rule_before.as_ref().map(enclos_core::ids::RuleId::as_str),
    );
    let after = text::verdict_by(change.after.as_str(), Some(change.rule_after.as_str()));
    rows.extend(exact(&Gutter::spaces(10), Role::Plain, &text::from_to(&before, &after), width));
    let more = change.count.saturating_sub(change.examples.len() as u64);
    for one in &change.examples {
        let line =
            format!("{} {} {}: {}", one.time, one.session, one.call, crate::escape::one_line(&one.what));
        rows.extend(exact(&Gutter::spaces(10), Role::Dim, &line, width));
    }
    if more > 0 && !change.examples.is_empty() {
        rows.push(Row::new().to(10).and(Role::Dim, &text::more(more)));
    }
    rows
}
