//! Removing a folder of our own with everything in it, whatever modes lie in it.
//!
//! A session may leave folders that even their owner cannot enter, and the overlay leaves one by itself. Links are
//! removed, never followed.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a folder. One that is not there is no error.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder)?;
            std::fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Lets the owner into every folder below.
fn open_up(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_any_permission_are_removed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        std::fs::create_dir_all(kept.join("inner")).unwrap();
        let gone = dir.path().join("gone");
        std::fs::create_dir_all(gone.join("a/b")).unwrap();
        std::os::unix::fs::symlink(&kept, gone.join("a/link")).unwrap();
        std::fs::set_permissions(gone.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        std::fs::set_permissions(gone.join("a"), Permissions::from_mode(0o000)).unwrap();
        open_up(&gone).unwrap();
        remove(&gone).unwrap();
        assert!(!gone.exists() && kept.join("inner").exists());
        remove(&gone).unwrap();
    }
}
