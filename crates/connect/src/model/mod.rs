//! A model: asked once, it answers once, whole, or with an error.
//!
//! Whatever the server, what comes out is the same [`Answer`]. While it is being made, [`Delta`]s tell of its pieces: they
//! are for showing only. Dropping the future of [`Model::ask`] cancels the request. Nothing here runs a call, parses its
//! arguments or repairs them.

mod address;
mod error;
pub mod openai;
pub mod patience;
mod script;
mod secret;
mod spec;

pub use error::ModelError;
pub use openai::OpenAi;
pub use script::Script;
pub use secret::Secret;
pub use spec::{ModelSpec, OpenAiSpec, ToolMode};

use std::time::Duration;

use enclos_core::model::{Answer, Request};

/// A piece of an answer that is being made. Only for showing: nothing may be decided on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Words for the person.
    Text(String),
    /// Thoughts.
    Reasoning(String),
    /// A call begins; `index` counts the calls of this attempt from 0.
    CallStarted {
        /// Its place among the calls.
        index: usize,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The place of the call.
        index: usize,
        /// The next piece of the text.
        fragment: String,
    },
    /// The attempt came to nothing and another follows after `wait`. Every piece told so far is void: calls that had
    /// begun are canceled, and indices start from 0 again.
    Retrying {
        /// The number of the attempt that follows; the first retry is 2.
        attempt: u32,
        /// How long until then.
        wait: Duration,
        /// What went wrong.
        reason: String,
    },
}

/// A model that can be asked.
#[derive(Debug)]
pub enum Model {
    /// A server that speaks OpenAI's chat completions.
    OpenAi(Box<OpenAi>),
    /// Recorded turns.
    Script(Script),
}

impl Model {
    /// Makes the model ready. A script is read and checked here; a server is not yet spoken to.
    ///
    /// Errors: [`ModelError::Spec`] and [`ModelError::Script`].
    pub fn from_spec(spec: &ModelSpec, key: Option<Secret>) -> Result<Self, ModelError> {
        match spec {
            ModelSpec::OpenAi(spec) => OpenAi::new(spec.clone(), key, patience::Patience::default())
                .map(|model| Self::OpenAi(Box::new(model))),
            ModelSpec::Script { file } => Script::load(file).map(Self::Script),
        }
    }

    /// Asks, and waits for the whole answer. `on` is told of the pieces as they come.
    ///
    /// An error means that there is no answer at all: a call of a broken answer never comes out of here. Dropping the
    /// future cancels the request.
    pub async fn ask(
        &self,
        request: &Request,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        match self {
            Self::OpenAi(model) => model.ask(request, on).await,
            Self::Script(model) => model.ask(request, on).await,
        }
    }

    /// The size of the model's window in tokens: what the specification says, else what the server tells, else none.
    pub async fn context_tokens(&self) -> Option<u64> {
        match self {
            Self::OpenAi(model) => model.context_tokens().await,
            Self::Script(_) => None,
        }
    }

    /// The model's name for the journal: its specification, without user, password or key.
    pub fn name(&self) -> String {
        match self {
            Self::OpenAi(model) => model.spec().to_string(),
            Self::Script(model) => model.name().to_owned(),
        }
    }
}
