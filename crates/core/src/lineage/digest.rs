//! How records are bound to the journal: a digest of each, and one over all that came with an entry.
//!
//! The digest of a record is over its JSON without its place, which is known only once it is written. It can be told of a
//! record that is withheld: the record's own `content_hash` is keyed, so nothing can be guessed from it.

use sha2::{Digest as _, Sha256};

use super::{Change, Classification, Draft, Origin, Record, Transformation};
use crate::ids::Digest;

impl Draft {
    /// The record that this draft becomes, without a place.
    pub fn record(&self) -> Record {
        let origin: &Origin = &self.origin;
        let time = origin.accessed_at;
        let transformation = |change: &Change| Transformation {
            kind: change.word.clone(),
            description: change.description.clone(),
            timestamp: time,
            input_lineage_ids: change.inputs.iter().map(|input| input.id.clone()).collect(),
            agent_id: change.agent.clone(),
        };
        Record {
            lineage_id: self.id.clone(),
            content_hash: self.content.clone(),
            origin: origin.clone(),
            classification: Classification {
                level: self.label.level(),
                provenance: self.label.provenance(),
                reason: self.reason.clone(),
                assigned_at: time,
                can_be_downgraded: self.can_be_downgraded,
            },
            transformations: self.change.iter().map(transformation).collect(),
            current_location: None,
        }
    }
}

/// The digest of a record, `sha256:HEX`.
pub fn digest_of(record: &Record) -> Digest {
    let without_place = Record { current_location: None, ..record.clone() };
    // What the product serialises itself always can be.
    let json = serde_json::to_vec(&without_place).unwrap_or_default();
    named(Sha256::new().chain_update(b"enclos-lineage-1\0").chain_update(json))
}

/// The digest over the digests of all records that came with one entry, in their order.
pub fn digest_over<'d>(records: impl IntoIterator<Item = &'d Digest>) -> Digest {
    let mut hash = Sha256::new().chain_update(b"enclos-lineage-entry-1\0");
    for record in records {
        hash.update(record.as_str().as_bytes());
        hash.update(b"\n");
    }
    named(hash)
}

fn named(hash: Sha256) -> Digest {
    use std::fmt::Write as _;
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Digest::new(text)
}
