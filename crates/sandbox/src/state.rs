//! The session's layer on disk: `upper` (what the session changed, kept), `work` (overlayfs' own), `scratch` (thrown
//! away), `lock`. One sandbox at a time uses it. As root it belongs to a user number of its own, remembered by who
//! owns `upper`, so that nothing in it ever belongs to root.
use crate::error::{OpenError, Place};
use crate::platform::{self, Identity};
use enclos_init::wire::Step;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

const STEP: Step = Step::Layer;
/// How long the last sandbox of a gateway that was killed may take to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// A layer, ready and locked.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Its directory.
    pub(crate) directory: OwnedFd,
    /// Held by this process and by the init: free only when both are gone.
    pub(crate) lock: OwnedFd,
    /// The host's user and group number that the agent runs as.
    pub(crate) owner: (u32, u32),
}

/// Makes or finds a layer. A new one is given to `wanted`, where root makes it; `root_mode` are the permission bits of the repository's root; `scratch` the number of
/// throw-away folders wanted.
pub(crate) fn prepare(
    path: &Path,
    identity: Identity,
    wanted: Option<u32>,
    root_mode: u32,
    scratch: usize,
) -> Result<Layer, OpenError> {
    std::fs::create_dir_all(path).at(STEP, &format!("making the layer `{}`", path.display()))?;
    let directory = open(path).at(STEP, &format!("opening the layer `{}`", path.display()))?;
    let lock = lock(&directory)?;
    let owner = owner(&directory, identity, wanted)?;
    discard_scratch(&directory).at(STEP, "emptying what the last sandbox threw away")?;
    rustix::fs::fchmod(&directory, Mode::RWXU).at(STEP, "closing the layer to others")?;
    let root = Mode::from_raw_mode(root_mode & 0o777 | 0o700);
    folder(&directory, "upper", root, owner).at(STEP, "making `upper`")?;
    folder(&directory, "work", Mode::RWXU, owner).at(STEP, "making `work`")?;
    if scratch > 0 {
        folder(&directory, "scratch", Mode::RWXU, owner).at(STEP, "making `scratch`")?;
    }
    for number in 0..scratch {
        for path in ["", "/upper", "/work"] {
            let path = format!("scratch/{number}{path}");
            folder(&directory, &path, Mode::from_raw_mode(0o755), owner).at(STEP, "making `scratch`")?;
        }
    }
    if identity == Identity::Root {
        give(&directory, "", owner).at(STEP, "giving the layer to the agent")?;
    }
    Ok(Layer { directory, lock, owner })
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

pub(crate) fn lock(directory: &OwnedFd) -> Result<OwnedFd, OpenError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock =
        rustix::fs::openat(directory, "lock", flags, Mode::RUSR | Mode::WUSR).at(STEP, "opening the lock")?;
    let start = Instant::now();
    loop {
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(lock),
            Err(Errno::WOULDBLOCK) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(OpenError::new(STEP, "another sandbox is open on this layer"));
            }
            Err(errno) => return Err(errno).at(STEP, "locking the layer"),
        }
    }
}

/// Who the agent is on the host.
fn owner(directory: &OwnedFd, identity: Identity, wanted: Option<u32>) -> Result<(u32, u32), OpenError> {
    let found = match rustix::fs::statat(directory, "upper", AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_dir() => Some(stat.st_uid),
        Ok(_) => return Err(OpenError::new(STEP, "`upper` in the layer is not a folder")),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(errno).at(STEP, "looking for `upper`"),
    };
    match (identity, found) {
        (Identity::User(uid, gid), None) => Ok((uid, gid)),
        (Identity::User(uid, gid), Some(owner)) if owner == uid => Ok((uid, gid)),
        (Identity::Root, Some(uid)) if platform::is_own_uid(uid) => Ok((uid, uid)),
        (Identity::Root, None) => match wanted {
            Some(uid) if platform::is_own_uid(uid) => Ok((uid, uid)),
            Some(uid) => {
                Err(OpenError::new(STEP, format!("user {uid} is not one of those that sandboxes are given")))
            }
            None => platform::new_uid().at(STEP, "choosing a user number").map(|uid| (uid, uid)),
        },
        (_, Some(owner)) => Err(OpenError::new(
            STEP,
            format!("the layer belongs to user {owner}; it was made by somebody else or by root"),
        )),
    }
}

/// A folder with this mode and owner; what is there already stays as the agent left it. It gets its name when it is
/// complete: whoever is killed over it leaves no half of one.
fn folder(directory: &OwnedFd, path: &str, mode: Mode, owner: (u32, u32)) -> io::Result<()> {
    match rustix::fs::statat(directory, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_dir() => return Ok(()),
        Ok(_) => return Err(Errno::NOTDIR.into()),
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let new = format!("{path}.new");
    match rustix::fs::unlinkat(directory, &new, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    rustix::fs::mkdirat(directory, &new, Mode::RWXU)?;
    rustix::fs::chmodat(directory, &new, mode, AtFlags::empty())?;
    give(directory, &new, owner)?;
    Ok(rustix::fs::renameat(directory, &new, directory, path)?)
}

fn give(directory: &OwnedFd, path: &str, (uid, gid): (u32, u32)) -> io::Result<()> {
    let (uid, gid) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(gid));
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    Ok(rustix::fs::chownat(directory, path, Some(uid), Some(gid), flags)?)
}

/// Removes what was to be thrown away.
pub(crate) fn discard_scratch(directory: &OwnedFd) -> io::Result<()> {
    match enclos_init::tree::remove(directory, "scratch".as_ref()) {
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes a session's layer with all that the session changed. A layer that is not there is no error.
pub fn remove_layer(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the layer's path has no name"));
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    match open(parent).and_then(|parent| Ok(enclos_init::tree::remove(&parent, name)?)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
