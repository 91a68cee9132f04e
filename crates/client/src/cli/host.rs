//! The options of `host`.

use std::path::PathBuf;

use clap::Args;

use crate::text::help;

/// `host`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Where it listens.
    #[arg(long, value_name = "PATH", help = help::HOST_SOCKET)]
    pub socket: Option<PathBuf>,
    /// Its folder.
    #[arg(long, value_name = "DIR", help = help::HOST_STATE)]
    pub state: Option<PathBuf>,
    /// Users besides its own.
    #[arg(long, value_name = "UID", help = help::HOST_GATEWAY_UID)]
    pub gateway_uid: Vec<u32>,
}
