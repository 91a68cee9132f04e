//! What is around a session's sandbox: this machine itself, or a container. The configuration names engine and image; the
//! policy may fix which of the two it is. Where they do not fit together nothing opens.

use enclos_core::policy::{ExecutionBackend, Policy};
use enclos_protocol::env::Environment;
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::{Backend, ENGINE_VARIABLES, Engine, Image, Oci};
use serde::Deserialize;
use serde_json::json;

use crate::session::{Facts, facts};

/// The table `[execution.oci]` as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    engine: EngineWord,
    image: ImageWord,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct EngineWord(Engine);

impl TryFrom<String> for EngineWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Engine::parse(&text).map(Self)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct ImageWord(Image);

impl TryFrom<String> for ImageWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Image::parse(&text).map(Self)
    }
}

/// What the configuration says of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configured {
    /// Which of the two; `None` when it does not say.
    pub backend: Option<ExecutionBackend>,
    /// Engine and image, when they are named.
    pub oci: Option<Oci>,
}

impl Configured {
    /// Joins what was read. Of the environment the engine's own program gets what such programs read.
    ///
    /// # Errors
    /// `oci` without an engine and an image.
    pub(crate) fn of(
        backend: Option<ExecutionBackend>,
        written: Option<&Written>,
        environment: &Environment,
    ) -> Result<Self, ApiError> {
        let passed =
            ENGINE_VARIABLES.iter().filter_map(|name| Some(((*name).into(), environment.get(name)?.into())));
        let oci = written.map(|written| Oci {
            engine: written.engine.0,
            image: written.image.0.clone(),
            environment: passed.collect(),
        });
        if backend == Some(ExecutionBackend::Oci) && oci.is_none() {
            return Err(no_engine("`execution.backend` is `oci`"));
        }
        Ok(Self { backend, oci })
    }

    /// The one that is to be around a sandbox under this policy.
    ///
    /// # Errors
    /// The policy fixed another one than the configuration names, or one that is not configured.
    pub(crate) fn under(&self, policy: &Policy) -> Result<Backend, ApiError> {
        let fixed = policy.settings().backend.as_ref();
        if let (Some(fixed), Some(own)) = (fixed, self.backend)
            && fixed.backend != own
        {
            let message = format!(
                "`execution.backend` is `{own}` in the configuration, but the {} ({}) fixed it to `{}`",
                fixed.scope, fixed.source, fixed.backend
            );
            return Err(ApiError::new(Fault::Usage, message).hint("remove it from the configuration"));
        }
        match fixed.map(|fixed| fixed.backend).or(self.backend) {
            None | Some(ExecutionBackend::Linux) => Ok(Backend::Namespaces),
            Some(ExecutionBackend::Oci) => {
                let oci = self.oci.clone().ok_or_else(|| match fixed {
                    Some(fixed) => no_engine(&format!(
                        "the {} ({}) fixed `execution.backend` to `oci`",
                        fixed.scope, fixed.source
                    )),
                    None => no_engine("`execution.backend` is `oci`"),
                })?;
                Ok(Backend::Oci(oci))
            }
        }
    }
}

fn no_engine(why: &str) -> ApiError {
    let message = format!("{why}, but the configuration names no engine and image");
    ApiError::new(Fault::Usage, message)
        .hint("write `engine` and `image` below `[execution.oci]` in config.toml; docs/oci.md shows how")
}

/// A backend for the journal: its word, and of a container engine and image.
pub(crate) fn told(backend: &Backend) -> Facts {
    match backend {
        Backend::Namespaces => facts([("backend", json!("linux"))]),
        Backend::Oci(oci) => facts([
            ("backend", json!("oci")),
            ("engine", json!(oci.engine.word())),
            ("image", json!(oci.image.to_string())),
        ]),
    }
}
