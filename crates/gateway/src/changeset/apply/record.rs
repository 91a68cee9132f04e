//! The record of an application: what each step found and made, durable before the first file is touched.
//!
//! With it alone, and the tree, an application that was cut short is taken back, and one that was done is undone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ApplyError;
use crate::changeset::content::hex;
use crate::changeset::error::ChangeSetError;
use crate::changeset::model::Side;
use crate::changeset::store::Store;

/// How far an application came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// It may have touched the tree.
    Prepared,
    /// It is whole.
    Done,
    /// It was taken back.
    Undone,
}

/// Permission bits, owner and group of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
}

/// One path: what it is before and after. The two sides differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) path: String,
    pub(super) from: Option<Side>,
    pub(super) to: Option<Side>,
    /// The attributes it has before, if it is there.
    pub(super) was: Option<Attributes>,
    /// The attributes it shall have, if it shall be there.
    pub(super) becomes: Option<Attributes>,
}

/// A directory that may be made or removed on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Directory {
    pub(super) path: String,
    pub(super) attributes: Attributes,
}

/// The whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) repository: PathBuf,
    pub(super) stage: Stage,
    pub(super) steps: Vec<Step>,
    /// For each step the directory in which its contents wait: the root, or where another file system begins, since a
    /// file changes places within one only.
    #[serde(default)]
    pub(super) homes: Vec<String>,
    /// Directories to be made, outer ones first.
    pub(super) made: Vec<Directory>,
    /// Directories that may be removed because they are emptied, inner ones first.
    pub(super) cleared: Vec<Directory>,
}

impl Record {
    /// The directories where contents wait.
    pub(super) fn stagings(&self) -> BTreeSet<String> {
        (0..self.steps.len()).map(|step| self.staging(step)).collect()
    }

    /// The same for a person.
    pub(super) fn shown_stagings(&self) -> String {
        self.stagings().into_iter().collect::<Vec<_>>().join("`, `")
    }

    fn staging(&self, step: usize) -> String {
        let home = self.homes.get(step).map(String::as_str).unwrap_or_default();
        let slash = if home.is_empty() { "" } else { "/" };
        format!("{home}{slash}.enclos-apply-{}", self.id)
    }

    /// Where the content of a step waits: the new one before the exchange, the former one after it.
    pub(super) fn slot(&self, step: usize) -> String {
        format!("{}/{step}", self.staging(step))
    }

    /// Writes the record, durably.
    pub(super) fn save(&self, store: &Store) -> Result<(), ChangeSetError> {
        store.save(&format!("{}.json", self.id), self)
    }

    /// Reads a record by its name, which must be one.
    pub(super) fn load(store: &Store, id: &str) -> Result<Option<Self>, ApplyError> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        Ok(store.load(&format!("{id}.json"))?)
    }

    /// Every record of a session.
    pub(super) fn all(store: &Store) -> Result<Vec<Self>, ApplyError> {
        let path = store.path("");
        let names = || -> io::Result<Vec<String>> {
            fs::read_dir(&path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        };
        let mut names = names().map_err(|source| ChangeSetError::Store { path: path.clone(), source })?;
        names.sort();
        let ids = names.iter().filter_map(|name| name.strip_suffix(".json"));
        let records = ids.map(|id| Self::load(store, id)).collect::<Result<Vec<_>, _>>()?;
        Ok(records.into_iter().flatten().collect())
    }
}

/// A new name for an application.
pub(super) fn new_id() -> Result<String, ApplyError> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| ApplyError::write("")(io::Error::other(error)))?;
    Ok(hex(&random))
}
