//! Toolchains and package caches found under a home directory, and where they are seen inside: neutral places below
//! `/opt/toolchains`, read-only, or with writes that are thrown away for caches that tools write to. What is looked
//! for is a fixed list of folders; a configuration or credential file is never part of one.
mod languages;

use crate::plan::{Access, Mount};
use std::path::{Path, PathBuf};

/// Where they are seen.
const PLACE: &str = "/opt/toolchains";

/// One toolchain or cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Its name: `rust`, `cargo cache`, `node (nvm)` …
    pub name: String,
    /// A version, read from a directory's name, when there is one.
    pub version_hint: Option<String>,
    /// Where it is and where it is seen.
    pub mounts: Vec<Mount>,
    /// What it needs in the environment; `PATH` is put in front.
    pub environment: Vec<(String, String)>,
    /// A package cache (needs policy) and not a toolchain.
    pub is_cache: bool,
}

/// The toolchains and caches that a sandbox gets.
#[derive(Debug, Default)]
pub struct Taken {
    /// What is mounted.
    pub mounts: Vec<Mount>,
    /// What the environment gets.
    pub environment: Vec<(String, String)>,
    /// Their names, with a version where one is known.
    pub names: Vec<String>,
}

/// Of what is found under `home` that which `admits` takes. Without a home there is nothing.
pub fn take(home: Option<&Path>, admits: impl Fn(&Toolchain) -> bool) -> Taken {
    let mut taken = Taken::default();
    for found in home.map(detect).unwrap_or_default().into_iter().filter(admits) {
        taken.mounts.extend(found.mounts);
        taken.environment.extend(found.environment);
        taken.names.push(match found.version_hint {
            Some(version) => format!("{} {version}", found.name),
            None => found.name,
        });
    }
    taken
}

/// Looks for toolchains under `home` by the names they are known by; reads names of folders and version files only.
pub fn detect(home: &Path) -> Vec<Toolchain> {
    languages::ALL.iter().filter_map(|find| find(home)).collect()
}

/// A folder that is really there, links resolved; nothing outside the home directory.
fn folder(home: &Path, below: &str) -> Option<PathBuf> {
    let home = home.canonicalize().ok()?;
    let path = home.join(below).canonicalize().ok()?;
    (path.is_dir() && path.starts_with(&home) && path != home).then_some(path)
}

fn read_only(host: PathBuf, inside: &str) -> Mount {
    Mount { host, inside: Path::new(PLACE).join(inside), access: Access::ReadOnly }
}

fn thrown_away(host: PathBuf, inside: &str) -> Mount {
    Mount { host, inside: Path::new(PLACE).join(inside), access: Access::ThrowAway }
}

/// `NAME=PLACE/path`.
fn at(name: &str, inside: &str) -> (String, String) {
    (name.to_owned(), format!("{PLACE}/{inside}"))
}

fn set(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Names of the folders in a folder, the highest version first.
fn versions(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte)))
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));
    names
}

fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The first line of a small file, when it is a plain name.
fn word(path: &Path) -> Option<String> {
    let text = crate::platform::small_text(std::fs::File::open(path).ok()?, 4096).ok()?;
    let word = text.lines().next()?.trim();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+/*".contains(&byte);
    (!word.is_empty() && word.bytes().all(plain)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
