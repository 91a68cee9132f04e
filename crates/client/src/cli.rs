//! What may be typed: the commands of `enclos` and their options, as they stand on the command line.
//!
//! Nothing here reads a file, the environment or a terminal; what the words mean is decided in `hi`.

mod approvals;
mod host;
mod lab;
mod lineage;
mod policy;
mod versions;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::text::help;

pub use approvals::{ApproveArgs, GrantsArgs, GrantsCommand, RejectArgs, RevokeGrantArgs};
pub use host::HostArgs;
pub use lab::{PolicyDiffArgs, SchemaArgs, SchemaOf, SimulateArgs, TestArgs};
pub use lineage::{
    FromArgs, GraphArgs, HunkArgs, ImpactArgs, LineageCommand, LineageExportArgs, LineageVerifyArgs,
    ReaderArgs, SinceArgs,
};
pub use policy::{CheckArgs, DecideArgs, ExplainArgs, ExplainCommandArgs, PolicyCommand, Switch};
pub use versions::{PolicyApplyArgs, PolicyHistoryArgs, PolicyRollbackArgs, PolicyShowArgs};

/// The command line, as typed.
#[derive(Debug, Parser)]
#[command(name = "enclos", version, about = help::ABOUT, before_help = help::EXAMPLES, after_help = help::CODES)]
#[command(help_template = help::TEMPLATE, disable_help_subcommand = true, infer_long_args = false)]
pub struct LowArgs {
    /// Plain lines.
    #[arg(long, global = true, help = help::PLAIN)]
    pub plain: bool,
    /// Colours.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN", help = help::COLOR)]
    pub color: When,
    /// The command.
    #[command(subcommand)]
    pub command: LowCommand,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless `NO_COLOR` is set.
    #[value(help = help::COLOR_AUTO)]
    Auto,
    /// Always.
    #[value(help = help::COLOR_ALWAYS)]
    Always,
    /// Never.
    #[value(help = help::COLOR_NEVER)]
    Never,
}

/// The form of a headless run's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The last message and a summary.
    #[default]
    #[value(help = help::OUTPUT_TEXT)]
    Text,
    /// One object at the end.
    #[value(help = help::OUTPUT_JSON)]
    Json,
    /// Each event, one a line.
    #[value(help = help::OUTPUT_STREAM)]
    StreamJson,
}

/// What a headless run does with a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Ask {
    /// Keep it and leave, exit 5.
    #[default]
    #[value(help = help::ASK_PARK)]
    Park,
    /// Stop the session, exit 5.
    #[value(help = help::ASK_STOP)]
    Stop,
    /// Cancel the call and go on.
    #[value(help = help::ASK_DENY)]
    Deny,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum LowCommand {
    /// The demonstration.
    #[command(about = help::DEMO, before_help = help::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// One session.
    #[command(about = help::RUN, before_help = help::RUN_EXAMPLES)]
    Run(RunArgs),
    /// A conversation.
    #[command(about = help::CHAT, before_help = help::CHAT_EXAMPLES)]
    Chat(ChatArgs),
    /// Takes up a session.
    #[command(about = help::RESUME, before_help = help::RESUME_EXAMPLES)]
    Resume(ResumeArgs),
    /// Lists sessions.
    #[command(about = help::SESSIONS, before_help = help::SESSIONS_EXAMPLES)]
    Sessions(JsonArgs),
    /// Shows a session.
    #[command(about = help::SHOW, before_help = help::SHOW_EXAMPLES)]
    Show(OneArgs),
    /// Stops a session.
    #[command(about = help::STOP, before_help = help::STOP_EXAMPLES)]
    Stop(OneArgs),
    /// Lists questions that wait.
    #[command(about = help::APPROVALS, before_help = help::APPROVALS_EXAMPLES)]
    Approvals(JsonArgs),
    /// Approves a call.
    #[command(about = help::APPROVE, before_help = help::APPROVE_EXAMPLES)]
    Approve(ApproveArgs),
    /// Refuses a call.
    #[command(about = help::REJECT, before_help = help::REJECT_EXAMPLES)]
    Reject(RejectArgs),
    /// Lists and revokes grants.
    #[command(about = help::GRANTS, before_help = help::GRANTS_EXAMPLES)]
    Grants(GrantsArgs),
    /// Shows a change set.
    #[command(about = help::DIFF, before_help = help::DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Applies a change set.
    #[command(about = help::APPLY, before_help = help::APPLY_EXAMPLES)]
    Apply(ApplyArgs),
    /// Puts files back.
    #[command(about = help::UNDO, before_help = help::UNDO_EXAMPLES)]
    Undo(UndoArgs),
    /// Throws a change set away.
    #[command(about = help::DISCARD, before_help = help::DISCARD_EXAMPLES)]
    Discard(OneArgs),
    /// Erases a session.
    #[command(about = help::RESET, before_help = help::RESET_EXAMPLES)]
    Reset(OneArgs),
    /// Questions to the policy.
    #[command(about = help::POLICY, subcommand)]
    Policy(PolicyCommand),
    /// One sandbox.
    #[command(about = help::SANDBOX, subcommand)]
    Sandbox(SandboxCommand),
    /// The journal.
    #[command(about = help::JOURNAL, subcommand)]
    Journal(JournalCommand),
    /// Where things came from.
    #[command(about = crate::text::lineage::LINEAGE, subcommand)]
    Lineage(LineageCommand),
    /// Checks this machine.
    #[command(about = help::DOCTOR, before_help = help::DOCTOR_EXAMPLES)]
    Doctor(JsonArgs),
    /// Serves sandboxes to gateways of this machine.
    #[command(about = help::HOST, before_help = help::HOST_EXAMPLES)]
    Host(HostArgs),
    /// Completions of a shell.
    #[command(about = help::COMPLETIONS, before_help = help::COMPLETIONS_EXAMPLES)]
    Completions(CompletionArgs),
    /// Generated reference pages.
    #[command(about = help::REFERENCE, hide = true)]
    Reference(ReferenceArgs),
}

/// `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Answer the cards itself.
    #[arg(long, help = help::DEMO_YES)]
    pub yes: bool,
    /// Keep the folder.
    #[arg(long, help = help::DEMO_KEEP)]
    pub keep: bool,
}

/// Where a session works and under which rules.
#[derive(Debug, Args)]
pub struct WhereArgs {
    /// The repository.
    #[arg(long, value_name = "DIR", default_value = ".", help = help::REPO)]
    pub repo: PathBuf,
    /// The model.
    #[arg(long, value_name = "SPEC", help = help::MODEL)]
    pub model: Option<String>,
    /// The preset.
    #[arg(long, value_name = "PRESET", help = help::PRESET)]
    pub preset: Option<String>,
    /// Policy files.
    #[arg(long, value_name = "FILE", help = help::POLICY_FILE)]
    pub policy: Vec<PathBuf>,
}

/// How a run is driven.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// Without a person.
    #[arg(long, help = help::HEADLESS)]
    pub headless: bool,
    /// The form of the output.
    #[arg(long, value_enum, value_name = "FORM", requires = "headless", help = help::OUTPUT)]
    pub output: Option<Output>,
    /// What becomes of a question.
    #[arg(long, value_enum, value_name = "WHAT", requires = "headless", help = help::ON_ASK)]
    pub on_ask: Option<Ask>,
    /// Where to write the patch.
    #[arg(long, value_name = "FILE", help = help::PATCH_FILE)]
    pub patch: Option<PathBuf>,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Where.
    #[command(flatten)]
    pub place: WhereArgs,
    /// How.
    #[command(flatten)]
    pub drive: DriveArgs,
    /// The task.
    #[arg(value_name = "TASK", help = help::TASK)]
    pub task: Option<String>,
}

/// `chat`.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Where.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The first message.
    #[arg(value_name = "MESSAGE", help = help::CHAT_MESSAGE)]
    pub message: Option<String>,
}

/// `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The session.
    #[arg(value_name = "ID", help = help::ID)]
    pub id: String,
    /// How.
    #[command(flatten)]
    pub drive: DriveArgs,
    /// Grant an extension.
    #[arg(long, help = help::EXTEND)]
    pub extend: bool,
    /// As a conversation.
    #[arg(long, conflicts_with = "headless", help = help::RESUME_CHAT)]
    pub chat: bool,
    /// A message.
    #[arg(value_name = "MESSAGE", help = help::RESUME_MESSAGE)]
    pub message: Option<String>,
}

/// A listing or a report.
#[derive(Clone, Copy, Debug, Args)]
pub struct JsonArgs {
    /// As JSON.
    #[arg(long, help = help::JSON)]
    pub json: bool,
}

/// One session.
#[derive(Debug, Args)]
pub struct OneArgs {
    /// The session.
    #[arg(value_name = "ID", help = help::ID)]
    pub id: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The session.
    #[arg(value_name = "ID", help = help::ID)]
    pub id: String,
    /// The patch alone.
    #[arg(long, group = "form", help = help::DIFF_PATCH)]
    pub patch: bool,
    /// Counts alone.
    #[arg(long, group = "form", help = help::DIFF_STAT)]
    pub stat: bool,
    /// As JSON.
    #[arg(long, group = "form", help = help::JSON)]
    pub json: bool,
}

/// `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The session.
    #[arg(value_name = "ID", help = help::ID)]
    pub id: String,
    /// The files.
    #[arg(long, value_name = "FILE", num_args = 1.., help = help::APPLY_FILES)]
    pub files: Option<Vec<String>>,
    /// Why held files may go.
    #[arg(long, value_name = "REASON", requires = "files", help = help::RELEASE)]
    pub release: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The session.
    #[arg(value_name = "ID", help = help::ID)]
    pub id: String,
    /// The call.
    #[arg(long, value_name = "CALL", help = help::UNDO_TO)]
    pub to: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `sandbox …`.
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Runs a command.
    #[command(about = help::SANDBOX_RUN, before_help = help::SANDBOX_EXAMPLES, after_help = help::SANDBOX_CODES)]
    Run(SandboxRunArgs),
}

/// `sandbox run`.
#[derive(Debug, Args)]
pub struct SandboxRunArgs {
    /// The repository.
    #[arg(long, value_name = "DIR", default_value = ".", help = help::REPO)]
    pub repo: PathBuf,
    /// How often.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help = help::REPEAT)]
    pub repeat: u32,
    /// The preset.
    #[arg(long, value_name = "PRESET", help = help::SANDBOX_PRESET)]
    pub preset: Option<String>,
    /// Whether with a terminal.
    #[arg(long, help = help::PTY)]
    pub pty: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
    /// The command.
    #[arg(value_name = "TEXT", last = true, required = true, help = help::COMMAND_TEXT)]
    pub text: Vec<String>,
}

/// `journal …`.
#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Writes the journal.
    #[command(about = help::EXPORT, before_help = help::EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Verifies a journal.
    #[command(about = help::VERIFY, before_help = help::VERIFY_EXAMPLES, after_help = help::VERIFY_CODES)]
    Verify(VerifyArgs),
}

/// `journal export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// One session.
    #[arg(long, value_name = "ID", help = help::EXPORT_SESSION)]
    pub session: Option<String>,
    /// The file.
    #[arg(short, long, value_name = "FILE", help = help::EXPORT_FILE)]
    pub output: Option<PathBuf>,
}

/// `journal verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// An export.
    #[arg(value_name = "FILE", help = help::VERIFY_FILE)]
    pub file: Option<PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell.
    #[arg(value_name = "SHELL", help = help::SHELL)]
    pub shell: clap_complete::Shell,
}

/// `reference`.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// The page.
    #[arg(value_name = "PAGE", help = help::PAGE)]
    pub page: Page,
}

/// A generated page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Page {
    /// Commands and options.
    #[value(help = help::PAGE_CLI)]
    Cli,
    /// Environment variables.
    #[value(help = help::PAGE_ENVIRONMENT)]
    Environment,
    /// Events.
    #[value(help = help::PAGE_EVENTS)]
    Events,
    /// Policy files.
    #[value(help = help::PAGE_POLICY)]
    Policy,
    /// The schema of policy files.
    #[value(name = "policy.schema", help = help::SCHEMA_POLICY)]
    PolicySchema,
    /// The schema of a repository's own file.
    #[value(name = "repository.schema", help = help::SCHEMA_REPOSITORY)]
    RepositorySchema,
    /// The schema of tables of expectations.
    #[value(name = "cases.schema", help = help::SCHEMA_CASES)]
    CasesSchema,
}
