//! A preview of an answer in `json_schema` mode, while it is being written.
//!
//! Lenient, for showing only: it gives up silently on anything unexpected. What counts is the whole answer, read
//! strictly at its end.

use super::super::Delta;

/// How much is looked at before the beginning must be clear, in bytes.
const MAX_HEAD: usize = 4096;

/// Reads along.
#[derive(Debug, Default)]
pub(super) struct Preview {
    state: State,
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Final,
    Arguments,
    Over,
}

impl Preview {
    /// Takes the next words of the answer.
    pub(super) fn add(&mut self, text: &str, on: &mut dyn FnMut(Delta)) {
        if self.state == State::Over {
            return;
        }
        self.held.push_str(text);
        if self.state == State::Head {
            self.head(on);
        }
        match self.state {
            State::Final => self.final_text(on),
            State::Arguments => self.arguments(on),
            State::Head | State::Over => {}
        }
    }

    /// The end: all but the brace that closes the answer belongs to the arguments.
    pub(super) fn end(&mut self, on: &mut dyn FnMut(Delta)) {
        let rest = self.held.trim_end();
        let rest = rest.strip_suffix('}').unwrap_or(rest).trim_end().to_owned();
        if self.state == State::Arguments && !rest.is_empty() {
            on(Delta::CallArguments { index: 0, fragment: rest });
        }
        self.state = State::Over;
    }

    fn head(&mut self, on: &mut dyn FnMut(Delta)) {
        let Some(rest) = after(&self.held, "{") else {
            return;
        };
        if let Some(rest) = key(rest, "\"final\"").and_then(|rest| after(rest, "\"")) {
            self.held = rest.to_owned();
            self.state = State::Final;
        } else if let Some((name, rest)) = key(rest, "\"tool\"").and_then(word)
            && let Some(rest) = after(rest, ",").and_then(|rest| key(rest, "\"arguments\""))
            && !rest.trim_start().is_empty()
        {
            on(Delta::CallStarted { index: 0, name });
            self.held = rest.trim_start().to_owned();
            self.state = State::Arguments;
        } else if self.held.len() > MAX_HEAD {
            self.state = State::Over;
        }
    }

    /// Tells the arguments but for a run of closing braces at the end, of which the last is not theirs.
    fn arguments(&mut self, on: &mut dyn FnMut(Delta)) {
        let certain = self.held.trim_end_matches(|c: char| c == '}' || c.is_whitespace()).len();
        let fragment: String = self.held.drain(..certain).collect();
        if !fragment.is_empty() {
            on(Delta::CallArguments { index: 0, fragment });
        }
    }

    /// Tells the words as far as their escapes are whole.
    fn final_text(&mut self, on: &mut dyn FnMut(Delta)) {
        let (certain, over) = whole(&self.held);
        let piece: String = self.held.drain(..certain).collect();
        match serde_json::from_str::<String>(&format!("\"{piece}\"")) {
            Ok(text) if !text.is_empty() => on(Delta::Text(text)),
            Ok(_) => {}
            Err(_) => self.state = State::Over,
        }
        if over {
            self.state = State::Over;
        }
    }
}

/// What follows `sign` and the white space before it.
fn after<'a>(text: &'a str, sign: &str) -> Option<&'a str> {
    text.trim_start().strip_prefix(sign)
}

/// What follows a key and its colon.
fn key<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    after(after(text, key)?, ":")
}

/// A text without escapes, and what follows.
fn word(text: &str) -> Option<(String, &str)> {
    let (word, rest) = after(text, "\"")?.split_once('"')?;
    (!word.contains('\\')).then(|| (word.to_owned(), rest))
}

/// How many bytes of a text hold no half escape, and whether it ends there.
fn whole(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match (byte, bytes.get(at + 1)) {
            (b'"', _) => return (at, true),
            (b'\\', Some(b'u')) if is_surrogate(&bytes[at..]) => 12,
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            _ => 1,
        };
        if at + length > bytes.len() {
            break;
        }
        at += length;
    }
    (at, false)
}

/// Whether the escape begins a pair.
fn is_surrogate(escape: &[u8]) -> bool {
    matches!(escape.get(2..4), Some([b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut preview, mut text, mut call) = (Preview::default(), String::new(), String::new());
        let mut on = |delta| match delta {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::CallStarted { name, .. } => call = format!("{name} "),
            Delta::CallArguments { fragment, .. } => call.push_str(&fragment),
            other => panic!("{other:?}"),
        };
        pieces.into_iter().for_each(|piece| preview.add(piece, &mut on));
        preview.end(&mut on);
        (text, call)
    }

    #[test]
    fn however_it_is_cut() {
        for (whole, text, call) in [
            (r#"{"final": "a\n\"é\ud83d\ude00\u00e9 }"}"#, "a\n\"é😀é }", ""),
            (r#" { "tool" : "read" , "arguments" : {"p": {"q": "}"}} } "#, "", r#"read {"p": {"q": "}"}} "#),
            (r#"{"tool":"read","arguments":{}}"#, "", "read {}"),
            ("I will read it", "", ""),
            (r#"{"final": "bad \x"}"#, "", ""),
        ] {
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let (words, shown) = told(letters.iter().map(String::as_str));
            assert_eq!(shown.trim_end(), call.trim_end(), "{whole}");
            assert!(words == text || text.is_empty(), "{whole}: {words}");
            let (words, shown) = told([whole]);
            assert_eq!((words.as_str(), shown.trim_end()), (text, call.trim_end()), "{whole}");
        }
    }

    #[test]
    fn an_escape_that_never_ends_is_nothing() {
        assert_eq!(whole("ab\\u12"), (2, false));
        assert_eq!(whole("\\ud83d\\ude0"), (0, false));
        assert_eq!(whole("\\\\\""), (2, true));
        assert_eq!(whole("é\\"), (2, false));
    }
}
