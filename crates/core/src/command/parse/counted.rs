//! Where bash only counts parentheses or brackets: arithmetic, patterns, and all that begins `$((`, `<((` or `>((`.
//!
//! There bash finds the end first and looks inside later, at run time. Between quotes nothing counts, and nothing else is
//! looked at: not the `}` of `${`, no bracket, no comment, no `case`. Where that end is not the end that the grammar
//! says, what follows would be commands to bash and a part of the construct here. Such text is refused.

use super::{Parser, Read};

impl Parser<'_> {
    /// Reads a construct inside which the places of double quotes are kept in mind.
    pub(super) fn counting<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.counting += 1;
        let result = read(self);
        self.counting -= 1;
        if self.counting == 0 && result.is_err() {
            self.quotes.clear();
        }
        result
    }

    /// Keeps in mind that text in double quotes stands from `start` to here.
    pub(super) fn note_quotes(&mut self, start: usize) {
        if self.counting > 0 {
            self.quotes.insert(start, self.pos);
        }
    }

    /// Refuses unless the parenthesis or bracket at `start` is closed by the one before `end`, by counting alone.
    pub(super) fn check_count(&mut self, start: usize, end: usize) -> Read<()> {
        // Far less work than reading it.
        self.spend(end.saturating_sub(start) / 8 + 1);
        if self.counts_to(start, end) {
            return Ok(());
        }
        self.refuse("bash only counts the parentheses here, and ends it at another one")
    }

    fn counts_to(&self, start: usize, end: usize) -> bool {
        let Some(open) = self.byte(start) else { return false };
        let close = if open == b'[' { b']' } else { b')' };
        let mut depth = 0_usize;
        let mut at = start;
        while at < end {
            let next = at + 1;
            at = match self.byte(at) {
                Some(byte) if byte == open => {
                    depth += 1;
                    next
                }
                Some(byte) if byte == close && depth == 1 => return next == end,
                Some(byte) if byte == close => {
                    depth -= 1;
                    next
                }
                Some(b'\\') => next + 1,
                Some(b'\'') => {
                    let escapes = at > start && self.byte(at - 1) == Some(b'$');
                    match self.past(next, b'\'', escapes) {
                        Some(after) => after,
                        None => return false,
                    }
                }
                Some(b'`') => match self.past(next, b'`', true) {
                    Some(after) => after,
                    None => return false,
                },
                Some(b'"') => match self.quotes.get(&at) {
                    Some(&after) => after,
                    None => return false,
                },
                Some(_) => next,
                None => return false,
            };
        }
        false
    }

    /// Behind the next `quote`.
    fn past(&self, mut at: usize, quote: u8, escapes: bool) -> Option<usize> {
        loop {
            match self.byte(at)? {
                byte if byte == quote => return Some(at + 1),
                b'\\' if escapes => at += 2,
                _ => at += 1,
            }
        }
    }
}
