//! The files of the repository, as the checks see them: relative paths with `/`, sorted, without build output.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};

/// Folders that hold what a tool made, never what a person wrote.
const MADE: &[&str] = &["target", ".git", "node_modules"];

/// A file of the repository.
pub(crate) struct File {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

/// The root of the repository: the nearest folder, from the current one upwards, that holds this package.
pub(crate) fn root() -> Result<PathBuf, String> {
    let here =
        std::env::current_dir().map_err(|error| format!("the current folder cannot be read: {error}"))?;
    let root = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    root.map(Path::to_path_buf).ok_or("start it in a folder of the repository".to_owned())
}

/// Every text file whose name ends with one of `endings`, sorted by path. Files that are not UTF-8 are left out.
pub(crate) fn files(root: &Path, endings: &[&str]) -> Result<Vec<File>, String> {
    let mut found = Vec::new();
    walk(root, root, endings, &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Reads one file below the root.
pub(crate) fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("`{path}` cannot be read: {error}"))
}

fn walk(root: &Path, folder: &Path, endings: &[&str], found: &mut Vec<File>) -> Result<(), String> {
    let failed = |error| format!("`{}` cannot be listed: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && !MADE.contains(&name.as_str()) {
            walk(root, &entry.path(), endings, found)?;
        } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if let Ok(text) = fs::read_to_string(&path) {
                found.push(File { path: relative, text });
            }
        }
    }
    Ok(())
}

/// What cargo knows of the workspace, without the packages outside it.
pub(crate) fn metadata(root: &Path) -> Result<Metadata, String> {
    MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("`cargo metadata` failed: {error}"))
}
