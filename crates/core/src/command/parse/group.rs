//! Bracketed text inside words: arithmetic, subscripts, parentheses of patterns.
//!
//! Only its expansions run; they are read wherever they stand, quoted or not. Names in arithmetic are evaluated in turn:
//! that there are any is told, and text that would run something then is kept in mind.

use std::rc::Rc;

use super::dollar::nature_of;
use super::word::push_plain;
use super::{Parser, Read, within_part};
use crate::command::script::{Kind, Nature, Part};

/// What was seen in arithmetic, besides expansions.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    names: bool,
    semicolons: usize,
}

/// A pair of brackets inside a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    /// The parentheses of a pattern.
    Pattern,
    /// A subscript: single quotes do not protect what they hold.
    Subscript,
    /// A subscript inside `${ … }`, which ends at the first `}` whatever stands open.
    InBraces,
}

impl Bracket {
    fn ends(self) -> (u8, u8) {
        match self {
            Self::Pattern => (b'(', b')'),
            Self::Subscript | Self::InBraces => (b'[', b']'),
        }
    }
}

impl Parser<'_> {
    /// Text up to the bracket that closes; the opening one has been stepped over.
    /// Says whether it reads variables, were it arithmetic.
    pub(super) fn group(&mut self, bracket: Bracket) -> Read<bool> {
        let (open, close) = bracket.ends();
        let live = bracket != Bracket::Pattern;
        self.enter()?;
        let start = self.pos;
        let mut escaped = false;
        let mut nesting = 0_usize;
        let mut names = false;
        let mut parts = if live { vec![Part::Plain("_[".to_owned())] } else { Vec::new() };
        loop {
            let Some(byte) = self.peek() else {
                return self.refuse(format!("the text ends before `{}`", char::from(close)));
            };
            if byte == close && nesting == 0 {
                break;
            }
            // To bash the expansion is over here, and what follows is a command again.
            if byte == b'}' && bracket == Bracket::InBraces {
                return self.refuse("`${` ends inside its subscript");
            }
            escaped |= live && byte == b'\\' && matches!(self.byte(self.pos + 1), Some(b'$' | b'`'));
            if live && matches!(byte, b'<' | b'>') && self.second() == Some(b'(') {
                return self.refuse("a process substitution inside `[` cannot be read");
            }
            if byte == open {
                nesting += 1;
                self.check_depth(nesting)?;
            } else if byte == close {
                nesting -= 1;
            }
            names |= self.element(byte, &mut parts, live)?;
        }
        if live {
            self.script.evaluates |= names;
            self.note(start, &parts);
        }
        if escaped {
            self.expanded_again(start)?;
        }
        self.pos += 1;
        self.depth -= 1;
        Ok(names)
    }

    /// The subscript of a variable that is expanded, from its bracket: evaluated in arithmetic.
    pub(super) fn subscript(&mut self, bracket: Bracket) -> Read<()> {
        let start = self.pos;
        self.pos += 1;
        if self.group(bracket)? {
            self.emit(Kind::Arithmetic { names: true }, start, Vec::new(), Vec::new(), Vec::new());
        }
        Ok(())
    }

    /// One element of arithmetic: whether it reads a variable whose value may be anything.
    fn element(&mut self, byte: u8, parts: &mut Vec<Part>, live: bool) -> Read<bool> {
        if byte == b'_' || byte.is_ascii_alphabetic() {
            let name = self.name();
            push_plain(parts, &name);
            return Ok(nature_of(&name) != Nature::Number);
        }
        if byte.is_ascii_digit() {
            while self.peek().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
                self.plain_byte(parts);
            }
            return Ok(false);
        }
        let before = parts.len();
        let coded = self.second() == Some(b'\'');
        self.inner(byte, parts, live)?;
        let anything =
            |part: &Part| matches!(part, Part::Dynamic(dynamic) if dynamic.nature != Nature::Number);
        Ok(byte == b'$' && coded || parts.iter().skip(before).any(anything))
    }

    /// What a backslash protects in a subscript runs when the subscript is expanded a second time.
    fn expanded_again(&mut self, start: usize) -> Read<()> {
        let place = self.place(start);
        let text = self.script.slice(place).replace("\\$", "$").replace("\\`", "`");
        self.spend(text.len());
        let (carrier, handed) = (self.script.span(place), self.script.handed(self.id));
        let id = self.script.add_source(Rc::from(text), Some(carrier), handed, self.depth);
        within_part(super::expanded(self.script, id), "a subscript")
    }

    /// One element of bracketed text.
    fn inner(&mut self, byte: u8, parts: &mut Vec<Part>, live: bool) -> Read<()> {
        match byte {
            b'\\' => self.escape(parts),
            b'\'' if live => self.live_single_quoted(parts)?,
            b'\'' => self.single_quoted(parts)?,
            b'"' => {
                self.pos += 1;
                self.double_quoted(parts, Some(b'"'))?;
            }
            b'$' if live && self.second() == Some(b'\'') => self.live_ansi_quoted(parts)?,
            b'$' => self.dollar(parts, live)?,
            b'`' => self.backquoted(parts, live)?,
            _ => self.plain_byte(parts),
        }
        Ok(())
    }

    /// Arithmetic up to `))`, both opening parentheses stepped over: whether it reads or sets variables.
    /// `None` when the text turns out not to be arithmetic.
    pub(super) fn arithmetic(&mut self) -> Read<Option<bool>> {
        Ok(self.arithmetic_text()?.map(|seen| seen.names))
    }

    /// The three expressions of `for (( … ))`: the number of semicolons between them.
    pub(super) fn arithmetic_for(&mut self) -> Read<Option<usize>> {
        Ok(self.arithmetic_text()?.map(|seen| seen.semicolons))
    }

    fn arithmetic_text(&mut self) -> Read<Option<Seen>> {
        let open = self.pos.saturating_sub(1);
        let (seen, close) = within_part(self.counting(Self::arithmetic_inside), "arithmetic")?;
        self.check_count(open, close)?;
        Ok(seen)
    }

    /// What was seen, and where the parenthesis ends that closes: the first of two, or it is no arithmetic.
    fn arithmetic_inside(&mut self) -> Read<(Option<Seen>, usize)> {
        self.enter()?;
        let start = self.pos;
        let mut nesting = 0_usize;
        let mut seen = Seen::default();
        let mut parts = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return self.refuse("the text ends before `))`") };
            match byte {
                b')' if nesting == 0 => {
                    if self.second() != Some(b')') {
                        self.depth -= 1;
                        return Ok((None, self.pos + 1));
                    }
                    break;
                }
                b')' => nesting -= 1,
                b'(' => {
                    nesting += 1;
                    self.check_depth(nesting)?;
                }
                b';' => seen.semicolons += 1,
                _ => {}
            }
            seen.names |= self.element(byte, &mut parts, true)?;
        }
        self.script.evaluates |= seen.names;
        self.note(start, &parts);
        self.take(b')');
        let close = self.pos;
        self.take(b')');
        self.depth -= 1;
        Ok((Some(seen), close))
    }
}
