//! Which model: `script:FILE` or `openai:URL#MODEL`, read from what a person typed.
//!
//! Decides what an address may be: TLS, or plain HTTP on this machine alone. An unknown kind or option is refused, and no
//! message or name made here shows the user and password that an address may hold.

use std::fmt;
use std::path::PathBuf;

use reqwest::Url;

use super::{ModelError, address};

/// What a specification looks like, for messages.
const FORM: &str =
    "expected `script:FILE` or `openai:URL#MODEL`, with `?tool_mode=native` or `?tool_mode=json_schema`";

/// A model, as named on a command line or in a configuration.
#[derive(Clone, Debug)]
pub enum ModelSpec {
    /// `openai:URL#MODEL`.
    OpenAi(OpenAiSpec),
    /// `script:FILE`.
    Script {
        /// The script.
        file: PathBuf,
    },
}

impl ModelSpec {
    /// Reads `script:FILE`, or `openai:URL#MODEL` with its options after the URL or after the model:
    /// `tool_mode=native|json_schema`, `context_tokens=N` (the model's window), `max_tokens=N` (of one answer) and
    /// `temperature=T` (0 to 2).
    ///
    /// Error: [`ModelError::Spec`], which names what was expected.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let read = match kind {
            "script" if rest.is_empty() => Err(FORM.to_owned()),
            "script" => Ok(Self::Script { file: PathBuf::from(rest) }),
            "openai" => OpenAiSpec::read(rest).map(Self::OpenAi),
            "responses" | "anthropic" => Err(format!("`{kind}:` is not in this build; {FORM}")),
            _ => Err(FORM.to_owned()),
        };
        read.map_err(|problem| ModelError::Spec { spec: without_userinfo(text), problem })
    }
}

/// How calls are asked for and answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolMode {
    /// By the protocol's own tool calls.
    #[default]
    Native,
    /// The whole answer is one JSON object of a schema that the server enforces: for small models that write calls
    /// into prose.
    JsonSchema,
}

/// A server of chat completions, and one of its models.
#[derive(Clone)]
pub struct OpenAiSpec {
    /// The base, without `/chat/completions`. May hold user and password, so it is never shown.
    base: Url,
    model: String,
    tool_mode: ToolMode,
    context_tokens: Option<u64>,
    max_tokens: Option<u64>,
    temperature: Option<f64>,
}

impl OpenAiSpec {
    fn read(text: &str) -> Result<Self, String> {
        let (left, right) = text.split_once('#').ok_or("expected `#MODEL` after the URL")?;
        let (address, before) = left.split_once('?').unwrap_or((left, ""));
        let (model, after) = right.split_once('?').unwrap_or((right, ""));
        if model.is_empty() || model.chars().any(char::is_control) {
            return Err("expected the model's name after `#`".to_owned());
        }
        let mut spec = Self {
            base: base_of(address)?,
            model: model.to_owned(),
            tool_mode: ToolMode::Native,
            context_tokens: None,
            max_tokens: None,
            temperature: None,
        };
        let mut seen = Vec::new();
        for option in before.split('&').chain(after.split('&')).filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if seen.contains(&name) {
                return Err(format!("the option `{name}` is given twice; keep one"));
            }
            seen.push(name);
            spec.set(name, value)?;
        }
        Ok(spec)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match (name, value) {
            ("tool_mode", "native") => self.tool_mode = ToolMode::Native,
            ("tool_mode", "json_schema") => self.tool_mode = ToolMode::JsonSchema,
            ("tool_mode", _) => {
                return Err(format!("`tool_mode={value}`: expected `native` or `json_schema`"));
            }
            ("context_tokens", _) => self.context_tokens = Some(count(name, value)?),
            ("max_tokens", _) => self.max_tokens = Some(count(name, value)?),
            ("temperature", _) => self.temperature = Some(temperature(value)?),
            _ => {
                return Err(format!(
                    "unknown option `{name}`: expected `tool_mode`, `context_tokens`, `max_tokens` or \
                     `temperature`; \
                     a key never goes in the address"
                ));
            }
        }
        Ok(())
    }

    /// The model's name, as the server knows it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How calls are asked for.
    pub fn tool_mode(&self) -> ToolMode {
        self.tool_mode
    }

    /// The window that the specification gives, in tokens.
    pub fn context_tokens(&self) -> Option<u64> {
        self.context_tokens
    }

    /// The most tokens of one answer, to be asked of the server; none: the server's own limit.
    pub fn max_tokens(&self) -> Option<u64> {
        self.max_tokens
    }

    /// How freely the model chooses its words; none: the server's own value.
    pub fn temperature(&self) -> Option<f64> {
        self.temperature
    }

    /// Scheme, host and port.
    pub fn server(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// The address of a path below the base. Holds user and password.
    pub(crate) fn address(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    /// The address of a path at the server's root, beside a base that ends in `/v1`. Holds user and password.
    pub(crate) fn root_address(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let root = self.base.path().trim_end_matches('/');
        url.set_path(&format!("{}{path}", root.strip_suffix("/v1").unwrap_or(root)));
        url
    }

    /// Whether the address itself names a user or a password.
    pub(crate) fn has_userinfo(&self) -> bool {
        !self.base.username().is_empty() || self.base.password().is_some()
    }

    /// Whether the address is plain HTTP, and so on this machine.
    pub(crate) fn is_plain(&self) -> bool {
        self.base.scheme() == "http"
    }
}

impl fmt::Display for OpenAiSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.base.path().trim_end_matches('/');
        write!(f, "openai:{}{path}#{}", self.server(), self.model)?;
        let mode = (self.tool_mode == ToolMode::JsonSchema).then(|| "tool_mode=json_schema".to_owned());
        let window = self.context_tokens.map(|tokens| format!("context_tokens={tokens}"));
        let most = self.max_tokens.map(|tokens| format!("max_tokens={tokens}"));
        let free = self.temperature.map(|value| format!("temperature={value}"));
        for (option, mark) in [mode, window, most, free]
            .into_iter()
            .flatten()
            .zip(std::iter::once('?').chain(std::iter::repeat('&')))
        {
            write!(f, "{mark}{option}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for OpenAiSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenAiSpec({self})")
    }
}

/// A number above 0.
fn count(name: &str, value: &str) -> Result<u64, String> {
    let number = value.parse().ok().filter(|&number: &u64| number > 0);
    number.ok_or_else(|| format!("`{name}={value}`: expected a whole number above 0"))
}

/// A temperature as servers take it.
fn temperature(value: &str) -> Result<f64, String> {
    let number = value.parse().ok().filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| format!("`temperature={value}`: expected a number from 0 to 2"))
}

/// The base of an address: `/v1` when it has no path, without a `/chat/completions` at its end.
fn base_of(address: &str) -> Result<Url, String> {
    let mut url =
        Url::parse(address).map_err(|error| format!("the address cannot be read: {error}; {FORM}"))?;
    address::check(&url)?;
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = if path.is_empty() { "/v1".to_owned() } else { path.to_owned() };
    url.set_path(&path);
    Ok(url)
}

/// The text with the user and password of an address taken out. What stands before an `@` may be a secret wherever
/// it stands in the address, so all of it goes.
fn without_userinfo(text: &str) -> String {
    let (address, model) = text.split_once('#').map_or((text, None), |(left, right)| (left, Some(right)));
    let shown = match (address.split_once("//"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}//{host}"),
        _ => address.to_owned(),
    };
    model.map_or(shown.clone(), |model| format!("{shown}#{model}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openai(text: &str) -> OpenAiSpec {
        match ModelSpec::parse(text) {
            Ok(ModelSpec::OpenAi(spec)) => spec,
            other => panic!("`{text}` gave {other:?}"),
        }
    }

    fn refused(text: &str) -> String {
        ModelSpec::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn options_stand_after_the_url_or_after_the_model() {
        for text in [
            "openai:http://127.0.0.1:8080/v1#qwen2.5:1.5b?tool_mode=json_schema",
            "openai:http://127.0.0.1:8080/v1?tool_mode=json_schema#qwen2.5:1.5b",
        ] {
            let spec = openai(text);
            assert_eq!(spec.tool_mode(), ToolMode::JsonSchema);
            assert_eq!(spec.model(), "qwen2.5:1.5b");
            assert_eq!(
                spec.to_string(),
                "openai:http://127.0.0.1:8080/v1#qwen2.5:1.5b?tool_mode=json_schema"
            );
        }
        let spec = openai("openai:https://llm.example#m?temperature=0.2");
        assert_eq!(spec.temperature(), Some(0.2));
        assert_eq!(spec.to_string(), "openai:https://llm.example/v1#m?temperature=0.2");
        for wrong in ["-1", "2.1", "NaN", "warm", ""] {
            let said = refused(&format!("openai:https://llm.example#m?temperature={wrong}"));
            assert!(said.contains("expected a number from 0 to 2"), "{said}");
        }
        let spec = openai("openai:https://llm.example#m?context_tokens=8192&tool_mode=native");
        assert_eq!((spec.context_tokens(), spec.tool_mode()), (Some(8192), ToolMode::Native));
        assert_eq!(spec.to_string(), "openai:https://llm.example/v1#m?context_tokens=8192");
    }

    #[test]
    fn the_path_is_found_from_any_usual_base() {
        for (base, chat) in [
            ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
            ("http://localhost/v1/", "http://localhost/v1/chat/completions"),
            ("https://a.example/api/v3", "https://a.example/api/v3/chat/completions"),
            ("https://a.example/v1/chat/completions", "https://a.example/v1/chat/completions"),
        ] {
            let spec = openai(&format!("openai:{base}#m"));
            assert_eq!(spec.address("/chat/completions").as_str(), chat);
        }
        assert_eq!(
            openai("openai:http://[::1]:1/v1#m").root_address("/props").as_str(),
            "http://[::1]:1/props"
        );
    }

    #[test]
    fn user_and_password_are_never_shown() {
        let spec = openai("openai:https://user:hunter2@llm.example/v1#m");
        assert!(spec.has_userinfo());
        for shown in [
            spec.to_string(),
            format!("{spec:?}"),
            spec.server(),
            refused("openai:https://user:hunter2@llm.example/v1#m?x=1"),
            refused("openai:https://user:hun/ter2@llm.example/v1"),
            refused("openai:http://user:hunter2@llm.example/v1#m"),
        ] {
            assert!(!shown.contains("hunter2") && !shown.contains("ter2@"), "{shown}");
        }
    }

    #[test]
    fn the_unknown_is_refused_and_the_form_is_told() {
        for text in ["", "gpt", "script:", "ollama:http://x#m", "openai:", "openai:https://a.example/v1"] {
            assert!(refused(text).contains("expected"), "{text}");
        }
        assert!(refused("anthropic:https://a.example#m").contains("`anthropic:` is not in this build"));
        assert!(refused("responses:https://a.example#m").contains("`responses:` is not in this build"));
        assert!(refused("openai:https://a.example#").contains("model's name"));
        assert!(refused("openai:https://a.example#m?tool_mode=json").contains("`json_schema`"));
        assert!(refused("openai:https://a.example#m?key=1").contains("unknown option `key`"));
        assert!(refused("openai:https://a.example?tool_mode=native#m?tool_mode=native").contains("twice"));
        assert!(refused("openai:https://a.example#m?context_tokens=0").contains("above 0"));
    }

    #[test]
    fn a_script_is_a_file() {
        let Ok(ModelSpec::Script { file }) = ModelSpec::parse("script:a:b.json") else {
            panic!("not a script")
        };
        assert_eq!(file, PathBuf::from("a:b.json"));
    }
}
