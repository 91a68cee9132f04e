//! Export and verification of the journal, for a person.

use std::io::{BufReader, Write};
use std::path::Path;

use enclos_core::ids::SessionId;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::report::{Exported, Verification};
use enclos_store::{Store, StoreError, journal};

use crate::sessions::of_store;

/// Writes the journal of one session, or of all, as JSON lines.
pub(crate) fn export(
    store: &Store,
    session: Option<&SessionId>,
    out: &mut dyn Write,
) -> Result<Exported, ApiError> {
    let summary = store.export(session, out).map_err(|error| of_store(&error))?;
    Ok(Exported { entries: summary.entries, sessions: summary.sessions })
}

/// Verifies an export, without store or network.
pub(crate) fn verify_file(file: &Path) -> Verification {
    match std::fs::File::open(file) {
        Ok(opened) => view(&journal::verify(&mut BufReader::new(opened))),
        Err(error) => unreadable(format!(
            "`{}` cannot be read: {error}. Give a file that `enclos journal export -o FILE` wrote, or none to verify \
             the journal of this machine",
            file.display()
        )),
    }
}

/// Verifies the local store.
pub(crate) fn verify_store(state: &Path) -> Result<Verification, ApiError> {
    let store = match Store::open_read_only(state) {
        Ok(store) => store,
        Err(error @ (StoreError::NoStore { .. } | StoreError::NotAStore { .. })) => {
            return Ok(unreadable(error.to_string()));
        }
        Err(error) => return Err(of_store(&error)),
    };
    let found = store.verify().map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
    Ok(view(&found))
}

fn unreadable(message: String) -> Verification {
    Verification {
        result: "bad_input".to_owned(),
        exit_code: 5,
        entries: 0,
        sessions: 0,
        first_bad: None,
        anchor: "unanchored".to_owned(),
        message,
    }
}

fn view(found: &journal::Verification) -> Verification {
    let place = found.first_bad.as_ref().map(|bad| {
        let session = bad.session.as_ref().map_or("the export", SessionId::as_str);
        let entry = bad.seq.map(|seq| format!(" entry {seq}")).unwrap_or_default();
        let line = bad.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        format!("{session}{entry}{line}")
    });
    Verification {
        result: serde_json::to_value(found.result)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default(),
        exit_code: found.result.exit_code(),
        entries: found.entries,
        sessions: found.sessions,
        first_bad: place,
        anchor: found.anchor_word().to_owned(),
        message: found.message.clone(),
    }
}
