//! What must hold of any text: no panic, and no way to write a command that loosens its verdict.

use enclos_core::command::{CommandRule, Rules, judge};
use enclos_core::ids::RuleId;
use enclos_core::verdict::Verdict;
use proptest::prelude::*;

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/command/", $name))
    };
}

const WRAPPERS: [&str; 12] = [
    "env ",
    "env A=1 ",
    "command ",
    "nohup ",
    "nice -n 5 ",
    "timeout 5 ",
    "setsid ",
    "stdbuf -oL ",
    "xargs ",
    "time ",
    "flock /tmp/l ",
    "busybox ",
];
const SEPARATORS: [&str; 7] = ["; ", "\n", " && ", " || ", " | ", " & ", " |& "];
const PARTS: [&str; 34] = [
    "ls",
    "sudo id",
    "rm -rf /",
    "git status",
    "cargo test",
    "echo x",
    "$x",
    "${x:-y}",
    "$(ls)",
    "`ls`",
    "'a b'",
    "\"a $x\"",
    ">",
    "<<EOF\n",
    "\nEOF\n",
    "(",
    ")",
    "{ ",
    "; }",
    "if ",
    "; then ",
    "; fi",
    "while ",
    "; do ",
    "; done",
    "case a in ",
    "a) ",
    ";;",
    " esac",
    "[[ ",
    " ]]",
    "\\",
    "#",
    "{a,b}",
];

/// Places that run a list of commands.
const AROUND: [&str; 8] = [
    "@",
    "( @ )",
    "{ @\n}",
    "if @\nthen ls; fi",
    "while @\ndo break; done",
    "f() { @\n}",
    "echo \"$(@\n)\"",
    "for i in 1; do @\ndone",
];

/// The commands of the tables.
fn of_tables() -> impl Iterator<Item = String> {
    let rows =
        [table!("everyday.tsv"), table!("hidden.tsv")].into_iter().flat_map(|table| table.lines().skip(1));
    rows.map(|row| serde_json::from_str(row.rsplit('\t').next().unwrap()).unwrap())
}

/// Commands that end where they end, so that others can stand behind them on the same line. A path upwards names
/// another place behind `cd`, and is left out.
fn joinable() -> Vec<String> {
    let rules = Rules { base: Verdict::Allow, contained: false, freed: &[] };
    let ends = |text: &String| {
        judge(text, &rules).unreadable.is_none()
            && !text.contains(['#', '\n'])
            && !text.ends_with(['\\', '&', ';'])
            && !text.contains("..")
    };
    of_tables().filter(ends).collect()
}

/// Commands of one program with plain words; words of bash itself mean another thing behind a program.
fn plain() -> Vec<String> {
    let plain = |text: &String| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || " -_./,:@".contains(c))
            && !["time", "coproc", "exec", "eval"].iter().any(|word| text.starts_with(word))
    };
    of_tables().filter(plain).collect()
}

fn read(text: &str, contained: bool) -> Verdict {
    judge(text, &Rules { base: Verdict::Allow, contained, freed: &[] }).verdict
}

/// Text put together from pieces of bash.
fn bash() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..12).prop_map(|parts| parts.join(" "))
}

/// A command of one line that can be read.
fn command() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "ls -la",
            "sudo id",
            "rm -rf /etc",
            "cargo test",
            "echo $x",
            "$x y",
            "cat < f",
            "ls > out",
            "curl x",
            "f() { ls; }",
        ][..],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let reading = judge(&text, &Rules { base: Verdict::Allow, contained: true, freed: &[] });
        prop_assert!(reading.pieces.iter().all(|piece| piece.verdict <= reading.verdict));
    }

    #[test]
    fn spans_and_texts_agree(text in bash()) {
        let reading = judge(&text, &Rules { base: Verdict::Allow, contained: false, freed: &[] });
        for piece in &reading.pieces {
            prop_assert!(text.get(piece.span.clone()).is_some(), "{:?} of {:?}", piece.span, text);
            prop_assert!(!piece.reason.is_empty());
        }
    }

    #[test]
    fn joining_never_loosens(
        a in command(), b in command(), separator in prop::sample::select(&SEPARATORS[..]), contained in any::<bool>()
    ) {
        let joined = read(&format!("{a}{separator}{b}"), contained);
        prop_assert!(joined >= read(a, contained).max(read(b, contained)), "{a}{separator}{b}");
    }

    #[test]
    fn commands_of_the_tables_joined_are_no_softer_than_each(
        commands in prop::collection::vec(prop::sample::select(joinable()), 2..5),
        separator in prop::sample::select(&SEPARATORS[..]),
        around in prop::collection::vec(prop::sample::select(&AROUND[..]), 0..4),
        contained in any::<bool>(),
    ) {
        let strictest = commands.iter().map(|command| read(command, contained)).max().unwrap();
        let joined = around.iter().fold(commands.join(separator), |inner, around| around.replace('@', &inner));
        prop_assert!(read(&joined, contained) >= strictest, "{}", joined);
    }

    #[test]
    fn any_text_behind_a_refused_one_stays_refused(text in bash(), separator in prop::sample::select(&SEPARATORS[..])) {
        prop_assert_eq!(read(&format!("sudo id{separator}{text}"), true), Verdict::Disabled);
    }

    #[test]
    fn wrappers_never_loosen(
        inner in prop::sample::select(&["ls -la", "sudo id", "rm -rf /etc", "cargo test", "$x y", "curl x | sh"][..]),
        wrappers in prop::collection::vec(prop::sample::select(&WRAPPERS[..]), 0..6),
        contained in any::<bool>(),
    ) {
        let wrapped = format!("{}{inner}", wrappers.concat());
        prop_assert!(read(&wrapped, contained) >= read(inner, contained), "{}", wrapped);
    }

    #[test]
    fn wrappers_of_the_tables_never_loosen_plain_commands(
        command in prop::sample::select(plain()),
        wrappers in prop::collection::vec(prop::sample::select(table!("wrappers.txt").lines().collect::<Vec<_>>()), 1..4),
        contained in any::<bool>(),
    ) {
        let wrapped = wrappers.iter().fold(command.clone(), |inner, wrapper| wrapper.replace('@', &inner));
        prop_assert!(read(&wrapped, contained) >= read(&command, contained), "{}", wrapped);
    }

    #[test]
    fn the_reading_only_hardens(text in bash(), contained in any::<bool>()) {
        for base in [Verdict::Allow, Verdict::Ask, Verdict::Disabled] {
            let rules = Rules { base, contained, freed: &[] };
            prop_assert!(judge(&text, &rules).verdict >= base);
        }
    }

    #[test]
    fn no_rule_lifts_a_refused_family(inner in prop::sample::select(&["sudo id", "rm -rf /", "eval x"][..])) {
        let argv = inner.split(' ').map(str::to_owned).collect();
        let freed = [CommandRule { id: RuleId::new("free"), argv, verdict: Verdict::Allow }];
        let rules = Rules { base: Verdict::Allow, contained: true, freed: &freed };
        prop_assert_eq!(judge(inner, &rules).verdict, Verdict::Disabled);
    }

    #[test]
    fn a_stricter_rule_never_loosens(text in bash()) {
        let rule = |verdict| [CommandRule { id: RuleId::new("r"), argv: vec!["ls".to_owned()], verdict }];
        let read = |freed: &[CommandRule]| judge(&text, &Rules { base: Verdict::Ask, contained: true, freed }).verdict;
        prop_assert!(read(&rule(Verdict::Allow)) <= read(&rule(Verdict::Ask)));
        prop_assert!(read(&rule(Verdict::Ask)) <= read(&rule(Verdict::Disabled)));
    }
}
