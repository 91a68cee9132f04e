//! What the pages point to exists: links between pages, and the files that ARCHITECTURE.md sends a reader to.
//!
//! A path in the code map is relative to the crate in the heading above it. Addresses of other hosts are not followed.

use std::path::Path;

use super::Finding;
use crate::tree::File;

/// The page with the code map, and the part of it that speaks of what is not there yet.
const MAP: &str = "ARCHITECTURE.md";
const LATER: &str = "## Places for what comes later";

/// The folders at the root that the map may name.
const ROOTS: &[&str] = &["crates/", "xtask/", "policies/", "docs/", "tests/"];

const MEND: &str = "name where it is now, or take the words out";

/// Findings about the pages.
pub(crate) fn findings(root: &Path, pages: &[File]) -> Vec<Finding> {
    let exists = |path: &str| root.join(path).exists();
    let pages = pages.iter().filter(|page| Path::new(&page.path).extension().is_some_and(|end| end == "md"));
    pages.flat_map(|page| of_page(&page.path, &page.text, &exists)).collect()
}

fn of_page(page: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut found, mut section, mut now) = (Vec::new(), "", true);
    for (at, line) in text.lines().enumerate() {
        let mut targets: Vec<String> = links(line).map(|link| joined(folder, link)).collect();
        if page == MAP && line.starts_with('#') {
            now = line != LATER;
            section = quoted(line).next().unwrap_or("");
        }
        if page == MAP && now {
            targets.extend(quoted(line).filter_map(|path| of_map(section, path)));
        }
        let missing = targets.into_iter().filter(|target| !exists(target));
        found
            .extend(missing.map(|target| Finding::at(page, at + 1, format!("there is no `{target}`"), MEND)));
    }
    found
}

/// The path that a word of the map means, when it means one.
fn of_map(section: &str, word: &str) -> Option<String> {
    let plain = !word.contains([' ', '*', '{', '<']);
    if plain && word.starts_with("src/") && section.starts_with("crates/") {
        return Some(format!("{section}/{word}"));
    }
    (plain && ROOTS.iter().any(|root| word.starts_with(root))).then(|| word.to_owned())
}

/// The targets of the links in a line that stay in the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or(""));
    files.filter(|file| !file.is_empty() && !file.contains(':'))
}

/// The words of a line in back-ticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// A link of a page in `folder`, from the root.
fn joined(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(page: &str, text: &str) -> Vec<usize> {
        let there = ["README.md", "docs/models.md", "crates/core/src/call.rs"];
        of_page(page, text, &|path| there.contains(&path)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_link_leads_somewhere() {
        assert!(
            missing("docs/README.md", "[a](models.md#keys) [b](../README.md) [c](https://x.org/y)")
                .is_empty()
        );
        assert_eq!(missing("docs/README.md", "ok\n[a](gone.md)"), [2]);
        assert_eq!(missing("README.md", "[a](models.md) and [b](docs/models.md)"), [1]);
    }

    #[test]
    fn the_code_map_names_what_is_there() {
        let map = "### `crates/core`\n| calls | `src/call.rs` |\n| gone | `src/gone.rs` |\n`crates/core/src/gone.rs`";
        assert_eq!(missing(MAP, map), [1, 3, 4]);
        assert!(missing(MAP, &format!("{LATER}\n`crates/core/src/label.rs`")).is_empty());
        assert!(missing("README.md", "`src/gone.rs` `crates/gone`").is_empty());
    }
}
