//! Other readings of a text, in which a secret may stand plainly: escapes undone, invisible characters dropped,
//! base64 and hex decoded. Each remembers which stretch of the source it came from.

use super::Found;

/// How many times base64 and hex within each other are decoded.
pub(super) const MAX_DEPTH: u8 = 2;

/// How many times escapes within each other are undone.
const MAX_PASSES: usize = 2;

/// The shortest run that is decoded, in bytes.
const MIN_RUN: usize = 20;

/// A text with escapes undone, and where each of its bytes came from.
pub(super) struct View {
    pub(super) text: String,
    /// For each byte of `text`, the start and the length of its source.
    source: Vec<(usize, usize)>,
}

impl View {
    /// A hit in the view as a stretch of the source.
    pub(super) fn in_source(&self, hit: Found) -> Found {
        let start = self.source.get(hit.start).map_or(0, |(start, _)| *start);
        let last = self.source.get(hit.end.saturating_sub(1));
        Found { start, end: last.map_or(start, |(start, length)| start + length), ..hit }
    }
}

/// The readings of a text that differ from it.
pub(super) fn decoded(text: &str) -> Vec<View> {
    let mut views: Vec<View> = Vec::new();
    for _ in 0..MAX_PASSES {
        let next = match views.last() {
            None => undone(text),
            Some(before) => undone(&before.text).map(|next| through(next, before)),
        };
        match next {
            Some(view) => views.push(view),
            None => break,
        }
    }
    views
}

/// Brings the sources of a view of a view back to the first text.
fn through(next: View, before: &View) -> View {
    let of = |(start, length): (usize, usize)| {
        let first = before.source.get(start).copied().unwrap_or_default();
        let last = before.source.get(start + length.saturating_sub(1)).copied().unwrap_or(first);
        (first.0, (last.0 + last.1).saturating_sub(first.0))
    };
    View { source: next.source.into_iter().map(of).collect(), text: next.text }
}

/// One pass over a text: terminal sequences, invisible characters and NUL dropped, JSON and percent escapes undone.
/// `None` where there is nothing of the kind.
fn undone(text: &str) -> Option<View> {
    let suspect = |c: char| matches!(c, '\\' | '%' | '\u{1b}' | '\0') || invisible(c);
    if !text.contains(suspect) {
        return None;
    }
    let mut view = View { text: String::with_capacity(text.len()), source: Vec::with_capacity(text.len()) };
    let mut rest = text;
    let mut changed = false;
    while let Some(c) = rest.chars().next() {
        let (shown, length) = unit(rest, c);
        changed |= shown != Some(c);
        if let Some(shown) = shown {
            let at = text.len() - rest.len();
            view.text.push(shown);
            view.source.extend(std::iter::repeat_n((at, length), shown.len_utf8()));
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    changed.then_some(view)
}

/// What the next unit of a text shows, if anything, and its length.
fn unit(rest: &str, c: char) -> (Option<char>, usize) {
    let bytes = rest.as_bytes();
    match c {
        '\u{1b}' => (None, sequence(bytes)),
        '\0' => (None, 1),
        '%' => match (hex(bytes.get(1)), hex(bytes.get(2))) {
            (Some(high), Some(low)) if high < 8 => (Some(char::from(high << 4 | low)), 3),
            _ => (Some(c), 1),
        },
        '\\' => match bytes.get(1) {
            Some(b'n' | b'r') => (Some('\n'), 2),
            Some(b't') => (Some('\t'), 2),
            Some(b'"') => (Some('"'), 2),
            Some(b'\'') => (Some('\''), 2),
            Some(b'/') => (Some('/'), 2),
            Some(b'\\') => (Some('\\'), 2),
            Some(b'u') => code_unit(bytes).map_or((Some(c), 1), |c| (Some(c), 6)),
            _ => (Some(c), 1),
        },
        c if invisible(c) => (None, c.len_utf8()),
        c => (Some(c), c.len_utf8()),
    }
}

/// The length of a terminal sequence that begins with ESC.
fn sequence(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 1;
    }
    let parameters = bytes.iter().skip(2).take(32).take_while(|b| (0x20..0x40).contains(*b)).count();
    2 + parameters + usize::from(bytes.get(2 + parameters).is_some_and(|b| (0x40..0x7f).contains(b)))
}

/// The character of `\u00XX`: of the others none helps to spell a secret.
fn code_unit(bytes: &[u8]) -> Option<char> {
    let digits = [2, 3, 4, 5].map(|at| hex(bytes.get(at)));
    let [Some(0), Some(0), Some(high), Some(low)] = digits else { return None };
    Some(char::from(high << 4 | low)).filter(char::is_ascii)
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
}

/// Characters that show nothing and split what they stand in.
fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// What a run of base64 or hex decodes to, and where it stands.
pub(super) struct Run {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The runs of base64 and hex that decode to text.
pub(super) fn runs(text: &str) -> impl Iterator<Item = Run> {
    let in_run = |b: u8| b.is_ascii_alphanumeric() || b"+/-_".contains(&b);
    let mut start = 0;
    let bytes = text.as_bytes();
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(start..).unwrap_or_default();
            start += rest.iter().position(|b| in_run(*b))?;
            let run: &[u8] = bytes.get(start..).unwrap_or_default();
            let length = run.iter().position(|b| !in_run(*b)).unwrap_or(run.len());
            let run = run.get(..length).unwrap_or_default();
            let (from, end) = (start, start + length);
            start = end;
            if length >= MIN_RUN
                && let Some(text) = from_hex(run).or_else(|| from_base64(run))
            {
                let padding = bytes.iter().skip(end).take(2).take_while(|b| **b == b'=').count();
                return Some(Run { text, start: from, end: end + padding });
            }
        }
    })
}

fn from_hex(run: &[u8]) -> Option<String> {
    let digits: Option<Vec<u8>> = run.iter().map(|byte| hex(Some(byte))).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    readable(
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect(),
    )
}

fn from_base64(run: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(run.len());
    let (mut bits, mut count) = (0u32, 0);
    for &byte in run {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap_or_default());
        }
    }
    readable(out)
}

/// The bytes as text where they are text: what decodes to noise was not encoded text.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t')).then_some(text)
}
