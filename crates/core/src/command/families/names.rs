//! Families known by their names: privilege, kernel, firewall, formatting, `eval` and `exec`, Windows.

use crate::command::argument::Argument;
use crate::command::finding::Finding;

const PRIVILEGE: [&str; 30] = [
    "sudo",
    "su",
    "doas",
    "pkexec",
    "run0",
    "sudoedit",
    "runas",
    "gsudo",
    "psexec",
    "psexec64",
    "sudo-rs",
    "su-rs",
    "visudo",
    "gksu",
    "gksudo",
    "kdesu",
    "kdesudo",
    "ksu",
    "dzdo",
    "pfexec",
    "runuser",
    "setpriv",
    "capsh",
    "su-exec",
    "gosu",
    "setuidgid",
    "s6-setuidgid",
    "s6-applyuidgid",
    "newgrp",
    "calife",
];
/// Those that also say what rights there are, and the options that make them say no more than that.
const TELLING: [(&str, &[&str]); 2] = [
    ("setpriv", &["-d", "--dump", "--list-caps", "-h", "--help", "-V", "--version"]),
    ("capsh", &["--print", "--current", "--help", "--modes"]),
];
/// Programs that take another user by an option: its letter and its long name.
const OF_USER: [(&str, char, &str); 3] =
    [("chpst", 'u', ""), ("start-stop-daemon", 'c', "--chuid"), ("systemd-run", '\0', "--uid")];
const KERNEL: [&str; 4] = ["insmod", "modprobe", "rmmod", "kmod"];
const FIREWALL: [&str; 8] =
    ["iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "ebtables", "arptables"];
const FIREWALL_VARIANTS: [&str; 4] = ["-restore", "-legacy", "-nft", "-apply"];
const FORMATTING: [&str; 3] = ["mke2fs", "wipefs", "format"];

/// Programs of Windows that are told by their arguments.
pub(super) const WINDOWS: [&str; 6] = ["icacls", "cacls", "del", "erase", "rd", "rmdir"];

pub(super) fn refused(name: &str, arguments: &[Argument]) -> Option<Finding> {
    let finding = if PRIVILEGE.contains(&name) && only_tells(name, arguments) {
        return None;
    } else if PRIVILEGE.contains(&name) || of_another_user(name, arguments) {
        Finding::refused("command.refused.privilege", format!("`{name}` takes the rights of another user."))
    } else if KERNEL.contains(&name) {
        Finding::refused("command.refused.kernel", format!("`{name}` changes the modules of the kernel."))
    } else if is_firewall(name) {
        Finding::refused("command.refused.firewall", format!("`{name}` changes the firewall."))
    } else if FORMATTING.contains(&name) || name.starts_with("mkfs") {
        Finding::refused("command.refused.format", format!("`{name}` formats a disk."))
    } else if name == "eval" || name == "exec" {
        Finding::refused("command.refused.eval", format!("`{name}` runs what cannot be read beforehand."))
    } else {
        return windows(name, arguments);
    };
    Some(finding)
}

/// Names that are also ordinary words: subcommands, operands.
pub(super) fn is_ambiguous(name: &str) -> bool {
    matches!(name, "format" | "eval" | "exec" | "del" | "erase" | "rd")
}

/// Whether a program that changes rights is only asked what rights there are.
fn only_tells(name: &str, arguments: &[Argument]) -> bool {
    let telling = TELLING.iter().find(|(program, _)| *program == name);
    let tells = |argument: &Argument| {
        let text = argument.literal();
        text.is_some_and(|text| telling.is_some_and(|(_, options)| options.contains(&text)))
            || name == "capsh" && text.is_some_and(|text| text.starts_with("--decode="))
    };
    !arguments.is_empty() && arguments.iter().all(tells)
}

/// Whether an option of this program takes another user's rights.
fn of_another_user(name: &str, arguments: &[Argument]) -> bool {
    let Some((_, letter, long)) = OF_USER.iter().find(|(program, ..)| *program == name) else { return false };
    let named = |option: &str| {
        let key = option.split('=').next().unwrap_or("");
        option.starts_with("--") && key.len() > 3 && long.starts_with(key)
    };
    // Letters further behind may be those of the command.
    let leading = arguments.iter().map(super::head).take_while(|text| text.starts_with('-'));
    let mut letters = leading.filter_map(|text| text.strip_prefix('-')?.chars().next());
    super::options(arguments).any(named) || letters.any(|first| first == *letter)
}

fn is_firewall(name: &str) -> bool {
    let base = FIREWALL_VARIANTS.iter().find_map(|variant| name.strip_suffix(variant));
    FIREWALL.contains(&name)
        || base.is_some_and(|base| matches!(base, "iptables" | "ip6tables" | "ebtables" | "arptables"))
}

/// What Windows has of the same families.
fn windows(name: &str, arguments: &[Argument]) -> Option<Finding> {
    let any = |wanted: fn(&str) -> bool| {
        arguments.iter().any(|argument| wanted(&argument.emptied().to_ascii_lowercase()))
    };
    match name {
        "takeown" => Some(Finding::refused("command.refused.ownership", "`takeown` takes files over.")),
        "icacls" | "cacls" if any(|text| text.contains("everyone")) => {
            Some(Finding::refused("command.refused.permissions", "`icacls` opens files to everyone."))
        }
        "del" | "erase" | "rd" | "rmdir" if any(|text| text == "/s" || text.starts_with("/s/q")) => Some(
            Finding::refused("command.refused.destruction", format!("`{name} /s` deletes a whole tree.")),
        ),
        _ => None,
    }
}
