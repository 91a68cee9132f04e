//! The lines of an export, written and read in one form only.
//!
//! An export is JSON lines: a header, for each session its entries and its end, and a last line. Each line has exactly
//! one spelling: fixed fields in a fixed order, no spaces, no escapes in names, numbers without leading zeros, one
//! line feed at the end; an entry stands in it byte for byte as it was hashed. What is spelled otherwise is not a line,
//! so a change of any byte shows, even one that a JSON reader would overlook.

use sha2::{Digest, Sha256};

use super::chain::{Hash, Link, hex, part, unhex};

/// The version of the form.
pub(crate) const VERSION: u64 = 1;

/// What every header begins with.
const FORMAT: &str = "{\"format\":\"enclos-journal\",\"version\":";

/// The longest line that can be one, in bytes: the largest entry and room for all other fields.
pub(crate) const MAX_LINE_BYTES: u64 = crate::record::MAX_ENTRY_BYTES as u64 + 1024;

/// A line that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line<'a> {
    /// The first line.
    Header { deployment: &'a str, scope: &'a str, check: Hash },
    /// An entry and its hash.
    Entry { link: Link<'a>, hash: Hash },
    /// The end of a session.
    SessionEnd { session: &'a str, entries: u64, head: Hash },
    /// The last line.
    ExportEnd { sessions: u64, entries: u64, digest: Hash },
}

/// The first line: the form, whose journal it is, and `all` or the one session that it holds.
pub(crate) fn header(deployment: &str, scope: &str) -> String {
    let check = hex(&header_check(deployment, scope));
    format!(
        "{FORMAT}{VERSION},\"deployment\":\"{deployment}\",\"scope\":\"{scope}\",\"check\":\"{check}\"}}\n"
    )
}

/// What the header says of itself.
pub(crate) fn header_check(deployment: &str, scope: &str) -> Hash {
    let mut sha = Sha256::new();
    sha.update(b"enclos-export-header-1\0");
    part(&mut sha, deployment.as_bytes());
    part(&mut sha, scope.as_bytes());
    sha.finalize().into()
}

/// Adds the line of an entry.
pub(crate) fn push_entry(out: &mut Vec<u8>, link: &Link<'_>, hash: &Hash) {
    let Link { session, seq, time_us, prev, kind, entry } = link;
    let (prev, hash) = (hex(prev), hex(hash));
    let fields = format!(
        "{{\"session\":\"{session}\",\"seq\":{seq},\"time_us\":{time_us},\"kind\":\"{kind}\",\"prev\":\"{prev}\",\
         \"hash\":\"{hash}\",\"entry\":"
    );
    out.extend_from_slice(fields.as_bytes());
    out.extend_from_slice(entry);
    out.extend_from_slice(b"}\n");
}

/// The line that ends a session.
pub(crate) fn session_end(session: &str, entries: u64, head: &Hash) -> String {
    let head = hex(head);
    format!("{{\"end\":\"session\",\"session\":\"{session}\",\"entries\":{entries},\"head\":\"{head}\"}}\n")
}

/// The last line.
pub(crate) fn export_end(sessions: u64, entries: u64, digest: &Hash) -> String {
    let digest = hex(digest);
    format!("{{\"end\":\"export\",\"sessions\":{sessions},\"entries\":{entries},\"digest\":\"{digest}\"}}\n")
}

/// The digest of the last line, over the header and the end of every session.
pub(crate) struct Seal(Sha256);

impl Seal {
    /// Begins with the header's fields.
    pub(crate) fn start(deployment: &str, scope: &str) -> Self {
        let mut sha = Sha256::new();
        sha.update(b"enclos-export-1\0");
        sha.update(header_check(deployment, scope));
        Self(sha)
    }

    /// Adds a session.
    pub(crate) fn session(&mut self, session: &str, entries: u64, head: &Hash) {
        part(&mut self.0, session.as_bytes());
        self.0.update(entries.to_be_bytes());
        self.0.update(head);
    }

    /// The digest.
    pub(crate) fn finish(&self) -> Hash {
        self.0.clone().finalize().into()
    }
}

/// Reads a line without its line feed. `None` for anything that we would not have written so.
pub(crate) fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut at = Cursor(line);
    let read = if at.skip("{\"session\":\"") {
        entry(&mut at)?
    } else if at.skip("{\"end\":\"session\",\"session\":\"") {
        let session = at.text()?;
        at.skip(",\"entries\":").then_some(())?;
        let entries = at.count()?;
        at.skip(",\"head\":").then_some(())?;
        Line::SessionEnd { session, entries, head: at.hash()? }
    } else if at.skip("{\"end\":\"export\",\"sessions\":") {
        let sessions = at.count()?;
        at.skip(",\"entries\":").then_some(())?;
        let entries = at.count()?;
        at.skip(",\"digest\":").then_some(())?;
        Line::ExportEnd { sessions, entries, digest: at.hash()? }
    } else {
        at.skip(FORMAT).then_some(())?;
        (at.count()? == VERSION && at.skip(",\"deployment\":\"")).then_some(())?;
        let deployment = at.text()?;
        at.skip(",\"scope\":\"").then_some(())?;
        let scope = at.text()?;
        at.skip(",\"check\":").then_some(())?;
        Line::Header { deployment, scope, check: at.hash()? }
    };
    (at.0 == b"}").then_some(read)
}

/// The version that a header names, when it is a header at all.
pub(crate) fn header_version(line: &[u8]) -> Option<u64> {
    let mut at = Cursor(line);
    at.skip(FORMAT).then(|| at.count()).flatten()
}

/// Everything after `{"session":"`. The entry is what remains but for the last brace.
fn entry<'a>(at: &mut Cursor<'a>) -> Option<Line<'a>> {
    let session = at.text()?;
    at.skip(",\"seq\":").then_some(())?;
    let seq = at.count()?;
    at.skip(",\"time_us\":").then_some(())?;
    let time_us = i64::try_from(at.count()?).ok()?;
    at.skip(",\"kind\":\"").then_some(())?;
    let kind = at.text()?;
    at.skip(",\"prev\":").then_some(())?;
    let prev = at.hash()?;
    at.skip(",\"hash\":").then_some(())?;
    let hash = at.hash()?;
    at.skip(",\"entry\":").then_some(())?;
    let (entry, rest) = at.0.split_at_checked(at.0.len().checked_sub(1)?)?;
    at.0 = rest;
    Some(Line::Entry { link: Link { session, seq, time_us, prev, kind, entry }, hash })
}

/// What is left of a line.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Passes exactly this text.
    fn skip(&mut self, text: &str) -> bool {
        match self.0.strip_prefix(text.as_bytes()) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// A text up to its closing quote, of printable ASCII without escapes; the opening quote has been passed.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|b| *b == b'"')?;
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.strip_prefix(b"\"")?;
        let plain = !text.is_empty() && text.iter().all(|b| b.is_ascii_graphic() && *b != b'\\');
        if plain { std::str::from_utf8(text).ok() } else { None }
    }

    /// A decimal number without leading zeros.
    fn count(&mut self) -> Option<u64> {
        let end = self.0.iter().position(|b| !b.is_ascii_digit())?;
        let (digits, rest) = self.0.split_at_checked(end)?;
        if digits.len() > 1 && digits.starts_with(b"0") {
            return None;
        }
        self.0 = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// A hash in quotes.
    fn hash(&mut self) -> Option<Hash> {
        let (digits, rest) = self.0.strip_prefix(b"\"")?.split_at_checked(64)?;
        self.0 = rest.strip_prefix(b"\"")?;
        unhex(digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(line: &str) -> &[u8] {
        line.strip_suffix('\n').unwrap().as_bytes()
    }

    #[test]
    fn what_is_written_is_read() {
        let text = header("d1", "all");
        let Some(Line::Header { deployment: "d1", scope: "all", check }) = parse(whole(&text)) else {
            panic!()
        };
        assert_eq!(check, header_check("d1", "all"));
        let link = Link {
            session: "sess_a",
            seq: 7,
            time_us: 12,
            prev: [1; 32],
            kind: "a.b",
            entry: br#"{"x":"}"}"#,
        };
        let mut bytes = Vec::new();
        push_entry(&mut bytes, &link, &link.hash());
        let Some(Line::Entry { link: read, hash }) = parse(bytes.strip_suffix(b"\n").unwrap()) else {
            panic!()
        };
        assert_eq!((read.hash(), hash), (link.hash(), link.hash()));
        let text = session_end("sess_a", 0, &[2; 32]);
        assert!(matches!(parse(whole(&text)), Some(Line::SessionEnd { session: "sess_a", entries: 0, .. })));
        let text = export_end(1, 20, &[3; 32]);
        assert!(matches!(parse(whole(&text)), Some(Line::ExportEnd { sessions: 1, entries: 20, .. })));
    }

    #[test]
    fn other_spellings_are_no_lines() {
        let good = session_end("sess_a", 10, &[0xab; 32]);
        let good = good.trim_end();
        assert!(parse(good.as_bytes()).is_some());
        for (from, to) in [
            (":10", ":010"),
            (":10", ": 10"),
            (":10", ":1e1"),
            (":10", ":-10"),
            ("sess_a", "sess\\u005fa"),
            ("sess_a", ""),
            ("ab", "AB"),
            ("}", "} "),
            ("}", "}\r"),
            ("\"entries\":10,", "\"entries\":10,\"entries\":10,"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(parse(bad.as_bytes()).is_none(), "{bad}");
        }
        assert!(parse(b"").is_none());
        assert!(parse(b"{").is_none());
        assert!(parse(b"{\"session\":\"").is_none());
    }
}
