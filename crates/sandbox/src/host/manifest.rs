//! What the checkout of a base holds, so that a gateway can say what is different in the tree of its person: kind, size
//! and digest of each file and link. It holds no content.
use std::collections::BTreeMap;

/// What a path of a base is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file that is not executable.
    Plain,
    /// An executable file.
    Executable,
    /// A symbolic link.
    Link,
}

/// One file or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// What it is.
    pub form: Form,
    /// Size in bytes; of a link, the length of its target.
    pub size: u64,
    /// SHA-256 of its content or target.
    pub digest: [u8; 32],
}

/// Every file and link of a base by its path. Directories are those on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The entries.
    pub entries: BTreeMap<Vec<u8>, Known>,
}

impl Manifest {
    /// As bytes: for each entry one for its form, eight for its size, the digest, the path and a zero.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, known) in &self.entries {
            bytes.push(match known.form {
                Form::Plain => b'f',
                Form::Executable => b'x',
                Form::Link => b'l',
            });
            bytes.extend_from_slice(&known.size.to_le_bytes());
            bytes.extend_from_slice(&known.digest);
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        bytes
    }

    /// Reads those bytes. `None`: they are damaged.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut entries = BTreeMap::new();
        while let Some((form, rest)) = bytes.split_first() {
            let form = match form {
                b'f' => Form::Plain,
                b'x' => Form::Executable,
                b'l' => Form::Link,
                _ => return None,
            };
            let (size, rest) = rest.split_first_chunk::<8>()?;
            let (digest, rest) = rest.split_first_chunk::<32>()?;
            let end = rest.iter().position(|byte| *byte == 0)?;
            let (path, rest) = rest.split_at_checked(end)?;
            let known = Known { form, size: u64::from_le_bytes(*size), digest: *digest };
            entries.insert(path.to_vec(), known);
            bytes = rest.get(1..)?;
        }
        Some(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let known = |form, size| Known { form, size, digest: [7; 32] };
        let manifest = Manifest {
            entries: [
                (b"a\xff".to_vec(), known(Form::Plain, 3)),
                (b"b/c".to_vec(), known(Form::Executable, u64::MAX)),
                (b"d".to_vec(), known(Form::Link, 0)),
            ]
            .into(),
        };
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::from_bytes(&bytes), Some(manifest));
        assert_eq!(Manifest::from_bytes(b""), Some(Manifest::default()));
        for length in [1, 40, bytes.len() - 1] {
            assert_eq!(Manifest::from_bytes(&bytes[..length]), None, "cut at {length}");
        }
        assert_eq!(Manifest::from_bytes(b"?"), None);
    }
}
