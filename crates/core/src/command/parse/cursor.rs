//! Moving over the text: bytes, line continuations, blanks, comments, operators, reserved words.
//!
//! A backslash before a newline disappears wherever bash makes it disappear, so an operator, a reserved word
//! or `$(` cannot be hidden by splitting it over two lines.

use super::{Parser, Read};
use crate::command::script::Place;

/// An operator between commands. Redirections are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Semicolon,
    /// `;;`, `;&`, `;;&`.
    CaseEnd,
    Ampersand,
    /// `|`, `|&`.
    Pipe,
    Open,
    Close,
    Newline,
    /// The end of the text.
    End,
}

/// A here-document whose body begins after the current line.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) index: usize,
    pub(super) delimiter: String,
    pub(super) literal: bool,
    pub(super) strip_tabs: bool,
}

const KEYWORDS: [&str; 22] = [
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];
const LONGEST_KEYWORD: usize = 8;

/// A byte that ends a word.
pub(super) fn is_break(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

impl Parser<'_> {
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        if at < self.end { self.text.as_bytes().get(at).copied() } else { None }
    }

    pub(super) fn spend(&mut self, steps: usize) {
        self.script.steps += steps;
    }

    /// The next byte, line continuations gone.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let next = self.past_continuations(self.pos);
        self.script.steps += 1 + next - self.pos;
        self.pos = next;
        self.byte(next)
    }

    /// The byte after the next one, line continuations gone.
    pub(super) fn second(&mut self) -> Option<u8> {
        let at = self.past_continuations(self.pos + 1);
        self.script.steps += at - self.pos;
        self.byte(at)
    }

    pub(super) fn past_continuations(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b'\\') && self.byte(at + 1) == Some(b'\n') {
            at += 2;
        }
        at
    }

    /// Steps over the next byte if it is `wanted`.
    pub(super) fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.pos += 1;
        }
        found
    }

    pub(super) fn place(&self, start: usize) -> Place {
        Place { text: self.id, start, end: self.pos.clamp(start, self.end.max(start)) }
    }

    /// Steps over blanks and a comment. Only called where a new word may begin.
    pub(super) fn skip_blank(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'#') => {
                    let rest = self.text.as_bytes().get(self.pos..self.end).unwrap_or(&[]);
                    let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                    self.pos += length;
                    self.spend(length);
                    return;
                }
                _ => return,
            }
        }
    }

    /// Steps over blanks, comments and ends of line; bodies of here-documents are read on the way.
    pub(super) fn newlines(&mut self) -> Read<()> {
        loop {
            self.skip_blank();
            if self.byte(self.pos) != Some(b'\n') {
                return Ok(());
            }
            self.pos += 1;
            self.read_here_documents()?;
        }
    }

    /// The operator that stands next, and where it ends.
    pub(super) fn operator(&mut self) -> Option<(Operator, usize)> {
        let Some(first) = self.peek() else { return Some((Operator::End, self.pos)) };
        if !matches!(first, b';' | b'&' | b'|' | b'(' | b')' | b'\n') {
            return None;
        }
        let one = self.pos + 1;
        let second_at = self.past_continuations(one);
        let second = self.byte(second_at);
        let third_at = self.past_continuations(second_at + 1);
        self.spend(third_at - self.pos);
        let third = self.byte(third_at);
        Some(match (first, second) {
            (b'\n', _) => (Operator::Newline, one),
            (b'(', _) => (Operator::Open, one),
            (b')', _) => (Operator::Close, one),
            (b';', Some(b';')) if third == Some(b'&') => (Operator::CaseEnd, third_at + 1),
            (b';', Some(b';' | b'&')) => (Operator::CaseEnd, second_at + 1),
            (b';', _) => (Operator::Semicolon, one),
            (b'&', Some(b'&')) => (Operator::And, second_at + 1),
            (b'&', Some(b'>')) => return None,
            (b'&', _) => (Operator::Ampersand, one),
            (_, Some(b'|')) => (Operator::Or, second_at + 1),
            (_, Some(b'&')) => (Operator::Pipe, second_at + 1),
            _ => (Operator::Pipe, one),
        })
    }

    /// Steps over the operator if it is `wanted`.
    pub(super) fn take_operator(&mut self, wanted: Operator) -> bool {
        self.skip_blank();
        match self.operator() {
            Some((found, after)) if found == wanted => {
                self.pos = after;
                true
            }
            _ => false,
        }
    }

    /// The reserved word that stands next, and where it ends. Quotes make a word ordinary.
    pub(super) fn keyword(&mut self) -> Option<(&'static str, usize)> {
        let mut seen = [0u8; LONGEST_KEYWORD];
        let mut length = 0;
        let mut at = self.pos;
        loop {
            at = self.past_continuations(at);
            match self.byte(at) {
                Some(byte) if !is_break(byte) => {
                    *seen.get_mut(length)? = byte;
                    length += 1;
                    at += 1;
                }
                _ => break,
            }
        }
        // What goes on with `<(` is an ordinary word.
        if matches!(self.byte(at), Some(b'<' | b'>'))
            && self.byte(self.past_continuations(at + 1)) == Some(b'(')
        {
            return None;
        }
        let seen = seen.get(..length)?;
        let found = KEYWORDS.iter().find(|word| word.as_bytes() == seen)?;
        self.spend(at - self.pos);
        Some((found, at))
    }

    /// Steps over this reserved word, or says that it is missing.
    pub(super) fn expect_keyword(&mut self, wanted: &str) -> Read<()> {
        self.skip_blank();
        match self.keyword() {
            Some((found, after)) if found == wanted => {
                self.pos = after;
                Ok(())
            }
            _ if self.peek().is_none() => self.refuse(format!("the text ends before `{wanted}`")),
            _ => self.unexpected(),
        }
    }

    /// Steps over an option of `time`.
    pub(super) fn take_option(&mut self, option: &str) {
        self.skip_blank();
        let rest = self.text.as_bytes().get(self.pos..self.end).unwrap_or(&[]);
        let fits =
            rest.starts_with(option.as_bytes()) && rest.get(option.len()).is_none_or(|&byte| is_break(byte));
        if fits {
            self.pos += option.len();
        }
    }

    /// A name of letters, digits and `_` that does not begin with a digit; empty when there is none.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.peek() {
            let fits =
                byte == b'_' || byte.is_ascii_alphabetic() || (byte.is_ascii_digit() && !name.is_empty());
            if !fits {
                break;
            }
            name.push(char::from(byte));
            self.pos += 1;
        }
        name
    }
}
