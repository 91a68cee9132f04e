//! The master key: the file `keys/store.key`, made at the first opening.
//!
//! It wraps the keys of sessions and does nothing else. It is refused when others may read it, when it belongs to
//! another user, or when it is not the one that the database was made with; a lost key is never replaced by a new one
//! under a database that needs the old.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::StoreError;
use crate::journal::chain::{hex, unhex};
use crate::place::{Place, failed, open_private};
use crate::seal::{Secret, mac, random_secret};

/// What the file begins with.
const PREFIX: &str = "enclos-store-key-1 ";

/// Reads the key, or `None` when there is no file.
pub(crate) fn read(place: &Place) -> Result<Option<Secret>, StoreError> {
    let path = place.master_key();
    let mut file = match open_private(&path, false) {
        Ok(file) => file?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(&path, &e)),
    };
    let mut text = Zeroizing::new(String::new());
    Read::by_ref(&mut file).take(256).read_to_string(&mut text).map_err(|e| failed(&path, &e))?;
    let hex = text.strip_prefix(PREFIX).and_then(|t| t.strip_suffix('\n'));
    let key = hex.and_then(|h| unhex(h.as_bytes())).map(Zeroizing::new);
    key.map(Some).ok_or(StoreError::Key { path, why: "is not a key file" })
}

/// Makes the key, or reads the one that another process made first.
pub(crate) fn make(place: &Place) -> Result<Secret, StoreError> {
    let path = place.master_key();
    let secret = random_secret()?;
    let draft = place.keys().join(format!("store.key.{}", std::process::id()));
    let outcome = write_draft(&draft, &secret).and_then(|()| match fs::hard_link(&draft, &path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    let removed = fs::remove_file(&draft);
    outcome
        .and(removed)
        .and_then(|()| File::open(place.keys())?.sync_all())
        .map_err(|e| failed(&path, &e))?;
    read(place)?.ok_or(StoreError::KeyMissing { path })
}

fn write_draft(draft: &Path, secret: &Secret) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft)?;
    let digits = Zeroizing::new(hex(secret.as_slice()));
    file.write_all(PREFIX.as_bytes())?;
    file.write_all(digits.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// What the database keeps to know its key again.
pub(crate) fn check_value(master: &Secret, deployment: &str) -> Secret {
    mac(master, &[b"enclos-store-key-check-1", deployment.as_bytes()])
}
