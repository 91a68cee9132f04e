//! Words: runs of plain text, quotes, escapes and expansions, up to the byte that ends them.

use super::group::Bracket;
use super::simple::Form;
use super::{Parser, Read, within_part};
use crate::command::script::{Dynamic, Nature, Part, Piped, Word};
use crate::command::subscript;

/// A byte that means nothing by itself inside a word.
fn is_ordinary(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_alphanumeric() || b"_-./,:@%^{}[]~#".contains(&byte) || byte < b'\t'
}

/// Adds plain text to a word.
pub(super) fn push_plain(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Plain(last)) => last.push_str(text),
        _ => parts.push(Part::Plain(text.to_owned())),
    }
}

/// Adds quoted text to a word. Empty text counts: `''` is a word.
pub(super) fn push_quoted(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Quoted(last)) => last.push_str(text),
        _ => parts.push(Part::Quoted(text.to_owned())),
    }
}

impl Parser<'_> {
    pub(super) fn word(&mut self, form: Form) -> Read<Word> {
        self.check_steps()?;
        self.check_bracket()?;
        let start = self.pos;
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.escape(&mut parts),
                b'\'' => self.single_quoted(&mut parts)?,
                b'"' => {
                    self.pos += 1;
                    self.double_quoted(&mut parts, Some(b'"'))?;
                }
                b'$' => self.dollar(&mut parts, false)?,
                b'`' => self.backquoted(&mut parts, false)?,
                b'<' | b'>' if self.second() == Some(b'(') => self.process(&mut parts)?,
                b'(' if form == Form::Regex => self.parenthesised(&mut parts, true)?,
                b'(' if form == Form::Pattern && self.after_pattern_sign() => {
                    self.parenthesised(&mut parts, true)?;
                }
                b'(' if self.extended && self.pos > start && self.after_pattern_sign() => {
                    self.parenthesised(&mut parts, false)?;
                }
                b'|' if form == Form::Regex => self.plain_byte(&mut parts),
                b'=' if form == Form::Array && self.second() == Some(b'(') && is_name(&parts) => {
                    self.pos += 1;
                    let at = self.pos;
                    self.array()?;
                    push_plain(&mut parts, "=");
                    let place = self.place(at);
                    parts.push(Part::Dynamic(Dynamic { place, quoted: true, nature: Nature::Elements }));
                }
                _ if super::cursor::is_break(byte) => break,
                _ => self.plain_run(&mut parts),
            }
        }
        self.note(start, &parts);
        Ok(Word { place: self.place(start), parts })
    }

    /// Where a subscript of an array's element is open, bash looks for its end with the element's rules still in force:
    /// in a substitution there a word that begins `[` reaches to its `]`, over blanks, quotes and the end of the
    /// substitution. What then runs is not what stands there.
    pub(super) fn check_bracket(&mut self) -> Read<()> {
        if self.elements > 0 && self.peek() == Some(b'[') {
            return self.refuse("a word begins with `[` in the subscript of an array's element");
        }
        Ok(())
    }

    /// Keeps the text from `start` to here in mind if it runs something when it is evaluated later.
    pub(super) fn note(&mut self, start: usize, parts: &[Part]) {
        let expands = |part: &Part| match part {
            Part::Quoted(text) | Part::Coded(text) => text.contains(['$', '`']),
            Part::Plain(_) | Part::Dynamic(_) => false,
        };
        if !parts.iter().any(expands) {
            return;
        }
        let text: String = parts
            .iter()
            .map(|part| match part {
                Part::Plain(text) | Part::Quoted(text) | Part::Coded(text) => text.as_str(),
                Part::Dynamic(_) => "",
            })
            .collect();
        self.spend(text.len());
        if subscript::runs(&text) {
            let place = self.place(start);
            self.script.hidden.push((place, text));
        }
    }

    /// Steps over one byte that means nothing by itself.
    pub(super) fn plain_byte(&mut self, parts: &mut Vec<Part>) {
        push_plain(parts, self.text.get(self.pos..=self.pos).unwrap_or(""));
        self.pos += 1;
    }

    /// Everything up to the next byte that may mean something.
    fn plain_run(&mut self, parts: &mut Vec<Part>) {
        let rest = self.text.as_bytes().get(self.pos..self.end).unwrap_or(&[]);
        let length = rest.iter().position(|&byte| !is_ordinary(byte)).unwrap_or(rest.len()).max(1);
        push_plain(parts, self.text.get(self.pos..self.pos + length).unwrap_or(""));
        self.pos += length;
        self.script.steps += length;
    }

    /// A backslash and the character behind it. The last backslash of a text stands for itself.
    pub(super) fn escape(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        match self.character() {
            Some(text) => push_quoted(parts, &text),
            None => push_quoted(parts, "\\"),
        }
    }

    /// Steps over one whole character, whatever it is.
    pub(super) fn character(&mut self) -> Option<String> {
        let character = self.text.get(self.pos..self.end)?.chars().next()?;
        self.pos += character.len_utf8();
        self.spend(1);
        Some(character.to_string())
    }

    /// `<( … )` or `>( … )`. What reads the output of another command counts as piped.
    fn process(&mut self, parts: &mut Vec<Part>) -> Read<()> {
        let start = self.pos;
        let output = self.byte(start) == Some(b'>');
        self.pos += 1;
        self.peek();
        let open = self.pos;
        self.take(b'(');
        let piped = self.piped;
        if output {
            self.piped = Piped::Directly;
        }
        let any = if self.peek() == Some(b'(') {
            let read = self.counting(Self::command_list_to_close);
            let any = within_part(read, "a substitution that begins like arithmetic")?;
            self.check_count(open, self.pos)?;
            any
        } else {
            self.command_list_to_close()?
        };
        self.piped = piped;
        parts.push(Part::Dynamic(Dynamic {
            place: self.place(start),
            // An empty one is nothing at all.
            quoted: any,
            nature: Nature::Process,
        }));
        Ok(())
    }

    /// Parentheses that belong to a pattern or a regular expression.
    fn parenthesised(&mut self, parts: &mut Vec<Part>, quoted: bool) -> Read<()> {
        let start = self.pos;
        self.pos += 1;
        within_part(self.counting(|parser| parser.group(Bracket::Pattern)), "a pattern")?;
        self.check_count(start, self.pos)?;
        parts.push(Part::Dynamic(Dynamic { place: self.place(start), quoted, nature: Nature::Pattern }));
        Ok(())
    }

    fn after_pattern_sign(&self) -> bool {
        self.pos > 0 && self.byte(self.pos - 1).is_some_and(|byte| b"?*+@!".contains(&byte))
    }
}

/// Whether what was read so far may stand before `=(`.
fn is_name(parts: &[Part]) -> bool {
    let [Part::Plain(text)] = parts else { return false };
    let text = text.strip_suffix('+').unwrap_or(text);
    let name = text.split('[').next().unwrap_or("");
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
