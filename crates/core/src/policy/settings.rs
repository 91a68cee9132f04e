//! What a policy settles besides verdicts, and how the layers' settings are joined.
//!
//! Each setting has its law: numbers take the smaller, lists of what is mounted intersect, a yes that gives room
//! needs the yes of every scope that speaks. Where no choice gives more room than another, the nearest scope chooses. No
//! law lets a lower scope give more room.

use std::collections::BTreeSet;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::file::{Contained, ExecutionFile, PolicyFile};
use super::isolation::DemandedIsolation;
use super::labels::Labels;
use super::scope::Scope;

/// Minutes until an unanswered question expires, where no policy says.
pub const EXPIRY_MINUTES: u64 = 30;

/// The settings of a policy. `None`: no scope speaks, and the default of the caller holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Go on at once after a person's refusal. Default no.
    pub continue_after_rejection: Option<bool>,
    /// Free what the sandbox contains (`commands.contained`). Default no.
    pub contained: Option<bool>,
    /// Where sandboxes open.
    pub place: Option<FixedPlace>,
    /// Which part is kept of a command's output that is larger than its limit. Default its beginning.
    pub output_keep: Option<OutputKeep>,
    /// What is around a sandbox.
    pub backend: Option<FixedBackend>,
    /// The level of isolation that a machine has to give. Default [`super::Isolation::Standard`], which every sandbox has.
    pub isolation: Option<DemandedIsolation>,
    /// Ceilings on budgets and resources.
    pub ceilings: Ceilings,
    /// What a session with nobody to ask does with a question.
    pub on_ask: Option<OnAsk>,
    /// Minutes until an unanswered question expires, at most.
    pub expiry_minutes: Option<u64>,
    /// Take the repository's `.enclos.toml`. Default yes.
    pub repository_policy: Option<bool>,
    /// Quote the repository's `AGENTS.md` to the model. Default yes.
    pub repository_instructions: Option<bool>,
    /// The ignored files of the repository that are shown in the sandbox, as patterns of a `.gitignore`. Default none.
    pub repository_ignored: Option<Mounts>,
    /// The toolchains of a home directory that are mounted. Default all.
    pub toolchains: Option<Mounts>,
    /// The package caches of a home directory that are mounted. Default none.
    pub caches: Option<Mounts>,
    /// Levels of files, clearances, and releases.
    pub labels: Labels,
}

/// Ceilings: a policy may lower a budget, never raise one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ceilings {
    /// `execution.session_max_actions`.
    pub session_max_actions: Option<u64>,
    /// `execution.session_max_minutes`.
    pub session_max_minutes: Option<u64>,
    /// `execution.session_max_extensions`.
    pub session_max_extensions: Option<u64>,
    /// `execution.session_max_tokens`.
    pub session_max_tokens: Option<u64>,
    /// `execution.session_max_commands`.
    pub session_max_commands: Option<u64>,
    /// `execution.command_max_seconds`.
    pub command_max_seconds: Option<u64>,
    /// `execution.command_max_output_bytes`.
    pub command_max_output_bytes: Option<u64>,
    /// `execution.sandbox_cpus`: processors.
    pub sandbox_cpus: Option<u64>,
    /// `execution.sandbox_memory_bytes`.
    pub sandbox_memory_bytes: Option<u64>,
    /// `execution.sandbox_processes`.
    pub sandbox_processes: Option<u64>,
    /// `execution.sandbox_disk_bytes`: what may be written.
    pub sandbox_disk_bytes: Option<u64>,
}

/// Where sandboxes open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionPlace {
    /// The person's machine.
    Workstation,
    /// A dedicated execution host.
    Server,
}

impl std::fmt::Display for ExecutionPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Workstation => "workstation",
            Self::Server => "server",
        })
    }
}

/// Which part is kept of an output that is larger than its limit. Neither gives more room than the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKeep {
    /// Its beginning.
    Head,
    /// Its beginning, and in a fifth of the room its end.
    HeadAndTail,
}

/// A place that policy fixed, and who did. A variable that says otherwise is refused, naming the scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixedPlace {
    /// The place.
    pub place: ExecutionPlace,
    /// The highest scope that fixed it.
    pub scope: Scope,
    /// The file or place of that scope's policy.
    pub source: String,
}

/// What is around a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionBackend {
    /// The machine itself: namespaces of Linux.
    Linux,
    /// A container of an OCI engine or runtime.
    Oci,
}

impl std::fmt::Display for ExecutionBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Linux => "linux",
            Self::Oci => "oci",
        })
    }
}

/// A backend that policy fixed, and who did. A configuration that says otherwise is refused, naming the scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixedBackend {
    /// The backend.
    pub backend: ExecutionBackend,
    /// The highest scope that fixed it.
    pub scope: Scope,
    /// The file or place of that scope's policy.
    pub source: String,
}

/// What a session with nobody to ask does with a question, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnAsk {
    /// Wait for an answer from elsewhere.
    Park,
    /// End the session.
    Stop,
    /// Refuse the call, as automation, and go on.
    Deny,
}

/// Which toolchains or caches are mounted: `"all"`, `"none"`, or a list of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mounts {
    /// All that are found.
    All,
    /// Those named, which may be none.
    Only(BTreeSet<String>),
}

impl Mounts {
    /// Whether the one of this name is mounted.
    pub fn admits(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    /// The first name that is no pattern of files below a repository's root, and why.
    pub(super) fn no_pattern(&self) -> Option<String> {
        let Self::Only(names) = self else { return None };
        names.iter().find_map(|name| {
            let plain = name.trim_start_matches('/');
            let leads_out = plain.split('/').any(|part| part == "." || part == "..");
            let why = if plain.is_empty() || name.trim() != name || name.starts_with(['!', '#']) || leads_out
            {
                "is no path or pattern below the repository's root".to_owned()
            } else {
                let glob =
                    globset::GlobBuilder::new(plain).literal_separator(true).backslash_escape(true).build();
                format!("cannot be read: {}", glob.err()?.kind())
            };
            Some(format!("`repository.ignored` has `{name}`, which {why}"))
        })
    }

    fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, kept) | (kept, Self::All) => kept,
            (Self::Only(a), Self::Only(b)) => Self::Only(a.intersection(&b).cloned().collect()),
        }
    }
}

impl<'de> Deserialize<'de> for Mounts {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(MountsVisitor)
    }
}

struct MountsVisitor;

impl<'de> Visitor<'de> for MountsVisitor {
    type Value = Mounts;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("`\"all\"`, `\"none\"` or an array of names")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Mounts, E> {
        match word {
            "all" => Ok(Mounts::All),
            "none" => Ok(Mounts::Only(BTreeSet::new())),
            _ => Err(E::unknown_variant(word, &["all", "none"])),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Mounts, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = source.next_element::<String>()? {
            names.insert(name);
        }
        Ok(Mounts::Only(names))
    }
}

impl Settings {
    /// The settings of one file.
    pub(super) fn of(file: &PolicyFile) -> Self {
        Self {
            continue_after_rejection: file.continue_after_rejection,
            contained: file.commands.contained.map(|word| word == Contained::Allow),
            place: None,
            output_keep: file.execution.output_keep,
            backend: None,
            isolation: None,
            ceilings: Ceilings::of(&file.execution),
            on_ask: file.approvals.on_ask,
            expiry_minutes: file.approvals.expiry_minutes,
            repository_policy: file.repository.policy,
            repository_instructions: file.repository.instructions,
            repository_ignored: file.repository.ignored.clone(),
            toolchains: file.toolchains.mount.clone(),
            caches: file.caches.mount.clone(),
            labels: Labels::default(),
        }
    }

    /// The same, with the defaults written out that a scope which cannot replace them might otherwise soften.
    #[must_use]
    pub(super) fn or_defaults(self) -> Self {
        Self {
            contained: self.contained.or(Some(false)),
            expiry_minutes: self.expiry_minutes.or(Some(EXPIRY_MINUTES)),
            repository_ignored: self.repository_ignored.or_else(|| Some(Mounts::Only(BTreeSet::new()))),
            caches: self.caches.or_else(|| Some(Mounts::Only(BTreeSet::new()))),
            labels: self.labels.or_defaults(),
            ..self
        }
    }

    /// The same, with every default written out that does not come from elsewhere.
    #[must_use]
    pub(super) fn spoken_out(self) -> Self {
        Self {
            continue_after_rejection: self.continue_after_rejection.or(Some(false)),
            output_keep: self.output_keep.or(Some(OutputKeep::Head)),
            isolation: self.isolation.clone().or_else(DemandedIsolation::by_default),
            repository_policy: self.repository_policy.or(Some(true)),
            repository_instructions: self.repository_instructions.or(Some(true)),
            toolchains: self.toolchains.clone().or(Some(Mounts::All)),
            ..self.or_defaults()
        }
    }

    /// Every setting under the key that a file has for it, in one order.
    pub(super) fn written(&self) -> Vec<(&'static str, Value)> {
        let contained = self.contained.map(|free| if free { "allow" } else { "ask" });
        let mounts = |mounts: &Option<Mounts>| match mounts {
            None => Value::Null,
            Some(Mounts::All) => json!("all"),
            Some(Mounts::Only(names)) if names.is_empty() => json!("none"),
            Some(Mounts::Only(names)) => json!(names),
        };
        let Ceilings {
            session_max_actions,
            session_max_minutes,
            session_max_extensions,
            session_max_tokens,
            session_max_commands,
            command_max_seconds,
            command_max_output_bytes,
            sandbox_cpus,
            sandbox_memory_bytes,
            sandbox_processes,
            sandbox_disk_bytes,
        } = self.ceilings;
        let mut written = vec![
            ("continue_after_rejection", json!(self.continue_after_rejection)),
            ("commands.contained", json!(contained)),
            ("execution.place", json!(self.place.as_ref().map(|fixed| fixed.place))),
            ("execution.output_keep", json!(self.output_keep)),
            ("execution.backend", json!(self.backend.as_ref().map(|fixed| fixed.backend))),
            ("execution.isolation", json!(self.isolation.as_ref().map(|demanded| demanded.level))),
            ("execution.session_max_actions", json!(session_max_actions)),
            ("execution.session_max_minutes", json!(session_max_minutes)),
            ("execution.session_max_extensions", json!(session_max_extensions)),
            ("execution.session_max_tokens", json!(session_max_tokens)),
            ("execution.session_max_commands", json!(session_max_commands)),
            ("execution.command_max_seconds", json!(command_max_seconds)),
            ("execution.command_max_output_bytes", json!(command_max_output_bytes)),
            ("execution.sandbox_cpus", json!(sandbox_cpus)),
            ("execution.sandbox_memory_bytes", json!(sandbox_memory_bytes)),
            ("execution.sandbox_processes", json!(sandbox_processes)),
            ("execution.sandbox_disk_bytes", json!(sandbox_disk_bytes)),
            ("approvals.on_ask", json!(self.on_ask)),
            ("approvals.expiry_minutes", json!(self.expiry_minutes)),
            ("repository.policy", json!(self.repository_policy)),
            ("repository.instructions", json!(self.repository_instructions)),
            ("repository.ignored", mounts(&self.repository_ignored)),
            ("toolchains.mount", mounts(&self.toolchains)),
            ("caches.mount", mounts(&self.caches)),
        ];
        written.extend(self.labels.written());
        written
    }

    /// Joins the settings of a lower layer. The higher layer's place and backend hold, and the lower one's choice of what is
    /// kept of an output, which gives nobody more room.
    #[must_use]
    pub(super) fn tightened_by(self, lower: Self) -> Self {
        Self {
            continue_after_rejection: both(
                self.continue_after_rejection,
                lower.continue_after_rejection,
                yes,
            ),
            contained: both(self.contained, lower.contained, yes),
            place: self.place.or(lower.place),
            output_keep: lower.output_keep.or(self.output_keep),
            backend: self.backend.or(lower.backend),
            isolation: both(self.isolation, lower.isolation, DemandedIsolation::tightened_by),
            ceilings: self.ceilings.lowered_by(lower.ceilings),
            on_ask: both(self.on_ask, lower.on_ask, Ord::max),
            expiry_minutes: both(self.expiry_minutes, lower.expiry_minutes, Ord::min),
            repository_policy: both(self.repository_policy, lower.repository_policy, yes),
            repository_instructions: both(self.repository_instructions, lower.repository_instructions, yes),
            repository_ignored: both(self.repository_ignored, lower.repository_ignored, Mounts::meet),
            toolchains: both(self.toolchains, lower.toolchains, Mounts::meet),
            caches: both(self.caches, lower.caches, Mounts::meet),
            labels: self.labels.tightened_by(lower.labels),
        }
    }
}

impl Ceilings {
    pub(super) fn of(file: &ExecutionFile) -> Self {
        Self {
            session_max_actions: file.session_max_actions,
            session_max_minutes: file.session_max_minutes,
            session_max_extensions: file.session_max_extensions,
            session_max_tokens: file.session_max_tokens,
            session_max_commands: file.session_max_commands,
            command_max_seconds: file.command_max_seconds,
            command_max_output_bytes: file.command_max_output_bytes,
            sandbox_cpus: file.sandbox_cpus,
            sandbox_memory_bytes: file.sandbox_memory_bytes,
            sandbox_processes: file.sandbox_processes,
            sandbox_disk_bytes: file.sandbox_disk_bytes,
        }
    }

    /// The smaller of each.
    #[must_use]
    pub fn lowered_by(self, other: Self) -> Self {
        let least = |a, b| both(a, b, Ord::min);
        Self {
            session_max_actions: least(self.session_max_actions, other.session_max_actions),
            session_max_minutes: least(self.session_max_minutes, other.session_max_minutes),
            session_max_extensions: least(self.session_max_extensions, other.session_max_extensions),
            session_max_tokens: least(self.session_max_tokens, other.session_max_tokens),
            session_max_commands: least(self.session_max_commands, other.session_max_commands),
            command_max_seconds: least(self.command_max_seconds, other.command_max_seconds),
            command_max_output_bytes: least(self.command_max_output_bytes, other.command_max_output_bytes),
            sandbox_cpus: least(self.sandbox_cpus, other.sandbox_cpus),
            sandbox_memory_bytes: least(self.sandbox_memory_bytes, other.sandbox_memory_bytes),
            sandbox_processes: least(self.sandbox_processes, other.sandbox_processes),
            sandbox_disk_bytes: least(self.sandbox_disk_bytes, other.sandbox_disk_bytes),
        }
    }
}

/// Joins two values by a law where both speak.
fn both<T>(a: Option<T>, b: Option<T>, law: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(law(a, b)),
        (one, other) => one.or(other),
    }
}

fn yes(a: bool, b: bool) -> bool {
    a && b
}
