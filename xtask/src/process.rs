//! Starts the programs that the automation needs: cargo, git, the tools of the tests, the built product.
//!
//! The only module of xtask that makes a process. Nothing goes through a shell.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// What `cargo run` tells this program about itself. Handed on to another cargo, it would make build scripts that watch
/// these variables run again, and everything above them be built again.
const OWN: &[&str] = &[
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_AUTHORS",
    "CARGO_PKG_DESCRIPTION",
    "CARGO_PKG_HOMEPAGE",
    "CARGO_PKG_LICENSE",
    "CARGO_PKG_LICENSE_FILE",
    "CARGO_PKG_NAME",
    "CARGO_PKG_README",
    "CARGO_PKG_REPOSITORY",
    "CARGO_PKG_RUST_VERSION",
    "CARGO_PKG_VERSION",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// A command that has not been started yet.
#[expect(
    clippy::disallowed_methods,
    reason = "the automation runs host programs; the product does not use it"
)]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in OWN {
        command.env_remove(name);
    }
    command
}

/// A cargo command in the folder `root`.
pub(crate) fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut cargo = command("cargo");
    cargo.current_dir(root).args(words);
    cargo
}

/// Runs to the end with the terminal as it is. An exit code other than 0 is an error.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let name = shown(&command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` could not be started: {error}")),
    }
}

/// Runs to the end and keeps what was printed, whatever the exit code.
pub(crate) fn output(mut command: Command) -> Result<Output, String> {
    let name = shown(&command);
    command.output().map_err(|error| format!("`{name}` could not be started: {error}"))
}

/// True when the program starts and answers with exit code 0.
pub(crate) fn answers(mut command: Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
