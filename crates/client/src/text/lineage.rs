//! Sentences about lineage: what its commands do, and what their answers say.

use enclos_protocol::lineage::{Answer, Drawing, Exported};

use super::count;

/// `lineage`.
pub(crate) const LINEAGE: &str = "Where something came from, what became of it, and why it has its level";
/// `lineage forward`.
pub(crate) const FORWARD: &str = "What became of a record: everything that may hold it";
pub(crate) const FORWARD_EXAMPLES: &str = "\
Examples:
  enclos lineage forward lin_01k…_4
  enclos lineage forward last         from the messages of the newest session
";
/// `lineage backward`.
pub(crate) const BACKWARD: &str = "What a record was made of, back to its sources";
pub(crate) const BACKWARD_EXAMPLES: &str = "\
Examples:
  enclos lineage backward lin_01k…_19
  enclos lineage backward last        from the last change set of the newest session
";
/// `lineage why`.
pub(crate) const WHY: &str = "Why a record has its level: one chain, to the record that brought the level in";
pub(crate) const WHY_EXAMPLES: &str = "\
Examples:
  enclos lineage why lin_01k…_19
  enclos lineage why last
";
/// `lineage records`.
pub(crate) const RECORDS: &str = "The records of a session, in their order";
pub(crate) const RECORDS_EXAMPLES: &str = "\
Examples:
  enclos lineage records last
  enclos lineage records last --json
";
/// `lineage impact`.
pub(crate) const IMPACT: &str = "What a source brought in, in all sessions, and everything that may hold it";
pub(crate) const IMPACT_EXAMPLES: &str = "\
Examples:
  enclos lineage impact docs/tariff.md
  enclos lineage impact curl --since 30d
";
/// `lineage hunk`.
pub(crate) const HUNK: &str = "What a hunk of a session's change set was made of, and how surely";
pub(crate) const HUNK_EXAMPLES: &str = "\
Examples:
  enclos lineage hunk last src/lib.rs
  enclos lineage hunk last src/lib.rs --line 42
";
/// `lineage downgrades`.
pub(crate) const DOWNGRADES: &str = "What was made or sent under a written downgrade rule";
pub(crate) const DOWNGRADES_EXAMPLES: &str = "\
Examples:
  enclos lineage downgrades
  enclos lineage downgrades --since 2026-11-01 --json
";
/// `lineage graph`.
pub(crate) const GRAPH: &str = "Draws what is around a record, as SVG";
pub(crate) const GRAPH_EXAMPLES: &str = "\
Examples:
  enclos lineage graph last -o lineage.svg
";
/// `lineage export`.
pub(crate) const EXPORT: &str = "Writes a signed folder that proves elsewhere where something came from";
pub(crate) const EXPORT_EXAMPLES: &str = "\
Examples:
  enclos lineage export last -o custody            all records of the newest session
  enclos lineage export lin_01k…_19 -o custody     what a record was made of
  enclos lineage export last -o custody --clearance INTERNAL
";
/// `lineage verify`.
pub(crate) const VERIFY: &str = "Verifies an exported folder, without a network";
pub(crate) const VERIFY_EXAMPLES: &str = "\
Examples:
  enclos lineage verify custody --key sign.pub
";
pub(crate) const VERIFY_CODES: &str =
    "Exit codes: 0 whole and signed, 1 not what was exported, 2 a wrong command line";

/// The ID of most questions.
pub(crate) const FROM: &str =
    "A record (`lin_…`), or a session: its name, the unique beginning of it, or `last`";
/// The source of an impact.
pub(crate) const SOURCE: &str = "The name of the source: a path of the workspace, a program, a tool";
/// `--since`.
pub(crate) const SINCE: &str =
    "Since a day or time (2026-11-30, 2026-11-30T12:00:00Z) or so many days ago (30d)";
/// The file of a hunk.
pub(crate) const HUNK_FILE: &str = "The file, as the change set names it";
/// `--line`.
pub(crate) const HUNK_LINE: &str = "A line of the new text; all hunks of the file when absent";
/// `--clearance`.
pub(crate) const CLEARANCE: &str = "What the reader is cleared for: PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED; what is above is withheld, visibly";
/// `graph -o`.
pub(crate) const GRAPH_FILE: &str = "The file to write";
/// `export -o`.
pub(crate) const EXPORT_FOLDER: &str = "The folder to make; it must not be there";
/// `--forward`.
pub(crate) const EXPORT_FORWARD: &str = "What became of it, instead of what it was made of";
/// The folder of `verify`.
pub(crate) const VERIFY_FOLDER: &str = "The folder that `lineage export` wrote";
/// `--key`.
pub(crate) const VERIFY_KEY: &str =
    "The public key that it must be signed by: the file keys/sign.pub of the gateway that made it";

/// Columns of an answer.
pub(crate) const HEADS: [&str; 6] = ["RECORD", "KIND", "LEVEL", "SOURCE", "MADE", "OF"];
/// An answer without records.
pub(crate) const NOTHING: &str = "no record answers this";
/// Under a table with assumed links.
pub(crate) const ASSUMED: &str = "~ assumed: it may hold it; the others are named by their call";
/// What to do with a record's name.
pub(crate) const NEXT: &str = "next: enclos lineage why RECORD   enclos lineage graph RECORD -o FILE";

/// What an answer leaves out.
pub(crate) fn left_out(answer: &Answer) -> Vec<String> {
    let mut told = Vec::new();
    if answer.truncated {
        let from: Vec<String> = answer.frontier.iter().take(3).map(ToString::to_string).collect();
        told.push(format!("there is more: go on from {}", from.join(", ")));
    }
    if !answer.gone.is_empty() {
        let gone = count(answer.gone.len(), "record", "records");
        told.push(format!("{gone} beyond the retention: only the link is left"));
    }
    told
}

/// An export was written.
pub(crate) fn written(exported: &Exported) -> Vec<String> {
    let records = count(exported.records, "record", "records");
    let sessions = count(exported.sessions, "session", "sessions");
    let mut told = vec![format!("{records} of {sessions} written to {}", exported.folder)];
    if exported.withheld > 0 {
        let withheld = count(exported.withheld, "record is", "records are");
        told.push(format!("{withheld} above the clearance: withheld, with their digests"));
    }
    if exported.truncated {
        told.push("the answer was cut: manifest.json names where it goes on".to_owned());
    }
    told.push(format!("signed by {}", exported.public_key));
    told
}

/// A picture was written.
pub(crate) fn drawn(drawing: &Drawing, file: &str) -> String {
    let records = count(drawing.records, "record", "records");
    let left_out =
        if drawing.left_out > 0 { format!(", {} left out", drawing.left_out) } else { String::new() };
    format!("{records} drawn in {file}{left_out}")
}

/// A name that is neither a record's nor a session's.
pub(crate) fn no_record(id: &str) -> String {
    format!("`{id}` is not a record: expected `lin_SESSION_NUMBER`")
}

/// A time that cannot be read.
pub(crate) fn no_time(given: &str) -> String {
    format!(
        "`{given}` is no time: expected a day (2026-11-30), a time (2026-11-30T12:00:00Z) or days ago (30d)"
    )
}

/// Where names of records are found.
pub(crate) const HINT_RECORDS: &str = "the records of a session: enclos lineage records last";
/// The labels of a verification.
pub(crate) const RECORDS_CHECKED: &str = "records";
pub(crate) const WITHHELD: &str = "withheld";
pub(crate) const ENTRIES_CHECKED: &str = "journal entries";
pub(crate) const SIGNED_BY: &str = "signed by";
