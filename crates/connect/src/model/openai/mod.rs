//! OpenAI-compatible chat completions.
use super::{Delta, ModelError, OpenAiSpec, Secret, patience::Patience};
use enclos_core::model::{Answer, Request};
/// A server.
#[derive(Debug)]
pub struct OpenAi {
    spec: OpenAiSpec,
    #[expect(dead_code)]
    key: Option<Secret>,
    #[expect(dead_code)]
    patience: Patience,
}
impl OpenAi {
    /// Makes it ready.
    pub fn new(spec: OpenAiSpec, key: Option<Secret>, patience: Patience) -> Result<Self, ModelError> {
        Ok(Self { spec, key, patience })
    }
    /// The specification.
    pub fn spec(&self) -> &OpenAiSpec {
        &self.spec
    }
    /// Asks.
    #[expect(clippy::unused_async)]
    pub async fn ask(
        &self,
        _request: &Request,
        _on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        Err(ModelError::Unreachable { server: self.spec.server(), reason: "not yet".into() })
    }
    /// Tokens.
    #[expect(clippy::unused_async)]
    pub async fn context_tokens(&self) -> Option<u64> {
        self.spec.context_tokens()
    }
}
