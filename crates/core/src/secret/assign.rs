//! Values that a name announces: `api_token = …`, `"password": "…"`, `--secret …`, `key '…'`, `le jeton … est : …`.
//!
//! A name says what it names with its last word: `db.password` is a password, `password_file` is a file.

use super::value::{STRONG, Written, hash, password, strong, token};
use super::{Found, MARK};

/// How far a name reaches to each side of its word, in bytes.
const MAX_NAME: usize = 64;

/// How much of a value is looked at, in bytes. What is longer is taken whole by its first part.
pub(super) const MAX_VALUE: usize = 512;

/// How far from its word a value in prose may stand, in bytes.
const MAX_PROSE: usize = 96;

/// The shortest value after a colon or an equals sign in prose, in bytes.
const ANNOUNCED: usize = 10;

/// The shortest value that merely stands near in prose, in bytes.
const LOOSE: usize = 20;

/// What a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Password,
    Token,
    /// A name such as `cache_key`: only what looks like a secret is one.
    Key,
}

/// The value that the word at `start..end` announces.
pub(super) fn find(text: &str, start: usize, end: usize) -> Option<Found> {
    let name_start =
        start - text.get(..start)?.bytes().rev().take(MAX_NAME).take_while(|b| in_name(*b)).count();
    let name_end = end + text.get(end..)?.bytes().take(MAX_NAME).take_while(|b| in_name(*b)).count();
    let class = class(text.get(name_start..name_end)?)?;
    let flag = text.get(name_start..)?.starts_with('-');
    let after = text.get(name_end..)?;
    match separator(after, flag) {
        Some(length) => assigned(text, name_end + length, class).or_else(|| prose(text, name_end)),
        None => prose(text, name_end),
    }
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// What a name announces by its last words.
fn class(name: &str) -> Option<Class> {
    let words = words(name);
    let meaning = words.iter().rev().position(|word| !decoration(word))?;
    let mut back = words.iter().rev().skip(meaning);
    let last = back.next()?.as_str();
    let before = back.next().map_or("", String::as_str);
    let class = match last {
        "password" | "passwd" | "passwort" | "pwd" | "pass" | "passphrase" | "passcode" | "passe" | "mdp"
        | "sshpass" => Class::Password,
        // `PGPASSWORD`, `userpassword`.
        _ if last.ends_with("password") || last.ends_with("passwd") => Class::Password,
        "secret" | "token" | "jeton" | "apikey" | "credential" | "credentials" | "accesskey"
        | "secretkey" | "authtoken" | "authkey" | "privatekey" | "clientsecret" => Class::Token,
        "auth" if before == "rediscli" => Class::Password,
        "id" if matches!(before, "access" | "client") => Class::Key,
        "key" if announces_key(before) => Class::Token,
        "key" | "auth" => Class::Key,
        _ => return None,
    };
    Some(class)
}

/// Words that make a secret of a key.
fn announces_key(word: &str) -> bool {
    matches!(
        word,
        "api"
            | "access"
            | "secret"
            | "private"
            | "auth"
            | "account"
            | "encryption"
            | "signing"
            | "master"
            | "shared"
            | "session"
            | "service"
            | "consumer"
            | "app"
            | "application"
            | "client"
            | "license"
            | "licence"
            | "deploy"
            | "subscription"
            | "storage"
            | "admin"
            | "write"
            | "ingest"
            | "server"
            | "host"
            | "webhook"
            | "hmac"
            | "jwt"
    )
}

/// Words after the one that says what a name names.
fn decoration(word: &str) -> bool {
    matches!(
        word,
        "value"
            | "string"
            | "base64"
            | "b64"
            | "dev"
            | "prod"
            | "production"
            | "staging"
            | "test"
            | "old"
            | "new"
            | "v"
    ) || word.bytes().all(|b| b.is_ascii_digit())
}

/// The words of a name, in lower case: parted by signs, and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        let parted = !c.is_ascii_alphanumeric();
        if (parted || (small && c.is_ascii_uppercase())) && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        small = c.is_ascii_lowercase();
        if !parted && let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The length of what stands between a name and its value. `flag`: the name is an option, which a space ends.
fn separator(after: &str, flag: bool) -> Option<usize> {
    let closed = after.trim_start_matches(['"', '\'', '`', ']', ')']);
    let closing = after.len() - closed.len();
    let spaced = closed.trim_start_matches([' ', '\t']);
    if closing > 2 || closed.len() - spaced.len() > 8 {
        return None;
    }
    let sign = ["=>", ":=", "==", "=", ":"].iter().find(|sign| spaced.starts_with(**sign));
    let rest = match sign {
        Some(sign) => spaced.get(sign.len()..)?,
        None if flag && closing > 0 => spaced.strip_prefix(',')?,
        None if flag && spaced.len() < closed.len() => spaced,
        None => return None,
    };
    let value = rest.trim_start_matches([' ', '\t']);
    (rest.len() - value.len() <= 8).then_some(after.len() - value.len())
}

/// The value at `at`, where a name assigns one.
fn assigned(text: &str, at: usize, class: Class) -> Option<Found> {
    let (start, end, written) = value(text, at)?;
    let value = text.get(start..end)?;
    let called = written == Written::Bare && text.get(end..)?.starts_with(['(', '[']);
    let fits = match class {
        Class::Password => password(value, written),
        Class::Token => token(value, written),
        Class::Key => strong(value, STRONG) && !hash(value),
    };
    let kind = if class == Class::Password { "password" } else { "token" };
    (fits && !called).then(|| Found::new(start, end, kind))
}

/// The stretch of the value at `at`, without its quotes.
fn value(text: &str, at: usize) -> Option<(usize, usize, Written)> {
    let rest = text.get(at..)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    if let Some(quote) = quote {
        let inside = rest.get(1..)?;
        let length = inside
            .bytes()
            .take(MAX_VALUE)
            .position(|b| b == quote as u8 || b == b'\n')
            .unwrap_or(inside.len().min(MAX_VALUE));
        return Some((at + 1, at + 1 + length, Written::Quoted));
    }
    let ends = |b: &u8| b.is_ascii_whitespace() || b"\"'`,;&|<>(){}[]\\".contains(b);
    let length = rest.as_bytes().iter().take(MAX_VALUE).position(ends).unwrap_or(rest.len().min(MAX_VALUE));
    let trailing = rest.get(..length)?.bytes().rev().take_while(|b| b".:!?".contains(b)).count();
    Some((at, at + length - trailing, Written::Bare))
}

/// The value that prose announces on the same line: the first run of characters that looks like a secret.
fn prose(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    let line = rest.bytes().take(MAX_PROSE).position(|b| b == b'\n').unwrap_or(rest.len().min(MAX_PROSE));
    let in_run = |b: u8| b.is_ascii_alphanumeric() || b"_-+/=.~".contains(&b);
    let line = rest.get(..line).and_then(|line| line.find(MARK)).unwrap_or(line);
    let bytes = rest.as_bytes();
    let mut from = 0;
    while from < line {
        if !in_run(*bytes.get(from)?) {
            from += 1;
            continue;
        }
        let run = bytes.get(from..)?.iter().take(MAX_VALUE).take_while(|b| in_run(**b)).count();
        let value = rest.get(from..from + run)?.trim_end_matches(['.', '=']);
        let quoted = from > 0 && bytes.get(from - 1).is_some_and(|b| b"'\"`".contains(b));
        let announced = rest.get(..from)?.trim_end().ends_with([':', '=']);
        let path = value.contains('/') || value.contains('.');
        let least = match (announced, quoted) {
            (true, _) => ANNOUNCED,
            (false, true) => STRONG,
            (false, false) => LOOSE,
        };
        if strong(value, least) && (quoted || announced || !(hash(value) || path)) {
            let run =
                value.len() + usize::from(value.len() < run && bytes.get(from + value.len()) == Some(&b'='));
            return Some(Found::new(at + from, at + from + run, "token"));
        }
        from += run;
    }
    None
}
