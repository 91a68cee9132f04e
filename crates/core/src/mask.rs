//! Which files of a tree a session below their level must not find, worked out from names alone.
//!
//! A file has the highest level of all paths that lead to it: its hard links, the links that stand for it, and the paths
//! through a link to a folder above it. Here it is decided what is above a level, and which folders hold nothing else; no
//! file is opened, and nothing is ever lowered.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::label::Level;
use crate::policy::PathLevels;

/// What a name stands for: device and inode number.
pub type Identity = (u64, u64);

/// One name of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its path from the root.
    pub path: String,
    /// The file that it is, or, of a link, the one that it leads to inside the tree. `None`: it leads to no file here.
    pub identity: Option<Identity>,
    /// What is known of it beside its path.
    pub kind: Beside,
}

/// What counts for a level beside the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Plain,
    /// A private key was found in it, or it could not be looked for.
    Key,
    /// It lies in a folder of dependencies, where names of credentials are fixtures of others.
    Dependency,
}

/// A link to a folder of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The link.
    pub link: String,
    /// The folder that it leads to; empty for the root.
    pub folder: String,
}

/// The names above a level, each with its own.
pub fn above(rules: &PathLevels, level: Level, names: &[Name], aliases: &[Alias]) -> BTreeMap<String, Level> {
    let mut of_file: HashMap<Identity, Level> = HashMap::new();
    let mut own = Vec::with_capacity(names.len());
    for name in names {
        let found = of_name(rules, name, aliases);
        own.push(found);
        if let Some(identity) = name.identity {
            let joined = of_file.entry(identity).or_insert(found);
            *joined = joined.join(found);
        }
    }
    let joined = |(name, own): (&Name, Level)| {
        let shared = name.identity.and_then(|identity| of_file.get(&identity).copied());
        (name.path.clone(), shared.map_or(own, |shared| shared.join(own)))
    };
    names.iter().zip(own).map(joined).filter(|(_, found)| *found > level).collect()
}

/// The level of one name, by its own path and by every path through a link to a folder above it.
fn of_name(rules: &PathLevels, name: &Name, aliases: &[Alias]) -> Level {
    let of = |path: &str| match name.kind {
        Beside::Plain => rules.level(path, false),
        Beside::Key => rules.level(path, true),
        Beside::Dependency => rules.written(path),
    };
    let through = aliases.iter().filter_map(|alias| {
        let rest = below(&name.path, &alias.folder)?;
        // A link to a folder above itself leads to itself again: that path is no other file's.
        below(&name.path, &alias.link).is_none().then(|| of(&format!("{}/{rest}", alias.link)))
    });
    through.fold(of(&name.path), Level::join)
}

/// What of a path lies below a folder.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

/// The folders that hold nothing but what is masked or hidden, and of that something masked: they are masked themselves.
/// `entries` gives the paths of everything in a folder; `None`: it cannot be listed. The root is never masked.
pub fn emptied(
    masked: &BTreeSet<String>,
    hidden: &BTreeSet<String>,
    entries: &mut dyn FnMut(&str) -> Option<Vec<String>>,
) -> BTreeSet<String> {
    let mut emptied = BTreeSet::new();
    // The deepest first: whether a folder is empty depends on those in it.
    let deep = |path: String| (path.matches('/').count(), path);
    let mut waiting: BTreeSet<(usize, String)> =
        masked.iter().filter_map(|path| folder(path)).map(deep).collect();
    while let Some((_, next)) = waiting.pop_last() {
        let gone = |path: &String| masked.contains(path) || hidden.contains(path) || emptied.contains(path);
        if entries(&next).is_some_and(|all| all.iter().all(gone)) {
            waiting.extend(folder(&next).map(deep));
            emptied.insert(next);
        }
    }
    emptied
}

/// The folder that holds a path, unless that is the root.
fn folder(path: &str) -> Option<String> {
    path.rsplit_once('/').map(|(folder, _)| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Layer, Policy, Scope};

    fn rules(text: &str) -> PathLevels {
        let text = format!("name = \"p\"\n{text}");
        let layer = Layer { scope: Scope::Instance, source: "p.toml".into(), text: &text };
        Policy::load(&[layer]).unwrap().settings().labels.of_paths()
    }

    fn finance() -> PathLevels {
        rules("[[labels.path]]\npath = \"/finance/\"\nlevel = \"CONFIDENTIAL\"")
    }

    fn name(path: &str, inode: u64) -> Name {
        Name { path: path.into(), identity: Some((1, inode)), kind: Beside::Plain }
    }

    fn masked(rules: &PathLevels, names: &[Name], aliases: &[Alias]) -> Vec<(String, Level)> {
        above(rules, Level::Internal, names, aliases).into_iter().collect()
    }

    #[test]
    fn a_file_has_the_highest_level_of_all_names_that_lead_to_it() {
        use Level::{Confidential, Restricted};
        let names = [
            name("finance/a", 1),
            name("public/hard-link", 1),
            name("public/link", 2),
            name("finance/b", 2),
            name("public/c", 3),
            name("x.pem", 3),
            name("public/free", 4),
        ];
        let expected = [
            ("finance/a", Confidential),
            ("finance/b", Confidential),
            ("public/c", Restricted),
            ("public/hard-link", Confidential),
            ("public/link", Confidential),
            ("x.pem", Restricted),
        ];
        assert_eq!(masked(&finance(), &names, &[]), expected.map(|(path, level)| (path.to_owned(), level)));
        let mut reversed = names.to_vec();
        reversed.reverse();
        assert_eq!(masked(&finance(), &reversed, &[]), masked(&finance(), &names, &[]));
    }

    #[test]
    fn a_link_to_a_folder_is_one_more_path_to_all_below_it() {
        let names = [name("open/deep/a", 1), name("other/b", 2)];
        let alias = Alias { link: "finance/shared".into(), folder: "open".into() };
        let found = masked(&finance(), &names, &[alias]);
        assert_eq!(found, [("open/deep/a".to_owned(), Level::Confidential)]);
        let circle = Alias { link: "open/deep/up".into(), folder: String::new() };
        assert!(masked(&finance(), &names, &[circle]).is_empty());
    }

    #[test]
    fn keys_are_restricted_and_dependencies_only_by_written_rules() {
        let of = |path: &str, kind| {
            let name = Name { path: path.into(), identity: None, kind };
            masked(&finance(), &[name], &[]).pop().map(|(_, level)| level)
        };
        assert_eq!(of("notes.txt", Beside::Key), Some(Level::Restricted));
        assert_eq!(of("notes.txt", Beside::Plain), None);
        assert_eq!(of("node_modules/x/ca.pem", Beside::Dependency), None);
        assert_eq!(of("finance/vendor/ca.pem", Beside::Dependency), Some(Level::Confidential));
        let less = rules("[[labels.path]]\npath = \"/fixtures/\"\nlevel = \"INTERNAL\"");
        let key = Name { path: "fixtures/a.key".into(), identity: None, kind: Beside::Key };
        assert!(masked(&less, &[key], &[]).is_empty(), "the highest scope says less");
    }

    #[test]
    fn a_folder_of_which_nothing_is_left_is_masked_itself() {
        let tree: BTreeMap<&str, Vec<&str>> = BTreeMap::from([
            ("a", vec!["a/b", "a/c"]),
            ("a/b", vec!["a/b/x", "a/b/log"]),
            ("a/c", vec!["a/c/y"]),
            ("d", vec!["d/z", "d/open"]),
        ]);
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<String>>();
        let mut entries = |path: &str| {
            tree.get(path).map(|all| all.iter().map(|path| (*path).to_owned()).collect::<Vec<String>>())
        };
        let all = emptied(&set(&["a/b/x", "a/c/y", "d/z", "top"]), &set(&["a/b/log"]), &mut entries);
        assert_eq!(all, set(&["a", "a/b", "a/c"]));
        let some = emptied(&set(&["a/b/x"]), &set(&[]), &mut entries);
        assert_eq!(some, set(&[]), "what is shown beside it keeps the folder");
    }
}
