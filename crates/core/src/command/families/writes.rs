//! Writes to devices, by the programs whose operands or options name what they write.

use super::{head, operands};
use crate::command::allowed::SED_OPTIONS;
use crate::command::argument::Argument;
use crate::command::finding::Finding;
use crate::command::options::{self, Name, Options, Style};
use crate::command::paths::{Directory, Path};

/// Programs that write to every operand.
const ALL: [&str; 18] = [
    "tee",
    "truncate",
    "shred",
    "sponge",
    "mkswap",
    "sfdisk",
    "sgdisk",
    "blkdiscard",
    "badblocks",
    "pvcreate",
    "touch",
    "mkfifo",
    "mkdir",
    "mknod",
    "fallocate",
    "wipe",
    "scrub",
    "nwipe",
];
/// Programs that write to what `of=` names.
const DISKS: [&str; 3] = ["dd", "dcfldd", "dc3dd"];
/// Programs that write to their last operand.
const LAST: [&str; 7] = ["cp", "mv", "install", "rsync", "ln", "ddrescue", "split"];
/// Programs that write to their second operand, with their options.
const SECOND: [(&str, Options); 2] = [
    ("xxd", Options { flags: "abceEiuprvds", valued: "cglonsR", ..Options::NONE }),
    (
        "uniq",
        Options {
            flags: "cdDiuz",
            valued: "fsw",
            long: "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated \
             check-chars=",
            numbers: true,
            ..Options::NONE
        },
    ),
];
/// Options whose value is written, by program.
const OUTPUTS: [(&str, &str, &str); 20] = [
    ("sort", "-o", "--output"),
    ("curl", "-o", "--output"),
    ("wget", "-O", "--output-document"),
    ("cp", "-t", "--target-directory"),
    ("mv", "-t", "--target-directory"),
    ("install", "-t", "--target-directory"),
    ("ln", "-t", "--target-directory"),
    ("tree", "-o", "--output"),
    ("git", "-o", "--output"),
    ("shuf", "-o", "--output"),
    ("iconv", "-o", "--output"),
    ("patch", "-o", "--output"),
    ("gpg", "-o", "--output"),
    ("tar", "-C", "--directory"),
    ("unzip", "-d", "--directory"),
    ("gcc", "-o", "--output"),
    ("cc", "-o", "--output"),
    ("clang", "-o", "--output"),
    ("g++", "-o", "--output"),
    ("rustc", "-o", "--output"),
];

/// Whether a program of this name writes to what its arguments name.
pub(super) fn is_listed(name: &str) -> bool {
    let option = OUTPUTS.iter().any(|(program, ..)| *program == name);
    let second = SECOND.iter().any(|(program, _)| *program == name);
    name == "sed" || DISKS.contains(&name) || ALL.contains(&name) || LAST.contains(&name) || option || second
}

/// A write to a device is refused; one to a file of the system asks, as a redirection to it does.
pub(super) fn refused(name: &str, arguments: &[Argument], directories: &[Directory]) -> Option<Finding> {
    if !is_listed(name) {
        return None;
    }
    let writes = |what: fn(&Path) -> bool| written(name, arguments, &Seen { directories, what });
    if writes(Path::is_device) {
        return Some(device(name));
    }
    writes(Path::is_of_system)
        .then(|| Finding::asks("command.ask.target", format!("`{name}` writes to a file of the system.")))
}

/// What is looked for among the paths that are written to, and from where they are seen.
struct Seen<'d> {
    directories: &'d [Directory],
    what: fn(&Path) -> bool,
}

impl Seen<'_> {
    fn hits(&self, argument: &Argument) -> bool {
        Path::from_each(argument, self.directories)
            .any(|path| (self.what)(&path) && !path.is_harmless_device())
    }
}

/// Whether a program of this name writes to such a path.
fn written(name: &str, arguments: &[Argument], seen: &Seen<'_>) -> bool {
    let hits = |argument: &Argument| seen.hits(argument);
    if DISKS.contains(&name) {
        arguments.iter().filter_map(output_of_dd).any(|output| hits(&output))
    } else if ALL.contains(&name) {
        operands(arguments).any(hits)
    } else if let Some((_, options)) = SECOND.iter().find(|(program, _)| *program == name) {
        second(arguments, options).is_some_and(hits)
    } else if name == "sed" {
        edited(arguments).any(hits)
    } else {
        let last = LAST.contains(&name) && operands(arguments).last().is_some_and(hits);
        last || OUTPUTS
            .iter()
            .filter(|(program, ..)| *program == name)
            .any(|(_, short, long)| output_option(arguments, short, long, seen))
    }
}

/// The files that a `sed` edits in place.
fn edited(arguments: &[Argument]) -> impl Iterator<Item = &Argument> {
    let given = options::read(arguments, &SED_OPTIONS, Style::Throughout);
    let in_place = given.has(Name::Short('i')) || given.has(Name::Long("in-place"));
    let scripts = [Name::Short('e'), Name::Short('f'), Name::Long("expression"), Name::Long("file")];
    let script = usize::from(!scripts.iter().any(|name| given.has(*name)));
    let files = given.operands.into_iter().skip(script).filter(move |_| in_place);
    files.filter_map(|at| arguments.get(at))
}

/// The second operand; the last, where the options cannot be told.
fn second<'a>(arguments: &'a [Argument], grammar: &Options) -> Option<&'a Argument> {
    let given = options::read(arguments, grammar, Style::Throughout);
    match given.unknown {
        Some(_) => operands(arguments).skip(1).last(),
        None => given.operands.get(1).and_then(|at| arguments.get(*at)),
    }
}

/// Whether writing to what an argument names writes to a device.
pub(in crate::command) fn writes_device(argument: &Argument, directories: &[Directory]) -> bool {
    Path::from_each(argument, directories).any(|path| path.is_device())
}

fn device(name: &str) -> Finding {
    Finding::refused("command.refused.device", format!("`{name}` writes to a device under `/dev`."))
}

fn output_of_dd(argument: &Argument) -> Option<Argument> {
    let rest = head(argument).strip_prefix("of=")?;
    // What follows the text is kept: `of=/dev/$x`.
    let mut argument = argument.clone();
    if let Some(first) = argument.atoms.first_mut() {
        *first = crate::command::argument::Atom::Text(rest.to_owned());
    }
    Some(argument)
}

fn output_option(arguments: &[Argument], short: &str, long: &str, seen: &Seen<'_>) -> bool {
    let letter = short.trim_start_matches('-');
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.emptied();
        let (key, value) = text.split_once('=').unwrap_or((text.as_ref(), ""));
        let named = key.len() > 3 && long.starts_with(key);
        let cluster = !text.starts_with("--") && text.starts_with('-');
        let attached = cluster.then(|| text.split_once(letter)).flatten().map(|(_, value)| value);
        let value = if named { Some(value) } else { attached };
        let hit = match value {
            Some("") => rest.next().is_some_and(|next| seen.hits(next)),
            Some(value) => seen.hits(&Argument::text(value, argument.place)),
            None => false,
        };
        if hit {
            return true;
        }
    }
    false
}
