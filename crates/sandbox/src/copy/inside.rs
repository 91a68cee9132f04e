//! Other file systems that are mounted inside a folder, as the kernel's table of mounts tells. An overlay over the folder
//! would show what lies below them, or not be had at all; a copy takes them in as part of the tree.
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The first place below `folder` where something is mounted.
pub(super) fn first(folder: &Path) -> io::Result<Option<PathBuf>> {
    let folder = folder.canonicalize()?;
    Ok(among(&std::fs::read("/proc/self/mountinfo")?, &folder))
}

fn among(table: &[u8], folder: &Path) -> Option<PathBuf> {
    let points = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(unescape(point))))
    });
    points.filter(|point| point != folder && point.starts_with(folder)).min()
}

/// The table writes blanks, tabs, line ends and backslashes as `\` and three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let digits = if *first == b'\\' { tail.get(..3) } else { None };
        let value = digits
            .and_then(|digits| str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match value {
            Some(value) => {
                out.push(value);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => out.push(*first),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_counts() {
        let table = b"21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 0:5 / /r/a\\040b/data rw - tmpfs t rw\n\
                      23 21 0:6 / /r/ab rw - tmpfs t rw\n24 21 0:7 /x /r/a\\040b rw - ext4 /dev/a rw\n";
        let found = |folder: &str| among(table, Path::new(folder));
        assert_eq!(found("/r/a b").as_deref(), Some(Path::new("/r/a b/data")));
        assert_eq!(found("/r/ab"), None);
        assert_eq!(found("/r/a"), None);
        assert_eq!(found("/r").as_deref(), Some(Path::new("/r/a b")));
        assert_eq!(unescape(br"a\134b\0"), br"a\b\0");
    }
}
