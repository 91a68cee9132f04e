//! Removing a file, a link, or a folder with all it holds; never through a link.
use super::path::Place;
use super::{Answer, fault};
use enclos_init::file::{FaultKind, FileReply};
use rustix::fs::{AtFlags, FileType};

/// Removes it.
pub(super) fn delete(path: &str, recursive: bool) -> Answer {
    let place = Place::parse(path)?;
    let (folder, name) = place.parent(false)?;
    let stat =
        rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| place.refused(errno))?;
    let entries = if !FileType::from_raw_mode(stat.st_mode).is_dir() {
        rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map(|()| 1)
    } else if recursive {
        enclos_init::tree::remove(&folder, name)
    } else {
        return Err(fault(
            FaultKind::WrongKind,
            format!("`{path}` is a folder; set `recursive` to remove it with all it holds"),
        ));
    };
    Ok(FileReply::Deleted { entries: entries.map_err(|errno| place.refused(errno))? })
}
