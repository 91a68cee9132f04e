//! `git`: the subcommands that only read, with their harmless options.
//!
//! Options that name a program, a file to write or another repository are not listed, so they ask. What a
//! repository's own configuration may run is the sandbox's business, which gives it one of its own.

use super::{harmless, unknown_option};
use crate::command::argument::Argument;
use crate::command::finding::Finding;
use crate::command::options::{self, Given, Name, Options, Style, Value};

/// What operands a subcommand takes without changing anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    Any,
    None,
    /// Any, but only with one of these options.
    With(&'static [Name]),
    /// None, or one of these words first.
    Words(&'static [&'static str]),
}

struct Subcommand {
    names: &'static [&'static str],
    options: Options,
    operands: Operands,
}

const fn sub(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
    operands: Operands,
) -> Subcommand {
    Subcommand {
        names,
        options: Options { flags, valued, optional: "UMCBlx", long, numbers: true },
        operands,
    }
}

/// Options before the subcommand that change nothing.
const GLOBAL: [&str; 5] =
    ["--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--icase-pathspecs"];

const HISTORY: &str = "oneline graph no-graph decorate? no-decorate decorate-refs= all branches? tags? remotes? \
     stat? shortstat numstat name-only name-status summary compact-summary dirstat? patch \
     no-patch patch-with-stat raw color? no-color word-diff? word-diff-regex= color-words? \
     color-moved? no-color-moved cached staged merge-base quiet exit-code check full-index \
     binary abbrev? no-abbrev abbrev-commit no-abbrev-commit unified= diff-filter= \
     find-renames? find-copies? find-copies-harder no-renames diff-algorithm= minimal \
     patience histogram ignore-space-at-eol ignore-space-change ignore-all-space \
     ignore-blank-lines ignore-cr-at-eol function-context inter-hunk-context= relative? \
     no-relative text pickaxe-all pickaxe-regex follow first-parent merges no-merges reverse \
     max-count= skip= since= after= until= before= author= committer= grep= all-match \
     invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp date= \
     relative-date pretty? format= notes? no-notes source full-history topo-order date-order \
     author-date-order left-right left-only right-only cherry-pick cherry-mark cherry \
     simplify-by-decoration no-ext-diff no-textconv submodule? ignore-submodules? no-prefix \
     src-prefix= dst-prefix= default-prefix ws-error-highlight= walk-reflogs parents children \
     boundary count objects left-only exclude= glob= not combined-all-paths cc no-index base \
     ours theirs full-diff log-size no-walk? reflog z";
const STATUS: &str = "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? \
     ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames? \
     null";
const BRANCH: &str = "all remotes list show-current verbose contains? no-contains? merged? no-merged? \
     points-at= format= sort= color? no-color column? no-column abbrev= no-abbrev ignore-case";
const TAG: &str = "list contains? no-contains? merged? no-merged? points-at= format= sort= color? column? \
     no-column ignore-case";
const FILES: &str = "cached deleted modified others ignored stage unmerged killed directory \
     no-empty-directory eol exclude= exclude-standard full-name error-unmatch abbrev? debug \
     deduplicate format= recurse-submodules name-only name-status long full-tree object-only";
const PARSE: &str = "abbrev-ref? short? show-toplevel show-prefix show-cdup git-dir absolute-git-dir \
     git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository \
     is-shallow-repository verify quiet symbolic symbolic-full-name all branches? tags? \
     remotes? revs-only no-revs flags no-flags default= show-object-format? \
     show-superproject-working-tree git-path=";
const OTHERS: &str = "all tags contains long abbrev? always dirty? broken? match= exclude= exact-match \
     first-parent debug candidates= summary numbered email group= is-ancestor octopus \
     independent fork-point heads head verify quiet hash? dereference format= sort= count= \
     points-at= merged? no-merged? no-contains? ignore-case porcelain line-porcelain \
     incremental show-name show-number show-email date= root reverse since= minimal verbose \
     human-readable name-only refs= no-undefined non-matching stdin no-index color? progress \
     no-progress";
const GREP: &str = "cached untracked no-exclude-standard exclude-standard text ignore-case word-regexp \
     invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings \
     line-number column files-with-matches name-only files-without-match only-matching count \
     color? no-color break heading show-function context= after-context= before-context= \
     function-context max-depth= recursive no-recursive all-match and or not quiet null \
     max-count= threads= no-textconv";

static SUBCOMMANDS: &[Subcommand] = &[
    sub(&["status"], "sbvuz", "", STATUS, Operands::Any),
    sub(
        &[
            "log",
            "diff",
            "show",
            "whatchanged",
            "rev-list",
            "diff-tree",
            "diff-index",
            "diff-files",
            "shortlog",
            "range-diff",
        ],
        "pusRabwWzqircgtnemE",
        "SGnL",
        HISTORY,
        Operands::Any,
    ),
    sub(
        &["branch"],
        "arvi",
        "",
        BRANCH,
        Operands::With(&[
            Name::Long("list"),
            Name::Long("contains"),
            Name::Long("no-contains"),
            Name::Long("merged"),
            Name::Long("no-merged"),
            Name::Long("points-at"),
        ]),
    ),
    sub(
        &["tag"],
        "li",
        "n",
        TAG,
        Operands::With(&[
            Name::Short('l'),
            Name::Long("list"),
            Name::Long("contains"),
            Name::Long("merged"),
            Name::Long("no-merged"),
            Name::Long("points-at"),
        ]),
    ),
    sub(&["remote"], "v", "", "verbose", Operands::Words(&["get-url"])),
    sub(&["stash"], "", "", "", Operands::Words(&["list", "show"])),
    sub(&["worktree"], "", "", "porcelain", Operands::Words(&["list"])),
    sub(&["submodule"], "", "", "cached recursive", Operands::Words(&["status", "summary"])),
    sub(&["reflog"], "n", "", HISTORY, Operands::Words(&["show", "exists", "HEAD"])),
    sub(&["bisect"], "", "", "", Operands::Words(&["log"])),
    sub(&["notes"], "", "", "", Operands::Words(&["list", "show"])),
    sub(&["ls-files", "ls-tree"], "cdmosituvkrlfz", "xX", FILES, Operands::Any),
    sub(&["rev-parse"], "q", "", PARSE, Operands::Any),
    sub(&["cat-file"], "tspe", "", "batch-all-objects", Operands::Any),
    sub(
        &[
            "describe",
            "name-rev",
            "merge-base",
            "show-ref",
            "for-each-ref",
            "blame",
            "annotate",
            "count-objects",
            "check-ignore",
            "check-attr",
            "cherry",
            "show-branch",
            "var",
            "verify-pack",
        ],
        "aqdnsvepwfltcbkzH",
        "L",
        OTHERS,
        Operands::Any,
    ),
    sub(&["grep"], "aiwvhHEGPFnlLocpWqrz", "ABCefm", GREP, Operands::Any),
    sub(
        &["config"],
        "lz",
        "",
        "list get get-all get-regexp show-origin show-scope name-only null local global system \
     type= default=",
        Operands::With(&[
            Name::Short('l'),
            Name::Long("list"),
            Name::Long("get"),
            Name::Long("get-all"),
            Name::Long("get-regexp"),
        ]),
    ),
    sub(&["version"], "", "", "build-options", Operands::None),
];

pub(super) fn check(arguments: &[Argument]) -> Finding {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first()
        && first.literal().is_some_and(|text| GLOBAL.contains(&text))
    {
        rest = after;
    }
    let Some((subcommand, rest)) = rest.split_first() else { return unknown(arguments.first()) };
    let Some(name) = subcommand.literal() else {
        return Finding::contained(
            "command.ask.expansion",
            "The subcommand of `git` is known at run time only.",
        );
    };
    let found = SUBCOMMANDS.iter().find(|subcommand| subcommand.names.contains(&name));
    match found {
        Some(found) => fits(name, found, rest),
        None => unknown(Some(subcommand)),
    }
}

fn fits(name: &str, subcommand: &Subcommand, arguments: &[Argument]) -> Finding {
    let given = options::read(arguments, &subcommand.options, Style::Harmless);
    if let Some(at) = given.unknown {
        return unknown_option(&format!("git {name}"), arguments.get(at));
    }
    if arguments.iter().any(|argument| argument.is_glob() && argument.may_be_option()) {
        return Finding::contained("command.ask.option", "A pattern handed to `git` may become an option.");
    }
    if given.options.iter().any(|(name, value)| names_signature(*name, *value, arguments)) {
        return Finding::contained(
            "command.ask.option",
            "This format runs the program that checks signatures.",
        );
    }
    let first = given.operands.first().and_then(|at| arguments.get(*at));
    let accepted = match subcommand.operands {
        Operands::Any => true,
        Operands::None => first.is_none(),
        Operands::With(options) => first.is_none() || has_any(&given, options),
        Operands::Words(words) => match first {
            None => matches!(name, "remote" | "reflog" | "submodule"),
            Some(first) => first.literal().is_some_and(|word| words.contains(&word)),
        },
    };
    if accepted {
        return harmless();
    }
    Finding::contained(
        "command.ask.operand",
        format!("With these operands `git {name}` may change something."),
    )
}

fn has_any(given: &Given<'_>, options: &[Name]) -> bool {
    options.iter().any(|option| given.has(*option))
}

/// Whether a format asks for the check of a signature, which runs another program.
fn names_signature(name: Name, value: Option<Value<'_>>, arguments: &[Argument]) -> bool {
    let text = match value {
        Some(Value::Attached(text, _)) => text,
        Some(Value::Separate(at)) => arguments.get(at).and_then(Argument::literal).unwrap_or(""),
        None => "",
    };
    let placeholder = |rest: &str| rest.trim_start_matches(['+', '-', ' ']).starts_with('G');
    let field = match name {
        Name::Long("sort") => text.contains("signature"),
        Name::Long("format" | "pretty") => text.contains("%(") && text.contains("signature"),
        Name::Long(_) | Name::Short(_) => false,
    };
    field || text.split('%').skip(1).any(placeholder)
}

fn unknown(argument: Option<&Argument>) -> Finding {
    let shown: String =
        argument.map_or_else(String::new, |argument| argument.emptied().chars().take(40).collect());
    Finding::contained("command.ask.unknown", format!("`git {shown}` is not among those known only to read."))
}
