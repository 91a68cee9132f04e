//! Repositories inside the repository: submodules, and others that nobody tracks. Their files come in as plain files,
//! their `.git` does not; a change below one is applied into its own working tree, where it is committed.
//!
//! Here a person is told so, at opening and with a change set. Nothing is decided by it, and no git is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use enclos_core::noun::listed;

use super::index::Tracked;

/// Remarks for the opening: `gits` are the `.git` entries that were found below the root.
pub(super) fn at_opening(root: &Path, gits: &[PathBuf], tracked: &Tracked) -> Vec<String> {
    let submodules: BTreeSet<&Path> = tracked.submodules().collect();
    let found: BTreeSet<&Path> = gits.iter().filter_map(|git| git.parent()).collect();
    let mut notes = Vec::new();
    let own: Vec<&Path> = found.iter().filter(|path| submodules.contains(*path)).copied().collect();
    if !own.is_empty() {
        notes.push(format!(
            "below {}: commit there, not here",
            named("the submodule", "the submodules", &own)
        ));
    }
    let empty = |path: &&&Path| {
        !found.contains(**path)
            && root.join(path).read_dir().is_ok_and(|mut entries| entries.next().is_none())
    };
    let absent: Vec<&Path> = submodules.iter().filter(empty).copied().collect();
    if !absent.is_empty() {
        let (one, several) = ("the submodule", "the submodules");
        let is = if absent.len() == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} {is} not checked out: to have the files inside, `git submodule update --init` first",
            named(one, several, &absent)
        ));
    }
    let others: Vec<&Path> = found.difference(&submodules).copied().collect();
    if !others.is_empty() {
        let (one, several) = ("the repository of its own", "the repositories of their own");
        notes.push(format!("below {}: commit there, not here", named(one, several, &others)));
    }
    notes
}

/// Remarks on changes at some paths, each below the root.
pub(super) fn of_changes<'a>(
    root: &Path,
    paths: impl Iterator<Item = &'a str>,
    tracked: &Tracked,
) -> Vec<String> {
    let submodules: BTreeSet<&Path> = tracked.submodules().collect();
    let mut holders: BTreeSet<&Path> = BTreeSet::new();
    for path in paths {
        let above = Path::new(path).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let holder = above.into_iter().find(|above| {
            submodules.contains(above) || root.join(above).join(".git").symlink_metadata().is_ok()
        });
        holders.extend(holder);
    }
    let remark = |holder: &&Path| {
        let what = if submodules.contains(*holder) { "the submodule" } else { "the repository of its own" };
        format!("below {what} `{}`: commit there", holder.display())
    };
    holders.iter().map(remark).collect()
}

/// The first of some paths by name.
fn named(one: &str, several: &str, paths: &[&Path]) -> String {
    let names = listed(paths.iter().map(|path| format!("`{}`", path.display())));
    format!("{} {names}", if paths.len() == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_inner_repository_is_remarked() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["sub", "lib", "tool/.git", "sub/deep"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        let tracked = Tracked::with_submodules(&["a"], &["sub", "lib"]);
        let gits = [PathBuf::from("sub/.git"), PathBuf::from("tool/.git")];
        assert_eq!(
            at_opening(root.path(), &gits, &tracked),
            [
                "below the submodule `sub`: commit there, not here",
                "the submodule `lib` is not checked out: to have the files inside, `git submodule update --init` first",
                "below the repository of its own `tool`: commit there, not here",
            ]
        );
        let paths = ["a", "sub/x", "sub/deep/y", "tool/z", "lib/new"];
        assert_eq!(
            of_changes(root.path(), paths.into_iter(), &tracked),
            [
                "below the submodule `lib`: commit there",
                "below the submodule `sub`: commit there",
                "below the repository of its own `tool`: commit there",
            ]
        );
        assert_eq!(at_opening(root.path(), &[], &Tracked::default()), Vec::<String>::new());
    }
}
