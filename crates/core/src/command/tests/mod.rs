//! What cannot be seen from outside: how many steps a reading takes, and that nesting is bounded.

mod steps;

use super::judge::{judge_counting, refuse};
use super::reading::Rules;
use super::script::Script;
use super::{MAX_TEXT, judge};
use crate::verdict::Verdict;

/// Steps that any text may take, and steps for each byte of it. Far below what the reader allows itself.
const FREE: usize = 2_000;
const PER_BYTE: usize = 64;

const RULES: Rules<'static> = Rules { base: Verdict::Allow, contained: false, freed: &[] };

/// The steps that a text takes.
fn steps(text: &str) -> usize {
    judge_counting(text, &RULES).1
}

const UNITS: [&str; 62] = [
    "( ",
    "(",
    "{ ",
    "{a,",
    "$(",
    "$((",
    "((",
    "\"",
    "`",
    "\\",
    "\\\n",
    "${x:-",
    "${a[",
    "[[ ( ",
    "[[ ! ",
    "if ",
    "while ",
    "case x in a) ",
    "f() { ",
    "<(",
    "\"$(",
    "\"${x:-\"",
    "x=(",
    "a[",
    "<<E\n",
    "cat <<E;",
    "sh -c ",
    "env ",
    "watch ",
    "find . -exec ",
    "xargs ",
    "rm ",
    "{a,b}",
    "{1..64}",
    "a{b,c}d ",
    "'",
    "$'",
    "; ",
    "a;",
    "a|",
    "! ",
    "time ",
    "&",
    "< ",
    "2>&1 ",
    "$x",
    "$IFS",
    "*",
    "[a]",
    "[",
    "/../",
    "a=b ",
    "chmod 777,",
    "sed s/a/b/;",
    "awk '{system(\"",
    "\"`",
    "${!",
    "#",
    "\t",
    "é",
    "bash <<E\n",
    "<<-E\n\t$(cat <<-F\n\t",
];

#[test]
fn steps_grow_in_line_with_the_text() {
    for unit in UNITS {
        for (before, after) in [("", ""), ("echo ", ""), ("echo \"", "\""), ("", " }"), ("(", ")")] {
            for size in [500, 4_000, 30_000] {
                let text = format!("{before}{}{after}", unit.repeat(size / unit.len()));
                let steps = steps(&text);
                let most = FREE + PER_BYTE * text.len();
                assert!(steps <= most, "{unit:?} × {}: {steps} steps, over {most}", size / unit.len());
            }
        }
    }
}

#[test]
fn nesting_is_bounded_and_deep_text_does_no_harm() {
    for (open, inner, close) in [
        ("(", "ls", ")"),
        ("{ ", "ls", "; }"),
        ("$(", "ls", ")"),
        ("\"$(", "ls", ")\""),
        ("${x:-", "y", "}"),
        ("\"${x:-", "y", "}\""),
        ("<(", "ls", ")"),
        ("if ", "ls", "; then ls; fi"),
        ("while ", "ls", "; do ls; done"),
        ("case x in x) ", "ls", ";; esac"),
        ("f() { ", "ls", "; }"),
        ("((", "1", "))"),
        ("$((", "1", "))"),
        ("[[ ( ", "a", " ) ]]"),
        ("{a,", "b", "}"),
    ] {
        let prefix = if open.starts_with(['$', '"', '<']) || open == "{a," { "echo " } else { "" };
        for (levels, readable) in [(50, true), (100, true), (400, false), (5_000, false)] {
            // One construct inside itself; a condition only nests in its parentheses.
            let (open, close) = match open {
                "[[ ( " => (format!("[[ {}", "( ".repeat(levels)), format!("{} ]]", " )".repeat(levels))),
                _ => (open.repeat(levels), close.repeat(levels)),
            };
            let text = format!("{prefix}{open}{inner}{close}");
            if text.len() <= MAX_TEXT {
                let reading = judge(&text, &RULES);
                assert_eq!(
                    reading.unreadable.is_none(),
                    readable,
                    "{levels}: {:.60}: {:?}",
                    text,
                    reading.unreadable
                );
            }
        }
    }
}

#[test]
fn unreadable_text_is_refused_and_says_where() {
    for (text, at) in
        [("ls; echo 'a", 9), ("ls ;;", 3), ("a\u{1b}b", 1), ("a\0", 1), ("fi", 0), ("echo $(", 7)]
    {
        let reading = judge(text, &RULES);
        let unreadable = reading.unreadable.unwrap();
        assert_eq!((reading.verdict, unreadable.at), (Verdict::Disabled, at), "{text:?}: {unreadable}");
        assert_eq!(reading.pieces[0].rule.as_str(), "command.unreadable");
        assert_eq!(refuse(text, unreadable.clone()).unreadable, Some(unreadable));
    }
    let long = "a".repeat(MAX_TEXT + 1);
    assert_eq!(judge(&long, &RULES).verdict, Verdict::Disabled);
    assert_eq!(judge(long.get(1..).unwrap(), &RULES).verdict, Verdict::Ask);
}

/// The texts of the tables: what people type, and what hides.
fn table_texts() -> Vec<String> {
    let tables = [
        include_str!("../../../../../tests/data/command/everyday.tsv"),
        include_str!("../../../../../tests/data/command/hidden.tsv"),
        include_str!("../../../../../tests/data/command/harmless.txt"),
    ];
    let json = |row: &str| serde_json::from_str(row.rsplit('\t').next().unwrap()).ok();
    tables.iter().flat_map(|table| table.lines().filter_map(json)).collect()
}

#[test]
fn the_bound_on_steps_is_far_from_any_text_of_the_tables() {
    let texts = table_texts();
    assert!(texts.len() > 2_000, "{}", texts.len());
    for text in texts {
        let (taken, allowed) = (steps(&text), Script::new(&text).allowance);
        assert!(taken * 4 <= allowed, "{taken} steps of {allowed}: {text}");
    }
}
