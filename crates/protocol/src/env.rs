//! Every environment variable that Enclos reads. Nothing else in the product reads the environment.
//!
//! A variable that cannot be read as what it should be is refused by whoever uses it, never taken for its default.

use std::collections::BTreeMap;

/// A variable: its name, what it is for, and its default in words.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// What holds when it is absent.
    pub default: &'static str,
}

/// Declares the variables and their list.
macro_rules! variables {
    ($($(#[$doc:meta])* $ident:ident = $name:literal, $purpose:literal, $default:literal;)*) => {
        $($(#[$doc])* pub const $ident: &str = $name;)*
        /// All of them, in the order of the reference page.
        pub const ALL: &[Variable] = &[$(Variable { name: $name, purpose: $purpose, default: $default }),*];
    };
}

variables! {
    /// The one folder for everything.
    HOME_DIR = "ENCLOS_HOME", "Folder that holds configuration, database, keys, sockets and sessions", "the XDG directories";
    /// Where sandboxes run.
    EXECUTION = "ENCLOS_AGENT_EXECUTION", "Where commands run: `workstation` or `server`; any other value is refused", "`workstation`";
    /// Actions of a session.
    MAX_ACTIONS = "ENCLOS_SESSION_MAX_ACTIONS", "Tool calls of a session", "150";
    /// Minutes of a session.
    MAX_MINUTES = "ENCLOS_SESSION_MAX_MINUTES", "Minutes of a session, from its start or, at a terminal, from the last message", "45";
    /// Extensions of a session.
    MAX_EXTENSIONS = "ENCLOS_SESSION_MAX_EXTENSIONS", "Extensions of a session, each a third of its budget", "5";
    /// Tokens of a session.
    MAX_TOKENS = "ENCLOS_SESSION_MAX_TOKENS", "Model tokens of a session", "2000000";
    /// Commands of a session.
    MAX_COMMANDS = "ENCLOS_SESSION_MAX_COMMANDS", "Commands of a session", "150";
    /// Seconds of a command.
    COMMAND_SECONDS = "ENCLOS_COMMAND_MAX_SECONDS", "Seconds that one command may take", "600";
    /// Bytes of a command's output.
    COMMAND_OUTPUT = "ENCLOS_COMMAND_MAX_OUTPUT_BYTES", "Bytes of a command's output that are kept; the rest is counted", "10485760";
    /// The key of the model on the command line.
    MODEL_KEY = "ENCLOS_MODEL_KEY", "Key of the model named by `--model`; sent to that host only, never logged", "no key";
    /// Configuration directory.
    XDG_CONFIG = "XDG_CONFIG_HOME", "Parent of the folder `enclos` with `config.toml`", "`~/.config`";
    /// State directory.
    XDG_STATE = "XDG_STATE_HOME", "Parent of the folder `enclos` with the database, keys and sessions", "`~/.local/state`";
    /// The folder of running programs.
    XDG_RUNTIME = "XDG_RUNTIME_DIR", "Parent of the folder `enclos` with the socket of the execution host; passed to a container engine's program", "the folder `run` of the state";
    /// The person's home.
    HOME = "HOME", "The person's home folder: where toolchains are looked for", "no toolchains of a home";
    /// Colour.
    NO_COLOR = "NO_COLOR", "When set and not empty, nothing is coloured", "colour on a terminal";
    /// Kind of terminal.
    TERM = "TERM", "`dumb` means plain lines", "plain lines without a terminal";
    /// Where temporary files go.
    TMPDIR = "TMPDIR", "Folder for the demonstration's repository", "`/tmp`";
    /// The person's editor.
    VISUAL = "VISUAL", "The editor for the arguments of a call (`e` on a card)", "`EDITOR`";
    /// The person's editor, where `VISUAL` is not set.
    EDITOR = "EDITOR", "The editor where `VISUAL` is not set", "no editing";
    /// Programs of the host.
    PATH = "PATH", "Where `git`, toolchains and container engines are found on the host", "`/usr/local/bin:/usr/bin:/bin`";
    /// The person's name, for container engines.
    USER = "USER", "Passed to a container engine's program", "not passed";
    /// Where a user's data is.
    XDG_DATA = "XDG_DATA_HOME", "Passed to a container engine's program", "not passed";
    /// The user's bus.
    SESSION_BUS = "DBUS_SESSION_BUS_ADDRESS", "Passed to a container engine's program", "not passed";
    /// Docker's daemon.
    DOCKER_HOST = "DOCKER_HOST", "Passed to a container engine's program", "not passed";
    /// Docker's context.
    DOCKER_CONTEXT = "DOCKER_CONTEXT", "Passed to a container engine's program", "not passed";
    /// Docker's configuration.
    DOCKER_CONFIG = "DOCKER_CONFIG", "Passed to a container engine's program", "not passed";
    /// Podman's configuration.
    CONTAINERS_CONF = "CONTAINERS_CONF", "Passed to a container engine's program", "not passed";
    /// Podman's store.
    CONTAINERS_STORAGE = "CONTAINERS_STORAGE_CONF", "Passed to a container engine's program", "not passed";
}

/// The environment, read once.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Reads the variables of [`ALL`] from the process. A value that is not UTF-8 is an error that names it.
    pub fn read() -> Result<Self, NotText> {
        let mut map = BTreeMap::new();
        for variable in ALL {
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
            let value = std::env::var_os(variable.name);
            if let Some(value) = value {
                let text = value.into_string().map_err(|_| NotText(variable.name))?;
                map.insert(variable.name.to_owned(), text);
            }
        }
        Ok(Self(map))
    }

    /// An environment of these variables alone.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(pairs.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect())
    }

    /// The same environment with one variable set.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut map = self.0.clone();
        map.insert(name.to_owned(), value.to_owned());
        Self(map)
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// A variable whose value is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{0}` is not UTF-8 text: set it anew or unset it")]
pub struct NotText(pub &'static str);
