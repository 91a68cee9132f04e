//! `journal export` and `journal verify`.

use std::io::Write as _;
use std::path::Path;

use enclos_protocol::api::Gateway;
use enclos_protocol::error::ApiError;
use enclos_protocol::report::Verification;

use crate::cli::{ExportArgs, VerifyArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::escape;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, prose};
use crate::render::table::pairs;
use crate::resolve;
use crate::style::Role;
use crate::text;

/// Writes the journal as JSON lines, to a file or to the standard output.
pub(crate) fn export<G, M>(cx: &mut Context<'_, '_, M>, args: &ExportArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let gateway = cx.gateway()?;
    let session = match &args.session {
        Some(id) => Some(resolve::session(id, &gateway.sessions()?)?),
        None => None,
    };
    let exported = match &args.output {
        Some(path) => {
            let file =
                std::fs::File::create(path).map_err(|error| CommandError::file(text::WRITE, path, &error))?;
            let mut file = std::io::BufWriter::new(file);
            let exported = gateway.journal_export(session.as_ref(), &mut file)?;
            file.flush().map_err(|error| CommandError::file(text::WRITE, path, &error))?;
            exported
        }
        None if cx.world.tty.output => {
            let mut bytes = Vec::new();
            let exported = gateway.journal_export(session.as_ref(), &mut bytes)?;
            cx.world.out.write_all(escape::json(&String::from_utf8_lossy(&bytes)).as_bytes())?;
            exported
        }
        // To a pipe or a file the bytes go as they are: their hashes are over them.
        None => gateway.journal_export(session.as_ref(), cx.world.out)?,
    };
    cx.world.out.flush()?;
    cx.world.err_rows(cx.look, &[Row::of(Role::Dim, &text::exported(exported.entries, exported.sessions))]);
    Ok(Exit::Done)
}

/// Verifies an export or the local store. The exit code is the class of the result.
pub(crate) fn verify<G, M>(cx: &mut Context<'_, '_, M>, args: &VerifyArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let verification = cx.gateway()?.journal_verify(args.file.as_deref())?;
    if args.json.json {
        cx.world.json(&verification)?;
    } else {
        cx.world.rows(cx.look, &rows(&verification, cx.look.width))?;
    }
    Ok(Exit::Passed(verification.exit_code))
}

/// A verification as rows.
pub(crate) fn rows(verification: &Verification, width: usize) -> Vec<Row> {
    let role = if verification.exit_code == 0 { Role::Good } else { Role::Bad };
    let sign = if verification.exit_code == 0 { "✓ " } else { "✗ " };
    let first = Row::of(role, sign).and(role, &verification.result).and(Role::Plain, "  ");
    let mut rows =
        prose(&Gutter { first, rest: Row::new().to(2) }, Role::Plain, &verification.message, width);
    let mut facts = vec![
        (text::VERIFY_ENTRIES, verification.entries.to_string()),
        (text::VERIFY_SESSIONS, verification.sessions.to_string()),
    ];
    if let Some(bad) = &verification.first_bad {
        facts.push((text::VERIFY_FIRST_BAD, bad.clone()));
    }
    facts.push((text::VERIFY_ANCHOR, text::anchor(&verification.anchor)));
    rows.extend(pairs(&facts, width));
    rows
}

#[cfg(test)]
mod tests {
    use enclos_protocol::report::Verification;

    use super::rows;
    use crate::style::Paint;

    #[test]
    fn the_first_bad_entry_is_named_and_the_missing_anchor_said() {
        let verification = Verification {
            result: "altered".to_owned(),
            exit_code: 1,
            entries: 9,
            sessions: 1,
            first_bad: Some("sess_01 entry 7 (line 9)".to_owned()),
            anchor: "unanchored".to_owned(),
            message: "the hash of an entry does not fit its bytes".to_owned(),
        };
        let shown: String =
            rows(&verification, 80).iter().map(|row| row.render(Paint::PLAIN) + "\n").collect();
        insta::assert_snapshot!(shown);
    }
}
