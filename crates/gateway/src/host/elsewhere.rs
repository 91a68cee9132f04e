//! A session whose layer is on a host: which host, and whether what lies here is all that lies there.
//!
//! The record is written before the sandbox opens and goes when the host has forgotten the session. Until the layer was
//! fetched after the last command, nothing is made of what lies here.

use std::io;
use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::host::{HostError, Link, Refusal};
use serde::{Deserialize, Serialize};

use super::of_host;

/// The record's name in the folder of a session.
const RECORD: &str = "host.json";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    socket: PathBuf,
    epoch: u64,
    fetched: bool,
}

/// A session's layer on a host.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    folder: PathBuf,
    session: SessionId,
    socket: PathBuf,
    epoch: u64,
}

impl Elsewhere {
    /// The layer of the session with this folder, under the epoch of a lease.
    pub(crate) fn new(folder: PathBuf, session: SessionId, socket: PathBuf, epoch: u64) -> Self {
        Self { folder, session, socket, epoch }
    }

    /// Writes down that what lies here is old from now on.
    pub(crate) fn begin(&self) -> io::Result<()> {
        self.write(false)
    }

    fn write(&self, fetched: bool) -> io::Result<()> {
        let record = Record { socket: self.socket.clone(), epoch: self.epoch, fetched };
        let new = self.folder.join("host.json.new");
        std::fs::write(&new, serde_json::to_vec(&record)?)?;
        std::fs::rename(&new, self.folder.join(RECORD))
    }

    /// Whether the host holds more than what lies here.
    pub(crate) fn is_ahead(&self) -> bool {
        read(&self.folder).is_some_and(|record| !record.fetched)
    }

    /// Fetches what the session changed into its layer here.
    pub(crate) fn fetch(&self) -> Result<(), ApiError> {
        let mut link = self.link()?;
        link.fetch(&self.folder.join("layer")).map_err(|error| match &error {
            HostError::Refused { why: Refusal::Unknown, .. } => ApiError::new(
                Fault::Internal,
                format!(
                    "the execution host keeps nothing of the session `{}`: its work is gone there",
                    self.session
                ),
            ),
            _ => of_host(&error),
        })
    }

    /// The same after the last command: from here on what lies here is all there is.
    pub(crate) fn fetch_last(&self) -> Result<(), ApiError> {
        self.link()?.close().map_err(|error| of_host(&error))?;
        self.fetch()?;
        self.write(true).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))
    }

    /// A connection that leads the session.
    pub(crate) fn link(&self) -> Result<Link, ApiError> {
        let link = super::reach(&self.socket)?;
        Ok(link.lead(self.session.as_str(), self.epoch))
    }

    /// Has the host forget the session. When it cannot be had the record stays, and it is asked another time.
    pub(crate) fn forget(&self) {
        if self.link().is_ok_and(|mut link| link.discard().is_ok()) {
            drop(std::fs::remove_file(self.folder.join(RECORD)));
        }
    }
}

fn read(folder: &Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(folder.join(RECORD)).ok()?).ok()
}

/// Whether a session may still be kept by a host.
pub(crate) fn is_kept(folder: &Path) -> bool {
    folder.join(RECORD).exists()
}

/// Has the host of a closed session, if it had one, forget it.
pub(crate) fn forget(folder: &Path) {
    let Some(record) = read(folder) else { return };
    let Some(session) = folder.file_name().and_then(|name| name.to_str()).and_then(SessionId::parse) else {
        return;
    };
    Elsewhere::new(folder.to_owned(), session, record.socket, record.epoch).forget();
}
