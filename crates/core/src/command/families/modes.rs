//! Opening permissions and handing files to root: the arithmetic of `chmod` and `chown`.

use super::{head, options};
use crate::command::argument::Argument;
use crate::command::finding::Finding;

const SET_ID: u32 = 0o6000;
const OTHERS: u32 = 0o007;

/// Programs that set modes or owners.
pub(super) const NAMES: [&str; 6] = ["chmod", "chown", "install", "mkdir", "mkfifo", "mknod"];

pub(super) fn refused(name: &str, arguments: &[Argument]) -> Option<Finding> {
    match name {
        "chmod" => mode_operand(arguments).and_then(|mode| opened(name, &mode)),
        "chown" => owner_operand(arguments).filter(|owner| is_root(owner)).map(|_| handed(name)),
        "install" | "mkdir" | "mkfifo" | "mknod" => {
            let mode = option_value(arguments, 'm', "--mode").and_then(|mode| opened(name, &mode));
            let owner =
                option_value(arguments, 'o', "--owner").filter(|owner| name == "install" && is_root(owner));
            mode.or_else(|| owner.map(|_| handed(name)))
        }
        _ => None,
    }
}

fn handed(name: &str) -> Finding {
    Finding::refused("command.refused.ownership", format!("`{name}` hands files to root."))
}

fn opened(name: &str, mode: &str) -> Option<Finding> {
    let (everyone, set_id) = read_mode(mode);
    if set_id {
        let reason = format!("`{name} {mode}` lets a program run with its owner's rights.");
        return Some(Finding::refused("command.refused.permissions", reason));
    }
    everyone.then(|| {
        Finding::refused("command.refused.permissions", format!("`{name} {mode}` opens files to everyone."))
    })
}

/// The mode: the first operand. A mode may itself begin with `-`.
fn mode_operand(arguments: &[Argument]) -> Option<String> {
    arguments.iter().map(Argument::emptied).find(|text| {
        let takes_away =
            text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c| "rwxXst0".contains(c)));
        !text.starts_with('-') || takes_away
    })
}

/// The owner: the first operand that is no option and no option's value.
fn owner_operand(arguments: &[Argument]) -> Option<String> {
    let referenced = options(arguments).any(|option| option.starts_with("--ref"));
    if referenced {
        return None;
    }
    let mut rest = arguments.iter().map(Argument::emptied);
    while let Some(text) = rest.next() {
        if text.len() > 2 && "--from".starts_with(text.as_str()) {
            rest.next();
        } else if !text.starts_with('-') {
            return Some(text);
        }
    }
    None
}

/// The value of a short option or of its long form, attached or not.
fn option_value(arguments: &[Argument], short: char, long: &str) -> Option<String> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.emptied();
        if text == "--" {
            return None;
        }
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (text.as_str(), None),
        };
        if key.len() > 3 && long.starts_with(key) {
            return value.or_else(|| arguments.next().map(Argument::emptied));
        }
        if head(argument).starts_with('-')
            && !text.starts_with("--")
            && let Some((_, rest)) = text.split_once(short)
        {
            return if rest.is_empty() {
                arguments.next().map(Argument::emptied)
            } else {
                Some(rest.to_owned())
            };
        }
    }
    None
}

/// Whether a mode gives everyone all rights, and whether it sets the user or group id.
fn read_mode(mode: &str) -> (bool, bool) {
    if let Some(bits) = octal(mode) {
        return (bits & OTHERS == OTHERS, bits & SET_ID != 0);
    }
    let mut given = Given::default();
    let mut set_id = false;
    for clause in mode.split(',') {
        let at = clause.find(['+', '-', '=']).unwrap_or(clause.len());
        let (who, mut rest) = clause.split_at_checked(at).unwrap_or((clause, ""));
        let for_all = who.is_empty() || who.contains('a');
        while let Some(operator) = rest.chars().next() {
            let after = rest.get(1..).unwrap_or("");
            let end = after.find(['+', '-', '=']).unwrap_or(after.len());
            let (bits, next) = after.split_at_checked(end).unwrap_or((after, ""));
            rest = next;
            if let Some(bits) = octal(bits) {
                given.others |= if operator == '-' { 0 } else { bits & OTHERS };
                set_id |= operator != '-' && bits & SET_ID != 0;
                continue;
            }
            let named = given.rights(bits);
            set_id |= operator != '-' && bits.contains('s') && (for_all || who.contains(['u', 'g']));
            for (class, rights) in [('u', &mut given.user), ('g', &mut given.group), ('o', &mut given.others)]
            {
                if for_all || who.contains(class) {
                    *rights = match operator {
                        '+' => *rights | named,
                        '-' => *rights & !named,
                        _ => named,
                    };
                }
            }
        }
    }
    (given.others == OTHERS, set_id)
}

/// The rights that a mode surely gives, whatever they were before.
#[derive(Default)]
struct Given {
    user: u32,
    group: u32,
    others: u32,
}

impl Given {
    /// What letters stand for; `u`, `g` and `o` are what that class has by now.
    fn rights(&self, letters: &str) -> u32 {
        letters.chars().fold(0, |bits, letter| {
            bits | match letter {
                'r' => 4,
                'w' => 2,
                'x' | 'X' => 1,
                'u' => self.user,
                'g' => self.group,
                'o' => self.others,
                _ => 0,
            }
        })
    }
}

fn octal(text: &str) -> Option<u32> {
    let digits = text.trim_start_matches('0');
    let fits = !text.is_empty() && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) && digits.len() < 8;
    if !fits {
        return None;
    }
    if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, 8).ok() }
}

/// Whether an owner, with or without a group, names root, or a group that is root's.
fn is_root(owner: &str) -> bool {
    owner.split([':', '.']).take(2).any(|part| {
        let digits = part.strip_prefix('+').unwrap_or(part);
        let zero = !digits.is_empty() && digits.bytes().all(|byte| byte == b'0');
        part == "root" || zero
    })
}

#[cfg(test)]
mod tests {
    use super::{is_root, read_mode};

    #[test]
    fn modes_that_open_files_are_known_by_any_spelling() {
        for mode in [
            "777",
            "0777",
            "00777",
            "1777",
            "a+rwx",
            "+rwx",
            "ugo+rwx",
            "o=rwx",
            "o+r,o+w,o+x",
            "a=rwx",
            "707",
            "u=rwx,go=u",
            "g+rwx,o=g",
            "u+rw,a+x,o+u",
        ] {
            assert!(read_mode(mode).0, "{mode}");
        }
        for mode in [
            "755",
            "0644",
            "+x",
            "u+rwx",
            "o+r",
            "a+r",
            "o+rwx,o-w",
            "go=u",
            "u=rw,o=u",
            "770",
            "a-rwx",
            "u=rwx,go=rx",
            "666",
        ] {
            assert_eq!(read_mode(mode), (false, false), "{mode}");
        }
    }

    #[test]
    fn set_ids_are_known_by_any_spelling() {
        for mode in ["4755", "2755", "06755", "u+s", "g+s", "+s", "ug+s", "u=rwxs", "a+s", "u+x,g+s", "+4000"]
        {
            assert!(read_mode(mode).1, "{mode}");
        }
        for mode in ["u-s", "0755", "o+t", "-s"] {
            assert!(!read_mode(mode).1, "{mode}");
        }
    }

    #[test]
    fn root_is_known_by_name_and_number() {
        for owner in ["root", "root:root", "0", "0:0", "+0", "00:users", "root.root", ":root", "root:"] {
            assert!(is_root(owner), "{owner}");
        }
        for owner in ["user:group", "1000", "rooted", "100:10", ":users"] {
            assert!(!is_root(owner), "{owner}");
        }
    }
}
