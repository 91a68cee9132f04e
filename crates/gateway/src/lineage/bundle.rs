//! An export of lineage: a folder that tells where something came from, and can be verified elsewhere.
//!
//! It holds the records, the same as PROV-JSON and CSV, the journal of each session they came from, and a signed list of
//! digests of all that. A record above the reader's clearance is withheld, visibly: its name and digest stay, so the proof
//! that it was in the journal holds without it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use enclos_core::ids::{Digest, SessionId};
use enclos_core::lineage::{LineageId, digest_of};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lineage::{Answer, ExportRequest, Exported, Item};
use enclos_store::{Node, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{ask, failed, item, prov, tables};
use crate::clock::Clock;

/// What a signature of an export is for.
pub(super) const PURPOSE: &str = "lineage export";

/// The form of an export.
pub(super) const FORM: &str = "enclos-lineage-1";

/// The file that names all others.
pub(super) const MANIFEST: &str = "manifest.json";

/// The signature over it.
pub(super) const SIGNATURE: &str = "manifest.sig";

/// The records, one a line.
pub(super) const RECORDS: &str = "records.jsonl";

/// Records of one session that are looked through for those that came with the same entries.
const MOST_BESIDE: usize = 200_000;

/// The list of what is in an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub form: String,
    pub question: Value,
    pub clearance: String,
    pub made: String,
    pub deployment: String,
    pub records: u64,
    pub withheld: u64,
    pub links: u64,
    pub truncated: bool,
    pub frontier: Vec<LineageId>,
    pub gone: Vec<LineageId>,
    /// Sessions whose journal is there.
    pub sessions: Vec<SessionId>,
    /// Sessions whose journal is withheld: it names what the reader is not cleared for.
    pub journals_withheld: Vec<SessionId>,
    pub anchor: String,
    pub public_key: String,
    pub files: BTreeMap<String, FileDigest>,
}

/// A file of an export.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileDigest {
    pub bytes: u64,
    pub sha256: String,
}

/// A line of the records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum RecordLine {
    /// A record.
    Shown {
        /// It.
        item: Box<Item>,
        /// The entry that it came with.
        entry: u64,
    },
    /// One that is withheld.
    Withheld {
        /// Its name.
        lineage_id: LineageId,
        /// The entry that it came with.
        entry: u64,
        /// The digest of it.
        digest: Digest,
        /// Why: `clearance` or `scope`.
        withheld: String,
    },
}

/// Writes an export.
///
/// # Errors
/// A folder that is there, a question without an answer, and what the store or the disk reports.
pub(crate) fn export(store: &Store, clock: &Clock, request: &ExportRequest) -> Result<Exported, ApiError> {
    let mut answer = ask(store, &request.question)?;
    if answer.records.is_empty() {
        return Err(ApiError::new(
            Fault::NotFound,
            "there is nothing to export: no record answers the question",
        ));
    }
    let Collected { lines, above } = lines(store, &mut answer, request)?;
    let sessions: BTreeSet<SessionId> = lines.iter().map(|line| line.id().session().clone()).collect();
    let told: Vec<SessionId> = sessions.difference(&above).cloned().collect();
    let withheld: Vec<LineageId> = lines.iter().filter_map(RecordLine::withheld_by_clearance).collect();
    let mut files = BTreeMap::new();
    let mut text = String::new();
    for line in &lines {
        text.push_str(&serde_json::to_string(line).map_err(|error| internal(&error))?);
        text.push('\n');
    }
    files.insert(RECORDS.to_owned(), text.into_bytes());
    let document = serde_json::to_vec_pretty(&prov::document(&answer, &withheld));
    files.insert("prov.json".to_owned(), document.map_err(|error| internal(&error))?);
    files.insert("records.csv".to_owned(), tables::records(&answer, &withheld).into_bytes());
    files.insert("links.csv".to_owned(), tables::links(&answer).into_bytes());
    for session in &told {
        let mut journal = Vec::new();
        store.export(Some(session), &mut journal).map_err(|error| failed(&error))?;
        files.insert(journal_name(session), journal);
    }
    files.insert("README.txt".to_owned(), READ_ME.as_bytes().to_vec());
    let signer = store.signer().map_err(|error| failed(&error))?;
    let manifest = Manifest {
        form: FORM.to_owned(),
        question: serde_json::to_value(&request.question).map_err(|error| internal(&error))?,
        clearance: request.clearance.as_str().to_owned(),
        made: clock.now(),
        deployment: store.deployment().to_owned(),
        records: answer.records.len() as u64,
        withheld: withheld.len() as u64,
        links: answer.links.len() as u64,
        truncated: answer.truncated,
        frontier: answer.frontier.clone(),
        gone: answer.gone.clone(),
        sessions: told,
        journals_withheld: above.into_iter().collect(),
        anchor: "unanchored".to_owned(),
        public_key: signer.public(),
        files: files.iter().map(|(name, bytes)| (name.clone(), digest(bytes))).collect(),
    };
    let listed = serde_json::to_vec_pretty(&manifest).map_err(|error| internal(&error))?;
    files.insert(SIGNATURE.to_owned(), signer.sign(PURPOSE, &listed).into_bytes());
    files.insert(MANIFEST.to_owned(), listed);
    write(&request.folder, &files)?;
    Ok(Exported {
        folder: request.folder.display().to_string(),
        records: manifest.records,
        withheld: manifest.withheld,
        links: manifest.links,
        sessions: manifest.sessions.len() as u64,
        truncated: manifest.truncated,
        public_key: manifest.public_key,
    })
}

impl RecordLine {
    pub(super) fn id(&self) -> &LineageId {
        match self {
            Self::Shown { item, .. } => &item.record.lineage_id,
            Self::Withheld { lineage_id, .. } => lineage_id,
        }
    }

    pub(super) fn entry(&self) -> u64 {
        match self {
            Self::Shown { entry, .. } | Self::Withheld { entry, .. } => *entry,
        }
    }

    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::Shown { item, .. } => digest_of(&item.record),
            Self::Withheld { digest, .. } => digest.clone(),
        }
    }

    fn withheld_by_clearance(&self) -> Option<LineageId> {
        match self {
            Self::Withheld { lineage_id, withheld, .. } if withheld == "clearance" => {
                Some(lineage_id.clone())
            }
            Self::Withheld { .. } | Self::Shown { .. } => None,
        }
    }
}

/// The lines of the records, and the sessions that know more than the reader may.
struct Collected {
    lines: Vec<RecordLine>,
    above: BTreeSet<SessionId>,
}

/// The lines of the records: those of the answer, and of the others that came with the same entries their digests.
fn lines(store: &Store, answer: &mut Answer, request: &ExportRequest) -> Result<Collected, ApiError> {
    let wanted: BTreeSet<LineageId> =
        answer.records.iter().map(|item| item.record.lineage_id.clone()).collect();
    let sessions: BTreeSet<SessionId> = wanted.iter().map(|id| id.session().clone()).collect();
    let mut lines = Vec::new();
    let mut above = BTreeSet::new();
    for session in sessions {
        let nodes = store.lineage_of_session(&session, 0, MOST_BESIDE).map_err(|error| failed(&error))?;
        if nodes.iter().any(|node| !node.label().level().may_flow_to(request.clearance)) {
            above.insert(session);
        }
        let entries: BTreeSet<u64> = nodes
            .iter()
            .filter(|node| wanted.contains(&node.record.lineage_id))
            .map(|node| node.seq)
            .collect();
        for node in nodes.into_iter().filter(|node| entries.contains(&node.seq)) {
            lines.push(line(node, &wanted, request));
        }
    }
    // What is withheld is in no table either.
    answer.records.retain(|item| item.record.classification.level.may_flow_to(request.clearance));
    Ok(Collected { lines, above })
}

fn line(node: Node, wanted: &BTreeSet<LineageId>, request: &ExportRequest) -> RecordLine {
    let asked = wanted.contains(&node.record.lineage_id);
    let cleared = node.label().level().may_flow_to(request.clearance);
    let entry = node.seq;
    if asked && cleared {
        return RecordLine::Shown { item: Box::new(item(node)), entry };
    }
    let withheld = if asked { "clearance" } else { "scope" }.to_owned();
    RecordLine::Withheld {
        digest: digest_of(&node.record),
        lineage_id: node.record.lineage_id,
        entry,
        withheld,
    }
}

/// The file of a session's journal.
pub(super) fn journal_name(session: &SessionId) -> String {
    format!("journal-{session}.jsonl")
}

pub(super) fn digest(bytes: &[u8]) -> FileDigest {
    use std::fmt::Write as _;
    let mut sha256 = String::new();
    for byte in Sha256::digest(bytes) {
        // Writing to a text does not fail.
        let _ = write!(sha256, "{byte:02x}");
    }
    FileDigest { bytes: bytes.len() as u64, sha256 }
}

/// Makes the folder, which must not be there, readable by its owner alone.
fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), ApiError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|error| {
        let message = format!("the folder `{}` cannot be made: {error}", folder.display());
        ApiError::new(Fault::Usage, message).hint("name one that is not there, in a folder that is: -o DIR")
    })?;
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).map_err(|error| {
            let path = folder.join(name);
            ApiError::new(Fault::Internal, format!("`{}` cannot be written: {error}", path.display()))
        })?;
    }
    Ok(())
}

fn internal(error: &serde_json::Error) -> ApiError {
    ApiError::new(Fault::Internal, error.to_string())
}

const READ_ME: &str = "\
An export of lineage, made by Enclos.

records.jsonl   the records, one a line; those that are withheld with their digest
prov.json       the same as W3C PROV-JSON
records.csv     the same as a table
links.csv       what was made of what, and how surely
journal-*.jsonl the journal of each session that the records came from
manifest.json   what is in this folder, with digests
manifest.sig    the signature over manifest.json, Ed25519

Verify it, without a network, with the public key of who made it:
  enclos lineage verify FOLDER --key sign.pub
";
