//! Paths that a model wrote, made safe: below `/workspace` or `/tmp`, `.` and `..` taken away as text, and every
//! opening relative to one of those two folders in a way that no link can lead out of.
use super::fault;
use enclos_init::file::{Fault, FaultKind};
use enclos_init::wire::WORKSPACE;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A path below one of the two folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// `/workspace` or `/tmp`.
    root: &'static str,
    /// Path below it, without `.` and `..`; empty for the folder itself.
    below: PathBuf,
    /// As it was asked for.
    pub(super) asked: String,
}

impl Place {
    /// Reads a path: relative to the workspace, or absolute.
    pub(super) fn parse(asked: &str) -> Result<Self, Fault> {
        if asked.is_empty() || asked.contains('\0') || asked.len() > 4096 {
            return Err(fault(
                FaultKind::BadArgument,
                "the path is empty, longer than 4096 bytes, or holds a NUL; give a path below `/workspace`",
            ));
        }
        let mut whole = PathBuf::from(WORKSPACE);
        for part in Path::new(asked).components() {
            match part {
                Component::RootDir => whole = PathBuf::from("/"),
                Component::Normal(name) => whole.push(name),
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir | Component::Prefix(_) => {}
            }
        }
        for root in [WORKSPACE, "/tmp"] {
            if let Ok(below) = whole.strip_prefix(root) {
                return Ok(Self { root, below: below.to_owned(), asked: asked.to_owned() });
            }
        }
        Err(fault(
            FaultKind::LeadsOut,
            format!("`{asked}` leads out of the workspace; give a path below `/workspace` or `/tmp`"),
        ))
    }

    /// The path as it is told: relative to the workspace where it is below it; empty for the workspace itself.
    pub(super) fn told(&self) -> String {
        if self.root == WORKSPACE {
            shown(&self.below)
        } else {
            shown(&Path::new(self.root).join(&self.below))
        }
    }

    /// Opens it. No link on the way may lead out of the folder.
    pub(super) fn open(&self, flags: OFlags) -> Result<OwnedFd, Fault> {
        open_below(self.root, &self.below, flags).map_err(|errno| self.refused(errno))
    }

    /// What it is, a final link not followed.
    pub(super) fn look(&self) -> Result<(OwnedFd, Stat), Fault> {
        let fd = self.open(OFlags::PATH | OFlags::NOFOLLOW)?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| self.refused(errno))?;
        Ok((fd, stat))
    }

    /// The folder that holds it, open, and its name there.
    pub(super) fn parent(&self, make: bool) -> Result<(OwnedFd, &OsStr), Fault> {
        let (Some(folder), Some(name)) = (self.below.parent(), self.below.file_name()) else {
            return Err(fault(
                FaultKind::WrongKind,
                format!("`{}` is the folder itself; name something in it", self.asked),
            ));
        };
        if make {
            self.make_folders(folder)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = open_below(self.root, folder, flags).map_err(|errno| self.refused(errno))?;
        Ok((fd, name))
    }

    fn make_folders(&self, folder: &Path) -> Result<(), Fault> {
        if open_below(self.root, folder, OFlags::PATH | OFlags::DIRECTORY).is_ok() {
            return Ok(());
        }
        let mut sofar = PathBuf::new();
        for part in folder.components() {
            let above = open_below(self.root, &sofar, OFlags::PATH | OFlags::DIRECTORY)
                .map_err(|errno| self.refused(errno))?;
            match rustix::fs::mkdirat(&above, part.as_os_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => sofar.push(part),
                Err(errno) => return Err(self.refused(errno)),
            }
        }
        Ok(())
    }

    /// The whole path inside, with every link resolved.
    pub(super) fn resolved(&self) -> Result<PathBuf, Fault> {
        use std::os::fd::AsRawFd;
        let fd = self.open(OFlags::PATH)?;
        std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))
            .map_err(|error| self.refused(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    /// An error of the system in words that say how to go on.
    pub(super) fn refused(&self, errno: Errno) -> Fault {
        let path = &self.asked;
        match errno {
            Errno::NOENT => fault(
                FaultKind::NotFound,
                format!("`{path}` does not exist; `list` or `glob` show what does"),
            ),
            Errno::NOTDIR => fault(FaultKind::WrongKind, format!("a part of `{path}` is not a folder")),
            Errno::ISDIR => fault(FaultKind::WrongKind, format!("`{path}` is a folder; name a file")),
            Errno::XDEV | Errno::LOOP => fault(
                FaultKind::LeadsOut,
                format!("`{path}` goes through a link that leads out of its folder; use the real path"),
            ),
            Errno::ACCESS | Errno::PERM | Errno::ROFS => {
                fault(FaultKind::Denied, format!("`{path}` may not be touched: {errno}"))
            }
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => {
                fault(FaultKind::Full, format!("no room is left for `{path}`: {errno}"))
            }
            Errno::NAMETOOLONG => {
                fault(FaultKind::BadArgument, format!("a name in `{path}` is longer than 255 bytes"))
            }
            _ => fault(FaultKind::System, format!("`{path}`: {errno}")),
        }
    }
}

fn open_below(root: &str, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let top = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::openat(CWD, root, top, Mode::empty())?;
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let flags = if flags.contains(OFlags::PATH) {
        // With PATH the kernel takes no other flag but these.
        flags & (OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC)
    } else {
        flags
    };
    loop {
        // A rename elsewhere in the tree makes the kernel ask for another try.
        match rustix::fs::openat2(&top, below, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
}

/// A path as it is shown: relative to the workspace when below it, odd bytes as `\xNN`.
pub(super) fn shown(path: &Path) -> String {
    let path = path.strip_prefix(WORKSPACE).unwrap_or(path);
    text(path.as_os_str().as_bytes())
}

/// Bytes as text, those that are not UTF-8 as `\xNN`.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_two_folders() {
        let place = |path: &str| Place::parse(path).map(|place| (place.root, place.below));
        assert_eq!(place("a/./b").unwrap(), ("/workspace", "a/b".into()));
        assert_eq!(place("/workspace/a/../b").unwrap(), ("/workspace", "b".into()));
        assert_eq!(place(".").unwrap(), ("/workspace", "".into()));
        assert_eq!(place("/tmp/x").unwrap(), ("/tmp", "x".into()));
        assert_eq!(place("../tmp/x").unwrap(), ("/tmp", "x".into()));
        for path in ["..", "/etc/passwd", "a/../../etc/passwd", "/workspacex", "/", "/tmp/../etc"] {
            assert_eq!(place(path).unwrap_err().kind, FaultKind::LeadsOut, "{path}");
        }
        for path in ["", "a\0b"] {
            assert_eq!(place(path).unwrap_err().kind, FaultKind::BadArgument, "{path}");
        }
    }

    #[test]
    fn odd_bytes_are_shown() {
        assert_eq!(text(b"a\xffb"), "a\\xffb");
        assert_eq!(shown(Path::new("/workspace/a b")), "a b");
        assert_eq!(shown(Path::new("/tmp/x")), "/tmp/x");
    }
}
