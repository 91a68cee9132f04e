//! Starts the programs that the automation needs: cargo, git, the tools of the tests, the built product.
//!
//! The only module of xtask that makes a process. Nothing goes through a shell.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// A command that has not been started yet.
#[expect(
    clippy::disallowed_methods,
    reason = "the automation runs host programs; the product does not use it"
)]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
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
