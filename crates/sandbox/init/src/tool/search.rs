//! Looking for files by name and for lines by expression. Files that `.gitignore` names are left out, and `.git`.
//! Both are linear in what they read; neither follows a link.
use super::path::{Place, shown};
use super::{Answer, fault};
use enclos_init::file::{ENTRIES, Fault, FaultKind, FileReply, HITS, Hit};
use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use regex::bytes::{Regex, RegexBuilder};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files above this size are not searched.
const SEARCHED: u64 = 16 * 1024 * 1024;
/// Longest line that is shown, in characters.
const SHOWN: usize = 500;

/// Files below `path`, sorted by name in each folder.
fn files(path: &str) -> Result<(PathBuf, impl Iterator<Item = PathBuf>), Fault> {
    let root = Place::parse(path)?.resolved()?;
    let walk = WalkBuilder::new(&root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let files = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink()))
        .map(ignore::DirEntry::into_path);
    Ok((root, files))
}

fn pattern(text: &str) -> Result<GlobMatcher, Fault> {
    // A pattern without a folder means a file of that name anywhere.
    let whole = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
    GlobBuilder::new(whole.trim_start_matches("./"))
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| {
            fault(
                FaultKind::BadArgument,
                format!("the pattern cannot be read ({error}); an example is `src/**/*.rs`"),
            )
        })
}

/// Paths that match.
pub(super) fn glob(text: &str, path: &str) -> Answer {
    let matcher = pattern(text)?;
    let (root, files) = files(path)?;
    let mut paths: Vec<String> = files
        .filter(|file| file.strip_prefix(&root).is_ok_and(|below| matcher.is_match(below)))
        .map(|file| shown(&file))
        .take(ENTRIES + 1)
        .collect();
    let more = paths.len() > ENTRIES;
    paths.truncate(ENTRIES);
    Ok(FileReply::Glob { paths, more })
}

/// Lines that match.
pub(super) fn grep(expression: &str, path: &str, include: Option<&str>) -> Answer {
    let regex =
        RegexBuilder::new(expression).multi_line(true).size_limit(4 << 20).build().map_err(|error| {
            fault(FaultKind::BadArgument, format!("the expression cannot be read: {error}"))
        })?;
    let matcher = include.map(pattern).transpose()?;
    let (root, files) = files(path)?;
    let mut hits = Vec::new();
    for file in files {
        let below = file.strip_prefix(&root).unwrap_or(&file);
        let name = if below.as_os_str().is_empty() { file.file_name().map(Path::new) } else { Some(below) };
        if matcher.as_ref().is_some_and(|matcher| !name.is_some_and(|name| matcher.is_match(name))) {
            continue;
        }
        if let Some(content) = content(&file) {
            lines(&regex, &content, &shown(&file), &mut hits);
        }
        if hits.len() > HITS {
            break;
        }
    }
    let more = hits.len() > HITS;
    hits.truncate(HITS);
    Ok(FileReply::Grep { hits, more })
}

/// The content of a regular text file of bearable size.
fn content(path: &Path) -> Option<Vec<u8>> {
    let kind = std::fs::symlink_metadata(path).ok()?;
    if !kind.is_file() || kind.len() > SEARCHED {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(SEARCHED).read_to_end(&mut bytes).ok()?;
    let head = bytes.get(..bytes.len().min(8192))?;
    (!head.contains(&0)).then_some(bytes)
}

/// Adds the matching lines, one more than wanted at most.
fn lines(regex: &Regex, content: &[u8], path: &str, hits: &mut Vec<Hit>) {
    let (mut at, mut number, mut counted) = (0, 1u64, 0);
    while let Some(found) = regex.find_at(content, at) {
        let start = content[..found.start()].iter().rposition(|byte| *byte == b'\n').map_or(0, |n| n + 1);
        let end =
            content[start..].iter().position(|byte| *byte == b'\n').map_or(content.len(), |n| start + n);
        let line = &content[start..end];
        number += content[counted..start].split(|byte| *byte == b'\n').skip(1).count() as u64;
        counted = start;
        // What was found may reach over the line's end: only what matches inside the line counts.
        if start < content.len() && regex.is_match(line) {
            let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            hits.push(Hit { path: path.to_owned(), line: number, text: text.chars().take(SHOWN).collect() });
            if hits.len() > HITS {
                return;
            }
        }
        at = end + 1;
        if at >= content.len() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str, content: &str) -> Vec<(u64, String)> {
        let regex = RegexBuilder::new(expression).multi_line(true).build().unwrap();
        let mut hits = Vec::new();
        lines(&regex, content.as_bytes(), "f", &mut hits);
        hits.into_iter().map(|hit| (hit.line, hit.text)).collect()
    }

    #[test]
    fn matches_line_by_line() {
        let line = |number, text: &str| (number, text.to_owned());
        assert_eq!(found("b", "a\nb\nab\n"), [line(2, "b"), line(3, "ab")]);
        assert_eq!(found("^b$", "ab\nb\n"), [line(2, "b")]);
        assert_eq!(found(r"a\s+b", "a\nb\na b"), [line(3, "a b")], "never over the end of a line");
        assert_eq!(found("^$", "a\n\nb\n"), [line(2, "")]);
        assert_eq!(found("x", ""), []);
        assert_eq!(found("a", "a"), [line(1, "a")]);
    }

    #[test]
    fn a_bare_name_matches_anywhere() {
        assert!(pattern("*.rs").unwrap().is_match("a/b/c.rs"));
        assert!(pattern("src/*.rs").unwrap().is_match("src/c.rs"));
        assert!(!pattern("src/*.rs").unwrap().is_match("src/b/c.rs"));
        assert_eq!(pattern("a[").unwrap_err().kind, FaultKind::BadArgument);
    }
}
