//! Which packages there are, and which may depend on which.
//!
//! The direction of dependencies is the architecture: decisions know nobody, and the person's side sees the wire
//! only. An edge that is not in the table is a finding, whatever kind of dependency it is.

use std::path::Path;

use cargo_metadata::{Dependency, Metadata, Package};

use super::Finding;
use crate::tree;

/// The most packages that Cargo.lock may name.
const LOCK_LIMIT: usize = 400;

/// A package of the workspace: its name, its folder, the siblings it may depend on, and the packages from outside
/// that it must not name.
struct Allowed {
    name: &'static str,
    folder: &'static str,
    siblings: &'static [&'static str],
    never: &'static [&'static str],
}

/// What reads, connects or waits: nothing that decides may reach for it.
const OUTSIDE: &[&str] = &["tokio", "reqwest", "rusqlite", "rustix", "libc", "getrandom", "tempfile"];

/// What no package takes: an error is an enum that says whose fault it was.
const NOWHERE: &[&str] = &["anyhow", "eyre"];

const PACKAGES: &[Allowed] = &[
    Allowed { name: "enclos-core", folder: "crates/core", siblings: &[], never: OUTSIDE },
    Allowed {
        name: "enclos-sandbox",
        folder: "crates/sandbox",
        siblings: &["enclos-core", "enclos-init"],
        never: &["tokio", "reqwest", "rusqlite"],
    },
    Allowed {
        name: "enclos-init",
        folder: "crates/sandbox/init",
        siblings: &["enclos-core"],
        never: &["tokio", "reqwest", "rusqlite"],
    },
    Allowed {
        name: "enclos-store",
        folder: "crates/store",
        siblings: &["enclos-core"],
        never: &["tokio", "reqwest"],
    },
    Allowed {
        name: "enclos-protocol",
        folder: "crates/protocol",
        siblings: &["enclos-core"],
        never: &["rusqlite"],
    },
    Allowed {
        name: "enclos-connect",
        folder: "crates/connect",
        siblings: &["enclos-core"],
        never: &["rusqlite"],
    },
    Allowed {
        name: "enclos-gateway",
        folder: "crates/gateway",
        siblings: &["enclos-core", "enclos-sandbox", "enclos-store", "enclos-protocol", "enclos-connect"],
        never: &["rusqlite", "reqwest"],
    },
    Allowed {
        name: "enclos-client",
        folder: "crates/client",
        siblings: &["enclos-core", "enclos-protocol", "enclos-gateway"],
        never: &["rusqlite", "reqwest"],
    },
    Allowed { name: "xtask", folder: "xtask", siblings: &[], never: &[] },
];

/// Findings about packages, edges and the lock file.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>, String> {
    let metadata = tree::metadata(root)?;
    let mut found = edges(&metadata);
    found.extend(lock(&tree::read(root, "Cargo.lock")?));
    Ok(found)
}

fn edges(metadata: &Metadata) -> Vec<Finding> {
    let members = metadata.workspace_packages();
    let mut found = Vec::new();
    for allowed in PACKAGES {
        match members.iter().find(|package| package.name.as_str() == allowed.name) {
            Some(package) => found.extend(of_package(allowed, package)),
            None => found.push(Finding::whole(
                "Cargo.toml",
                format!("the package `{}` is missing", allowed.name),
                format!("restore `{}`, or change the table in xtask/src/tidy/crates.rs", allowed.folder),
            )),
        }
    }
    let known = |package: &Package| PACKAGES.iter().any(|allowed| allowed.name == package.name.as_str());
    for package in members.iter().filter(|package| !known(package)) {
        found.push(Finding::whole(
            "Cargo.toml",
            format!("the package `{}` is not one of the workspace's", package.name),
            "move its code into an existing crate; a new crate needs a reason in ARCHITECTURE.md and a row in \
             xtask/src/tidy/crates.rs",
        ));
    }
    found
}

fn of_package(allowed: &Allowed, package: &Package) -> Vec<Finding> {
    package.dependencies.iter().filter_map(|dependency| of_dependency(allowed, dependency)).collect()
}

fn of_dependency(allowed: &Allowed, dependency: &Dependency) -> Option<Finding> {
    let (name, manifest) = (dependency.name.as_str(), format!("{}/Cargo.toml", allowed.folder));
    let sibling = PACKAGES.iter().any(|other| other.name == name);
    if sibling && !allowed.siblings.contains(&name) {
        return Some(Finding::whole(
            &manifest,
            format!("`{}` must not depend on `{name}`", allowed.name),
            "pass the value by parameter, or move the type down to `enclos-core`",
        ));
    }
    (allowed.never.contains(&name) || NOWHERE.contains(&name)).then(|| {
        Finding::whole(
            &manifest,
            format!("`{}` must not depend on `{name}`", allowed.name),
            "leave that work to the crate that owns it; ARCHITECTURE.md says which",
        )
    })
}

fn lock(text: &str) -> Option<Finding> {
    let packages = text.lines().filter(|line| *line == "[[package]]").count();
    (packages > LOCK_LIMIT).then(|| {
        Finding::whole(
            "Cargo.lock",
            format!("{packages} packages, and the limit is {LOCK_LIMIT}"),
            "take off a feature or a dependency; `cargo tree --edges normal --duplicates` shows where to begin",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(name: &str) -> Dependency {
        let json = format!(
            r#"{{"name":"{name}","source":null,"req":"*","kind":null,"rename":null,"optional":false,
               "uses_default_features":true,"features":[],"target":null,"registry":null}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn allowed(name: &str) -> &'static Allowed {
        PACKAGES.iter().find(|allowed| allowed.name == name).unwrap()
    }

    #[test]
    fn only_the_edges_of_the_table_pass() {
        for package in PACKAGES {
            for other in PACKAGES {
                let finding = of_dependency(package, &dependency(other.name));
                assert_eq!(finding.is_none(), package.siblings.contains(&other.name), "{}", package.name);
            }
        }
        assert!(allowed("enclos-core").siblings.is_empty());
        for leaf in ["enclos-store", "enclos-connect", "enclos-protocol", "enclos-init"] {
            assert_eq!(allowed(leaf).siblings, ["enclos-core"]);
        }
        assert_eq!(allowed("enclos-sandbox").siblings, ["enclos-core", "enclos-init"]);
    }

    #[test]
    fn decisions_reach_for_nothing_outside() {
        assert!(of_dependency(allowed("enclos-core"), &dependency("tokio")).is_some());
        assert!(of_dependency(allowed("enclos-core"), &dependency("regex")).is_none());
        assert!(of_dependency(allowed("enclos-client"), &dependency("anyhow")).is_some());
    }

    #[test]
    fn the_lock_file_has_a_limit() {
        assert!(lock(&"[[package]]\n".repeat(LOCK_LIMIT)).is_none());
        assert!(lock(&"[[package]]\n".repeat(LOCK_LIMIT + 1)).is_some());
    }

    #[test]
    fn the_workspace_itself_is_in_order() {
        assert_eq!(findings(&tree::root().unwrap()).unwrap(), []);
    }
}
