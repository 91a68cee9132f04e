//! Where things live: configuration, state, sessions. Everything is under `ENCLOS_HOME`, or under the XDG folders.

use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_protocol::env::{self, Environment};
use enclos_protocol::error::{ApiError, Fault, Place};

/// The folders of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    config: PathBuf,
    state: PathBuf,
}

impl Places {
    /// Finds the folders from the environment. Nothing is created.
    ///
    /// # Errors
    /// When neither `ENCLOS_HOME` nor a home folder is known, or a path is not absolute.
    pub fn find(environment: &Environment) -> Result<Self, ApiError> {
        if let Some(home) = environment.get(env::HOME_DIR) {
            let home = absolute(env::HOME_DIR, home)?;
            return Ok(Self { config: home.clone(), state: home });
        }
        let under_home = |tail: &str| match environment.get(env::HOME) {
            Some(home) => Ok(absolute(env::HOME, home)?.join(tail)),
            None => Err(ApiError::new(
                Fault::Configuration,
                "there is no place for the state of Enclos: neither `ENCLOS_HOME` nor `HOME` is set",
            )
            .hint("set ENCLOS_HOME to a folder of your own")),
        };
        let base = |variable: &str, tail: &str| match environment.get(variable) {
            Some(folder) if !folder.is_empty() => absolute(variable, folder),
            _ => under_home(tail),
        };
        Ok(Self {
            config: base(env::XDG_CONFIG, ".config")?.join("enclos"),
            state: base(env::XDG_STATE, ".local/state")?.join("enclos"),
        })
    }

    /// The person's configuration.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The policy that the owner of this gateway wrote for everything that runs on it.
    pub fn policy_file(&self) -> PathBuf {
        self.config.join("policy.toml")
    }

    /// The folder of the policies of groups and projects.
    pub fn policy_folder(&self) -> PathBuf {
        self.config.join("policy")
    }

    /// The folder of the store: `state.db`, `keys/`, `run/`, `sessions/`.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The folder of one session: its layer, and the record of an application under way.
    pub fn session(&self, session: &SessionId) -> PathBuf {
        self.state.join("sessions").join(session.as_str())
    }

    /// The public key of this gateway, once it has signed something.
    pub fn public_key(&self) -> PathBuf {
        self.state().join("keys").join("sign.pub")
    }

    /// The folder of control sockets and locks.
    pub fn run(&self) -> PathBuf {
        self.state.join("run")
    }
}

fn absolute(variable: &str, text: &str) -> Result<PathBuf, ApiError> {
    let path = PathBuf::from(text);
    if path.is_absolute() {
        return Ok(path);
    }
    let message = format!("`{variable}` is `{text}`: expected an absolute path");
    Err(ApiError::new(Fault::Configuration, message)
        .at(Place::field(variable))
        .hint(format!("set {variable} to a path that begins with /")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_holds_everything_when_it_is_named() {
        let places = Places::find(&Environment::of([("ENCLOS_HOME", "/e"), ("HOME", "/h")])).unwrap();
        assert_eq!(places.config_file(), Path::new("/e/config.toml"));
        assert_eq!(places.state(), Path::new("/e"));
    }

    #[test]
    fn the_xdg_folders_are_the_default() {
        let places = Places::find(&Environment::of([("HOME", "/h"), ("XDG_STATE_HOME", "/s")])).unwrap();
        assert_eq!(places.config_file(), Path::new("/h/.config/enclos/config.toml"));
        assert_eq!(places.state(), Path::new("/s/enclos"));
    }

    #[test]
    fn a_relative_or_missing_place_is_refused_by_name() {
        let error = Places::find(&Environment::of([("ENCLOS_HOME", "e")])).unwrap_err();
        assert!(error.message.contains("ENCLOS_HOME") && error.message.contains("`e`"));
        assert!(Places::find(&Environment::default()).is_err());
    }
}
