//! The configuration of a gateway: flag, then environment, then the person's file, then `/etc/enclos`.
//!
//! An unknown key and a value that cannot be read are refused with their line; no default is taken in their place.
//! Policy clamps what is set here, and is not set here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use enclos_core::budget::{self, Limits};
use enclos_core::policy::{ExecutionBackend, ExecutionPlace};
use enclos_protocol::env::{self, Environment};
use enclos_protocol::error::{ApiError, Fault, Place};
use serde::Deserialize;

use crate::backend;
use crate::places::Places;
use crate::policies::ScopeName;

/// The configuration for the whole machine.
const MACHINE_FILE: &str = "/etc/enclos/config.toml";

/// A configuration file as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    model: Option<String>,
    preset: Option<String>,
    models: BTreeMap<String, ModelEntry>,
    projects: BTreeMap<String, PathBuf>,
    execution: Execution,
}

/// A model that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelEntry {
    /// Its specification, as `--model` takes it.
    pub spec: String,
    /// The file that holds its key, and nothing else.
    pub key_file: Option<PathBuf>,
    /// Tokens that its window holds.
    pub context_tokens: Option<u64>,
}

/// The table `[execution]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Execution {
    place: Option<String>,
    backend: Option<ExecutionBackend>,
    oci: Option<backend::Written>,
    host: Option<PathBuf>,
    session_max_actions: Option<u64>,
    session_max_minutes: Option<u64>,
    session_max_extensions: Option<u64>,
    session_max_tokens: Option<u64>,
    session_max_commands: Option<u64>,
    command_max_seconds: Option<u64>,
    command_max_output_bytes: Option<u64>,
}

/// What the configuration says, all sources joined.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The model to take when none is named.
    pub model: Option<String>,
    /// The preset to take when none is named.
    pub preset: Option<String>,
    /// Models by name.
    pub models: BTreeMap<String, ModelEntry>,
    /// The project of each repository.
    projects: BTreeMap<PathBuf, ScopeName>,
    /// What is around sandboxes.
    pub backend: backend::Configured,
    /// Where sessions work, and in words who said so.
    pub place: Option<(ExecutionPlace, &'static str)>,
    /// The socket of the execution host.
    pub host: Option<PathBuf>,
    /// The limits of a session.
    pub limits: Limits,
    /// Seconds of one command.
    pub command_seconds: u64,
    /// Bytes of a command's output that are kept.
    pub command_output_bytes: u64,
    /// Settings that differ from their default, in words.
    pub announced: Vec<String>,
}

/// Seconds that one command may take.
pub(crate) const COMMAND_SECONDS: u64 = 600;
/// Bytes of one command's output that are kept.
pub(crate) const COMMAND_OUTPUT_BYTES: u64 = 10 * 1024 * 1024;

impl Config {
    /// Reads the files and the environment.
    ///
    /// # Errors
    /// The first setting that cannot be read, with its place and what was expected.
    pub(crate) fn load(places: &Places, environment: &Environment) -> Result<Self, ApiError> {
        let mut files = Vec::new();
        for file in [places.config_file(), PathBuf::from(MACHINE_FILE)] {
            if let Some(text) = read_if_there(&file)? {
                files.push(parse(&file, &text)?);
            }
        }
        Self::join(&files, environment)
    }

    fn join(files: &[Written], environment: &Environment) -> Result<Self, ApiError> {
        let variable = environment.get(env::EXECUTION).map(|word| (word, "`ENCLOS_AGENT_EXECUTION`"));
        let in_files = files.iter().filter_map(|file| file.execution.place.as_deref());
        let in_files = in_files.map(|word| (word, "`execution.place` of the configuration"));
        let place = variable.into_iter().chain(in_files).next().map(place).transpose()?;
        let host = files.iter().find_map(|file| file.execution.host.clone());
        if let Some(host) = host.as_ref().filter(|host| !host.is_absolute()) {
            let message =
                format!("`execution.host` is `{}`: expected the absolute path of a socket", host.display());
            return Err(ApiError::new(Fault::Usage, message));
        }
        let mut numbers = Numbers { files, environment, announced: Vec::new() };
        let default = Limits::DEFAULT;
        let limits = Limits {
            actions: numbers.read(env::MAX_ACTIONS, "session_max_actions", default.actions, 1)?,
            minutes: numbers.read(env::MAX_MINUTES, "session_max_minutes", default.minutes, 1)?,
            extensions: numbers.read(env::MAX_EXTENSIONS, "session_max_extensions", default.extensions, 0)?,
            tokens: numbers.read(env::MAX_TOKENS, "session_max_tokens", default.tokens, 1)?,
            commands: numbers.read(env::MAX_COMMANDS, "session_max_commands", default.commands, 1)?,
        };
        let command_seconds =
            numbers.read(env::COMMAND_SECONDS, "command_max_seconds", COMMAND_SECONDS, 1)?;
        let output = "command_max_output_bytes";
        let command_output_bytes = numbers.read(env::COMMAND_OUTPUT, output, COMMAND_OUTPUT_BYTES, 1)?;
        let announced = numbers.announced;
        let mut models = BTreeMap::new();
        for file in files.iter().rev() {
            models.extend(file.models.clone());
        }
        let projects = projects(files)?;
        let written = files.iter().find_map(|file| file.execution.oci.as_ref());
        let own = files.iter().find_map(|file| file.execution.backend);
        Ok(Self {
            backend: backend::Configured::of(own, written, environment)?,
            model: files.iter().find_map(|file| file.model.clone()),
            preset: files.iter().find_map(|file| file.preset.clone()),
            models,
            projects,
            place,
            host,
            limits,
            command_seconds,
            command_output_bytes,
            announced,
        })
    }
}

impl Config {
    /// The project that a repository belongs to.
    pub(crate) fn project_of(&self, repo: Option<&Path>) -> Option<&ScopeName> {
        self.projects.get(repo?)
    }
}

/// Reads the table `[projects]`, by repository. Each belongs to one project; the person's file says it before the
/// machine's.
fn projects(files: &[Written]) -> Result<BTreeMap<PathBuf, ScopeName>, ApiError> {
    let mut found = BTreeMap::new();
    for file in files.iter().rev() {
        let mut own = BTreeMap::new();
        for (path, repo) in &file.projects {
            let field = format!("projects.\"{path}\"");
            let refuse = |why: String| configured(format!("`{field}` {why}")).at(Place::field(&*field));
            let project = ScopeName::project(path)?;
            if !repo.is_absolute() {
                let why = format!("is `{}`: expected the absolute path of a repository", repo.display());
                return Err(refuse(why));
            }
            let repo = std::fs::canonicalize(repo).unwrap_or_else(|_| repo.clone());
            if let Some(other) = own.insert(repo, project) {
                return Err(refuse(format!("and the {other} name one repository: expected one of them")));
            }
        }
        found.extend(own);
    }
    Ok(found)
}

/// Reads numbers from the environment, else from the files, and notes what differs from its default.
struct Numbers<'a> {
    files: &'a [Written],
    environment: &'a Environment,
    announced: Vec<String>,
}

impl Numbers<'_> {
    fn read(&mut self, variable: &str, key: &str, default: u64, least: u64) -> Result<u64, ApiError> {
        let in_files = self.files.iter().find_map(|file| file.execution.number(key));
        let written = match (self.environment.get(variable), in_files) {
            (Some(text), _) => Some((variable.to_owned(), text.to_owned())),
            (None, Some(value)) => Some((format!("execution.{key}"), value.to_string())),
            (None, None) => None,
        };
        let read = |(field, text): (String, String)| {
            let bad = |bad: budget::BadLimit| configured(bad.to_string()).at(Place::field(&*field));
            budget::read_limit(&field, &text, least).map_err(bad)
        };
        let value = written.map(read).transpose()?.unwrap_or(default);
        if value != default {
            let side = if value > default { "looser" } else { "tighter" };
            self.announced.push(format!("{key} is {value}, {side} than the default {default}"));
        }
        Ok(value)
    }
}

impl Execution {
    fn number(&self, key: &str) -> Option<u64> {
        match key {
            "session_max_actions" => self.session_max_actions,
            "session_max_minutes" => self.session_max_minutes,
            "session_max_extensions" => self.session_max_extensions,
            "session_max_tokens" => self.session_max_tokens,
            "session_max_commands" => self.session_max_commands,
            "command_max_seconds" => self.command_max_seconds,
            "command_max_output_bytes" => self.command_max_output_bytes,
            _ => None,
        }
    }
}

/// Reads where sessions work.
fn place((word, said): (&str, &'static str)) -> Result<(ExecutionPlace, &'static str), ApiError> {
    match word {
        "workstation" => Ok((ExecutionPlace::Workstation, said)),
        "server" => Ok((ExecutionPlace::Server, said)),
        other => Err(configured(format!("{said} is `{other}`: expected `workstation` or `server`"))
            .at(Place::field(said.trim_matches('`')))),
    }
}

/// A mistake in what configures this gateway.
fn configured(message: impl Into<String>) -> ApiError {
    ApiError::new(Fault::Configuration, message)
}

fn read_if_there(file: &Path) -> Result<Option<String>, ApiError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let name = file.display().to_string();
            Err(configured(format!("`{name}` cannot be read: {error}")).at(Place::line(name, 0)))
        }
    }
}

fn parse(file: &Path, text: &str) -> Result<Written, ApiError> {
    toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text.get(..span.start).map_or(1, |head| head.matches('\n').count() + 1));
        let message = format!("`{}`, line {line}: {}", file.display(), error.message());
        configured(message)
            .at(Place::line(file.display().to_string(), line))
            .hint("mend or remove that line; nothing was started")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, environment: &[(&str, &str)]) -> Result<Config, ApiError> {
        let file = parse(Path::new("config.toml"), text)?;
        Config::join(&[file], &Environment::of(environment.iter().copied()))
    }

    #[test]
    fn the_environment_wins_over_the_file_and_a_difference_is_announced() {
        let text = "[execution]\nsession_max_actions = 20\nsession_max_minutes = 90\n";
        let config = of(text, &[("ENCLOS_SESSION_MAX_ACTIONS", "10")]).unwrap();
        assert_eq!((config.limits.actions, config.limits.minutes), (10, 90));
        assert!(config.announced.iter().any(|note| note.contains("tighter than the default 150")));
        assert!(config.announced.iter().any(|note| note.contains("looser than the default 45")));
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_never_taken_for_a_default() {
        for variable in [env::MAX_ACTIONS, env::MAX_MINUTES, env::MAX_TOKENS, env::COMMAND_SECONDS] {
            let error = of("", &[(variable, "many")]).unwrap_err();
            assert_eq!(error.fault, Fault::Configuration);
            assert_eq!(error.place.field.as_deref(), Some(variable));
            assert!(error.message.contains(variable) && error.message.contains("`many`"), "{error}");
        }
        assert!(of("[execution]\nsession_max_actions = 0\n", &[]).is_err());
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let error = of("model = \"m\"\n\n[execution]\nsession_max_action = 3\n", &[]).unwrap_err();
        assert!(error.message.contains("line 4"), "{error}");
        assert!(error.message.contains("session_max_action"), "{error}");
        assert_eq!(*error.place, Place::line("config.toml", 4));
    }

    #[test]
    fn a_repository_belongs_to_one_project_and_is_named_by_its_whole_path() {
        let text = "[projects]\n\"acme/site\" = \"/no/such/site\"\n";
        let config = of(text, &[]).unwrap();
        let project = config.project_of(Some(Path::new("/no/such/site"))).unwrap();
        assert_eq!(project.to_string(), "project acme/site");
        assert_eq!(config.project_of(Some(Path::new("/no/such"))), None);
        for bad in ["\"../x\" = \"/r\"", "\"a\" = \"r\"", "\"a\" = \"/r\"\n\"b\" = \"/r\""] {
            let error = of(&format!("[projects]\n{bad}\n"), &[]).unwrap_err();
            assert!(error.message.contains("expected"), "{error}");
        }
    }

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn the_backend_is_read_and_what_is_unknown_is_refused_with_its_line() {
        let oci = |engine: &str, image: &str| {
            format!(
                "[execution]\nbackend = \"oci\"\n[execution.oci]\nengine = \"{engine}\"\nimage = \"{image}\"\n"
            )
        };
        let image = format!("localhost/dev@sha256:{HEX}");
        let config = of(&oci("podman", &image), &[("PATH", "/usr/bin"), ("TERM", "dumb")]).unwrap();
        let found = config.backend.oci.unwrap();
        assert_eq!((found.engine.word(), found.image.to_string()), ("podman", image.clone()));
        assert_eq!(found.environment, [("PATH".to_owned(), "/usr/bin".to_owned())]);
        for (text, line, said) in [
            (oci("runsc", &image), "line 4", "kernel of its own"),
            (oci("lxc", &image), "line 4", "expected `podman`"),
            (oci("podman", "rust:1.90"), "line 5", "digest"),
            ("[execution]\nbackend = \"kvm\"\n".into(), "line 2", "oci"),
            ("[execution.oci]\nengine = \"podman\"\n".into(), "line 1", "image"),
            (
                format!("[execution.oci]\nengine = \"podman\"\nimage = \"{image}\"\npull = true\n"),
                "line 4",
                "pull",
            ),
        ] {
            let error = of(&text, &[]).unwrap_err();
            assert!(error.message.contains(line) && error.message.contains(said), "{text}: {error}");
        }
        let error = of("[execution]\nbackend = \"oci\"\n", &[]).unwrap_err();
        assert!(error.message.contains("names no engine and image"), "{error}");
    }

    #[test]
    fn policy_fixes_the_backend_and_a_configuration_that_says_otherwise_is_refused() {
        use enclos_core::policy::{Layer, Policy, Scope};
        use enclos_sandbox::Backend;
        let policy = |backend: &str| {
            let text = format!("name = \"p\"\n[execution]\nbackend = \"{backend}\"\n");
            let source = "company.toml".to_owned();
            Policy::load(&[Layer { scope: Scope::Instance, source, text: &text }]).unwrap()
        };
        let named = format!("[execution.oci]\nengine = \"docker\"\nimage = \"sha256:{HEX}\"\n");
        let under = |text: &str, policy: &Policy| of(text, &[]).unwrap().backend.under(policy);
        let silent = Policy::load(&[]).unwrap();
        assert_eq!(under(&named, &silent).unwrap(), Backend::Namespaces);
        assert!(matches!(under(&named, &policy("oci")).unwrap(), Backend::Oci(_)));
        assert_eq!(under(&named, &policy("linux")).unwrap(), Backend::Namespaces);
        let error = under("", &policy("oci")).unwrap_err();
        assert!(
            error.message.contains("company.toml") && error.message.contains("names no engine"),
            "{error}"
        );
        let both = format!("[execution]\nbackend = \"linux\"\n{named}");
        let error = under(&both, &policy("oci")).unwrap_err();
        assert!(error.message.contains("instance (company.toml) fixed it to `oci`"), "{error}");
    }

    #[test]
    fn the_place_is_read_and_refused_when_unknown() {
        assert_eq!(of("", &[]).unwrap().place, None);
        let text = "[execution]\nplace = \"server\"\nhost = \"/run/h.sock\"\n";
        let config = of(text, &[]).unwrap();
        assert_eq!(config.place.unwrap().0, ExecutionPlace::Server);
        assert_eq!(config.host.unwrap(), Path::new("/run/h.sock"));
        let variable = [(env::EXECUTION, "workstation")];
        assert_eq!(of(text, &variable).unwrap().place.unwrap().0, ExecutionPlace::Workstation);
        for value in ["Workstation", "", "cloud"] {
            let error = of("", &[(env::EXECUTION, value)]).unwrap_err();
            assert_eq!(error.fault, Fault::Configuration, "{value}");
            assert!(error.message.contains("ENCLOS_AGENT_EXECUTION"), "{error}");
        }
        assert!(of("[execution]\nhost = \"h.sock\"\n", &[]).is_err());
    }
}
