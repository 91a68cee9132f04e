//! Which session an ID means: a whole name, its unique beginning, or `last`.
//!
//! An ID that could mean two sessions is refused with their names; nothing is guessed.

use std::path::Path;

use enclos_core::ids::SessionId;
use enclos_protocol::error::Fault;
use enclos_protocol::report::SessionRow;

use crate::error::CommandError;
use crate::text;

/// The word for the newest session of the repository that holds the current folder, else the newest of all.
const LAST: &str = "last";
/// The most names that a refusal lists.
const LISTED: usize = 5;

/// The session that an ID means among these, which are listed newest first.
pub(crate) fn session(id: &str, rows: &[SessionRow]) -> Result<SessionId, CommandError> {
    if id == LAST {
        let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).unwrap_or_default();
        return newest(rows, &here);
    }
    named(id, rows)
}

/// The newest session whose repository holds a folder; elsewhere, the newest of all.
fn newest(rows: &[SessionRow], here: &Path) -> Result<SessionId, CommandError> {
    let of_here = rows.iter().find(|row| !row.repo.is_empty() && here.starts_with(&row.repo));
    let newest = of_here.or(rows.first()).map(|row| row.session.clone());
    newest.ok_or_else(|| CommandError::new(Fault::NotFound, text::NO_SESSIONS_YET).hint(text::HINT_RUN))
}

/// The session of a name, or of its unique beginning.
fn named(id: &str, rows: &[SessionRow]) -> Result<SessionId, CommandError> {
    let full = if id.starts_with("sess_") { id.to_owned() } else { format!("sess_{id}") };
    let matching: Vec<_> =
        rows.iter().map(|row| &row.session).filter(|s| s.as_str().starts_with(&full)).collect();
    if let Some(exact) = matching.iter().find(|session| session.as_str() == full) {
        return Ok((*exact).clone());
    }
    match matching.as_slice() {
        [one] if !id.is_empty() && id != "sess_" => Ok((*one).clone()),
        [] => Err(CommandError::new(Fault::NotFound, text::no_such_session(id)).hint(text::HINT_SESSIONS)),
        many => {
            let names: Vec<_> = many.iter().take(LISTED).map(|session| session.as_str()).collect();
            Err(CommandError::usage(text::many_sessions(id, many.len())).hint(names.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use enclos_core::ids::SessionId;
    use enclos_protocol::event::SessionState;
    use enclos_protocol::report::SessionRow;

    use super::{newest, session};

    fn rows(names: &[&str]) -> Vec<SessionRow> {
        let row = |name: &&str| SessionRow {
            session: SessionId::new(*name),
            state: SessionState::Closed,
            outcome: None,
            repo: String::new(),
            task: String::new(),
            opened: String::new(),
            live: false,
            background: Vec::new(),
        };
        names.iter().map(row).collect()
    }

    #[test]
    fn last_is_the_newest_of_this_repository() {
        let mut rows = rows(&["sess_c", "sess_b", "sess_a"]);
        rows[0].repo = "/elsewhere".into();
        rows[1].repo = "/here/repo".into();
        rows[2].repo = "/here/repo".into();
        let of = |folder: &str| newest(&rows, std::path::Path::new(folder)).unwrap();
        assert_eq!(of("/here/repo/src"), SessionId::new("sess_b"));
        assert_eq!(of("/here/repository"), SessionId::new("sess_c"));
    }

    #[test]
    fn a_beginning_must_be_unique() {
        let rows = rows(&["sess_01b", "sess_01a", "sess_01a2"]);
        let name = |id| session(id, &rows).map(|s| s.to_string());
        assert_eq!(name("last").as_deref(), Ok("sess_01b"));
        assert_eq!(name("sess_01b").as_deref(), Ok("sess_01b"));
        assert_eq!(name("01b").as_deref(), Ok("sess_01b"));
        assert_eq!(
            name("01a").as_deref(),
            Ok("sess_01a"),
            "a whole name is itself, though another begins with it"
        );
        assert!(name("01").is_err() && name("").is_err() && name("sess_").is_err() && name("02").is_err());
        assert!(session("last", &[]).is_err());
    }

    #[test]
    fn an_empty_id_never_means_the_only_session() {
        assert!(session("", &rows(&["sess_01b"])).is_err());
        assert!(session("sess_", &rows(&["sess_01b"])).is_err());
    }
}
