//! The shape of a policy file, as it is written. Meaning is given in [`rule`](super::rule) and
//! [`settings`](super::settings); what is not listed here is refused with its line.

use serde::Deserialize;
use toml::Spanned;

use crate::verdict::Verdict;

use super::labels::{DowngradeFile, LabelsFile};
use super::list::List;
use super::who::{Category, Role, Surface};

/// A whole policy file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyFile {
    pub(super) name: String,
    #[serde(rename = "version", default)]
    pub(super) _version: Option<u64>,
    #[serde(default)]
    pub(super) continue_after_rejection: Option<bool>,
    #[serde(default)]
    pub(super) rule: Vec<Spanned<RuleFile>>,
    #[serde(default)]
    pub(super) commands: CommandsFile,
    #[serde(default)]
    pub(super) execution: ExecutionFile,
    #[serde(default)]
    pub(super) approvals: ApprovalsFile,
    #[serde(default)]
    pub(super) repository: RepositoryFile,
    #[serde(default)]
    pub(super) toolchains: MountFile,
    #[serde(default)]
    pub(super) caches: MountFile,
    #[serde(default)]
    pub(super) labels: LabelsFile,
    #[serde(default)]
    pub(super) downgrade: Vec<DowngradeFile>,
}

/// `[[rule]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) tool: List<String>,
    #[serde(default)]
    pub(super) category: List<Category>,
    #[serde(default)]
    pub(super) server: List<String>,
    #[serde(default)]
    pub(super) role: List<Role>,
    #[serde(default)]
    pub(super) surface: List<Surface>,
    #[serde(default)]
    pub(super) when: Option<Vec<ConditionFile>>,
    #[serde(default)]
    pub(super) command: Option<Vec<String>>,
    pub(super) verdict: Verdict,
    #[serde(default)]
    pub(super) approve: Option<ApproveFile>,
    #[serde(default)]
    pub(super) shadow: bool,
    #[serde(default)]
    pub(super) reason: Option<String>,
    #[serde(default, rename = "match")]
    pub(super) matches: Vec<ExampleFile>,
    #[serde(default)]
    pub(super) not_match: Vec<ExampleFile>,
}

/// One condition on one argument.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionFile {
    pub(super) pointer: String,
    #[serde(default)]
    pub(super) equals: Option<toml::Value>,
    #[serde(default)]
    pub(super) prefix: Option<String>,
    #[serde(default)]
    pub(super) glob: Option<String>,
    #[serde(default)]
    pub(super) regex: Option<String>,
    #[serde(default, rename = "in")]
    pub(super) one_of: Option<Vec<toml::Value>>,
}

/// `approve = { … }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveFile {
    #[serde(default)]
    pub(super) role: Option<Role>,
    #[serde(default)]
    pub(super) quorum: Option<u32>,
    #[serde(default)]
    pub(super) remember: bool,
    #[serde(default)]
    pub(super) person: bool,
}

/// An example of `match` or `not_match`: a command, or a tool with arguments.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an example is a command as text, or a table with `tool` and `args`")]
pub(super) enum ExampleFile {
    Command(String),
    Call(CallFile),
}

/// An example call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallFile {
    #[serde(default)]
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) args: toml::Table,
}

/// `[commands]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandsFile {
    #[serde(default)]
    pub(super) contained: Option<Contained>,
}

/// `commands.contained`: what runs without a question because the sandbox contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Contained {
    Allow,
    Ask,
}

/// `[execution]`: ceilings, which a lower scope can only lower.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecutionFile {
    #[serde(default)]
    pub(super) place: Option<super::settings::ExecutionPlace>,
    #[serde(default)]
    pub(super) output_keep: Option<super::settings::OutputKeep>,
    #[serde(default)]
    pub(super) backend: Option<super::settings::ExecutionBackend>,
    #[serde(default)]
    pub(super) isolation: Option<super::isolation::Isolation>,
    #[serde(default)]
    pub(super) session_max_actions: Option<u64>,
    #[serde(default)]
    pub(super) session_max_minutes: Option<u64>,
    #[serde(default)]
    pub(super) session_max_extensions: Option<u64>,
    #[serde(default)]
    pub(super) session_max_tokens: Option<u64>,
    #[serde(default)]
    pub(super) session_max_commands: Option<u64>,
    #[serde(default)]
    pub(super) command_max_seconds: Option<u64>,
    #[serde(default)]
    pub(super) command_max_output_bytes: Option<u64>,
    #[serde(default)]
    pub(super) sandbox_cpus: Option<u64>,
    #[serde(default)]
    pub(super) sandbox_memory_bytes: Option<u64>,
    #[serde(default)]
    pub(super) sandbox_processes: Option<u64>,
    #[serde(default)]
    pub(super) sandbox_disk_bytes: Option<u64>,
}

/// `[approvals]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalsFile {
    #[serde(default)]
    pub(super) on_ask: Option<super::settings::OnAsk>,
    #[serde(default)]
    pub(super) expiry_minutes: Option<u64>,
}

/// `[repository]`: what the gateway takes from the repository itself.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepositoryFile {
    #[serde(default)]
    pub(super) policy: Option<bool>,
    #[serde(default)]
    pub(super) instructions: Option<bool>,
    #[serde(default)]
    pub(super) ignored: Option<super::settings::Mounts>,
}

/// `[toolchains]` and `[caches]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MountFile {
    #[serde(default)]
    pub(super) mount: Option<super::settings::Mounts>,
}

/// The repository's `.enclos.toml`: rules that tighten, and budgets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnclosToml {
    #[serde(default)]
    pub(super) rule: Vec<Spanned<TightFile>>,
    #[serde(default)]
    pub(super) execution: ExecutionFile,
}

/// A rule of `.enclos.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TightFile {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) tool: List<String>,
    #[serde(default)]
    pub(super) category: List<Category>,
    #[serde(default)]
    pub(super) server: List<String>,
    #[serde(default)]
    pub(super) when: Option<Vec<ConditionFile>>,
    #[serde(default)]
    pub(super) command: Option<Vec<String>>,
    pub(super) verdict: Tight,
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// The verdicts that can tighten.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tight {
    #[serde(alias = "allowedWithPermission")]
    Ask,
    #[serde(alias = "exclude")]
    Disabled,
}

impl From<TightFile> for RuleFile {
    fn from(tight: TightFile) -> Self {
        Self {
            id: tight.id,
            tool: tight.tool,
            category: tight.category,
            server: tight.server,
            role: List::default(),
            surface: List::default(),
            when: tight.when,
            command: tight.command,
            verdict: match tight.verdict {
                Tight::Ask => Verdict::Ask,
                Tight::Disabled => Verdict::Disabled,
            },
            approve: None,
            shadow: false,
            reason: tight.reason,
            matches: Vec::new(),
            not_match: Vec::new(),
        }
    }
}
