//! Names as git writes them in a patch.
//!
//! A name with a control character, a quotation mark or a backslash is put in quotation marks, C-style. Other bytes,
//! UTF-8 included, stand as they are: a patch is exact, and escaping for a screen is the business of the screen.

use std::fmt::Write as _;

/// `prefix` and a path, quoted as one name if need be.
pub(super) fn name(prefix: &str, path: &str) -> String {
    let plain = !path.bytes().any(|byte| byte < 0x20 || matches!(byte, 0x7f | b'"' | b'\\'));
    if plain {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '\x07' => text.push_str("\\a"),
            '\x08' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\x0b' => text.push_str("\\v"),
            '\x0c' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c if c < ' ' || c == '\x7f' => {
                // Writing to a text cannot fail.
                let _ = write!(text, "\\{:03o}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// A name in a `---` or `+++` line: one with a space ends in a tab, which says where it ends.
pub(super) fn header(prefix: &str, path: &str) -> String {
    let text = name(prefix, path);
    if text.contains(' ') && !text.starts_with('"') { text + "\t" } else { text }
}

#[cfg(test)]
mod tests {
    use super::{header, name};

    #[test]
    fn only_what_must_be_is_quoted() {
        assert_eq!(name("a/", "src/été.rs"), "a/src/été.rs");
        assert_eq!(
            name("a/", "tab\tquote\"back\\bell\x07del\x7f\x01"),
            r#""a/tab\tquote\"back\\bell\adel\177\001""#
        );
        assert_eq!(name("", "line\nfeed"), "\"line\\nfeed\"");
        assert_eq!(header("b/", "a b"), "b/a b\t");
        assert_eq!(header("b/", "a \"b\""), "\"b/a \\\"b\\\"\"");
    }
}
