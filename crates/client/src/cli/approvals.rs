//! The options of `approve`, `reject` and `grants`.
//!
//! Nothing here knows a question or a grant; whether a name is one is the gateway's to say.

use clap::{Args, Subcommand};

use super::JsonArgs;
use crate::text::help;

/// `approve`.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The approval.
    #[arg(value_name = "ID", help = help::APPROVAL)]
    pub id: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `reject`.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The approval.
    #[arg(value_name = "ID", help = help::APPROVAL)]
    pub id: String,
    /// A word to the model.
    #[arg(long, value_name = "TEXT", help = help::SAY)]
    pub say: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `grants`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct GrantsArgs {
    /// What is done with them.
    #[command(subcommand)]
    pub command: Option<GrantsCommand>,
    /// The session.
    #[arg(value_name = "SESSION", help = help::ID)]
    pub session: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `grants …`.
#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    /// Revokes one.
    #[command(about = help::REVOKE_GRANT)]
    Revoke(RevokeGrantArgs),
}

/// `grants revoke`.
#[derive(Debug, Args)]
pub struct RevokeGrantArgs {
    /// The grant.
    #[arg(value_name = "ID", help = help::GRANT)]
    pub id: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
