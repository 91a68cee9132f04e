//! What of a long text the model sees: head and tail, with a count of what was left out between them.
//!
//! It holds a bounded part, however much comes. What is not text is shown as replacement characters and counted.

use std::collections::VecDeque;

use enclos_core::noun::{count, form};

/// Bytes of one result that the model sees.
pub(crate) const SHOWN_BYTES: u32 = 32 * 1024;

const HALF: usize = SHOWN_BYTES as usize / 2;

/// Head and tail of an output, in constant memory.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    head: Vec<u8>,
    /// Whether something was left out behind the head, so that nothing may follow it directly.
    gap: bool,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Kept {
    /// Takes more output.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let room = if self.gap { 0 } else { HALF.saturating_sub(self.head.len()).min(bytes.len()) };
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let last = &rest[rest.len().saturating_sub(HALF)..];
        self.left_out += (rest.len() - last.len()) as u64;
        self.tail.extend(last);
        let over = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    /// Counts bytes that are not to be had.
    pub(crate) fn skip(&mut self, bytes: u64) {
        if bytes > 0 {
            self.gap = true;
            self.left_out += bytes + self.tail.len() as u64;
            self.tail.clear();
        }
    }

    /// The text with a last line that says how it ended. `more`: bytes that followed and are not to be had.
    pub(crate) fn closed(&self, more: u64, last: &str) -> String {
        let (mut text, replaced) = self.text();
        let mut line = |words: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&["[", words, "]"].concat());
        };
        if more > 0 {
            let more = count(more, "more byte was", "more bytes were");
            line(&format!("… it went on: {more} counted and thrown away …"));
        }
        if replaced > 0 {
            let (are, shown) = (count(replaced, "byte is", "bytes are"), form(&replaced, "is", "are"));
            line(&format!("{are} not UTF-8 and {shown} shown as \u{FFFD}"));
        }
        line(last);
        text
    }

    /// The text, and how many of its bytes are not UTF-8.
    fn text(&self) -> (String, u64) {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.left_out == 0 {
            return lossy(&[self.head.as_slice(), &tail].concat());
        }
        // A character that the cut goes through is left out as a whole.
        let head = &self.head[..self.head.len() - unfinished(&self.head)];
        let begin = tail.iter().take(3).take_while(|byte| *byte & 0xC0 == 0x80).count();
        let left_out = self.left_out + (self.head.len() - head.len() + begin) as u64;
        let ((head, first), (tail, second)) = (lossy(head), lossy(&tail[begin..]));
        let left_out = count(left_out, "byte", "bytes");
        (format!("{head}\n[… {left_out} left out …]\n{tail}"), first + second)
    }
}

/// A text within the bound, cut in its middle.
pub(crate) fn bounded(text: String) -> String {
    if text.len() <= SHOWN_BYTES as usize {
        return text;
    }
    let mut kept = Kept::default();
    kept.take(text.as_bytes());
    kept.text().0
}

/// Bytes at the end that begin a character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let whole = match std::str::from_utf8(last) {
        Ok(_) => true,
        Err(error) => error.error_len().is_some(),
    };
    if whole { 0 } else { last.len() }
}

fn lossy(bytes: &[u8]) -> (String, u64) {
    let replaced: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    (String::from_utf8_lossy(bytes).into_owned(), replaced as u64)
}

/// Turns bytes that come in pieces into text; a character that is split between two pieces is not broken.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    carry: Vec<u8>,
}

impl Decoder {
    /// The text of the next piece.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.carry);
        all.extend_from_slice(bytes);
        let end = all.len() - unfinished(&all);
        self.carry = all.split_off(end);
        lossy(&all).0
    }

    /// What is left at the end: a character that was never finished.
    pub(crate) fn finish(&mut self) -> String {
        lossy(&std::mem::take(&mut self.carry)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_kept_as_head_and_tail_with_a_count() {
        let mut kept = Kept::default();
        for _ in 0..1000 {
            kept.take(&[b'x'; 1000]);
        }
        kept.take(b"the end");
        let (text, replaced) = kept.text();
        assert!(text.len() < SHOWN_BYTES as usize + 100 && replaced == 0);
        assert!(text.ends_with("the end"));
        let left_out = 1_000_007 - SHOWN_BYTES as usize;
        assert!(text.contains(&format!("[… {left_out} bytes left out …]")), "{left_out}");
        assert!(kept.head.len() + kept.tail.len() == SHOWN_BYTES as usize);
    }

    #[test]
    fn a_small_output_is_kept_whole() {
        let mut kept = Kept::default();
        kept.take(b"one\n");
        kept.take("zwei é".as_bytes());
        assert_eq!(kept.closed(0, "exit code 0"), "one\nzwei é\n[exit code 0]");
        assert_eq!(Kept::default().closed(0, "exit code 1"), "[exit code 1]");
    }

    #[test]
    fn what_is_not_to_be_had_is_counted_where_it_was() {
        for (before, after) in [(5, 5), (5, 40_000), (40_000, 5), (40_000, 40_000)] {
            let mut kept = Kept::default();
            kept.take(&vec![b'a'; before]);
            kept.skip(1_000_000);
            kept.take(&vec![b'z'; after]);
            let (head, tail) = (before.min(HALF), after.min(HALF));
            let left_out = 1_000_000 + before - head + after - tail;
            let expected =
                format!("{}\n[… {left_out} bytes left out …]\n{}", "a".repeat(head), "z".repeat(tail));
            assert_eq!(kept.text(), (expected, 0), "{before} {after}");
        }
    }

    #[test]
    fn an_output_that_went_on_says_so_behind_what_is_shown() {
        let mut kept = Kept::default();
        kept.take(b"abc");
        let text = kept.closed(7, "exit code 0");
        assert_eq!(text, "abc\n[… it went on: 7 more bytes were counted and thrown away …]\n[exit code 0]");
    }

    #[test]
    fn what_is_no_text_is_shown_as_such_and_counted_and_a_cut_breaks_no_character() {
        let mut kept = Kept::default();
        kept.take(b"a\xff\xfe\0b");
        let text = kept.closed(0, "exit code 0");
        assert_eq!(
            text,
            "a\u{FFFD}\u{FFFD}\0b\n[2 bytes are not UTF-8 and are shown as \u{FFFD}]\n[exit code 0]"
        );
        for shift in 0..4 {
            let mut kept = Kept::default();
            kept.take(&vec![b'.'; shift]);
            kept.take("😀".repeat(20_000).as_bytes());
            kept.take(&vec![b'.'; shift]);
            let (text, replaced) = kept.text();
            assert!(!text.contains('\u{FFFD}') && replaced == 0, "{shift}");
            let left: u64 = text
                .split(" bytes left out")
                .next()
                .unwrap()
                .rsplit('…')
                .next()
                .unwrap()
                .trim()
                .parse()
                .unwrap();
            let shown = text.chars().filter(|c| *c == '😀' || *c == '.').map(char::len_utf8).sum::<usize>();
            assert_eq!(left + shown as u64, 80_000 + 2 * shift as u64);
        }
    }

    #[test]
    fn a_character_split_between_pieces_is_not_broken() {
        let bytes = "aé€😀z".as_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let text = decoder.decode(&bytes[..cut]) + &decoder.decode(&bytes[cut..]);
            assert_eq!(text + &decoder.finish(), "aé€😀z");
        }
        assert_eq!(Decoder::default().decode(b"a\xffb"), "a\u{FFFD}b");
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"a\xf0\x9f") + &decoder.finish(), "a\u{FFFD}");
    }
}
