//! The way back from an application that failed or was cut short.
//!
//! It looks at what each path and its slot hold and undoes what was done, in the opposite order. Where the person has
//! changed a file since, the file stays theirs, and its former content stays in the staging directory.

use std::io;

use super::engine::discard;
use super::ground::{Ground, aside};
use super::record::{Record, Stage, Step};
use super::{ApplyError, Recovered};
use crate::changeset::store::Store;

/// Mends one record; `None` if it needs nothing.
pub(super) fn recover(store: &Store, record: &mut Record) -> Result<Option<Recovered>, ApplyError> {
    let (stagings, staging) = (record.stagings(), record.shown_stagings());
    let there = |ground: &Ground| -> Result<bool, ApplyError> {
        for staging in &stagings {
            if ground.tree().entry(staging).map_err(ApplyError::write(staging))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let (done, left) = match record.stage {
        Stage::Undone => return Ok(None),
        // A tree that is not there now cannot be mended now.
        _ if !record.repository.is_dir() => return Ok(None),
        Stage::Done => {
            let ground = Ground::lock(&record.repository)?;
            if !there(&ground)? {
                return Ok(None);
            }
            discard(&ground, record).map_err(ApplyError::write(&staging))?;
            (true, Vec::new())
        }
        Stage::Prepared => {
            let ground = Ground::lock(&record.repository)?;
            let left = take_back(&ground, record).map_err(ApplyError::write(&staging))?;
            record.stage = Stage::Undone;
            record.save(store)?;
            (false, left)
        }
    };
    let kept = (!left.is_empty()).then_some(staging);
    Ok(Some(Recovered { id: record.id.clone(), done, left, staging: kept }))
}

/// Undoes what was done of a record, and tells the paths that could not be put back.
pub(super) fn take_back(ground: &Ground, record: &Record) -> io::Result<Vec<String>> {
    let mut left = Vec::new();
    let steps = || record.steps.iter().enumerate().rev();
    for (at, step) in steps().filter(|(_, step)| step.to.is_some()) {
        let slot = record.slot(at);
        let back =
            if step.from.is_some() { unexchange(ground, step, &slot)? } else { unadd(ground, step, &slot)? };
        if !back {
            left.push(step.path.clone());
        }
    }
    for directory in record.made.iter().rev() {
        ground.remove_directory(&directory.path)?;
    }
    for directory in record.cleared.iter().rev() {
        ground.make_directory(&directory.path, directory.attributes)?;
    }
    for (at, step) in steps().filter(|(_, step)| step.to.is_none()) {
        if !unremove(ground, step, &record.slot(at))? {
            left.push(step.path.clone());
        }
    }
    ground.settle(record.steps.iter().map(|step| step.path.as_str()))?;
    if left.is_empty() {
        for staging in record.stagings() {
            ground.remove_directory(&staging)?;
        }
    }
    Ok(left)
}

/// Puts the former content of an exchanged file back.
fn unexchange(ground: &Ground, step: &Step, slot: &str) -> io::Result<bool> {
    let aside = aside(slot);
    if ground.tree().entry(&aside)?.is_some() && !unstep(ground, step, slot, &aside)? {
        return Ok(false);
    }
    let (target, waiting) = (ground.side(&step.path)?, ground.side(slot)?);
    if target == step.from || waiting.is_none() {
        // Not exchanged: what waits, if anything, is ours.
        return ground.remove(slot);
    }
    if target == step.to {
        // Exchanged, with whatever came out: it goes back to its place.
        ground.exchange(&step.path, slot)?;
        return ground.remove(slot);
    }
    if waiting == step.to {
        // The target was changed before the exchange.
        return ground.remove(slot);
    }
    Ok(false)
}

/// Puts the former content back that an exchange in steps had left aside.
fn unstep(ground: &Ground, step: &Step, slot: &str, aside: &str) -> io::Result<bool> {
    let target = ground.side(&step.path)?;
    if target == step.from {
        return ground.remove(aside);
    }
    if target.is_some() && target == step.to {
        ground.remove(slot)?;
        ground.shift(&step.path, slot)?;
    }
    match ground.shift(aside, &step.path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes an added file out again.
fn unadd(ground: &Ground, step: &Step, slot: &str) -> io::Result<bool> {
    let inode = |path: &str| -> io::Result<_> { Ok(ground.tree().entry(path)?.map(|entry| entry.inode)) };
    if let Some(waiting) = inode(slot)? {
        // Not added yet, or by a second name that is not the only one yet.
        if inode(&step.path)? == Some(waiting) {
            ground.remove(&step.path)?;
        }
        return ground.remove(slot);
    }
    match ground.side(&step.path)? {
        None => Ok(true),
        found if found == step.to => ground.remove(&step.path),
        Some(_) => Ok(false),
    }
}

/// Puts a removed file back.
fn unremove(ground: &Ground, step: &Step, slot: &str) -> io::Result<bool> {
    if ground.tree().entry(slot)?.is_none() {
        return Ok(true);
    }
    if ground.side(&step.path)? == step.from {
        return ground.remove(slot);
    }
    match ground.shift(slot, &step.path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
