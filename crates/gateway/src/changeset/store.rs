//! Where the base of a session is kept: `base` in its layer directory, beside `upper` and out of the sandbox's reach.
//!
//! `opened.json` holds the moment of opening, `hidden.json` what the session is not shown, `seen.json` what each changed file was at first sight, `snapshot.json` and
//! `index` what git knew at opening, and `blobs` the contents by their digests. A file is written whole or not at all.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use enclos_core::ids::Digest;
use enclos_sandbox::layer::Stamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::content::{digest_copy, hex};
use super::error::ChangeSetError;
use super::model::{Mode, Side};

/// The directory and its files.
#[derive(Clone, Debug)]
pub(super) struct Store {
    directory: PathBuf,
    durable: bool,
}

impl Store {
    /// The store of a layer directory.
    pub(super) fn of(layer: &Path) -> Self {
        Self { directory: layer.join("base"), durable: false }
    }

    /// The store of a session's applications, whose contents must outlive a power cut.
    pub(super) fn of_applications(session: &Path) -> Self {
        Self { directory: session.join("applied"), durable: true }
    }

    /// Makes the directories, for the owner alone.
    pub(super) fn create(&self) -> Result<(), ChangeSetError> {
        let blobs = self.path("blobs");
        DirBuilder::new().recursive(true).mode(0o700).create(&blobs).map_err(self.failed("blobs"))
    }

    /// A file of the store.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes down the moment of opening, once. It is told by the clock that stamps the files: that of a new one.
    pub(super) fn record_opening(&self) -> Result<(), ChangeSetError> {
        if self.load::<Stamp>("opened.json")?.is_some() {
            return Ok(());
        }
        let stamp = || -> io::Result<Stamp> {
            let (file, path) = self.temporary()?;
            let found = file.metadata()?;
            fs::remove_file(path)?;
            Ok(Stamp { seconds: found.ctime(), nanoseconds: found.ctime_nsec().unsigned_abs() })
        };
        let stamp = stamp().map_err(self.failed("blobs"))?;
        self.save("opened.json", &stamp)
    }

    /// The moment of opening.
    pub(super) fn opened(&self) -> Result<Stamp, ChangeSetError> {
        self.load("opened.json")?
            .ok_or_else(|| ChangeSetError::NotRecorded { path: self.path("opened.json") })
    }

    /// Reads a JSON file; `None` if there is none.
    pub(super) fn load<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ChangeSetError> {
        let read = match fs::read(self.path(name)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        read.map_err(self.failed(name))
    }

    /// Writes a JSON file in one step.
    pub(super) fn save<T: Serialize>(&self, name: &str, value: &T) -> Result<(), ChangeSetError> {
        let write = || -> io::Result<()> {
            let (file, temporary) = self.temporary()?;
            let mut to = BufWriter::new(file);
            serde_json::to_writer(&mut to, value)?;
            let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
            if !self.durable {
                return fs::rename(temporary, self.path(name));
            }
            file.sync_all()?;
            fs::rename(temporary, self.path(name))?;
            File::open(&self.directory)?.sync_all()
        };
        write().map_err(self.failed(name))
    }

    /// Keeps a content under its digest.
    pub(super) fn keep(&self, from: &mut dyn Read, mode: Mode) -> Result<Side, ChangeSetError> {
        let mut write = || -> io::Result<Side> {
            let (mut file, temporary) = self.temporary()?;
            let copied = digest_copy(from, mode, &mut file)
                .and_then(|side| if self.durable { file.sync_all().map(|()| side) } else { Ok(side) })
                .and_then(|side| fs::rename(&temporary, self.blob(&side.digest)).map(|()| side));
            if copied.is_err() {
                fs::remove_file(&temporary)?;
            }
            copied
        };
        write().map_err(self.failed("blobs"))
    }

    /// Opens a kept content; `None` if it was not kept.
    pub(super) fn kept(&self, digest: &Digest) -> Option<File> {
        File::open(self.blob(digest)).ok()
    }

    /// Where a content of this digest lies.
    fn blob(&self, digest: &Digest) -> PathBuf {
        self.path("blobs").join(digest.as_str().trim_start_matches("sha256:"))
    }

    /// A new file of a name that nobody else uses.
    fn temporary(&self) -> io::Result<(File, PathBuf)> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let path = self.path("blobs").join(format!("new-{}", hex(&random)));
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((file, path))
    }

    /// Names the file that failed.
    fn failed(&self, name: &str) -> impl FnOnce(io::Error) -> ChangeSetError {
        let path = self.path(name);
        move |source| ChangeSetError::Store { path, source }
    }
}
