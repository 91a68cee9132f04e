//! Reading commands: a bash text is cut into pieces and each piece is judged.
//!
//! The boundary is the sandbox; this is hygiene on top. The text is parsed as bash by a reader of our own, in
//! linear time, and what the reader does not know is refused. It never runs, opens or expands anything, and
//! its answer only ever hardens what the policy says of a command.
//!
//! `parse` turns a text into a flat list of commands (`script`); `argument` and `braces` turn words into
//! arguments; `wrappers`, `carriers`, `families`, `ask` and `allowed` know programs; `judge` puts it together.

mod allowed;
mod argument;
mod ask;
mod braces;
mod carriers;
mod families;
mod finding;
mod judge;
mod names;
mod options;
mod parse;
mod paths;
mod reading;
mod script;
mod subscript;
#[cfg(test)]
mod tests;
mod wrappers;
mod written;

pub(crate) use judge::is_invisible;
pub use reading::{CommandRule, Names, Piece, Reading, Rules, Unreadable};

/// The longest text that is read, in bytes.
pub const MAX_TEXT: usize = 64 * 1024;

/// Reads `text` as bash and judges it under `rules`.
///
/// Never panics, whatever the text. The time it takes grows in line with the length of the text.
#[must_use]
pub fn judge(text: &str, rules: &Rules<'_>) -> Reading {
    match unfit(text) {
        Some(unreadable) => judge::refuse(text, unreadable),
        None => judge::judge(text, rules),
    }
}

/// Why a text is not even looked at: its length, or characters that no command needs. A carriage return is
/// let through; to bash it is part of a word.
fn unfit(text: &str) -> Option<Unreadable> {
    if text.len() > MAX_TEXT {
        let reason = format!("the text is over {} KiB", MAX_TEXT / 1024);
        return Some(Unreadable { reason, at: MAX_TEXT });
    }
    let forbidden = |c: &(usize, char)| c.1.is_control() && !matches!(c.1, '\n' | '\t' | '\r');
    text.char_indices().find(forbidden).map(|(at, character)| {
        let reason = format!("the control character U+{:04X} stands in the text", u32::from(character));
        Unreadable { reason, at }
    })
}
