//! Names that stand for a git directory.
//!
//! A file system may fold case, drop characters that are not drawn, or know short and stream names; a name that any
//! of them would take for `.git` counts as one here. It decides by the text alone and never looks at a disk.

/// Whether one component of a path would be taken for `.git` by some file system.
pub fn is_git_name(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let folded: String = text.chars().filter(|c| !is_ignorable(*c)).map(|c| c.to_ascii_lowercase()).collect();
    let stem = folded.split(':').next().unwrap_or_default();
    matches!(stem.trim_end_matches([' ', '.']), ".git" | "git~1")
}

/// Whether any component of a path, or of the target of a link, is such a name.
pub fn names_git(path: &[u8]) -> bool {
    path.split(|b| matches!(b, b'/' | b'\\')).any(is_git_name)
}

/// Characters that HFS+ drops when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{is_git_name, names_git};

    #[test]
    fn every_spelling_of_git_is_seen() {
        for name in
            [".git", ".GIT", ".Git", ".git ", ".git.", ".git. .", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION"]
        {
            assert!(is_git_name(name.as_bytes()), "{name}");
        }
        assert!(is_git_name(".g\u{200c}it".as_bytes()));
        for name in [".gitignore", ".github", "git", "git~2", ".git2", ""] {
            assert!(!is_git_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_path_is_looked_at_component_by_component() {
        assert!(names_git(b"a/.git/hooks"));
        assert!(names_git(b"/workspace/.Git"));
        assert!(names_git(b"a\\.git"));
        assert!(!names_git(b"a/.github/x"));
    }
}
