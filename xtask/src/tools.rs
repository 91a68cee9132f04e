//! The programs that the tests need beside cargo: found on the PATH, else in target/tools, else built there.
//!
//! Nothing outside target/ is changed. Versions are fixed here, so that a check means the same everywhere; a tool
//! that is already on the machine is used as it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// A program of cargo's registry.
pub(crate) struct Tool {
    /// The package, which is also the name of the program.
    pub(crate) name: &'static str,
    version: &'static str,
}

/// Runs tests, each in a process of its own.
pub(crate) const NEXTEST: Tool = Tool { name: "cargo-nextest", version: "0.9.143" };
/// Checks licences, sources and bans of dependencies.
pub(crate) const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

/// A command that starts the tool, built first when it is nowhere.
pub(crate) fn command(root: &Path, tool: &Tool) -> Result<Command, String> {
    let built = folder(root).join("bin").join(tool.name);
    for place in [PathBuf::from(tool.name), built.clone()] {
        if process::answers(asks_version(&place)) {
            return Ok(in_root(root, &place));
        }
    }
    install(root, tool)?;
    Ok(in_root(root, &built))
}

/// The components of the tool chain that the checks use, added by rustup when they are missing.
pub(crate) fn components(root: &Path) -> Result<(), String> {
    for component in ["fmt", "clippy"] {
        if !process::answers(process::cargo(root, &[component, "--version"])) {
            let name = if component == "fmt" { "rustfmt" } else { component };
            let mut rustup = process::command("rustup");
            rustup.current_dir(root).args(["component", "add", name]);
            process::run(rustup)
                .map_err(|error| format!("{error}\nto mend: install `{name}` for this Rust"))?;
        }
    }
    Ok(())
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/tools")
}

fn in_root(root: &Path, program: &Path) -> Command {
    let mut command = process::command(program);
    command.current_dir(root);
    command
}

/// Cargo's own programs answer `cargo-x x --version`.
fn asks_version(program: &Path) -> Command {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let mut command = process::command(program);
    command.arg(name.trim_start_matches("cargo-")).arg("--version");
    command
}

fn install(root: &Path, tool: &Tool) -> Result<(), String> {
    eprintln!("{} is not here: building {} {} into target/tools", tool.name, tool.name, tool.version);
    let mut cargo =
        process::cargo(root, &["install", "--locked", "--quiet", tool.name, "--version", tool.version]);
    cargo.arg("--root").arg(folder(root));
    process::run(cargo).map_err(|error| format!("{error}\nto mend: put `{}` on the PATH", tool.name))
}
