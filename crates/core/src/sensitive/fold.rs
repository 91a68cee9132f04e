//! A name as the least careful file system reads it.
//!
//! Case is folded; compatibility forms of ASCII are ASCII; what HFS+ ignores is dropped; what NTFS cuts off is cut
//! off. More names become equal than on any one system, which only flags more.

/// The name of one component, folded.
pub(super) fn folded(part: &str) -> String {
    let plain: String = part.chars().filter(|c| !ignored(*c)).flat_map(|c| plain(c).to_lowercase()).collect();
    let stem = plain.split(':').next().unwrap_or_default();
    let cut = stem.trim_end_matches(['.', ' ']);
    // A name of dots alone is no name that NTFS would cut.
    if cut.is_empty() { plain } else { cut.to_owned() }
}

/// Characters that HFS+ ignores in names, and others that show nothing.
fn ignored(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The ASCII character that a compatibility form stands for; any other character as it is.
fn plain(c: char) -> char {
    let code = u32::from(c);
    let ascii = match code {
        // Full-width forms.
        0xff01..=0xff5e => Some(code - 0xfee0),
        // Mathematical letters, in alphabets of 52, and digits, in tens.
        0x1d400..=0x1d6a3 => Some(letter((code - 0x1d400) % 52)),
        0x1d7ce..=0x1d7ff => Some(0x30 + (code - 0x1d7ce) % 10),
        // Letters in circles, squares and parentheses.
        0x24b6..=0x24cf => Some(0x61 + code - 0x24b6),
        0x24d0..=0x24e9 => Some(0x61 + code - 0x24d0),
        0x249c..=0x24b5 => Some(0x61 + code - 0x249c),
        0x1f130..=0x1f149 => Some(0x61 + code - 0x1f130),
        // Dots, hyphens and low lines of other widths; the long s; the Kelvin sign; superscript letters.
        0x2024 | 0xfe52 => Some(0x2e),
        0x2010 | 0x2011 | 0xfe63 => Some(0x2d),
        0xfe33 | 0xfe34 | 0xfe4d..=0xfe4f => Some(0x5f),
        0x17f => Some(0x73),
        0x212a => Some(0x6b),
        0x2071 => Some(0x69),
        0x207f => Some(0x6e),
        _ => letter_like(code),
    };
    ascii.and_then(char::from_u32).unwrap_or(c)
}

/// The letter of an index in `A…Za…z`.
fn letter(index: u32) -> u32 {
    if index < 26 { 0x41 + index } else { 0x61 + index - 26 }
}

/// Letter-like symbols that stand for one letter.
fn letter_like(code: u32) -> Option<u32> {
    let letter = match code {
        0x2102 | 0x212d => 'c',
        0x210a => 'g',
        0x210b..=0x210e => 'h',
        0x2110 | 0x2111 | 0x2139 | 0x2148 => 'i',
        0x2112 | 0x2113 => 'l',
        0x2115 => 'n',
        0x2119 => 'p',
        0x211a => 'q',
        0x211b..=0x211d => 'r',
        0x2124 | 0x2128 => 'z',
        0x212c => 'b',
        0x212f | 0x2130 | 0x2147 => 'e',
        0x2131 => 'f',
        0x2133 => 'm',
        0x2134 => 'o',
        0x2145 | 0x2146 => 'd',
        0x2149 => 'j',
        _ => return None,
    };
    Some(u32::from(letter))
}
