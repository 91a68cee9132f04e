//! Contents and their digests.
//!
//! A content is read whole only up to [`MAX_TEXT`]; what is larger is digested and copied in pieces and has no lines.
//! It never holds two files longer than one comparison needs.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use enclos_core::ids::Digest;
use enclos_sandbox::layer::{Entry, Kind, Tree};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::model::{Mode, Side};

/// The largest content, in bytes, that is compared line by line and written into a patch.
pub const MAX_TEXT: u64 = 64 << 20;

/// The mode of an entry that a change set can carry.
pub(super) fn mode_of(entry: &Entry) -> Option<Mode> {
    match entry.kind {
        Kind::Link => Some(Mode::Link),
        Kind::File if entry.executable() => Some(Mode::Executable),
        Kind::File => Some(Mode::Regular),
        Kind::Directory | Kind::Whiteout | Kind::Special(_) => None,
    }
}

/// Copies a file's bytes or a link's target, and tells their digest and number.
pub(super) fn copy(tree: &Tree, path: &str, mode: Mode, to: &mut dyn Write) -> io::Result<Side> {
    if mode.is_link() {
        let target = tree.target(path)?;
        to.write_all(&target)?;
        return Ok(side(mode, &target));
    }
    digest_copy(&mut tree.file(path)?, mode, to)
}

/// Copies a stream, and tells its digest and number of bytes.
pub(super) fn digest_copy(from: &mut dyn Read, mode: Mode, to: &mut dyn Write) -> io::Result<Side> {
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let piece = buffer.get(..count).unwrap_or_default();
        hash.update(piece);
        to.write_all(piece)?;
        size += count as u64;
    }
    Ok(Side { mode, digest: digest_of(hash), size })
}

/// The side that some bytes are.
pub(super) fn side(mode: Mode, bytes: &[u8]) -> Side {
    let digest = digest_of(Sha256::new_with_prefix(bytes));
    Side { mode, digest, size: bytes.len() as u64 }
}

/// Writes a finished hash as Enclos writes it.
fn digest_of(hash: Sha256) -> Digest {
    Digest::new(format!("sha256:{}", hex(&hash.finalize())))
}

/// The name that git gives to these bytes as a blob.
pub(super) fn blob_id(bytes: &[u8]) -> String {
    let mut hash = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hex(&hash.finalize())
}

/// Whether a content has no lines: git's test, over the whole of it.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.contains(&0)
}

/// Bytes in small hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{blob_id, side};
    use crate::changeset::model::Mode;

    #[test]
    fn blobs_are_named_as_git_names_them() {
        assert_eq!(blob_id(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(blob_id(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn a_side_is_its_digest_and_size() {
        let side = side(Mode::Regular, b"abc");
        assert_eq!(side.size, 3);
        assert_eq!(
            side.digest.as_str(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
