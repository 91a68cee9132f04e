//! Renames: a file that is gone and a new one that is like it.
//!
//! Equal contents come first, those of equal name before others; then texts that share at least half of their bytes
//! line by line, the most alike first. The search is bounded; what it does not reach stays a deletion and an
//! addition, which is as exact.

use std::collections::{HashMap, HashSet};

use super::Workspace;
use super::content::is_binary;
use super::error::ChangeSetError;
use super::lines::split;
use super::model::{FileChange, Kind, Known, Side};

/// The least likeness of a rename, in percent.
const LEAST: u8 = 50;
/// The largest content, in bytes, that is compared.
const MAX_SIZE: u64 = 1 << 20;
/// The most files of either side that are compared by likeness.
const MAX_FILES: usize = 200;

/// Joins deletions and additions into renames.
pub(super) fn find(workspace: &Workspace, files: &mut Vec<FileChange>) -> Result<(), ChangeSetError> {
    let (mut gone, mut fresh): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, file) in files.iter().enumerate() {
        match file.kind {
            Kind::Deleted if candidate(file, file.before.as_ref()) => gone.push(at),
            Kind::Added if candidate(file, file.after.as_ref()) => fresh.push(at),
            _ => {}
        }
    }
    let mut pairs = equal(files, &mut gone, &mut fresh);
    if gone.len() <= MAX_FILES && fresh.len() <= MAX_FILES {
        pairs.extend(alike(workspace, files, &gone, &fresh)?);
    }
    join(files, &pairs);
    Ok(())
}

/// Whether a change can be half of a rename.
fn candidate(file: &FileChange, side: Option<&Side>) -> bool {
    file.known == Known::Yes && side.is_some_and(|side| !side.mode.is_link() && side.size > 0)
}

/// Pairs of equal content (old, new, likeness); they are taken out of both lists.
fn equal(files: &[FileChange], gone: &mut Vec<usize>, fresh: &mut Vec<usize>) -> Vec<(usize, usize, u8)> {
    let digest = |at: usize| {
        let file = files.get(at)?;
        Some(&file.before.as_ref().or(file.after.as_ref())?.digest)
    };
    let name = |at: usize| files.get(at).and_then(|file| file.path.rsplit('/').next());
    let mut by_digest: HashMap<_, Vec<usize>> = HashMap::new();
    for at in gone.iter() {
        by_digest.entry(digest(*at)).or_default().push(*at);
    }
    let mut pairs = Vec::new();
    fresh.retain(|new| {
        let Some(olds) = by_digest.get_mut(&digest(*new)).filter(|olds| !olds.is_empty()) else {
            return true;
        };
        let at = olds.iter().position(|old| name(*old) == name(*new)).unwrap_or(0);
        pairs.push((olds.remove(at), *new, 100));
        false
    });
    let taken: HashSet<usize> = pairs.iter().map(|pair| pair.0).collect();
    gone.retain(|old| !taken.contains(old));
    pairs
}

/// Pairs of like texts, the most alike first.
fn alike(
    workspace: &Workspace,
    files: &[FileChange],
    gone: &[usize],
    fresh: &[usize],
) -> Result<Vec<(usize, usize, u8)>, ChangeSetError> {
    if gone.is_empty() || fresh.is_empty() {
        return Ok(Vec::new());
    }
    let old: Vec<_> = gone.iter().map(|at| text(workspace, files, *at)).collect::<Result<_, _>>()?;
    let new: Vec<_> = fresh.iter().map(|at| text(workspace, files, *at)).collect::<Result<_, _>>()?;
    let new: Vec<_> = new.iter().map(|text| text.as_deref().map(Weights::of)).collect();
    let mut scores = Vec::new();
    for (at, old) in gone.iter().zip(&old) {
        let Some(old) = old.as_deref().map(Weights::of) else { continue };
        for (to, new) in fresh.iter().zip(&new) {
            let likeness = new.as_ref().map_or(0, |new| old.likeness(new));
            if likeness >= LEAST {
                scores.push((likeness, *at, *to));
            }
        }
    }
    scores.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut pairs: Vec<(usize, usize, u8)> = Vec::new();
    for (likeness, old, new) in scores {
        if !pairs.iter().any(|pair| pair.0 == old || pair.1 == new) {
            pairs.push((old, new, likeness));
        }
    }
    Ok(pairs)
}

/// The text of a change's only side, if it is short enough to be compared.
fn text(workspace: &Workspace, files: &[FileChange], at: usize) -> Result<Option<Vec<u8>>, ChangeSetError> {
    let Some(file) = files.get(at) else { return Ok(None) };
    let small = |side: &Option<Side>| side.as_ref().is_none_or(|side| side.size <= MAX_SIZE);
    if !small(&file.before) || !small(&file.after) {
        return Ok(None);
    }
    let bytes = if file.before.is_some() { workspace.before(file)? } else { workspace.after(file)? };
    Ok((!is_binary(&bytes)).then_some(bytes))
}

/// How many bytes of a text lie in each distinct line.
struct Weights<'a> {
    lines: HashMap<&'a [u8], usize>,
    total: usize,
}

impl<'a> Weights<'a> {
    /// Weighs a text.
    fn of(text: &'a [u8]) -> Self {
        let mut lines = HashMap::new();
        for line in split(text) {
            *lines.entry(line).or_default() += line.len();
        }
        Self { lines, total: text.len() }
    }

    /// The share of bytes that both have, of the longer one, in percent; below 100 unless the texts are equal.
    fn likeness(&self, other: &Self) -> u8 {
        let longer = self.total.max(other.total).max(1);
        if self.total.min(other.total) * 100 / longer < usize::from(LEAST) {
            return 0;
        }
        let shared: usize =
            self.lines.iter().map(|(line, weight)| other.lines.get(line).map_or(0, |w| *w.min(weight))).sum();
        u8::try_from(shared * 100 / longer).unwrap_or(99).min(99)
    }
}

/// Turns the new half of each pair into the rename and takes the old half away.
fn join(files: &mut Vec<FileChange>, pairs: &[(usize, usize, u8)]) {
    for (old, new, likeness) in pairs {
        let Some(source) = files.get(*old).map(|file| (file.path.clone(), file.before.clone())) else {
            continue;
        };
        let Some(file) = files.get_mut(*new) else { continue };
        file.kind = Kind::Renamed;
        file.old_path = Some(source.0);
        file.before = source.1;
        file.similarity = Some(*likeness);
    }
    let taken: HashSet<usize> = pairs.iter().map(|pair| pair.0).collect();
    let mut at = 0..;
    files.retain(|_| at.next().is_none_or(|at| !taken.contains(&at)));
}
