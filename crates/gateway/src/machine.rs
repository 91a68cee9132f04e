//! This machine: whether sandboxes open on it, and a command in one for a person.

use std::path::PathBuf;
use std::time::Instant;

use enclos_core::policy::Policy;
use enclos_protocol::api::SandboxRequest;
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::report::{Check, CommandRun, SandboxRun};
use enclos_sandbox::{Backend, Exit, OpenError, Outcome, Plan, Stream};
use serde_json::json;

use crate::config::Config;
use crate::effects;
use crate::isolation;
use crate::masks::{Desk, Masks};
use crate::places::Places;
use crate::repo::Repo;
use crate::session;

/// Where a command runs.
pub(crate) struct Target<'a> {
    pub repo: &'a Repo,
    pub home: Option<PathBuf>,
    pub uid: u32,
    /// The gateway's state.
    pub state: PathBuf,
}

/// Runs a command in a sandbox of its own; what it wrote is thrown away.
pub(crate) fn run(
    policy: &Policy,
    config: &Config,
    target: &Target<'_>,
    request: &SandboxRequest,
    output: &mut dyn FnMut(bool, &[u8]),
) -> Result<SandboxRun, ApiError> {
    effects::expect_sandbox();
    let layer = Scratch::make().map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
    let admitted = session::admitted(policy)?;
    let shown = target.repo.survey(target.uid, &admitted);
    let (plan, _) = session::plan(policy, config, target.repo, target.home.as_deref(), &layer.0)?;
    let desk = Desk { state: &target.state, layer: &layer.0 };
    let (masks, history) = Masks::of(target.repo, &shown, policy, desk)?;
    let git = history.git(target.repo.git.as_ref());
    let plan = Plan { hidden: shown.hidden, masked: masks.paths(), git, ..plan };
    let started = Instant::now();
    let sandbox = effects::open(&plan).map_err(|error| not_opened(&error))?;
    let open_ms = millis(started);
    isolation::check(policy, sandbox.report(), "this machine")?;
    let mut runs = Vec::new();
    for _ in 0..request.repeat {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut take = |stream: Stream, bytes: &[u8]| {
            let is_stderr = stream == Stream::Stderr;
            output(is_stderr, bytes);
            if is_stderr { stderr.extend_from_slice(bytes) } else { stdout.extend_from_slice(bytes) }
        };
        let keep = policy.settings().output_keep;
        let exit = effects::run_for_person(&sandbox, &request.text, request.pty, keep, &mut take)
            .map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
        runs.push(command_run(&exit, &stdout, &stderr));
    }
    let report = sandbox.report().clone();
    let limits = json!({
        "command_seconds": plan.limits.command_seconds,
        "output_bytes": plan.limits.output_bytes,
        "memory_bytes": {"limit": plan.limits.memory_bytes, "held_by": format!("{:?}", report.memory)},
        "processes": {"limit": plan.limits.processes, "held_by": format!("{:?}", report.processes)},
        "cpus": {"limit": plan.limits.cpus, "held_by": format!("{:?}", report.cpus)},
        "disk_bytes": {"limit": plan.limits.disk_bytes, "held_by": format!("{:?}", report.disk)},
        "workspace": report.workspace.word(),
        "isolation": report.level.word(),
    });
    let closing = Instant::now();
    sandbox.close();
    Ok(SandboxRun { open_ms, runs, close_ms: millis(closing), limits })
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn command_run(exit: &Exit, stdout: &[u8], stderr: &[u8]) -> CommandRun {
    CommandRun {
        exit_code: exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(125),
        duration_ms: exit.duration.as_secs_f64() * 1e3,
        stdout: String::from_utf8_lossy(stdout).into_owned(),
        stderr: String::from_utf8_lossy(stderr).into_owned(),
        dropped_bytes: exit.stdout.dropped + exit.stderr.dropped,
        killed: exit.killed.map(|reason| reason.word().to_owned()),
    }
}

fn not_opened(error: &OpenError) -> ApiError {
    let source = error.source.as_ref().map(|source| format!(": {source}")).unwrap_or_default();
    let message = format!("{error}{source}");
    let told = ApiError::new(Fault::Internal, message).hint("`enclos doctor` says what this machine lacks");
    match error.mend() {
        Some(mend) => told.hint(mend),
        None => told,
    }
}

/// A folder of our own that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn make() -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let name = u64::from_be_bytes(random);
        let path = std::env::temp_dir().join(format!("enclos-sandbox-{name:016x}"));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary folder holds nothing that matters.
        drop(crate::trees::remove(&self.0));
    }
}

/// Checks this machine: every step of a sandbox, tried for real, then the places.
pub(crate) fn doctor(places: &Places, config: &Config) -> Vec<Check> {
    let backends = [Some(Backend::Namespaces), config.backend.oci.clone().map(Backend::Oci)];
    let mut checks: Vec<Check> = backends
        .iter()
        .flatten()
        .flat_map(enclos_sandbox::probe)
        .map(|check| Check {
            name: check.name,
            result: match check.outcome {
                Outcome::Ok => "ok",
                Outcome::Limited | Outcome::NotReached => "note",
                Outcome::Failed => "failed",
            }
            .to_owned(),
            detail: check.detail,
            remedy: check.remedy.unwrap_or_default(),
        })
        .collect();
    checks.push(store_check(places));
    let model = config.model.as_deref().unwrap_or("none: name one with --model");
    checks.push(Check {
        name: "model".to_owned(),
        result: "note".to_owned(),
        detail: format!("configured: {model}"),
        remedy: String::new(),
    });
    checks
}

fn store_check(places: &Places) -> Check {
    let name = "store".to_owned();
    match enclos_store::Store::open_read_only(places.state()) {
        Ok(_) => Check {
            name,
            result: "ok".to_owned(),
            detail: places.state().display().to_string(),
            remedy: String::new(),
        },
        Err(error @ enclos_store::StoreError::NoStore { .. }) => {
            Check { name, result: "note".to_owned(), detail: error.to_string(), remedy: String::new() }
        }
        Err(error) => Check {
            name,
            result: "failed".to_owned(),
            detail: error.to_string(),
            remedy: "mend what it names, or point ENCLOS_HOME to another folder".to_owned(),
        },
    }
}
