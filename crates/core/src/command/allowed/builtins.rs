//! The builtins of bash: which are harmless, and which change what later commands mean.

use super::{harmless, variables};
use crate::command::argument::Argument;
use crate::command::finding::Finding;
use crate::command::options::head;

/// What is known of a builtin; nothing when the name is no builtin.
pub(super) fn check(name: &str, arguments: &[Argument]) -> Option<Finding> {
    let finding = match name {
        ":" | "true" | "false" | "echo" | "times" | "help" | "dirs" | "caller" | "break" | "continue"
        | "return" | "exit" | "shift" | "type" | "test" | "[" => harmless(),
        "printf" if !first_is(arguments, "-v") => harmless(),
        "cd" => change_directory(arguments),
        "wait" if !variables::may_be_set("wait", arguments) => harmless(),
        "hash" | "umask" | "ulimit" | "history" if arguments.is_empty() => harmless(),
        "set" => set(arguments),
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "mapfile" | "readarray"
        | "getopts" | "printf" | "wait" | "let" => variables::assigns(name, arguments),
        "shopt" => shopt(arguments),
        "alias" | "hash" | "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" | "history" => {
            Finding::asks("command.ask.rebinding", format!("`{name}` changes what later commands mean."))
        }
        "unset" | "umask" | "ulimit" | "bg" | "fg" | "disown" | "suspend" | "logout" | "unalias"
        | "pushd" | "popd" => {
            Finding::contained("command.ask.unknown", format!("`{name}` changes the state of the shell."))
        }
        _ => return None,
    };
    Some(finding)
}

fn first_is(arguments: &[Argument], option: &str) -> bool {
    arguments
        .first()
        .is_some_and(|first| head(first).starts_with(option) || first.may_be_option() && first.is_dynamic())
}

/// `cd` to a directory that is named in full.
fn change_directory(arguments: &[Argument]) -> Finding {
    let upward = |argument: &Argument| {
        let text = argument.emptied();
        text.split('/').any(|part| part == "..") || argument.is_dynamic()
    };
    if arguments.iter().any(upward) {
        return Finding::contained("command.ask.directory", "It leaves the working directory upwards.");
    }
    harmless()
}

/// `set` with options that only make the shell stricter or louder.
fn set(arguments: &[Argument]) -> Finding {
    const NAMES: [&str; 9] = [
        "pipefail",
        "errexit",
        "nounset",
        "xtrace",
        "verbose",
        "noclobber",
        "noglob",
        "errtrace",
        "functrace",
    ];
    let mut named = false;
    let mut contained = false;
    for argument in arguments {
        let Some(text) = argument.literal() else {
            contained = true;
            continue;
        };
        if std::mem::take(&mut named) {
            if matches!(text, "keyword" | "posix" | "history") {
                return rebinding("set");
            }
            contained |= !NAMES.contains(&text);
            continue;
        }
        let Some(letters) = text.strip_prefix(['-', '+']) else {
            contained = true;
            continue;
        };
        if letters.contains('k') && !letters.starts_with('-') {
            return rebinding("set");
        }
        contained |= letters.is_empty() || letters.chars().any(|letter| !"euxvfCETo".contains(letter));
        named = letters.ends_with('o');
    }
    if contained {
        return Finding::contained(
            "command.ask.unknown",
            "`set` changes the arguments or options of the shell.",
        );
    }
    harmless()
}

/// `shopt`: aliases make later words mean something else.
fn shopt(arguments: &[Argument]) -> Finding {
    if arguments.iter().any(|argument| argument.is_dynamic() || argument.emptied().contains("alias")) {
        return rebinding("shopt");
    }
    Finding::contained("command.ask.unknown", "`shopt` changes how the shell reads patterns.")
}

pub(super) fn rebinding(name: &str) -> Finding {
    Finding::asks("command.ask.rebinding", format!("`{name}` changes what later commands mean."))
}
