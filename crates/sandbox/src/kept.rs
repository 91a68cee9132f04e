//! What is kept of an output that is larger than its limit: its beginning, and when wanted its end. The rest is counted.
//! Nothing here grows past the room it was given, however much comes.
use crate::command::{Counted, Keep, Stream};
use std::collections::VecDeque;

/// One part in this many of the room is for the end.
const TAIL_SHARE: u64 = 5;
/// Longest part of the end that is held in one piece.
const PART: usize = 64 * 1024;

/// How the room is divided: bytes for the beginning, bytes for the end.
pub(crate) fn divide(room: u64, keep: Keep) -> (u64, u64) {
    match keep {
        Keep::Head => (room, 0),
        Keep::HeadAndTail => (room - room / TAIL_SHARE, room / TAIL_SHARE),
    }
}

/// The end of two streams, in the order in which it came.
#[derive(Debug)]
pub(crate) struct Tail {
    room: u64,
    length: u64,
    parts: VecDeque<(Stream, Vec<u8>)>,
}

impl Tail {
    pub(crate) fn new(room: u64) -> Self {
        Self { room, length: 0, parts: VecDeque::new() }
    }

    /// Takes what came, and gives up what came first when there is no more room.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let bytes = bytes.get(bytes.len().saturating_sub(room)..).unwrap_or_default();
        match self.parts.back_mut() {
            Some((last, part)) if *last == stream && part.len() + bytes.len() <= PART => {
                part.extend_from_slice(bytes);
            }
            _ if bytes.is_empty() => return,
            _ => self.parts.push_back((stream, bytes.to_vec())),
        }
        self.length += bytes.len() as u64;
        while self.length > self.room {
            let over = self.length - self.room;
            let Some((_, first)) = self.parts.front_mut() else { return };
            let cut = first.len().min(usize::try_from(over).unwrap_or(usize::MAX));
            self.length -= cut as u64;
            if cut == first.len() {
                self.parts.pop_front();
            } else {
                first.drain(..cut);
            }
        }
    }

    /// The parts, and how much of them is of each stream.
    pub(crate) fn finish(self) -> (Vec<(Stream, Vec<u8>)>, [u64; 2]) {
        let mut lengths = [0, 0];
        for (stream, part) in &self.parts {
            let [out, error] = &mut lengths;
            let length = if *stream == Stream::Stdout { out } else { error };
            *length += part.len() as u64;
        }
        (self.parts.into(), lengths)
    }
}

/// The output of a background command: both streams as they came, to be read again and again.
#[derive(Debug)]
pub(crate) struct Log {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    rooms: (usize, usize),
    total: u64,
}

impl Log {
    pub(crate) fn new(room: u64, keep: Keep) -> Self {
        let (head, tail) = divide(room, keep);
        let size = |room: u64| usize::try_from(room).unwrap_or(usize::MAX);
        Self { head: Vec::new(), tail: VecDeque::new(), rooms: (size(head), size(tail)), total: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.rooms.0.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = rest.get(rest.len().saturating_sub(self.rooms.1)..).unwrap_or_default();
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.rooms.1);
        self.tail.drain(..over);
    }

    /// At most `most` bytes from offset `from` on. Offsets count all that ever came; what is not kept any more is jumped
    /// over, so the first byte may be later than asked for.
    pub(crate) fn read(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        let head = self.head.len() as u64;
        if from < head {
            let bytes = usize::try_from(from).ok().and_then(|from| self.head.get(from..)).unwrap_or_default();
            return (from, bytes.iter().copied().take(most).collect());
        }
        let first = self.total - self.tail.len() as u64;
        let from = from.clamp(first, self.total);
        let skipped = usize::try_from(from - first).unwrap_or(usize::MAX);
        (from, self.tail.iter().skip(skipped).take(most).copied().collect())
    }

    /// How much came, and how much of it is kept.
    pub(crate) fn counted(&self) -> Counted {
        let kept = (self.head.len() + self.tail.len()) as u64;
        Counted { kept, dropped: self.total - kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_both_streams_in_their_order() {
        let mut tail = Tail::new(5);
        tail.push(Stream::Stdout, b"abcdefgh");
        tail.push(Stream::Stderr, b"xy");
        tail.push(Stream::Stderr, b"");
        tail.push(Stream::Stdout, b"z");
        let (parts, lengths) = tail.finish();
        let expected = [
            (Stream::Stdout, b"gh".to_vec()),
            (Stream::Stderr, b"xy".to_vec()),
            (Stream::Stdout, b"z".to_vec()),
        ];
        assert_eq!((parts.as_slice(), lengths), (&expected[..], [3, 2]));
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let mut tail = Tail::new(0);
        tail.push(Stream::Stdout, b"abc");
        assert_eq!(tail.finish(), (Vec::new(), [0, 0]));
        let mut log = Log::new(0, Keep::HeadAndTail);
        log.push(b"abc");
        assert_eq!(log.read(0, 9), (3, Vec::new()));
        assert_eq!(log.counted(), Counted { kept: 0, dropped: 3 });
    }

    #[test]
    fn a_log_is_read_from_any_place() {
        let mut log = Log::new(10, Keep::HeadAndTail);
        for byte in b'a'..=b'z' {
            log.push(&[byte]);
        }
        assert_eq!(log.counted(), Counted { kept: 10, dropped: 16 });
        assert_eq!(log.read(0, 3), (0, b"abc".to_vec()));
        assert_eq!(log.read(6, 9), (6, b"gh".to_vec()));
        assert_eq!(log.read(8, 9), (24, b"yz".to_vec()), "what is gone is jumped over");
        assert_eq!(log.read(25, 9), (25, b"z".to_vec()));
        assert_eq!(log.read(26, 9), (26, Vec::new()));
        assert_eq!(log.read(u64::MAX, 9), (26, Vec::new()));
    }

    #[test]
    fn however_it_is_cut_the_same_is_kept() {
        let all: Vec<u8> = (0..2_000u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        for size in [1, 7, 64, 2_000] {
            let (mut log, mut tail) = (Log::new(100, Keep::HeadAndTail), Tail::new(20));
            for part in all.chunks(size) {
                log.push(part);
                tail.push(Stream::Stdout, part);
            }
            assert_eq!(log.read(0, 1_000).1, all[..80]);
            assert_eq!(log.read(80, 1_000), (1_980, all[1_980..].to_vec()));
            assert_eq!(tail.finish().0.concat_bytes(), all[1_980..]);
        }
    }

    trait Concat {
        fn concat_bytes(&self) -> Vec<u8>;
    }

    impl Concat for Vec<(Stream, Vec<u8>)> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|(_, part)| part.iter().copied()).collect()
        }
    }
}
