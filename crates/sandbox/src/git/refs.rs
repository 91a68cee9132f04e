//! Local branches and tags, loose and packed, as one packed list. Remote branches, stashes and notes stay outside.
use super::{STEP, text};
use crate::error::OpenError;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Longest packed list that is read, in bytes.
const PACKED: u64 = 32 * 1024 * 1024;
/// Most loose names.
const LOOSE: usize = 50_000;

/// The list, in the form of a `packed-refs` file.
pub(super) fn packed(common: &Path, hex: usize) -> Result<String, OpenError> {
    let mut refs = BTreeMap::new();
    if let Some(list) = text(&common.join("packed-refs"), PACKED)? {
        for line in list.lines() {
            if let Some((hash, name)) = line.split_once(' ')
                && is_hash(hash, hex)
                && is_local(name)
            {
                refs.insert(name.to_owned(), hash.to_owned());
            }
        }
    }
    for kind in ["refs/heads", "refs/tags"] {
        loose(common, kind, hex, &mut refs)?;
    }
    let mut out = String::new();
    for (name, hash) in refs {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{hash} {name}");
    }
    Ok(out)
}

/// Adds the loose ones below `start`; they count before packed ones.
fn loose(
    common: &Path,
    start: &str,
    hex: usize,
    refs: &mut BTreeMap<String, String>,
) -> Result<(), OpenError> {
    let mut waiting = vec![start.to_owned()];
    let mut seen = 0;
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(common.join(&folder)) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > LOOSE {
                return Err(OpenError::new(
                    STEP,
                    format!("more than {LOOSE} loose branches; run `git pack-refs`"),
                ));
            }
            let Some(name) = entry.file_name().to_str().map(|name| format!("{folder}/{name}")) else {
                continue;
            };
            if !is_name(&name) {
                continue;
            }
            // The entry's own kind: a link is neither.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(name),
                Ok(kind) if kind.is_file() => {
                    if let Some(hash) = text(&common.join(&name), 4096)?
                        && is_hash(hash.trim_end(), hex)
                    {
                        refs.insert(name, hash.trim_end().to_owned());
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_local(name: &str) -> bool {
    (name.starts_with("refs/heads/") || name.starts_with("refs/tags/")) && is_name(name)
}

/// A hash of `hex` digits.
pub(super) fn is_hash(text: &str, hex: usize) -> bool {
    text.len() == hex && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A hash of either kind.
pub(super) fn is_any_hash(text: &str) -> bool {
    is_hash(text, 40) || is_hash(text, 64)
}

/// A name that git would take for a branch or a tag.
pub(super) fn is_name(name: &str) -> bool {
    let odd = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !name.contains(odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name.split('/').all(|part| {
            !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_hashes() {
        for name in ["refs/heads/main", "refs/tags/v1.0", "refs/heads/a/b-c_d"] {
            assert!(is_name(name), "{name}");
        }
        for name in
            ["refs/heads/", "refs//x", "refs/heads/../x", "refs/heads/.x", "a b", "a\nb", "x.lock", "a@{1}"]
        {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_hash(&"a".repeat(40), 40) && !is_hash(&"A".repeat(40), 40) && !is_hash("a", 40));
    }

    #[test]
    fn loose_before_packed_and_nothing_remote() {
        let root = tempfile::tempdir().unwrap();
        let (old, new) = ("1".repeat(40), "2".repeat(40));
        std::fs::create_dir_all(root.path().join("refs/heads/a")).unwrap();
        std::fs::write(root.path().join("refs/heads/a/b"), format!("{new}\n")).unwrap();
        std::fs::write(root.path().join("refs/heads/link"), "ref: refs/heads/a/b\n").unwrap();
        let list = format!(
            "# pack-refs with: peeled\n{old} refs/heads/a/b\n{old} refs/remotes/o/x\n{old} refs/stash\n{old} refs/tags/t\n^{new}\n"
        );
        std::fs::write(root.path().join("packed-refs"), list).unwrap();
        let packed = packed(root.path(), 40).unwrap();
        assert_eq!(packed, format!("{new} refs/heads/a/b\n{old} refs/tags/t\n"));
    }
}
