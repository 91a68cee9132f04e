//! The options of `policy apply`, `history`, `rollback` and `show`: scopes and versions of saved policies.
//!
//! Nothing here reads a file; whether the words name a scope is the gateway's to say.

use std::path::PathBuf;

use clap::Args;

use super::JsonArgs;
use crate::text::help;

/// `policy apply`.
#[derive(Debug, Args)]
pub struct PolicyApplyArgs {
    /// The file.
    #[arg(value_name = "FILE", required_unless_present_any = ["remove", "scope"], conflicts_with = "remove", help = help::POLICY_APPLY_FILE)]
    pub file: Option<PathBuf>,
    /// The scope.
    #[arg(long, value_names = ["KIND", "PATH"], num_args = 1..=2, help = help::SCOPE)]
    pub scope: Vec<String>,
    /// Without a file.
    #[arg(long, help = help::POLICY_REMOVE)]
    pub remove: bool,
    /// Though something becomes looser.
    #[arg(long, requires = "remove", help = help::POLICY_LOOSEN)]
    pub loosen: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy history`.
#[derive(Debug, Args)]
pub struct PolicyHistoryArgs {
    /// The scope.
    #[arg(long, value_names = ["KIND", "PATH"], num_args = 1..=2, help = help::HISTORY_SCOPE)]
    pub scope: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy rollback`.
#[derive(Debug, Args)]
pub struct PolicyRollbackArgs {
    /// The scope.
    #[arg(long, value_names = ["KIND", "PATH"], num_args = 1..=2, help = help::SCOPE)]
    pub scope: Vec<String>,
    /// The version.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help = help::ROLLBACK_TO)]
    pub to: Option<u64>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `policy show`.
#[derive(Debug, Args)]
pub struct PolicyShowArgs {
    /// The scope.
    #[arg(long, value_names = ["KIND", "PATH"], num_args = 1..=2, help = help::SCOPE)]
    pub scope: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
