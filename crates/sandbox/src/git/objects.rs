//! The folders of objects: the repository's and those it borrows from. A folder that does not look like one of git's
//! is refused: a forged list of alternates must not make any other folder of the host visible inside.
use super::{STEP, text};
use crate::error::{OpenError, Place};
use std::path::{Path, PathBuf};

/// Most folders, and how far one may borrow from another.
const MOST: usize = 16;
const DEPTH: usize = 5;

/// `first` and all that it borrows from, each once.
pub(super) fn folders(first: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut waiting = vec![(first.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let folder = match folder.canonicalize() {
            Ok(folder) => folder,
            // Git, too, does without one that is gone.
            Err(_) if depth > 0 => continue,
            Err(error) => return Err(error).at(STEP, "looking for the repository's objects"),
        };
        if found.contains(&folder) {
            continue;
        }
        check(&folder)?;
        if depth >= DEPTH || found.len() >= MOST {
            return Err(OpenError::new(STEP, "the repository borrows objects from too many others"));
        }
        if let Some(list) = text(&folder.join("info/alternates"), 64 * 1024)? {
            for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                waiting.push((folder.join(line), depth + 1));
            }
        }
        found.push(folder);
    }
    Ok(found)
}

fn check(folder: &Path) -> Result<(), OpenError> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).at(STEP, &format!("reading the objects in `{shown}`"))?;
    let mut looks_like_git = false;
    for entry in entries {
        let entry = entry.at(STEP, &format!("reading the objects in `{shown}`"))?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let known = matches!(name, "pack" | "info");
        looks_like_git |= known;
        let hash = name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unfinished = name.starts_with("tmp_obj") || name.starts_with("tmp_objdir");
        if !(known || hash || unfinished) {
            let message =
                format!("`{shown}` is no folder of git's objects: it holds `{}`", name.escape_debug());
            return Err(OpenError::new(STEP, message));
        }
    }
    if looks_like_git {
        Ok(())
    } else {
        Err(OpenError::new(STEP, format!("`{shown}` is no folder of git's objects")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(at: &Path) -> PathBuf {
        std::fs::create_dir_all(at.join("info")).unwrap();
        std::fs::create_dir_all(at.join("pack")).unwrap();
        at.canonicalize().unwrap()
    }

    #[test]
    fn follows_what_is_borrowed_and_refuses_other_folders() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (objects(&root.path().join("one")), objects(&root.path().join("two")));
        std::fs::write(one.join("info/alternates"), format!("# a\n../two\n{}\n/gone\n", one.display()))
            .unwrap();
        assert_eq!(folders(&one).unwrap(), [one.clone(), two.clone()]);
        std::fs::create_dir(two.join(".ssh")).unwrap();
        assert!(folders(&one).unwrap_err().message.contains(".ssh"));
        std::fs::remove_dir(two.join(".ssh")).unwrap();
        std::fs::write(one.join("info/alternates"), "/usr\n").unwrap();
        assert!(folders(&one).is_err());
    }
}
