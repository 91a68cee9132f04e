//! The builtins of bash: which are harmless, and which change what later commands mean.

use super::harmless;
use crate::command::argument::Argument;
use crate::command::ask;
use crate::command::finding::Finding;
use crate::command::options::head;

/// Builtins that read some of their arguments as names, and run what a subscript in one holds.
pub(in crate::command) fn evaluates_names(name: &str) -> bool {
    matches!(
        name,
        "let"
            | "declare"
            | "typeset"
            | "local"
            | "export"
            | "readonly"
            | "read"
            | "mapfile"
            | "readarray"
            | "unset"
            | "getopts"
            | "wait"
            | "printf"
            | "test"
            | "["
    )
}

/// What is known of a builtin; nothing when the name is no builtin.
pub(super) fn check(name: &str, arguments: &[Argument]) -> Option<Finding> {
    let finding = match name {
        ":" | "true" | "false" | "echo" | "times" | "help" | "dirs" | "caller" | "break" | "continue"
        | "return" | "exit" | "shift" | "type" | "test" | "[" => harmless(),
        "printf" if !first_is(arguments, "-v") => harmless(),
        "cd" => change_directory(arguments),
        "wait" if !first_is(arguments, "-p") => harmless(),
        "hash" | "umask" | "ulimit" | "history" if arguments.is_empty() => harmless(),
        "set" => set(arguments),
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "mapfile" | "readarray"
        | "getopts" | "printf" | "wait" | "let" => assigns(name, arguments),
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

fn rebinding(name: &str) -> Finding {
    Finding::asks("command.ask.rebinding", format!("`{name}` changes what later commands mean."))
}

/// Builtins that set variables.
fn assigns(name: &str, arguments: &[Argument]) -> Finding {
    let callback = matches!(name, "mapfile" | "readarray")
        && arguments.iter().any(|argument| head(argument).starts_with("-C"));
    if callback {
        return rebinding(name);
    }
    for argument in arguments {
        let text = argument.emptied();
        let (variable, value) =
            text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let variable = variable.split('[').next().unwrap_or("").trim_end_matches('+');
        let variable =
            variable.strip_prefix("-v").or_else(|| variable.strip_prefix("-p")).unwrap_or(variable);
        let value = value.filter(|_| argument.literal().is_some());
        let listed = name != "export" || text.contains('=');
        if listed && ask::carries_code(variable, value) {
            let reason = format!("It sets `{variable}`, which decides what later commands run.");
            return Finding::asks("command.ask.loader", reason);
        }
        if !text.contains('=')
            && argument.is_dynamic()
            && matches!(name, "export" | "declare" | "typeset" | "read")
        {
            return Finding::asks(
                "command.ask.loader",
                "It sets a variable whose name is known at run time only.",
            );
        }
    }
    Finding::contained("command.ask.assignment", format!("`{name}` sets variables."))
}
