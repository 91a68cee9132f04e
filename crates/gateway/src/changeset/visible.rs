//! The git directory for a session that is not shown every file: whether the repository's own may be shown, and else one
//! that is made of the visible files alone.
//!
//! Names decide, in every commit that a branch, a tag, a stash or a reflog leads to, and in the index. An object has the
//! highest level of all paths that lead to it. Git is asked by commands that run no program of the repository's
//! configuration; what it writes goes into the session's folder, never into the repository.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};

use super::git::Git;

/// What every commit that is made here says.
const MESSAGE: &str = "The files that this session is shown\n\nThe history is withheld: files above what the session knows are in it.";

/// The most commits that are looked through at an opening, and one more as git is told it.
const MOST: u32 = 200_000;
const MOST_SAID: &str = "--max-count=200001";
/// Largest file whose content is looked for among the objects, in bytes.
const HASHED: u64 = 64 * 1024 * 1024;

/// What was looked at and held nothing above.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Looked {
    /// What was looked for.
    rules: String,
    /// Commits, with all that leads to them.
    tips: Vec<String>,
}

/// What is looked for in a repository.
pub(crate) struct Sought<'a> {
    /// Whether a path is above.
    pub(crate) above: &'a dyn Fn(&str) -> bool,
    /// Files of the tree that are, whose content is no object to be shown under any path.
    pub(crate) files: &'a [PathBuf],
}

/// Whether something that is sought is in the index, in any commit, or in the store without a commit. `rules` names what `above` asks, so that what was looked
/// at once, and is remembered in `list`, is not looked at again.
pub(crate) fn holds(
    repository: &Path,
    sought: &Sought<'_>,
    rules: &str,
    list: Option<&Path>,
) -> io::Result<bool> {
    let (git, above) = (Git::new(repository), sought.above);
    if entries(&git)?.iter().any(|(path, _)| above(path)) || !contents(&git, repository, sought)?.is_empty() {
        return Ok(true);
    }
    let known: Looked = list
        .and_then(|list| serde_json::from_slice(&fs::read(list).ok()?).ok())
        .filter(|known: &Looked| known.rules == rules)
        .unwrap_or_default();
    let tips = tips(&git)?;
    if in_history(&git, above, &known.tips)? {
        return Ok(true);
    }
    if let Some(list) = list.filter(|_| known.tips != tips) {
        // What is not remembered is looked at again.
        let _ = save(list, &Looked { rules: rules.to_owned(), tips });
    }
    Ok(false)
}

fn save(list: &Path, looked: &Looked) -> io::Result<()> {
    fs::create_dir_all(list.parent().unwrap_or(list))?;
    let new = list.with_extension("new");
    fs::write(&new, serde_json::to_vec(looked)?)?;
    fs::rename(&new, list)
}

/// The objects that names lead to.
fn tips(git: &Git) -> io::Result<Vec<String>> {
    let answer = git.ask(&["for-each-ref", "--format=%(objectname)"])?;
    let mut tips: Vec<String> = String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect();
    tips.extend(line(git, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]));
    tips.sort();
    tips.dedup();
    Ok(tips)
}

/// Whether any commit, but those that `known` lead to, has such a path. A history that is too long is taken to have one.
fn in_history(git: &Git, above: &dyn Fn(&str) -> bool, known: &[String]) -> io::Result<bool> {
    let list = ["rev-list", "--ignore-missing", "--all", "--reflog", "--stdin"];
    let told: String = known.iter().flat_map(|tip| ["^", tip, "\n"]).collect();
    let count = [&list[..1], &["--count", MOST_SAID], &list[1..]].concat();
    let count = String::from_utf8_lossy(&git.tell(&count, told.as_bytes())?).trim().parse::<u32>();
    if count.map_err(io::Error::other)? > MOST {
        return Ok(true);
    }
    let mut commits = git.start(&list, Stdio::piped())?;
    if let Some(mut to) = commits.stdin.take() {
        to.write_all(told.as_bytes())?;
    }
    let from = commits.stdout.take().map_or_else(Stdio::null, Stdio::from);
    // Every name of a history is added somewhere in it.
    let names = [
        "diff-tree",
        "--stdin",
        "-r",
        "-m",
        "--root",
        "--name-only",
        "--diff-filter=A",
        "--no-commit-id",
        "--no-renames",
        "-z",
    ];
    let mut paths = git.start(&names, from)?;
    let (mut found, mut seen) = (false, BTreeSet::new());
    if let Some(out) = paths.stdout.take() {
        for path in BufReader::new(out).split(0) {
            let path = path?;
            if !seen.contains(&path) {
                found = above(&String::from_utf8_lossy(&path));
                seen.insert(path);
            }
            if found {
                break;
            }
        }
    }
    if found {
        // Both have ended, or are ended by this.
        let _ = (commits.kill(), paths.kill());
        let _ = (commits.wait(), paths.wait());
        return Ok(true);
    }
    if commits.wait()?.success() && paths.wait()?.success() {
        return Ok(false);
    }
    Err(io::Error::other("git cannot list the history"))
}

/// The objects in the store that have the content of a file that is sought, as it lies there.
fn contents(git: &Git, repository: &Path, sought: &Sought<'_>) -> io::Result<BTreeSet<String>> {
    let small = |path: &&PathBuf| {
        repository.join(path).symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= HASHED)
    };
    let paths: Vec<&str> = sought.files.iter().filter(small).filter_map(|path| path.to_str()).collect();
    if paths.is_empty() {
        return Ok(BTreeSet::new());
    }
    if paths.iter().any(|path| path.contains('\n')) {
        return Err(io::Error::other("a name with a line's end cannot be said to git"));
    }
    let list = paths.join("\n") + "\n";
    let names = git.tell(&["hash-object", "--no-filters", "--stdin-paths"], list.as_bytes())?;
    let found = git.tell(&["cat-file", "--batch-check=%(objectname) %(objecttype)"], &names)?;
    let found = String::from_utf8_lossy(&found).into_owned();
    let there = found.lines().filter_map(|line| line.strip_suffix(" blob"));
    Ok(there.map(str::to_owned).collect())
}

/// Makes a git directory at `into` of what is not sought: the index, and one commit of what is checked out.
pub(crate) fn make(repository: &Path, into: &Path, sought: &Sought<'_>) -> io::Result<()> {
    let made = try_to_make(repository, into, sought);
    if made.is_err() {
        // Half of one is none.
        let _ = fs::remove_dir_all(into);
    }
    made
}

fn try_to_make(repository: &Path, into: &Path, sought: &Sought<'_>) -> io::Result<()> {
    let above = sought.above;
    match fs::remove_dir_all(into) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for folder in ["objects/info", "objects/pack", "refs/heads", "info"] {
        fs::create_dir_all(into.join(folder))?;
    }
    let real = Git::new(repository);
    let of = |name: &str| -> io::Result<PathBuf> {
        let at = line(&real, &["rev-parse", "--git-path", name]);
        Ok(repository.join(at.ok_or_else(|| io::Error::other("git does not say where it keeps things"))?))
    };
    for name in ["config", "info/exclude"] {
        copy(&of(name)?, &into.join(name))?;
    }
    let (index, head_index) = (into.join("index"), into.join("head-index"));
    copy(&of("index")?, &index)?;
    let objects = of("objects")?;
    let with =
        |index: &Path| Git::writing(repository, index.to_owned(), into.join("objects"), objects.clone());
    let commit = line(&real, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]);
    if commit.is_some() {
        with(&head_index).ask(&["read-tree", "HEAD"])?;
    }
    let (now, then) = (entries(&with(&index))?, entries(&with(&head_index))?);
    let all = || now.iter().chain(&then);
    let mut objects = contents(&real, repository, sought)?;
    objects.extend(all().filter(|(path, _)| above(path)).map(|(_, object)| object.clone()));
    let gone = |(path, object): &&(String, String)| above(path) || objects.contains(object);
    withhold(&with(&index), now.iter().filter(gone))?;
    let mut made = String::new();
    if let Some(commit) = commit {
        let git = with(&head_index);
        withhold(&git, then.iter().filter(gone))?;
        made = commit_of(&git, &commit)?;
    }
    pack(&with(&index), &made, &into.join("objects/pack/pack"))?;
    let _ = fs::remove_file(&head_index);
    let branch =
        line(&real, &["symbolic-ref", "--quiet", "HEAD"]).filter(|name| name.starts_with("refs/heads/"));
    let head = match branch {
        None => format!("{made}\n"),
        Some(name) => {
            if !made.is_empty() {
                let file = into.join(&name);
                fs::create_dir_all(file.parent().unwrap_or(into))?;
                fs::write(file, format!("{made}\n"))?;
            }
            format!("ref: {name}\n")
        }
    };
    fs::write(into.join("HEAD"), head)
}

/// A plain file, if it is there.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(from) {
        Ok(facts) if facts.is_file() => fs::copy(from, to).map(drop),
        _ => Ok(()),
    }
}

/// The paths and objects of an index, every stage of them.
fn entries(git: &Git) -> io::Result<Vec<(String, String)>> {
    let answer = git.ask(&["ls-files", "--stage", "-z"])?;
    let strange = || io::Error::other("the answer of git cannot be read");
    let mut found = Vec::new();
    for entry in answer.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let at = entry.iter().position(|byte| *byte == b'\t').ok_or_else(strange)?;
        let (facts, path) = entry.split_at(at);
        let facts = String::from_utf8_lossy(facts);
        let object = facts.split(' ').nth(1).ok_or_else(strange)?.to_owned();
        // A name that is not UTF-8 cannot be said to git again: the whole is refused.
        let path = String::from_utf8(path.get(1..).unwrap_or_default().to_vec()).map_err(|_| strange())?;
        found.push((path, object));
    }
    Ok(found)
}

/// Takes entries out of an index, and with them all that it remembers beside its entries.
fn withhold<'a>(git: &Git, gone: impl Iterator<Item = &'a (String, String)>) -> io::Result<()> {
    if !git.ask(&["ls-files", "--resolve-undo", "-z"])?.is_empty() {
        git.ask(&["update-index", "--clear-resolve-undo"])?;
    }
    let list: Vec<u8> = gone.flat_map(|(path, _)| [path.as_bytes(), b"\0"].concat()).collect();
    git.tell(&["update-index", "--force-write-index", "--force-remove", "-z", "--stdin"], &list).map(drop)
}

/// A commit of an index, of the time of another.
fn commit_of(git: &Git, like: &str) -> io::Result<String> {
    let strange = || io::Error::other("git cannot make a commit of the visible files");
    let tree = line(git, &["write-tree"]).ok_or_else(strange)?;
    let raw = String::from_utf8_lossy(&git.ask(&["cat-file", "commit", like])?).into_owned();
    let committer = raw.lines().find(|line| line.starts_with("committer ")).unwrap_or_default().to_owned();
    let mut words = committer.rsplit(' ');
    let (zone, seconds) = (words.next().unwrap_or("+0000"), words.next().unwrap_or("0"));
    let git = git.clone().at(format!("{seconds} {zone}"));
    line(&git, &["commit-tree", &tree, "-m", MESSAGE]).ok_or_else(strange)
}

/// Packs a commit and what an index names.
fn pack(git: &Git, commit: &str, into: &Path) -> io::Result<()> {
    let into = into.to_str().ok_or_else(|| io::Error::other("the folder of the session has an odd name"))?;
    let wanted = if commit.is_empty() { String::new() } else { format!("{commit}\n") };
    git.tell(&["pack-objects", "--revs", "--indexed-objects", "-q", into], wanted.as_bytes()).map(drop)
}

/// One line of an answer; `None` when git fails or says nothing.
fn line(git: &Git, arguments: &[&str]) -> Option<String> {
    let answer = String::from_utf8(git.ask(arguments).ok()?).ok()?;
    Some(answer.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the oracle of this test is git itself")]
    fn git(dir: &Path, arguments: &[&str]) -> Option<String> {
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(dir)
            .args(["-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .output()
            .ok()?;
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn repository(format: &str) -> Option<tempfile::TempDir> {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", &format!("--object-format={format}")])?;
        fs::create_dir_all(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("src/a.txt"), "a\n").unwrap();
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-qm", "one"]);
        Some(dir)
    }

    const SOUGHT: Sought<'static> = Sought { above: &|path| path.starts_with("secret/"), files: &[] };

    #[test]
    fn a_path_above_is_found_in_every_corner_of_a_history() {
        let Some(dir) = repository("sha1") else { return };
        let root = dir.path();
        let state = tempfile::tempdir().unwrap();
        let list = state.path().join("looked/x");
        let ask = || holds(root, &SOUGHT, "rules", Some(&list)).unwrap();
        assert!(!ask());
        assert!(list.exists() && !ask(), "remembered");
        fs::create_dir(root.join("secret")).unwrap();
        fs::write(root.join("secret/s.txt"), "s\n").unwrap();
        assert!(!ask(), "not tracked");
        git(root, &["add", "."]);
        assert!(ask(), "in the index");
        git(root, &["stash", "-q"]);
        assert!(ask(), "in a stash");
        git(root, &["stash", "drop", "-q"]);
        assert!(!ask());
        git(root, &["checkout", "-qb", "side"]);
        fs::create_dir_all(root.join("secret")).unwrap();
        fs::write(root.join("secret/s.txt"), "s\n").unwrap();
        git(root, &["add", "."]);
        git(root, &["commit", "-qm", "two"]);
        git(root, &["checkout", "-q", "main"]);
        assert!(ask(), "on another branch");
        git(root, &["branch", "-qD", "side"]);
        assert!(ask(), "in a reflog");
        git(root, &["reflog", "expire", "--expire=now", "--all"]);
        assert!(!ask());
        fs::write(root.join("outside"), "a\n").unwrap();
        let files = [PathBuf::from("outside")];
        let of = |files| holds(root, &Sought { files, ..SOUGHT }, "rules", None).unwrap();
        assert!(of(&files) && !of(&[]), "an object with the content of a file that is above");
        assert!(
            holds(root, &Sought { above: &|path| path == "src/a.txt", files: &[] }, "others", Some(&list))
                .unwrap(),
            "other rules"
        );
    }

    #[test]
    fn what_is_made_holds_the_visible_files_and_no_object_beside_them() {
        for format in ["sha1", "sha256"] {
            let Some(dir) = repository(format) else { return };
            let root = dir.path();
            fs::create_dir(root.join("secret")).unwrap();
            fs::write(root.join("secret/s.txt"), "the secret\n").unwrap();
            fs::write(root.join("src/same.txt"), "the secret\n").unwrap();
            git(root, &["add", "."]);
            git(root, &["commit", "-qm", "a telling message"]);
            fs::write(root.join("src/b.txt"), "staged\n").unwrap();
            git(root, &["add", "."]);
            let blob = git(root, &["rev-parse", "HEAD:secret/s.txt"]).unwrap();
            let state = tempfile::tempdir().unwrap();
            let into = state.path().join("made");
            make(root, &into, &SOUGHT).unwrap();
            make(root, &into, &SOUGHT).unwrap();
            let into_text = into.to_str().unwrap();
            let ask =
                |arguments: &[&str]| git(root, &[&["--git-dir", into_text], arguments].concat()).unwrap();
            assert_eq!(ask(&["ls-files"]), "src/a.txt\nsrc/b.txt\n");
            assert_eq!(ask(&["diff", "--cached", "--name-status"]), "A\tsrc/b.txt\n");
            assert_eq!(
                ask(&["log", "--format=%s", "--name-only"]),
                "The files that this session is shown\n\nsrc/a.txt\n"
            );
            let objects = ask(&["cat-file", "--batch-all-objects", "--batch-check"]);
            assert!(!objects.contains(blob.trim()), "{objects}");
            assert_eq!(objects.lines().filter(|line| line.contains("blob")).count(), 2, "{objects}");
            assert_eq!(ask(&["fsck", "--strict", "--full"]), "");
            assert_eq!(ask(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
            assert_eq!(
                git(root, &["fsck", "--unreachable"]).unwrap(),
                "",
                "nothing was written into the repository"
            );
        }
    }

    #[test]
    fn a_repository_without_a_commit_and_one_with_a_detached_head() {
        let Some(dir) = repository("sha1") else { return };
        git(dir.path(), &["checkout", "-q", "--detach"]);
        let state = tempfile::tempdir().unwrap();
        make(dir.path(), &state.path().join("a"), &SOUGHT).unwrap();
        assert_eq!(fs::read_to_string(state.path().join("a/HEAD")).unwrap().len(), 41);
        let empty = tempfile::tempdir().unwrap();
        git(empty.path(), &["init", "-q"]);
        make(empty.path(), &state.path().join("b"), &SOUGHT).unwrap();
        assert!(fs::read_to_string(state.path().join("b/HEAD")).unwrap().starts_with("ref: refs/heads/"));
        assert!(make(&state.path().join("nowhere"), &state.path().join("c"), &SOUGHT).is_err());
        assert!(!state.path().join("c").exists());
    }
}
