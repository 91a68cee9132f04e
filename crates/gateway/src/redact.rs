//! Redaction of every string that goes into the journal: the values that this gateway knows, and the shapes of secrets.

use std::borrow::Cow;

use enclos_core::secret;
use enclos_protocol::error::{ApiError, Fault};

/// The redactor of a gateway.
pub(crate) struct Redactor(secret::Redactor);

impl Redactor {
    /// A redactor that knows these values.
    ///
    /// # Errors
    /// When the searchers cannot be built; nothing may be written then.
    pub(crate) fn new<'a>(known: impl Iterator<Item = &'a str>) -> Result<Self, ApiError> {
        let known = known.map(|value| secret::KnownSecret::new("model-key", value)).collect();
        let built = secret::Redactor::new(known);
        built.map(Self).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))
    }
}

impl enclos_store::Redact for Redactor {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.redact(text)
    }
}
