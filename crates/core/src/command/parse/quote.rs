//! Quotes: `'…'`, `"…"`, `$'…'`, and the text of here-documents, which is read as inside double quotes.

use super::word::push_quoted;
use super::{Parser, Read, within_part};
use crate::command::script::Part;

impl Parser<'_> {
    /// `'…'`, from its first quote.
    pub(super) fn single_quoted(&mut self, parts: &mut Vec<Part>) -> Read<()> {
        let start = self.pos + 1;
        let end = self.find_quote(start)?;
        push_quoted(parts, self.text.get(start..end).unwrap_or(""));
        self.pos = end + 1;
        Ok(())
    }

    /// Where the single quote that closes stands.
    fn find_quote(&mut self, start: usize) -> Read<usize> {
        let rest = self.text.as_bytes().get(start..self.end).unwrap_or(&[]);
        match rest.iter().position(|&byte| byte == b'\'') {
            Some(length) => {
                self.spend(length);
                Ok(start + length)
            }
            None => self.refuse("the text ends before the closing `'`"),
        }
    }

    /// Text as inside double quotes, up to the closing quote or, without one, to the end of what is read.
    pub(super) fn double_quoted(&mut self, parts: &mut Vec<Part>, close: Option<u8>) -> Read<()> {
        push_quoted(parts, "");
        let open = self.pos.saturating_sub(1);
        loop {
            let Some(byte) = self.peek() else {
                return match close {
                    Some(_) => self.refuse("the text ends before the closing `\"`"),
                    None => Ok(()),
                };
            };
            match byte {
                _ if Some(byte) == close => {
                    self.pos += 1;
                    self.note_quotes(open);
                    return Ok(());
                }
                b'\\' => self.double_escape(parts),
                b'$' => self.dollar(parts, true)?,
                b'`' => self.backquoted(parts, true)?,
                _ => self.quoted_run(parts),
            }
        }
    }

    /// Inside double quotes a backslash only escapes what would be special there.
    fn double_escape(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        match self.byte(self.pos) {
            Some(b'$' | b'`' | b'"' | b'\\') => {
                if let Some(text) = self.character() {
                    push_quoted(parts, &text);
                }
            }
            _ => push_quoted(parts, "\\"),
        }
    }

    fn quoted_run(&mut self, parts: &mut Vec<Part>) {
        let rest = self.text.as_bytes().get(self.pos..self.end).unwrap_or(&[]);
        let special = |&byte: &u8| matches!(byte, b'\\' | b'$' | b'`' | b'"');
        let length = rest.iter().position(special).unwrap_or(rest.len()).max(1);
        push_quoted(parts, self.text.get(self.pos..self.pos + length).unwrap_or(""));
        self.pos += length;
        self.script.steps += length;
    }

    /// A single quote inside `${…}` or arithmetic that stands in double quotes. It pairs when bash looks for
    /// the end of the expansion, but does not quote when bash expands it: what is inside is read as live.
    pub(super) fn live_single_quoted(&mut self, parts: &mut Vec<Part>) -> Read<()> {
        let start = self.pos + 1;
        let end = self.find_quote(start)?;
        self.pos = start;
        let read = self.within(end, |parser| parser.double_quoted(parts, None));
        within_part(read, "single quotes that do not protect")?;
        self.pos = end + 1;
        Ok(())
    }

    /// Reads on as if the text ended at `end`.
    pub(super) fn within<T>(&mut self, end: usize, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let outer = std::mem::replace(&mut self.end, end);
        let result = read(self);
        self.end = outer;
        result
    }

    /// `$'…'`, from its first quote. Its escapes are decoded.
    pub(super) fn ansi_quoted(&mut self, parts: &mut Vec<Part>) -> Read<()> {
        let start = self.pos + 1;
        let end = self.ansi_end(start)?;
        let decoded = decode_ansi(self.text.get(start..end).unwrap_or(""));
        parts.push(Part::Coded(decoded));
        self.pos = end + 1;
        Ok(())
    }

    /// Where the quote that closes `$'…'` stands.
    pub(super) fn ansi_end(&mut self, start: usize) -> Read<usize> {
        let mut at = start;
        loop {
            match self.byte(at) {
                None => return self.refuse("the text ends before the closing `'`"),
                Some(b'\'') => break,
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
            }
        }
        self.spend(at - start);
        Ok(at)
    }
}

/// Decodes the escapes of `$'…'`. A NUL ends the text, as it does in bash.
pub(super) fn decode_ansi(text: &str) -> String {
    let mut decoded: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let Some(escape) = rest.next() else {
            decoded.push(b'\\');
            break;
        };
        let code = match escape {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => u32::from(escape),
            'x' => number(&mut rest, 16, 2).unwrap_or(u32::from('x')) & 0xff,
            'u' => number(&mut rest, 16, 4).unwrap_or(u32::from('u')),
            'U' => number(&mut rest, 16, 8).unwrap_or(u32::from('U')),
            '0'..='7' => octal(escape, &mut rest) & 0xff,
            'c' => rest.next().map_or(0, |next| u32::from(next) & 0x1f),
            other => {
                decoded.push(b'\\');
                u32::from(other)
            }
        };
        if code == 0 {
            break;
        }
        let bytes = matches!(escape, 'x' | '0'..='7');
        match u8::try_from(code) {
            Ok(byte) if bytes || byte < 0x80 => decoded.push(byte),
            _ => {
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn number(rest: &mut std::str::Chars<'_>, radix: u32, most: usize) -> Option<u32> {
    let mut value: Option<u32> = None;
    for _ in 0..most {
        let Some(digit) = rest.clone().next().and_then(|c| c.to_digit(radix)) else { break };
        rest.next();
        value = Some(value.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit));
    }
    value
}

fn octal(first: char, rest: &mut std::str::Chars<'_>) -> u32 {
    let mut value = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        let Some(digit) = rest.clone().next().and_then(|c| c.to_digit(8)) else { break };
        rest.next();
        value = value * 8 + digit;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::decode_ansi;

    #[test]
    fn escapes_are_decoded_as_bash_does() {
        for (written, meant) in [
            (r"\x72\x6d", "rm"),
            (r"\162\155", "rm"),
            (r"\u0073udo", "sudo"),
            (r"a\'b", "a'b"),
            (r"a\nb", "a\nb"),
            (r"\q", r"\q"),
            (r"rm\0x", "rm"),
            (r"\xc3\xa9", "é"),
            (r"\u00e9", "é"),
            ("é", "é"),
        ] {
            assert_eq!(decode_ansi(written), meant, "{written}");
        }
    }
}
