//! What of a foreign text may reach a terminal.
//!
//! Text of models, tools, repositories and cards is cut into characters that show themselves and into marks that
//! name what would otherwise act or hide: control characters, escape sequences, bidi overrides, zero-width and tag
//! characters, private glyphs. Nothing here knows a terminal; no control character passes, not even a line's end.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

/// How a text is meant to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Letter by letter: a command, a diff, a path. Every odd space is marked.
    Exact,
    /// As prose: a space that does not break is a space, a wish for a coloured glyph is dropped.
    Prose,
}

/// A part of a text that can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A character that shows itself, with its width in cells (0 for an accent on the character before).
    Plain(char, usize),
    /// A tabulator, to be laid out as spaces.
    Tab,
    /// A mark in the place of a character that must not pass. ASCII, one cell a byte.
    Mark(String),
}

/// The most accents that one character may carry before the rest is marked.
const ACCENTS: usize = 3;

/// Reads a text character by character; what it gives can be shown.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    reading: Reading,
    /// Accents that the character before can still carry.
    room: usize,
}

impl Reader {
    /// A reader at the beginning of a line.
    pub fn new(reading: Reading) -> Self {
        Self { reading, room: 0 }
    }

    /// One more character.
    pub fn put(&mut self, c: char) -> Option<Shown> {
        let shown = part(c, self.reading, self.room);
        self.room = match &shown {
            Some(Shown::Plain(_, 0)) => self.room - 1,
            Some(Shown::Plain(..)) => ACCENTS,
            Some(Shown::Tab | Shown::Mark(_)) => 0,
            None => self.room,
        };
        shown
    }
}

/// Cuts one line (a text without line ends; one that has them gets marks) into parts that can be shown.
pub fn parts(line: &str, reading: Reading) -> impl Iterator<Item = Shown> {
    let mut reader = Reader::new(reading);
    line.chars().filter_map(move |c| reader.put(c))
}

/// One character, after one that can still carry `room` accents.
fn part(c: char, reading: Reading, room: usize) -> Option<Shown> {
    if c == '\t' {
        return Some(Shown::Tab);
    }
    if reading == Reading::Prose {
        if c == '\u{fe0e}' || c == '\u{fe0f}' {
            return None;
        }
        if is_odd_space(c) {
            return Some(Shown::Plain(' ', 1));
        }
    }
    if is_hidden(c) || is_odd_space(c) {
        return Some(Shown::Mark(mark(c)));
    }
    match c.width() {
        Some(0) if room == 0 => Some(Shown::Mark(mark(c))),
        Some(width) => Some(Shown::Plain(c, width)),
        None => Some(Shown::Mark(mark(c))),
    }
}

/// The name of a character that must not pass: `\x1b` for controls, `<U+202E>` for the rest.
pub fn mark(c: char) -> String {
    match c {
        '\r' => r"\r".to_owned(),
        '\n' => r"\n".to_owned(),
        '\0'..='\x1f' | '\x7f'..='\u{9f}' => format!(r"\x{:02x}", u32::from(c)),
        _ => format!("<U+{:04X}>", u32::from(c)),
    }
}

/// Whether a character acts on the terminal or cannot be seen.
pub fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || matches!(code,
            0xad | 0x34f | 0x61c | 0x600..=0x605 | 0x6dd | 0x70f | 0x8e2 | 0x115f..=0x1160 | 0x17b4..=0x17b5
            | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f
            | 0xfeff | 0xffa0 | 0xfff0..=0xfffc | 0x110bd | 0x110cd | 0x13430..=0x1345f | 0x1bca0..=0x1bca3
            | 0x1d159 | 0x1d173..=0x1d17a | 0xe000..=0xf8ff | 0xfdd0..=0xfdef | 0xe0000..=0xe0fff | 0xf0000..)
        || code & 0xfffe == 0xfffe
}

/// Whether a character looks like a space and is none.
fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

/// A text in one line: for a place that takes no style, such as a prompt or a file of plain words.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in parts(text, Reading::Exact) {
        match part {
            Shown::Plain(c, _) => line.push(c),
            Shown::Tab => line.push(' '),
            Shown::Mark(mark) => line.push_str(&mark),
        }
    }
    line
}

/// A text of several lines for a place that takes no rows: line ends stay, everything else as in [`one_line`].
pub fn many_lines(text: &str) -> String {
    text.split('\n')
        .map(|line| one_line(line.strip_suffix('\r').unwrap_or(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Bytes of a program that come piece by piece, made fit for a terminal.
#[derive(Debug, Default)]
pub struct Bytes {
    /// The beginning of a character whose rest has not come.
    pending: Vec<u8>,
}

impl Bytes {
    /// The text of these bytes, as far as its characters are complete.
    pub fn put(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let keep = match std::str::from_utf8(&self.pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // What is broken in the middle is replaced; what is cut at the end waits.
            Err(_) => self.pending.len() - cut_character(&self.pending),
            Ok(_) => self.pending.len(),
        };
        let rest = self.pending.split_off(keep);
        let whole = std::mem::replace(&mut self.pending, rest);
        many_lines(&String::from_utf8_lossy(&whole))
    }

    /// What is left at the end.
    pub fn end(&mut self) -> String {
        many_lines(&String::from_utf8_lossy(&std::mem::take(&mut self.pending)))
    }
}

/// Bytes at the end that begin a character and do not complete it.
fn cut_character(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|&back| {
            let tail = &bytes[bytes.len() - back..];
            matches!(std::str::from_utf8(tail), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

/// JSON that a terminal may be shown: the same value, with every hidden character outside ASCII written `\uXXXX`.
///
/// Such characters occur only inside strings, where both spellings mean the same.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if u32::from(c) >= 0x7f && is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Reading, Shown, is_hidden, json, one_line, parts};

    /// Every character there is, in texts of a manageable length.
    fn all() -> Vec<Vec<char>> {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        all.chunks(1 << 12).map(<[char]>::to_vec).collect()
    }

    #[test]
    fn no_character_of_unicode_acts_on_the_terminal() {
        for chunk in all() {
            let alone: String = chunk.iter().flat_map(|&c| [c, 'a']).collect();
            let repeated: String = chunk.iter().flat_map(|&c| [c; 5]).collect();
            for text in [alone, repeated] {
                for reading in [Reading::Exact, Reading::Prose] {
                    for part in parts(&text, reading) {
                        match part {
                            Shown::Plain(c, _) => assert!(!c.is_control() && !is_hidden(c), "{c:?}"),
                            Shown::Mark(mark) => assert!(mark.bytes().all(|b| (b' '..=b'~').contains(&b))),
                            Shown::Tab => {}
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_character_leaves_a_trace_when_letters_count() {
        for chunk in all() {
            assert_eq!(parts(&String::from_iter(&chunk), Reading::Exact).count(), chunk.len());
        }
    }

    #[test]
    fn escapes_and_overrides_are_named() {
        assert_eq!(one_line("a\x1b[31mb"), r"a\x1b[31mb");
        assert_eq!(one_line("x\u{202e}y"), "x<U+202E>y");
        assert_eq!(one_line("a\r\nb"), r"a\r\nb");
        assert_eq!(one_line("\u{9b}2J"), r"\x9b2J");
        assert_eq!(one_line("rm\u{a0}-rf"), "rm<U+00A0>-rf");
        assert_eq!(one_line("\u{e0041}"), "<U+E0041>");
        assert_eq!(one_line("été 日本 العربية"), "été 日本 العربية");
    }

    #[test]
    fn accents_are_bounded_and_need_a_letter() {
        assert_eq!(one_line("e\u{301}"), "e\u{301}");
        assert_eq!(one_line("\u{301}"), "<U+0301>");
        assert_eq!(one_line("e\u{301}\u{301}\u{301}\u{301}"), "e\u{301}\u{301}\u{301}<U+0301>");
    }

    #[test]
    fn bytes_may_be_cut_anywhere() {
        let text = "é日\u{1f600}\u{1b}[1m\r\n\tx".as_bytes();
        for size in 1..text.len() {
            let mut bytes = Bytes::default();
            let mut shown: String = text.chunks(size).map(|chunk| bytes.put(chunk)).collect();
            shown.push_str(&bytes.end());
            assert!(shown.starts_with("é日\u{1f600}\\x1b[1m"), "{size}: {shown:?}");
            assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{size}: {shown:?}");
        }
        let mut bytes = Bytes::default();
        assert_eq!(bytes.put(b"a\xffb\xe6\x97"), "a\u{fffd}b");
        assert_eq!(bytes.put(b"\xa5"), "日");
        assert_eq!(bytes.put(b"\xe6") + &bytes.end(), "\u{fffd}");
    }

    #[test]
    fn json_keeps_its_value_and_loses_its_teeth() {
        for chunk in all() {
            let value = serde_json::Value::String(chunk.iter().collect());
            let text = json(&value.to_string());
            assert!(!text.chars().any(|c| c.is_control() || is_hidden(c)));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok(), Some(value));
        }
    }
}
