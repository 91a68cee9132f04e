//! What a session is not shown until it knows as much: which files, which git directory it gets instead of the
//! repository's own, and what of it was shown since.
//!
//! Nothing is masked in a repository of which no file is above the project's level. Where masks are asked for and something
//! about them cannot be found out, the session gets less, never more: no `.git`, or no sandbox.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use enclos_core::label::Level;
use enclos_core::policy::{PathLevels, Policy};
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::Unmasked;
use sha2::{Digest, Sha256};

use crate::changeset::visible::{self, Sought};
use crate::changeset::{self, hex};
use crate::repo::{Keys, Masked, Repo, Shown};
use crate::workplace::Workplace;

/// What is masked in a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Masks {
    masked: Masked,
    /// Put into the layer already, in this process or in one before it.
    shown: BTreeSet<PathBuf>,
    /// What cannot be put there, and was told.
    kept: BTreeSet<PathBuf>,
}

/// The git directory that a session gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// The repository's own.
    Whole,
    /// One of the visible files, in this folder.
    Visible(PathBuf),
    /// None, since neither could be had.
    Withheld(String),
}

impl History {
    /// The word of the journal.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Visible(_) => "visible files",
            Self::Withheld(_) => "none",
        }
    }

    /// The git directory, given the repository's own.
    pub(crate) fn git(&self, own: Option<&PathBuf>) -> Option<PathBuf> {
        match self {
            Self::Whole => own.cloned(),
            Self::Visible(made) => Some(made.clone()),
            Self::Withheld(_) => None,
        }
    }
}

/// Where masks find and leave things.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Desk<'a> {
    /// The gateway's state, where it is remembered what was looked at.
    pub state: &'a Path,
    /// The session's layer: beside what the session writes there is room that it does not reach.
    pub layer: &'a Path,
}

impl Masks {
    /// What is above the project's level, and the git directory for it.
    pub(crate) fn of(
        repo: &Repo,
        shown: &Shown,
        policy: &Policy,
        desk: Desk<'_>,
    ) -> Result<(Self, History), ApiError> {
        let rules = policy.settings().labels.of_paths();
        let keys = Keys::remembered(desk.state);
        let masked = Masked::of(&repo.root, shown, &rules, &keys).map_err(|error| {
            let message =
                format!("what a session may not see of the repository cannot be found out: {error}");
            ApiError::new(Fault::Internal, message)
        })?;
        let history = history(repo, shown, &rules, &masked, desk);
        Ok((Self { masked, ..Self::default() }, history))
    }

    /// The same, for a session that was open before.
    pub(crate) fn again(self, layer: &Path) -> Result<Self, ApiError> {
        let shown =
            changeset::unmasked(layer).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
        Ok(Self { shown: shown.into_iter().map(PathBuf::from).collect(), ..self })
    }

    /// What does not exist inside but for what the layer holds: what was shown lies there.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let mut all: BTreeSet<PathBuf> = self.masked.paths().into_iter().collect();
        all.extend(self.shown.iter().cloned());
        all.into_iter().collect()
    }

    /// Whether anything is masked.
    pub(crate) fn is_any(&self) -> bool {
        !self.masked.is_nothing() || !self.shown.is_empty()
    }

    /// The level of a file that is masked, shown by now or not.
    pub(crate) fn level(&self, path: &str) -> Option<Level> {
        self.masked.level(path)
    }

    /// What a session of a level is to be shown and is not yet.
    pub(crate) fn due(&self, level: Level) -> Vec<PathBuf> {
        let due = self.masked.up_to(level).into_iter();
        due.filter(|path| !self.shown.contains(path) && !self.kept.contains(path)).collect()
    }

    /// Takes down what became of files that were to be shown: those that are there, and the others with the reason.
    pub(crate) fn settle(&mut self, done: Vec<(PathBuf, Unmasked)>) -> (Vec<PathBuf>, Vec<String>) {
        let (mut there, mut others) = (Vec::new(), Vec::new());
        for (path, became) in done {
            let shown = path.display().to_string();
            match became {
                Unmasked::Shown => {
                    self.shown.insert(path.clone());
                    there.push(path);
                    continue;
                }
                Unmasked::Gone => {}
                Unmasked::Taken => others.push(format!("{shown}: the session made a file of that name")),
                Unmasked::TooLarge => others.push(format!("{shown}: it is too large")),
                Unmasked::Failed(why) => others.push(format!("{shown}: {why}")),
            }
            self.kept.insert(path);
        }
        (there, others)
    }

    /// Remarks for the person: neither names nor a number. `level`: the project's.
    pub(crate) fn notes(&self, level: Level, history: &History) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_any() {
            notes.push(format!(
                "files above {level} are masked: no command finds them until `read` raises the session"
            ));
        }
        match history {
            History::Whole => {}
            History::Visible(_) => notes.push(format!(
                "`.git` inside is one commit of the files that are shown, since files above {level} are in the history"
            )),
            History::Withheld(why) => notes.push(format!("there is no `.git` inside: {why}")),
        }
        notes
    }
}

/// Puts files into a sandbox, and says what became of each.
pub(crate) fn put(sandbox: &Workplace, paths: Vec<PathBuf>) -> Vec<(PathBuf, Unmasked)> {
    let done = sandbox.unmask(&paths).unwrap_or_else(|why| vec![Unmasked::Failed(why); paths.len()]);
    paths.into_iter().zip(done).collect()
}

/// Which git directory may be shown.
fn history(repo: &Repo, shown: &Shown, rules: &PathLevels, masked: &Masked, desk: Desk<'_>) -> History {
    if repo.git.is_none() {
        return History::Whole;
    }
    let level = rules.project();
    // Of what the survey found the level is known; the others are judged by their names.
    let found: HashSet<&str> = shown.files.iter().filter_map(|seen| seen.path.to_str()).collect();
    let above = |path: &str| {
        masked.level(path).is_some() || (!found.contains(path) && rules.level(path, false) > level)
    };
    let looked = desk.state.join("looked").join(format!("{}.history", name(&repo.root)));
    let files: Vec<PathBuf> = masked.up_to(Level::Restricted);
    let sought = Sought { above: &above, files: &files };
    match visible::holds(&repo.root, &sought, &digest(rules, masked), Some(&looked)) {
        Ok(false) => History::Whole,
        Ok(true) => {
            let made = desk.layer.join("base/visible");
            match visible::make(&repo.root, &made, &sought) {
                Ok(()) => History::Visible(made),
                Err(error) => History::Withheld(format!(
                    "files above {level} are in the history, and one without them cannot be made: {error}"
                )),
            }
        }
        // Where nothing can be above, nothing has to be looked for.
        Err(error) => History::Withheld(format!(
            "whether files above {level} are in the history cannot be found out: {error}"
        )),
    }
}

/// What is looked for in a history: the rules, and names that they do not tell.
fn digest(rules: &PathLevels, masked: &Masked) -> String {
    let by_rule =
        |path: &PathBuf| path.to_str().is_some_and(|path| rules.level(path, false) > rules.project());
    let others: Vec<PathBuf> =
        masked.up_to(Level::Restricted).into_iter().filter(|path| !by_rule(path)).collect();
    let text = format!("{}\0{rules:?}\0{others:?}", env!("CARGO_PKG_VERSION"));
    hex(&Sha256::digest(text.as_bytes()))
}

fn name(root: &Path) -> String {
    hex(Sha256::digest(root.as_os_str().as_encoded_bytes()).get(..16).unwrap_or_default())
}
