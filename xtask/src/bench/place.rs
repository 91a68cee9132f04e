//! Where the measuring happens: target/bench, with a small repository, a large one, and a home of its own for Enclos.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Row;
use crate::{process, tree};

/// The size that the binary should not pass, in bytes.
const SIZE_AIM: u64 = 25_000_000;

/// The built product and the folders it is measured in.
pub(crate) struct Place {
    /// The root of this repository.
    pub(crate) root: PathBuf,
    /// target/bench, emptied at the start.
    pub(crate) folder: PathBuf,
    /// A repository of three files and one commit.
    pub(crate) repo: PathBuf,
    binary: PathBuf,
}

impl Place {
    /// Builds the product and makes the small repository.
    pub(crate) fn make(root: &Path) -> Result<Self, String> {
        process::run(process::cargo(
            root,
            &["build", "--release", "--locked", "--package", "enclos-client"],
        ))?;
        let target = target(root)?;
        let folder = target.join("bench");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| told(&folder, &error))?;
        }
        let repo = folder.join("repo");
        for name in ["README.md", "src/main.c", "src/lib.c"] {
            write(&repo.join(name), "one line\n")?;
        }
        commit_all(&repo)?;
        Ok(Self { root: root.to_path_buf(), folder, repo, binary: target.join("release/enclos") })
    }

    /// A place with another program in the product's stead.
    #[cfg(test)]
    pub(crate) fn with(folder: PathBuf, binary: PathBuf) -> Self {
        Self { root: folder.clone(), repo: folder.clone(), folder, binary }
    }

    /// The product, with a home of its own and nothing of the person's configuration.
    pub(crate) fn enclos(&self, words: &[&str]) -> Command {
        let mut enclos = process::command(&self.binary);
        enclos.args(words).env("ENCLOS_HOME", self.folder.join("home")).env_remove("ENCLOS_AGENT_EXECUTION");
        enclos
    }

    /// A repository with `count` files of 20 kB, a hundred in each subfolder.
    pub(crate) fn large(&self, count: usize) -> Result<PathBuf, String> {
        let large = self.folder.join(format!("large-{count}"));
        let text = "one line of twenty!\n".repeat(1000);
        for n in 0..count {
            write(&large.join(format!("{}/{n}.txt", n / 100)), &text)?;
        }
        commit_all(&large)?;
        Ok(large)
    }

    /// The line of the report about the size of the binary.
    pub(crate) fn size(&self) -> Row {
        let (what, aim) = ("size of the binary", "≤ 25 MB");
        match fs::metadata(&self.binary) {
            Ok(file) => Row {
                what,
                ours: format!("{}.{} MB", file.len() / 1_000_000, file.len() / 100_000 % 10),
                beside: String::new(),
                aim,
                met: Some(file.len() <= SIZE_AIM),
            },
            Err(error) => Row::missing(what, aim, told(&self.binary, &error)),
        }
    }
}

impl Place {
    /// What an example of a package prints, which measures its package from inside.
    pub(crate) fn example(&self, package: &str, name: &str, words: &[&str]) -> Result<String, String> {
        let run = ["run", "--release", "--locked", "--quiet", "--package", package, "--example", name, "--"];
        let mut cargo = process::cargo(&self.root, &run);
        cargo.args(words);
        let output = process::output(cargo)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "`{name}` ended with {}: {}",
                output.status,
                said.lines().last().unwrap_or("")
            ));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| told(folder, &error))?;
    fs::write(path, text).map_err(|error| told(path, &error))
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

/// Makes the folder a repository whose one commit has all of it.
pub(crate) fn commit_all(repo: &Path) -> Result<(), String> {
    git(repo, &["init", "--quiet"])?;
    git(repo, &["add", "--all"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false"];
    git(repo, &[&who[..], &["commit", "--quiet", "--message=first"]].concat())
}

fn git(repo: &Path, words: &[&str]) -> Result<(), String> {
    let mut git = process::command("git");
    git.current_dir(repo).args(words);
    process::run(git)
}

/// The folder where cargo builds, wherever the person has put it.
fn target(root: &Path) -> Result<PathBuf, String> {
    tree::metadata(root).map(|metadata| metadata.target_directory.into_std_path_buf())
}
