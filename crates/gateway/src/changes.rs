//! The change set as the session and its clients handle it: what is flagged, how it is shown, which files are meant.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use enclos_core::ids::{Digest, SessionId};
use enclos_core::noun::listed;
use enclos_core::secret::{Redactor, RedactorError};
use enclos_core::session::Files;
use enclos_protocol::card::Flagged;
use enclos_protocol::changeset::{ChangeSetView, FileView, Hunk, Line, LineKind};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::Body;
use serde_json::{Value, json};

use crate::changeset::{
    self, Applied, ApplyError, Cause, ChangeSet, ChangeSetError, Choice, FileChange, Kind, Workspace,
};
use crate::held::{self, Levels, Release};
use crate::session::{Facts, Part, PartHunk, Parts, facts};

/// Names of files in one entry of the journal.
const NAMED: usize = 200;

/// Which files a person accepts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// Those named; all that are not flagged when absent.
    pub files: Option<Vec<String>>,
    /// Flagged ones that are accepted by name.
    pub flagged: Vec<String>,
    /// Why held ones that are named may go.
    pub release: Option<Release>,
}

impl Chosen {
    /// The choice, when every name in it is a file of the set and every flagged file was named as such.
    pub(crate) fn resolve(&self, set: &ChangeSet, session: &SessionId) -> Result<Choice, ApiError> {
        let plain_name = |name: &String| name.strip_prefix("./").unwrap_or(name).to_owned();
        let files: Option<Vec<String>> =
            self.files.as_ref().map(|files| files.iter().map(plain_name).collect());
        let flagged: Vec<String> = self.flagged.iter().map(plain_name).collect();
        let named = files.iter().flatten().chain(&flagged);
        if let Some(unknown) = named.clone().find(|name| set.get(name).is_none()) {
            let message = format!("the change set has no file `{unknown}`");
            return Err(
                ApiError::new(Fault::Usage, message).hint(format!("its files: enclos diff {session} --stat"))
            );
        }
        let plain = set.files.iter().filter(|file| file.flags.is_empty() && file.held.is_none());
        let plain = plain.map(|file| file.path.clone());
        let mut paths: BTreeSet<String> = match &files {
            Some(files) => files.iter().cloned().collect(),
            None => plain.collect(),
        };
        paths.extend(flagged.iter().cloned());
        let unanswered = |path: &&String| {
            set.get(path).is_some_and(|file| !file.flags.is_empty()) && !flagged.contains(path)
        };
        if let Some(path) = paths.iter().find(unanswered) {
            let message = format!("`{path}` is under dedicated control and needs a yes of its own");
            return Err(ApiError::new(Fault::Refused, message)
                .hint(format!("look at it, then name it: enclos apply {session} --files {path}")));
        }
        if paths.is_empty() {
            let message =
                "there is nothing to apply: every file is flagged or held and needs a yes of its own";
            return Err(ApiError::new(Fault::Refused, message).hint(format!("see why: enclos diff {session} --stat   then name them: enclos apply {session} --files PATH …")));
        }
        Ok(Choice::Files(paths))
    }
}

fn failed(error: &ChangeSetError) -> ApiError {
    ApiError::new(Fault::Internal, error.to_string())
}

/// Computes the change set of a layer, with its flags.
pub(crate) fn build(repo: &Path, layer: &Path, levels: &Levels) -> Result<ChangeSet, ApiError> {
    let mut workspace = Workspace::open(repo, layer).map_err(|error| failed(&error))?;
    let mut set = workspace.build(&flags).map_err(|error| failed(&error))?;
    levels.mark(&mut set);
    Ok(set)
}

/// The hunks of a change set, for the lineage.
pub(crate) fn parts(repo: &Path, layer: &Path, set: &ChangeSet) -> Result<Parts, ApiError> {
    let workspace = Workspace::open(repo, layer).map_err(|error| failed(&error))?;
    let mut files = Vec::new();
    for file in &set.files {
        let shown = workspace.show(file).map_err(|error| failed(&error))?;
        let hunks = shown.hunks.into_iter().map(|hunk| PartHunk {
            line: hunk.start,
            lines: hunk.lines.iter().filter(|line| line.kind != changeset::LineKind::Removed).count(),
            text: hunk.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"),
        });
        files.push(Part {
            path: file.path.clone(),
            old_path: file.old_path.clone(),
            digest: file.now().to_owned(),
            label: file.label,
            hunks: hunks.collect(),
        });
    }
    Ok(Parts { digest: set.digest.as_str().to_owned(), files })
}

/// What the files of a layer are that a session changed, for the moment before it learns more.
pub(crate) fn written(repo: &Path, layer: &Path) -> Result<Files, ApiError> {
    let mut workspace = Workspace::open(repo, layer).map_err(|error| failed(&error))?;
    let no_flags = |_: &FileChange, _: &str| Vec::new();
    let set = workspace.build(&no_flags).map_err(|error| failed(&error))?;
    Ok(set.files.iter().map(|file| (file.path.clone(), file.now().to_owned())).collect())
}

/// Why a change needs a yes of its own.
fn flags(change: &FileChange, added: &str) -> Vec<String> {
    let mut why = flags_of_path(&change.path);
    if let Some(old) = &change.old_path {
        why.extend(flags_of_path(old));
    }
    why.extend(secrets(added));
    why.sort();
    why.dedup();
    why
}

/// The kinds of secrets in added text. Where they cannot be looked for, that is a flag of its own.
fn secrets(added: &str) -> Vec<String> {
    static SEARCH: LazyLock<Result<Redactor, RedactorError>> = LazyLock::new(|| Redactor::new(Vec::new()));
    match SEARCH.as_ref() {
        Ok(search) => search.kinds(added).into_iter().map(|kind| format!("secret: {kind}")).collect(),
        Err(_) => vec!["not searched for secrets".to_owned()],
    }
}

/// Why a path is under dedicated control.
pub(crate) fn flags_of_path(path: &str) -> Vec<String> {
    enclos_core::sensitive::flags(path).into_iter().map(|flag| flag.as_str().to_owned()).collect()
}

/// A path as a call names it, from the workspace.
pub(crate) fn in_workspace(path: &str) -> &str {
    path.strip_prefix("/workspace/").unwrap_or(path).trim_start_matches("./")
}

/// The hunks between two texts.
pub(crate) fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    changeset::compare(old, new).into_iter().map(hunk).collect()
}

fn hunk(from: changeset::Hunk) -> Hunk {
    let (old_start, new_start) = starts(&from.header);
    let lines = from.lines.into_iter().map(|line| Line {
        kind: match line.kind {
            changeset::LineKind::Context => LineKind::Context,
            changeset::LineKind::Removed => LineKind::Removed,
            changeset::LineKind::Added => LineKind::Added,
        },
        text: line.text,
        no_newline: line.unterminated,
    });
    Hunk { old_start, new_start, lines: lines.collect() }
}

/// The first lines of a header `@@ -OLD,N +NEW,M @@`.
fn starts(header: &str) -> (u64, u64) {
    let number = |sign: char| {
        let part = header.split(' ').find(|part| part.starts_with(sign))?;
        part.get(1..)?.split(',').next()?.parse().ok()
    };
    (number('-').unwrap_or(0), number('+').unwrap_or(0))
}

fn file_view(file: &FileChange) -> FileView {
    let change = match file.kind {
        Kind::Added => "added",
        Kind::Modified => "modified",
        Kind::Deleted => "deleted",
        Kind::Renamed => "renamed",
        Kind::ModeChanged => "mode",
        Kind::TypeChanged => "link",
    };
    FileView {
        path: file.path.clone(),
        old_path: file.old_path.clone(),
        change: change.to_owned(),
        insertions: file.insertions as u64,
        deletions: file.deletions as u64,
        binary: file.binary,
        flags: file.flags.clone(),
        label: file.label,
        held: held::why(file),
    }
}

/// The event that tells a change set.
pub(crate) fn told(set: &ChangeSet) -> Body {
    Body::ChangeSet {
        files: set.files.iter().map(file_view).collect(),
        insertions: set.insertions as u64,
        deletions: set.deletions as u64,
        flagged: set.files.iter().filter(|file| !file.flags.is_empty()).count() as u64,
        digest: set.digest.as_str().to_owned(),
    }
}

/// What a person should know of a change set besides its flags: what is committed elsewhere, and what git keeps otherwise.
pub(crate) fn remarks(root: &Path, set: &ChangeSet) -> Vec<String> {
    let git = Some(root.join(".git")).filter(|git| git.symlink_metadata().is_ok());
    let repo = crate::repo::Repo { root: root.to_owned(), git };
    let mut remarks = repo.remarks(set.files.iter().map(|file| file.path.as_str()));
    let lfs = changeset::kept_by_lfs(root, set);
    if !lfs.is_empty() {
        let named = listed(lfs.iter().map(|path| format!("`{path}`")));
        remarks.push(format!("kept by Git LFS, which makes a pointer of it when you commit: {named}"));
    }
    remarks
}

/// The whole change set, to be shown.
pub(crate) fn view(repo: &Path, layer: &Path, levels: &Levels) -> Result<ChangeSetView, ApiError> {
    let mut workspace = Workspace::open(repo, layer).map_err(|error| failed(&error))?;
    let mut set = workspace.build(&flags).map_err(|error| failed(&error))?;
    levels.mark(&mut set);
    let mut hunks = Vec::new();
    for file in &set.files {
        let shown = workspace.show(file).map_err(|error| failed(&error))?;
        hunks.push(shown.hunks.into_iter().map(hunk).collect());
    }
    let patch = workspace.patch(&set, &Choice::All).map_err(|error| failed(&error))?;
    let refused = set
        .refused
        .iter()
        .map(|refused| Flagged { path: refused.path.clone(), why: reason(refused.reason).to_owned() });
    Ok(ChangeSetView {
        files: set.files.iter().map(file_view).collect(),
        hunks,
        insertions: set.insertions as u64,
        deletions: set.deletions as u64,
        ignored: set.ignored as u64,
        refused: refused.collect(),
        remarks: remarks(repo, &set),
        digest: set.digest.as_str().to_owned(),
        patch: String::from_utf8_lossy(&patch.bytes).into_owned(),
    })
}

/// Why something can never be applied, in words.
fn reason(reason: changeset::Reason) -> &'static str {
    use changeset::Reason;
    match reason {
        Reason::Special(_) => "a pipe, a socket or a device",
        Reason::GitDirectory => "a .git is never part of a change set",
        Reason::LinkToGit => "a link to a .git",
        Reason::NotUtf8 => "its name is not UTF-8",
        Reason::Redirect => "it carries a mark that the workspace never writes",
        Reason::TooLong => "its path is too long",
        Reason::Unreadable => "it cannot be read",
        Reason::TooLarge => "it is too large: with it the changes would have over 16 GiB, holes counted",
    }
}

/// The file of a session that names the change set which was shown last.
const SHOWN: &str = "shown";

/// Writes down which change set a person was shown: an acceptance counts for that one.
pub(crate) fn remember_shown(session: &Path, digest: &str) -> Result<(), ApiError> {
    std::fs::write(session.join(SHOWN), digest).map_err(|error| {
        ApiError::new(Fault::Internal, format!("what was shown cannot be written down: {error}"))
    })
}

/// Forgets which change set a person was shown: the next acceptance wants a fresh look.
pub(crate) fn forget_shown(session: &Path) -> Result<(), ApiError> {
    match std::fs::remove_file(session.join(SHOWN)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let message = format!("what was shown cannot be forgotten: {error}");
            Err(ApiError::new(Fault::Internal, message))
        }
        _ => Ok(()),
    }
}

/// Whether a change set is the one that a person was shown last.
pub(crate) fn was_shown(session: &Path, digest: &Digest) -> bool {
    std::fs::read_to_string(session.join(SHOWN)).is_ok_and(|shown| shown == digest.as_str())
}

/// The patch of what is neither flagged nor held, and what it omits.
pub(crate) fn patch(repo: &Path, layer: &Path, set: &ChangeSet) -> Result<(Vec<u8>, Vec<String>), ApiError> {
    let workspace = Workspace::open(repo, layer).map_err(|error| failed(&error))?;
    let (flagged, plain): (Vec<&FileChange>, Vec<&FileChange>) =
        set.files.iter().partition(|file| !file.flags.is_empty() || file.held.is_some());
    let choice = Choice::files(plain.iter().map(|file| file.path.as_str()));
    let patch = workspace.patch(set, &choice).map_err(|error| failed(&error))?;
    let too_large = patch.omitted.iter().map(|omitted| omitted.path.clone());
    let omitted = flagged.iter().map(|file| file.path.clone()).chain(too_large).collect();
    Ok((patch.bytes, omitted))
}

/// Applies a choice, all or nothing. What an earlier crash left is mended first.
pub(crate) fn apply(
    repo: &Path,
    layer: &Path,
    set: &ChangeSet,
    choice: &Choice,
    id: &SessionId,
) -> Result<Applied, ApiError> {
    let session = layer.parent().unwrap_or(layer);
    recover(session, id)?;
    let workspace = Workspace::open(repo, layer).map_err(|error| failed(&error))?;
    workspace.apply(set, choice, session).map_err(|error| not_applied(&error, id))
}

/// Mends an application that a crash had cut short: it is finished, or taken back.
pub(crate) fn recover(session: &Path, id: &SessionId) -> Result<(), ApiError> {
    changeset::recover(session).map(drop).map_err(|error| not_applied(&error, id))
}

fn not_applied(error: &ApplyError, id: &SessionId) -> ApiError {
    let mut told = ApiError::new(Fault::Internal, error.to_string());
    if let ApplyError::Conflicts(conflicts) = error {
        for conflict in conflicts {
            told = told.hint(format!("`{}`: {}", conflict.path, cause(conflict.cause)));
        }
        told = told.hint(format!("accept the others by name: enclos apply {id} --files PATH …"));
        told = told.hint(format!("or merge by hand: enclos diff {id} --patch | git apply --3way"));
    }
    told
}

/// Why a file stands against an application, in words.
fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::BaseUnknown => "it changed outside, and its content at opening is not known",
        Cause::Hidden => "it was hidden from the session and exists in your tree",
        Cause::Exists => "the session made it, and your tree has another one of that name",
        Cause::RemovedOutside => "the session changed it, and it was removed outside",
        Cause::ChangedOutside => "the session removed or renamed it, and it was changed outside",
        Cause::BothChanged => "both sides changed the same lines",
        Cause::InTheWay => "a folder, a file or a link stands where it goes",
    }
}

/// The names of a choice, for the journal.
pub(crate) fn names(choice: &Choice) -> Value {
    match choice {
        Choice::All => json!("all"),
        Choice::Files(paths) => json!({
            "named": paths.iter().take(NAMED).collect::<Vec<_>>(),
            "more": paths.len().saturating_sub(NAMED),
        }),
    }
}

/// A change set for the journal: names, sizes and flags.
pub(crate) fn facts_of(set: &ChangeSet) -> Facts {
    let files = set.files.iter().take(NAMED).map(|file| {
        let size = file.after.as_ref().map(|side| side.size);
        let held = file.held.is_some();
        json!({"path": file.path, "kind": file.kind, "bytes": size, "flags": file.flags, "label": file.label, "held": held})
    });
    facts([
        ("files", files.collect()),
        ("more", json!(set.files.len().saturating_sub(NAMED))),
        ("insertions", json!(set.insertions)),
        ("deletions", json!(set.deletions)),
        ("ignored", json!(set.ignored)),
        ("refused", json!(set.refused.len())),
    ])
}
