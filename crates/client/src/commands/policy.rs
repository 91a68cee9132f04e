//! `policy check`, `policy explain`, `policy explain-command`: what the policy says, and why.

use std::path::Path;

use enclos_core::policy::Shadow;
use enclos_protocol::api::{At, CommandQuestion, ExplainRequest, Gateway, OutsideRequest};
use enclos_protocol::error::ApiError;
use enclos_protocol::report::{Approve, CommandExplanation, Explanation, PolicyReport};

use crate::cli::{CheckArgs, DecideArgs, ExplainArgs, ExplainCommandArgs, Switch};
use crate::commands::{Context, batch, decide};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::hi;
use crate::layout::{Gutter, Row, exact, words};
use crate::render::card::{piece, verdict_role};
use crate::render::table::pairs;
use crate::style::Role;
use crate::text;

/// Reads policy files.
pub(crate) fn check<G, M>(cx: &mut Context<'_, '_, M>, args: &CheckArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let report = cx.gateway()?.policy_check(&args.files)?;
    if args.json.json {
        cx.world.json(&report)?;
    } else {
        cx.world.rows(cx.look, &check_rows(&report, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn check_rows(report: &PolicyReport, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, source) in report.sources.iter().enumerate() {
        let gutter = Gutter { first: Row::of(Role::Good, "✓ "), rest: Row::new().to(2) };
        rows.extend(exact(&gutter, Role::Plain, source, width));
        let file = report.files.get(at).map(|file| text::file_digest(&file.digest));
        rows.extend(file.map(|file| Row::new().to(2).and(Role::Dim, &file)));
    }
    rows.push(Row::new().to(2).and(Role::Plain, &text::policy_counts(report.rules, report.examples)));
    rows.push(Row::new().to(2).and(Role::Dim, &text::policy_digest(&report.digest)));
    for note in &report.notes {
        let gutter = Gutter { first: Row::of(Role::Dim, "· "), rest: Row::new().to(2) };
        rows.extend(exact(&gutter, Role::Plain, note, width));
    }
    rows
}

/// The repository that counts: the one that was named, else that of the current folder, as for a session.
pub(crate) fn at(repo: Option<&Path>) -> Result<At, CommandError> {
    match repo {
        Some(folder) => hi::absolute(folder).map(At::Repo),
        None => hi::absolute(Path::new(".")).map(At::Here),
    }
}

/// Says why a call gets its verdict.
pub(crate) fn explain<G, M>(cx: &mut Context<'_, '_, M>, args: ExplainArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let request = ExplainRequest {
        tool: args.tool,
        args: args.args,
        role: args.role,
        surface: args.surface,
        preset: args.preset,
        policy: args.policy,
        at: at(args.repo.as_deref())?,
    };
    let explanation = cx.gateway()?.policy_explain(&request)?;
    if args.json.json {
        cx.world.json(&explanation)?;
    } else {
        cx.world.rows(cx.look, &explain_rows(&explanation, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn explain_rows(told: &Explanation, width: usize) -> Vec<Row> {
    let mut rows = vec![Row::of(verdict_role(told.verdict), told.verdict.as_str())];
    let mut lines = vec![
        (text::EXPLAIN_RULE, text::rule_of_scope(&told.rule, &told.scope)),
        (text::EXPLAIN_WHY, told.reason.clone()),
    ];
    lines.extend(told.approve.as_ref().map(|approve| (text::EXPLAIN_ASKS, asks(approve))));
    lines.push((text::EXPLAIN_FOR, text::judged_for(told.role.as_str(), told.surface.as_str())));
    lines.push((text::POLICY_DIGEST, told.policy_digest.clone()));
    rows.extend(pairs(&lines, width));
    for note in &told.notes {
        let gutter = Gutter { first: Row::of(Role::Warn, "! "), rest: Row::new().to(2) };
        rows.extend(words(&gutter, Role::Plain, note, width));
    }
    if !told.pieces.is_empty() {
        rows.push(Row::new());
        rows.extend(told.pieces.iter().flat_map(|one| piece(&Row::new().to(2), one, width)));
    }
    if !told.considered.is_empty() || !told.shadow.is_empty() {
        rows.extend([Row::new(), Row::of(Role::Bold, text::EXPLAIN_CONSIDERED)]);
    }
    for rule in &told.considered {
        let sign = if rule.rule == told.rule { "▸ " } else { "  " };
        let first = Row::of(Role::Bold, sign).and(verdict_role(rule.verdict), rule.verdict.as_str()).to(12);
        let name = text::rule_of_scope(&rule.rule, &rule.scope);
        rows.extend(exact(&Gutter { first, rest: Row::new().to(12) }, Role::Plain, &name, width));
        rows.extend(exact(&Gutter::spaces(12), Role::Dim, &rule.why, width));
    }
    rows.extend(told.shadow.iter().flat_map(|rule| shadow(rule, width)));
    rows
}

/// A rule that is not enforced yet.
fn shadow(rule: &Shadow, width: usize) -> Vec<Row> {
    let gutter = Gutter { first: Row::new().to(2).and(Role::Dim, "–").to(12), rest: Row::new().to(12) };
    let name = text::rule_of_scope(rule.rule.as_str(), rule.scope.as_str());
    let mut rows = exact(&gutter, Role::Plain, &name, width);
    rows.extend(exact(&Gutter::spaces(12), Role::Dim, &text::would_say(rule.verdict.as_str()), width));
    rows
}

/// What a question asks for, in words.
fn asks(approve: &Approve) -> String {
    let who = approve.role.map_or_else(|| text::ANY_ROLE.to_owned(), |role| text::approvers(role.as_str()));
    let mut asks = vec![who];
    asks.extend((approve.quorum > 1).then(|| text::quorum(approve.quorum)));
    asks.extend(approve.person.then(|| text::PERSON_ONLY.to_owned()));
    asks.push(if approve.remember { text::REMEMBERED } else { text::NOT_REMEMBERED }.to_owned());
    asks.join(", ")
}

/// Reads a command, or a batch of them.
pub(crate) fn explain_command<G, M>(
    cx: &mut Context<'_, '_, M>,
    args: ExplainCommandArgs,
) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let gateway = cx.gateway()?;
    // Lines of a batch say what they are judged under; no repository counts besides.
    let at = if args.batch { At::Nowhere } else { at(args.repo.as_deref())? };
    let question = CommandQuestion {
        base: args.base,
        preset: args.preset,
        policy: args.policy,
        role: args.role,
        surface: args.surface,
        at,
    };
    if args.batch {
        return batch::run(cx.world, &gateway, &question);
    }
    let command = args.text.join(" ");
    let reading = gateway.explain_command(&question, &command)?;
    if args.json.json {
        cx.world.json(&reading)?;
    } else {
        cx.world.rows(cx.look, &reading_rows(&reading, cx.look.width))?;
    }
    Ok(Exit::Done)
}

/// Judges the calls of another agent.
pub(crate) fn decide<G, M>(cx: &mut Context<'_, '_, M>, args: DecideArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let request = OutsideRequest {
        catalogue: args.catalogue,
        without_quarantine: args.quarantine == Switch::Off,
        preset: args.preset,
        policy: args.policy,
    };
    let guard = cx.gateway()?.judge_outside(&request)?;
    decide::run(cx.world, guard)
}

fn reading_rows(told: &CommandExplanation, width: usize) -> Vec<Row> {
    let CommandExplanation { reading, judged } = told;
    let mut rows = vec![Row::of(verdict_role(reading.verdict), reading.verdict.as_str())];
    if let Some(unreadable) = reading.unreadable.as_ref().filter(|_| reading.pieces.is_empty()) {
        rows.extend(exact(
            &Gutter::spaces(2),
            Role::Plain,
            &text::unreadable(&unreadable.to_string()),
            width,
        ));
    }
    if let Some(judged) = judged {
        let mut lines = vec![
            (text::EXPLAIN_RULE, text::rule_of_scope(&judged.rule, &judged.scope)),
            (text::EXPLAIN_WHY, judged.reason.clone()),
        ];
        lines.extend(judged.approve.as_ref().map(|approve| (text::EXPLAIN_ASKS, asks(approve))));
        lines.push((text::EXPLAIN_FOR, text::judged_for(judged.role.as_str(), judged.surface.as_str())));
        rows.extend(pairs(&lines, width));
    }
    rows.extend(reading.pieces.iter().flat_map(|one| piece(&Row::new().to(2), one, width)));
    rows.extend(judged.iter().flat_map(|judged| &judged.shadow).flat_map(|rule| shadow(rule, width)));
    rows
}

#[cfg(test)]
mod tests {
    use enclos_core::command::Reading;
    use enclos_core::ids::RuleId;
    use enclos_core::policy::{Role as Person, Scope, Shadow, Surface};
    use enclos_core::verdict::Verdict;
    use enclos_protocol::report::{Approve, CommandExplanation, Considered, Explanation, Judged};

    use super::{explain_rows, reading_rows};
    use crate::style::Paint;

    #[test]
    fn the_winner_comes_first_and_the_losers_say_why() {
        let considered = |rule: &str, scope: &str, verdict, why: &str| Considered {
            rule: rule.to_owned(),
            scope: scope.to_owned(),
            verdict,
            why: why.to_owned(),
        };
        let told = Explanation {
            verdict: Verdict::Ask,
            rule: "default.write".to_owned(),
            scope: "default matrix".to_owned(),
            reason: "a write asks".to_owned(),
            role: Person::Owner,
            surface: Surface::Terminal,
            approve: Some(Approve {
                role: Some(Person::Maintainer),
                quorum: 2,
                person: true,
                remember: false,
            }),
            shadow: vec![Shadow {
                rule: RuleId::new("later"),
                scope: Scope::Project,
                verdict: Verdict::Disabled,
            }],
            notes: vec!["there is no tool `wirte`; did you mean `write`?".to_owned()],
            considered: vec![
                considered("default.write", "default matrix", Verdict::Ask, "the highest scope that speaks"),
                considered("free", "project (.enclos.toml)", Verdict::Allow, "looser than the scope above"),
            ],
            pieces: Vec::new(),
            policy_digest: "sha256:ab".to_owned(),
        };
        let shown: String =
            explain_rows(&told, 70).iter().map(|row| row.render(Paint::PLAIN) + "\n").collect();
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_command_that_no_piece_explains_names_the_rule_that_decides() {
        let told = CommandExplanation {
            reading: Reading::of_pieces(Verdict::Disabled, Vec::new()),
            judged: Some(Judged {
                rule: "calm.bash".to_owned(),
                scope: "instance (policy.toml)".to_owned(),
                reason: "no commands here".to_owned(),
                role: Person::Owner,
                surface: Surface::Terminal,
                approve: None,
                shadow: Vec::new(),
                policy_digest: "sha256:ab".to_owned(),
            }),
        };
        let shown: Vec<String> = reading_rows(&told, 70).iter().map(|row| row.render(Paint::PLAIN)).collect();
        assert_eq!(
            shown,
            [
                "disabled",
                "rule        calm.bash · instance (policy.toml)",
                "because     no commands here",
                "judged for  owner on terminal",
            ]
        );
    }
}
