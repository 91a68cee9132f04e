//! The approval card as rows: complete, never cut, behind a bar in the first column that no session text can reach.
//!
//! The card says all that the protocol's [`Card`] carries; what to press is not part of it, for the keys are shown
//! only when the whole card has been.

use enclos_core::command::Piece;
use enclos_core::verdict::Verdict;
use enclos_protocol::card::{Action, Card};

use crate::escape::one_line;
use crate::layout::{Gutter, Row, exact, name, prose, words};
use crate::render::change;
use crate::style::Role;
use crate::text;

/// The role in which a verdict is shown.
pub(crate) fn verdict_role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Allow => Role::Good,
        Verdict::Ask => Role::Warn,
        Verdict::Disabled => Role::Bad,
    }
}

/// A card within a width.
pub(crate) fn rows(card: &Card, width: usize) -> Vec<Row> {
    let head = Row::of(Role::Warn, "┌─ ").and(Role::Bold, &text::card_title(&card.tool));
    let mut rows = vec![head.cut(width)];
    rows.extend(name(&plain(), Role::Plain, &card.title, width));
    rows.push(bar());
    rows.extend(action(&card.action, width));
    rows.push(bar());
    rows.extend(facts(card, width));
    rows.push(Row::of(Role::Warn, "└─"));
    rows
}

fn bar() -> Row {
    Row::of(Role::Warn, "│")
}

/// Before Enclos's own words.
fn plain() -> Gutter {
    Gutter { first: bar().to(2), rest: bar().to(2) }
}

/// Before what is approved: a row that goes on with the same line says so.
fn quoted() -> Gutter {
    Gutter { first: bar().to(4), rest: bar().to(2).and(Role::Dim, "↪").to(4) }
}

fn action(action: &Action, width: usize) -> Vec<Row> {
    match action {
        Action::Command { text, pieces } => {
            let mut rows = exact(&quoted(), Role::Bold, text, width);
            if !pieces.is_empty() {
                rows.push(bar());
                rows.extend(pieces.iter().flat_map(|piece| self::piece(&bar().to(2), piece, width)));
            }
            rows
        }
        Action::Diff { path, hunks, note } => {
            let mut rows = name(&quoted(), Role::Bold, path, width);
            if !note.is_empty() {
                rows.extend(exact(&plain(), Role::Dim, note, width));
            }
            rows.extend(change::hunks(&bar().to(2), hunks, width));
            rows
        }
        Action::Arguments { json } => exact(&quoted(), Role::Bold, json, width),
    }
}

/// A piece of a command: its verdict, its text, the rule and why.
pub(crate) fn piece(margin: &Row, piece: &Piece, width: usize) -> Vec<Row> {
    let column = margin.width() + 10;
    let first = margin.clone().and(verdict_role(piece.verdict), piece.verdict.as_str()).to(column);
    let rest = margin.clone().to(column - 2).and(Role::Dim, "↪").to(column);
    let mut rows = exact(&Gutter { first, rest }, Role::Plain, &piece.text, width);
    let why = if piece.reason.is_empty() {
        piece.rule.to_string()
    } else {
        format!("{}: {}", piece.rule, piece.reason)
    };
    let under = margin.clone().to(column);
    rows.extend(words(&Gutter { first: under.clone(), rest: under }, Role::Dim, &why, width));
    rows
}

fn facts(card: &Card, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut fact = |name: &str, role: Role, value: &str| {
        if value.is_empty() {
            return;
        }
        let first = bar().to(2).and(Role::Dim, name).to(13);
        rows.extend(words(&Gutter { first, rest: bar().to(13) }, role, value, width));
    };
    fact(text::CARD_DIRECTORY, Role::Plain, &card.directory);
    for (index, file) in card.files.iter().enumerate() {
        fact(if index == 0 { text::CARD_FILES } else { "" }, Role::Plain, &one_line(file));
    }
    for flagged in &card.flagged {
        fact(text::CARD_FLAGGED, Role::Warn, &one_line(&format!("{}: {}", flagged.path, flagged.why)));
    }
    fact(text::CARD_BESIDE, Role::Warn, &text::card_beside(&card.beside));
    if let Some(raises) = &card.raises {
        fact(text::CARD_LABEL, Role::Warn, &text::label_raises(raises));
    }
    fact(text::CARD_RULE, Role::Plain, &text::rule_of_scope(card.rule.as_str(), &card.scope));
    fact(text::CARD_REASON, Role::Plain, &card.reason);
    fact(text::CARD_NEEDS, Role::Warn, &card.needs);
    fact(text::CARD_BUDGET, Role::Plain, &text::budget_left(&card.budget));
    fact(text::CARD_EXPIRES, Role::Plain, &card.expires);
    rows
}

/// What was seen of a card, in one row of the record: used where the card itself was shown in the pager.
pub(crate) fn receipt(card: &Card, count: usize, width: usize) -> Vec<Row> {
    prose(&plain(), Role::Plain, &text::card_receipt(&card.tool, &card.title, count, &card.digest), width)
}

#[cfg(test)]
mod tests {
    use enclos_core::command::Piece;
    use enclos_core::ids::RuleId;
    use enclos_core::verdict::Verdict;
    use enclos_protocol::card::{Action, Card, Flagged};
    use enclos_protocol::changeset::{Hunk, Line, LineKind};
    use enclos_protocol::event::{Amounts, BudgetView};

    use super::rows;
    use crate::style::Paint;

    fn card(action: Action) -> Card {
        Card {
            tool: "bash".to_owned(),
            title: "run a command".to_owned(),
            action,
            directory: "/workspace".to_owned(),
            files: vec!["ci.yml".to_owned(), "src/lib.rs".to_owned()],
            flagged: vec![Flagged { path: "ci.yml".to_owned(), why: "CI configuration".to_owned() }],
            beside: vec!["web".to_owned()],
            raises: None,
            rule: RuleId::new("default.bash"),
            scope: "project (strict)".to_owned(),
            reason: "commands ask by default".to_owned(),
            may_approve: true,
            may_remember: false,
            patterns: Vec::new(),
            needs: String::new(),
            arguments: String::new(),
            budget: BudgetView {
                used: Amounts { actions: 3, minutes: 1, tokens: 1200, commands: 1 },
                granted: Amounts { actions: 150, minutes: 45, tokens: 2_000_000, commands: 150 },
                extensions_left: 5,
            },
            expires: "2026-11-30T12:30:00Z".to_owned(),
            digest: "sha256:abcd".to_owned(),
        }
    }

    fn command() -> Card {
        let text = "cargo test --workspace && echo \u{1b}[2Jdone > out.txt\n┌─ Approval needed · read";
        let piece = |text: &str, verdict, rule: &str, reason: &str| Piece {
            span: 0..text.len(),
            text: text.to_owned(),
            argv: text.split(' ').map(str::to_owned).collect(),
            verdict,
            rule: RuleId::new(rule),
            reason: reason.to_owned(),
        };
        card(Action::Command {
            text: text.to_owned(),
            pieces: vec![
                piece("cargo test --workspace", Verdict::Allow, "project.cargo", ""),
                piece("echo \u{1b}[2Jdone", Verdict::Allow, "command.echo", "reads nothing, writes nothing"),
                piece("> out.txt", Verdict::Ask, "command.redirect", "writes to a file"),
            ],
        })
    }

    fn diff() -> Card {
        let lines = vec![
            Line { kind: LineKind::Context, text: "steps:".to_owned(), no_newline: false },
            Line { kind: LineKind::Removed, text: "  - run: make".to_owned(), no_newline: false },
            Line {
                kind: LineKind::Added,
                text: "  - run: make test && make install".to_owned(),
                no_newline: false,
            },
        ];
        card(Action::Diff {
            path: "ci.yml".to_owned(),
            hunks: vec![Hunk { old_start: 4, new_start: 4, lines }],
            note: "changes 1 line".to_owned(),
        })
    }

    fn shown(card: &Card, width: usize) -> String {
        rows(card, width).iter().map(|row| row.render(Paint::PLAIN) + "\n").collect()
    }

    #[test]
    fn a_line_end_in_a_name_makes_no_row_of_its_own() {
        let mut card = card(Action::Arguments { json: "{}".to_owned() });
        card.title = "write ok.txt\n  Approve: yes".to_owned();
        card.files = vec!["ok.txt\n  Approve: yes".to_owned()];
        let shown = rows(&card, 80).iter().map(|row| row.render(Paint::PLAIN)).collect::<Vec<_>>();
        assert!(
            !shown.iter().any(|row| row.trim_start_matches(['│', ' ']).starts_with("Approve")),
            "{shown:#?}"
        );
    }

    #[test]
    fn cards_at_80_and_40_columns() {
        insta::assert_snapshot!("command_80", shown(&command(), 80));
        insta::assert_snapshot!("command_40", shown(&command(), 40));
        insta::assert_snapshot!("diff_80", shown(&diff(), 80));
        insta::assert_snapshot!("diff_40", shown(&diff(), 40));
    }

    #[test]
    fn no_text_of_the_card_reaches_the_first_column() {
        for width in [20, 33, 40, 80, 200] {
            for card in [command(), diff()] {
                let rows = rows(&card, width);
                let last = rows.len() - 1;
                for (index, row) in rows.iter().enumerate() {
                    let text = row.render(Paint::PLAIN);
                    let frame = if index == 0 {
                        "┌─ "
                    } else if index == last {
                        "└─"
                    } else {
                        "│"
                    };
                    assert!(text.starts_with(frame), "{text:?}");
                    assert!(index == 0 || row.width() <= width.max(26), "{width}: {text:?}");
                }
            }
        }
    }

    #[test]
    fn a_long_command_is_complete() {
        let text: String = (0..3000).map(|n| char::from(b'a' + u8::try_from(n % 26).unwrap_or(0))).collect();
        let card = card(Action::Command { text: text.clone(), pieces: Vec::new() });
        let rows = rows(&card, 37);
        let shown: String =
            rows.iter().map(|row| row.render(Paint::PLAIN).chars().skip(4).collect::<String>()).collect();
        assert!(shown.contains(&text), "{shown}");
    }
}
