//! The reader of commands: never panics, agrees with itself, and no way to write a command loosens it.

use enclos_core::command::{Reading, Rules, judge};
use enclos_core::verdict::Verdict;

/// Texts around a command that runs all of it, `@` standing for it: none may be softer than the command.
const AROUND: [&str; 10] = [
    "@\nls",
    "ls\n@",
    "{ @\n}",
    "(@\n)",
    "if true; then @\nfi",
    "for i in 1; do @\ndone",
    "f() { @\n}",
    "ls | { @\n}",
    "case a in a) @\nesac",
    "! {\n@\n} > /dev/null",
];

fn read(text: &str, base: Verdict, contained: bool) -> Reading {
    judge(text, &Rules { base, contained, freed: &[] })
}

/// Holds what must be true of the reading of `text`.
pub fn check(text: &str) {
    let plain = read(text, Verdict::Allow, false);
    assert_eq!(plain, read(text, Verdict::Allow, false), "a reading is the same each time");
    let strictest = plain.pieces.iter().map(|piece| piece.verdict).max();
    assert_eq!(plain.verdict, strictest.unwrap_or(Verdict::Allow), "the strictest piece holds");
    for piece in &plain.pieces {
        assert!(text.get(piece.span.clone()).is_some(), "a piece stands in the text");
        assert!(!piece.reason.is_empty(), "a piece has a reason");
    }
    let contained = read(text, Verdict::Allow, true);
    assert!(contained.verdict <= plain.verdict, "containment only frees");
    assert_eq!(contained.pieces.len(), plain.pieces.len(), "containment changes no piece");
    for base in [Verdict::Ask, Verdict::Disabled] {
        assert!(read(text, base, true).verdict >= base.max(contained.verdict), "the reading only hardens");
    }
    // A last backslash and a here-document without an end take in what stands behind them.
    let ends = !text.ends_with('\\') && !text.contains("<<");
    if plain.unreadable.is_none() && text.len() < 4096 && ends {
        loosened(text, &plain, &contained);
    }
}

/// No place around a command, and no shell it is handed to, is softer than the command.
fn loosened(text: &str, plain: &Reading, contained: &Reading) {
    for around in AROUND {
        let whole = around.replace('@', text);
        for (trusted, alone) in [(false, plain), (true, contained)] {
            let found = read(&whole, Verdict::Allow, trusted);
            assert!(found.verdict >= alone.verdict, "{whole:?} is {}, not {}", found.verdict, alone.verdict);
        }
    }
    let handed = format!("bash -c -- '{}'", text.replace('\'', "'\\''"));
    let found = read(&handed, Verdict::Allow, true);
    assert!(found.verdict >= contained.verdict, "{handed:?} is {}, not {}", found.verdict, contained.verdict);
    assert_eq!(read(&format!("sudo id\n{text}"), Verdict::Allow, true).verdict, Verdict::Disabled);
}
