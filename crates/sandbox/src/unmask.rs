//! Files that were masked when a sandbox opened, put where they belong in the running one.
//!
//! Whoever raised the session's level says which; only what the plan masked can be named. The content is read from the
//! repository by descriptor, beneath its root and through no link, and written inside by the confined program for file
//! operations: the host writes nothing into the workspace, and follows no path there.
use crate::call;
use crate::error::{FileError, RunError};
use crate::layer::open_beneath;
use crate::plan::Plan;
use crate::sandbox::Sandbox;
use enclos_init::file::{Asked, FileReply, Reveal};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Largest file that is put in its place, in bytes: it passes through memory.
pub const UNMASKED_BYTES: u64 = 512 * 1024 * 1024;

/// The repository, and what of it was masked.
#[derive(Debug)]
pub(crate) struct Masked {
    root: OwnedFd,
    paths: BTreeSet<PathBuf>,
    /// Something lies over the repository: what it holds is not the whole truth.
    covered: bool,
}

impl Masked {
    pub(crate) fn new(root: OwnedFd, plan: &Plan) -> Self {
        Self { root, paths: plan.masked.iter().cloned().collect(), covered: plan.over.is_some() }
    }
}

/// What became of a file that was to be unmasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmasked {
    /// It is there.
    Shown,
    /// The session made something of that name, and that stays.
    Taken,
    /// It is not in the repository any more, or is neither a file nor a link.
    Gone,
    /// It is larger than [`UNMASKED_BYTES`].
    TooLarge,
    /// It could not be read or written, with the reason.
    Failed(String),
}

impl Sandbox {
    /// Puts files that the plan masked in their places, each whole or not at all. Names that the plan does not have are
    /// refused: what is hidden for another reason stays hidden. Answers in the order of `paths`.
    pub fn unmask(&self, paths: &[PathBuf]) -> Result<Vec<Unmasked>, FileError> {
        self.wait()?;
        paths.iter().map(|path| self.unmask_one(path)).collect()
    }

    fn unmask_one(&self, path: &Path) -> Result<Unmasked, FileError> {
        let masked = &self.masked;
        if masked.covered {
            return Ok(Unmasked::Failed("nothing is unmasked where a tree lies over the repository".into()));
        }
        let Some(name) = path.to_str().filter(|_| masked.paths.contains(path)) else {
            return Ok(Unmasked::Failed(format!("`{}` was not masked", path.display())));
        };
        let (stat, mut content) = match source(&masked.root, path) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Unmasked::Gone),
            Err(errno) => return Ok(Unmasked::Failed(format!("it cannot be read: {errno}"))),
        };
        let is_link = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => false,
            FileType::Symlink => true,
            _ => return Ok(Unmasked::Gone),
        };
        if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > UNMASKED_BYTES {
            return Ok(Unmasked::TooLarge);
        }
        let asked = Asked::Reveal(Reveal {
            path: name.to_owned(),
            mode: stat.st_mode & 0o777,
            modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            link: is_link,
        });
        match call::ask_for(&self.life.shared, self.request(), &asked, &mut content) {
            Ok(FileReply::Revealed { there: true }) => Ok(Unmasked::Shown),
            Ok(FileReply::Revealed { there: false }) => Ok(Unmasked::Taken),
            Ok(_) => Err(RunError::Io(io::Error::new(io::ErrorKind::InvalidData, "an odd answer")).into()),
            Err(FileError::Refused(fault)) => Ok(Unmasked::Failed(fault.message)),
            Err(error) => Err(error),
        }
    }
}

/// What lies in the repository at a path, and its content: of a link, the target.
fn source(root: &OwnedFd, path: &Path) -> Result<(Stat, Box<dyn Read>), Errno> {
    let bytes = path.as_os_str().as_bytes();
    let found = open_beneath(root, bytes, OFlags::PATH)?;
    let stat = rustix::fs::fstat(&found)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let target = rustix::fs::readlinkat(&found, c"", Vec::new())?.into_bytes();
        return Ok((stat, Box::new(io::Cursor::new(target))));
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok((stat, Box::new(io::empty())));
    }
    let file = open_beneath(root, bytes, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let stat = rustix::fs::fstat(&file)?;
    Ok((stat, Box::new(File::from(file).take(UNMASKED_BYTES))))
}
