//! From a record to the bytes that are hashed, before anything is written.
//!
//! Redacts, adds the commitment to the content, serialises once, and refuses what is over its bounds. Control,
//! bidirectional and invisible characters are written as JSON escapes, so that a journal reads as what it is.

use std::io::{self, Write};

use enclos_core::ids::Digest;
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;
use serde_json::{Map, Value};

use crate::journal::chain::is_kind;
use crate::lineage::{self, Ready};
use crate::record::{MAX_CONTENT_BYTES, MAX_ENTRY_BYTES, Record, StateChange};
use crate::redact::{MAX_DEPTH, Redact, redact_map};
use crate::{CommitKey, StoreError};

/// The fields that the store writes itself.
const SEALED: &str = "sealed";
const LINEAGE: &str = "lineage";

/// What an entry says of the content that is sealed apart from it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sealed {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Its keyed digest.
    pub(crate) digest: Digest,
}

/// The part of an entry that the store reads back.
#[derive(Debug, Deserialize)]
pub(crate) struct OwnFields {
    /// Present when the record had content.
    pub(crate) sealed: Option<Sealed>,
}

/// A record that can be written as it is.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) kind: String,
    pub(crate) time_us: i64,
    pub(crate) entry: Vec<u8>,
    pub(crate) content: Option<Vec<u8>>,
    pub(crate) state: Option<StateChange>,
    pub(crate) lineage: Vec<Ready>,
    pub(crate) archives: bool,
}

/// Makes a record ready, or says what is wrong with it.
pub(crate) fn prepare(
    redactor: &dyn Redact,
    commit: &CommitKey,
    record: Record,
) -> Result<Prepared, StoreError> {
    let kind = redactor.redact(&record.kind).into_owned();
    if !is_kind(&kind) {
        return Err(StoreError::BadKind { bytes: kind.len() });
    }
    if let Some(field) = [SEALED, LINEAGE].into_iter().find(|field| record.entry.contains_key(*field)) {
        return Err(StoreError::ReservedField { kind, field });
    }
    let Ok(mut entry) = redact_map(redactor, record.entry) else {
        return Err(StoreError::EntryTooDeep { kind, limit: MAX_DEPTH });
    };
    if let Some(content) = &record.content {
        if content.len() > MAX_CONTENT_BYTES {
            let bytes = content.len();
            return Err(StoreError::ContentTooLarge { kind, bytes, limit: MAX_CONTENT_BYTES });
        }
        let digest = commit.digest(content).as_str().to_owned();
        entry.insert(SEALED.to_owned(), serde_json::json!({ "bytes": content.len(), "digest": digest }));
    }
    let (lineage, told) = lineage::prepare(redactor, record.lineage)?;
    if let Some(told) = told {
        entry.insert(LINEAGE.to_owned(), told);
    }
    let entry = serialise(&entry).map_err(|bytes| StoreError::EntryTooLarge {
        kind: kind.clone(),
        bytes,
        limit: MAX_ENTRY_BYTES,
    })?;
    Ok(Prepared {
        kind,
        time_us: record.time_us,
        entry,
        content: record.content,
        state: record.state,
        lineage,
        archives: record.archives,
    })
}

/// The bytes of an entry, or how many there would be at least.
fn serialise(entry: &Map<String, Value>) -> Result<Vec<u8>, usize> {
    let mut out = Bounded { bytes: Vec::with_capacity(512), refused: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Escaping);
    let outcome = entry.serialize(&mut serializer);
    match outcome {
        Ok(()) => Ok(out.bytes),
        Err(_) => Err(out.bytes.len().saturating_add(out.refused)),
    }
}

/// Takes at most [`MAX_ENTRY_BYTES`].
struct Bounded {
    bytes: Vec<u8>,
    refused: usize,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(more.len()) > MAX_ENTRY_BYTES {
            self.refused = more.len();
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// JSON in one line, with characters that could mislead a reader written as escapes.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.is_ascii() && !fragment.contains('\u{7f}') {
            return writer.write_all(fragment.as_bytes());
        }
        for piece in fragment.split_inclusive(misleads) {
            let Some(last) = piece.chars().next_back().filter(|c| misleads(*c)) else {
                writer.write_all(piece.as_bytes())?;
                continue;
            };
            writer.write_all(piece.strip_suffix(last).unwrap_or(piece).as_bytes())?;
            for unit in last.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Control, bidirectional, invisible and line-breaking characters.
fn misleads(c: char) -> bool {
    matches!(c,
        '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn misleading_characters_are_escaped_and_mean_the_same() {
        let tricky = "a\u{202e}b\nc\u{7f}\u{2028}é\u{e0041}\u{feff}\u{1f980}\u{85}";
        let given = map(&json!({ tricky: tricky }));
        let bytes = serialise(&given).unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(!text.chars().any(|c| misleads(c) || c.is_control()), "{text:?}");
        assert!(text.contains('é') && text.contains('\u{1f980}'));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), Value::Object(given));
    }

    #[test]
    fn the_bound_is_exact() {
        let fits = map(&json!({ "x": "a".repeat(MAX_ENTRY_BYTES - 8) }));
        assert_eq!(serialise(&fits).unwrap().len(), MAX_ENTRY_BYTES);
        let over = map(&json!({ "x": "a".repeat(MAX_ENTRY_BYTES - 7) }));
        assert!(serialise(&over).unwrap_err() > MAX_ENTRY_BYTES);
    }
}
