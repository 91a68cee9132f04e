//! `${ … }`: the parameter, its operator, and the operand, in which every expansion is live.
//!
//! Bash finds the end of the expansion by one rule and expands its operand by another; where the two differ
//! (single quotes inside double quotes) the operand is read as live. Forms that bash only refuses at run
//! time, or that a newer bash runs (`${ command; }`), are refused here.

use super::dollar::nature_of;
use super::group::Bracket;
use super::quote::decode_ansi;
use super::{Parser, Read, within_part};
use crate::command::script::{Assignment, Kind, Nature, Part};

impl Parser<'_> {
    /// From the opening brace.
    pub(super) fn parameter(&mut self, quoted: bool) -> Read<Nature> {
        self.enter()?;
        let start = self.pos;
        self.pos += 1;
        let (name, nature) = self.parameter_head(quoted)?;
        self.depth -= 1;
        match nature {
            Nature::Evaluated => {
                self.script.evaluates = true;
                self.emit(Kind::Evaluated, start, Vec::new(), Vec::new(), Vec::new());
            }
            Nature::Assigns => self.assigns(start, &name),
            Nature::Variable
            | Nature::Separator
            | Nature::Home
            | Nature::Number
            | Nature::Substitution
            | Nature::Input
            | Nature::Process
            | Nature::Pattern
            | Nature::Elements => {}
        }
        Ok(nature)
    }

    /// `${name=…}` sets the variable.
    fn assigns(&mut self, start: usize, name: &str) {
        let assignment = Assignment { place: self.place(start), name: name.to_owned(), values: Vec::new() };
        self.emit(Kind::Loop, start, vec![assignment], Vec::new(), Vec::new());
    }

    /// The name of the parameter and what the expansion does.
    fn parameter_head(&mut self, quoted: bool) -> Read<(String, Nature)> {
        let start = self.pos;
        let mut nature = Nature::Variable;
        match (self.peek(), self.second()) {
            (Some(b'#' | b'!' | b'?' | b'$'), Some(b'}')) => {
                self.pos += 1;
                self.take(b'}');
                return Ok((String::new(), Nature::Number));
            }
            (Some(b'#'), Some(next)) if is_parameter(next) => {
                self.pos += 1;
                nature = Nature::Number;
            }
            (Some(b'!'), Some(next)) if is_parameter(next) => {
                self.pos += 1;
                nature = Nature::Evaluated;
            }
            _ => {}
        }
        let name = self.parameter_name()?;
        let mut subscripted = false;
        if self.peek() == Some(b'[') {
            if nature == Nature::Evaluated && self.lists_keys() {
                nature = Nature::Variable;
            }
            self.subscript(Bracket::InBraces)?;
            subscripted = true;
        }
        if self.take(b'}') {
            let plain = nature == Nature::Variable && !subscripted;
            let nature = if plain { nature_of(&name) } else { nature };
            return Ok((name, nature));
        }
        // `${HOME:?}`, `${HOME:-x}` and `${HOME%/}` are the home directory, or one above it.
        let home = name == "HOME" && !subscripted && nature == Nature::Variable;
        let kept = matches!(
            (self.peek(), self.second()),
            (Some(b'?' | b'%' | b'-' | b'='), _) | (Some(b':'), Some(b'?' | b'-' | b'='))
        );
        let operation = self.operation(quoted, nature)?;
        if home && kept && operation == Nature::Assigns {
            self.assigns(start, &name);
        }
        Ok((name, if home && kept { Nature::Home } else { operation }))
    }

    /// Whether `[@]` or `[*]` stands next: then `!` lists the keys of an array.
    fn lists_keys(&self) -> bool {
        let rest = self.text.as_bytes().get(self.pos..self.end).unwrap_or(&[]);
        matches!(rest, [b'[', b'@' | b'*', b']', ..])
    }

    fn parameter_name(&mut self) -> Read<String> {
        let name = self.name();
        if !name.is_empty() {
            return Ok(name);
        }
        match self.peek() {
            Some(byte) if byte.is_ascii_digit() => {
                while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    self.pos += 1;
                }
            }
            Some(b'@' | b'*' | b'?' | b'$' | b'-' | b'#' | b'!') => self.pos += 1,
            _ => return self.refuse("`${` is not followed by the name of a variable"),
        }
        Ok(name)
    }

    /// The operator behind the name, and its operand.
    fn operation(&mut self, quoted: bool, nature: Nature) -> Read<Nature> {
        let first = self.peek();
        let second = self.second();
        let nature = match (first, second) {
            (Some(b'@'), Some(b'P')) => Nature::Evaluated,
            (Some(b':'), Some(b'=')) | (Some(b'='), _) => Nature::Assigns,
            // `${!prefix@}` lists names; `${x@P}` reads the value as shell text; other letters do not.
            (Some(b'@' | b'*'), Some(b'}')) => Nature::Variable,
            (Some(b'@'), Some(b'U' | b'u' | b'L' | b'Q' | b'E' | b'K' | b'A' | b'a' | b'k'))
            | (Some(b':' | b'-' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',' | b'~'), Some(_)) => nature,
            _ => return self.refuse("`${` holds an operator that bash does not know"),
        };
        let slice = first == Some(b':') && !matches!(second, Some(b'-' | b'+' | b'?' | b'='));
        let start = self.pos;
        self.pos += 1;
        let operand = self.operand(quoted)?;
        if slice && operand.iter().any(reads_variables) {
            self.script.evaluates = true;
            self.emit(Kind::Arithmetic { names: true }, start, Vec::new(), Vec::new(), Vec::new());
        }
        Ok(nature)
    }

    /// Everything up to the closing brace.
    fn operand(&mut self, quoted: bool) -> Read<Vec<Part>> {
        let start = self.pos;
        let mut parts = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return self.refuse("the text ends before the `}` of `${`") };
            match byte {
                b'}' => {
                    self.note(start, &parts);
                    self.pos += 1;
                    return Ok(parts);
                }
                b'\\' => self.escape(&mut parts),
                b'\'' if quoted => self.live_single_quoted(&mut parts)?,
                b'\'' => self.single_quoted(&mut parts)?,
                b'"' => {
                    self.pos += 1;
                    self.double_quoted(&mut parts, Some(b'"'))?;
                }
                b'$' if quoted && self.second() == Some(b'\'') => self.live_ansi_quoted(&mut parts)?,
                b'$' => self.dollar(&mut parts, quoted)?,
                b'`' => self.backquoted(&mut parts, quoted)?,
                b'<' | b'>' if self.second() == Some(b'(') => {
                    return self.refuse("a process substitution inside `${` cannot be read");
                }
                _ => self.plain_byte(&mut parts),
            }
        }
    }

    /// `$'…'` in an operand inside double quotes: it ends as `$'…'` does, and is expanded as live text. Some versions
    /// decode it as well; what it would then be is kept in mind.
    pub(super) fn live_ansi_quoted(&mut self, parts: &mut Vec<Part>) -> Read<()> {
        self.pos += 1;
        self.peek();
        let start = self.pos + 1;
        let end = self.ansi_end(start)?;
        parts.push(Part::Coded(decode_ansi(self.text.get(start..end).unwrap_or(""))));
        self.pos = start;
        let read = self.within(end, |parser| parser.double_quoted(&mut Vec::new(), None));
        within_part(read, "single quotes that do not protect")?;
        self.pos = end + 1;
        Ok(())
    }
}

/// Whether a part of an offset or length names a variable, whose value is evaluated.
fn reads_variables(part: &Part) -> bool {
    match part {
        Part::Plain(text) | Part::Quoted(text) | Part::Coded(text) => {
            text.contains(|c: char| c == '_' || c.is_ascii_alphabetic())
        }
        Part::Dynamic(dynamic) => dynamic.nature != Nature::Number,
    }
}

fn is_parameter(byte: u8) -> bool {
    byte == b'_' || byte == b'@' || byte == b'*' || byte.is_ascii_alphanumeric()
}
