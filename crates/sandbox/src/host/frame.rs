//! Frames on a stream of bytes: a short head of JSON and a body of raw bytes, each with its length before it.
//!
//! Nothing but bytes travels, no descriptors, so that a frame can go over any connection that keeps order. A frame is
//! whole or it is an error, its lengths are bounded, and no memory is taken for bytes that have not come.
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// Longest head, in bytes.
pub(crate) const HEAD: u32 = 256 * 1024;
/// Longest body, in bytes.
pub(crate) const BODY: u32 = 64 * 1024 * 1024;
/// What a sender of much puts into one body, in bytes.
pub(crate) const CHUNK: usize = 256 * 1024;

/// Writes one frame. The caller flushes.
pub(crate) fn write<T: Serialize>(to: &mut dyn Write, head: &T, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let lengths = (u32::try_from(head.len()), u32::try_from(body.len()));
    let (Ok(head_length @ ..=HEAD), Ok(body_length @ ..=BODY)) = lengths else {
        return Err(bad("a frame is too long"));
    };
    to.write_all(&head_length.to_le_bytes())?;
    to.write_all(&body_length.to_le_bytes())?;
    to.write_all(&head)?;
    to.write_all(body)
}

/// Reads one frame; `None` when the other side ended the connection between two frames.
pub(crate) fn read<T: DeserializeOwned>(from: &mut dyn Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0u8; 8];
    let mut filled = 0;
    while let Some(rest) = lengths.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(bad("a frame is cut")),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [head, body] = numbers(lengths);
    if head > HEAD || body > BODY {
        return Err(bad("a frame is too long"));
    }
    let head = exactly(from, head)?;
    let head = serde_json::from_slice(&head).map_err(|_| bad("a frame cannot be understood"))?;
    Ok(Some((head, exactly(from, body)?)))
}

fn numbers(bytes: [u8; 8]) -> [u32; 2] {
    let [h0, h1, h2, h3, body @ ..] = bytes;
    [u32::from_le_bytes([h0, h1, h2, h3]), u32::from_le_bytes(body)]
}

/// So many bytes; the memory grows with what comes.
fn exactly(from: &mut dyn Read, length: u32) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0).min(CHUNK));
    from.take(length.into()).read_to_end(&mut bytes)?;
    if u32::try_from(bytes.len()) == Ok(length) { Ok(bytes) } else { Err(bad("a frame is cut")) }
}

pub(crate) fn bad(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(head: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &head, body).unwrap();
        bytes
    }

    /// Hands out one byte, then the rest in pieces of odd size.
    struct Pieces<'b>(&'b [u8]);
    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = into.len().min(self.0.len()).min(1 + self.0.len() % 4099);
            let (now, rest) = self.0.split_at(size);
            into[..size].copy_from_slice(now);
            self.0 = rest;
            Ok(size)
        }
    }

    #[test]
    fn frames_arrive_whole_whatever_the_pieces() {
        let bytes = [framed("one", b""), framed("two", &vec![7; 300_000])].concat();
        let mut from = Pieces(&bytes);
        assert_eq!(read::<String>(&mut from).unwrap(), Some(("one".to_owned(), Vec::new())));
        assert_eq!(read::<String>(&mut from).unwrap(), Some(("two".to_owned(), vec![7; 300_000])));
        assert_eq!(read::<String>(&mut from).unwrap(), None);
    }

    #[test]
    fn what_is_cut_too_long_or_strange_is_an_error() {
        let whole = framed("head", b"body");
        for length in 1..whole.len() {
            assert!(read::<String>(&mut &whole[..length]).is_err(), "cut at {length}");
        }
        for (head, body) in [(HEAD + 1, 0), (1, BODY + 1), (u32::MAX, u32::MAX)] {
            let bytes = [head.to_le_bytes(), body.to_le_bytes()].concat();
            assert!(read::<String>(&mut bytes.as_slice()).is_err());
        }
        assert!(read::<u32>(&mut whole.as_slice()).is_err(), "a head of another type");
        assert!(write(&mut io::sink(), &"x".repeat(HEAD as usize), b"").is_err());
    }
}
