//! Toolchains and package caches found under a home directory.
use crate::plan::Mount;
use std::path::Path;

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

/// Looks for toolchains under `home` by the names they are known by; reads directory names only.
pub fn detect(home: &Path) -> Vec<Toolchain> {
    let _ = home;
    todo!()
}
