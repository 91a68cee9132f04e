//! Where the store lives, and who may look into it.
//!
//! The state directory holds `state.db`, `keys/`, `run/` and `sessions/`. What we make is readable by the owner alone;
//! what is there already must belong to us, and a key or database that others could reach is refused, never repaired
//! in silence. A network or user-space file system is refused, because its locks and syncs promise too little.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;

use crate::StoreError;

/// File systems whose locks or syncs do not hold between machines or at all: the magic numbers of `statfs`.
const REFUSED: &[(u32, &str)] = &[
    (0x6969, "nfs"),
    (0x517B, "smb"),
    (0xFE53_4D42, "smb2"),
    (0xFF53_4D42, "cifs"),
    (0x5346_414F, "afs"),
    (0x6B41_4653, "kafs"),
    (0x7375_7245, "coda"),
    (0x564C, "ncp"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x00C3_6400, "ceph"),
    (0x0116_1970, "gfs2"),
    (0x7461_636F, "ocfs2"),
    (0x0BD0_0BD0, "lustre"),
    (0x786F_4256, "vboxsf"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
];

/// The paths of one store.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    dir: PathBuf,
}

impl Place {
    /// Makes what is missing and checks what is there. The path is made absolute: the process may change its directory.
    pub(crate) fn prepare(dir: &Path) -> Result<Self, StoreError> {
        make_dir(dir)?;
        let place = Self { dir: fs::canonicalize(dir).map_err(|e| failed(dir, &e))? };
        refuse_network(&place.dir)?;
        check_owner(&place.dir)?;
        close_to_writers(&place.dir)?;
        for sub in [place.keys(), place.run(), place.sessions()] {
            make_dir(&sub)?;
            check_owner(&sub)?;
            set_mode(&sub, 0o700)?;
        }
        Ok(place)
    }

    /// Takes a store that must be there already, and changes nothing.
    pub(crate) fn existing(dir: &Path) -> Result<Self, StoreError> {
        let place = Self { dir: fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf()) };
        if !place.database().exists() {
            return Err(StoreError::NoStore { path: place.database() });
        }
        refuse_network(&place.dir)?;
        check_owner(&place.dir)?;
        Ok(place)
    }

    /// The state directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join("state.db")
    }

    /// The write-ahead log of the database.
    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("state.db-wal")
    }

    /// The directory of keys.
    pub(crate) fn keys(&self) -> PathBuf {
        self.dir.join("keys")
    }

    /// The key that wraps the keys of sessions.
    pub(crate) fn master_key(&self) -> PathBuf {
        self.keys().join("store.key")
    }

    /// The key that signs what leaves to be verified elsewhere.
    pub(crate) fn sign_key(&self) -> PathBuf {
        self.keys().join("sign.key")
    }

    /// Its public half.
    pub(crate) fn public_key(&self) -> PathBuf {
        self.keys().join("sign.pub")
    }

    /// The directory of locks.
    pub(crate) fn run(&self) -> PathBuf {
        self.dir.join("run")
    }

    /// The lock of a session.
    pub(crate) fn session_lock(&self, id: &SessionId) -> PathBuf {
        self.run().join(format!("{id}.lock"))
    }

    /// The directory of the sessions' layers.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.dir.join("sessions")
    }
}

/// Turns an error of the system into ours.
pub(crate) fn failed(path: &Path, error: &impl ToString) -> StoreError {
    StoreError::Place { path: path.to_path_buf(), why: error.to_string() }
}

fn make_dir(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| failed(path, &e))
}

fn check_owner(path: &Path) -> Result<(), StoreError> {
    let owner = fs::metadata(path).map_err(|e| failed(path, &e))?.uid();
    owned_by_us(path, owner)
}

fn owned_by_us(path: &Path, owner: u32) -> Result<(), StoreError> {
    let expected = rustix::process::geteuid().as_raw();
    if owner == expected {
        return Ok(());
    }
    Err(StoreError::ForeignOwner { path: path.to_path_buf(), owner, expected })
}

fn set_mode(path: &Path, mode: u32) -> Result<(), StoreError> {
    let now = fs::metadata(path).map_err(|e| failed(path, &e))?.mode() & 0o7777;
    if now == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|e| failed(path, &e))
}

/// The state directory may be one that a person made with a wide umask and keeps other files in: only the right of
/// others to replace our files is taken away. Under the sticky bit they have none.
fn close_to_writers(dir: &Path) -> Result<(), StoreError> {
    let mode = fs::metadata(dir).map_err(|e| failed(dir, &e))?.mode() & 0o7777;
    if mode & 0o022 == 0 || mode & 0o1000 != 0 {
        return Ok(());
    }
    set_mode(dir, mode & !0o022)
}

fn refuse_network(dir: &Path) -> Result<(), StoreError> {
    let magic = rustix::fs::statfs(dir).map_err(|e| failed(dir, &io::Error::from(e)))?.f_type;
    match refused(magic.cast_unsigned()) {
        Some(name) => Err(StoreError::NetworkFileSystem { path: dir.to_path_buf(), name }),
        None => Ok(()),
    }
}

/// The name of a refused file system. Some kernels extend the sign of the number, so only its low half counts.
fn refused(magic: u64) -> Option<&'static str> {
    let low = magic & 0xFFFF_FFFF;
    REFUSED.iter().find(|(m, _)| u64::from(*m) == low).map(|(_, name)| *name)
}

/// Opens a file of ours that must be there, or makes it when `make` says so: never through a link, owned by us, and
/// with no permission beyond `0600`.
pub(crate) fn open_private(path: &Path, make: bool) -> io::Result<Result<File, StoreError>> {
    let file = OpenOptions::new()
        .read(true)
        .write(make)
        .create(make)
        .mode(0o600)
        .custom_flags(i32::from_ne_bytes(rustix::fs::OFlags::NOFOLLOW.bits().to_ne_bytes()))
        .open(path)?;
    let meta = file.metadata()?;
    Ok(check_private(path, &meta).map(|()| file))
}

/// Makes the database file when it is not there, and checks it without opening it: the locks that SQLite holds on it
/// belong to the process, and closing any descriptor of the file would drop them under every connection of ours.
pub(crate) fn make_private(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_new) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => stat_private(path),
        Err(e) => Err(failed(path, &e)),
    }
}

/// Checks a private file without opening it.
pub(crate) fn stat_private(path: &Path) -> Result<(), StoreError> {
    check_private(path, &fs::symlink_metadata(path).map_err(|e| failed(path, &e))?)
}

fn check_private(path: &Path, meta: &fs::Metadata) -> Result<(), StoreError> {
    if !meta.is_file() {
        return Err(failed(path, &"not a regular file"));
    }
    owned_by_us(path, meta.uid())?;
    let mode = meta.mode() & 0o7777;
    if mode & !0o600 == 0 {
        return Ok(());
    }
    Err(StoreError::Permissions { path: path.to_path_buf(), mode, expected: 0o600 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_refused_whatever_the_sign() {
        assert_eq!(refused(0x6969), Some("nfs"));
        assert_eq!(refused(0xFF53_4D42), Some("cifs"));
        assert_eq!(refused(0xFFFF_FFFF_FF53_4D42), Some("cifs"));
        assert_eq!(refused(0x6573_5546), Some("fuse"));
        for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
            assert_eq!(refused(local), None, "{local:x}");
        }
    }

    #[test]
    fn a_directory_open_to_writers_is_closed_to_them() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o775)).unwrap();
        let place = Place::prepare(&home).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().mode() & 0o7777;
        assert_eq!(mode(&home), 0o755);
        assert_eq!(mode(&place.keys()), 0o700);
        assert_eq!(mode(&place.run()), 0o700);
        assert_eq!(mode(&place.sessions()), 0o700);
    }

    #[test]
    fn a_private_file_is_no_link_and_has_no_wider_mode() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        fs::write(&real, "x").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        let refusal = open_private(&real, false).unwrap().unwrap_err();
        assert!(matches!(refusal, StoreError::Permissions { mode: 0o640, .. }), "{refusal}");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(open_private(&real, false).unwrap().is_ok());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(open_private(&link, false).is_err());
    }
}
