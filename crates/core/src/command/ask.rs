//! What asks: interpreters, network clients, installs, variables that carry code.
//!
//! Lists of names and nothing more. They only decide which rule and sentence a piece is shown with, and what
//! still asks where the sandbox is trusted to contain the rest.

use super::argument::Argument;
use super::options::head;

const SHELLS: [&str; 20] = [
    "sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "rbash", "yash", "posh", "lksh", "pdksh", "csh",
    "fish", "tcsh", "osh", "ysh", "nu", "xonsh", "elvish",
];
const INTERPRETERS: [&str; 35] = [
    "python",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "lua",
    "luajit",
    "tcl",
    "tclsh",
    "wish",
    "expect",
    "powershell",
    "pwsh",
    "php",
    "R",
    "Rscript",
    "julia",
    "osascript",
    "groovy",
    "scala",
    "irb",
    "ghci",
    "ts-node",
    "tsx",
    "erl",
    "elixir",
    "iex",
    "guile",
    "jshell",
    "octave",
    "ipython",
];
const NETWORK: [&str; 34] = [
    "curl",
    "wget",
    "nc",
    "netcat",
    "ncat",
    "telnet",
    "ssh",
    "scp",
    "rsync",
    "ftp",
    "sftp",
    "tftp",
    "socat",
    "dig",
    "nslookup",
    "host",
    "ping",
    "ping6",
    "traceroute",
    "tracepath",
    "mtr",
    "nmap",
    "aria2c",
    "lftp",
    "http",
    "https",
    "httpie",
    "xh",
    "whois",
    "openssl",
    "fetch",
    "rclone",
    "gh",
    "glab",
];
const PACKAGES: [&str; 30] = [
    "npm", "yarn", "pnpm", "bun", "pip", "pip3", "pipx", "gem", "cargo", "go", "apt", "apt-get", "yum",
    "dnf", "zypper", "apk", "pacman", "brew", "choco", "scoop", "winget", "conda", "mamba", "composer",
    "poetry", "uv", "bundle", "snap", "flatpak", "nix-env",
];
const INSTALLS: [&str; 12] =
    ["install", "i", "add", "get", "ci", "sync", "update", "upgrade", "require", "restore", "-S", "dlx"];
/// Variables that decide what a later command runs or loads.
const LOADERS: [&str; 51] = [
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "SHELL",
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_LOADABLES_PATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "CDPATH",
    "FPATH",
    "ZDOTDIR",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONWARNINGS",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "RUBYLIB",
    "RUBYOPT",
    "NODE_PATH",
    "NODE_OPTIONS",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_PATH",
    "LUA_CPATH",
    "RIPGREP_CONFIG_PATH",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "GCONV_PATH",
    "POSIXLY_CORRECT",
    "EXECIGNORE",
    "GLOBIGNORE",
];
const LOADER_PREFIXES: [&str; 4] = ["LD_", "DYLD_", "GIT_", "BASH_FUNC_"];
/// Variables that look like loaders by their prefix and only say who, when or how loud.
const PLAIN: [&str; 9] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_MERGE_AUTOEDIT",
];
/// Variables that name a program, and are harmless when it is one of [`NO_PROGRAM`].
const PROGRAMS: [&str; 8] =
    ["PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "BROWSER"];
const NO_PROGRAM: [&str; 4] = ["cat", "true", ":", ""];

/// Variables that say where an interpreter looks for its libraries. Inside the workspace it runs what it finds
/// there anyway.
const SEARCHED: [&str; 6] = ["PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH", "LUA_PATH"];

/// Whether a program of this name runs shell text.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether a shell of this name reads bash's grammar, so that text it cannot read runs nowhere.
pub(super) fn reads_as_bash(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "rbash")
}

/// Whether a program of this name runs scripts of another language.
pub(super) fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&bare)
}

/// Whether a program of this name talks to other machines.
pub(super) fn is_network(name: &str) -> bool {
    NETWORK.contains(&name)
}

/// Whether a package manager is told to install something.
pub(super) fn installs(name: &str, arguments: &[Argument]) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let packages = PACKAGES.contains(&name) || bare == "pip";
    packages && arguments.iter().map(head).take(4).any(|argument| INSTALLS.contains(&argument))
}

/// Whether setting this variable to this value decides what a later command runs or loads. `None`: a value
/// that is not known.
pub(super) fn carries_code(name: &str, value: Option<&str>) -> bool {
    if PROGRAMS.contains(&name) && value.is_some_and(|value| NO_PROGRAM.contains(&value)) {
        return false;
    }
    if name == "NODE_OPTIONS" && value.is_some_and(is_memory_option) {
        return false;
    }
    if SEARCHED.contains(&name) && value.is_some_and(is_inside) {
        return false;
    }
    let prefixed = LOADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !PLAIN.contains(&name);
    LOADERS.contains(&name) || prefixed
}

/// Whether the name alone, set to something unknown, carries code.
pub(super) fn is_loader(name: &str) -> bool {
    carries_code(name, None)
}

/// Whether every directory of a search path lies in the workspace or in `/tmp`.
fn is_inside(value: &str) -> bool {
    value.split([':', ';']).all(|directory| {
        let inside = ["/workspace/", "/tmp/"].iter().any(|top| directory.starts_with(top))
            || directory == "/workspace";
        let relative = !directory.starts_with(['/', '~']) && !directory.is_empty();
        (inside || relative) && !directory.split('/').any(|part| part == "..")
    })
}

fn is_memory_option(value: &str) -> bool {
    let size =
        value.strip_prefix("--max-old-space-size=").or_else(|| value.strip_prefix("--max_old_space_size="));
    size.is_some_and(|size| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit()))
}
