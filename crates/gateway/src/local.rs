//! The gateway that a person runs for themselves: the whole API in this process.
//!
//! Here is what sessions are opened with; policy questions are in `policy`, change sets in `review`.

mod policy;
mod review;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use enclos_connect::model::{Model, ModelError, ModelSpec, Secret};
use enclos_core::decision::DecidedBy;
use enclos_core::ids::SessionId;
use enclos_core::label::Level;
use enclos_core::outside::Guard;
use enclos_core::policy::{ExecutionPlace, Policy};
use enclos_protocol::api::{
    Answering, At, Attached, CommandQuestion, Copying, ExplainRequest, Gateway, HostRequest, OpenRequest,
    OutsideRequest, PolicyChange, ResumeRequest, SandboxRequest,
};
use enclos_protocol::changeset::{AppliedView, ChangeSetView, UndoneView};
use enclos_protocol::env::{self, Environment};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lab::{DifferenceReport, SimulateRequest, Simulation, TestReport};
use enclos_protocol::lineage::{
    Answer, Drawing, ExportRequest, Exported as LineageExported, Question, Start, Verified,
};
use enclos_protocol::order::Order;
use enclos_protocol::report::{
    Answered, ApprovalRow, Check, CommandExplanation, Explanation, Exported, GrantRow, PolicyReport,
    PolicySaved, PolicyText, PolicyVersion, SandboxRun, SessionDetail, SessionRow, Verification,
};
use enclos_sandbox::host::Link;
use enclos_store::{Lease, LeaseError, Store};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::approvals::Desk;
use crate::attend;
use crate::clock::Clock;
use crate::config::Config;
use crate::control::{self, Control};
use crate::host;
use crate::identity::Person;
use crate::places::Places;
use crate::policies::{Choice, Sources};
use crate::redact::Redactor;
use crate::repo::Repo;
use crate::session::{self, Again, Opening, Remote};
use crate::sessions::{self, of_store};
use crate::{explain, journal, lineage, machine, undo};

/// Content of a closed session is kept so long, in microseconds: 30 days.
const RETENTION_US: i64 = 30 * DAY_US;

/// Lineage of a closed session is kept so long: 90 days; what a reset archived, as long as the journal: a year.
const LINEAGE_US: i64 = 90 * DAY_US;
const ARCHIVE_US: i64 = 365 * DAY_US;

/// Microseconds of a day.
const DAY_US: i64 = 24 * 3600 * 1_000_000;

/// A gateway of one's own.
#[derive(Debug)]
pub struct Local {
    environment: Environment,
    places: Places,
    config: Config,
    clock: Clock,
    person: Person,
    store: OnceCell<Store>,
}

impl Local {
    /// A gateway on this machine. Configuration and environment are read here, once.
    ///
    /// # Errors
    /// The first setting that cannot be read. Nothing is started then.
    pub fn new(environment: Environment, clock: Clock) -> Result<Self, ApiError> {
        let places = Places::find(&environment)?;
        let config = Config::load(&places, &environment)?;
        Ok(Self { environment, places, config, clock, person: Person::here(), store: OnceCell::new() })
    }

    /// The store, opened at its first use. What is due is erased and cleaned up then.
    fn store(&self) -> Result<Store, ApiError> {
        if let Some(store) = self.store.get() {
            return Ok(store.clone());
        }
        let redactor = Arc::new(self.redactor()?);
        let store = Store::open(self.places.state(), redactor).map_err(|error| of_store(&error))?;
        let now_us = self.clock.now_us();
        store.erase_content(now_us.saturating_sub(RETENTION_US), now_us).map_err(|error| of_store(&error))?;
        let (lineage, archive) = (now_us.saturating_sub(LINEAGE_US), now_us.saturating_sub(ARCHIVE_US));
        store.forget_lineage(lineage, archive).map_err(|error| of_store(&error))?;
        sessions::sweep(&store, &self.places)?;
        Ok(self.store.get_or_init(|| store).clone())
    }

    /// The redactor of everything that is written or listed.
    fn redactor(&self) -> Result<Redactor, ApiError> {
        let key = self.environment.get(env::MODEL_KEY);
        Redactor::new(key.into_iter().chain(self.keys().iter().map(String::as_str)))
    }

    /// The keys that the configuration names. One that cannot be read is an error where its model is used.
    fn keys(&self) -> Vec<String> {
        let files = self.config.models.values().filter_map(|model| model.key_file.as_ref());
        files.filter_map(|file| std::fs::read_to_string(file).ok()).map(|key| key.trim().to_owned()).collect()
    }

    fn home(&self) -> Option<PathBuf> {
        self.environment.get(env::HOME).map(PathBuf::from)
    }

    fn repo(&self, folder: &Path) -> Result<Repo, ApiError> {
        Repo::find(folder, self.home().as_deref(), &self.places, self.person.uid)
    }

    /// The model that is meant, its window when it is configured, and its full specification.
    fn model(&self, named: Option<&str>) -> Result<(Model, Option<u64>, String), ApiError> {
        let none = || {
            ApiError::new(Fault::Usage, "no model is named")
                .hint("name one: --model openai:http://127.0.0.1:8080/v1#MODEL, or --model script:FILE")
                .hint("or set `model = \"…\"` in the configuration file")
        };
        let name = named.or(self.config.model.as_deref()).ok_or_else(none)?;
        let entry = self.config.models.get(name);
        let spec = entry.map_or(name, |entry| entry.spec.as_str());
        let parsed = ModelSpec::parse(spec).map_err(|error| of_model(&error))?;
        let key = match entry.and_then(|entry| entry.key_file.as_ref()) {
            Some(file) => Some(std::fs::read_to_string(file).map_err(|error| {
                ApiError::new(
                    Fault::Usage,
                    format!("the key file `{}` cannot be read: {error}", file.display()),
                )
            })?),
            None => self.environment.get(env::MODEL_KEY).map(str::to_owned),
        };
        let key = key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).map(Secret::new);
        let model = Model::from_spec(&parsed, key).map_err(|error| of_model(&error))?;
        Ok((model, entry.and_then(|entry| entry.context_tokens), spec.to_owned()))
    }

    fn take(&self, id: &SessionId) -> Result<Lease, ApiError> {
        self.store()?.lease(id).map_err(|error| match &error {
            LeaseError::Held { .. } => {
                ApiError::new(Fault::Usage, format!("the session `{id}` is at work: {error}"))
                    .hint("go on at the terminal where it works")
                    .hint(format!("or stop it, which throws its unaccepted work away: enclos stop {id}"))
            }
            LeaseError::Store(inner) => of_store(inner),
        })
    }

    /// The connection to the execution host, when a session is to work there.
    fn host(&self, policy: &Policy, known: Option<&Path>) -> Result<Option<(Link, PathBuf)>, ApiError> {
        if host::place(&self.config, policy)? == ExecutionPlace::Workstation {
            return Ok(None);
        }
        let own = || host::socket(&self.config, &self.places, &self.environment);
        let socket = known.map_or_else(own, Path::to_path_buf);
        Ok(Some((host::reach(&socket)?, socket)))
    }

    /// What a session is opened with, a new one and one that is taken up alike. Its control socket listens from here.
    fn opening(&self, id: &SessionId, basis: Basis, way: Way) -> Result<Opening, ApiError> {
        let (remote, from_others) = mpsc::unbounded_channel();
        let control = self.listen(id, remote)?;
        Ok(Opening {
            clock: self.clock.clone(),
            store: basis.store,
            config: self.config.clone(),
            person: self.person.clone(),
            home: self.home(),
            repo: basis.repo,
            policy: basis.policy,
            host: basis.host,
            sources: basis.sources,
            model: basis.model,
            context_tokens: basis.context_tokens,
            answering: way.answering,
            conversation: way.conversation,
            patch: way.patch,
            again: way.again,
            control: Some(control),
            remote: from_others,
            orders: mpsc::unbounded_channel(),
        })
    }

    fn listen(&self, id: &SessionId, orders: mpsc::UnboundedSender<Remote>) -> Result<Control, ApiError> {
        control::listen(&self.places.run(), id, orders).map_err(|error| {
            ApiError::new(
                Fault::Internal,
                format!("the control socket of the session cannot be made: {error}"),
            )
        })
    }

    fn undoing<'a>(&'a self, store: &'a Store, lease: &'a Lease, repo: Repo) -> undo::Desk<'a> {
        undo::Desk { store, lease, clock: &self.clock, repo }
    }

    fn desk(&self) -> Result<Desk, ApiError> {
        let (person, clock) = (self.person.clone(), self.clock.clone());
        Ok(Desk { store: self.store()?, run: self.places.run(), person, clock })
    }

    fn human(&self) -> DecidedBy {
        DecidedBy::Human(self.person.user.clone())
    }
}

/// An error of a model's specification.
fn of_model(error: &ModelError) -> ApiError {
    ApiError::new(Fault::Usage, error.to_string())
}

/// A session's name: 26 characters that sort by time.
fn new_id(now_us: i64) -> Result<SessionId, ApiError> {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
    let millis = u64::try_from(now_us / 1000).unwrap_or(0);
    let time = (0..10).rev().map(|place| (millis >> (5 * place)) & 31);
    let rest = random.iter().map(|byte| u64::from(byte & 31));
    let text: String = time
        .chain(rest)
        .filter_map(|digit| DIGITS.get(usize::try_from(digit).ok()?))
        .map(|b| char::from(*b))
        .collect();
    Ok(SessionId::new(format!("sess_{text}")))
}

/// What a session stands on.
struct Basis {
    store: Store,
    repo: Repo,
    policy: Policy,
    host: Option<(Link, PathBuf)>,
    sources: Sources,
    model: Model,
    context_tokens: Option<u64>,
}

/// How a session is driven.
struct Way {
    answering: Answering,
    conversation: bool,
    patch: Option<PathBuf>,
    again: Map<String, Value>,
}

/// What a session is opened with again.
#[derive(serde::Serialize, serde::Deserialize)]
struct Sealed {
    model: String,
    preset: Option<String>,
    policy: Vec<PathBuf>,
    repo: PathBuf,
    /// The socket of the execution host that it works on; none: on this machine.
    #[serde(default)]
    host: Option<PathBuf>,
}

impl Sealed {
    /// Reads it back.
    fn of(extra: Option<Map<String, Value>>) -> Result<Self, ApiError> {
        let erased =
            || ApiError::new(Fault::Usage, "the session's content was erased: it cannot be taken up again");
        let mut extra = extra.ok_or_else(erased)?;
        extra.remove("task");
        serde_json::from_value(Value::Object(extra))
            .map_err(|error| ApiError::new(Fault::Internal, error.to_string()))
    }

    fn to_map(&self) -> Map<String, Value> {
        match json!(self) {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

impl Gateway for Local {
    async fn open(&self, request: OpenRequest) -> Result<Attached, ApiError> {
        let repo = self.repo(&request.repo)?;
        let choice =
            Choice { preset: request.preset.as_deref(), files: &request.policy, repo: Some(&repo.root) };
        let (sources, policy) = self.settled(choice)?;
        let (model, context_tokens, spec) = self.model(request.model.as_deref())?;
        let host = self.host(&policy, None)?;
        let store = self.store()?;
        let id = new_id(self.clock.now_us())?;
        let sealed = Sealed {
            model: spec,
            preset: request.preset,
            policy: absolute(request.policy),
            repo: repo.root.clone(),
            host: host.as_ref().map(|(_, socket)| socket.clone()),
        };
        let way = Way {
            answering: request.answering,
            conversation: request.conversation,
            patch: request.patch,
            again: sealed.to_map(),
        };
        let basis = Basis { store, repo, policy, host, sources, model, context_tokens };
        let opening = self.opening(&id, basis, way)?;
        Box::pin(session::open(id, request.task, opening)).await
    }

    async fn resume(&self, request: ResumeRequest) -> Result<Attached, ApiError> {
        let store = self.store()?;
        let row = store.session(&request.session).map_err(|error| of_store(&error))?;
        let sealed = Sealed::of(row.extra)?;
        let lease = self.take(&request.session)?;
        let repo = self.repo(&sealed.repo)?;
        undo::finish(self.undoing(&store, &lease, repo.clone())).await?;
        let choice =
            Choice { preset: sealed.preset.as_deref(), files: &sealed.policy, repo: Some(&repo.root) };
        let (sources, policy) = self.settled(choice)?;
        let (model, context_tokens, _) = self.model(Some(&sealed.model))?;
        let place = host::place(&self.config, &policy)?;
        host::stays(&request.session, sealed.host.as_deref(), place)?;
        let host = self.host(&policy, sealed.host.as_deref())?;
        let way = Way {
            answering: request.answering,
            conversation: request.conversation,
            patch: request.patch,
            again: Map::new(),
        };
        let basis = Basis { store, repo, policy, host, sources, model, context_tokens };
        let opening = self.opening(&request.session, basis, way)?;
        Box::pin(session::resume(lease, opening, Again { extend: request.extend, message: request.message }))
            .await
    }

    fn sessions(&self) -> Result<Vec<SessionRow>, ApiError> {
        sessions::list(&self.store()?, &self.places)
    }

    fn show(&self, session: &SessionId) -> Result<SessionDetail, ApiError> {
        sessions::show(&self.store()?, &self.places, session)
    }

    async fn stop(&self, session: &SessionId) -> Result<(), ApiError> {
        self.desk()?.stop(session, false).await
    }

    fn approvals(&self) -> Result<Vec<ApprovalRow>, ApiError> {
        self.desk()?.list()
    }

    fn attend(&self, approval: &str) -> Result<Attached, ApiError> {
        attend::attend(self.desk()?, approval)
    }

    async fn answer(&self, order: Order, at_terminal: bool) -> Result<Answered, ApiError> {
        self.desk()?.answer(order, at_terminal).await
    }

    fn grants(&self, session: Option<&SessionId>) -> Result<Vec<GrantRow>, ApiError> {
        self.desk()?.grants(session)
    }

    async fn revoke_grant(&self, grant: &str) -> Result<GrantRow, ApiError> {
        self.desk()?.revoke(grant).await
    }

    fn diff(&self, session: &SessionId) -> Result<ChangeSetView, ApiError> {
        self.shown(session)
    }

    fn apply(
        &self,
        session: &SessionId,
        files: Option<Vec<String>>,
        release: Option<String>,
        at_terminal: bool,
    ) -> Result<AppliedView, ApiError> {
        self.accept(session, files, release, at_terminal)
    }

    async fn undo(
        &self,
        session: &SessionId,
        to: Option<&str>,
        at_terminal: bool,
    ) -> Result<UndoneView, ApiError> {
        if self.sealed(session)?.host.is_some() {
            let message =
                format!("the session `{session}` works on an execution host: its calls cannot be undone");
            return Err(ApiError::new(Fault::Usage, message)
                .hint(format!("look at what it made: enclos diff {session}"))
                .hint(format!("or take only some of its files: enclos apply {session} --files PATH …")));
        }
        let (root, _) = self.made_by(session)?;
        let repo = self.repo(&root)?;
        let lease = self.store()?.lease(session).map_err(|error| match &error {
            LeaseError::Held { .. } => {
                ApiError::new(Fault::Usage, format!("the session `{session}` is at work: {error}"))
                    .hint("wait until it is done, or interrupt it where it works")
            }
            LeaseError::Store(inner) => of_store(inner),
        })?;
        let by = if at_terminal { self.human() } else { session::automation("cli.undo") };
        let store = self.store()?;
        undo::undo(self.undoing(&store, &lease, repo), to, by).await
    }

    fn reset(&self, session: &SessionId, confirmed: bool, at_terminal: bool) -> Result<(), ApiError> {
        self.begin_anew(session, confirmed, at_terminal)
    }

    fn discard(&self, session: &SessionId) -> Result<(), ApiError> {
        self.throw_away(session)
    }

    fn policy_check(&self, files: &[PathBuf]) -> Result<PolicyReport, ApiError> {
        explain::check(files)
    }

    fn policy_save(&self, scope: &str, change: &PolicyChange) -> Result<PolicySaved, ApiError> {
        self.save_policy(scope, change)
    }

    fn policy_history(&self, scope: Option<&str>) -> Result<Vec<PolicyVersion>, ApiError> {
        self.history_of_policy(scope)
    }

    fn policy_show(&self, scope: &str) -> Result<PolicyText, ApiError> {
        self.show_policy(scope)
    }

    fn policy_test(&self, words: &[String], at: &At) -> Result<TestReport, ApiError> {
        self.test_policy(words, at)
    }

    fn policy_diff(&self, old: &str, new: &str, at: &At) -> Result<DifferenceReport, ApiError> {
        self.diff_policies(old, new, at)
    }

    fn policy_simulate(&self, request: &SimulateRequest) -> Result<Simulation, ApiError> {
        self.simulate_policy(request)
    }

    fn policy_explain(&self, request: &ExplainRequest) -> Result<Explanation, ApiError> {
        self.explain_call(request)
    }

    fn explain_command(
        &self,
        question: &CommandQuestion,
        text: &str,
    ) -> Result<CommandExplanation, ApiError> {
        self.explain_text(question, text)
    }

    fn judge_outside(&self, request: &OutsideRequest) -> Result<Guard, ApiError> {
        self.guard_outside(request)
    }

    fn sandbox_run(
        &self,
        request: &SandboxRequest,
        output: &mut dyn FnMut(bool, &[u8]),
    ) -> Result<SandboxRun, ApiError> {
        let repo = self.repo(&request.repo)?;
        let choice = Choice { preset: request.preset.as_deref(), files: &[], repo: Some(&repo.root) };
        let (_, policy) = self.in_force(choice)?;
        if host::place(&self.config, &policy)? == ExecutionPlace::Server {
            let message = "`sandbox run` opens a sandbox on this machine, and the place is `server`";
            return Err(
                ApiError::new(Fault::Usage, message).hint("run a session instead: enclos run \"task\"")
            );
        }
        let state = self.places.state().to_path_buf();
        let target = machine::Target { repo: &repo, home: self.home(), uid: self.person.uid, state };
        machine::run(&policy, &self.config, &target, request, output)
    }

    fn journal_export(
        &self,
        session: Option<&SessionId>,
        out: &mut dyn std::io::Write,
    ) -> Result<Exported, ApiError> {
        journal::export(&self.store()?, session, out)
    }

    fn journal_verify(&self, file: Option<&Path>) -> Result<Verification, ApiError> {
        match file {
            Some(file) => Ok(journal::verify_file(file)),
            None => journal::verify_store(self.places.state()),
        }
    }

    fn lineage(&self, question: &Question) -> Result<Answer, ApiError> {
        lineage::ask(&self.store()?, question)
    }

    fn lineage_export(&self, request: &ExportRequest) -> Result<LineageExported, ApiError> {
        lineage::export(&self.store()?, &self.clock, request)
    }

    fn lineage_verify(&self, folder: &Path, key: Option<&Path>) -> Result<Verified, ApiError> {
        lineage::verify(folder, key, &self.places.public_key())
    }

    fn lineage_graph(&self, start: &Start, clearance: Level) -> Result<Drawing, ApiError> {
        lineage::draw(&self.store()?, start, clearance)
    }

    async fn host(&self, request: HostRequest, say: &mut dyn FnMut(&str)) -> Result<(), ApiError> {
        let socket = host::socket(&self.config, &self.places, &self.environment);
        let places = (socket, self.places.state().join("host"), self.home());
        host::serve(request, places, say).await
    }

    fn copying(&self) -> Option<Copying> {
        enclos_sandbox::copying().map(|now| Copying { entries: now.entries, bytes: now.bytes })
    }

    fn doctor(&self) -> Vec<Check> {
        machine::doctor(&self.places, &self.config)
    }
}

fn absolute(files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.into_iter().map(|file| std::path::absolute(&file).unwrap_or(file)).collect()
}
