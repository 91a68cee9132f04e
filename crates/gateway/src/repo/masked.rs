//! What of a repository is above the level that a session begins with, and which folders hold nothing else: it is masked in
//! the sandbox until the session knows as much.
//!
//! The files are those that the survey of the repository found; which level each has is decided by `core::mask`. Files
//! are looked into for private keys alone, by their own names and through no link.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use enclos_core::label::Level;
use enclos_core::mask::{self, Alias, Beside, Identity, Name};
use enclos_core::policy::PathLevels;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::Shown;
use super::keys::Keys;

/// A file or link that the survey found.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Its path from the root.
    pub path: PathBuf,
    /// A link, which may lead somewhere inside.
    pub link: bool,
    /// Device and inode number.
    pub identity: Identity,
    /// How many names it has.
    pub links: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When anything of it changed last: seconds and nanoseconds. No program can set it.
    pub changed: (i64, i64),
    /// It lies in a folder of dependencies.
    pub dependency: bool,
}

impl Seen {
    /// Something that was found at a path.
    pub(super) fn of(path: PathBuf, facts: &std::fs::Metadata, dependency: bool) -> Self {
        Self {
            path,
            link: facts.is_symlink(),
            identity: (facts.dev(), facts.ino()),
            links: facts.nlink(),
            size: facts.size(),
            changed: (facts.ctime(), facts.ctime_nsec()),
            dependency,
        }
    }
}

/// What is masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masked {
    /// Files and links, each with its level.
    files: BTreeMap<PathBuf, Level>,
    /// Folders that hold nothing else.
    folders: BTreeSet<PathBuf>,
}

impl Masked {
    /// What is above the project's level in a repository.
    ///
    /// # Errors
    /// The root cannot be opened.
    pub(crate) fn of(root: &Path, shown: &Shown, rules: &PathLevels, keys: &Keys) -> io::Result<Self> {
        let mut seen: Vec<Seen> = shown.files.clone();
        let within = rules.any_above(rules.project());
        if within {
            dependencies(root, &shown.dependencies, &mut seen);
        }
        let keyed = keys.among(root, &seen);
        let mut files = above(root, &seen, rules, &keyed)?;
        if !within && has_other_names(&seen, &files) {
            dependencies(root, &shown.dependencies, &mut seen);
            files = above(root, &seen, rules, &keyed)?;
        }
        let folders = folders(root, shown, &files);
        let known = |path: &str| Path::new(path).to_path_buf();
        Ok(Self { folders: folders.iter().map(|path| known(path)).collect(), files })
    }

    /// Whether nothing is.
    pub(crate) fn is_nothing(&self) -> bool {
        self.files.is_empty()
    }

    /// All paths, those of folders included.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.keys().chain(&self.folders).cloned().collect()
    }

    /// The level of a masked file.
    pub(crate) fn level(&self, path: &str) -> Option<Level> {
        self.files.get(Path::new(path)).copied()
    }

    /// Files and links of no more than a level.
    pub(crate) fn up_to(&self, level: Level) -> Vec<PathBuf> {
        self.files.iter().filter(|(_, own)| **own <= level).map(|(path, _)| path.clone()).collect()
    }
}

/// What is above the project's level.
fn above(
    root: &Path,
    seen: &[Seen],
    rules: &PathLevels,
    keyed: &BTreeSet<PathBuf>,
) -> io::Result<BTreeMap<PathBuf, Level>> {
    let top = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let (mut names, mut aliases) = (Vec::new(), Vec::new());
    let mut paths: HashMap<String, &PathBuf> = HashMap::new();
    for found in seen {
        let path = found.path.to_string_lossy().into_owned();
        paths.insert(path.clone(), &found.path);
        let mut identity = Some(found.identity);
        if found.link {
            identity = match leads(&top, &found.path) {
                Some(Led::File(file)) => Some(file),
                Some(Led::Folder(folder)) => {
                    aliases.push((path.clone(), folder));
                    None
                }
                None => None,
            };
        }
        let kind = match () {
            () if found.dependency => Beside::Dependency,
            () if keyed.contains(&found.path) => Beside::Key,
            () => Beside::Plain,
        };
        names.push(Name { path, identity, kind });
    }
    let aliases = resolved(&top, seen, aliases);
    let above = mask::above(rules, rules.project(), &names, &aliases);
    Ok(above.into_iter().filter_map(|(path, level)| Some(((*paths.get(&path)?).clone(), level))).collect())
}

/// Links to folders, with the path of each folder: folders have one name, so their identity tells it.
fn resolved(top: &OwnedFd, seen: &[Seen], aliases: Vec<(String, Identity)>) -> Vec<Alias> {
    if aliases.is_empty() {
        return Vec::new();
    }
    let mut folders: HashMap<Identity, String> = HashMap::new();
    let all: BTreeSet<&Path> = seen.iter().flat_map(|found| found.path.ancestors().skip(1)).collect();
    for folder in all {
        let at = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if let Some(Led::Folder(identity)) = leads(top, at) {
            folders.insert(identity, folder.to_string_lossy().into_owned());
        }
    }
    aliases
        .into_iter()
        .filter_map(|(link, identity)| Some(Alias { link, folder: folders.get(&identity)?.clone() }))
        .collect()
}

/// What a path leads to inside the tree.
enum Led {
    File(Identity),
    Folder(Identity),
}

/// Follows links, but out of the tree none. Nothing is opened but a name.
fn leads(top: &OwnedFd, path: &Path) -> Option<Led> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::openat2(top, path, flags, Mode::empty(), resolve).ok()?;
    let stat = rustix::fs::fstat(found).ok()?;
    let identity = (stat.st_dev, stat.st_ino);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Led::File(identity)),
        FileType::Directory => Some(Led::Folder(identity)),
        _ => None,
    }
}

/// Whether a masked file has names that were not found: they may lie among the dependencies.
fn has_other_names(seen: &[Seen], masked: &BTreeMap<PathBuf, Level>) -> bool {
    let mut found: HashMap<Identity, (u64, u64)> = HashMap::new();
    for one in seen.iter().filter(|one| !one.link && one.links > 1 && masked.contains_key(&one.path)) {
        found.entry(one.identity).or_insert((one.links, 0)).1 += 1;
    }
    found.values().any(|(links, names)| names < links)
}

/// The files of folders that the survey does not enter.
fn dependencies(root: &Path, folders: &[PathBuf], seen: &mut Vec<Seen>) {
    let mut waiting: Vec<PathBuf> = folders.to_vec();
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let path = folder.join(entry.file_name());
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_dir() {
                waiting.push(path);
            } else if facts.is_file() || facts.is_symlink() {
                seen.push(Seen::of(path, &facts, true));
            }
        }
    }
}

/// The folders that hold nothing but what is masked or hidden.
fn folders(root: &Path, shown: &Shown, files: &BTreeMap<PathBuf, Level>) -> BTreeSet<String> {
    let text = |paths: &mut dyn Iterator<Item = &PathBuf>| {
        paths.filter_map(|path| path.to_str()).map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let (masked, hidden) = (text(&mut files.keys()), text(&mut shown.hidden.iter()));
    mask::emptied(&masked, &hidden, &mut |folder| {
        let entries = std::fs::read_dir(root.join(folder)).ok()?;
        let path = |entry: io::Result<std::fs::DirEntry>| {
            Some(format!("{folder}/{}", entry.ok()?.file_name().to_str()?))
        };
        entries.map(path).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Admitted, Repo};
    use super::*;
    use enclos_core::policy::{Layer, Policy, Scope};

    const RULES: &str = "name = \"p\"\n[[labels.path]]\npath = \"/finance/\"\nlevel = \"CONFIDENTIAL\"\n";

    fn rules(text: &str) -> PathLevels {
        let layer = Layer { scope: Scope::Instance, source: "p.toml".into(), text };
        Policy::load(&[layer]).unwrap().settings().labels.of_paths()
    }

    fn masked(root: &Path, text: &str) -> (Vec<(String, Level)>, Vec<String>) {
        let repo = Repo { root: root.to_owned(), git: None };
        let shown = repo.survey(rustix::process::getuid().as_raw(), &Admitted::nothing());
        let masked = Masked::of(root, &shown, &rules(text), &Keys::unremembered()).unwrap();
        let files = masked.files.iter().map(|(path, level)| (path.display().to_string(), *level));
        (files.collect(), masked.folders.iter().map(|path| path.display().to_string()).collect())
    }

    fn write(root: &Path, path: &str, text: &str) {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }

    #[test]
    fn every_name_of_a_file_above_is_masked_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        write(root, ".gitignore", "node_modules/\n*.log\n");
        write(root, "finance/plan.txt", "x");
        write(root, "finance/deep/a.txt", "x");
        write(root, "finance/deep/b.log", "x");
        write(root, "src/main.rs", "x");
        write(root, "node_modules/m/index.js", "x");
        write(root, "node_modules/m/ca.pem", "x");
        std::fs::hard_link(root.join("finance/plan.txt"), root.join("src/hard.txt")).unwrap();
        std::fs::hard_link(root.join("finance/plan.txt"), root.join("node_modules/m/hard.txt")).unwrap();
        std::os::unix::fs::symlink("../finance/plan.txt", root.join("src/soft.txt")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("src/out.txt")).unwrap();
        let (files, folders) = masked(root, RULES);
        let files: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            files,
            [
                "finance/deep/a.txt",
                "finance/plan.txt",
                "node_modules/m/hard.txt",
                "src/hard.txt",
                "src/soft.txt"
            ]
        );
        assert_eq!(folders, ["finance", "finance/deep"]);
    }

    #[test]
    fn credentials_and_keys_are_restricted_and_links_to_folders_do_not_lower() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let key =
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n";
        write(root, "notes.txt", key);
        write(root, "tls/server.pem", "x");
        write(root, "tls/readme.txt", "x");
        write(root, "open/a.txt", "x");
        write(root, "open/b/c.txt", "x");
        write(root, "finance/x.txt", "x");
        std::os::unix::fs::symlink("../open/b", root.join("finance/shared")).unwrap();
        let (files, folders) = masked(root, RULES);
        let expected = [
            ("finance/shared", Level::Confidential),
            ("finance/x.txt", Level::Confidential),
            ("notes.txt", Level::Restricted),
            ("open/b/c.txt", Level::Confidential),
            ("tls/server.pem", Level::Restricted),
        ];
        assert_eq!(files, expected.map(|(path, level)| (path.to_owned(), level)));
        assert_eq!(folders, ["finance", "open/b"]);
        let less = "name = \"p\"\n[[labels.path]]\npath = \"notes.txt\"\nlevel = \"INTERNAL\"\n\
                    [[labels.path]]\npath = \"tls/\"\nlevel = \"PUBLIC\"\n";
        assert!(masked(root, less).0.is_empty(), "the highest scope says less");
    }
}
