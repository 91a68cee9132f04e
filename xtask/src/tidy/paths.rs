//! Paths that belong to one machine and not to a product: somebody's home, a build folder, this very checkout.
//!
//! Tests and their data are free to name any path: a path can be what they are about.

use std::path::Path;

use super::Finding;
use crate::source::Source;
use crate::tree::File;

/// Folders under which each machine or person has another name, without their slashes.
const HOMES: &[&str] = &["home", "Users"];

/// Names below those that stand for anybody, or for the home inside a sandbox.
const ANYBODY: &[&str] = &["you", "user", "USER", "NAME", "agent", "enclos", "sandbox", "someone"];

/// Roots of workplaces, without their slashes: no system that Enclos runs on has them by itself.
const WORKPLACES: &[&str] = &["work", "builds", "root"];

const MEND: &str =
    "write it relative to the repository or to the person's home, or with a name such as `/home/you`";

/// Findings in the sources outside their tests, and in the pages.
pub(crate) fn findings(root: &Path, sources: &[Source], pages: &[File]) -> Vec<Finding> {
    let checkout = checkout(root);
    let mut found = Vec::new();
    for source in sources {
        let outside = source.text.lines().enumerate().filter(|(at, _)| !source.is_test(at + 1));
        found.extend(of_lines(&source.path, outside, checkout.as_deref()));
    }
    for page in pages.iter().filter(|page| !page.path.split('/').any(|part| part == "tests")) {
        found.extend(of_lines(&page.path, page.text.lines().enumerate(), checkout.as_deref()));
    }
    found
}

/// The path of this checkout, unless it is so short that it means nothing.
fn checkout(root: &Path) -> Option<String> {
    let long = root.components().count() > 2;
    long.then(|| root.to_string_lossy().into_owned())
}

fn of_lines<'a>(
    file: &str,
    lines: impl Iterator<Item = (usize, &'a str)>,
    checkout: Option<&str>,
) -> Vec<Finding> {
    let found = lines.filter_map(|(at, line)| {
        let here = checkout.filter(|path| line.contains(path)).map(str::to_owned);
        let path = here.or_else(|| foreign(line))?;
        Some(Finding::at(file, at + 1, format!("`{path}` is a path of one machine"), MEND))
    });
    found.collect()
}

/// The first path of the line that belongs to one machine.
fn foreign(line: &str) -> Option<String> {
    line.match_indices('/').find_map(|(at, _)| {
        let starts = !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.~/}*".contains(c));
        let mut parts = line[at + 1..].split('/');
        let (top, below) = (parts.next()?, parts.next()?);
        let name: String = below.chars().take_while(|&c| c.is_alphanumeric() || "._-".contains(c)).collect();
        let named = !name.is_empty() && !name.starts_with('.');
        let home = HOMES.contains(&top) && named && !ANYBODY.contains(&name.as_str());
        let workplace = WORKPLACES.contains(&top) && !name.is_empty();
        (starts && (home || workplace)).then(|| format!("/{top}/{name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_seen() {
        for line in
            ["see /home/mary/x", "cd /root/.cargo", "`/work/main`", "in \"/Users/bob\"", "(/builds/x/y)"]
        {
            assert!(foreign(line).is_some(), "{line}");
        }
    }

    #[test]
    fn a_path_of_every_machine_passes() {
        for line in [
            "`/home` and `/root` are empty",
            "/home/you/project",
            "/home/*/x",
            "/home/$USER/x",
            "/workspace/home/mary",
            "a/work/b",
            "https://example.org/work/list",
            "/etc/enclos",
            "target/builds/x",
        ] {
            assert_eq!(foreign(line), None, "{line}");
        }
    }

    #[test]
    fn the_checkout_itself_is_a_path_of_one_machine() {
        let found =
            of_lines("README.md", ["", "cd /srv/code/enclos"].into_iter().enumerate(), Some("/srv/code"));
        assert_eq!(found[0].line, 2);
        assert_eq!(checkout(Path::new("/enclos")), None);
    }

    #[test]
    fn tests_may_name_any_path() {
        let text = "//! x\n#[cfg(test)]\nmod tests {\n    const P: &str = \"/home/mary/x\";\n}\n";
        let source = Source::new("crates/core/src/a.rs", text);
        assert!(findings(Path::new("/"), &[source], &[]).is_empty());
    }
}
