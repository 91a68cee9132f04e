//! The repository that a session works on: which folder it is, whether Enclos may work there, what of it is shown.
//!
//! Nothing is written and no program is run here. A folder that is a home, holds one, or holds the state of Enclos
//! is refused; so is, as root, a folder of somebody else.

mod admitted;
mod apart;
mod hidden;
mod index;
mod keys;
mod masked;
mod nested;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use enclos_protocol::error::{ApiError, Fault};

use crate::places::Places;

pub(crate) use admitted::Admitted;
pub(crate) use apart::Apart;
pub(crate) use hidden::{names, note};
pub(crate) use keys::{Keys, holds_key};
pub(crate) use masked::Masked;

/// A repository that may be worked on.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    /// Its folder, without links.
    pub root: PathBuf,
    /// Its `.git`, a folder or a file.
    pub git: Option<PathBuf>,
}

/// What of a repository is not shown in the sandbox, and what a person should know of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Paths, relative to the root, that do not exist inside.
    pub hidden: Vec<PathBuf>,
    /// Ignored dependency and build folders, which come in all the same on the same machine.
    pub dependencies: Vec<PathBuf>,
    /// Remarks, a sentence each.
    pub notes: Vec<String>,
    /// The files and links that are shown, those of dependencies left out.
    pub files: Vec<masked::Seen>,
}

impl Repo {
    /// Finds the repository that holds `folder`.
    ///
    /// # Errors
    /// Why Enclos does not work there, and what to do.
    pub(crate) fn find(
        folder: &Path,
        home: Option<&Path>,
        places: &Places,
        uid: u32,
    ) -> Result<Self, ApiError> {
        let start = folder.canonicalize().map_err(|error| {
            usage(format!("`{}` cannot be opened: {error}", folder.display()), "name a folder with --repo")
        })?;
        if !start.is_dir() {
            return Err(usage(
                format!("`{}` is not a folder", start.display()),
                "name the folder of a repository with --repo",
            ));
        }
        let home = home.and_then(|home| home.canonicalize().ok());
        refuse_git_folder(&start)?;
        let top = start.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
        let top = top.filter(|top| !is_too_wide(top, home.as_deref()));
        let root = top.unwrap_or(&start).to_path_buf();
        if is_too_wide(&root, home.as_deref()) {
            return Err(usage(
                format!("`{}` is a home folder, or holds one: a session would see all of it", root.display()),
                "make a folder for the project, or name one with --repo",
            ));
        }
        refuse_own_state(&root, places)?;
        refuse_foreign(&root, uid)?;
        let git = Some(root.join(".git")).filter(|git| git.symlink_metadata().is_ok());
        Ok(Self { root, git })
    }

    /// Walks the repository once: what is ignored, no dependency and not `admitted` is hidden, and so is what is no file,
    /// folder or link; what cannot be read is told.
    pub(crate) fn survey(&self, uid: u32, admitted: &Admitted) -> Shown {
        hidden::survey(&self.root, self.git.as_deref(), uid, admitted)
    }

    /// Remarks on changes at some paths: those below a repository of their own are committed there.
    pub(crate) fn remarks<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
        let tracked = self.git.as_deref().and_then(|git| index::tracked(git).ok()).unwrap_or_default();
        nested::of_changes(&self.root, paths, &tracked)
    }
}

fn usage(message: String, hint: &str) -> ApiError {
    ApiError::new(Fault::Usage, message).hint(hint)
}

/// The root of the file system, a home, or a folder that holds a home.
fn is_too_wide(folder: &Path, home: Option<&Path>) -> bool {
    let wide = [Path::new("/"), Path::new("/home"), Path::new("/root"), Path::new("/usr"), Path::new("/etc")];
    wide.contains(&folder) || home.is_some_and(|home| home.starts_with(folder))
}

/// A bare repository, or a folder inside a `.git`.
fn refuse_git_folder(folder: &Path) -> Result<(), ApiError> {
    let bare =
        folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir();
    let inside = folder.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    if bare || inside {
        let message = format!(
            "`{}` is a bare repository or a git folder: there are no files to work on",
            folder.display()
        );
        return Err(usage(message, "make a clone or a worktree of it and name that with --repo"));
    }
    Ok(())
}

/// The journal must never lie where a session can see it.
fn refuse_own_state(root: &Path, places: &Places) -> Result<(), ApiError> {
    let state = places.state();
    let state = state.canonicalize().unwrap_or_else(|_| state.to_path_buf());
    if state.starts_with(root) {
        let message = format!("the state of Enclos (`{}`) lies inside the repository", state.display());
        return Err(usage(message, "set ENCLOS_HOME to a folder outside the repository"));
    }
    Ok(())
}

/// A folder of another user is refused: its owner could trick root with what lies there, and a plain user could apply
/// nothing to it.
fn refuse_foreign(root: &Path, uid: u32) -> Result<(), ApiError> {
    let owner = root
        .metadata()
        .map_err(|error| {
            usage(format!("`{}` cannot be read: {error}", root.display()), "mend its permissions")
        })?
        .uid();
    if owner == uid {
        return Ok(());
    }
    let (who, hint) = if uid == 0 {
        ("this is root".to_owned(), "run Enclos as that user")
    } else {
        (format!("you are user {uid}"), "work on a clone or a copy of your own")
    };
    Err(usage(format!("`{}` belongs to user {owner}, and {who}", root.display()), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(dir: &Path) -> Places {
        let environment = enclos_protocol::env::Environment::of([("ENCLOS_HOME", dir.to_str().unwrap())]);
        Places::find(&environment).unwrap()
    }

    fn uid() -> u32 {
        rustix::process::getuid().as_raw()
    }

    #[test]
    fn a_folder_inside_a_repository_means_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("r/.git")).unwrap();
        std::fs::create_dir_all(dir.path().join("r/src/deep")).unwrap();
        let found = Repo::find(&dir.path().join("r/src/deep"), None, &places(state.path()), uid()).unwrap();
        assert_eq!(found.root, dir.path().join("r").canonicalize().unwrap());
        assert!(found.git.is_some());
        let plain = Repo::find(dir.path(), None, &places(state.path()), uid()).unwrap();
        assert!(plain.git.is_none());
    }

    #[test]
    fn a_folder_of_another_user_is_refused_for_root_and_for_a_plain_user() {
        let dir = tempfile::tempdir().unwrap();
        let owner = dir.path().metadata().unwrap().uid();
        refuse_foreign(dir.path(), owner).unwrap();
        let error = refuse_foreign(dir.path(), owner + 1).unwrap_err();
        assert_eq!(error.fault, Fault::Usage);
        assert!(error.message.contains(&format!("belongs to user {owner}, and you are user {}", owner + 1)));
        assert!(error.hints[0].contains("of your own"), "{error:?}");
    }

    #[test]
    fn homes_bare_repositories_and_our_own_state_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let refused = |folder: &Path, home: Option<&Path>, state: &Path| {
            let error = Repo::find(folder, home, &places(state), uid()).unwrap_err();
            assert!(!error.hints.is_empty());
            error.message
        };
        assert!(refused(dir.path(), Some(dir.path()), state.path()).contains("home"));
        assert!(refused(Path::new("/"), None, state.path()).contains("home"));
        assert!(refused(&dir.path().join("nowhere"), None, state.path()).contains("cannot be opened"));
        for folder in ["bare/objects", "bare/refs", "work/.git/hooks"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert!(refused(&dir.path().join("bare"), None, state.path()).contains("bare"));
        assert!(refused(&dir.path().join("work/.git/hooks"), None, state.path()).contains("git folder"));
        std::fs::create_dir_all(dir.path().join("work/.enclos")).unwrap();
        assert!(
            refused(&dir.path().join("work"), None, &dir.path().join("work/.enclos"))
                .contains("inside the repository")
        );
    }

    #[test]
    fn root_does_not_work_on_the_folder_of_another_user() {
        let dir = tempfile::tempdir().unwrap();
        assert!(refuse_foreign(dir.path(), uid()).is_ok());
        let owner = dir.path().metadata().unwrap().uid();
        assert_eq!(refuse_foreign(Path::new("/"), 0).is_err(), Path::new("/").metadata().unwrap().uid() != 0);
        if owner != 0 {
            assert!(refuse_foreign(dir.path(), 0).is_err());
        }
    }
}
