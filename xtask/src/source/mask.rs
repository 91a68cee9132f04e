//! Cuts a Rust text into code, comments and literals, by what each of them begins and ends with.

/// What a stretch of the text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// The code and the comments of a text, each as long as the text in characters and lines.
pub(super) fn mask(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let mut rest = text;
    while !rest.is_empty() {
        let before = text[..text.len() - rest.len()].chars().next_back();
        let (part, length) = next_part(rest, before);
        for c in rest[..length].chars() {
            let blank = if c == '\n' { '\n' } else { ' ' };
            code.push(if part == Part::Code { c } else { blank });
            comments.push(if part == Part::Comment { c } else { blank });
        }
        rest = &rest[length..];
    }
    (code, comments)
}

/// The kind and the length in bytes of what `rest` starts with; `before` is the character before it.
fn next_part(rest: &str, before: Option<char>) -> (Part, usize) {
    if rest.starts_with("//") {
        return (Part::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Part::Comment, block_comment(rest));
    }
    if rest.starts_with('"') {
        return (Part::Literal, quoted(rest, '"'));
    }
    if !before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        for prefix in ["b", "c", "r", "br", "cr"] {
            let tail = rest.strip_prefix(prefix).unwrap_or("");
            let hashes = tail.len() - tail.trim_start_matches('#').len();
            if tail[hashes..].starts_with('"') && (hashes == 0 || prefix.ends_with('r')) {
                let body = if prefix.ends_with('r') { raw(tail, hashes) } else { quoted(tail, '"') };
                return (Part::Literal, prefix.len() + body);
            }
        }
    }
    if rest.starts_with('\'') && is_char(&rest[1..]) {
        return (Part::Literal, quoted(rest, '\''));
    }
    (Part::Code, rest.chars().next().map_or(1, char::len_utf8))
}

/// True when what follows a `'` is a character and not the name of a lifetime.
fn is_char(after: &str) -> bool {
    let mut chars = after.chars();
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal that starts and ends with `quote`, escapes read over.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// The length of a raw literal, from its first `#` or quote.
fn raw(tail: &str, hashes: usize) -> usize {
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 1;
    tail[start..].find(&end).map_or(tail.len(), |at| start + at + end.len())
}
