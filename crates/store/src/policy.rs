//! The versions of the policy: one chain of the journal, apart from those of the sessions.
//!
//! Every change of a scope's policy is an entry `policy.changed` with the digests of the text before and after, its
//! author and how it came about; the text itself is the sealed content of the entry, so the one before is sealed with
//! the version before. Versions are a fold over this chain: what history shows is what `journal verify` covers. The
//! chain never closes, so no retention erases it. Whoever appends holds its lease, one process at a time.

use enclos_core::ids::{Digest, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use sha2::{Digest as _, Sha256};

use crate::journal::chain::hex;
use crate::lease::Lease;
use crate::record::{Record, SessionMeta};
use crate::store::Store;
use crate::{LeaseError, StoreError};

/// The name of the chain. It is no session: no listing shows it.
pub const POLICY_CHAIN: &str = "sess_policy";

/// The kind of its entries.
pub const KIND_POLICY_CHANGED: &str = "policy.changed";

/// One version of the policy of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVersion {
    /// The scope: `instance`, `group PATH` or `project PATH`.
    pub scope: String,
    /// Its number within the scope, from 1.
    pub number: u64,
    /// SHA-256 of its text. An empty text is a scope whose policy was removed.
    pub digest: Digest,
    /// SHA-256 of the text before; `None` for the first version.
    pub previous: Option<Digest>,
    /// Who wrote it.
    pub author: String,
    /// How it came about: `apply`, `rollback to N`, `remove`, `edited by hand`.
    pub how: String,
    /// What gives more room by it than before, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looser: Vec<String>,
    /// When, in microseconds of the Unix epoch.
    #[serde(skip)]
    pub time_us: i64,
    /// The number of its entry in the chain.
    #[serde(skip)]
    pub seq: u64,
}

/// A change that is about to be a version.
#[derive(Clone, Debug)]
pub struct PolicyChange {
    /// The scope.
    pub scope: String,
    /// The new text; empty where the policy is removed.
    pub text: String,
    /// Who wrote it.
    pub author: String,
    /// How it came about.
    pub how: String,
    /// What gives more room by it than before, in words.
    pub looser: Vec<String>,
    /// When, in microseconds of the Unix epoch.
    pub time_us: i64,
}

/// The digest of a policy's text: `sha256:` and 64 hexadecimal digits.
pub fn policy_digest(text: &str) -> Digest {
    Digest::new(format!("sha256:{}", hex(&Sha256::digest(text.as_bytes()))))
}

/// The right to change policies.
#[derive(Debug)]
pub struct PolicyLease {
    store: Store,
    lease: Lease,
}

impl Store {
    /// Every version of every scope, in the order in which they were made, once the chain is verified.
    ///
    /// # Errors
    /// A chain that does not verify, and what the database reports.
    pub fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        let stored = match self.entries(&chain()) {
            Ok(stored) => stored,
            Err(StoreError::UnknownSession(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let changes = stored.into_iter().filter(|event| event.kind == KIND_POLICY_CHANGED);
        let version = |event: crate::StoredEvent| {
            let parsed: PolicyVersion = serde_json::from_str(event.entry.get())
                .map_err(|_| altered(event.seq, "it is not a version of a policy"))?;
            Ok(PolicyVersion { time_us: event.time_us, seq: event.seq, ..parsed })
        };
        changes.map(version).collect()
    }

    /// The text of a version.
    ///
    /// # Errors
    /// A text that is missing or is not the one of the version's digest.
    pub fn policy_text(&self, version: &PolicyVersion) -> Result<String, StoreError> {
        let events = self.events_after(&chain(), version.seq.saturating_sub(1))?;
        let content = events.into_iter().next().and_then(|event| event.content);
        let text = content.and_then(|content| String::from_utf8(content).ok());
        text.filter(|text| policy_digest(text) == version.digest)
            .ok_or_else(|| altered(version.seq, "its text is not the one of its digest"))
    }

    /// Takes the right to change policies, and makes the chain at the first time.
    ///
    /// # Errors
    /// [`LeaseError::Held`] while another process changes one.
    pub fn lease_policy(&self, now_us: i64) -> Result<PolicyLease, LeaseError> {
        let lease = match self.lease(&chain()) {
            Err(LeaseError::Store(StoreError::UnknownSession(_))) => self.create(&chain(), meta(now_us)),
            taken => taken,
        }?;
        Ok(PolicyLease { store: self.clone(), lease })
    }
}

impl PolicyLease {
    /// Makes a version. It is durable when this returns.
    ///
    /// # Errors
    /// What kept it from being written; nothing was, then.
    pub fn append(&self, change: PolicyChange) -> Result<PolicyVersion, StoreError> {
        let versions = self.store.policy_versions()?;
        let last = versions.iter().rfind(|version| version.scope == change.scope);
        let mut version = PolicyVersion {
            number: last.map_or(1, |last| last.number.saturating_add(1)),
            digest: policy_digest(&change.text),
            previous: last.map(|last| last.digest.clone()),
            scope: change.scope,
            author: change.author,
            how: change.how,
            looser: change.looser,
            time_us: change.time_us,
            seq: 0,
        };
        let entry = match serde_json::to_value(&version) {
            Ok(serde_json::Value::Object(entry)) => entry,
            Ok(_) | Err(_) => Map::new(),
        };
        let receipt = self.lease.append_wait(vec![Record {
            kind: KIND_POLICY_CHANGED.to_owned(),
            time_us: change.time_us,
            entry,
            content: Some(change.text.into_bytes()),
            state: None,
            lineage: Vec::new(),
            archives: false,
        }])?;
        version.seq = receipt.last_seq();
        Ok(version)
    }
}

fn chain() -> SessionId {
    SessionId::new(POLICY_CHAIN)
}

fn meta(now_us: i64) -> SessionMeta {
    SessionMeta {
        task: String::new(),
        repo: std::path::PathBuf::new(),
        surface: "policy".to_owned(),
        state: "standing".to_owned(),
        created_us: now_us,
        extra: Map::new(),
    }
}

fn altered(seq: u64, why: &str) -> StoreError {
    StoreError::Altered { session: chain(), seq, why: why.to_owned() }
}
