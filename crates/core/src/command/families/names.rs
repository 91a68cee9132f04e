//! Families known by their names: privilege, kernel, firewall, formatting, `eval` and `exec`, Windows.

use crate::command::argument::Argument;
use crate::command::finding::Finding;

const PRIVILEGE: [&str; 20] = [
    "sudo", "su", "doas", "pkexec", "run0", "sudoedit", "runas", "gsudo", "psexec", "psexec64", "sudo-rs",
    "su-rs", "visudo", "gksu", "gksudo", "kdesu", "kdesudo", "ksu", "dzdo", "pfexec",
];
const KERNEL: [&str; 4] = ["insmod", "modprobe", "rmmod", "kmod"];
const FIREWALL: [&str; 8] =
    ["iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "ebtables", "arptables"];
const FIREWALL_VARIANTS: [&str; 4] = ["-restore", "-legacy", "-nft", "-apply"];
const FORMATTING: [&str; 3] = ["mke2fs", "wipefs", "format"];

/// Programs of Windows that are told by their arguments.
pub(super) const WINDOWS: [&str; 6] = ["icacls", "cacls", "del", "erase", "rd", "rmdir"];

pub(super) fn refused(name: &str, arguments: &[Argument]) -> Option<Finding> {
    let finding = if PRIVILEGE.contains(&name) {
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
