//! One step along a chain: does this entry follow the one before?
//!
//! The same steps judge an export and the store itself. What a fault is called matters: two entries in one place are a
//! fork, a gap is something missing, and only what fits neither is called altered.

use std::borrow::Cow;

use enclos_core::ids::SessionId;

use super::chain::{Hash, Link, genesis, is_kind};
use super::report::Outcome;
use crate::StoreError;

/// Something that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its class.
    pub(crate) outcome: Outcome,
    /// The entry, when it is one.
    pub(crate) seq: Option<u64>,
    /// What does not fit.
    pub(crate) why: Cow<'static, str>,
}

impl Fault {
    /// Something is not what was written.
    pub(crate) fn altered(seq: Option<u64>, why: impl Into<Cow<'static, str>>) -> Self {
        Self { outcome: Outcome::Altered, seq, why: why.into() }
    }

    /// Something is missing.
    pub(crate) fn missing(seq: Option<u64>, why: impl Into<Cow<'static, str>>) -> Self {
        Self { outcome: Outcome::Truncated, seq, why: why.into() }
    }

    /// The error of a reader who met it in the store; what is not about one entry is about the `last` one.
    pub(crate) fn in_store(self, session: &SessionId, last: u64) -> StoreError {
        StoreError::Altered {
            session: session.clone(),
            seq: self.seq.unwrap_or(last),
            why: self.why.into_owned(),
        }
    }
}

/// A chain that has been followed so far.
#[derive(Debug)]
pub(crate) struct Chain {
    session: String,
    next: u64,
    head: Hash,
    /// What the newest entry follows.
    before: Option<Hash>,
    time_us: i64,
}

impl Chain {
    /// A chain before its first entry.
    pub(crate) fn start(deployment: &str, session: &str) -> Self {
        Self {
            session: session.to_owned(),
            next: 1,
            head: genesis(deployment, session),
            before: None,
            time_us: 0,
        }
    }

    /// A chain after entry `seq`.
    pub(crate) fn resume(session: &str, seq: u64, hash: Hash, time_us: i64) -> Self {
        Self { session: session.to_owned(), next: seq.saturating_add(1), head: hash, before: None, time_us }
    }

    /// The session.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The number that the next entry must have.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// How many entries there have been.
    pub(crate) fn entries(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// The hash of the newest entry.
    pub(crate) fn head(&self) -> &Hash {
        &self.head
    }

    /// Follows one entry of this session.
    pub(crate) fn step(&mut self, link: &Link<'_>, claimed: &Hash) -> Result<(), Fault> {
        if link.hash() != *claimed {
            return Err(Fault::altered(Some(self.next), "its hash does not fit its bytes"));
        }
        if link.seq < self.next {
            return Err(self.again(link, claimed));
        }
        if link.seq > self.next {
            let why = format!("entries {} to {} are missing", self.next, link.seq.saturating_sub(1));
            return Err(Fault::missing(Some(self.next), why));
        }
        if link.prev != self.head {
            return Err(Fault::altered(Some(link.seq), "it does not follow the entry before it"));
        }
        if link.time_us < self.time_us {
            return Err(Fault::altered(Some(link.seq), "its time is before that of the entry before it"));
        }
        if !is_kind(link.kind) {
            return Err(Fault::altered(Some(link.seq), "its kind is not well formed"));
        }
        self.before = Some(self.head);
        self.head = *claimed;
        self.time_us = link.time_us;
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    /// An entry whose number has been there.
    fn again(&self, link: &Link<'_>, claimed: &Hash) -> Fault {
        let newest = link.seq.saturating_add(1) == self.next;
        if newest && *claimed == self.head {
            return Fault::altered(Some(link.seq), "it is there twice");
        }
        if newest && Some(link.prev) == self.before {
            let why = "its place was written twice, as two writers do, not by tampering".into();
            return Fault { outcome: Outcome::Fork, seq: Some(link.seq), why };
        }
        Fault::altered(Some(link.seq), "it is out of order")
    }

    /// Compares the end of the chain with what is said of it.
    pub(crate) fn end(&self, entries: u64, head: &Hash) -> Result<(), Fault> {
        if *head == self.head && entries == self.entries() {
            return Ok(());
        }
        if *head != self.head && entries > self.entries() {
            let why = format!("entries {} to {entries} are missing", self.next);
            return Err(Fault::missing(Some(self.next), why));
        }
        Err(Fault::altered(None, "the end of the session does not fit its entries"))
    }
}
