//! The commands of `policy`, and the options of those that check and explain.
//!
//! Nothing here reads a file or a policy.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    JsonArgs, PolicyApplyArgs, PolicyDiffArgs, PolicyHistoryArgs, PolicyRollbackArgs, PolicyShowArgs,
    SchemaArgs, SimulateArgs, TestArgs,
};
use crate::text::help;

/// `policy …`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Reads policy files.
    #[command(about = help::CHECK, before_help = help::CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Holds a policy against examples and tables.
    #[command(about = help::TEST, before_help = help::TEST_EXAMPLES)]
    Test(TestArgs),
    /// Compares two policies.
    #[command(about = help::POLICY_DIFF, before_help = help::POLICY_DIFF_EXAMPLES)]
    Diff(PolicyDiffArgs),
    /// Judges the decisions of the journal again.
    #[command(about = help::SIMULATE, before_help = help::SIMULATE_HELP)]
    Simulate(SimulateArgs),
    /// Prints the JSON Schema of policy files.
    #[command(about = help::SCHEMA, before_help = help::SCHEMA_EXAMPLES)]
    Schema(SchemaArgs),
    /// Says why a call gets its verdict.
    #[command(about = help::EXPLAIN, before_help = help::EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Reads a command.
    #[command(about = help::EXPLAIN_COMMAND, before_help = help::EXPLAIN_COMMAND_EXAMPLES)]
    ExplainCommand(ExplainCommandArgs),
    /// Judges the calls of another agent.
    #[command(about = help::DECIDE, before_help = help::DECIDE_EXAMPLES)]
    Decide(DecideArgs),
    /// Saves a policy.
    #[command(about = help::POLICY_APPLY, before_help = help::POLICY_APPLY_EXAMPLES)]
    Apply(PolicyApplyArgs),
    /// Lists versions.
    #[command(about = help::HISTORY, before_help = help::HISTORY_EXAMPLES)]
    History(PolicyHistoryArgs),
    /// Goes back to a version.
    #[command(about = help::ROLLBACK, before_help = help::ROLLBACK_EXAMPLES)]
    Rollback(PolicyRollbackArgs),
    /// Shows a policy.
    #[command(about = help::POLICY_SHOW, before_help = help::POLICY_SHOW_EXAMPLES)]
    Show(PolicyShowArgs),
}

/// `policy check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The files.
    #[arg(value_name = "FILE", required = true, help = help::CHECK_FILES)]
    pub files: Vec<PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The tool.
    #[arg(long, value_name = "TOOL", help = help::TOOL)]
    pub tool: String,
    /// Its arguments.
    #[arg(long, value_name = "JSON", help = help::ARGS)]
    pub args: Option<String>,
    /// The role.
    #[arg(long, value_name = "ROLE", help = help::ROLE)]
    pub role: Option<String>,
    /// The surface.
    #[arg(long, value_name = "SURFACE", help = help::SURFACE)]
    pub surface: Option<String>,
    /// The preset.
    #[arg(long, value_name = "PRESET", help = help::PRESET)]
    pub preset: Option<String>,
    /// Policy files.
    #[arg(long, value_name = "FILE", help = help::POLICY_FILE)]
    pub policy: Vec<PathBuf>,
    /// The repository.
    #[arg(long, value_name = "DIR", help = help::EXPLAIN_REPO)]
    pub repo: Option<PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy decide`.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// JSON lines on the standard input and output.
    #[arg(long, required = true, help = help::STDIO)]
    pub stdio: bool,
    /// The tools of the agent.
    #[arg(long, value_name = "FILE", help = help::CATALOGUE)]
    pub catalogue: Option<PathBuf>,
    /// Whether untrusted answers are kept from the planner.
    #[arg(long, value_name = "on|off", num_args = 0..=1, default_value = "on", default_missing_value = "on",
          require_equals = false, help = help::QUARANTINE)]
    pub quarantine: Switch,
    /// The preset.
    #[arg(long, value_name = "PRESET", help = help::PRESET_HARDENS)]
    pub preset: Option<String>,
    /// Policy files.
    #[arg(long, value_name = "FILE", help = help::POLICY_HARDENS)]
    pub policy: Vec<PathBuf>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// `policy explain-command`.
#[derive(Debug, Args)]
pub struct ExplainCommandArgs {
    /// The verdict of `bash` without any rule.
    #[arg(long, value_name = "VERDICT", conflicts_with_all = ["preset", "policy", "role", "surface", "repo"], help = help::BASE)]
    pub base: Option<String>,
    /// The preset.
    #[arg(long, value_name = "PRESET", help = help::PRESET)]
    pub preset: Option<String>,
    /// Policy files.
    #[arg(long, value_name = "FILE", help = help::POLICY_FILE)]
    pub policy: Vec<PathBuf>,
    /// The role.
    #[arg(long, value_name = "ROLE", help = help::ROLE)]
    pub role: Option<String>,
    /// The surface.
    #[arg(long, value_name = "SURFACE", help = help::SURFACE)]
    pub surface: Option<String>,
    /// The repository.
    #[arg(long, value_name = "DIR", conflicts_with = "batch", help = help::EXPLAIN_REPO)]
    pub repo: Option<PathBuf>,
    /// JSON lines.
    #[arg(long, conflicts_with = "text", help = help::BATCH)]
    pub batch: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
    /// The command.
    #[arg(value_name = "TEXT", last = true, required_unless_present = "batch", help = help::COMMAND_TEXT)]
    pub text: Vec<String>,
}
