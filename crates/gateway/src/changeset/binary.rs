//! Binary contents in a patch: git's `GIT binary patch`, always as two literals, forward and back.
//!
//! A literal is the content deflated, in lines of at most 52 bytes, each behind a letter for its length and written
//! in base 85. It decides nothing and reads nothing.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The 85 digits.
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes of one line.
const LINE: usize = 52;

/// Writes the whole block for a change from one content to another.
pub(super) fn write(patch: &mut Vec<u8>, old: &[u8], new: &[u8]) -> io::Result<()> {
    patch.extend_from_slice(b"GIT binary patch\n");
    literal(patch, new)?;
    literal(patch, old)
}

/// One literal and the empty line that ends it.
fn literal(patch: &mut Vec<u8>, content: &[u8]) -> io::Result<()> {
    writeln!(patch, "literal {}", content.len())?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    for line in encoder.finish()?.chunks(LINE) {
        patch.push(length_letter(line.len()));
        line.chunks(4).for_each(|group| patch.extend(base85(group)));
        patch.push(b'\n');
    }
    patch.push(b'\n');
    Ok(())
}

/// `A` to `Z` for 1 to 26, `a` to `z` for 27 to 52.
#[expect(clippy::cast_possible_truncation, reason = "a line has at most 52 bytes")]
fn length_letter(length: usize) -> u8 {
    if length <= 26 { b'A' + (length as u8) - 1 } else { b'a' + (length as u8) - 27 }
}

/// Up to four bytes, filled with zeros, as five digits.
fn base85(group: &[u8]) -> [u8; 5] {
    let mut word = [0; 4];
    word.iter_mut().zip(group).for_each(|(to, from)| *to = *from);
    let mut rest = u32::from_be_bytes(word);
    let mut digits = [b'0'; 5];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 85) as usize];
        rest /= 85;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::{base85, length_letter, write};

    #[test]
    fn digits_and_letters() {
        assert_eq!(&base85(&[0, 0, 0, 0]), b"00000");
        assert_eq!(&base85(&[0xff; 4]), b"|NsC0");
        assert_eq!(
            (length_letter(1), length_letter(26), length_letter(27), length_letter(52)),
            (b'A', b'Z', b'a', b'z')
        );
    }

    #[test]
    fn a_block_has_both_directions() {
        let mut patch = Vec::new();
        write(&mut patch, b"", &[0; 300]).unwrap();
        let text = String::from_utf8(patch).unwrap();
        assert!(text.starts_with("GIT binary patch\nliteral 300\n"), "{text}");
        assert!(text.contains("\n\nliteral 0\nHc"), "{text}");
    }
}
