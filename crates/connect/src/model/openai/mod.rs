//! Servers that speak OpenAI's chat completions: vLLM, Ollama, llama.cpp, LM Studio, and the rest.
//!
//! One request, one answer, with as many attempts as patience allows. Tolerant of how servers write, strict on what it
//! means: a call that is not whole never comes out, a call written in prose never becomes one, nothing is repaired. No
//! redirection is followed, no proxy of the environment is used, and the key goes to the address's own host alone.

mod assemble;
mod calls;
#[cfg(test)]
mod cuts;
mod failure;
mod json_mode;
mod preview;
mod prose;
mod request;
mod sse;
mod stream;
mod think;
mod window;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};

use enclos_core::model::{Answer, Request};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};

use super::address::Resolver;
use super::patience::Patience;
use super::{Delta, ModelError, OpenAiSpec, Secret, ToolMode};
use failure::{Failure, Kind};
use request::Body;

/// The type of what is sent.
const JSON: &str = "application/json";

/// A server and one of its models.
#[derive(Debug)]
pub struct OpenAi {
    spec: OpenAiSpec,
    key: Option<Secret>,
    /// The key as a header, marked as not to be shown.
    authorization: Option<HeaderValue>,
    patience: Patience,
    client: Client,
    /// The server does not take `stream_options`.
    without_usage: AtomicBool,
}

impl OpenAi {
    /// Makes the model ready; the server is not yet spoken to. White space around the key is not part of it.
    ///
    /// Error: [`ModelError::Spec`] when the key cannot be sent, or goes together with a user in the address.
    pub fn new(spec: OpenAiSpec, key: Option<Secret>, patience: Patience) -> Result<Self, ModelError> {
        let wrong = |problem: &str| ModelError::Spec { spec: spec.to_string(), problem: problem.to_owned() };
        let key = key.map(|key| Secret::new(key.expose().trim())).filter(|key| !key.expose().is_empty());
        if key.is_some() && spec.has_userinfo() {
            return Err(wrong("expected either a key, or user and password in the address, not both"));
        }
        let header = |key: &Secret| HeaderValue::from_str(&format!("Bearer {}", key.expose()));
        let mut authorization =
            key.as_ref().map(header).transpose().map_err(|_| {
                wrong("the key holds characters that no header can carry; expected plain text")
            })?;
        if let Some(value) = &mut authorization {
            value.set_sensitive(true);
        }
        let client = client(&spec, &patience).map_err(|error| wrong(&stream::causes(error)))?;
        Ok(Self { spec, key, authorization, patience, client, without_usage: AtomicBool::new(false) })
    }

    /// The server and the model.
    pub fn spec(&self) -> &OpenAiSpec {
        &self.spec
    }

    /// Asks; see [`Model::ask`](super::Model::ask).
    ///
    /// Errors: every class of [`ModelError`] but [`ModelError::Spec`] and [`ModelError::Script`].
    pub async fn ask(
        &self,
        request: &Request,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(request, on).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let server = self.spec.server();
            let most = match failure.kind {
                Kind::NoConnection => self.patience.attempts_to_connect,
                _ => self.patience.attempts,
            };
            if !failure.may_pass() || attempt >= most {
                return Err(failure.into_error(server, attempt));
            }
            let Some(wait) = self.patience.wait(attempt, failure.asked) else {
                return Err(failure.into_error(server, attempt));
            };
            attempt += 1;
            on(Delta::Retrying { attempt, wait, reason: failure.reason });
            tokio::time::sleep(wait).await;
        }
    }

    /// The window of the model, in tokens; see [`Model::context_tokens`](super::Model::context_tokens).
    pub async fn context_tokens(&self) -> Option<u64> {
        if let Some(tokens) = self.spec.context_tokens() {
            return Some(tokens);
        }
        let ask = |url| window::fetch(self.authorized(self.client.get(url)));
        let props = ask(self.spec.root_address("/props")).await;
        if let Some(tokens) = props.as_ref().and_then(window::of_props) {
            return Some(tokens);
        }
        window::of_models(&ask(self.spec.address("/models")).await?, self.spec.model())
    }

    /// One attempt; a server that does not take `stream_options` is asked once more without, and so from then on.
    async fn attempt(
        &self,
        request: &Request,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, Failure> {
        let with_usage = !self.without_usage.load(Ordering::Relaxed);
        let failure = match self.send(request, with_usage, on).await {
            Err(failure) if with_usage && refuses_usage(&failure) => {
                self.without_usage.store(true, Ordering::Relaxed);
                self.send(request, false, on).await
            }
            other => other,
        };
        failure.map_err(|failure| Failure { reason: self.scrub(&failure.reason), ..failure })
    }

    async fn send(
        &self,
        request: &Request,
        with_usage: bool,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, Failure> {
        let mode = self.spec.tool_mode();
        let body = match mode {
            ToolMode::Native => Body::native(&self.spec, request, with_usage),
            ToolMode::JsonSchema => json_mode::body(&self.spec, request, with_usage),
        };
        let body = serde_json::to_vec(&body).map_err(|error| {
            Failure::new(Kind::Malformed, format!("the request cannot be written: {error}"))
        })?;
        let sending = self
            .authorized(self.client.post(self.spec.address("/chat/completions")))
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body);
        stream::attempt(sending, mode, request, &self.patience, on).await
    }

    fn authorized(&self, sending: RequestBuilder) -> RequestBuilder {
        match &self.authorization {
            Some(value) => sending.header(AUTHORIZATION, value.clone()),
            None => sending,
        }
    }

    /// Takes the key, and the password of the address, out of a server's words.
    fn scrub(&self, text: &str) -> String {
        let address: Url = self.spec.address("");
        let password = address.password().map(Secret::new);
        [&self.key, &password].into_iter().flatten().fold(text.to_owned(), |text, secret| secret.scrub(&text))
    }
}

fn refuses_usage(failure: &Failure) -> bool {
    matches!(failure.kind, Kind::Refused(400 | 422)) && failure.reason.contains("stream_options")
}

/// A client that goes where it is told and nowhere else.
fn client(spec: &OpenAiSpec, patience: &Patience) -> reqwest::Result<Client> {
    // The first to come decides for the process; ours is the only one in the build.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("enclos/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(patience.connect)
        .dns_resolver(Resolver { plain: spec.is_plain() });
    // Plain HTTP needs no roots, which take a while to read.
    let client = if spec.is_plain() { client.tls_certs_only([]) } else { client.https_only(true) };
    client.build()
}
