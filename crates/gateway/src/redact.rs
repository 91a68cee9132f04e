//! Redaction of every string that goes into the journal: the values that this gateway knows, and the shapes of secrets.

use std::borrow::Cow;

use enclos_core::secret;

/// The redactor of a gateway.
pub(crate) struct Redactor(secret::Redactor);

impl Redactor {
    /// A redactor that knows these values.
    pub(crate) fn new<'a>(known: impl Iterator<Item = &'a str>) -> Self {
        Self(secret::Redactor::new(known.map(|value| secret::Known::new("model-key", value)).collect()))
    }
}

impl enclos_store::Redact for Redactor {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.redact(text)
    }
}
