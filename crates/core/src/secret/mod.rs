//! Taking secrets out of text before it is hashed, kept, shown or sent on.
//!
//! Three ways of finding them, over the text as written and as decoded: values that the gateway knows, shapes that
//! secrets have, and places where secrets stand. Each is replaced by a typed mark `[secret:KIND]`. A redaction is cheap
//! and a leak is not, so there is no list of exceptions but placeholders, references and what is plainly a hash. Time
//! grows in line with the text; no input makes it panic. It never says what a secret was.

mod assign;
mod known;
mod place;
mod scan;
mod shapes;
mod value;
mod view;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

pub use known::KnownSecret;

/// What begins a mark.
pub const MARK: &str = "[secret:";

/// The kind of private keys, whole or cut off.
pub const PRIVATE_KEY: &str = "private-key";

/// The longest kind in a mark, in bytes.
const MAX_KIND: usize = 32;

/// How often a text is gone over until nothing more is found.
const MAX_PASSES: usize = 8;

/// Finds and replaces secrets. Built once, used from any thread.
#[derive(Debug)]
pub struct Redactor {
    known: known::Known,
    scanner: scan::Scanner,
}

/// The searchers for secrets could not be built, so that nothing may be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the search for secrets cannot be built: {0}; expected fewer or shorter known secrets")]
pub struct RedactorError(String);

/// A stretch of text that is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    start: usize,
    end: usize,
    kind: Cow<'static, str>,
}

impl Found {
    fn new(start: usize, end: usize, kind: &'static str) -> Self {
        Self { start, end, kind: Cow::Borrowed(kind) }
    }
}

impl Redactor {
    /// Builds the searchers, with the values that the gateway knows.
    ///
    /// # Errors
    /// [`RedactorError`] when the known values are too many for memory.
    pub fn new(known: Vec<KnownSecret>) -> Result<Self, RedactorError> {
        let failed = |error: aho_corasick::BuildError| RedactorError(error.to_string());
        Ok(Self {
            known: known::Known::new(known).map_err(failed)?,
            scanner: scan::Scanner::new().map_err(failed)?,
        })
    }

    /// The text with a mark in place of each secret. What a replacement uncovers is replaced as well, so that
    /// redacting again changes nothing.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for _ in 0..MAX_PASSES {
            let found = self.find(&out);
            if found.is_empty() {
                break;
            }
            out = Cow::Owned(replaced(&out, found));
        }
        out
    }

    /// The kinds of the secrets in a text, in their order.
    pub fn kinds(&self, text: &str) -> Vec<String> {
        self.find(text).into_iter().map(|found| found.kind.into_owned()).collect()
    }

    /// The secrets of a text, apart from each other, on character boundaries, in order.
    fn find(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        self.search(text, 0, &mut found);
        for view in view::decoded(text) {
            let mut within = Vec::new();
            self.search(&view.text, 0, &mut within);
            found.extend(within.into_iter().map(|hit| view.in_source(hit)));
        }
        merged(text, found)
    }

    /// Finds secrets in one reading of the text, and in what base64 and hex in it decode to.
    fn search(&self, text: &str, depth: u8, found: &mut Vec<Found>) {
        self.known.find(text, found);
        self.scanner.find(text, &marks(text), found);
        if depth == view::MAX_DEPTH {
            return;
        }
        for run in view::runs(text) {
            let mut within = Vec::new();
            self.search(&run.text, depth + 1, &mut within);
            if let Some(first) = within.into_iter().next() {
                found.push(Found { start: run.start, end: run.end, kind: first.kind });
            }
        }
    }
}

/// The text with marks in place of what was found.
fn replaced(text: &str, found: Vec<Found>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for Found { start, end, kind } in found {
        out.push_str(text.get(at..start).unwrap_or_default());
        // Writing to a string does not fail.
        let _ = write!(out, "{MARK}{kind}]");
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The marks in a text: what announces nothing, since it is what a secret was replaced by.
fn marks(text: &str) -> Vec<Range<usize>> {
    let mark = |(start, _): (usize, &str)| {
        let kind = text.get(start + MARK.len()..)?;
        let length = kind.bytes().take(MAX_KIND + 1).position(|b| !known::in_kind(b))?;
        (kind.as_bytes().get(length) == Some(&b']') && length > 0)
            .then(|| start..start + MARK.len() + length + 1)
    };
    text.match_indices(MARK).filter_map(mark).collect()
}

/// Joins what overlaps, widens to character boundaries, and takes the rest of what was too long to be read whole.
fn merged(text: &str, mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
    let mut out: Vec<Found> = Vec::new();
    for mut hit in found {
        while !text.is_char_boundary(hit.start) {
            hit.start -= 1;
        }
        hit.end = hit.end.min(text.len());
        while !text.is_char_boundary(hit.end) {
            hit.end += 1;
        }
        match out.last_mut() {
            Some(last) if hit.start < last.end => last.end = last.end.max(hit.end),
            _ if hit.start < hit.end => out.push(hit),
            _ => {}
        }
    }
    for at in 0..out.len() {
        let next = out.get(at + 1).map_or(text.len(), |next| next.start);
        if let Some(hit) = out.get_mut(at).filter(|hit| hit.end - hit.start >= assign::MAX_VALUE) {
            let rest = text.get(hit.end..next).unwrap_or_default();
            hit.end += rest.find(|c: char| c.is_whitespace() || "\"'`".contains(c)).unwrap_or(rest.len());
        }
    }
    out
}
