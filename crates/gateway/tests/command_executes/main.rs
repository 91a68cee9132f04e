//! What bash really executes against what the reader saw.
//!
//! In a sandbox, every program that the generated commands name is a stub that writes down its arguments. Whatever ran
//! must have been seen: a text that is allowed ran nothing but its pieces, and of what never runs the text was refused, or
//! it asks because the name is only known at run time.

mod generate;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use enclos_core::command::{Piece, Reading, Rules, judge};
use enclos_core::verdict::Verdict;
use enclos_sandbox::{Command, Limits, Plan, Prefer, Sandbox, Stream, open};
use generate::{Dice, PROGRAMS, REFUSED, WRAPPERS};

/// Commands that are run.
const TEXTS: u64 = 500;

/// A sandbox in which stubs come first on the path.
struct Stubs {
    _folder: tempfile::TempDir,
    sandbox: Sandbox,
}

impl Stubs {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("repository");
        let stubs = workspace.join("stubs");
        std::fs::create_dir_all(&stubs).expect("folders");
        for number in 1..4 {
            std::fs::write(workspace.join(format!("f{number}.txt")), "text\n").expect("a file");
        }
        for name in PROGRAMS {
            stub(&stubs, name, "");
        }
        for name in WRAPPERS {
            stub(&stubs, name, &format!("exec /usr/bin/{name} \"$@\""));
        }
        let plan = Plan {
            workspace,
            over: None,
            owner: None,
            layer: folder.path().join("layer"),
            hidden: Vec::new(),
            masked: Vec::new(),
            git: None,
            mounts: Vec::new(),
            environment: vec![("PATH".to_owned(), "/workspace/stubs".to_owned())],
            limits: Limits { command_seconds: 20, ..Limits::default() },
            backend: enclos_sandbox::Backend::Namespaces,
            workspace_by: Prefer::Overlay,
        };
        let sandbox = open(&plan).unwrap_or_else(|error| panic!("{error} (to mend it: {})", error.remedy()));
        Self { _folder: folder, sandbox }
    }

    fn run(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let mut take = |stream, bytes: &[u8]| {
            if stream == Stream::Stdout {
                out.extend_from_slice(bytes);
            }
        };
        self.sandbox.run(&Command::new(text), &mut take).expect("the command runs");
        out
    }

    /// The arguments of every program that the text started, each with its name first.
    fn executed(&self, text: &str) -> Vec<Vec<String>> {
        self.run("rm -rf /tmp/ran; mkdir /tmp/ran");
        self.run(text);
        let written = self.run("/bin/cat /tmp/ran/* 2>/dev/null");
        let mut fields =
            written.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
        let mut all = Vec::new();
        while let Some(count) = fields.next().and_then(|count| count.parse::<usize>().ok()) {
            all.push(fields.by_ref().take(count + 1).collect());
        }
        all
    }
}

/// A program that writes down how it was called, each time into a file of its own, and then does `after`.
fn stub(folder: &Path, name: &str, after: &str) {
    let text = format!(
        "#!/bin/bash\nprintf '%s\\0' \"$#\" \"${{0##*/}}\" \"$@\" > \"/tmp/ran/$$-$SRANDOM\"\n{after}\n"
    );
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a stub");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
}

fn read(text: &str) -> Reading {
    judge(text, &Rules { base: Verdict::Allow, contained: false, freed: &[] })
}

/// Why what ran was not foreseen, if it was not.
fn unforeseen(reading: &Reading, ran: &[String]) -> Option<&'static str> {
    let name = ran.first().map_or("", String::as_str);
    let unknown = |piece: &Piece| piece.argv.iter().any(|word| word.contains(['$', '`']));
    let dynamic = reading.pieces.iter().any(|piece| piece.verdict == Verdict::Ask && unknown(piece));
    let never = REFUSED.contains(&name);
    if never && reading.verdict != Verdict::Disabled && !(reading.verdict == Verdict::Ask && dynamic) {
        return Some("it is refused, and it ran");
    }
    let seen = reading.pieces.iter().any(|piece| holds(piece, ran));
    (reading.verdict == Verdict::Allow && !seen).then_some("it was allowed, and other words ran")
}

/// Whether what ran is the piece, or what is left of it behind a wrapper.
fn holds(piece: &Piece, ran: &[String]) -> bool {
    (0..piece.argv.len()).any(|from| matches(&piece.argv[from..], ran))
}

/// Whether words are what ran; a word that is only known at run time stands for any number.
fn matches(words: &[String], ran: &[String]) -> bool {
    match (words.split_first(), ran.split_first()) {
        (None, None) => true,
        (Some((word, rest)), _) if word.contains(['$', '`', '*', '?', '[', '~', '<']) => {
            matches(rest, ran) || ran.split_first().is_some_and(|(_, others)| matches(words, others))
        }
        (Some((word, rest)), Some((one, others))) => {
            (word == one || word.rsplit('/').next() == Some(one.as_str())) && matches(rest, others)
        }
        _ => false,
    }
}

#[test]
fn whatever_runs_was_seen() {
    let stubs = Stubs::open();
    let mut wrong = Vec::new();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 1..=TEXTS {
        let text = generate::text(&mut Dice::new(seed));
        let reading = read(&text);
        for ran in stubs.executed(&text) {
            *count.entry("ran").or_default() += 1;
            if reading.verdict == Verdict::Allow {
                *count.entry("allowed").or_default() += 1;
            }
            if reading.unreadable.is_none()
                && let Some(why) = unforeseen(&reading, &ran)
            {
                wrong.push(format!("{seed} {text:?}: {ran:?}: {why} ({:?})", reading.verdict));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    let enough = |what: &str, least: usize| count.get(what).is_some_and(|count| *count >= least);
    assert!(
        enough("ran", 700) && enough("allowed", 50),
        "the generator makes too little that runs: {count:?}"
    );
}

#[test]
fn data_is_no_command() {
    let stubs = Stubs::open();
    for seed in 1..=100 {
        let text = generate::inert(&mut Dice::new(seed));
        let ran = stubs.executed(&text);
        assert!(ran.iter().all(|ran| !REFUSED.contains(&ran[0].as_str())), "{text:?} ran {ran:?}");
        let reading = read(&text);
        assert_eq!(reading.verdict, Verdict::Allow, "{text:?}: {:?}", reading.pieces);
    }
}
