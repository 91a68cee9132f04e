//! The command line of the policy lab, as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::JsonArgs;
use crate::text::help;

/// `policy test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// The policy and the tables.
    #[arg(value_name = "FILE", required = true, help = help::TEST_FILES)]
    pub files: Vec<String>,
    /// The repository.
    #[arg(long, value_name = "DIR", help = help::CURRENT_REPO)]
    pub repo: Option<PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy diff`.
#[derive(Debug, Args)]
pub struct PolicyDiffArgs {
    /// The old policy.
    #[arg(value_name = "OLD", help = help::DIFF_OLD)]
    pub old: String,
    /// The new policy.
    #[arg(value_name = "NEW", help = help::DIFF_NEW)]
    pub new: String,
    /// The repository.
    #[arg(long, value_name = "DIR", help = help::CURRENT_REPO)]
    pub repo: Option<PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The candidate.
    #[arg(value_name = "FILE", required = true, help = help::SIMULATE_FILES)]
    pub files: Vec<String>,
    /// Of how many days.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650), help = help::SIMULATE_DAYS)]
    pub days: u32,
    /// How many calls are shown of each change.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000), help = help::SIMULATE_EXAMPLES)]
    pub examples: u32,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of which files.
    #[arg(long, value_enum, value_name = "KIND", default_value_t = SchemaOf::Policy, help = help::SCHEMA_OF)]
    pub of: SchemaOf,
}

/// Files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Policies.
    #[value(help = help::SCHEMA_POLICY)]
    Policy,
    /// A repository's own.
    #[value(help = help::SCHEMA_REPOSITORY)]
    Repository,
    /// Tables of expectations.
    #[value(help = help::SCHEMA_CASES)]
    Cases,
}
