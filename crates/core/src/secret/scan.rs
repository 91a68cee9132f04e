//! One pass over a text for the words that announce a secret, and what to look for at each.
//!
//! The searcher only finds where to look; each look reads a bounded stretch, so that the whole is linear.

use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError};

use super::shapes::{SHAPES, Shape};
use super::{Found, assign, place};

/// What a found word makes us look for.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// A token of this shape, here.
    Shape(&'static Shape),
    /// A value that this word, or a name it is part of, announces.
    Name,
    /// A private key, in the whole text.
    PrivateKey,
    /// `scheme://user:password@host`.
    Url,
    /// The value of a header.
    Header,
    /// The pairs of a cookie.
    Cookie,
    /// The option of a program that takes a password.
    Option,
    /// `user:password` after an option.
    UserOption,
    /// The word that is echoed into `--password-stdin`.
    Echoed,
}

/// Words and what they announce. Found in any case.
const WORDS: [(&str, Look); 34] = [
    ("password", Look::Name),
    ("passwd", Look::Name),
    ("passwort", Look::Name),
    ("passphrase", Look::Name),
    ("passcode", Look::Name),
    ("pass", Look::Name),
    ("pwd", Look::Name),
    ("mdp", Look::Name),
    ("mot de passe", Look::Name),
    ("secret", Look::Name),
    ("token", Look::Name),
    ("jeton", Look::Name),
    ("key", Look::Name),
    ("credential", Look::Name),
    ("access_id", Look::Name),
    ("client_id", Look::Name),
    ("auth", Look::Name),
    ("private key", Look::PrivateKey),
    ("://", Look::Url),
    ("bearer ", Look::Header),
    ("basic ", Look::Header),
    ("authorization: token ", Look::Header),
    ("cookie: ", Look::Cookie),
    ("sshpass -p", Look::Option),
    ("ldapsearch ", Look::Option),
    ("ldapadd ", Look::Option),
    ("ldapmodify ", Look::Option),
    ("mysql ", Look::Option),
    ("mysqldump ", Look::Option),
    ("mysqladmin ", Look::Option),
    ("htpasswd ", Look::Option),
    (" -u ", Look::UserOption),
    ("--user", Look::UserOption),
    ("--password-stdin", Look::Echoed),
];

/// The searcher and what each of its words announces.
#[derive(Debug)]
pub(super) struct Scanner {
    searcher: AhoCorasick,
    looks: Vec<Look>,
}

impl Scanner {
    pub(super) fn new() -> Result<Self, BuildError> {
        let words = WORDS.iter().map(|(word, look)| (*word, *look));
        let shapes = SHAPES.iter().map(|shape| (shape.prefix, Look::Shape(shape)));
        let (patterns, looks): (Vec<&str>, Vec<Look>) = words.chain(shapes).unzip();
        let searcher = AhoCorasick::builder().ascii_case_insensitive(true).build(patterns)?;
        Ok(Self { searcher, looks })
    }

    /// Finds what the words outside of `marks` announce.
    pub(super) fn find(&self, text: &str, marks: &[Range<usize>], found: &mut Vec<Found>) {
        let mut private_key = false;
        for hit in self.searcher.find_overlapping_iter(text) {
            let (start, end) = (hit.start(), hit.end());
            let before = marks.partition_point(|mark| mark.end <= start);
            if marks.get(before).is_some_and(|mark| mark.start <= start) {
                continue;
            }
            match self.looks.get(hit.pattern().as_usize()) {
                Some(Look::Shape(shape)) => found.extend(shape.find(text, start)),
                Some(Look::Name) => found.extend(assign::find(text, start, end)),
                Some(Look::PrivateKey) => private_key = true,
                Some(Look::Url) => found.extend(place::url(text, start, end)),
                Some(Look::Header) => found.extend(place::header(text, start, end)),
                Some(Look::Cookie) => place::cookie(text, end, found),
                Some(Look::Option) => found.extend(place::option(text, start, end)),
                Some(Look::UserOption) => found.extend(place::user_option(text, end)),
                Some(Look::Echoed) => found.extend(place::echoed(text, start)),
                None => {}
            }
        }
        if private_key {
            place::private_keys(text, found);
        }
    }
}
