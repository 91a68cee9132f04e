//! The place `server`: a session whose sandbox is on an execution host.
//!
//! Here it is decided where a session works, what is brought to the host, and what is fetched back. What was fetched lies
//! in the session's own layer, as if the sandbox had been here, so change set, review and application know no host. A
//! session never changes its place, and one whose host cannot be had does not work elsewhere.

mod elsewhere;
mod over;
mod serve;

use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_core::policy::{ExecutionPlace, Mounts, Policy};
use enclos_protocol::env::{self, Environment};
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::Limits;
use enclos_sandbox::host::{Commit, Given, HostError, Link, Manifest, Remote, Wish};
use sha2::{Digest, Sha256};

use crate::changeset::{History, head, hex};
use crate::config::Config;
use crate::places::Places;
use crate::repo::{Repo, Shown};

pub(crate) use elsewhere::{Elsewhere, forget, is_kept};
pub(crate) use serve::serve;

/// Where a session works: what policy fixes, else what is configured, else here.
///
/// # Errors
/// When the two say different places: the one that is not followed is named, with the scope that fixed the other.
pub(crate) fn place(config: &Config, policy: &Policy) -> Result<ExecutionPlace, ApiError> {
    match (&policy.settings().place, &config.place) {
        (Some(fixed), Some((wanted, said))) if fixed.place != *wanted => {
            let message = format!(
                "{said} is `{wanted}`, but the policy of the {} fixes `execution.place = \"{}\"` ({})",
                fixed.scope, fixed.place, fixed.source
            );
            Err(ApiError::new(Fault::Usage, message)
                .hint(format!("unset it, or set it to `{}`; nothing was started", fixed.place)))
        }
        (Some(fixed), _) => Ok(fixed.place),
        (None, Some((wanted, _))) => Ok(*wanted),
        (None, None) => Ok(ExecutionPlace::Workstation),
    }
}

/// The socket of the host: as configured, else where `enclos host` of this person listens.
pub(crate) fn socket(config: &Config, places: &Places, environment: &Environment) -> PathBuf {
    let own = || match (environment.get(env::HOME_DIR), environment.get(env::XDG_RUNTIME)) {
        (None, Some(folder)) if folder.starts_with('/') => Path::new(folder).join("enclos/host.sock"),
        _ => places.run().join("host.sock"),
    };
    config.host.clone().unwrap_or_else(own)
}

/// Connects to the host.
pub(crate) fn reach(socket: &Path) -> Result<Link, ApiError> {
    Link::connect(socket).map_err(|error| of_host(&error))
}

/// An error of a host, for a person.
pub(crate) fn of_host(error: &HostError) -> ApiError {
    if error.is_unreachable() {
        return ApiError::new(Fault::Unreachable, error.to_string())
            .hint("start it with: enclos host")
            .hint("name its socket as `host` in the table `[execution]` of the configuration");
    }
    ApiError::new(Fault::Internal, error.to_string()).hint("`enclos doctor`, on the host, says what it lacks")
}

/// What a session on a host is opened with.
pub(crate) struct Wanted<'a> {
    /// The repository.
    pub(crate) repo: &'a Repo,
    /// What of it is shown.
    pub(crate) shown: &'a Shown,
    /// Whether its history may be shown. If not the whole tree is brought, and there is no `.git`.
    pub(crate) history: bool,
    /// The project that it belongs to, by its path.
    pub(crate) project: Option<String>,
    /// What is mounted.
    pub(crate) policy: &'a Policy,
    /// Ceilings.
    pub(crate) limits: Limits,
}

/// What was brought to the host.
pub(crate) struct Brought {
    link: Link,
    base: Option<(Commit, Option<String>)>,
    /// Paths of the repository that the session is not shown.
    pub(crate) hidden: Vec<PathBuf>,
    /// Remarks for the person.
    pub(crate) notes: Vec<String>,
}

/// Brings to the host what it lacks of the person's tree. Nothing runs yet.
pub(crate) fn bring(mut link: Link, wanted: &Wanted<'_>) -> Result<Brought, ApiError> {
    let mut notes = Vec::new();
    let (base, manifest) = base(&mut link, wanted, &mut notes)?;
    let over = over::compare(&wanted.repo.root, wanted.shown, &manifest)
        .map_err(|error| ApiError::new(Fault::Internal, format!("the repository cannot be read: {error}")))?;
    link.over(|sender| over.send(sender)).map_err(|error| of_host(&error))?;
    notes.extend(over.notes());
    Ok(Brought { link, base, hidden: over.hidden(), notes })
}

impl Brought {
    /// Opens the sandbox. Answers it, and the toolchains in it by name.
    pub(crate) fn open(self, wanted: &Wanted<'_>) -> Result<(Remote, Vec<String>), ApiError> {
        let settings = wanted.policy.settings();
        let (base, branch) = self.base.map_or((None, None), |(base, branch)| (Some(base), branch));
        let wish = Wish {
            base,
            branch,
            toolchains: settings.toolchains.as_ref().map_or(Given::All, given),
            caches: settings.caches.as_ref().map_or(Given::Only(Vec::new()), given),
            limits: wanted.limits.clone(),
        };
        self.link.open(wish).map_err(|error| of_host(&error))
    }
}

fn given(mounts: &Mounts) -> Given {
    match mounts {
        Mounts::All => Given::All,
        Mounts::Only(names) => Given::Only(names.iter().cloned().collect()),
    }
}

/// The commit that the host has a base of, and the name of the branch it is on.
type Head = (Commit, Option<String>);

/// Has the host make the base, with the history that it lacks. Where that cannot be had the whole tree is brought.
fn base(
    link: &mut Link,
    wanted: &Wanted<'_>,
    notes: &mut Vec<String>,
) -> Result<(Option<Head>, Manifest), ApiError> {
    let head = if wanted.history { head(&wanted.repo.root) } else { None };
    let Some(head) = head else {
        if wanted.history && wanted.repo.git.is_some() {
            notes.push(
                "on the host there is no `.git`: there is no commit, or its history is not whole here".into(),
            );
        }
        return Ok((None, Manifest::default()));
    };
    let commit = Commit { project: project(wanted), commit: head.commit, naming: head.naming };
    let have = match link.base(&commit).map_err(|error| of_host(&error))? {
        Ok(manifest) => return Ok((Some((commit, head.branch)), manifest)),
        Err(have) => have,
    };
    let brought = History::pack(&wanted.repo.root, &commit.commit, &have)
        .map_err(|error| ApiError::new(Fault::Internal, format!("git cannot be asked: {error}")))
        .and_then(|mut pack| match link.history(&commit, &mut pack) {
            Ok(manifest) => Ok(Ok(manifest)),
            Err(HostError::Refused { message, .. }) => Ok(Err(message)),
            Err(error) => Err(of_host(&error)),
        })?;
    match brought {
        Ok(manifest) => Ok((Some((commit, head.branch)), manifest)),
        Err(why) => {
            notes.push(format!("on the host there is no `.git`, the history was not taken: {why}"));
            Ok((None, Manifest::default()))
        }
    }
}

/// The project's name at the host: nothing of this machine can be read from it.
fn project(wanted: &Wanted<'_>) -> String {
    let root = wanted.repo.root.as_os_str().as_encoded_bytes();
    let digest = match &wanted.project {
        Some(path) => Sha256::new().chain_update(b"project\0").chain_update(path).finalize(),
        None => Sha256::new().chain_update(b"folder\0").chain_update(root).finalize(),
    };
    format!("p{}", hex(digest.get(..16).unwrap_or_default()))
}

/// Refuses what a session's place forbids.
pub(crate) fn stays(id: &SessionId, host: Option<&Path>, place: ExecutionPlace) -> Result<(), ApiError> {
    let (is, wanted) = match (host, place) {
        (Some(_), ExecutionPlace::Server) | (None, ExecutionPlace::Workstation) => return Ok(()),
        (Some(_), ExecutionPlace::Workstation) => ("server", "workstation"),
        (None, ExecutionPlace::Server) => ("workstation", "server"),
    };
    let message = format!("the session `{id}` works at the place `{is}`, and `{wanted}` is wanted now");
    Err(ApiError::new(Fault::Usage, message)
        .hint(format!("a session keeps its place: ENCLOS_AGENT_EXECUTION={is}")))
}
