//! What a command names, as it is now: every word that may be a path, from every folder that the command may go to.
//!
//! Nothing is opened for reading and no content is read: what a file is, its size, its mode and the time of its last
//! change, which no program can set, tell whether it is still what it was. Bounded: what is over is told, not dropped
//! in silence.
use super::path::{Place, shown, text};
use enclos_init::file::{FileReply, Kind, Looked};
use globset::GlobBuilder;
use rustix::fs::{Dir, FileType, OFlags, Stat};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

/// Most entries that are told.
const MOST: usize = 2_000;
/// Most folders that relative words are looked for in, besides the workspace.
const BASES: usize = 16;
/// Most paths that are tried.
const TRIES: usize = 20_000;

/// What was seen, by path.
#[derive(Default)]
struct Seen {
    found: BTreeMap<String, Looked>,
    tries: usize,
    more: bool,
}

/// Looks at everything that the words name.
pub(super) fn look(words: &[String]) -> FileReply {
    let mut seen = Seen::default();
    let variants: BTreeSet<&str> = words.iter().flat_map(|word| variants(word)).collect();
    let mut bases: Vec<String> = Vec::new();
    for word in &variants {
        for path in seen.named("", word) {
            let is_folder = seen.found.get(&path).is_some_and(|looked| looked.folder);
            if is_folder && bases.len() < BASES && !path.is_empty() {
                bases.push(path);
            }
        }
    }
    for base in &bases {
        for word in variants.iter().filter(|word| !word.starts_with('/')) {
            seen.named(base, word);
        }
    }
    // Folders that are named are named with what is in them; those that only a pattern met are not.
    for word in &variants {
        if !is_pattern(word) && seen.found.get(&normal("", word)).is_some_and(|looked| looked.folder) {
            seen.below(&normal("", word));
        }
    }
    FileReply::Look { seen: seen.found.into_values().collect(), more: seen.more }
}

/// The paths that a word may hold: itself, what stands behind `=` or `@`, what is glued to a short option.
fn variants(word: &str) -> Vec<&str> {
    let mut out = vec![word];
    out.extend(word.split_once('=').map(|(_, value)| value));
    out.extend(word.split_once('@').map(|(_, value)| value));
    if let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
        let mut letters = rest.char_indices().skip(1).take(4);
        out.extend(letters.by_ref().filter_map(|(at, _)| rest.get(at..)));
    }
    out.extend(word.rsplit_once(':').map(|(_, path)| path));
    out.retain(|variant| !variant.is_empty());
    out
}

fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// The path in one form: without `.` and `..`, as text, from the workspace.
fn normal(base: &str, word: &str) -> String {
    let whole =
        if base.is_empty() || word.starts_with('/') { word.to_owned() } else { format!("{base}/{word}") };
    Place::parse(&whole).map_or_else(|_| String::new(), |place| place.told())
}

impl Seen {
    /// Looks at a word from a folder, and gives the paths that it names.
    fn named(&mut self, base: &str, word: &str) -> Vec<String> {
        let mut paths = Vec::new();
        let path = normal(base, word);
        if self.one(&path) {
            paths.push(path.clone());
        }
        if is_pattern(word) {
            paths.extend(self.matching(&path));
        }
        paths
    }

    /// Looks at one path. False when nothing is there.
    fn one(&mut self, path: &str) -> bool {
        if self.found.contains_key(path) {
            return true;
        }
        self.tries += 1;
        if self.found.len() >= MOST || self.tries > TRIES {
            self.more = true;
            return false;
        }
        let asked = if path.is_empty() { "." } else { path };
        let Ok(place) = Place::parse(asked) else { return false };
        let Ok((fd, stat)) = place.look() else { return false };
        let leads = place.resolved().map(|path| shown(&path));
        let behind = place
            .open(OFlags::PATH)
            .and_then(|fd| rustix::fs::fstat(&fd).map_err(|errno| place.refused(errno)));
        let looked = looked(path, &fd, &stat, leads.ok(), behind.ok());
        self.found.insert(path.to_owned(), looked);
        true
    }

    /// The paths that a pattern meets, part by part.
    fn matching(&mut self, pattern: &str) -> Vec<String> {
        let absolute = pattern.starts_with('/');
        let mut held: Vec<String> = vec![String::new()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for folder in &held {
                let join = |name: &str| match (folder.is_empty(), absolute) {
                    (true, true) => format!("/{name}"),
                    (true, false) => name.to_owned(),
                    (false, _) => format!("{folder}/{name}"),
                };
                if !is_pattern(part) {
                    next.push(join(part));
                } else if let Ok(glob) = GlobBuilder::new(part).build() {
                    let matcher = glob.compile_matcher();
                    let names = self.names(folder);
                    next.extend(names.iter().filter(|name| matcher.is_match(name)).map(|name| join(name)));
                }
            }
            next.truncate(MOST);
            held = next;
        }
        held.retain(|path| !path.is_empty() && self.one(path));
        held
    }

    /// The names in a folder, the private git directory left out.
    fn names(&mut self, folder: &str) -> Vec<String> {
        let asked = if folder.is_empty() { "." } else { folder };
        let Ok(place) = Place::parse(asked) else { return Vec::new() };
        let Ok(fd) = place.open(OFlags::RDONLY | OFlags::DIRECTORY) else { return Vec::new() };
        let Ok(dir) = Dir::read_from(&fd) else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for entry in dir.take(TRIES).filter_map(Result::ok) {
            let name = entry.file_name().to_bytes();
            if ![&b"."[..], b"..", b".git"].contains(&name) {
                // A name that is not UTF-8 cannot be asked for: it is among what is over.
                match std::str::from_utf8(name) {
                    Ok(name) => names.push(name.to_owned()),
                    Err(_) => self.more = true,
                }
            }
        }
        names.sort_unstable();
        names
    }

    /// Looks at everything below a folder.
    fn below(&mut self, folder: &str) {
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for name in self.names(&folder) {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let known = self.found.contains_key(&path);
                if !self.one(&path) && self.more {
                    return;
                }
                if let Some(looked) = self.found.get_mut(&path).filter(|_| !known) {
                    looked.named = false;
                }
                let is_folder = self.found.get(&path).is_some_and(|looked| looked.kind == Kind::Directory);
                if is_folder {
                    open.push(path);
                }
            }
        }
    }
}

fn looked(path: &str, fd: impl AsFd, stat: &Stat, leads: Option<String>, behind: Option<Stat>) -> Looked {
    let kind_of = |stat: &Stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    };
    let kind = kind_of(stat);
    let target = (kind == Kind::Link)
        .then(|| rustix::fs::readlinkat(fd, c"", Vec::new()).ok())
        .flatten()
        .map(|target| text(std::ffi::OsStr::from_bytes(target.to_bytes()).as_bytes()));
    let real = behind.as_ref().unwrap_or(stat);
    let folder = kind_of(real) == Kind::Directory;
    // What is in a folder changes its time and size; only that it is one counts.
    let (size, changed) = if folder {
        (0, 0)
    } else {
        let nanos = i64::try_from(real.st_ctime_nsec).unwrap_or(0);
        (
            u64::try_from(real.st_size).unwrap_or(0),
            real.st_ctime.saturating_mul(1_000_000_000).saturating_add(nanos),
        )
    };
    Looked {
        path: path.to_owned(),
        leads,
        kind,
        folder,
        size,
        mode: real.st_mode & 0o7777,
        changed,
        target,
        named: true,
    }
}

#[cfg(test)]
mod tests {
    use super::{normal, variants};

    #[test]
    fn a_word_holds_the_paths_that_programs_take_out_of_it() {
        for (word, wanted) in [
            ("a", &["a"][..]),
            ("if=a", &["if=a", "a"]),
            ("--file=a", &["--file=a", "a"]),
            ("-fa", &["-fa", "a"]),
            ("@a", &["@a", "a"]),
            ("HEAD:a", &["HEAD:a", "a"]),
        ] {
            assert_eq!(variants(word), wanted, "{word}");
        }
        assert!(variants("-xfa").contains(&"a"));
    }

    #[test]
    fn a_path_has_one_form() {
        assert_eq!(normal("", "./a//b/../c"), "a/c");
        assert_eq!(normal("d", "../a"), "a");
        assert_eq!(normal("d", "/workspace/a"), "a");
        assert_eq!(normal("", "/tmp/a"), "/tmp/a");
        assert_eq!(normal("", "/etc/passwd"), "");
    }
}
