//! Places where secrets stand: private keys, the user part of a URL, headers, cookies, options of known programs.

use super::Found;
use super::value::{STRONG, Written, hash, password, strong, token};

/// The longest stretch that is read around a word, in bytes.
const MAX_REACH: usize = 1024;

/// The length of the leading bytes that `takes` takes, bounded.
fn span(text: &str, takes: impl Fn(u8) -> bool) -> usize {
    text.bytes().take(MAX_REACH).take_while(|b| takes(*b)).count()
}

/// Private keys, with their end or cut off before it.
pub(super) fn private_keys(text: &str, found: &mut Vec<Found>) {
    let begins = text.match_indices("-----BEGIN").map(|(at, _)| at);
    let mut done = 0;
    for start in begins {
        if start < done {
            continue;
        }
        let Some(head) = text.get(start + 10..).and_then(|rest| rest.get(..span(rest, |b| b != b'-'))) else {
            continue;
        };
        if !head.ends_with("PRIVATE KEY") && !head.ends_with("PRIVATE KEY BLOCK") {
            continue;
        }
        let body = start + 10 + head.len();
        let cut = body + text.get(body..).map_or(0, material);
        let closing = text.get(cut..).filter(|rest| rest.starts_with("-----END"));
        let end = closing
            .map_or(cut, |rest| cut + 8 + rest.get(8..).map_or(0, |rest| span(rest, |b| b != b'-')) + 5);
        found.push(Found::new(start, end.min(text.len()), super::PRIVATE_KEY));
        done = end;
    }
}

/// The length of the dashes and lines of a key that `rest` begins with, up to its end mark.
fn material(rest: &str) -> usize {
    let dashes = rest.bytes().take_while(|b| *b == b'-').count();
    let takes = |b: u8| b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b"+/=\\:,.\"'>*".contains(&b);
    let lines = rest.get(dashes..).unwrap_or_default();
    let mut length = lines.bytes().take_while(|b| takes(*b)).count();
    // A header such as `Proc-Type: 4,ENCRYPTED` holds single dashes; five end the key.
    while lines.get(length..).is_some_and(|rest| rest.starts_with('-') && !rest.starts_with("-----")) {
        length += 1;
        length += lines.get(length..).map_or(0, |rest| rest.bytes().take_while(|b| takes(*b)).count());
    }
    dashes + length
}

/// The password or token in `scheme://user:password@host`.
pub(super) fn url(text: &str, start: usize, end: usize) -> Option<Found> {
    if !text.get(..start)?.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = text.get(end..)?;
    let length = span(rest, |b| b.is_ascii_graphic() && !b"/?#\"'`<>\\@".contains(&b));
    rest.get(length..).filter(|rest| rest.starts_with('@'))?;
    let user = rest.get(..length)?;
    match user.split_once(':') {
        Some((name, value)) => {
            let from = end + name.len() + 1;
            let fits = value.len() >= 3
                && !value.starts_with(['$', '{', '<', '*', '%'])
                && !value.contains("[secret:");
            fits.then(|| Found::new(from, from + value.len(), "url-password"))
        }
        None => strong(user, STRONG).then(|| Found::new(end, end + length, "url-password")),
    }
}

/// The value of `Bearer …`, `Basic …`, `Authorization: token …`.
pub(super) fn header(text: &str, start: usize, end: usize) -> Option<Found> {
    let rest = text.get(end..)?;
    let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    if before.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let length = span(rest, |b| b.is_ascii_alphanumeric() || b"._~+/=-:%".contains(&b));
    let value = rest.get(..length)?.trim_end_matches(['.', ':']);
    let basic = text.get(start..)?.as_bytes().first().is_some_and(|b| b.eq_ignore_ascii_case(&b'b'))
        && text.get(start..end)?.eq_ignore_ascii_case("basic ");
    let fits =
        if basic { value.len() >= 12 && token(value, Written::Quoted) } else { token(value, Written::Bare) };
    fits.then(|| Found::new(end, end + value.len(), "authorization"))
}

/// The values of a cookie that look like sessions.
pub(super) fn cookie(text: &str, end: usize, found: &mut Vec<Found>) {
    let line = text.get(end..).unwrap_or_default();
    let line = line.get(..span(line, |b| b != b'\n' && b != b'"' && b != b'\'')).unwrap_or_default();
    let mut at = end;
    for part in line.split(';') {
        if let Some((name, value)) = part.split_once('=')
            && strong(value, STRONG)
        {
            let start = at + name.len() + 1;
            found.push(Found::new(start, start + value.len(), "cookie"));
        }
        at += part.len() + 1;
    }
}

/// The password that an option of a known program carries: `mysql -pX`, `sshpass -p X`, `ldapsearch -w X`,
/// `htpasswd -b FILE USER X`.
pub(super) fn option(text: &str, start: usize, end: usize) -> Option<Found> {
    let program = text.get(start..end)?.trim_end();
    let rest = text.get(end..)?;
    let line = rest.get(..span(rest, |b| !b"\n;|&".contains(&b)))?;
    let (from, value) = match program.split(' ').next()? {
        "sshpass" => (end, line),
        "mysql" | "mysqldump" | "mysqladmin" => {
            let at = line.find(" -p").map(|at| at + 3).or_else(|| line.starts_with("-p").then_some(2))?;
            (end + at, line.get(at..)?.split(' ').next()?)
        }
        "htpasswd" => {
            let at = line.rfind(' ').filter(|_| line.contains("-b") || line.contains("-nb"))? + 1;
            (end + at, line.get(at..)?)
        }
        _ => {
            let at =
                line.find("-w ").filter(|at| *at == 0 || line.as_bytes().get(at - 1) == Some(&b' '))? + 3;
            (end + at, line.get(at..)?)
        }
    };
    worded(from, value)
}

/// The password in `-u user:password`.
pub(super) fn user_option(text: &str, end: usize) -> Option<Found> {
    let rest = text.get(end..)?;
    let from = end + span(rest, |b| b" =\"'".contains(&b));
    let rest = text.get(from..)?;
    let length = span(rest, |b| b.is_ascii_graphic() && !b"\"'`;|&<>".contains(&b));
    let (user, value) = rest.get(..length)?.split_once(':')?;
    let fits = !user.is_empty()
        && !user.starts_with('$')
        && !value.starts_with("//")
        && password(value, Written::Quoted);
    fits.then(|| Found::new(from + user.len() + 1, from + length, "password"))
}

/// The word that is echoed into a program that reads a password.
pub(super) fn echoed(text: &str, start: usize) -> Option<Found> {
    let mut from = start.saturating_sub(MAX_REACH);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let line = text.get(from..start)?;
    let line_start = line.rfind('\n').map_or(0, |at| at + 1);
    let at = line.get(line_start..)?.rfind("echo ")? + line_start + 5;
    let at = at + if line.get(at..)?.starts_with("-n ") { 3 } else { 0 };
    worded(from + at, line.get(at..)?)
}

/// The first word of `rest`, which stands at `from`, as a password.
fn worded(from: usize, rest: &str) -> Option<Found> {
    let lead = span(rest, |b| b" \"'".contains(&b));
    let word = rest.get(lead..)?;
    let value = word.get(..span(word, |b| b.is_ascii_graphic() && !b"\"'`|;&<>".contains(&b)))?;
    let fits = password(value, Written::Quoted) && !hash(value);
    fits.then(|| Found::new(from + lead, from + lead + value.len(), "password"))
}
