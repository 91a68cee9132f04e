//! Where in a JSON text something stands: the JSON pointer, the line and the column.
//!
//! The walk follows the brackets and strings of a text that the reader accepted, or accepted up to the place asked
//! for. It decides nothing about validity and never fails: at worst a place is less precise.

use std::ops::Range;

use serde::Serialize;

use super::error::excerpt;

/// A place in the text of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The JSON pointer of the value; empty for the outermost object.
    pub pointer: String,
    /// The line, from 1; 0 where the place is not in the text.
    pub line: usize,
    /// The column in characters, from 1; 0 where the place is not in the text.
    pub column: usize,
}

impl Place {
    /// The place of the byte `offset`, known to be within the value at `pointer`.
    pub(super) fn at(text: &str, offset: usize, pointer: String) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        Self { pointer, line, column }
    }

    /// The place of the byte `offset`, with the pointer of the value that is open there.
    pub(super) fn of_offset(text: &str, offset: usize) -> Self {
        let found = walk(text, |spot| spot.start >= offset);
        let inside = found.filter(|spot| spot.start == offset).map(|spot| pointer(text, &spot.frames));
        let pointer = inside.unwrap_or_else(|| enclosing(text, offset));
        Self::at(text, offset, pointer)
    }

    /// The place of the value that a JSON pointer names, or of nothing where the text holds no such value.
    pub(super) fn of_pointer(text: &str, wanted: &str) -> Self {
        let segments: Vec<&str> = wanted.split('/').skip(1).collect();
        match walk(text, |spot| is_at(text, &spot.frames, &segments)) {
            Some(spot) => Self::at(text, spot.start, wanted.to_owned()),
            None => Self { pointer: wanted.to_owned(), line: 0, column: 0 },
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str("the object")?,
            pointer => write!(f, "`{}`", excerpt(pointer))?,
        }
        if self.line > 0 {
            write!(f, " (line {}, column {})", self.line, self.column)?;
        }
        Ok(())
    }
}

/// What is open around a value.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    /// An object; the bytes of the key last read, quotes included, and whether a key is due.
    Object { key: Range<usize>, due: bool },
    /// An array and the index of the item.
    Array { index: usize },
}

/// The start of one value, and what is open around it.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) frames: Vec<Frame>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The first value at whose start `wanted` says yes. Linear in the text, but for what `wanted` costs.
pub(super) fn walk(text: &str, mut wanted: impl FnMut(&Spot) -> bool) -> Option<Spot> {
    let bytes = text.as_bytes();
    let mut spot = Spot { frames: Vec::new(), start: 0, end: 0 };
    while let Some(&byte) = bytes.get(spot.end) {
        spot.start = spot.end;
        spot.end = token_end(bytes, spot.start);
        match byte {
            b'}' | b']' => drop(spot.frames.pop()),
            b',' => next_item(&mut spot.frames),
            b':' | b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => {
                if byte == b'"' && take_key(&mut spot) {
                    continue;
                }
                if wanted(&spot) {
                    return Some(spot);
                }
                match byte {
                    b'{' => spot.frames.push(Frame::Object { key: 0..0, due: true }),
                    b'[' => spot.frames.push(Frame::Array { index: 0 }),
                    _ => {}
                }
            }
        }
    }
    None
}

/// The JSON pointer that frames spell.
pub(super) fn pointer(text: &str, frames: &[Frame]) -> String {
    frames.iter().flat_map(|frame| ["/".to_owned(), spelled(text, frame)]).collect()
}

/// A key as a segment of a JSON pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Whether frames spell these segments. The last ones are compared first, so that a long key far out is not read
/// again for each value within.
fn is_at(text: &str, frames: &[Frame], segments: &[&str]) -> bool {
    frames.len() == segments.len()
        && frames.iter().zip(segments).rev().all(|(frame, segment)| spelled(text, frame) == *segment)
}

/// A frame as a segment of a JSON pointer.
fn spelled(text: &str, frame: &Frame) -> String {
    match frame {
        Frame::Object { key, .. } => {
            let quoted = text.get(key.clone()).unwrap_or_default();
            escaped(&serde_json::from_str::<String>(quoted).unwrap_or_default())
        }
        Frame::Array { index } => index.to_string(),
    }
}

/// The pointer of the innermost value that starts before `offset`.
fn enclosing(text: &str, offset: usize) -> String {
    let mut last = Vec::new();
    let cut = text.get(..offset).unwrap_or(text);
    walk(cut, |spot| {
        last.clone_from(&spot.frames);
        false
    });
    pointer(text, &last)
}

/// The end of the token that starts at `start`: a string, a bare word or number, or one byte.
fn token_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let length = match rest.first() {
        Some(b'"') => string_length(rest),
        Some(b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r') => 1,
        _ => rest.iter().position(|b| b"{}[],: \t\n\r\"".contains(b)).unwrap_or(rest.len()).max(1),
    };
    start + length
}

/// The length of the string that `rest` opens with, quotes included.
fn string_length(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (position, &byte) in rest.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Takes the string at `spot` as a key where one is due.
fn take_key(spot: &mut Spot) -> bool {
    match spot.frames.last_mut() {
        Some(Frame::Object { key, due }) if *due => {
            *key = spot.start..spot.end;
            *due = false;
            true
        }
        _ => false,
    }
}

/// Moves to the next item after a comma.
fn next_item(frames: &mut [Frame]) {
    match frames.last_mut() {
        Some(Frame::Object { due, .. }) => *due = true,
        Some(Frame::Array { index }) => *index += 1,
        None => {}
    }
}
