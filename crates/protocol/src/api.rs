//! The API of a gateway, as a trait: what a client may call, and nothing of how it is done.

use std::future::Future;
use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_core::label::Level;
use enclos_core::outside::Guard;
use tokio::sync::mpsc;

use crate::changeset::{AppliedView, ChangeSetView, UndoneView};
use crate::error::ApiError;
use crate::event::Event;
use crate::lab::{DifferenceReport, SimulateRequest, Simulation, TestReport};
use crate::lineage;
use crate::order::Order;
use crate::report::{
    Answered, ApprovalRow, Check, CommandExplanation, Explanation, Exported, GrantRow, PolicyReport,
    PolicySaved, PolicyText, PolicyVersion, SandboxRun, SessionDetail, SessionRow, Verification,
};

/// What a headless session does with a question that needs a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAsk {
    /// Keep the question and leave, exit 5.
    #[default]
    Park,
    /// Stop the session, exit 5.
    Stop,
    /// Cancel the call, as automation, and go on.
    Deny,
}

/// Who answers the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answering {
    /// A person at a terminal.
    Person,
    /// Nobody: a headless run.
    Nobody(OnAsk),
    /// The demonstration's `--yes`: as automation, and only there.
    DemoYes,
}

/// How a session is to be opened.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// The repository; the current folder when absent.
    pub repo: PathBuf,
    /// The task. Absent in a conversation that begins with an empty line.
    pub task: Option<String>,
    /// The model's specification or its name in the configuration.
    pub model: Option<String>,
    /// A preset.
    pub preset: Option<String>,
    /// Policy files.
    pub policy: Vec<PathBuf>,
    /// Who answers.
    pub answering: Answering,
    /// Whether the session ends with the first review (`run`) or goes on (`chat`).
    pub conversation: bool,
    /// Where to write the patch when the run ends.
    pub patch: Option<PathBuf>,
}

/// How a session is to be taken up again.
#[derive(Clone, Debug)]
pub struct ResumeRequest {
    /// The session.
    pub session: SessionId,
    /// Grant an extension when the budget is spent.
    pub extend: bool,
    /// A message to go on with.
    pub message: Option<String>,
    /// Who answers.
    pub answering: Answering,
    /// Whether it goes on as a conversation.
    pub conversation: bool,
    /// Where to write the patch when the run ends.
    pub patch: Option<PathBuf>,
}

/// A session to which a client is attached.
#[derive(Debug)]
pub struct Attached {
    /// The session.
    pub session: SessionId,
    /// Its events. The stream ends after `run.finished`.
    pub events: mpsc::UnboundedReceiver<Event>,
    /// Orders to it.
    pub orders: mpsc::UnboundedSender<Order>,
}

/// Which repository counts for a question to the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// None.
    #[default]
    Nowhere,
    /// That of the folder where the person is, as for a session; none where no session could be opened.
    Here(PathBuf),
    /// That of a folder which the person named: one where no session could be opened is an error.
    Repo(PathBuf),
}

/// A question to the policy.
#[derive(Clone, Debug, Default)]
pub struct ExplainRequest {
    /// The tool.
    pub tool: String,
    /// Its arguments, as JSON.
    pub args: Option<String>,
    /// The role, `owner` when absent: on one's own gateway a person is owner of every project.
    pub role: Option<String>,
    /// The surface, `terminal` when absent.
    pub surface: Option<String>,
    /// A preset.
    pub preset: Option<String>,
    /// Policy files.
    pub policy: Vec<PathBuf>,
    /// The repository whose project and `.enclos.toml` count.
    pub at: At,
}

/// A change of the policy of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChange {
    /// The text of a file.
    Apply(PathBuf),
    /// The text of an earlier version: of this number, else of the one before the newest.
    Rollback(Option<u64>),
    /// No policy of its own any more.
    Remove {
        /// Even where something becomes looser by it.
        loosen: bool,
    },
}

/// A question about a command.
#[derive(Clone, Debug, Default)]
pub struct CommandQuestion {
    /// The verdict of `bash` without any rule; no policy counts then. Without it the policy that is named, or the one in force.
    pub base: Option<String>,
    /// A preset, whose rules then apply.
    pub preset: Option<String>,
    /// Policy files, whose rules then apply.
    pub policy: Vec<PathBuf>,
    /// The role, `owner` when absent.
    pub role: Option<String>,
    /// The surface, `terminal` when absent.
    pub surface: Option<String>,
    /// The repository whose project and `.enclos.toml` count.
    pub at: At,
}

/// How the calls of another agent are to be judged.
#[derive(Clone, Debug, Default)]
pub struct OutsideRequest {
    /// The catalogue of that agent's tools; none are known when absent.
    pub catalogue: Option<PathBuf>,
    /// Show the planner what untrusted sources answer, and ask at every later call that acts.
    pub without_quarantine: bool,
    /// A preset, which can only harden.
    pub preset: Option<String>,
    /// Policy files, which can only harden.
    pub policy: Vec<PathBuf>,
}

/// A command in a sandbox, without a session.
#[derive(Clone, Debug)]
pub struct SandboxRequest {
    /// The repository.
    pub repo: PathBuf,
    /// The text.
    pub text: String,
    /// How often it runs, in the same sandbox.
    pub repeat: u32,
    /// A preset, for toolchains and limits.
    pub preset: Option<String>,
    /// Whether it has a terminal of its own, which nobody types at.
    pub pty: bool,
}

/// How an execution host is to run.
#[derive(Clone, Debug, Default)]
pub struct HostRequest {
    /// Where it listens; the person's own place when absent.
    pub socket: Option<PathBuf>,
    /// Its folder; the person's own place when absent.
    pub state: Option<PathBuf>,
    /// Users besides its own whose gateways it serves.
    pub gateway_uids: Vec<u32>,
}

/// How far a copy of a repository is that is made while a session opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copying {
    /// Files, folders and links copied so far.
    pub entries: u64,
    /// Bytes of the files copied so far.
    pub bytes: u64,
}

/// What a client may ask of a gateway.
pub trait Gateway {
    /// Opens a session and lets it work.
    fn open(&self, request: OpenRequest) -> impl Future<Output = Result<Attached, ApiError>>;
    /// Takes up a session that was left, interrupted or killed.
    fn resume(&self, request: ResumeRequest) -> impl Future<Output = Result<Attached, ApiError>>;
    /// All sessions, newest first.
    fn sessions(&self) -> Result<Vec<SessionRow>, ApiError>;
    /// One session.
    fn show(&self, session: &SessionId) -> Result<SessionDetail, ApiError>;
    /// Stops a session, wherever it works.
    fn stop(&self, session: &SessionId) -> impl Future<Output = Result<(), ApiError>>;
    /// Every question of this person's sessions that waits for an answer, the oldest first.
    fn approvals(&self) -> Result<Vec<ApprovalRow>, ApiError>;
    /// Shows one question to the person at this terminal and takes their answer: an approval, a refusal or an edit.
    fn attend(&self, approval: &str) -> Result<Attached, ApiError>;
    /// Answers a question. `at_terminal` says whether a person sits there and saw the card; else it is the answer of a
    /// program, recorded as such, and refused where the rule wants a person.
    fn answer(&self, order: Order, at_terminal: bool) -> impl Future<Output = Result<Answered, ApiError>>;
    /// The grants of open sessions, or of one.
    fn grants(&self, session: Option<&SessionId>) -> Result<Vec<GrantRow>, ApiError>;
    /// Revokes a grant, at once.
    fn revoke_grant(&self, grant: &str) -> impl Future<Output = Result<GrantRow, ApiError>>;
    /// What a session made.
    fn diff(&self, session: &SessionId) -> Result<ChangeSetView, ApiError>;
    /// Applies what a session made, as it was shown last: all files that are not flagged, or those named.
    /// `release`: why held files that are named may go; it counts for a person and under a written rule only.
    /// `at_terminal` says whether a person sits there; else it is the answer of a program, and recorded as such.
    fn apply(
        &self,
        session: &SessionId,
        files: Option<Vec<String>>,
        release: Option<String>,
        at_terminal: bool,
    ) -> Result<AppliedView, ApiError>;
    /// Puts the workspace of a session back to what it was before its last turn, or just before a call.
    /// `at_terminal` says whether a person sits there; else it is the act of a program, and recorded as such.
    fn undo(
        &self,
        session: &SessionId,
        to: Option<&str>,
        at_terminal: bool,
    ) -> impl Future<Output = Result<UndoneView, ApiError>>;
    /// Throws away what a session made.
    fn discard(&self, session: &SessionId) -> Result<(), ApiError>;
    /// Ends a session for good and erases all that it said and made; what begins anew knows nothing. Only a person at a
    /// terminal does it, and only once they `confirmed` it.
    fn reset(&self, session: &SessionId, confirmed: bool, at_terminal: bool) -> Result<(), ApiError>;
    /// Reads policy files and their examples.
    fn policy_check(&self, files: &[PathBuf]) -> Result<PolicyReport, ApiError>;
    /// Changes the policy of a scope (`instance`, `group PATH`, `project PATH`), once it is checked. Sessions at work
    /// take it at their next call.
    fn policy_save(&self, scope: &str, change: &PolicyChange) -> Result<PolicySaved, ApiError>;
    /// The versions of one scope or of all, the oldest first.
    fn policy_history(&self, scope: Option<&str>) -> Result<Vec<PolicyVersion>, ApiError>;
    /// The policy of a scope.
    fn policy_show(&self, scope: &str) -> Result<PolicyText, ApiError>;
    /// Holds a policy against its examples and against tables of expectations. `words`: files, or the word of a
    /// policy that exists; tables are the files named `….cases.toml`. `at`: where `current` is in force.
    fn policy_test(&self, words: &[String], at: &At) -> Result<TestReport, ApiError>;
    /// Compares two policies, each a file or the word of one that exists. `at`: where `current` is in force.
    fn policy_diff(&self, old: &str, new: &str, at: &At) -> Result<DifferenceReport, ApiError>;
    /// Judges the decisions of the local journal again by a candidate.
    fn policy_simulate(&self, request: &SimulateRequest) -> Result<Simulation, ApiError>;
    /// Says why a call gets its verdict.
    fn policy_explain(&self, request: &ExplainRequest) -> Result<Explanation, ApiError>;
    /// Reads a command.
    fn explain_command(&self, question: &CommandQuestion, text: &str)
    -> Result<CommandExplanation, ApiError>;
    /// Judges the calls of another agent, told line by line.
    fn judge_outside(&self, request: &OutsideRequest) -> Result<Guard, ApiError>;
    /// Runs a command in a sandbox of its own; `output` receives bytes as they come, `true` for the standard error.
    fn sandbox_run(
        &self,
        request: &SandboxRequest,
        output: &mut dyn FnMut(bool, &[u8]),
    ) -> Result<SandboxRun, ApiError>;
    /// Writes the journal as JSON lines.
    fn journal_export(
        &self,
        session: Option<&SessionId>,
        out: &mut dyn std::io::Write,
    ) -> Result<Exported, ApiError>;
    /// Verifies an export, or the local store.
    fn journal_verify(&self, file: Option<&std::path::Path>) -> Result<Verification, ApiError>;
    /// Answers a question about lineage.
    fn lineage(&self, question: &lineage::Question) -> Result<lineage::Answer, ApiError>;
    /// Writes a signed export of lineage.
    fn lineage_export(&self, request: &lineage::ExportRequest) -> Result<lineage::Exported, ApiError>;
    /// Verifies an export of lineage with nothing but a public key.
    fn lineage_verify(&self, folder: &Path, key: Option<&Path>) -> Result<lineage::Verified, ApiError>;
    /// Draws what is around a record, for a reader with this clearance.
    fn lineage_graph(&self, start: &lineage::Start, clearance: Level) -> Result<lineage::Drawing, ApiError>;
    /// Serves sandboxes to gateways as an execution host, until the process is asked to end. `say` is told what happens.
    fn host(
        &self,
        request: HostRequest,
        say: &mut dyn FnMut(&str),
    ) -> impl Future<Output = Result<(), ApiError>>;
    /// How far the copies are that it is making for sessions that open; `None` while it makes none.
    fn copying(&self) -> Option<Copying> {
        None
    }
    /// Checks this machine.
    fn doctor(&self) -> Vec<Check>;
}
