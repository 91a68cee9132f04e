//! Drafts made ready before anything is written: secrets replaced, digests computed for the journal entry.
//!
//! Every string of a record passes the redactor, as every string of an entry does.

use enclos_core::lineage::{Draft, LineageId, digest_of, digest_over};
use serde_json::{Value, json};

use super::LineageError;
use crate::journal::chain::unhex;
use crate::redact::Redact;

/// The most records that come with one entry.
pub(crate) const MOST_AT_ONCE: usize = 4096;

/// A draft that can be written once it is admitted.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) draft: Draft,
    pub(crate) hash: Vec<u8>,
}

/// Makes drafts ready. Gives them and what the entry says of them.
pub(crate) fn prepare(
    redactor: &dyn Redact,
    drafts: Vec<Draft>,
) -> Result<(Vec<Ready>, Option<Value>), LineageError> {
    if drafts.len() > MOST_AT_ONCE {
        return Err(LineageError::TooMany { count: drafts.len(), limit: MOST_AT_ONCE });
    }
    let mut ready = Vec::with_capacity(drafts.len());
    let mut digests = Vec::with_capacity(drafts.len());
    for mut draft in drafts {
        redact(redactor, &mut draft);
        let hash = hash_bytes(draft.content.as_str())
            .ok_or_else(|| LineageError::Digest { id: draft.id.clone() })?;
        digests.push(digest_of(&draft.record()));
        ready.push(Ready { draft, hash });
    }
    let first = ready.first().map(|one| one.draft.id.clone());
    let told = first.map(|first: LineageId| {
        json!({"first": first.number(), "count": digests.len(), "digest": digest_over(&digests)})
    });
    Ok((ready, told))
}

fn redact(redactor: &dyn Redact, draft: &mut Draft) {
    let origin = &mut draft.origin;
    let mut texts: Vec<&mut String> =
        vec![&mut origin.source_name, &mut origin.accessed_by, &mut origin.access_method, &mut draft.reason];
    texts.extend(origin.record_id.iter_mut());
    texts.extend(origin.record_type.iter_mut());
    if let Some(change) = &mut draft.change {
        texts.extend([&mut change.word, &mut change.description, &mut change.agent]);
    }
    for text in texts {
        let clean = redactor.redact(text).into_owned();
        *text = clean;
    }
}

/// Which hash function, and its 32 bytes.
fn hash_bytes(digest: &str) -> Option<Vec<u8>> {
    let (kind, digits) = match digest.strip_prefix("hmac-sha256:") {
        Some(digits) => (1_u8, digits),
        None => (0, digest.strip_prefix("sha256:")?),
    };
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&unhex(digits.as_bytes())?);
    Some(bytes)
}
