//! A key: a text that is never shown.
//!
//! It has no `Display`, its `Debug` hides the value, and it is neither compared nor serialised. It decides nothing.

/// A key or a password. Only the party it was given for may see it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The value: for the request's header, and for the list of values that a journal must not show.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text with every occurrence of the value replaced by `[key]`. A value of fewer than six bytes (`x`, `none`) is
    /// what servers without keys are given: it is no secret, and would be found in any text.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.len() < 6 { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn never_shown() {
        let key = Secret::new("sk-123");
        assert_eq!(format!("{key:?}"), "Secret(..)");
        assert_eq!(key.scrub("bad key sk-123."), "bad key [key].");
        for none in ["", "i", "none"] {
            assert_eq!(Secret::new(none).scrub("none as it is"), "none as it is");
        }
    }
}
