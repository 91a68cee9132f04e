//! Values that the gateway knows to be secret, in every spelling they may take.
//!
//! Only this way of finding secrets is certain. Spellings: as it is, in base64 at each of the three alignments (so that
//! `user:KEY` is seen too), in hex, percent-encoded and JSON-escaped.

use std::fmt::Write as _;

use aho_corasick::{AhoCorasick, BuildError};

use super::{Found, MAX_KIND};

/// The shortest value that is searched for, in bytes: shorter ones would tear up ordinary text.
const MIN_BYTES: usize = 6;

/// A value that must never be written.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    kind: String,
    value: String,
}

impl KnownSecret {
    /// A value and what it is, such as `model-key`. Of the kind only `a-z 0-9 -` is kept, at most 32.
    pub fn new(kind: &str, value: impl Into<String>) -> Self {
        let kind: String = kind.bytes().filter(|b| in_kind(*b)).take(MAX_KIND).map(char::from).collect();
        let kind = if kind.is_empty() { "known".to_owned() } else { kind };
        Self { kind, value: value.into() }
    }
}

impl std::fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownSecret").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Whether a byte may stand in the kind of a mark.
pub(super) fn in_kind(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// The searcher for known values.
pub(super) struct Known {
    searcher: AhoCorasick,
    kinds: Vec<String>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("spellings", &self.kinds.len()).finish_non_exhaustive()
    }
}

impl Known {
    pub(super) fn new(secrets: Vec<KnownSecret>) -> Result<Self, BuildError> {
        let mut spelled = Vec::new();
        let mut kinds = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.value.len() >= MIN_BYTES) {
            for spelling in spellings(&secret.value) {
                spelled.push(spelling);
                kinds.push(secret.kind.clone());
            }
        }
        let searcher = AhoCorasick::new(&spelled)?;
        Ok(Self { searcher, kinds })
    }

    pub(super) fn find(&self, text: &str, found: &mut Vec<Found>) {
        // Overlapping ones too: of two values that share a stretch neither may leave a rest.
        for hit in self.searcher.find_overlapping_iter(text) {
            let kind = self.kinds.get(hit.pattern().as_usize()).cloned().unwrap_or_default();
            found.push(Found { start: hit.start(), end: hit.end(), kind: kind.into() });
        }
    }
}

/// The spellings of a value.
fn spellings(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let hex = |upper: bool| bytes.iter().fold(String::new(), |out, byte| pair(out, *byte, "", upper));
    let percent = |upper: bool| {
        bytes.iter().fold(String::new(), |mut out, byte| {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
                out.push(char::from(*byte));
                return out;
            }
            pair(out, *byte, "%", upper)
        })
    };
    let json = serde_json::Value::from(value).to_string();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let mut all = vec![value.to_owned(), hex(false), hex(true), percent(true), percent(false), json];
    for skipped in 0..3 {
        let standard = base64_within(bytes, skipped);
        all.push(standard.replace('+', "-").replace('/', "_"));
        all.push(standard);
    }
    all.retain(|spelling| spelling.len() >= MIN_BYTES);
    all.sort();
    all.dedup();
    all
}

/// Appends a byte in hex.
fn pair(mut out: String, byte: u8, before: &str, upper: bool) -> String {
    // Writing to a string does not fail.
    let _ = if upper { write!(out, "{before}{byte:02X}") } else { write!(out, "{before}{byte:02x}") };
    out
}

/// The base64 characters that depend on `bytes` alone when `skipped` other bytes stand before them in their group.
fn base64_within(bytes: &[u8], skipped: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let first_bit = skipped * 8;
    let last_bit = first_bit + bytes.len() * 8;
    let bit = |at: usize| {
        let at = at - first_bit;
        bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1)
    };
    let sextets = first_bit.div_ceil(6)..last_bit / 6;
    let value = |sextet: usize| (sextet * 6..sextet * 6 + 6).fold(0u8, |value, at| value << 1 | bit(at));
    sextets
        .filter_map(|sextet| ALPHABET.get(usize::from(value(sextet))))
        .map(|byte| char::from(*byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::base64_within;

    #[test]
    fn base64_of_a_value_is_found_at_each_alignment() {
        // base64("secret") = c2VjcmV0; of "a:secret" = YTpzZWNyZXQ=; of "x:secret!" = eDpzZWNyZXQh
        assert_eq!(base64_within(b"secret", 0), "c2VjcmV0");
        assert!("YTpzZWNyZXQ=".contains(&base64_within(b"secret", 2)));
        assert!("eHg6c2VjcmV0IQ==".contains(&base64_within(b"secret", 0)));
        assert!("eHh4OnNlY3JldCE=".contains(&base64_within(b"secret", 1)));
    }
}
