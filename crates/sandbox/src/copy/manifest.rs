//! What a copy was when it was finished: every entry with its stamp, and what was left out. An entry whose stamp is what
//! it was has not been changed; no program can set the time that is part of it.
//!
//! The list lies beside the copy, out of the sandbox's reach, and is written whole or not at all. One that cannot be
//! read to its last record is an error: nothing is concluded from a part of it.
use crate::layer::{Entry, Kind, Stamp};
use crate::report::Copied;
use std::collections::BTreeMap;
use std::io;

/// The first word of every list.
const MAGIC: &str = "enclos-copy-1";

/// One copied entry, as it was when the copy was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamped {
    pub(crate) kind: Copyable,
    mode: u32,
    size: u64,
    inode: u64,
    changed: Stamp,
}

/// What can be in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copyable {
    File,
    Directory,
    Link,
}

impl Copyable {
    fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::File => Some(Self::File),
            Kind::Directory => Some(Self::Directory),
            Kind::Link => Some(Self::Link),
            Kind::Whiteout | Kind::Special(_) => None,
        }
    }

    const fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Directory => 'd',
            Self::Link => 'l',
        }
    }

    fn from_letter(letter: &str) -> Option<Self> {
        [Self::File, Self::Directory, Self::Link].into_iter().find(|kind| letter == kind.letter().to_string())
    }
}

impl Stamped {
    /// The stamp of an entry of the copy.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        let kind = Copyable::of(entry.kind)?;
        Some(Self { kind, mode: entry.mode, size: entry.size, inode: entry.inode.1, changed: entry.changed })
    }

    /// Whether an entry is still this one, unchanged. Of a folder only that it is one: what is in it is asked by itself.
    pub(crate) fn is(&self, entry: &Entry) -> bool {
        match (self.kind, Self::of(entry)) {
            (_, None) => false,
            (Copyable::Directory, Some(now)) => now.kind == Copyable::Directory,
            (_, Some(now)) => now == *self,
        }
    }

    /// Whether an entry is this one in every part, the attributes of a folder too.
    pub(crate) fn is_exactly(&self, entry: &Entry) -> bool {
        Self::of(entry) == Some(*self)
    }

    /// When it was changed last.
    pub(crate) fn changed(&self) -> Stamp {
        self.changed
    }
}

/// The list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// How the copy was made.
    pub(crate) made: Copied,
    /// The entries, by path; the root is not among them.
    pub(crate) entries: BTreeMap<Vec<u8>, Stamped>,
    /// Paths of the tree that were not copied though the caller hid them not.
    pub(crate) withheld: Vec<Vec<u8>>,
}

impl Manifest {
    /// The list as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let made = &self.made;
        let how = if made.shares_blocks { "shared" } else { "bytes" };
        let head = format!("{MAGIC} {how} {} {} {}", made.entries, made.bytes, made.since.replace('\0', " "));
        let mut out = Vec::with_capacity(64 * (self.entries.len() + 1));
        let mut record = |text: &str, path: &[u8]| {
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(path);
            out.push(0);
        };
        record(&head, b"");
        for remark in &made.left_out {
            record("r ", remark.replace('\0', " ").as_bytes());
        }
        for path in &self.withheld {
            record("x ", path);
        }
        for (path, stamped) in &self.entries {
            let Stamped { kind, mode, size, inode, changed } = stamped;
            let (seconds, nanoseconds) = (changed.seconds, changed.nanoseconds);
            let kind = kind.letter();
            record(&format!("{kind} {mode} {size} {inode} {seconds} {nanoseconds} "), path);
        }
        record(&format!("end {}", self.entries.len()), b"");
        out
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Self> {
        read(bytes)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the list of the copy is damaged"))
    }
}

fn read(bytes: &[u8]) -> Option<Manifest> {
    let mut records = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let head = str::from_utf8(records.next()?).ok()?;
    let mut words = head.splitn(5, ' ');
    if words.next()? != MAGIC {
        return None;
    }
    let shares_blocks = match words.next()? {
        "shared" => true,
        "bytes" => false,
        _ => return None,
    };
    let (count, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let since = words.next()?.to_owned();
    let made = Copied { since, shares_blocks, entries: count, bytes, left_out: Vec::new() };
    let mut list = Manifest { made, entries: BTreeMap::new(), withheld: Vec::new() };
    loop {
        let record = records.next()?;
        if let Some(count) = record.strip_prefix(b"end ") {
            let whole = number::<usize>(count)? == list.entries.len() && records.next().is_none();
            return whole.then_some(list);
        } else if let Some(remark) = record.strip_prefix(b"r ") {
            list.made.left_out.push(String::from_utf8(remark.to_vec()).ok()?);
        } else if let Some(path) = record.strip_prefix(b"x ") {
            list.withheld.push(sound(path)?);
        } else {
            let (path, stamped) = entry(record)?;
            list.entries.insert(path, stamped);
        }
    }
}

fn entry(record: &[u8]) -> Option<(Vec<u8>, Stamped)> {
    let mut parts = record.splitn(7, |byte| *byte == b' ');
    let kind = Copyable::from_letter(str::from_utf8(parts.next()?).ok()?)?;
    let (mode, size, inode) = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
    let changed = Stamp { seconds: number(parts.next()?)?, nanoseconds: number(parts.next()?)? };
    Some((sound(parts.next()?)?, Stamped { kind, mode, size, inode, changed }))
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    str::from_utf8(bytes).ok()?.parse().ok()
}

/// A path of names below the root.
fn sound(path: &[u8]) -> Option<Vec<u8>> {
    let name = |part: &[u8]| !part.is_empty() && part != b"." && part != b"..";
    path.split(|byte| *byte == b'/').all(name).then(|| path.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Manifest {
        let stamped = |kind, size| Stamped {
            kind,
            mode: 0o644,
            size,
            inode: 7,
            changed: Stamp { seconds: -1, nanoseconds: 5 },
        };
        let entries = [
            (b"a b/\xffx \n".to_vec(), stamped(Copyable::File, 3)),
            (b"a b".to_vec(), stamped(Copyable::Directory, 0)),
            (b"l".to_vec(), stamped(Copyable::Link, 1)),
        ];
        Manifest {
            made: Copied {
                since: "a reason: of words".into(),
                shares_blocks: true,
                entries: 3,
                bytes: 3,
                left_out: vec!["`p`: a named pipe".into()],
            },
            entries: entries.into_iter().collect(),
            withheld: vec![b"p".to_vec()],
        }
    }

    #[test]
    fn comes_back_as_it_went_and_nothing_less_is_taken() {
        let bytes = list().encode();
        assert_eq!(Manifest::decode(&bytes).unwrap(), list());
        for end in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..end]).is_err(), "{end}");
        }
        let with = |from: &str, to: &str| {
            let text = String::from_utf8_lossy(&bytes).replace(from, to);
            Manifest::decode(text.as_bytes())
        };
        for (from, to) in
            [("end 3", "end 2"), ("l 420", "q 420"), (" 7 -1 5 l", " 7 -1 5 ../l"), (MAGIC, "x")]
        {
            assert!(with(from, to).is_err(), "{from}");
        }
    }

    #[test]
    fn a_change_of_any_part_of_the_stamp_shows() {
        let entry = Entry {
            kind: Kind::File,
            mode: 0o644,
            size: 3,
            changed: Stamp { seconds: 1, nanoseconds: 2 },
            inode: (9, 4),
            owner: (0, 0),
        };
        let stamped = Stamped::of(&entry).unwrap();
        assert!(
            stamped.is(&entry) && stamped.is(&Entry { inode: (8, 4), ..entry }),
            "a device has no lasting number"
        );
        for other in [
            Entry { kind: Kind::Link, ..entry },
            Entry { mode: 0o755, ..entry },
            Entry { size: 4, ..entry },
            Entry { inode: (9, 5), ..entry },
            Entry { changed: Stamp { seconds: 1, nanoseconds: 3 }, ..entry },
        ] {
            assert!(!stamped.is(&other), "{other:?}");
        }
        let folder = Entry { kind: Kind::Directory, ..entry };
        assert!(Stamped::of(&folder).unwrap().is(&Entry { mode: 0o700, size: 9, ..folder }));
    }
}
