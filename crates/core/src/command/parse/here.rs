//! Here-documents: their delimiters, and their bodies at the end of the line that announces them.
//!
//! A body is text for the command, not commands; unless the delimiter is quoted, its expansions are live.

use std::rc::Rc;

use super::cursor::Pending;
use super::simple::Form;
use super::{Parser, Read, within_part};
use crate::command::script::{HereDocument, Part, Place};

/// How deep here-documents may stand in each other: each looks for its end in what the others hold.
const MAX_BODIES: usize = 8;

impl Parser<'_> {
    /// The delimiter after `<<`: announces a body and returns its index.
    pub(super) fn here_document(&mut self, strip_tabs: bool) -> Read<usize> {
        if !self.at_word() {
            return self.unexpected();
        }
        let start = self.pos;
        let before = self.script.commands.len();
        let word = self.word(Form::Usual)?;
        self.script.commands.truncate(before);
        let mut literal = false;
        let mut delimiter = String::new();
        for part in word.parts {
            match part {
                Part::Plain(text) => delimiter.push_str(&text),
                Part::Quoted(text) => {
                    literal = true;
                    delimiter.push_str(&text);
                }
                Part::Coded(_) | Part::Dynamic(_) => {
                    self.pos = start;
                    return self.refuse("the delimiter of a here-document must be plain text");
                }
            }
        }
        if delimiter.contains('\n') {
            return self.refuse("the delimiter of a here-document must stand on one line");
        }
        let index = self.script.here.len();
        self.script.here.push(HereDocument::default());
        self.pending.push(Pending { index, delimiter, literal, strip_tabs });
        Ok(index)
    }

    /// Reads the bodies that were announced on the line that has just ended.
    pub(super) fn read_here_documents(&mut self) -> Read<()> {
        let announced = std::mem::take(&mut self.pending);
        let last = announced.len().saturating_sub(1);
        for (at, pending) in announced.into_iter().enumerate() {
            let start = self.pos;
            let end = self.find_body_end(&pending)?;
            if at < last && self.pos > 0 && self.byte(self.pos - 1) != Some(b'\n') {
                return self.refuse("the end of a here-document inside `$(` cannot be told");
            }
            let body = Place { text: self.id, start, end };
            if let Some(here) = self.script.here.get_mut(pending.index) {
                here.body = Some(body);
            }
            if !pending.literal {
                let after = std::mem::replace(&mut self.pos, start);
                let expands = self.expand_body(&pending, end)?;
                self.pos = after;
                if let Some(here) = self.script.here.get_mut(pending.index) {
                    here.expands = expands;
                }
            }
        }
        Ok(())
    }

    /// Finds the line that is the delimiter, steps over it and returns where the body ends. A body that the
    /// text does not end goes to its end, as in bash.
    fn find_body_end(&mut self, pending: &Pending) -> Read<usize> {
        loop {
            let start = self.pos;
            if self.byte(start).is_none() {
                return Ok(start);
            }
            let end = self.line_end(start, pending.literal);
            self.spend(end - start + 1);
            let written = self.text.get(start..end).unwrap_or("");
            let joined = !pending.literal && written.contains("\\\n");
            let line = if joined { written.replace("\\\n", "") } else { written.to_owned() };
            let line = if pending.strip_tabs { line.trim_start_matches('\t') } else { line.as_str() };
            if line == pending.delimiter {
                self.pos = if self.byte(end).is_some() { end + 1 } else { end };
                return Ok(start);
            }
            // Inside `$(`, bash also ends the body at a line that goes on with a `)` after the delimiter.
            if self.substitutions > 0
                && let Some(rest) = line.strip_prefix(pending.delimiter.as_str())
                && rest.contains(')')
            {
                if joined {
                    return self.refuse("the end of a here-document inside `$(` cannot be told");
                }
                self.pos = end - rest.len();
                return Ok(start);
            }
            self.pos = if self.byte(end).is_some() { end + 1 } else { end };
        }
    }

    /// Where the line ends that begins at `at`; lines joined by a backslash are one, unless it is literal.
    fn line_end(&self, mut at: usize, literal: bool) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b'\n' => return at,
                b'\\' if !literal => at += 2,
                _ => at += 1,
            }
        }
        at.min(self.end)
    }

    /// Reads the expansions of a body: whether there are any.
    fn expand_body(&mut self, pending: &Pending, end: usize) -> Read<bool> {
        self.enter()?;
        self.script.bodies += 1;
        if self.script.bodies > MAX_BODIES {
            return self.refuse(format!("here-documents stand over {MAX_BODIES} deep in each other"));
        }
        let start = self.pos;
        let body = self.text.get(start..end).unwrap_or("");
        let expands = if pending.strip_tabs && body.contains("<<") && body.contains('\t') {
            // A here-document inside this one: its lines are told apart after the tabs are gone.
            let stripped: String =
                body.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect();
            self.spend(stripped.len());
            let carrier = self.script.span(Place { text: self.id, start, end });
            let handed = self.script.handed(self.id);
            let id = self.script.add_source(Rc::from(stripped), Some(carrier), handed, self.depth);
            within_part(super::expanded(self.script, id), "a here-document")?;
            true
        } else {
            let mut parts = Vec::new();
            let read = self.within(end, |parser| parser.double_quoted(&mut parts, None));
            within_part(read, "a here-document")?;
            parts.iter().any(|part| matches!(part, Part::Dynamic(_)))
        };
        self.script.bodies -= 1;
        self.depth -= 1;
        Ok(expands)
    }
}
