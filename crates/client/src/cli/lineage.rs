//! The options of `lineage …`.
//!
//! Nothing here knows a record or a session; whether a name is one is the gateway's to say.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use enclos_core::label::Level;

use super::JsonArgs;
use crate::text::lineage as words;

/// `lineage …`.
#[derive(Debug, Subcommand)]
pub enum LineageCommand {
    /// What became of something.
    #[command(about = words::FORWARD, before_help = words::FORWARD_EXAMPLES)]
    Forward(FromArgs),
    /// What something was made of.
    #[command(about = words::BACKWARD, before_help = words::BACKWARD_EXAMPLES)]
    Backward(FromArgs),
    /// Why something has its level.
    #[command(about = words::WHY, before_help = words::WHY_EXAMPLES)]
    Why(FromArgs),
    /// The records of a session.
    #[command(about = words::RECORDS, before_help = words::RECORDS_EXAMPLES)]
    Records(FromArgs),
    /// What a source brought in.
    #[command(about = words::IMPACT, before_help = words::IMPACT_EXAMPLES)]
    Impact(ImpactArgs),
    /// What a hunk was made of.
    #[command(about = words::HUNK, before_help = words::HUNK_EXAMPLES)]
    Hunk(HunkArgs),
    /// What was downgraded.
    #[command(about = words::DOWNGRADES, before_help = words::DOWNGRADES_EXAMPLES)]
    Downgrades(SinceArgs),
    /// Draws it.
    #[command(about = words::GRAPH, before_help = words::GRAPH_EXAMPLES)]
    Graph(GraphArgs),
    /// Exports it.
    #[command(about = words::EXPORT, before_help = words::EXPORT_EXAMPLES)]
    Export(LineageExportArgs),
    /// Verifies an export.
    #[command(about = words::VERIFY, before_help = words::VERIFY_EXAMPLES, after_help = words::VERIFY_CODES)]
    Verify(LineageVerifyArgs),
}

/// Where a question begins.
#[derive(Debug, Args)]
pub struct FromArgs {
    /// A record or a session.
    #[arg(value_name = "ID", help = words::FROM)]
    pub id: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `lineage impact`.
#[derive(Debug, Args)]
pub struct ImpactArgs {
    /// The source.
    #[arg(value_name = "SOURCE", help = words::SOURCE)]
    pub source: String,
    /// Since when.
    #[command(flatten)]
    pub since: SinceArgs,
}

/// A time, and the form of the answer.
#[derive(Debug, Args)]
pub struct SinceArgs {
    /// Since when.
    #[arg(long, value_name = "TIME", help = words::SINCE)]
    pub since: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `lineage hunk`.
#[derive(Debug, Args)]
pub struct HunkArgs {
    /// The session.
    #[arg(value_name = "SESSION", help = crate::text::help::ID)]
    pub session: String,
    /// The file.
    #[arg(value_name = "FILE", help = words::HUNK_FILE)]
    pub path: String,
    /// A line.
    #[arg(long, value_name = "N", help = words::HUNK_LINE)]
    pub line: Option<u64>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Who is to read it.
#[derive(Clone, Copy, Debug, Args)]
pub struct ReaderArgs {
    /// What the reader is cleared for.
    #[arg(long, value_name = "LEVEL", default_value = "RESTRICTED", help = words::CLEARANCE)]
    pub clearance: Level,
}

/// `lineage graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// A record or a session.
    #[arg(value_name = "ID", help = words::FROM)]
    pub id: String,
    /// The file.
    #[arg(short, long, value_name = "FILE", help = words::GRAPH_FILE)]
    pub output: PathBuf,
    /// Who is to read it.
    #[command(flatten)]
    pub reader: ReaderArgs,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `lineage export`.
#[derive(Debug, Args)]
pub struct LineageExportArgs {
    /// A record or a session.
    #[arg(value_name = "ID", help = words::FROM)]
    pub id: String,
    /// The folder.
    #[arg(short, long, value_name = "DIR", help = words::EXPORT_FOLDER)]
    pub output: PathBuf,
    /// What became of it.
    #[arg(long, help = words::EXPORT_FORWARD)]
    pub forward: bool,
    /// Who is to read it.
    #[command(flatten)]
    pub reader: ReaderArgs,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `lineage verify`.
#[derive(Debug, Args)]
pub struct LineageVerifyArgs {
    /// The folder.
    #[arg(value_name = "DIR", help = words::VERIFY_FOLDER)]
    pub folder: PathBuf,
    /// The key.
    #[arg(long, value_name = "FILE", help = words::VERIFY_KEY)]
    pub key: Option<PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}
