//! Programs that run another program given on their command line.
//!
//! Each known one has its option grammar, so that the command inside is found exactly. An option that the
//! grammar does not know asks, and the refused families are then looked for at every place.

use std::borrow::Cow;

use super::argument::Argument;
use super::options::{self, Name, Options, Style, Value};

/// The most wrappers in each other that are looked through at once.
const MAX_WRAPPERS: usize = 32;

/// What a wrapper does with its arguments.
#[derive(Debug)]
pub(super) enum Inside<'a> {
    /// It runs the command that begins here.
    Command(&'a [Argument]),
    /// It hands this text, from this argument, to a shell, and runs the command behind it, if any.
    Code(String, &'a Argument, &'a [Argument]),
    /// It cuts this text, from this argument, into words of its own command line, before these arguments.
    Split(String, &'a Argument, &'a [Argument]),
    /// It joins these arguments and hands them to a shell.
    Joined(&'a [Argument]),
    /// It runs nothing: it only prints, or has no command.
    Nothing,
    /// An option that is not known, or a word that is only known at run time, stands before the command.
    Unknown,
}

/// A wrapper.
#[derive(Debug)]
pub(super) struct Wrapper {
    names: &'static [&'static str],
    options: Options,
    /// Operands before the command.
    operands: usize,
    /// Assignments may stand before the command.
    pub(super) assigns: bool,
    /// Options after which nothing is run.
    prints: &'static [Name],
    /// The option whose value is handed to a shell.
    code: &'static [Name],
    /// The command is handed to a shell as one text.
    joined: bool,
    /// What it runs is put together from its input: never allowed without asking.
    pub(super) hands_on: bool,
    /// The option whose value is cut into words of its own.
    splits: &'static [Name],
    /// What it does besides: the rule and the sentence.
    pub(super) effect: Option<(&'static str, &'static str)>,
}

const fn plain(names: &'static [&'static str], options: Options, operands: usize) -> Wrapper {
    Wrapper {
        names,
        options,
        operands,
        assigns: false,
        prints: &[Name::Long("help"), Name::Long("version")],
        code: &[],
        joined: false,
        hands_on: false,
        splits: &[],
        effect: None,
    }
}

const fn opts(flags: &'static str, valued: &'static str, long: &'static str) -> Options {
    Options { flags, valued, optional: "", long, numbers: false }
}

const WRAPPERS: [Wrapper; 20] = [
    Wrapper {
        assigns: true,
        splits: &[Name::Short('S'), Name::Long("split-string")],
        ..plain(
            &["env"],
            opts(
                "i0v",
                "uCSa",
                "ignore-environment null debug unset= chdir= split-string= argv0= block-signal? \
     default-signal? ignore-signal? list-signal-handling help version",
            ),
            0,
        )
    },
    Wrapper { prints: &[Name::Short('v'), Name::Short('V')], ..plain(&["command"], opts("pvV", "", ""), 0) },
    plain(&["builtin"], Options::NONE, 0),
    plain(&["nohup"], opts("", "", "help version"), 0),
    plain(&["nice"], Options { numbers: true, ..opts("", "n", "adjustment= help version") }, 0),
    Wrapper {
        prints: &[Name::Short('p'), Name::Long("pid"), Name::Short('P'), Name::Short('u')],
        ..plain(&["ionice"], opts("t", "cnpPu", "class= classdata= ignore pid= help version"), 0)
    },
    Wrapper {
        prints: &[Name::Short('p'), Name::Long("pid"), Name::Short('m'), Name::Long("max")],
        ..plain(
            &["chrt"],
            opts("abdfiormRGv", "TPDp", "all-tasks batch deadline fifo idle other rr reset-on-fork pid= max"),
            1,
        )
    },
    plain(
        &["timeout"],
        opts("pfv", "ks", "foreground preserve-status verbose kill-after= signal= help version"),
        1,
    ),
    Wrapper { assigns: true, ..plain(&["time"], opts("pqv", "f", "format= portability quiet verbose"), 0) },
    plain(&["setsid"], opts("cfw", "", "ctty fork wait"), 0),
    plain(&["stdbuf"], opts("", "ioe", "input= output= error="), 0),
    Wrapper {
        hands_on: true,
        ..plain(
            &["xargs"],
            Options {
                flags: "0rtxpo",
                valued: "aEdILnPs",
                optional: "eil",
                long: "null arg-file= delimiter= eof? replace? max-lines? max-args= max-procs= max-chars= \
     no-run-if-empty verbose exit interactive open-tty show-limits process-slot-var=",
                numbers: false,
            },
            0,
        )
    },
    Wrapper {
        joined: true,
        hands_on: true,
        ..plain(
            &["watch"],
            Options {
                flags: "bcCefgprtwx",
                valued: "nqs",
                optional: "d",
                long: "beep color no-color differences? errexit follow chgexit interval= precise equexit= \
     no-rerun no-title no-wrap exec",
                numbers: false,
            },
            0,
        )
    },
    Wrapper {
        code: &[Name::Short('c'), Name::Long("command")],
        effect: Some(("command.ask.redirect", "`flock` creates the file that it locks.")),
        ..plain(
            &["flock"],
            opts(
                "sxeunFov",
                "wEc",
                "shared exclusive nonblock nb unlock timeout= wait= conflict-exit-code= close command= \
     no-fork verbose",
            ),
            1,
        )
    },
    Wrapper {
        code: &[Name::Short('c'), Name::Long("command")],
        hands_on: true,
        ..plain(
            &["script"],
            Options {
                flags: "aefq",
                valued: "cBIOTmEo",
                optional: "t",
                long: "append command= return flush force quiet log-out= log-in= log-io=",
                numbers: false,
            },
            usize::MAX,
        )
    },
    plain(&["busybox", "toybox"], Options::NONE, 0),
    plain(&["unbuffer"], opts("p", "", ""), 0),
    Wrapper {
        prints: &[Name::Short('p'), Name::Long("pid")],
        ..plain(&["taskset"], opts("acp", "", "all-tasks cpu-list pid"), 1)
    },
    Wrapper {
        effect: Some(("command.ask.unknown", "`chroot` runs the programs of another root.")),
        ..plain(&["chroot"], opts("", "", "userspec= groups= skip-chdir"), 1)
    },
    Wrapper {
        joined: true,
        hands_on: true,
        ..plain(
            &["parallel"],
            opts(
                "0kXmtuqv",
                "jNnIadSC",
                "jobs= keep-order halt= bar dry-run will-cite colsep= tag progress eta",
            ),
            0,
        )
    },
];

/// Programs that run the command behind their options, which are too many to list.
const RUNNERS: [&str; 53] = [
    "strace",
    "ltrace",
    "valgrind",
    "unshare",
    "nsenter",
    "setarch",
    "linux32",
    "linux64",
    "i386",
    "fakeroot",
    "proot",
    "bwrap",
    "firejail",
    "systemd-run",
    "systemd-inhibit",
    "prlimit",
    "choom",
    "xvfb-run",
    "dbus-run-session",
    "numactl",
    "cpulimit",
    "rlwrap",
    "entr",
    "chronic",
    "proxychains",
    "torsocks",
    "tini",
    "dumb-init",
    "faketime",
    "cross-env",
    "npx",
    "bunx",
    "dbus-launch",
    "chpst",
    "softlimit",
    "daemonize",
    "start-stop-daemon",
    "systemd-nspawn",
    "lxc-attach",
    "catchsegv",
    "sshpass",
    "ssh-agent",
    "flatpak-spawn",
    "arch-chroot",
    "schroot",
    "eatmydata",
    "qemu-x86_64",
    "box64",
    "sem",
    "hyperfine",
    "gdbserver",
    "watchexec",
    "dotenv",
];
/// Programs that run the command behind a word of their own, such as `run` or `exec`.
const MANAGERS: [&str; 26] = [
    "perf",
    "gdb",
    "direnv",
    "nix-shell",
    "mise",
    "asdf",
    "poetry",
    "uv",
    "uvx",
    "pipenv",
    "bundle",
    "hatch",
    "pdm",
    "rye",
    "pnpm",
    "yarn",
    "npm",
    "bun",
    "ip",
    "aws-vault",
    "chamber",
    "doppler",
    "op",
    "conda",
    "mamba",
    "micromamba",
];
/// Managers that have an operand between their word and the command: an environment, a directory, a name space.
const NAMED_FIRST: [&str; 4] = ["direnv", "ip", "aws-vault", "chamber"];

/// The wrapper of this name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    static ALL: [Wrapper; 20] = WRAPPERS;
    ALL.iter().find(|wrapper| wrapper.names.contains(&name))
}

/// The command behind all wrappers, where it can be told; empty when the last of them has none, and nothing when there
/// are more than anybody writes.
pub(super) fn innermost(arguments: &[Argument]) -> Option<&[Argument]> {
    let mut inner = arguments;
    for _ in 0..MAX_WRAPPERS {
        let Some((first, rest)) = inner.split_first() else { return Some(inner) };
        let name = first.emptied();
        let Some(wrapper) = find(name.rsplit('/').next().unwrap_or("")) else { return Some(inner) };
        match wrapper.inside(rest) {
            Inside::Command(behind) => inner = behind,
            Inside::Nothing => return Some(&[]),
            Inside::Code(..) | Inside::Split(..) | Inside::Joined(_) | Inside::Unknown => return Some(inner),
        }
    }
    None
}

/// Whether a program of this name runs the command behind its options.
pub(super) fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name) || ["ld-linux", "ld-musl", "ld.so"].iter().any(|loader| name.starts_with(loader))
}

/// Whether a program of this name runs the command behind a word of its own.
pub(super) fn is_manager(name: &str) -> bool {
    MANAGERS.contains(&name)
}

/// Managers whose `run` names a script of the package, not a command.
const SCRIPTED: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// What such a program most likely runs: what stands behind its options, or behind `run` or `exec`.
pub(super) fn likely<'a>(name: &str, arguments: &'a [Argument]) -> &'a [Argument] {
    let words: &[&str] = match name {
        "perf" => &["record", "stat", "trace"],
        _ if SCRIPTED.contains(&name) => &["exec", "x", "dlx"],
        _ => &["run", "exec"],
    };
    let word = |argument: &Argument| argument.literal().is_some_and(|literal| words.contains(&literal));
    let ended = |argument: &Argument| argument.literal() == Some("--");
    let behind = arguments.iter().position(ended).map_or(0, |at| at + 1);
    let from = if is_runner(name) { Some(behind) } else { arguments.iter().position(word).map(|at| at + 1) };
    let from = from.map(|from| from + usize::from(NAMED_FIRST.contains(&name)));
    let rest = from.and_then(|from| arguments.get(from..)).unwrap_or(&[]);
    let options = rest.iter().take_while(|argument| options::head(argument).starts_with('-')).count();
    rest.get(options..).unwrap_or(&[])
}

/// The words from the first that is no option, when a `--` comes after it.
pub(super) fn before_end(arguments: &[Argument]) -> &[Argument] {
    let options = arguments.iter().take_while(|argument| options::head(argument).starts_with('-')).count();
    let rest = arguments.get(options..).unwrap_or(&[]);
    let ended = rest.iter().any(|argument| argument.literal() == Some("--"));
    let ended_before = arguments.iter().take(options).any(|argument| argument.literal() == Some("--"));
    if ended && !ended_before { rest } else { &[] }
}

impl Wrapper {
    /// What the wrapper runs, of its `arguments` without its own name.
    pub(super) fn inside<'a>(&self, arguments: &'a [Argument]) -> Inside<'a> {
        // A program that takes all operands for itself may be given options behind them.
        let style = if self.operands == usize::MAX { Style::Throughout } else { Style::UpToOperand };
        let given = options::read(arguments, &self.options, style);
        if given.unknown.is_some() {
            return Inside::Unknown;
        }
        if self.prints.iter().any(|name| given.has(*name)) {
            return Inside::Nothing;
        }
        let first = given.operands.first().copied().unwrap_or(arguments.len());
        let rest = arguments.get(first..).unwrap_or(&[]);
        let splits = given.options.iter().find(|(name, _)| self.splits.contains(name));
        if let Some((_, Some(value))) = splits {
            let (text, at) = match value {
                Value::Separate(at) => (None, *at),
                Value::Attached(text, at) => (Some(*text), *at),
            };
            let Some(carrier) = arguments.get(at) else { return Inside::Nothing };
            let text = text.map_or_else(|| carrier.emptied().into_owned(), str::to_owned);
            return Inside::Split(text, carrier, arguments.get(at + 1..).unwrap_or(&[]));
        }
        let code =
            given.options.iter().find(|(name, _)| self.code.contains(name)).and_then(|(_, value)| *value);
        match code {
            Some(Value::Separate(at)) => match arguments.get(at) {
                Some(text) => Inside::Code(text.emptied().into_owned(), text, self.command(rest)),
                None => Inside::Nothing,
            },
            Some(Value::Attached(text, at)) => match arguments.get(at) {
                Some(argument) => Inside::Code(text.to_owned(), argument, self.command(rest)),
                None => Inside::Nothing,
            },
            None => self.behind_operands(rest),
        }
    }

    /// The command behind the operands and assignments.
    fn command<'a>(&self, rest: &'a [Argument]) -> &'a [Argument] {
        let operands = self.operands.min(rest.len());
        let assignments =
            if self.assigns { rest.iter().take_while(|word| is_assignment(word)).count() } else { 0 };
        rest.get(operands + assignments..).unwrap_or(&[])
    }

    fn behind_operands<'a>(&self, rest: &'a [Argument]) -> Inside<'a> {
        let before = rest.get(..self.operands.min(rest.len())).unwrap_or(&[]);
        if before.iter().any(Argument::splits) {
            return Inside::Unknown;
        }
        let command = self.command(rest);
        match command {
            [] => Inside::Nothing,
            [option, code, rest @ ..] if !self.code.is_empty() && is_code_option(option) => {
                Inside::Code(code.emptied().into_owned(), code, rest)
            }
            _ if self.joined => Inside::Joined(command),
            _ => Inside::Command(command),
        }
    }

    /// The text that `xargs` replaces by its input.
    pub(super) fn mark(&self, arguments: &[Argument]) -> Option<String> {
        let given = options::read(arguments, &self.options, Style::UpToOperand);
        let marks = |name: &Name| matches!(name, Name::Short('I' | 'i') | Name::Long("replace"));
        let (_, value) = given.options.iter().rfind(|(name, _)| marks(name))?;
        let text = match value {
            Some(Value::Separate(at)) => arguments.get(*at).map(|argument| argument.emptied().into_owned()),
            Some(Value::Attached(text, _)) => Some((*text).to_owned()),
            None => None,
        };
        Some(text.filter(|text| !text.is_empty()).unwrap_or_else(|| "{}".to_owned()))
    }

    /// The directory that `env` runs the command in.
    pub(super) fn directory<'a>(&self, arguments: &'a [Argument]) -> Option<Cow<'a, Argument>> {
        let given = options::read(arguments, &self.options, Style::UpToOperand);
        let chdir = |name: Name| self.assigns && matches!(name, Name::Short('C') | Name::Long("chdir"));
        let (_, value) = given.options.iter().find(|(name, _)| chdir(*name))?;
        match (*value)? {
            Value::Separate(at) => arguments.get(at).map(Cow::Borrowed),
            Value::Attached(text, at) => {
                arguments.get(at).map(|argument| Cow::Owned(Argument::text(text, argument.place)))
            }
        }
    }

    /// The assignments before the command.
    pub(super) fn assignments<'a>(&self, arguments: &'a [Argument]) -> &'a [Argument] {
        if !self.assigns {
            return &[];
        }
        let given = options::read(arguments, &self.options, Style::UpToOperand);
        let first = given.operands.first().copied().unwrap_or(arguments.len());
        let rest = arguments.get(first..).unwrap_or(&[]);
        let count = rest.iter().take_while(|word| is_assignment(word)).count();
        rest.get(..count).unwrap_or(&[])
    }
}

fn is_code_option(argument: &Argument) -> bool {
    matches!(argument.literal(), Some("-c" | "--command"))
}

/// `name=value`, where `env` takes any word with `=` for one; or the `-` by which it empties the environment.
fn is_assignment(argument: &Argument) -> bool {
    argument.literal() == Some("-") || argument.emptied().contains('=')
}
