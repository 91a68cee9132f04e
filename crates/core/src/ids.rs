//! The names of things: sessions, calls, persons, rules, digests.
//!
//! Each is a text of its own type, so that one is never taken for another; a copy shares the text.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Defines a name: a text with a type of its own.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(Arc::from(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name!(
    /// A session: `sess_` and 26 characters that sort by time.
    SessionId
);
name!(
    /// A tool call within a session: `call_` and its number.
    CallId
);
name!(
    /// A person, as the directory (on one machine: the Unix user) names them.
    UserId
);
name!(
    /// A rule of the policy, or a built-in one such as `default.write` or `command.unknown`.
    RuleId
);
name!(
    /// A digest in the form `sha256:HEX`, or `hmac-sha256:HEX` where the content can be guessed.
    Digest
);

impl SessionId {
    /// Reads a session's name as a person types it.
    pub fn parse(text: &str) -> Option<Self> {
        let tail = text.strip_prefix("sess_")?;
        let fits = !tail.is_empty() && tail.len() <= 64 && tail.bytes().all(|b| b.is_ascii_alphanumeric());
        fits.then(|| Self(Arc::from(text)))
    }
}
