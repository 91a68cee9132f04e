//! Server-sent events, from bytes as they come.
//!
//! Lines are cut at the byte, so neither a character nor an event needs to arrive in one piece; `\n`, `\r\n` and `\r` all
//! end a line; comments and unknown fields are passed over. Three things that servers do against the standard are
//! understood: an `error:` line, a bare JSON object on a line of its own, and a last event without its blank line. Text
//! that is not UTF-8 is refused, never mended.

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The data of an event.
    Data(String),
    /// What the server calls an error.
    Error(String),
}

/// Why the bytes cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// One event passes the bound.
    TooLarge,
    /// A line is not UTF-8.
    NotUtf8,
}

/// A reader of events.
#[derive(Debug)]
pub(super) struct Sse {
    line: Vec<u8>,
    data: Option<String>,
    is_error: bool,
    after_cr: bool,
    begun: bool,
    limit: usize,
}

impl Sse {
    /// A reader that refuses an event, or a line, of more than `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), data: None, is_error: false, after_cr: false, begun: false, limit }
    }

    /// Reads the next bytes; whole events go to `out`.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), Unreadable> {
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => self.end_line(out)?,
                _ if self.line.len() >= self.limit => return Err(Unreadable::TooLarge),
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    /// The stream is over: what stands unterminated counts as ended.
    pub(super) fn end(&mut self, out: &mut Vec<Frame>) -> Result<(), Unreadable> {
        if !self.line.is_empty() {
            self.end_line(out)?;
        }
        self.dispatch(out);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<Frame>) -> Result<(), Unreadable> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&bytes).map_err(|_| Unreadable::NotUtf8)?;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        if line.starts_with('{') {
            out.push(Frame::Data(line.to_owned()));
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add(value)?,
            "event" => self.is_error = value == "error",
            "error" => out.push(Frame::Error(value.to_owned())),
            // A comment (the field is empty), `id`, `retry`, or something unknown.
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, value: &str) -> Result<(), Unreadable> {
        match &mut self.data {
            Some(data) if data.len() + value.len() >= self.limit => return Err(Unreadable::TooLarge),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<Frame>) {
        let is_error = std::mem::take(&mut self.is_error);
        if let Some(data) = self.data.take().filter(|data| !data.trim().is_empty()) {
            out.push(if is_error { Frame::Error(data) } else { Frame::Data(data) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Frame> {
        let (mut sse, mut out) = (Sse::new(1000), Vec::new());
        sse.feed(bytes, &mut out).unwrap();
        sse.end(&mut out).unwrap();
        out
    }

    fn data(text: &str) -> Frame {
        Frame::Data(text.to_owned())
    }

    #[test]
    fn any_line_ending_and_any_split() {
        let wanted = vec![data("a é"), data("b\nc"), data("last")];
        for ending in ["\n", "\r\n", "\r"] {
            let text =
                "\u{feff}: hello\nid: 1\ndata: a é\n\ndata:b\nretry: 5\ndata: c\n\n\n: ping\n\ndata: last";
            let text = text.replace('\n', ending);
            assert_eq!(read(text.as_bytes()), wanted);
            for at in 0..text.len() {
                let (mut sse, mut out) = (Sse::new(1000), Vec::new());
                sse.feed(&text.as_bytes()[..at], &mut out).unwrap();
                sse.feed(&text.as_bytes()[at..], &mut out).unwrap();
                sse.end(&mut out).unwrap();
                assert_eq!(out, wanted, "split at {at}");
            }
        }
    }

    #[test]
    fn errors_in_three_spellings() {
        assert_eq!(read(b"event: error\ndata: oops\n\n"), [Frame::Error("oops".into())]);
        assert_eq!(read(b"error: {\"code\":500}\n\n"), [Frame::Error("{\"code\":500}".into())]);
        assert_eq!(read(b"{\"error\":\"x\"}\n"), [data("{\"error\":\"x\"}")]);
    }

    #[test]
    fn an_event_name_does_not_outlive_its_event() {
        assert_eq!(read(b"event: error\n\ndata: fine\n\n"), [data("fine")]);
    }

    #[test]
    fn empty_data_is_nothing() {
        assert_eq!(read(b"data:\n\ndata: \n\ndata\n\n\n\n"), []);
    }

    #[test]
    fn bounds_and_bad_text_are_refused() {
        let mut out = Vec::new();
        assert_eq!(Sse::new(10).feed(b"data: 0123456789", &mut out), Err(Unreadable::TooLarge));
        assert_eq!(
            Sse::new(10).feed(b"data: 123\ndata: 123\ndata: 12345\n", &mut out),
            Err(Unreadable::TooLarge)
        );
        assert_eq!(Sse::new(99).feed(b"data: \xff\n", &mut out), Err(Unreadable::NotUtf8));
        assert_eq!(Sse::new(99).feed(b"data: \xc3\n", &mut out), Err(Unreadable::NotUtf8));
    }
}
