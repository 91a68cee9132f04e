//! What a layer said at one moment, and how moments are written down: each as its difference from the one before.
//!
//! A moment holds every entry of the layer, or says what of it could not be kept. It reads and writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use enclos_core::ids::CallId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in a layer, or the target of a link. At rest, bytes that are not UTF-8 and `%` are written as `%XX`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(pub(super) Vec<u8>);

/// One digit.
fn hex(nibble: u8) -> Option<char> {
    char::from_digit(nibble.into(), 16)
}

impl Name {
    fn written(&self) -> String {
        let mut text = String::with_capacity(self.0.len());
        for chunk in self.0.utf8_chunks() {
            text.push_str(&chunk.valid().replace('%', "%25"));
            for byte in chunk.invalid() {
                text.extend(['%'].into_iter().chain(hex(byte >> 4)).chain(hex(byte & 15)));
            }
        }
        text
    }

    fn read(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((first, tail)) = rest.split_first() {
            rest = tail;
            if *first != b'%' {
                bytes.push(*first);
                continue;
            }
            let (digits, tail) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        }
        Some(Self(bytes))
    }

    /// The path for a person.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.written())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::read(&text).ok_or_else(|| D::Error::custom("a path with a broken escape"))
    }
}

/// One entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Node {
    /// A directory; `opaque` covers the one below.
    Directory { mode: u32, opaque: bool },
    /// A file, its content on the shelf under a name.
    File { mode: u32, size: u64, content: String },
    /// A link.
    Link { target: Name },
    /// The mark for "removed".
    Whiteout,
    /// A named pipe.
    Pipe { mode: u32 },
    /// A socket.
    Socket { mode: u32 },
    /// Something that could not be kept, and why.
    Lost { why: String },
}

/// What a layer said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Its entries.
    pub(super) nodes: BTreeMap<Name, Node>,
    /// Directories that are left as they are.
    pub(super) left_out: BTreeSet<Name>,
    /// Why the layer could not be looked at as a whole.
    pub(super) flaw: Option<String>,
}

/// A moment at rest: what is different from the moment before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frame {
    /// The call that was about to run.
    pub(super) call: CallId,
    /// Whether it stands alone: nothing of the moments before counts.
    pub(super) full: bool,
    /// Entries that are new or other.
    pub(super) set: BTreeMap<Name, Node>,
    /// Entries that are gone.
    pub(super) gone: Vec<Name>,
    /// All directories that are left out.
    pub(super) left_out: BTreeSet<Name>,
    /// As in [`Moment`].
    pub(super) flaw: Option<String>,
}

impl Moment {
    /// The next moment.
    pub(super) fn take(&mut self, frame: &Frame) {
        if frame.full {
            self.nodes.clear();
        }
        for name in &frame.gone {
            self.nodes.remove(name);
        }
        self.nodes.extend(frame.set.iter().map(|(name, node)| (name.clone(), node.clone())));
        self.left_out.clone_from(&frame.left_out);
        self.flaw.clone_from(&frame.flaw);
    }

    /// Why this moment cannot be gone back to; `None` when it is complete.
    pub(super) fn incomplete(&self) -> Option<String> {
        let lost = self.nodes.iter().find_map(|(name, node)| match node {
            Node::Lost { why } => Some(format!("`{}`: {why}", name.shown())),
            Node::Directory { .. }
            | Node::File { .. }
            | Node::Link { .. }
            | Node::Whiteout
            | Node::Pipe { .. }
            | Node::Socket { .. } => None,
        });
        self.flaw.clone().or(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_come_back() {
        for bytes in [&b""[..], b"src/a b.rs", b"100%", b"%41", b"odd\xff\xfe/\xc3", "größe".as_bytes()] {
            let name = Name(bytes.to_vec());
            let text = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<Name>(&text).unwrap(), name, "{text}");
        }
        for text in ["\"%\"", "\"%4\"", "\"%zz\"", "\"a%é\""] {
            assert!(serde_json::from_str::<Name>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_fold_and_a_full_one_forgets() {
        let name = |text: &str| Name(text.as_bytes().to_vec());
        let frame = |full, set: &[(&str, Node)], gone: &[&str]| Frame {
            call: CallId::new("call_1"),
            full,
            set: set.iter().map(|(path, node)| (name(path), node.clone())).collect(),
            gone: gone.iter().map(|path| name(path)).collect(),
            left_out: BTreeSet::new(),
            flaw: None,
        };
        let lost = Node::Lost { why: "too large".into() };
        let mut moment = Moment::default();
        moment.take(&frame(true, &[("a", Node::Whiteout), ("b", lost.clone())], &[]));
        assert_eq!(moment.incomplete().as_deref(), Some("`b`: too large"));
        moment.take(&frame(false, &[("c", Node::Whiteout)], &["b"]));
        assert_eq!(moment.incomplete(), None);
        assert_eq!(moment.nodes.len(), 2);
        moment.take(&frame(true, &[], &[]));
        assert_eq!(moment, Moment::default());
        let text = serde_json::to_string(&frame(false, &[("x", lost)], &["y"])).unwrap();
        assert_eq!(serde_json::from_str::<Frame>(&text).unwrap().gone, [name("y")]);
    }
}
