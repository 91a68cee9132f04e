//! What an application will do, worked out against the tree as it is, without touching it.
//!
//! Three ways for each file: the base (the tree at opening), ours (the tree now) and theirs (what the session wrote).
//! Where one side did not change, the other's content is taken; texts that both changed are merged; anything else is
//! a conflict, and one conflict means no plan.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use enclos_sandbox::layer::{Entry, Kind as Found};

use super::ground::{Ground, is_sound, parent_of};
use super::record::{Attributes, Record, Step};
use super::{Applied, ApplyError, Cause, Conflict, is_known};
use crate::changeset::content::{MAX_TEXT, copy, is_binary, side};
use crate::changeset::error::ChangeSetError;
use crate::changeset::merge::{Clash, merge};
use crate::changeset::model::{FileChange, Kind, Mode, Side};
use crate::changeset::store::Store;
use crate::changeset::{Workspace, read};

/// A whole plan.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// By path.
    pub(super) steps: Vec<Step>,
    /// Directories that stand where a file goes and hold nothing else.
    pub(super) clear: Vec<String>,
    contents: BTreeMap<String, Content>,
    merged: Vec<String>,
    unchanged: Vec<String>,
}

/// Where the new content of a step comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// The layer, at the path of the step.
    Layer,
    /// The tree as it is, at this path.
    Tree(String),
    /// A merge.
    Bytes(Vec<u8>),
}

/// Why a file has no place in the plan.
type Refusal = (Cause, Vec<Clash>);

/// Plans the application of some changes.
pub(super) fn make<'a>(
    workspace: &Workspace,
    ground: &Ground,
    changes: impl Iterator<Item = &'a FileChange>,
) -> Result<Plan, ApplyError> {
    let mut planner = Planner { workspace, ground, plan: Plan::default(), steps: BTreeMap::new() };
    let mut conflicts = Vec::new();
    for change in changes {
        for path in [change.source(), &change.path] {
            if !is_sound(path) {
                return Err(ApplyError::Forbidden(path.to_owned()));
            }
        }
        if let Err((cause, clashes)) = planner.change(change)? {
            conflicts.push(Conflict { path: change.path.clone(), cause, clashes });
        }
    }
    let Planner { mut plan, steps, .. } = planner;
    plan.steps = steps.into_values().collect();
    conflicts.extend(plan.in_the_way(ground)?);
    if conflicts.is_empty() { Ok(plan) } else { Err(ApplyError::Conflicts(conflicts)) }
}

/// Plans the way back of an application that was done.
pub(super) fn reverse(ground: &Ground, record: &Record) -> Result<Plan, ApplyError> {
    let mut plan = Plan::default();
    let mut conflicts = Vec::new();
    for step in &record.steps {
        if !is_sound(&step.path) {
            return Err(ApplyError::Forbidden(step.path.clone()));
        }
        if ground.side(&step.path).map_err(ChangeSetError::read(&step.path))? != step.to {
            let cause = Cause::ChangedOutside;
            conflicts.push(Conflict { path: step.path.clone(), cause, clashes: Vec::new() });
        }
        let entry = ground.tree().entry(&step.path).map_err(ChangeSetError::read(&step.path))?;
        plan.steps.push(Step {
            path: step.path.clone(),
            from: step.to.clone(),
            to: step.from.clone(),
            was: entry.as_ref().map(attributes),
            becomes: step.was,
        });
    }
    if conflicts.is_empty() {
        conflicts = plan.in_the_way(ground)?;
    }
    if conflicts.is_empty() { Ok(plan) } else { Err(ApplyError::Conflicts(conflicts)) }
}

/// Writes a content that was kept.
pub(super) fn write_kept(store: &Store, step: &Step, to: &mut dyn Write) -> Result<Side, ApplyError> {
    let Some(side) = &step.to else { return Err(ApplyError::Moved(step.path.clone())) };
    super::engine::copy_kept(store, side, to).map_err(ApplyError::write(&step.path))
}

impl Plan {
    /// Writes the content of a step.
    pub(super) fn write(
        &self,
        workspace: &Workspace,
        step: &Step,
        to: &mut dyn Write,
    ) -> Result<Side, ApplyError> {
        let mode = step.to.as_ref().map_or(Mode::Regular, |side| side.mode);
        let layer = &workspace.layer;
        let written = match self.contents.get(&step.path) {
            Some(Content::Bytes(bytes)) => to.write_all(bytes).map(|()| side(mode, bytes)),
            Some(Content::Tree(path)) => copy(layer.base(), path, mode, to),
            Some(Content::Layer) | None => copy(layer.upper(), &step.path, mode, to),
        };
        written.map_err(ApplyError::write(&step.path))
    }

    /// What the plan, once carried out, has done.
    pub(super) fn applied(self, id: String) -> Applied {
        let (written, removed): (Vec<_>, Vec<_>) = self.steps.into_iter().partition(|step| step.to.is_some());
        let paths = |steps: Vec<Step>| steps.into_iter().map(|step| step.path).collect();
        Applied {
            id,
            written: paths(written),
            removed: paths(removed),
            merged: self.merged,
            unchanged: self.unchanged,
        }
    }

    /// Looks for what stands where a file goes: a directory with other files in it, or a file or link on the way.
    fn in_the_way(&mut self, ground: &Ground) -> Result<Vec<Conflict>, ApplyError> {
        let removed: BTreeSet<&str> =
            self.steps.iter().filter(|step| step.to.is_none()).map(|step| step.path.as_str()).collect();
        let mut conflicts = Vec::new();
        for step in self.steps.iter().filter(|step| step.to.is_some()) {
            let free = way_is_free(ground, &step.path, &removed)
                && (step.from.is_some() || place_is_free(ground, &step.path, &removed, &mut self.clear)?);
            if !free {
                let cause = Cause::InTheWay;
                conflicts.push(Conflict { path: step.path.clone(), cause, clashes: Vec::new() });
            }
        }
        Ok(conflicts)
    }
}

/// Whether every directory on the way to a path is one, is not there, or is a file that goes.
fn way_is_free(ground: &Ground, path: &str, removed: &BTreeSet<&str>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.filter_map(|end| path.get(..end)).all(|parent| match ground.tree().entry(parent) {
        Ok(None) => true,
        Ok(Some(entry)) => entry.kind == Found::Directory || removed.contains(parent),
        Err(_) => false,
    })
}

/// Whether nothing is at a path, or a directory of which every file goes; that one and those in it are to be cleared.
fn place_is_free(
    ground: &Ground,
    path: &str,
    removed: &BTreeSet<&str>,
    clear: &mut Vec<String>,
) -> Result<bool, ApplyError> {
    let entry = |path: &str| ground.tree().entry(path).map_err(ChangeSetError::read(path));
    match entry(path)?.map(|entry| entry.kind) {
        None => return Ok(true),
        Some(Found::Directory) => {}
        Some(_) => return Ok(false),
    }
    let mut todo = vec![path.to_owned()];
    while let Some(directory) = todo.pop() {
        let names = ground.tree().names(&directory, enclos_sandbox::layer::MAX_ENTRIES);
        for name in names.map_err(ChangeSetError::read(&directory))? {
            let Ok(name) = String::from_utf8(name) else { return Ok(false) };
            let child = format!("{directory}/{name}");
            match entry(&child)?.map(|entry| entry.kind) {
                None => {}
                Some(Found::Directory) if is_sound(&child) => todo.push(child),
                Some(_) if removed.contains(child.as_str()) => {}
                Some(_) => return Ok(false),
            }
        }
        clear.push(directory);
    }
    Ok(true)
}

/// A plan in the making.
struct Planner<'a> {
    workspace: &'a Workspace,
    ground: &'a Ground,
    plan: Plan,
    steps: BTreeMap<String, Step>,
}

impl Planner<'_> {
    /// Plans one change.
    fn change(&mut self, change: &FileChange) -> Result<Result<(), Refusal>, ApplyError> {
        let (source, target) = (change.source(), change.path.as_str());
        let ours = self.side(source)?;
        let placed = if source == target { ours.clone() } else { self.side(target)? };
        let gone = source == target || ours.is_none();
        if placed == change.after && gone {
            self.plan.unchanged.push(target.to_owned());
            return Ok(Ok(()));
        }
        if let Err(cause) = is_known(change.known) {
            return Ok(Err((cause, Vec::new())));
        }
        if source != target && placed.is_some() {
            return Ok(Err((Cause::Exists, Vec::new())));
        }
        let (to, content) = match self.join(change, ours.as_ref())? {
            Ok(joined) => joined,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if source != target {
            self.step(source, None, None, change)?;
        }
        if to == placed {
            self.plan.unchanged.push(target.to_owned());
            return Ok(Ok(()));
        }
        if let Content::Bytes(_) = content {
            self.plan.merged.push(target.to_owned());
        }
        self.step(target, to, Some(content), change)?;
        Ok(Ok(()))
    }

    /// Joins the three sides of a change.
    fn join(
        &self,
        change: &FileChange,
        ours: Option<&Side>,
    ) -> Result<Result<(Option<Side>, Content), Refusal>, ApplyError> {
        let refuse = |cause| Ok(Err((cause, Vec::new())));
        let (base, theirs) = (change.before.as_ref(), change.after.as_ref());
        if ours == base {
            return Ok(Ok((theirs.cloned(), Content::Layer)));
        }
        match (base, ours, theirs) {
            (Some(base), Some(ours), Some(theirs)) => self.join_files(change, base, ours, theirs),
            (None, _, _) => refuse(Cause::Exists),
            (Some(_), None, _) => refuse(Cause::RemovedOutside),
            (Some(_), Some(_), None) => refuse(Cause::ChangedOutside),
        }
    }

    /// Joins three files: the execute bit and the content each for itself.
    fn join_files(
        &self,
        change: &FileChange,
        base: &Side,
        ours: &Side,
        theirs: &Side,
    ) -> Result<Result<(Option<Side>, Content), Refusal>, ApplyError> {
        let cause = if change.kind == Kind::Renamed { Cause::ChangedOutside } else { Cause::BothChanged };
        let refuse = |clashes| Ok(Err((cause, clashes)));
        if [base, ours, theirs].iter().any(|side| side.mode.is_link()) {
            return refuse(Vec::new());
        }
        let mode = if ours.mode == base.mode { theirs.mode } else { ours.mode };
        let of = |side: &Side| Some(Side { mode, ..side.clone() });
        if ours.digest == base.digest {
            return Ok(Ok((of(theirs), Content::Layer)));
        }
        if theirs.digest == base.digest || theirs.digest == ours.digest {
            return Ok(Ok((of(ours), Content::Tree(change.source().to_owned()))));
        }
        if [base, ours, theirs].iter().any(|side| side.size > MAX_TEXT) {
            return refuse(Vec::new());
        }
        // Too much to be kept, and no more in the tree: there is nothing to merge from.
        let Ok(before) = self.workspace.before(change) else {
            return Ok(Err((Cause::BaseUnknown, Vec::new())));
        };
        let (now, after) = (self.read(change.source(), ours)?, self.workspace.after(change)?);
        if [&before, &now, &after].into_iter().any(|text| is_binary(text)) {
            return refuse(Vec::new());
        }
        match merge(&before, &now, &after) {
            Ok(bytes) => Ok(Ok((Some(side(mode, &bytes)), Content::Bytes(bytes)))),
            Err(clashes) => Ok(Err((Cause::BothChanged, clashes))),
        }
    }

    /// Adds a step. A path that has one already is not a change set of ours.
    fn step(
        &mut self,
        path: &str,
        to: Option<Side>,
        content: Option<Content>,
        change: &FileChange,
    ) -> Result<(), ApplyError> {
        let from = self.side(path)?;
        let was = self.entry(path)?.filter(Entry::travels).as_ref().map(attributes);
        let becomes = match &to {
            Some(side) => Some(self.becomes(side, path, change)?),
            None => None,
        };
        if let Some(content) = content {
            self.plan.contents.insert(path.to_owned(), content);
        }
        let step = Step { path: path.to_owned(), from, to, was, becomes };
        match self.steps.insert(path.to_owned(), step) {
            None => Ok(()),
            Some(_) => Err(ApplyError::Forbidden(path.to_owned())),
        }
    }

    /// The attributes of a new content: those of the file that it replaces or comes from, with its own execute bit;
    /// of a new file, what its directory gives.
    fn becomes(&self, side: &Side, path: &str, change: &FileChange) -> Result<Attributes, ApplyError> {
        let model = match self.entry(path)? {
            Some(entry) => Some(entry),
            None => self.entry(change.source())?,
        };
        let Some(model) = model.filter(|entry| entry.kind == Found::File) else {
            let parent = self.ground.nearest(path).map_err(ApplyError::write(parent_of(path)))?;
            let wanted = if side.mode == Mode::Executable { 0o777 } else { 0o666 };
            return Ok(Attributes { mode: wanted & parent.mode | 0o600, owner: parent.owner });
        };
        let bits = model.mode & 0o666;
        let mode = if side.mode == Mode::Executable { bits | (bits & 0o444) >> 2 | 0o100 } else { bits };
        let kept =
            if model.executable() == (side.mode == Mode::Executable) { model.mode & 0o777 } else { mode };
        Ok(Attributes { mode: kept, owner: model.owner })
    }

    /// The file or link that the tree has now.
    fn side(&self, path: &str) -> Result<Option<Side>, ApplyError> {
        Ok(self.ground.side(path).map_err(ChangeSetError::read(path))?)
    }

    /// Whatever the tree has now.
    fn entry(&self, path: &str) -> Result<Option<Entry>, ApplyError> {
        Ok(self.ground.tree().entry(path).map_err(ChangeSetError::read(path))?)
    }

    /// The bytes of a file of the tree, which must be those of its side.
    fn read(&self, path: &str, side: &Side) -> Result<Vec<u8>, ApplyError> {
        let file = self.ground.tree().file(path).map_err(ChangeSetError::read(path))?;
        Ok(read(file, side, path)?)
    }
}

/// Mode and owner of an entry.
fn attributes(entry: &Entry) -> Attributes {
    Attributes { mode: entry.mode, owner: entry.owner }
}
