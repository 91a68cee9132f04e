//! Whether a value may be a secret: references, placeholders, hashes and plain words are not.

use std::borrow::Cow;

use super::{MARK, marks};

/// The shortest value that is a secret by its looks, in bytes.
pub(super) const STRONG: usize = 14;

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Between quotes.
    Quoted,
    /// Bare, up to a delimiter.
    Bare,
}

/// The value without the marks in it.
fn unmarked(value: &str) -> Cow<'_, str> {
    if !value.contains(MARK) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut at = 0;
    for mark in marks(value) {
        out.push_str(value.get(at..mark.start).unwrap_or_default());
        at = mark.end;
    }
    out.push_str(value.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether a value that stands where a password stands is one.
pub(super) fn password(value: &str, written: Written) -> bool {
    let value = &*unmarked(value);
    let long = value.len() >= 5;
    let word = value.chars().all(|c| c.is_alphabetic() || "_.:".contains(c));
    let words = value.contains(char::is_whitespace)
        && value.split_whitespace().all(|w| w.chars().all(char::is_alphabetic));
    long && !number(value)
        && (written == Written::Quoted || !word)
        && !words
        && concrete(value)
        && !code(value, written)
}

/// Whether a value that stands where a token or key stands is one.
pub(super) fn token(value: &str, written: Written) -> bool {
    let value = &*unmarked(value);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let mixed = digits > 0 && (digits >= 12 || value.bytes().any(|b| b.is_ascii_alphabetic()));
    let cased = value.len() >= 20
        && value.bytes().any(|b| b.is_ascii_lowercase())
        && value.bytes().any(|b| b.is_ascii_uppercase());
    value.len() >= 8
        && (mixed || cased)
        && !value.contains(char::is_whitespace)
        && concrete(value)
        && !code(value, written)
        && varied(value)
}

/// Whether a run of at least `least` characters is a secret by its looks, near a word that announces one.
pub(super) fn strong(value: &str, least: usize) -> bool {
    let value = &*unmarked(value);
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    value.len() >= least
        && letters >= 3
        && digits >= 2
        && concrete(value)
        && !code(value, Written::Bare)
        && varied(value)
}

/// Whether a value is a hash, an object name or a UUID by its form.
pub(super) fn hash(value: &str) -> bool {
    let hex = value.bytes().all(|b| b.is_ascii_hexdigit());
    let uuid = || value.len() == 36 && value.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    (hex && matches!(value.len(), 32 | 40 | 64 | 96 | 128))
        || (value.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && uuid())
        || ["sha1-", "sha256-", "sha384-", "sha512-"].iter().any(|form| value.starts_with(form))
}

/// Whether the characters of a value vary as those of a secret do. Runs of one character count once.
pub(super) fn varied(value: &str) -> bool {
    let mut counts = [0u16; 256];
    let mut total = 0usize;
    let mut last = None;
    for byte in value.bytes().take(512).filter(|byte| last.replace(*byte) != Some(*byte)) {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
        total += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let kinds = counts.iter().filter(|count| **count > 0).count();
    total >= 7 && kinds >= total.min(32).div_ceil(4).max(5) && usize::from(most) * 5 <= total * 2
}

/// Whether a value is one, and no reference to one and no placeholder.
fn concrete(value: &str) -> bool {
    let reference = value.starts_with(['$', '<', '{', '@', '%', '*', '&'])
        || value.contains("${")
        || value.contains("$(")
        || value.starts_with("env.")
        || value.starts_with("process.env")
        || value.starts_with("secrets.");
    let lower = value.to_ascii_lowercase();
    let placeholder = [
        "example",
        "placeholder",
        "changeme",
        "change_me",
        "redacted",
        "your_",
        "your-",
        "xxxx",
        "****",
        "....",
    ]
    .iter()
    .any(|word| lower.contains(word));
    !reference && !placeholder
}

/// Whether a bare value is code or a path rather than a value.
fn code(value: &str, written: Written) -> bool {
    let path = (value.starts_with('/') || value.starts_with("./") || value.starts_with("~/"))
        && value.split('/').all(|part| part.len() < 20)
        && !value.contains('+')
        && !value.ends_with('=');
    let url = value.contains("://");
    let called =
        written == Written::Bare && (value.contains("::") || value.contains("->") || value.ends_with(';'));
    path || url || called
}

fn number(value: &str) -> bool {
    value.len() < 6 && value.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}
