//! What names an image: its content, by digest. A name alone or with a tag is refused, since what it means changes.
use std::fmt;
use std::path::{Path, PathBuf};

/// An image that is on this machine already; it is never fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// By the digest of its manifest: `NAME@sha256:…`.
    Manifest {
        /// Its name, with the registry where there is one.
        name: String,
        /// 64 hexadecimal digits.
        digest: String,
    },
    /// By the digest of its configuration, its identity on a machine: `sha256:…`.
    Configuration {
        /// 64 hexadecimal digits.
        digest: String,
    },
    /// In a folder with its manifest, `manifest.json`, and its files below `rootfs`: `/folder@sha256:…`, by the digest of the
    /// manifest. For runtimes, which keep no images.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// 64 hexadecimal digits.
        digest: String,
    },
}

impl Image {
    /// Reads one, or says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected =
            "expected `NAME@sha256:` or `sha256:` and 64 hexadecimal digits, since what a tag names changes";
        let Some((name, digest)) = text.rsplit_once("sha256:") else {
            return Err(format!("`{text}` has no digest: {expected}"));
        };
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digest.len() != 64 || !digest.bytes().all(hex) {
            return Err(format!("`{text}` has no whole digest: {expected}"));
        }
        let digest = digest.to_owned();
        if name.is_empty() {
            return Ok(Self::Configuration { digest });
        }
        let Some(name) = name.strip_suffix('@') else {
            return Err(format!("`{text}` cannot be read: {expected}"));
        };
        if Path::new(name).is_absolute() {
            return Ok(Self::Folder { folder: name.into(), digest });
        }
        if sound(name) {
            Ok(Self::Manifest { name: name.to_owned(), digest })
        } else {
            Err(format!("`{name}` is not the name of an image: {expected}"))
        }
    }

    /// The digest, 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        match self {
            Self::Manifest { digest, .. } | Self::Configuration { digest } | Self::Folder { digest, .. } => {
                digest
            }
        }
    }
}

/// A registry with its port, and parts of small letters, digits and `.`, `_`, `-`; never a flag.
fn sound(name: &str) -> bool {
    let mut parts = name.split('/');
    let first = parts.next().unwrap_or_default();
    let plain = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    let registry = match first.split_once(':') {
        None => plain(first),
        // A port only where a path follows: else it would be a tag.
        Some((host, port)) => {
            name.contains('/') && plain(host) && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
        }
    };
    registry && parts.all(plain)
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest { name, digest } => write!(f, "{name}@sha256:{digest}"),
            Self::Configuration { digest } => write!(f, "sha256:{digest}"),
            Self::Folder { folder, digest } => write!(f, "{}@sha256:{digest}", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_by_their_content_alone() {
        let hex = "0123456789abcdef".repeat(4);
        for text in [
            "sha256:",
            "docker.io/library/rust@sha256:",
            "localhost:5000/a/b-c_d.e@sha256:",
            "rust@sha256:",
            "/srv/image@sha256:",
        ] {
            let text = format!("{text}{hex}");
            let image = Image::parse(&text).unwrap();
            assert_eq!((image.to_string(), image.digest()), (text, hex.as_str()));
        }
        for text in [
            "rust".into(),
            "rust:1.90".into(),
            "rust@sha256:abc".into(),
            format!("rust:1.90@sha256:{hex}"),
            format!("--privileged@sha256:{hex}"),
            format!("a b@sha256:{hex}"),
            format!("rustsha256:{hex}"),
            format!("@sha256:{hex}"),
            format!("a//b@sha256:{hex}"),
            format!("rust@sha256:{}", hex.to_uppercase()),
            format!("relative/../x@sha256:{hex}"),
        ] {
            let error = Image::parse(&text).unwrap_err();
            assert!(error.contains("expected"), "{text}: {error}");
        }
    }
}
