//! The names of records: `lin_`, the session's own letters, and a number in it.
//!
//! The number of a record is given by whoever holds the session's lease, so a name is never given twice; a name tells the
//! session and nothing of the content.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::SessionId;

/// The most records of one session.
pub const MOST_RECORDS: u32 = (1 << 24) - 1;

/// The name of a record: `lin_` and the session's letters, `_` and its number in the session, from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineageId {
    session: SessionId,
    number: u32,
}

impl LineageId {
    /// The name of the record with this number. `None` where there is no such name.
    pub fn of(session: &SessionId, number: u32) -> Option<Self> {
        let fits = SessionId::parse(session.as_str()).is_some() && (1..=MOST_RECORDS).contains(&number);
        fits.then(|| Self { session: session.clone(), number })
    }

    /// Reads a name.
    pub fn parse(text: &str) -> Option<Self> {
        let (session, number) = text.strip_prefix("lin_")?.split_once('_')?;
        if number.starts_with(['0', '+']) {
            return None;
        }
        Self::of(&SessionId::parse(&format!("sess_{session}"))?, number.parse().ok()?)
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The number in the session.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The record of the same session before this one.
    pub fn before(&self) -> Option<Self> {
        Self::of(&self.session, self.number.checked_sub(1)?)
    }
}

impl std::fmt::Display for LineageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let session = self.session.as_str();
        f.pad(&format!("lin_{}_{}", session.strip_prefix("sess_").unwrap_or(session), self.number))
    }
}

impl Serialize for LineageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LineageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("`{text}` is not a record: expected `lin_SESSION_NUMBER`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_nothing_else_is_one() {
        let session = SessionId::new("sess_01abc");
        let id = LineageId::of(&session, 7).unwrap();
        assert_eq!(id.to_string(), "lin_01abc_7");
        assert_eq!(LineageId::parse("lin_01abc_7"), Some(id));
        assert_eq!(LineageId::of(&session, 0), None);
        assert_eq!(LineageId::of(&session, MOST_RECORDS + 1), None);
        for wrong in [
            "", "lin_", "lin_a", "lin_a_", "lin_a_0", "lin_a_01", "lin_a_+1", "lin_a_x", "lin_/_1",
            "sess_a_1",
        ] {
            assert_eq!(LineageId::parse(wrong), None, "{wrong}");
        }
    }
}
