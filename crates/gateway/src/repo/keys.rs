//! Whether a file holds a private key, whatever its name is. Where that cannot be told it is taken to.

use std::io::{self, Read};
use std::sync::LazyLock;

use enclos_core::secret::{PRIVATE_KEY, Redactor};

/// Whether a private key is written in the first `most` bytes of a file.
pub(crate) fn holds_key(file: impl Read, most: u64) -> io::Result<bool> {
    static SEARCH: LazyLock<Option<Redactor>> = LazyLock::new(|| Redactor::new(Vec::new()).ok());
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(SEARCH.as_ref().is_none_or(|search| search.kinds(&text).iter().any(|kind| kind == PRIVATE_KEY)))
}
