//! Verification of an export, offline: nothing but the folder and a public key is read.
//!
//! In order: the list of files and its signature, the digest of each file, the journals, each record against the entry that
//! it came with, and the rule that no record is below what it was made of. The first thing that fails is named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use enclos_core::ids::{Digest, SessionId};
use enclos_core::label::Label;
use enclos_core::lineage::{LineageId, digest_over};
use enclos_core::noun::count;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lineage::Verified;
use enclos_store::{is_signed, journal, public_key};
use serde::Deserialize;

use super::bundle::{
    FORM, MANIFEST, Manifest, PURPOSE, RECORDS, RecordLine, SIGNATURE, digest, journal_name,
};

/// The largest file of an export that is read.
const LARGEST: u64 = 4 << 30;

/// Verifies an export. `key`: a file with the public key that it must be signed by. `own`: that of this gateway, which
/// counts where none is given.
///
/// # Errors
/// A key that cannot be read. A folder that is none is a verification that fails.
pub(crate) fn verify(folder: &Path, key: Option<&Path>, own: &Path) -> Result<Verified, ApiError> {
    let given = match key {
        Some(path) => Some(read_key(path)?),
        None => None,
    };
    let own = std::fs::read_to_string(own).ok().and_then(|text| public_key(&text));
    let mut found = Found { given, own, ..Found::default() };
    let first_bad = found.check(folder).err();
    let unproven = match found.unproven {
        0 => String::new(),
        many => format!(
            "; {} by the signature alone, since the journal names what the reader is not cleared for",
            count(many, "record is vouched for", "records are vouched for")
        ),
    };
    let message = match &first_bad {
        None if found.signer == "its own" => {
            format!(
                "whole, and signed by the key that it names itself: get the public key of who made it, and give it with --key{unproven}"
            )
        }
        None => format!("whole, and signed by the key {}{unproven}", found.signer_words()),
        Some(bad) => format!("not what was exported: {bad}"),
    };
    Ok(Verified {
        ok: first_bad.is_none(),
        first_bad,
        records: found.records,
        withheld: found.withheld,
        unproven: found.unproven,
        entries: found.entries,
        signer: found.signer.to_owned(),
        anchor: "unanchored".to_owned(),
        message,
    })
}

fn read_key(path: &Path) -> Result<String, ApiError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        ApiError::new(Fault::Usage, format!("the key `{}` cannot be read: {error}", path.display()))
    })?;
    public_key(&text).ok_or_else(|| {
        ApiError::new(Fault::Usage, format!("`{}` is no public key", path.display()))
            .hint("expected the file keys/sign.pub of the gateway that made the export")
    })
}

/// What was found so far.
#[derive(Default)]
struct Found {
    given: Option<String>,
    own: Option<String>,
    signer: &'static str,
    records: u64,
    withheld: u64,
    unproven: u64,
    entries: u64,
}

impl Found {
    fn signer_words(&self) -> &'static str {
        if self.signer == "given" { "that was given" } else { "of this gateway" }
    }

    /// Checks everything, up to the first thing that fails.
    fn check(&mut self, folder: &Path) -> Result<(), String> {
        let listed = read(folder, MANIFEST)?;
        let signature =
            String::from_utf8(read(folder, SIGNATURE)?).map_err(|_| bad(SIGNATURE, "is no signature"))?;
        let manifest: Manifest = serde_json::from_slice(&listed)
            .map_err(|error| format!("`{MANIFEST}` cannot be read: {error}"))?;
        if manifest.form != FORM {
            return Err(bad(MANIFEST, "has a form that this build does not know"));
        }
        self.signed(&manifest, &listed, signature.trim())?;
        files(folder, &manifest)?;
        let text = String::from_utf8(read(folder, RECORDS)?).map_err(|_| bad(RECORDS, "is no text"))?;
        let mut lines: Vec<RecordLine> = Vec::new();
        for (text, number) in text.lines().zip(1_u64..) {
            let line = serde_json::from_str(text);
            lines.push(line.map_err(|error| format!("`{RECORDS}` line {number} is no record: {error}"))?);
        }
        let journals = self.journals(folder, &manifest)?;
        let withheld: BTreeSet<&SessionId> = manifest.journals_withheld.iter().collect();
        let (apart, with): (Vec<&RecordLine>, Vec<&RecordLine>) =
            lines.iter().partition(|line| withheld.contains(line.id().session()));
        proven(&with, &journals)?;
        self.unproven = apart.len() as u64;
        self.labels(&lines)?;
        if self.records != manifest.records {
            return Err(bad(MANIFEST, "counts other records than there are"));
        }
        Ok(())
    }

    fn signed(&mut self, manifest: &Manifest, listed: &[u8], signature: &str) -> Result<(), String> {
        let (key, signer) = match (&self.given, &self.own) {
            (Some(given), _) => (given, "given"),
            (None, Some(own)) if *own == manifest.public_key => (own, "this gateway"),
            (None, _) => (&manifest.public_key, "its own"),
        };
        self.signer = signer;
        if *key != manifest.public_key {
            return Err(bad(MANIFEST, "names another key than the one that was given"));
        }
        if is_signed(key, PURPOSE, listed, signature) {
            Ok(())
        } else {
            Err(bad(SIGNATURE, "is not the signature of the key over `manifest.json`"))
        }
    }

    /// The journals: each verified, and what its entries say of records.
    fn journals(&mut self, folder: &Path, manifest: &Manifest) -> Result<Entries, String> {
        let mut entries = Entries::new();
        for session in &manifest.sessions {
            let name = journal_name(session);
            let bytes = read(folder, &name)?;
            let found = journal::verify(&mut bytes.as_slice());
            if found.result.exit_code() != 0 {
                let place = found.first_bad.and_then(|bad| bad.seq).map(|seq| format!(" at entry {seq}"));
                return Err(format!(
                    "`{name}` does not verify{}: {}",
                    place.unwrap_or_default(),
                    found.message
                ));
            }
            self.entries = self.entries.saturating_add(found.entries);
            for line in bytes.split(|byte| *byte == b'\n') {
                let Ok(entry) = serde_json::from_slice::<EntryLine>(line) else { continue };
                if entry.session != *session {
                    return Err(bad(&name, "is the journal of another session"));
                }
                if let Some(told) = entry.entry.lineage {
                    entries.insert((session.clone(), entry.seq), told);
                }
            }
        }
        Ok(entries)
    }

    /// No record is below what it was made of, unless a downgrade rule is named.
    fn labels(&mut self, lines: &[RecordLine]) -> Result<(), String> {
        let mut known: BTreeMap<&LineageId, Label> = BTreeMap::new();
        for line in lines {
            match line {
                RecordLine::Shown { item, .. } => {
                    known.insert(&item.record.lineage_id, item.record.classification.label());
                    self.records = self.records.saturating_add(1);
                }
                RecordLine::Withheld { withheld, .. } => {
                    self.withheld = self.withheld.saturating_add(u64::from(withheld == "clearance"));
                }
            }
        }
        for line in lines {
            let RecordLine::Shown { item, .. } = line else { continue };
            let label = item.record.classification.label();
            let inputs = item.record.transformations.iter().flat_map(|made| &made.input_lineage_ids);
            let above = inputs.filter_map(|input| known.get(input)).any(|input| !label.covers(*input));
            if above && item.downgrade_rule.is_none() {
                return Err(format!("the record `{}` is below what it was made of", item.record.lineage_id));
            }
        }
        Ok(())
    }
}

/// What entries say of the records that came with them.
type Entries = BTreeMap<(SessionId, u64), Told>;

#[derive(Deserialize)]
struct EntryLine {
    session: SessionId,
    seq: u64,
    entry: EntryFields,
}

#[derive(Deserialize)]
struct EntryFields {
    lineage: Option<Told>,
}

#[derive(Deserialize)]
struct Told {
    first: u32,
    count: u32,
    digest: Digest,
}

/// Each file is there with its digest, and no other file is.
fn files(folder: &Path, manifest: &Manifest) -> Result<(), String> {
    for (name, told) in &manifest.files {
        if digest(&read(folder, name)?) != *told {
            return Err(bad(name, "is not the file that was exported"));
        }
    }
    let known: BTreeSet<&str> =
        manifest.files.keys().map(String::as_str).chain([MANIFEST, SIGNATURE]).collect();
    let there = std::fs::read_dir(folder).map_err(|error| format!("the folder cannot be read: {error}"))?;
    for entry in there {
        let name = entry.map_err(|error| format!("the folder cannot be read: {error}"))?.file_name();
        if name.to_str().is_none_or(|name| !known.contains(name)) {
            return Err(format!("`{}` is not part of the export", name.to_string_lossy()));
        }
    }
    Ok(())
}

/// Each record is one that its entry in the journal speaks of.
fn proven(lines: &[&RecordLine], entries: &Entries) -> Result<(), String> {
    let mut by_entry: BTreeMap<(SessionId, u64), Vec<&RecordLine>> = BTreeMap::new();
    for line in lines {
        by_entry.entry((line.id().session().clone(), line.entry())).or_default().push(line);
    }
    for (place, lines) in by_entry {
        let (session, seq) = &place;
        let told = entries.get(&place);
        let told = told.ok_or_else(|| format!("entry {seq} of `{session}` speaks of no record"))?;
        let numbers = told.first..told.first.saturating_add(told.count);
        let all = lines.len() == numbers.len()
            && lines.iter().zip(numbers).all(|(line, number)| line.id().number() == number);
        if !all {
            let known = count(told.count, "record", "records");
            return Err(format!(
                "entry {seq} of `{session}` speaks of {known} from number {}, and there are others",
                told.first
            ));
        }
        let digests: Vec<Digest> = lines.iter().map(|line| line.digest()).collect();
        if digest_over(&digests) != told.digest {
            let first = lines.first().map(|line| line.id().to_string()).unwrap_or_default();
            return Err(format!("the records from `{first}` are not those of entry {seq} of `{session}`"));
        }
    }
    Ok(())
}

/// A file of the folder: a plain one, never through a link.
fn read(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    if name.contains('/') || name.starts_with('.') {
        return Err(format!("`{name}` is no name of a file of an export"));
    }
    let path = folder.join(name);
    let meta = std::fs::symlink_metadata(&path).map_err(|error| format!("`{name}` is missing: {error}"))?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(bad(name, "is no plain file, or too large"));
    }
    std::fs::read(&path).map_err(|error| format!("`{name}` cannot be read: {error}"))
}

fn bad(name: &str, why: &str) -> String {
    format!("`{name}` {why}")
}
