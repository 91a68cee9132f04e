//! Opening permissions and handing files to root: the arithmetic of `chmod` and `chown`.

use std::borrow::Cow;

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
        "install" | "mkdir" | "mkfifo" | "mknod" => by_options(name, arguments, arguments),
        _ => None,
    }
}

/// A command whose options set the mode and the owner; each is looked for from where it may stand first.
fn by_options(name: &str, modes: &[Argument], owners: &[Argument]) -> Option<Finding> {
    let mode = option_value(modes, 'm', "--mode").and_then(|mode| opened(name, &mode));
    let is_root = |owner: &String| is_root(owner);
    let owner = || option_value(owners, 'o', "--owner").filter(is_root).map(|_| handed(name));
    mode.or_else(|| if name == "install" { owner() } else { None })
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
    let is_mode = |text: &Cow<'_, str>| {
        let takes_away =
            text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c| "rwxXst0".contains(c)));
        !text.starts_with('-') || takes_away
    };
    arguments.iter().map(Argument::emptied).find(is_mode).map(Cow::into_owned)
}

/// The owner: the first operand that is no option and no option's value.
fn owner_operand(arguments: &[Argument]) -> Option<String> {
    let referenced = options(arguments).any(|option| option.starts_with("--ref"));
    if referenced {
        return None;
    }
    let mut rest = arguments.iter().map(Argument::emptied);
    while let Some(text) = rest.next() {
        if text.len() > 2 && "--from".starts_with(text.as_ref()) {
            rest.next();
        } else if !text.starts_with('-') {
            return Some(text.into_owned());
        }
    }
    None
}

/// An option with a value, or the end of all options.
enum Told<'a> {
    Attached(String),
    Behind(Option<&'a Argument>),
    Ended,
}

/// What the first of these arguments says of an option: its short form, or its long one, abbreviated or not.
fn told<'a>(arguments: &'a [Argument], short: char, long: &str) -> Option<Told<'a>> {
    let (argument, rest) = arguments.split_first()?;
    let text = argument.emptied();
    if !text.starts_with('-') {
        return None;
    }
    if text == "--" {
        return Some(Told::Ended);
    }
    let (key, value) = text.split_once('=').map_or((text.as_ref(), None), |(key, value)| (key, Some(value)));
    if key.len() > 3 && long.starts_with(key) {
        return Some(value.map_or(Told::Behind(rest.first()), |value| Told::Attached(value.to_owned())));
    }
    let short_form = head(argument).starts_with('-') && !text.starts_with("--");
    let (_, value) = text.split_once(short).filter(|_| short_form)?;
    Some(if value.is_empty() { Told::Behind(rest.first()) } else { Told::Attached(value.to_owned()) })
}

/// The value of a short option or of its long form, attached or not.
fn option_value(arguments: &[Argument], short: char, long: &str) -> Option<String> {
    let first = (0..arguments.len()).find_map(|at| told(arguments.get(at..)?, short, long))?;
    match first {
        Told::Attached(value) => Some(value),
        Told::Behind(argument) => argument.map(|argument| argument.emptied().into_owned()),
        Told::Ended => None,
    }
}

/// Where in a command line the options stand that set modes and owners: for each place the next of them.
pub(in crate::command) struct Next {
    mode: Vec<usize>,
    owner: Vec<usize>,
}

impl Next {
    /// Looks through the arguments once.
    pub(in crate::command) fn of(arguments: &[Argument]) -> Self {
        let next = |short, long| {
            let mut next = vec![arguments.len(); arguments.len() + 1];
            let mut last = arguments.len();
            for at in (0..arguments.len()).rev() {
                if arguments.get(at..).and_then(|rest| told(rest, short, long)).is_some() {
                    last = at;
                }
                if let Some(place) = next.get_mut(at) {
                    *place = last;
                }
            }
            next
        };
        Self { mode: next('m', "--mode"), owner: next('o', "--owner") }
    }
}

/// The same as [`refused`] for the command whose arguments begin at `at`, the options being known.
pub(super) fn refused_at(name: &str, arguments: &[Argument], at: usize, next: &Next) -> Option<Finding> {
    if matches!(name, "chmod" | "chown") {
        return refused(name, arguments.get(at..).unwrap_or(&[]));
    }
    let from = |next: &[usize]| next.get(at).and_then(|&at| arguments.get(at..)).unwrap_or(&[]);
    by_options(name, from(&next.mode), from(&next.owner))
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
/// What the classes had before is not known: `o=u` by itself gives nothing surely, and asks as `chmod` does.
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
