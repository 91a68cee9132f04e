//! What begins with `$`, and backquotes.
//!
//! A substitution is read as the program it is, in place; what it prints is never guessed.

use std::rc::Rc;

use super::group::Bracket;
use super::word::push_quoted;
use super::{Parser, Read, within_part};
use crate::command::script::{Dynamic, Kind, Nature, Part, Piped};

impl Parser<'_> {
    /// An expansion, from its `$`.
    pub(super) fn dollar(&mut self, parts: &mut Vec<Part>, quoted: bool) -> Read<()> {
        let start = self.pos;
        self.pos += 1;
        let nature = match self.peek() {
            Some(b'(') => self.parenthesis_after_dollar(start)?,
            Some(b'{') => self.parameter(quoted)?,
            Some(b'[') => {
                let open = self.pos;
                let read = self.counting(|parser| parser.subscript(Bracket::Subscript));
                within_part(read, "arithmetic")?;
                self.check_count(open, self.pos)?;
                Nature::Number
            }
            Some(b'\'') if !quoted => return self.ansi_quoted(parts),
            Some(b'"') if !quoted => {
                self.pos += 1;
                let mut inner = Vec::new();
                self.double_quoted(&mut inner, Some(b'"'))?;
                parts.extend(inner.into_iter().map(|part| match part {
                    Part::Quoted(text) => Part::Coded(text),
                    Part::Plain(_) | Part::Coded(_) | Part::Dynamic(_) => part,
                }));
                return Ok(());
            }
            Some(b'?' | b'#' | b'!' | b'$') => {
                self.pos += 1;
                Nature::Number
            }
            Some(b'@' | b'*' | b'-' | b'0'..=b'9') => {
                self.pos += 1;
                Nature::Variable
            }
            _ => {
                let name = self.name();
                if name.is_empty() {
                    match parts.last_mut() {
                        Some(Part::Plain(text)) if !quoted => text.push('$'),
                        _ => push_quoted(parts, "$"),
                    }
                    return Ok(());
                }
                nature_of(&name)
            }
        };
        parts.push(Part::Dynamic(Dynamic { place: self.place(start), quoted, nature }));
        Ok(())
    }

    /// `$(( … ))` or `$( … )`, from its first parenthesis.
    fn parenthesis_after_dollar(&mut self, start: usize) -> Read<Nature> {
        if self.second() == Some(b'(') {
            let before = self.bookmark();
            self.take(b'(');
            self.take(b'(');
            if let Some(names) = self.arithmetic()? {
                if names {
                    self.emit(Kind::Arithmetic { names }, start, Vec::new(), Vec::new(), Vec::new());
                }
                return Ok(Nature::Number);
            }
            self.back_to(before)?;
            let open = self.pos;
            self.take(b'(');
            let read = self.counting(|parser| parser.inside(Self::command_list_to_close));
            within_part(read, "a substitution that begins like arithmetic")?;
            self.check_count(open, self.pos)?;
        } else {
            self.take(b'(');
            self.inside(Self::command_list_to_close)?;
        }
        let inside = self.text.get(start..self.pos).unwrap_or("");
        let counts = matches!(inside, "$(nproc)" | "$(nproc --all)");
        Ok(if counts { Nature::Number } else { Nature::Substitution })
    }

    /// The commands of a substitution, and the parenthesis that closes it. Says whether there are any.
    pub(super) fn command_list_to_close(&mut self) -> Read<bool> {
        self.enter()?;
        let pending = std::mem::take(&mut self.pending);
        self.substitutions += 1;
        self.skip_blank();
        let outer = self.head.replace(self.pos);
        let any = self.list()?;
        self.head = outer;
        self.close()?;
        if !self.pending.is_empty() {
            return self.refuse("a here-document begins in a substitution that ends before its body");
        }
        self.substitutions -= 1;
        self.pending = pending;
        self.depth -= 1;
        Ok(any)
    }

    /// Backquotes, from the first.
    pub(super) fn backquoted(&mut self, parts: &mut Vec<Part>, quoted: bool) -> Read<()> {
        let start = self.pos;
        let mut at = start + 1;
        let mut escapes = false;
        loop {
            match self.byte(at) {
                None => return self.refuse("the text ends before the closing backquote"),
                Some(b'`') => break,
                Some(b'\\') => {
                    escapes = true;
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
        self.spend(at - start);
        if escapes {
            self.pos = start;
            let inner = unescape(self.text.get(start + 1..at).unwrap_or(""), quoted);
            within_part(self.read_copy(inner, start..at + 1), "backquotes")?;
        } else {
            self.pos = start + 1;
            within_part(self.inside(|parser| parser.backquoted_in_place(at)), "backquotes")?;
        }
        self.pos = at + 1;
        parts.push(Part::Dynamic(Dynamic { place: self.place(start), quoted, nature: Nature::Substitution }));
        Ok(())
    }

    fn backquoted_in_place(&mut self, end: usize) -> Read<()> {
        self.enter()?;
        let pending = std::mem::take(&mut self.pending);
        let substitutions = std::mem::take(&mut self.substitutions);
        self.within(end, |parser| {
            parser.list()?;
            parser.skip_blank();
            if parser.peek().is_some() { parser.unexpected() } else { parser.read_here_documents() }
        })?;
        self.pending = pending;
        self.substitutions = substitutions;
        self.depth -= 1;
        Ok(())
    }

    /// Reads a copy of a part of the text, with its escapes taken away, as a program of its own.
    fn read_copy(&mut self, inner: String, range: std::ops::Range<usize>) -> Read<()> {
        self.enter()?;
        self.spend(inner.len());
        let place = crate::command::script::Place { text: self.id, start: range.start, end: range.end };
        let carrier = self.script.span(place);
        let handed = self.script.handed(self.id);
        let id = self.script.add_source(Rc::from(inner), Some(carrier), handed, self.depth);
        let piped = if self.piped == Piped::No { Piped::No } else { Piped::Within };
        super::program(self.script, id, piped)?;
        self.depth -= 1;
        Ok(())
    }
}

/// What a variable is, by its name.
pub(super) fn nature_of(name: &str) -> Nature {
    match name {
        "IFS" => Nature::Separator,
        "HOME" => Nature::Home,
        "RANDOM" | "SRANDOM" | "SECONDS" | "UID" | "EUID" | "PPID" | "BASHPID" | "LINENO"
        | "EPOCHSECONDS" => Nature::Number,
        _ => Nature::Variable,
    }
}

/// The inside of backquotes as the inner shell sees it.
fn unescape(text: &str, quoted: bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        match rest.peek() {
            Some('\n') => {
                rest.next();
            }
            Some(&escaped @ ('$' | '`' | '\\')) => {
                result.push(escaped);
                rest.next();
            }
            Some('"') if quoted => {
                result.push('"');
                rest.next();
            }
            Some(&other) => {
                result.push('\\');
                result.push(other);
                rest.next();
            }
            None => result.push('\\'),
        }
    }
    result
}
