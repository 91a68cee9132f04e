//! Paths as the families see them: canonical, with patterns and unknown parts kept apart.
//!
//! A path is only compared, never looked up: no link is followed and no directory is listed.

use super::argument::{Argument, Atom};
use super::script::Nature;

/// Directories of the system: whatever is in them belongs to it.
const TREES: [&str; 13] =
    ["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr", "System"];
/// Directories that hold others' files: lost when they are removed as a whole.
const TOPS: [&str; 13] = [
    "home",
    "root",
    "var",
    "opt",
    "srv",
    "run",
    "mnt",
    "media",
    "Users",
    "Library",
    "Applications",
    "Volumes",
    "private",
];
/// Directories one level below a top that are the system's as a whole. `*` stands for any name.
const BELOW: [(&str, &str); 10] = [
    ("home", "*"),
    ("Users", "*"),
    ("var", "lib"),
    ("var", "log"),
    ("var", "cache"),
    ("var", "spool"),
    ("var", "db"),
    ("var", "mail"),
    ("var", "run"),
    ("private", "etc"),
];
/// Directories whose programs are the ones that their names say.
const TRUSTED: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];
/// What may be written below `/dev`.
const DEVICES: [&str; 5] = ["null", "zero", "stdout", "stderr", "tty"];
/// The mark of the home directory as the first component.
const HOME: &str = "~";
/// The longest run of components that is told apart.
const MAX_COMPONENTS: usize = 128;

/// A unit of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Char(char),
    /// Exactly one character: `?` or a bracket.
    One,
    /// Any text without a slash: `*`.
    Any,
    /// Any text at all, known at run time only.
    Unknown,
}

/// A canonical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    components: Vec<Vec<Unit>>,
    /// A slash was written.
    slashed: bool,
}

/// Where relative paths start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directory(Vec<String>);

impl Directory {
    /// The working directory of a session.
    pub(super) fn workspace() -> Self {
        Self(vec!["workspace".to_owned()])
    }

    /// The directory that `path` names; nothing when a part of it is not known.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let known = |component: &Vec<Unit>| {
            component
                .iter()
                .map(|unit| match unit {
                    Unit::Char(character) => Some(*character),
                    Unit::One | Unit::Any | Unit::Unknown => None,
                })
                .collect::<Option<String>>()
        };
        path.components.iter().map(known).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether nothing below it belongs to the system, and it is neither the root nor a home directory.
    fn is_apart(&self) -> bool {
        self.0.first().is_some_and(|top| {
            !TREES.contains(&top.as_str()) && !TOPS.contains(&top.as_str()) && !top.starts_with('~')
        })
    }

    /// How deep it lies.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }

    /// Whether it belongs to the system, or is a home directory.
    pub(super) fn is_system(&self) -> bool {
        let components = self.0.iter().map(|name| name.chars().map(Unit::Char).collect()).collect();
        Path { components, slashed: true }.is_system()
    }
}

impl Path {
    /// The path that an argument names, seen from `directory`.
    pub(super) fn of(argument: &Argument, directory: &Directory) -> Self {
        Self::from_units(&units(&argument.atoms), directory)
    }

    /// The paths that an argument may name, seen from each of these directories, as far as they may be the system's.
    ///
    /// What is not relative is the same from everywhere; what stays below a directory that lies apart is never named.
    pub(super) fn from_each(argument: &Argument, directories: &[Directory]) -> impl Iterator<Item = Self> {
        let relative = is_relative(argument);
        let below = relative && argument.atoms.iter().all(|atom| !atom.known().contains(".."));
        let seen = if relative { directories } else { directories.get(..1).unwrap_or(directories) };
        let matter = move |directory: &&Directory| !(below && directory.is_apart());
        seen.iter().filter(matter).map(move |directory| Self::of(argument, directory))
    }

    /// The path that a text names.
    pub(super) fn of_text(text: &str, directory: &Directory) -> Self {
        Self::from_units(&text.chars().map(Unit::Char).collect::<Vec<_>>(), directory)
    }

    fn from_units(units: &[Unit], directory: &Directory) -> Self {
        let home = units.first() == Some(&Unit::Char('~'));
        let absolute = matches!(units.first(), Some(Unit::Char('/') | Unit::Unknown));
        let mut components: Vec<Vec<Unit>> = Vec::new();
        if !absolute && !home {
            components.extend(directory.0.iter().map(|name| name.chars().map(Unit::Char).collect()));
        }
        for component in units.split(|unit| *unit == Unit::Char('/')) {
            match component {
                [] | [Unit::Char('.')] => {}
                [Unit::Char('.'), Unit::Char('.')] => {
                    if components.len() == 1 && is_text(&components, 0, HOME) {
                        components = vec!["home".chars().map(Unit::Char).collect()];
                    } else {
                        components.pop();
                    }
                }
                _ if components.len() < MAX_COMPONENTS => components.push(component.to_vec()),
                _ => {}
            }
        }
        Self { components, slashed: units.contains(&Unit::Char('/')) }
    }

    fn matches(&self, at: usize, name: &str) -> bool {
        self.components.get(at).is_some_and(|component| name == "*" || matches(component, name))
    }

    /// The path of the parent when the last component is a pattern that matches everything.
    fn swept(&self) -> Option<Self> {
        let (last, rest) = self.components.split_last()?;
        let sweeping = last.contains(&Unit::Any)
            && last.iter().all(|unit| matches!(unit, Unit::Any | Unit::One | Unit::Char('.')));
        sweeping.then(|| Self { components: rest.to_vec(), slashed: true })
    }

    /// Whether removing it, with everything below, destroys the system or a home directory.
    pub(super) fn is_system(&self) -> bool {
        self.is_system_file() || self.is_top() || self.swept().is_some_and(|parent| parent.is_top())
    }

    /// Whether it lies in a directory of the system, or is one.
    pub(super) fn is_system_file(&self) -> bool {
        TREES.iter().any(|name| self.matches(0, name))
    }

    /// Whether it lies in a directory of the system, is one, or is the root.
    pub(super) fn is_of_system(&self) -> bool {
        self.components.is_empty() || self.is_system_file()
    }

    /// The root, a top directory, or a home directory.
    fn is_top(&self) -> bool {
        match self.components.len() {
            0 => true,
            1 => TOPS.iter().chain(&TREES).chain(&[HOME]).any(|name| self.matches(0, name)) || self.is_home(),
            2 => BELOW.iter().any(|(top, below)| self.matches(0, top) && self.matches(1, below)),
            _ => false,
        }
    }

    /// `~` or `~name` itself.
    fn is_home(&self) -> bool {
        self.components.len() == 1
            && self.components.first().is_some_and(|first| first.first() == Some(&Unit::Char('~')))
    }

    /// Whether it would be the system's if every unknown part were empty.
    pub(super) fn may_be_system(&self) -> bool {
        let known = self
            .components
            .iter()
            .map(|component| {
                component.iter().copied().filter(|unit| *unit != Unit::Unknown).collect::<Vec<_>>()
            })
            .filter(|component| !component.is_empty())
            .collect();
        self.slashed && Self { components: known, slashed: true }.is_system()
    }

    /// Whether a part of it is known at run time only.
    pub(super) fn is_unknown(&self) -> bool {
        self.components.iter().flatten().any(|unit| *unit == Unit::Unknown)
    }

    /// Whether writing to it writes to a device, other than those that do no harm.
    pub(super) fn is_device(&self) -> bool {
        self.matches(0, "dev") && !self.is_harmless_device()
    }

    /// `/dev/null` and its like, and descriptors.
    pub(super) fn is_harmless_device(&self) -> bool {
        if !is_text(&self.components, 0, "dev") {
            return false;
        }
        match self.components.len() {
            2 => DEVICES.iter().any(|name| is_text(&self.components, 1, name)),
            3 => is_text(&self.components, 1, "fd"),
            _ => false,
        }
    }

    /// `/dev/tcp/…` and `/dev/udp/…`, which bash turns into connections.
    pub(super) fn is_connection(&self) -> bool {
        self.matches(0, "dev") && (self.matches(1, "tcp") || self.matches(1, "udp"))
    }

    /// Whether it surely lies below `/workspace` or `/tmp`.
    pub(super) fn is_writable(&self) -> bool {
        (is_text(&self.components, 0, "workspace") || is_text(&self.components, 0, "tmp"))
            && !self.is_unknown()
            && self.components.len() > 1
    }
}

/// Whether an argument is a path from the working directory.
fn is_relative(argument: &Argument) -> bool {
    let empty = |atom: &&Atom| matches!(atom, Atom::Text(text) if text.is_empty());
    match argument.atoms.iter().find(|atom| !empty(atom)) {
        Some(Atom::Text(text)) => !text.starts_with('/'),
        Some(Atom::Glob(_)) | None => true,
        Some(Atom::Tilde(_)) => false,
        Some(Atom::Dynamic(dynamic)) => dynamic.nature == Nature::Pattern,
    }
}

/// Whether a program is the one that its name says: named without a path, or in a directory of the system.
pub(super) fn is_trusted(program: &str) -> bool {
    let Some((_, name)) = program.rsplit_once('/') else { return true };
    TRUSTED.iter().any(|directory| program.strip_prefix(directory) == Some(name))
}

fn is_text(components: &[Vec<Unit>], at: usize, name: &str) -> bool {
    components.get(at).is_some_and(|component| {
        component.len() == name.chars().count()
            && component.iter().zip(name.chars()).all(|(unit, character)| *unit == Unit::Char(character))
    })
}

/// The units of an argument. An expansion of the home directory counts as `~`.
fn units(atoms: &[Atom]) -> Vec<Unit> {
    let mut units = Vec::new();
    for atom in atoms {
        match atom {
            // A quoted `~` is a name like any other; it must not look like the home directory.
            Atom::Text(text) if units.is_empty() && text.starts_with('~') => {
                units.extend([Unit::Char('.'), Unit::Char('/')]);
                units.extend(text.chars().map(Unit::Char));
            }
            Atom::Text(text) | Atom::Tilde(text) => units.extend(text.chars().map(Unit::Char)),
            Atom::Glob(text) => units.push(if text == "*" { Unit::Any } else { bracket(text) }),
            Atom::Dynamic(dynamic) if dynamic.nature == Nature::Home && units.is_empty() => {
                units.push(Unit::Char('~'));
            }
            Atom::Dynamic(dynamic) if dynamic.nature == Nature::Pattern => {
                // The sign before the parenthesis belongs to the pattern; what it matches is any text.
                if matches!(
                    units.last(),
                    Some(Unit::Char('@' | '!' | '+' | '?' | '*') | Unit::One | Unit::Any)
                ) {
                    units.pop();
                }
                units.push(Unit::Any);
            }
            Atom::Dynamic(_) => units.push(Unit::Unknown),
        }
    }
    units
}

fn bracket(text: &str) -> Unit {
    // A bracket whose end lies in another part of the word may match anything.
    if text == "[" { Unit::Any } else { Unit::One }
}

/// Whether a component may be `name`. A pattern does not match a leading dot; unknown parts match nothing.
///
/// The usual walk over a pattern: on a mismatch it goes back to the last `*` and lets it take one character more.
fn matches(component: &[Unit], name: &str) -> bool {
    let name = name.as_bytes();
    let (mut unit, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        let fits = match component.get(unit) {
            Some(Unit::Char(character)) => name.get(at).is_some_and(|byte| char::from(*byte) == *character),
            Some(Unit::One) => true,
            Some(Unit::Any) => {
                star = Some((unit, at));
                unit += 1;
                continue;
            }
            Some(Unit::Unknown) => return false,
            None => false,
        };
        match star {
            _ if fits => (unit, at) = (unit + 1, at + 1),
            Some((back, taken)) => {
                star = Some((back, taken + 1));
                (unit, at) = (back + 1, taken + 1);
            }
            None => return false,
        }
    }
    component.get(unit..).is_some_and(|rest| rest.iter().all(|unit| *unit == Unit::Any))
}

#[cfg(test)]
mod tests {
    use super::{Directory, Path};
    use crate::command::argument::single;
    use crate::command::script::{Part, Place, Word};

    fn path(text: &str) -> Path {
        let place = Place { text: 0, start: 0, end: 0 };
        let word = Word { place, parts: vec![Part::Plain(text.to_owned())] };
        Path::of(&single(&word), &Directory::workspace())
    }

    #[test]
    fn the_system_is_known_by_any_spelling() {
        for text in [
            "/",
            "//",
            "/.",
            "/..",
            "/./",
            "/*",
            "/etc",
            "/etc/",
            "//etc",
            "/./etc",
            "/tmp/../etc",
            "/e*",
            "/?tc",
            "/[e]tc",
            "/usr/lib",
            "/home",
            "/home/anna",
            "/home/*",
            "/root",
            "/var",
            "/var/*",
            "/opt/*",
            "~",
            "~/",
            "~/.",
            "~/*",
            "~/..",
            "~anna",
            "..",
            "../",
            "../*",
            "../etc",
            "/bin/../lib",
            "/*/*",
            "/var/log/*",
        ] {
            assert!(path(text).is_system(), "{text}");
        }
    }

    #[test]
    fn other_paths_are_not_the_system() {
        for text in [
            "*",
            ".",
            "./*",
            "build",
            "/tmp",
            "/tmp/*",
            "/tmp/x",
            "/workspace",
            "~/work",
            "~/.cache/*",
            "/home/anna/x",
            "/opt/tool",
            "/var/tmp/x",
            "../build",
            "target/",
            "etc",
            "/tmpetc",
            "/data",
        ] {
            assert!(!path(text).is_system(), "{text}");
        }
    }

    #[test]
    fn devices_are_told_apart() {
        for text in ["/dev/sda", "/dev/../dev/sda", "//dev/sda", "/dev/sd*", "/d?v/sda", "/dev", "/dev/shm/x"]
        {
            assert!(path(text).is_device(), "{text}");
        }
        for text in
            ["/dev/null", "/dev/./null", "/dev/tty", "/dev/fd/3", "/dev/stderr", "dev/sda", "/tmp/dev/sda"]
        {
            assert!(!path(text).is_device(), "{text}");
        }
    }

    #[test]
    fn only_surely_contained_paths_are_writable() {
        for text in ["out.txt", "a/b", "./x", "/tmp/x", "/workspace/a", "a/../b", "/tmp/a*"] {
            assert!(path(text).is_writable(), "{text}");
        }
        for text in ["../x", "/etc/x", "~/x", "/", "/tmp", "/tmp/../etc/x", "a/../../x"] {
            assert!(!path(text).is_writable(), "{text}");
        }
    }
}
