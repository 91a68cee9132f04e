//! The table of carriers: which options and operands of which programs are run.
//!
//! A value that the program gives more words to is guessed: alone it may look like another command.
//! Only what runs here is listed: what `ssh` or `docker` runs elsewhere asks as such.
//! An option that is listed too many costs nothing: its value is only read, and only what it holds is judged.

/// How a value becomes a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The value goes to a shell.
    Shell,
    /// The value may go to a shell.
    Guess,
    /// The arguments behind the option, up to `;`, are the command.
    Behind,
    /// What stands behind one of these words.
    After(&'static [&'static str]),
    /// What stands behind the first `!`, and what it hands to `system`.
    AfterBang,
    /// What stands behind the first colon: a recipe or a key binding.
    AfterColon,
    /// What stands behind the first `=`.
    AfterEquals,
    /// What stands behind the first `=` may go to a shell: a text, or the words of a list.
    GuessAfterEquals,
}

/// Options and operands of some programs, and what becomes of them.
pub(super) struct Carrier {
    pub(super) names: &'static [&'static str],
    /// Letters of short options with a value.
    pub(super) short: &'static str,
    /// Long options with a value, without their dashes, with blanks between.
    pub(super) long: &'static str,
    /// Whole words whose value is the next argument.
    pub(super) words: &'static [&'static str],
    /// Beginnings of arguments whose rest is the value.
    pub(super) attached: &'static [&'static str],
    /// Every operand counts.
    pub(super) operands: bool,
    pub(super) way: Way,
}

const NONE: Carrier =
    Carrier { names: &[], short: "", long: "", words: &[], attached: &[], operands: false, way: Way::Shell };

const fn options(names: &'static [&'static str], short: &'static str, long: &'static str) -> Carrier {
    Carrier { names, short, long, ..NONE }
}

const fn words(names: &'static [&'static str], words: &'static [&'static str]) -> Carrier {
    Carrier { names, words, ..NONE }
}

const SSH: &[&str] = &["ssh", "scp", "sftp", "slogin", "autossh"];
const SSH_COMMANDS: Way = Way::After(&[
    "proxycommand=",
    "proxycommand ",
    "localcommand=",
    "localcommand ",
    "knownhostscommand=",
    "remotecommand=",
]);
const VIM: &[&str] = &["vi", "vim", "nvim", "view", "ex", "gvim", "rvim", "vimdiff", "nvi", "elvis"];
const TERMINALS: &[&str] =
    &["xterm", "gnome-terminal", "konsole", "urxvt", "alacritty", "kitty", "foot", "st", "terminator"];
const TMUX: &[&str] = &["tmux", "screen", "byobu", "zellij", "dtach", "abduco"];

pub(super) static CARRIERS: &[Carrier] = &[
    options(
        &["tar", "gtar", "bsdtar"],
        "IF",
        "to-command use-compress-program info-script new-volume-script rsh-command rmt-command",
    ),
    Carrier { way: Way::After(&["exec="]), ..options(&["tar", "gtar", "bsdtar"], "", "checkpoint-action") },
    Carrier { long: "unzip-command", ..words(&["zip"], &["-TT"]) },
    options(&["rsync"], "e", "rsh rsync-path"),
    Carrier { way: SSH_COMMANDS, ..options(SSH, "o", "") },
    options(&["scp", "sftp"], "S", ""),
    options(&["man", "apropos", "whatis"], "P", "pager"),
    Carrier {
        words: &["-c", "--cmd", "-S"],
        attached: &["+", "-c", "--cmd="],
        way: Way::AfterBang,
        ..words(VIM, &[])
    },
    Carrier { attached: &["+"], way: Way::AfterBang, ..words(&["less", "more", "most"], &[]) },
    Carrier {
        attached: &["--eval-command=", "--init-eval-command=", "-eval-command=", "-ex=", "-iex=", "--ex="],
        way: Way::After(&["!", "shell ", "she ", "python os.system", "pipe "]),
        ..words(
            &["gdb", "lldb", "cgdb"],
            &["-ex", "--ex", "-iex", "-eval-command", "--eval-command", "-o", "-O", "--one-line"],
        )
    },
    Carrier { way: Way::Behind, ..words(&["gdb"], &["--args", "-args"]) },
    options(&["sort"], "", "compress-program"),
    options(&["wget"], "", "use-askpass"),
    options(&["nc", "netcat", "ncat"], "ec", "exec sh-exec"),
    Carrier { operands: true, way: Way::After(&["exec:", "system:", "shell:"]), ..words(&["socat"], &[]) },
    Carrier { way: Way::Guess, ..options(&["fzf", "sk"], "", "preview") },
    options(&["nix-shell"], "", "run command"),
    Carrier { way: Way::Behind, ..words(&["nix"], &["-c", "--command"]) },
    options(&["dtrace", "bpftrace"], "c", ""),
    Carrier { way: Way::AfterBang, ..options(&["mutt", "neomutt", "lftp", "ftp", "ncftp"], "ec", "") },
    Carrier { way: Way::AfterBang, ..options(&["emacs", "emacsclient"], "", "eval execute") },
    Carrier { way: Way::AfterBang, ..words(&["emacs", "emacsclient"], &["-eval", "-execute", "-e"]) },
    Carrier { way: Way::After(&["\\!"]), ..options(&["psql", "pgcli"], "c", "command") },
    Carrier { way: Way::After(&["\\!", "system "]), ..options(&["mysql", "mariadb"], "e", "execute") },
    Carrier {
        operands: true,
        attached: &["-cmd="],
        way: Way::After(&[".shell ", ".system "]),
        ..words(&["sqlite3", "duckdb"], &["-cmd", "-c"])
    },
    Carrier {
        words: &["-x", "-X", "--exec", "--exec-batch"],
        attached: &["--exec=", "--exec-batch=", "-x", "-X"],
        way: Way::Behind,
        ..words(&["fd", "fdfind"], &[])
    },
    Carrier { way: Way::Guess, ..options(&["rg"], "", "pre hostname-bin") },
    Carrier {
        attached: &["-exec=", "-toolexec=", "-vettool="],
        way: Way::Guess,
        ..words(&["go"], &["-exec", "-toolexec", "-vettool"])
    },
    options(&["npm", "npx", "pnpm"], "c", "call"),
    Carrier { operands: true, ..options(&["hyperfine"], "psc", "prepare setup cleanup conclude") },
    Carrier { operands: true, ..words(&["concurrently"], &[]) },
    Carrier { way: Way::Guess, ..options(&["nodemon", "watchexec", "cargo-watch"], "xs", "exec shell") },
    Carrier { way: Way::Guess, ..options(&["cargo"], "s", "shell") },
    Carrier { way: Way::GuessAfterEquals, ..options(&["cargo"], "", "config") },
    options(&["npm", "pnpm", "yarn"], "", "script-shell"),
    Carrier { way: Way::AfterColon, ..options(&["make", "gmake"], "", "eval") },
    Carrier { attached: &["SHELL="], way: Way::Guess, ..words(&["make", "gmake"], &[]) },
    options(TERMINALS, "e", "command"),
    Carrier { operands: true, way: Way::Guess, ..words(TMUX, &["-c"]) },
    options(&["sg"], "c", "command session-command"),
    options(&["start-stop-daemon"], "ax", "startas exec"),
    options(&["split"], "", "filter"),
    options(&["fish", "nu", "elvish", "xonsh"], "", "command commands init-command"),
    Carrier { way: Way::Guess, ..words(&["pwsh", "powershell"], &["-c", "-C", "-command", "-Command"]) },
    Carrier { way: Way::Guess, ..words(&["cmd"], &["/c", "/C", "/k", "/K"]) },
    Carrier { way: Way::Behind, ..words(&["cmd"], &["/c", "/C", "/k", "/K"]) },
    // Builtins.
    Carrier { way: Way::Behind, ..words(&["jobs"], &["-x"]) },
    options(&["complete", "compgen", "mapfile", "readarray"], "C", ""),
    Carrier { way: Way::AfterColon, ..options(&["bind"], "x", "") },
    Carrier { operands: true, way: Way::AfterEquals, ..words(&["alias"], &[]) },
    Carrier { way: Way::Behind, ..words(&["hash"], &["-p"]) },
];
