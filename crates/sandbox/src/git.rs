//! The private git directory, worked out from the real one by reading files: git is never run, and nothing that the
//! real configuration names is believed beyond a few plain switches. What comes of it: a configuration of our own, a
//! copy of the index, the local branches and tags, and the folders of objects, to be seen read-only.
mod config;
mod objects;
mod refs;

use crate::error::{OpenError, Place};
use crate::platform::small_text;
use config::Config;
use enclos_init::wire::Step;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STEP: Step = Step::Git;
/// Longest small file that is read, in bytes.
const SMALL: u64 = 1024 * 1024;

/// What the private git directory is made of.
#[derive(Debug)]
pub(crate) struct Private {
    /// Small files: path below `.git`, and content.
    pub(crate) files: Vec<(String, String)>,
    /// Files to copy.
    pub(crate) copies: Vec<Copied>,
    /// Folders of objects on the host; their place in the list is their name inside.
    pub(crate) objects: Vec<PathBuf>,
}

/// A file to copy.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) file: File,
    pub(crate) path: String,
    pub(crate) modified: (i64, u32),
}

/// Where a repository keeps its things: a linked worktree has an index and a HEAD of its own.
struct Real {
    own: PathBuf,
    common: PathBuf,
}

/// Works it out from `git`, the `.git` folder or file of `workspace`.
pub(crate) fn read(git: &Path, workspace: &Path) -> Result<Private, OpenError> {
    let real = find(git, workspace)?;
    let config =
        text(&real.common.join("config"), SMALL)?.map(|text| Config::parse(&text)).unwrap_or_default();
    let hex = config.hex_digits()?;
    let head = head(&real, hex)?;
    let mut files = vec![("HEAD".to_owned(), head), ("config".to_owned(), config.private())];
    files.push(("packed-refs".to_owned(), refs::packed(&real.common, hex)?));
    let objects = objects::folders(&real.common.join("objects"))?;
    let alternates: Vec<String> = (0..objects.len()).map(|number| format!("/run/git/{number}\n")).collect();
    files.push(("objects/info/alternates".to_owned(), alternates.concat()));
    if let Some(exclude) = text(&real.common.join("info/exclude"), SMALL)? {
        files.push(("info/exclude".to_owned(), exclude));
    }
    if let Some(shallow) = text(&real.common.join("shallow"), SMALL)?
        && shallow.lines().all(|line| refs::is_hash(line, hex))
    {
        files.push(("shallow".to_owned(), shallow));
    }
    Ok(Private { files, copies: index(&real.own)?, objects })
}

/// Follows a `.git` file and the link of a worktree to its repository, checking that they point at each other.
fn find(git: &Path, workspace: &Path) -> Result<Real, OpenError> {
    let kind = std::fs::symlink_metadata(git).at(STEP, &format!("looking at `{}`", git.display()))?;
    if kind.is_dir() {
        return Ok(Real { own: git.to_owned(), common: git.to_owned() });
    }
    let refuse = |message: &str| Err(OpenError::new(STEP, format!("`{}` {message}", git.display())));
    if !kind.is_file() {
        return refuse("is neither a folder nor a file");
    }
    let Some(named) =
        text(git, 8192)?.and_then(|text| Some(text.strip_prefix("gitdir: ")?.trim_end().to_owned()))
    else {
        return refuse("does not name a git directory (`gitdir: …`)");
    };
    let own = git.parent().unwrap_or(workspace).join(named);
    let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    if let Some(common) = text(&own.join("commondir"), 8192)? {
        let back = text(&own.join("gitdir"), 8192)?.unwrap_or_default();
        if !same(Path::new(back.trim_end()), git) {
            return refuse("names a worktree of another folder; run `git worktree repair`");
        }
        let common = own.join(common.trim_end());
        return Ok(Real { own, common });
    }
    let config = text(&own.join("config"), SMALL)?.map(|text| Config::parse(&text)).unwrap_or_default();
    match config.worktree() {
        Some(worktree) if !same(&own.join(worktree), workspace) => {
            refuse("names the git directory of another folder (its `core.worktree`)")
        }
        _ => Ok(Real { common: own.clone(), own }),
    }
}

/// The content of `HEAD`: a branch, or a commit.
fn head(real: &Real, hex: usize) -> Result<String, OpenError> {
    let head = text(&real.own.join("HEAD"), 4096)?
        .ok_or_else(|| OpenError::new(STEP, "there is no `HEAD`: this is not a git directory"))?;
    let head = head.trim_end();
    let sound = match head.strip_prefix("ref: ") {
        Some(branch) => branch.starts_with("refs/heads/") && refs::is_name(branch),
        None => refs::is_hash(head, hex),
    };
    if sound {
        Ok(format!("{head}\n"))
    } else {
        Err(OpenError::new(STEP, "`HEAD` names neither a branch nor a commit"))
    }
}

/// The index, and the shared parts of a split one.
fn index(own: &Path) -> Result<Vec<Copied>, OpenError> {
    let mut names = vec!["index".to_owned()];
    if let Ok(entries) = std::fs::read_dir(own) {
        names.extend(
            entries
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok())
                .filter(|name| name.strip_prefix("sharedindex.").is_some_and(refs::is_any_hash))
                .take(8),
        );
    }
    let mut copies = Vec::new();
    for name in names {
        let Some(file) = regular(&own.join(&name))? else { continue };
        let mut magic = [0u8; 4];
        if (&file).read_exact(&mut magic).is_err() || &magic != b"DIRC" {
            return Err(OpenError::new(STEP, format!("`{name}` is not an index of git")));
        }
        io::Seek::rewind(&mut &file).at(STEP, "reading the index")?;
        let stat = file.metadata().at(STEP, "reading the index")?;
        let modified = (stat.mtime(), u32::try_from(stat.mtime_nsec()).unwrap_or(0));
        copies.push(Copied { file, path: name, modified });
    }
    Ok(copies)
}

/// A small text file; `None` when it is not there. A link, a pipe or anything else that is no plain file is refused.
fn text(path: &Path, most: u64) -> Result<Option<String>, OpenError> {
    let what = || format!("reading `{}`", path.display());
    match regular(path)? {
        None => Ok(None),
        Some(file) => match small_text(file, most) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(error).at(STEP, &what()),
        },
    }
}

fn regular(path: &Path) -> Result<Option<File>, OpenError> {
    let what = format!("opening `{}`", path.display());
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno).at(STEP, &what),
    };
    let stat = rustix::fs::fstat(&fd).at(STEP, &what)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(OpenError::new(STEP, format!("`{}` is not a plain file", path.display())));
    }
    Ok(Some(File::from(fd)))
}
