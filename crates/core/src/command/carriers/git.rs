//! `git`: configuration that names a program, options that take one, and the commands behind some subcommands.

use super::{Carried, up_to_semicolon};
use crate::command::argument::Argument;

/// Keys of the configuration whose value is a command, in small letters.
const KEYS: [&str; 16] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.askpass",
    "core.fsmonitor",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "diff.external",
    "credential.helper",
    "gpg.program",
    "web.browser",
    "uploadpack.packobjectshook",
    "sendemail.smtpserver",
    "sendemail.sendmailcmd",
    "interactive.difffilter",
];
const PREFIXES: [&str; 2] = ["alias.", "pager."];
const ENDINGS: [&str; 13] = [
    ".command",
    ".textconv",
    ".clean",
    ".smudge",
    ".process",
    ".driver",
    ".cmd",
    ".path",
    ".helper",
    ".program",
    ".uploadpack",
    ".receivepack",
    ".vcs",
];
/// Options whose value is a command: subcommands, a short one, long ones.
const OPTIONS: [(&[&str], &str, &[&str]); 9] = [
    (&["rebase"], "-x", &["--exec"]),
    (&["send-email"], "", &["--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd", "--smtp-server"]),
    (&["daemon"], "", &["--access-hook"]),
    (&["difftool"], "-x", &["--extcmd"]),
    (&["grep"], "-O", &["--open-files-in-pager"]),
    (&["clone"], "-u", &["--upload-pack"]),
    (&["fetch", "pull", "ls-remote", "fetch-pack", "archive"], "", &["--upload-pack", "--exec"]),
    (&["push", "send-pack"], "", &["--receive-pack", "--exec"]),
    (
        &["filter-branch"],
        "",
        &[
            "--env-filter",
            "--tree-filter",
            "--index-filter",
            "--parent-filter",
            "--msg-filter",
            "--commit-filter",
            "--tag-name-filter",
            "--setup",
        ],
    ),
];

/// Adds what `git` with these arguments runs.
pub(super) fn carried<'a>(arguments: &'a [Argument], found: &mut Vec<Carried<'a>>) {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.emptied();
        at += 1;
        match text.as_ref() {
            "-c" | "--config" => {
                if let Some(next) = arguments.get(at) {
                    configured(&next.emptied(), next, found);
                }
                at += 1;
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => at += 1,
            _ if text.starts_with("-c") => configured(text.get(2..).unwrap_or(""), argument, found),
            _ if text.starts_with('-') => {}
            _ => {
                let rest = arguments.get(at..).unwrap_or(&[]);
                subcommand(&text, rest, found);
                break;
            }
        }
    }
    for argument in arguments {
        if let Some(program) = argument.emptied().strip_prefix("ext::") {
            found.push(Carried::Text(program.to_owned(), argument));
        }
    }
}

/// `name=value` of the configuration.
fn configured<'a>(setting: &str, argument: &'a Argument, found: &mut Vec<Carried<'a>>) {
    if let Some((key, value)) = setting.split_once('=') {
        by_key(key, value, argument, found);
    }
}

fn by_key<'a>(key: &str, value: &str, argument: &'a Argument, found: &mut Vec<Carried<'a>>) {
    let key = key.to_ascii_lowercase();
    let command = KEYS.contains(&key.as_str())
        || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || ENDINGS.iter().any(|ending| key.ends_with(ending));
    // An alias without `!` is a subcommand of git.
    let text = match value.strip_prefix('!') {
        None if key.starts_with("alias.") => return,
        Some(rest) => rest,
        None => value,
    };
    if command && !matches!(text, "" | "true" | "false") {
        found.push(Carried::Text(text.to_owned(), argument));
    }
}

fn subcommand<'a>(name: &str, rest: &'a [Argument], found: &mut Vec<Carried<'a>>) {
    match name {
        "clone" => {
            for (before, argument) in rest.iter().zip(rest.iter().skip(1)) {
                if matches!(before.literal(), Some("-c" | "--config")) {
                    configured(&argument.emptied(), argument, found);
                }
            }
        }
        "config" => {
            for (key, value) in rest.iter().zip(rest.iter().skip(1)) {
                by_key(&key.emptied(), &value.emptied(), value, found);
            }
        }
        "bisect" => {
            if let [first, command @ ..] = rest
                && first.literal() == Some("run")
            {
                found.push(Carried::Command(command));
            }
        }
        "submodule" | "submodule--helper" => {
            let behind = rest.iter().position(|argument| argument.literal() == Some("foreach"));
            let command = behind.and_then(|at| rest.get(at + 1..)).unwrap_or(&[]);
            let options = command.iter().take_while(|word| word.emptied().starts_with('-')).count();
            match command.get(options..).unwrap_or(&[]) {
                [] => {}
                [only] => found.push(Carried::Text(only.emptied().into_owned(), only)),
                words => found.push(Carried::Command(up_to_semicolon(words))),
            }
        }
        _ => {}
    }
    for (_, short, long) in OPTIONS.iter().filter(|(names, ..)| names.contains(&name)) {
        by_option(short, long, rest, found);
    }
}

fn by_option<'a>(short: &str, long: &[&str], rest: &'a [Argument], found: &mut Vec<Carried<'a>>) {
    let mut arguments = rest.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.emptied();
        let (key, value) =
            text.split_once('=').map_or((text.as_ref(), None), |(key, value)| (key, Some(value)));
        let named = key.len() > 3 && long.iter().any(|name| name.starts_with(key));
        let attached = text.strip_prefix(short).filter(|_| !short.is_empty() && !text.starts_with("--"));
        let value = match (named, value, attached) {
            (true, Some(value), _) => value,
            (false, _, Some(value)) if !value.is_empty() => value,
            (true, None, _) | (false, _, Some(_)) => {
                if let Some(next) = arguments.next() {
                    found.push(Carried::Text(next.emptied().into_owned(), next));
                }
                continue;
            }
            (false, _, None) => continue,
        };
        found.push(Carried::Text(value.to_owned(), argument));
    }
}
