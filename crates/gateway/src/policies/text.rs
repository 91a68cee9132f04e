//! The texts of policies as they lie in files: read whole and bounded, or refused with their file and line.
//!
//! What is no plain file is never waited for, and a table of expectations is never taken for a policy. What a text
//! means is decided in `core`.

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use enclos_core::policy::{MAX_BYTES, MAX_REPOSITORY_BYTES, PolicyError, cases_at};
use enclos_protocol::error::{ApiError, Fault, Place};

/// An error of what a person wrote.
pub(crate) fn usage(message: impl Into<String>) -> ApiError {
    ApiError::new(Fault::Configuration, message)
}

/// A policy that is not understood whole, with its file and line.
pub(crate) fn refusal(error: &PolicyError) -> ApiError {
    let place = Place::line(&*error.file, error.line).with_field(error.key.as_deref());
    usage(error.to_string()).at(place)
}

/// The text of a policy file that a person named.
///
/// # Errors
/// When it does not exist, cannot be read, or is a table of expectations.
pub(crate) fn named(file: &Path) -> Result<String, ApiError> {
    let name = file.display().to_string();
    let missing = || {
        let message = format!("the policy file `{name}` does not exist");
        ApiError::new(Fault::NotFound, message).at(Place::line(&*name, 0))
    };
    let text = read(file, MAX_BYTES)?.ok_or_else(missing)?;
    match cases_at(&text) {
        Some(line) => Err(table(&name, line)),
        None => Ok(text),
    }
}

/// A table of expectations where a policy is expected.
pub(crate) fn table(name: &str, line: usize) -> ApiError {
    let at = if line == 0 { String::new() } else { format!(":{line}") };
    usage(format!("{name}{at}: this is a table of expectations, not a policy: no policy has `[[case]]`"))
        .at(Place::line(name, line).with_field(Some("case")))
        .hint("name it `….cases.toml`: by that `enclos policy test` knows a table")
        .hint("then hold a policy against it: enclos policy test POLICY TABLE")
}

/// A pipe that nobody writes to is not waited for.
const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// Reads a file whole; `None` where there is none. What is no plain file is never waited for, and never read past
/// the bound.
pub(crate) fn read(file: &Path, most: usize) -> Result<Option<String>, ApiError> {
    let name = file.display().to_string();
    let at = |line: usize, why: String| Err(usage(format!("`{name}` {why}")).at(Place::line(&*name, line)));
    let refuse = |why: String| at(0, why);
    let opened = match std::fs::OpenOptions::new().read(true).custom_flags(NO_WAIT).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return refuse(format!("cannot be read: {error}")),
    };
    match opened.metadata() {
        Ok(facts) if facts.is_file() => {}
        Ok(_) => return refuse("is not a plain file: expected a file of TOML".to_owned()),
        Err(error) => return refuse(format!("cannot be read: {error}")),
    }
    let mut bytes = Vec::new();
    if let Err(error) = opened.take(most as u64 + 1).read_to_end(&mut bytes) {
        return refuse(format!("cannot be read: {error}"));
    }
    if bytes.len() > most {
        return refuse(format!("is longer than {most} bytes, which is the most that a policy may have"));
    }
    String::from_utf8(bytes).map(Some).or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
        at(line, format!("cannot be read: line {line} is not UTF-8; save the file as UTF-8"))
    })
}

/// What lies at the place of a saved policy: the text, or an empty one for what is there and is no text. A save
/// replaces it.
pub(super) fn lying(file: &Path) -> Option<String> {
    read(file, MAX_BYTES).unwrap_or_else(|_| Some(String::new()))
}

/// The repository's own file counts only as a plain file.
pub(crate) fn read_plain(file: &Path) -> Result<Option<String>, ApiError> {
    match std::fs::symlink_metadata(file) {
        Ok(facts) if facts.is_file() => read(file, MAX_REPOSITORY_BYTES),
        Ok(_) => Err(usage(format!("`{}` is not a plain file", file.display()))
            .at(Place::line(file.display().to_string(), 0))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(usage(format!("`{}` cannot be read: {error}", file.display()))),
    }
}
