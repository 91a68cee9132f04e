//! Grants: answers that a person gave for the rest of a session, and what they answer.
//!
//! A grant is bound to the policy, the definition of the tool and the rule that asked, as they were. It matches values
//! and argv, never text: whole arguments, a prefix of the words of one simple command, one file, or a folder. Whether
//! an ask may be answered by a grant at all is for the policy to say; here is only what a grant covers.

use serde::{Deserialize, Serialize};

use crate::command::Piece;
use crate::ids::{Digest, RuleId, UserId};
use crate::verdict::Verdict;

/// What a grant is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The tool.
    pub tool: String,
    /// The rule that asked.
    pub rule: RuleId,
    /// Digest of the policy.
    pub policy: Digest,
    /// Digest of the tool's definition.
    pub definition: Digest,
}

/// What of a tool's calls a grant answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "match")]
pub enum Pattern {
    /// Exactly these arguments.
    Exact {
        /// Digest of tool and arguments.
        action: Digest,
    },
    /// Commands whose every asking part begins with these words.
    Command {
        /// The words, each whole.
        argv: Vec<String>,
    },
    /// One file.
    File {
        /// Its path, below the workspace.
        path: String,
    },
    /// Everything below a folder.
    Folder {
        /// Its path, below the workspace.
        path: String,
    },
}

/// An answer for the rest of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name.
    pub id: String,
    /// What it is bound to.
    pub bound: Bound,
    /// What it answers.
    pub pattern: Pattern,
    /// Who gave it.
    pub by: UserId,
    /// When, in microseconds of the Unix epoch.
    pub given_us: i64,
    /// Who revoked it.
    pub revoked: Option<UserId>,
}

/// A call that asks.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// What a grant for it would be bound to.
    pub bound: &'a Bound,
    /// Digest of tool and arguments.
    pub action: &'a Digest,
    /// The pieces of its command.
    pub pieces: &'a [Piece],
    /// The one file that it is about, below the workspace, when there is one and no link leads to it.
    pub file: Option<&'a str>,
}

impl Grant {
    /// Whether the grant answers a call that asks.
    pub fn answers(&self, asking: &Asking<'_>) -> bool {
        self.revoked.is_none() && self.bound == *asking.bound && self.pattern.covers(asking)
    }
}

/// Programs that run what their operands name: no prefix of theirs says what would run.
const CARRIERS: [&str; 34] = [
    "env", "command", "builtin", "nohup", "nice", "ionice", "timeout", "time", "setsid", "stdbuf", "xargs",
    "find", "fd", "watch", "flock", "busybox", "toybox", "parallel", "unshare", "nsenter", "chroot", "chrt",
    "taskset", "strace", "script", "ssh", "entr", "coproc", "trap", "source", ".", "git-bash", "awk", "sed",
];

/// Programs that run a script: a prefix must name it.
const INTERPRETERS: [&str; 14] = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "python", "python3", "perl", "ruby", "node", "deno",
    "php",
];

/// The most patterns that are offered for one command.
const MOST_OFFERED: usize = 4;

impl Pattern {
    /// Whether a call is within the pattern, whatever it is bound to.
    pub fn covers(&self, asking: &Asking<'_>) -> bool {
        match self {
            Self::Exact { action } => action == asking.action,
            Self::Command { argv } => {
                let mut asks =
                    asking.pieces.iter().filter(|piece| piece.verdict != Verdict::Allow).peekable();
                asks.peek().is_some()
                    && asks.all(|piece| piece.verdict == Verdict::Ask && begins(&piece.argv, argv))
            }
            Self::File { path } => asking.pieces.is_empty() && asking.file == Some(path),
            Self::Folder { path } => {
                let below = |file: &str| file.strip_prefix(path.as_str()).is_some_and(|r| r.starts_with('/'));
                asking.pieces.is_empty() && asking.file.is_some_and(below)
            }
        }
    }

    /// The prefixes that may be offered for a command, the narrowest first: of a command whose asking parts are one
    /// simple command of plain words. None for programs that run what their operands name.
    pub fn of_command(pieces: &[Piece]) -> Vec<Self> {
        let mut asks = pieces.iter().filter(|piece| piece.verdict != Verdict::Allow);
        let (Some(piece), None) = (asks.next(), asks.next()) else { return Vec::new() };
        if piece.verdict != Verdict::Ask {
            return Vec::new();
        }
        let plain: Vec<String> = piece.argv.iter().take_while(|word| is_plain(word)).cloned().collect();
        let Some(program) = plain.first().map(|word| base_name(word)) else { return Vec::new() };
        let script = INTERPRETERS.contains(&program);
        let options_first = plain.get(1).is_none_or(|word| word.starts_with('-'));
        if program.contains('=') || CARRIERS.contains(&program) || (script && options_first) {
            return Vec::new();
        }
        let least = if piece.argv.len() == 1 { 1 } else { 2 };
        let ends_well = |words: &[String]| {
            let whole = words.len() == piece.argv.len();
            whole || words.last().is_some_and(|word| !word.starts_with('-'))
        };
        let prefixes = (least..=plain.len()).rev().filter_map(|length| plain.get(..length));
        let taken = prefixes.filter(|words| ends_well(words)).take(MOST_OFFERED);
        taken.map(|words| Self::Command { argv: words.to_vec() }).collect()
    }

    /// The patterns that may be offered for a file: itself, and the folders above it, the nearest first.
    pub fn of_file(path: &str) -> Vec<Self> {
        let mut offered = vec![Self::File { path: path.to_owned() }];
        let mut rest = path;
        while let Some((folder, _)) = rest.rsplit_once('/')
            && offered.len() < MOST_OFFERED
        {
            offered.push(Self::Folder { path: folder.to_owned() });
            rest = folder;
        }
        offered
    }

    /// The pattern in words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Exact { .. } => "exactly these arguments".to_owned(),
            Self::Command { argv } => format!("commands that begin with: {}", argv.join(" ")),
            Self::File { path } => format!("the file {path}"),
            Self::Folder { path } => format!("everything below {path}/"),
        }
    }
}

/// Whether words begin with a prefix of plain words. What is not plain, such as an expansion, an assignment or a
/// redirection, never matches.
fn begins(argv: &[String], prefix: &[String]) -> bool {
    let named = prefix.first().is_some_and(|word| !word.contains('='));
    named && prefix.iter().all(|word| is_plain(word)) && argv.starts_with(prefix)
}

/// Whether a word means itself however it was written.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    !word.is_empty() && word.chars().all(plain)
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// A path below the workspace, in its one form: without `.`, without a leading `/workspace/`. `None` where `..` or an
/// absolute path leads elsewhere, or nothing is named.
pub fn below_workspace(path: &str) -> Option<String> {
    let inside = match path.strip_prefix(crate::tool::WORKSPACE) {
        Some(rest) if rest.starts_with('/') => rest,
        Some("") => return None,
        _ if path.starts_with('/') => return None,
        Some(_) | None => path,
    };
    let parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.is_empty() && !parts.contains(&"..")).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Rules, judge};

    fn pieces(text: &str) -> Vec<Piece> {
        judge(text, &Rules { base: Verdict::Ask, contained: false, freed: &[] }).pieces
    }

    fn bound() -> Bound {
        Bound {
            tool: "bash".into(),
            rule: RuleId::new("r"),
            policy: Digest::new("p"),
            definition: Digest::new("d"),
        }
    }

    fn covers(pattern: &Pattern, text: &str) -> bool {
        let pieces = pieces(text);
        let action = Digest::new(text);
        pattern.covers(&Asking { bound: &bound(), action: &action, pieces: &pieces, file: None })
    }

    fn command(words: &[&str]) -> Pattern {
        Pattern::Command { argv: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    #[test]
    fn a_prefix_matches_whole_words_of_the_simple_command_alone() {
        let npm_test = command(&["npm", "test"]);
        for text in ["npm test", "npm test -- --watch", "'npm' \"test\" x", "n\\pm test"] {
            assert!(covers(&npm_test, text), "{text}");
        }
        for text in [
            "npm testing",
            "npm",
            "npm run test",
            "npm test > out.txt",
            "npm test; make",
            "npm test && rm x",
            "npm test $(make)",
            "npm test | sh",
            "PATH=/x npm test",
            "env npm test",
            "npm test; sudo ls",
            "echo 'npm test'; make",
            "npm $X",
        ] {
            assert!(!covers(&npm_test, text), "{text}");
        }
    }

    #[test]
    fn what_is_offered_names_what_would_run() {
        let offered = |text: &str| -> Vec<String> {
            Pattern::of_command(&pieces(text)).iter().map(Pattern::in_words).collect()
        };
        let words = |text: &str| format!("commands that begin with: {text}");
        assert_eq!(
            offered("cargo test --workspace -q"),
            [words("cargo test --workspace -q"), words("cargo test")]
        );
        assert_eq!(offered("make"), [words("make")]);
        assert_eq!(
            offered("python3 tools/gen.py a"),
            [words("python3 tools/gen.py a"), words("python3 tools/gen.py")]
        );
        for text in [
            "env make",
            "xargs rm",
            "timeout 5 make",
            "bash -c 'make'",
            "python3",
            "/usr/bin/env make",
            "make; npm test",
            "make > out.txt",
            "$X y",
            "sudo make",
            "find . -exec rm {} +",
        ] {
            assert_eq!(offered(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_pattern_that_is_offered_covers_the_call_it_is_offered_for() {
        for text in ["cargo test --workspace", "make", "git commit -m 'some words'"] {
            let offered = Pattern::of_command(&pieces(text));
            assert!(!offered.is_empty(), "{text}");
            assert!(offered.iter().all(|pattern| covers(pattern, text)), "{text}");
        }
    }

    #[test]
    fn a_folder_ends_at_a_segment_and_a_file_is_whole() {
        let asks = |pattern: &Pattern, file: Option<&str>| {
            let action = Digest::new("a");
            pattern.covers(&Asking { bound: &bound(), action: &action, pieces: &[], file })
        };
        let folder = Pattern::Folder { path: "src".into() };
        assert!(asks(&folder, Some("src/a.rs")) && asks(&folder, Some("src/b/c.rs")));
        assert!(!asks(&folder, Some("srcs/a.rs")) && !asks(&folder, Some("src")) && !asks(&folder, None));
        let file = Pattern::File { path: "src/a.rs".into() };
        assert!(asks(&file, Some("src/a.rs")) && !asks(&file, Some("src/a.rs.bak")));
        let of = Pattern::of_file("a/b/c");
        assert_eq!(of.len(), 3);
        assert_eq!(of.last(), Some(&Pattern::Folder { path: "a".into() }));
        assert_eq!(Pattern::of_file("top"), [Pattern::File { path: "top".into() }]);
    }

    #[test]
    fn a_path_has_one_form_or_none() {
        for (path, form) in [
            ("a/b", Some("a/b")),
            ("./a//b/", Some("a/b")),
            ("/workspace/a", Some("a")),
            ("/workspace", None),
            ("/workspaces/a", None),
            ("../a", None),
            ("a/../b", None),
            ("/etc/passwd", None),
            (".", None),
            ("", None),
        ] {
            assert_eq!(below_workspace(path).as_deref(), form, "{path}");
        }
    }

    #[test]
    fn a_grant_counts_only_as_it_was_bound_and_until_it_is_revoked() {
        let action = Digest::new("a");
        let grant = Grant {
            id: "gr_1".into(),
            bound: bound(),
            pattern: Pattern::Exact { action: action.clone() },
            by: UserId::new("ada"),
            given_us: 0,
            revoked: None,
        };
        let asks = |grant: &Grant, bound: &Bound, action: &Digest| {
            grant.answers(&Asking { bound, action, pieces: &[], file: None })
        };
        assert!(asks(&grant, &bound(), &action));
        assert!(!asks(&grant, &bound(), &Digest::new("b")));
        for other in [
            Bound { policy: Digest::new("q"), ..bound() },
            Bound { definition: Digest::new("e"), ..bound() },
            Bound { tool: "write".into(), ..bound() },
            Bound { rule: RuleId::new("s"), ..bound() },
        ] {
            assert!(!asks(&grant, &other, &action));
        }
        let revoked = Grant { revoked: Some(UserId::new("ada")), ..grant };
        assert!(!asks(&revoked, &bound(), &action));
    }
}
