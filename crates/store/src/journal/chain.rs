//! The hash of an entry, over every field and over the entry before.
//!
//! Fields of varying length are led by their length, so that no two lists of fields give the same bytes; the first
//! link is bound to the deployment and the session, so that no chain can be passed off as another.

use sha2::{Digest, Sha256};

/// A SHA-256 value.
pub(crate) type Hash = [u8; 32];

/// One entry, with everything that its hash covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link<'a> {
    /// The session.
    pub(crate) session: &'a str,
    /// Its number, from 1.
    pub(crate) seq: u64,
    /// Its time, in microseconds of the Unix epoch.
    pub(crate) time_us: i64,
    /// The hash of the entry before.
    pub(crate) prev: Hash,
    /// Its kind.
    pub(crate) kind: &'a str,
    /// The exact bytes of the entry.
    pub(crate) entry: &'a [u8],
}

impl Link<'_> {
    /// The hash of this entry.
    pub(crate) fn hash(&self) -> Hash {
        let mut sha = Sha256::new();
        sha.update(b"enclos-journal-1\0");
        part(&mut sha, self.session.as_bytes());
        sha.update(self.seq.to_be_bytes());
        sha.update(self.time_us.to_be_bytes());
        sha.update(self.prev);
        part(&mut sha, self.kind.as_bytes());
        part(&mut sha, self.entry);
        sha.finalize().into()
    }
}

/// What the first entry of a session follows.
pub(crate) fn genesis(deployment: &str, session: &str) -> Hash {
    let mut sha = Sha256::new();
    sha.update(b"enclos-genesis-1\0");
    part(&mut sha, deployment.as_bytes());
    part(&mut sha, session.as_bytes());
    sha.finalize().into()
}

/// Adds a field led by its length.
pub(crate) fn part(sha: &mut Sha256, bytes: &[u8]) {
    sha.update((bytes.len() as u64).to_be_bytes());
    sha.update(bytes);
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
    out
}

/// Reads exactly 64 lower-case hexadecimal digits.
pub(crate) fn unhex(text: &[u8]) -> Option<Hash> {
    let mut out = [0_u8; 32];
    if text.len() != 64 {
        return None;
    }
    for (to, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *to = digit(*high)? << 4 | digit(*low)?;
    }
    Some(out)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Whether a text may be the kind of an entry.
pub(crate) fn is_kind(kind: &str) -> bool {
    (1..=128).contains(&kind.len()) && kind.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link<'a>(session: &'a str, kind: &'a str, entry: &'a [u8]) -> Link<'a> {
        Link { session, seq: 1, time_us: 2, prev: [3; 32], kind, entry }
    }

    #[test]
    fn every_field_and_every_border_counts() {
        let base = link("sess_a", "kind", b"{}");
        let others = [
            link("sess_ak", "ind", b"{}"),
            link("sess_", "akind", b"{}"),
            link("sess_a", "kind{", b"}"),
            link("sess_a", "kin", b"d{}"),
            Link { seq: 2, ..base },
            Link { time_us: 3, ..base },
            Link { prev: [4; 32], ..base },
        ];
        for other in others {
            assert_ne!(base.hash(), other.hash(), "{other:?}");
        }
        assert_ne!(genesis("ab", "c"), genesis("a", "bc"));
    }

    #[test]
    fn the_hash_never_changes() {
        // A journal of today must verify for ever.
        let hash = link("sess_a", "session.opened", br#"{"user":"ada"}"#).hash();
        assert_eq!(hex(&hash), "29de768b87563babfd77386b9d48c0df3fd8e5bd2f42f9908b925a85305204a8");
    }

    #[test]
    fn hexadecimal_is_read_strictly() {
        let bytes: Hash = std::array::from_fn(|i| u8::try_from(i * 8).unwrap());
        assert_eq!(unhex(hex(&bytes).as_bytes()), Some(bytes));
        assert_eq!(unhex(hex(&bytes).to_uppercase().as_bytes()), None);
        assert_eq!(unhex(&hex(&bytes).as_bytes()[1..]), None);
    }
}
