//! Opening a session and taking one up again: policy, sandbox, model, and the first entries of the journal.
//!
//! Everything that can be refused is refused before the session exists. The opening frame is in the journal before
//! the first act. If the sandbox does not open, the session is closed and nothing runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use enclos_connect::model::Model;
use enclos_core::args::Schema;
use enclos_core::budget::Limits;
use enclos_core::call::Call;
use enclos_core::decision::DecidedBy;
use enclos_core::ids::SessionId;
use enclos_core::policy::{Caller, Mounts, OnAsk as PolicyOnAsk, Policy, Role, Surface, Tool as PolicyTool};
use enclos_core::session::{Event, Next, Outcome, Phase, Session, Settings};
use enclos_protocol::api::{Answering, Attached, OnAsk};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::event::{Body, Event as Told, Opened, Speaker};
use enclos_protocol::order::Order;
use enclos_sandbox::host::Link;
use enclos_sandbox::toolchains::{self, Taken};
use enclos_sandbox::{Backend, Plan, Prefer};
use enclos_store::{Lease, Record, SessionMeta, Store};
use serde_json::json;
use tokio::sync::mpsc;

use super::entry::facts;
use super::place::{self, Placed};
use super::record::Facts;
use super::rules::Rules;
use super::weave::Weaver;
use super::workspace;
use super::{Halt, Live, Orders, Past, Remote, Tool, Window, entry};
use crate::backend;
use crate::changeset;
use crate::clock::Clock;
use crate::config::Config;
use crate::control::Control;
use crate::effects;
use crate::identity::Person;
use crate::masks::History;
use crate::policies::Sources;
use crate::repo::{Admitted, Repo, Shown};
use crate::tell::Teller;
use crate::workplace::Workplace;

/// Everything that a session is opened with.
pub(crate) struct Opening {
    pub clock: Clock,
    pub store: Store,
    pub config: Config,
    pub person: Person,
    pub home: Option<PathBuf>,
    pub repo: Repo,
    pub policy: Policy,
    /// The execution host and its socket, when the session is to work there.
    pub host: Option<(Link, PathBuf)>,
    /// The texts of the policy, and how to read them again.
    pub sources: Sources,
    pub model: Model,
    pub context_tokens: Option<u64>,
    pub answering: Answering,
    pub conversation: bool,
    pub patch: Option<PathBuf>,
    /// What `resume` needs to open it again: sealed in the store.
    pub again: serde_json::Map<String, serde_json::Value>,
    /// Orders from the client.
    pub orders: (mpsc::UnboundedSender<Order>, mpsc::UnboundedReceiver<Order>),
    /// Orders from the control socket.
    pub remote: mpsc::UnboundedReceiver<Remote>,
    /// The control socket, removed with the session's task.
    pub control: Option<Control>,
}

impl Opening {
    fn surface(&self) -> Surface {
        match self.answering {
            Answering::Person | Answering::DemoYes => Surface::Terminal,
            Answering::Nobody(_) => Surface::Headless,
        }
    }

    fn on_ask(&self) -> PolicyOnAsk {
        on_ask(self.answering, &self.policy)
    }

    /// The limits of the configuration, lowered by the policy.
    fn limits(&self) -> Limits {
        let ceilings = &self.policy.settings().ceilings;
        let least = |own: u64, most: Option<u64>| most.map_or(own, |most| own.min(most));
        let own = self.config.limits;
        Limits {
            actions: least(own.actions, ceilings.session_max_actions),
            minutes: least(own.minutes, ceilings.session_max_minutes),
            extensions: least(own.extensions, ceilings.session_max_extensions),
            tokens: least(own.tokens, ceilings.session_max_tokens),
            commands: least(own.commands, ceilings.session_max_commands),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            limits: self.limits(),
            continue_after_rejection: self.policy.settings().continue_after_rejection.unwrap_or(false),
            afresh_at_message: self.surface() == Surface::Terminal,
        }
    }

    /// The built-in tools, and which of them the model is shown.
    fn tools(&self) -> Result<Vec<Tool>, ApiError> {
        let surface = self.surface();
        enclos_core::tool::built_in()
            .into_iter()
            .map(|spec| {
                let tool = PolicyTool::named(&spec.name);
                let visible = self.policy.visible(&Caller { tool: &tool, role: Role::Owner, surface });
                let schema = Schema::new(&spec.schema).map_err(|error| internal(&error))?;
                Ok(Tool { schema, visible, spec: spec.clone() })
            })
            .collect()
    }

    /// What the sandbox is to be.
    pub(super) fn plan(&self, layer: &Path, shown: &Shown) -> Result<(Plan, Vec<String>), ApiError> {
        let (plan, names) = plan(&self.policy, &self.config, &self.repo, self.home.as_deref(), layer)?;
        Ok((Plan { hidden: shown.hidden.clone(), ..plan }, names))
    }
}

/// What becomes of a question without a person: the stricter of what was asked for and what the policy says.
pub(super) fn on_ask(answering: Answering, policy: &Policy) -> PolicyOnAsk {
    let asked = match answering {
        Answering::Nobody(OnAsk::Stop) => PolicyOnAsk::Stop,
        Answering::Nobody(OnAsk::Deny) => PolicyOnAsk::Deny,
        Answering::Nobody(OnAsk::Park) | Answering::Person | Answering::DemoYes => PolicyOnAsk::Park,
    };
    policy.settings().on_ask.map_or(asked, |written| written.max(asked))
}

/// What a sandbox over a repository is to be, and the toolchains in it, by name.
pub(crate) fn plan(
    policy: &Policy,
    config: &Config,
    repo: &Repo,
    home: Option<&Path>,
    layer: &Path,
) -> Result<(Plan, Vec<String>), ApiError> {
    let settings = policy.settings();
    let backend = config.backend.under(policy)?;
    // An image brings tool chains of its own; this machine's need not run on its libraries.
    let own_system = backend == Backend::Namespaces;
    let admits = |mounts: &Option<Mounts>, name: &str, default: bool| {
        mounts.as_ref().map_or(default, |mounts| mounts.admits(name))
    };
    let Taken { mounts, environment, names } = toolchains::take(home, |found| {
        if found.is_cache {
            admits(&settings.caches, &found.name, false)
        } else {
            own_system && admits(&settings.toolchains, &found.name, true)
        }
    });
    let plan = Plan {
        workspace: repo.root.clone(),
        over: None,
        owner: None,
        layer: layer.to_path_buf(),
        hidden: Vec::new(),
        masked: Vec::new(),
        git: repo.git.clone(),
        mounts,
        environment,
        limits: limits(policy, config),
        backend,
        workspace_by: Prefer::Overlay,
    };
    Ok((plan, names))
}

/// Which ignored files come in.
pub(crate) fn admitted(policy: &Policy) -> Result<Admitted, ApiError> {
    Admitted::of(policy.settings().repository_ignored.as_ref())
        .map_err(|error| ApiError::new(Fault::Usage, error).hint("mend it in the policy"))
}

/// The ceilings of a sandbox: the configuration's, lowered by the policy.
pub(super) fn limits(policy: &Policy, config: &Config) -> enclos_sandbox::Limits {
    let ceilings = &policy.settings().ceilings;
    let own = enclos_sandbox::Limits::default();
    let least = |own: u64, most: Option<u64>| most.map_or(own, |most| own.min(most));
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    enclos_sandbox::Limits {
        command_seconds: small(least(config.command_seconds, ceilings.command_max_seconds)),
        output_bytes: least(config.command_output_bytes, ceilings.command_max_output_bytes),
        memory_bytes: least(own.memory_bytes, ceilings.sandbox_memory_bytes),
        processes: small(least(own.processes.into(), ceilings.sandbox_processes)),
        cpus: small(least(own.cpus.into(), ceilings.sandbox_cpus)),
        disk_bytes: least(own.disk_bytes, ceilings.sandbox_disk_bytes),
    }
}

/// Opens a new session with its first message, and lets it work.
pub(crate) async fn open(
    id: SessionId,
    task: Option<String>,
    opening: Opening,
) -> Result<Attached, ApiError> {
    let started = std::time::Instant::now();
    let now_us = opening.clock.now_us();
    let mut again = opening.again.clone();
    again.insert("task".into(), json!(task.as_deref().unwrap_or_default()));
    let meta = SessionMeta {
        task: task.clone().unwrap_or_default(),
        repo: opening.repo.root.clone(),
        surface: opening.surface().as_str().to_owned(),
        state: "opening".to_owned(),
        created_us: now_us,
        extra: again,
    };
    let lease = opening.store.create(&id, meta).map_err(|error| internal(&error))?;
    let settings = opening.settings();
    let frame = entry::record(&Event::Opened(settings), &opening_facts(&opening), now_us, lease.commit_key());
    lease.append_wait(vec![frame]).map_err(|error| internal(&error))?;
    let unheard = opening.policy.unheard();
    let state = Session::open(settings, now_us);
    let (mut live, attached) = assemble(lease, state, opening, started).await?;
    for setting in unheard {
        live.teller.notice(format!("what was chosen for this session counts less than it says: {setting}"));
    }
    if let Some(text) = task {
        let by = live.speaker();
        live.record(Event::Said { text: text.clone(), by }, Facts::new())
            .await
            .map_err(|halt| internal(&halt))?;
        live.teller.tell(Body::Message { role: Speaker::User, text });
    }
    run(live);
    Ok(attached)
}

/// What a person asks for when they take a session up again.
pub(crate) struct Again {
    pub extend: bool,
    pub message: Option<String>,
}

/// Takes a session up again: folds its events, opens a new sandbox on its layer, and lets it go on.
///
/// Taking up is an act of the person: where there is something to go on with, it grants the next extension to a session that
/// was interrupted with budget left, and with `--extend` to one that stopped because it was spent.
pub(crate) async fn resume(lease: Lease, opening: Opening, again: Again) -> Result<Attached, ApiError> {
    let started = std::time::Instant::now();
    let Past { state, last_call, .. } = Past::read(&opening.store, lease.session())?;
    if let Phase::Closed(_) = state.phase() {
        let message = format!("the session `{}` is closed", lease.session());
        return Err(ApiError::new(Fault::Usage, message).hint("start a new one with: enclos run \"task\""));
    }
    let now_us = opening.clock.now_us();
    let had_budget = state.budget().was_left(now_us);
    let extend = again.extend || had_budget;
    let (mut live, attached) = assemble(lease, state, opening, started).await?;
    live.next_call = last_call + 1;
    live.take_up(extend, again.message).await.map_err(|halt| internal(&halt))?;
    run(live);
    Ok(attached)
}

impl Live {
    async fn take_up(&mut self, extend: bool, message: Option<String>) -> Result<(), Halt> {
        let gone = self.background_names();
        self.record(Event::Restored, facts_of_gone(&gone)).await?;
        if !gone.is_empty() {
            self.teller
                .notice(format!("background commands are gone with the old sandbox: {}", gone.join(", ")));
        }
        self.taken_up = extend;
        if let Some(text) = message {
            self.queued.push(text);
        }
        self.show_waiting();
        self.show_pending().await?;
        self.tell_budget();
        Ok(())
    }

    /// Taking a session up is the person's wish that it goes on: it grants the next extension once there is something to be
    /// done for which nothing is left, so that a mere look costs none. True when it did.
    pub(super) async fn goes_on(&mut self, next: &Next) -> Result<bool, Halt> {
        let needed = match next {
            Next::AskExtension(_) => true,
            Next::Judge(_) => self.state.budget().left(self.clock.now_us()).is_err(),
            Next::AskModel | Next::Wait | Next::EndOfTurn(_) | Next::Nothing => false,
        };
        if !needed || self.state.budget().extensions_left() == 0 || !std::mem::take(&mut self.taken_up) {
            return Ok(false);
        }
        let by = self.speaker();
        self.record(Event::ExtensionGranted { by: by.clone() }, facts([("through", json!("resume"))]))
            .await?;
        self.teller.tell(Body::ExtensionDecided { granted: true, decided_by: by });
        let left = self.state.budget().extensions_left();
        self.teller.notice(format!(
            "a budget ends with its process: taking the session up grants the next extension, {left} left"
        ));
        self.tell_budget();
        Ok(true)
    }

    /// Shows the cards of questions that are still pending; one that is about something else by now is asked anew.
    async fn show_pending(&mut self) -> Result<(), Halt> {
        let answered = |call: &&Call| {
            !call.state().is_final() && self.state.pending().all(|(pending, _)| pending != call.id())
        };
        let decided: Vec<Call> = self.state.calls().iter().filter(answered).cloned().collect();
        for call in &decided {
            self.tell_proposal(call);
        }
        let pending: Vec<_> =
            self.state.pending().map(|(call, approval)| (call.clone(), approval.clone())).collect();
        for (id, approval) in pending {
            let Some(call) = self.find(&id) else { continue };
            self.tell_proposal(&call);
            if self.clock.now_us() >= approval.expires_us {
                self.expired(&id).await?;
                continue;
            }
            let super::judge::Judged::Decided(decided) = self.judge(&call) else {
                self.supersede(&call, &approval.id).await?;
                continue;
            };
            let named = self.named(&decided);
            if self.digest(&call, &decided, named.as_ref()) == approval.digest {
                let card = self.card(&call, &decided, named.as_ref(), &approval);
                self.show_card(&call, &approval.id, card);
            } else {
                self.supersede(&call, &approval.id).await?;
            }
        }
        Ok(())
    }

    /// Who speaks when a message comes from this client.
    pub(super) fn speaker(&self) -> DecidedBy {
        match self.answering {
            Answering::Person => DecidedBy::Human(self.person.clone()),
            Answering::Nobody(_) => super::handle::automation("headless.prompt"),
            Answering::DemoYes => super::handle::automation("demo.prompt"),
        }
    }
}

/// Opens the sandbox and puts the parts together.
async fn assemble(
    lease: Lease,
    state: Session,
    opening: Opening,
    started: std::time::Instant,
) -> Result<(Live, Attached), ApiError> {
    if opening.host.is_none() {
        effects::expect_sandbox();
    }
    let layer = opening.store.session_dir(lease.session()).map_err(|error| internal(&error))?.join("layer");
    std::fs::create_dir_all(&layer).map_err(|error| internal(&error))?;
    let shown = match admitted(&opening.policy) {
        Ok(admitted) => opening.repo.survey(opening.person.uid, &admitted),
        Err(error) => return Err(place::not_opened(&lease, &opening, error)),
    };
    let masks = match place::masks(&opening, &layer, &shown) {
        Ok(masks) => masks,
        Err(error) => return Err(place::not_opened(&lease, &opening, error)),
    };
    let (lease, opening, masks, placed) = place::place(lease, opening, layer.clone(), shown, masks).await?;
    let Placed { sandbox, elsewhere, backend, names, mut notes } = placed;
    let (masks, history) = masks;
    notes.extend(masks.notes(opening.policy.settings().labels.project(), &history));
    let base = record_base(&opening.repo, &layer);
    let (listener, events) = mpsc::unbounded_channel::<Told>();
    let (reporter, reports) = mpsc::unbounded_channel();
    let ear = listener.clone();
    let teller = Teller::new(lease.session().clone(), opening.clock.clone(), listener);
    let (surface, on_ask, tools) = (opening.surface(), opening.on_ask(), opening.tools()?);
    let quote = opening.policy.settings().repository_instructions.unwrap_or(true);
    let told = opened_view(&opening, &sandbox, names, notes, &tools);
    let (orders, inbox) = opening.orders;
    let attached = Attached { session: lease.session().clone(), events, orders };
    let weaver = Weaver::of_store(&opening.store, lease.session().clone(), opening.person.user.clone())
        .map_err(|error| internal(&error))?;
    let mut live = Live {
        weaver: Box::new(weaver),
        shown: Phase::Closed(Outcome::Failed),
        clock: opening.clock,
        lease,
        state,
        policy: opening.policy,
        rules: Rules::new(opening.sources, opening.store),
        person: opening.person.user,
        role: Role::Owner,
        surface,
        answering: opening.answering,
        on_ask,
        conversation: opening.conversation,
        patch: opening.patch,
        instructions: crate::instructions::compose(&opening.repo.root, quote),
        repo: opening.repo,
        layer,
        tools,
        model: opening.model,
        window: Window { tokens: opening.context_tokens, ..Window::default() },
        next_call: 1,
        reviewed: None,
        corrections: 0,
        queued: Vec::new(),
        base: Some(base),
        keeper: None,
        told_no_way_back: false,
        taken_up: false,
        board: super::background::Board::default(),
        sandbox: Arc::new(sandbox),
        masks,
        elsewhere,
        teller,
        orders: Orders::new(inbox, opening.remote, ear),
        control: opening.control,
        reports,
        reporter,
    };
    live.opened(told, &backend, &history, started).await.map_err(|halt| internal(&halt))?;
    Ok((live, attached))
}

impl Live {
    /// Records what was obtained, and tells it.
    async fn opened(
        &mut self,
        mut told: Opened,
        backend: &Backend,
        history: &History,
        started: std::time::Instant,
    ) -> Result<(), Halt> {
        let report = self.sandbox.report();
        let mut entry = facts([
            ("place", json!(told.place)),
            ("isolation", json!(told.isolation)),
            ("host_uid", json!(report.host_uid)),
            ("landlock_abi", json!(report.landlock_abi)),
            ("missing", json!(report.missing)),
            ("workspace", workspace::journaled(&report.workspace)),
            ("toolchains", json!(told.toolchains)),
        ]);
        if self.masks.is_any() || *history != History::Whole {
            entry.insert("masked".to_owned(), json!(self.masks.is_any()));
            entry.insert("history".to_owned(), json!(history.word()));
        }
        entry.extend(backend::told(backend));
        // What a host says is its own claim, and is journaled as such.
        if let Some(claim) = self.sandbox.claim() {
            entry.insert("claimed_by_host".to_owned(), json!({"user": claim.uid, "process": claim.pid}));
        }
        self.remark("sandbox.opened", entry).await?;
        told.budget = self.budget_view();
        told.open_ms = started.elapsed().as_secs_f64() * 1e3;
        self.teller.tell(Body::Opened(told));
        self.know_project().await?;
        self.unmask().await
    }
}

fn opened_view(
    opening: &Opening,
    sandbox: &Workplace,
    toolchains: Vec<String>,
    mut notes: Vec<String>,
    tools: &[Tool],
) -> Opened {
    notes.extend(opening.config.announced.iter().cloned());
    notes.extend(workspace::told(&sandbox.report().workspace));
    Opened {
        repo: opening.repo.root.display().to_string(),
        model: opening.model.name(),
        policy: opening.sources.described(),
        policy_digest: opening.policy.digest().as_str().to_owned(),
        surface: opening.surface().as_str().to_owned(),
        tools: tools.iter().filter(|tool| tool.visible).map(|tool| tool.spec.name.clone()).collect(),
        place: sandbox.word().to_owned(),
        isolation: sandbox.report().level.word().to_owned(),
        toolchains,
        notes,
        budget: enclos_protocol::event::BudgetView::default(),
        open_ms: 0.0,
    }
}

fn opening_facts(opening: &Opening) -> Facts {
    facts([
        ("user", json!(opening.person.user)),
        ("surface", json!(opening.surface().as_str())),
        ("repo", json!(opening.repo.root.display().to_string())),
        ("model", json!(opening.model.name())),
        ("policy", json!(opening.policy.digest())),
        ("sources", json!(opening.sources.described())),
        ("instructions", json!(crate::instructions::VERSION)),
        ("announced", json!(opening.config.announced)),
    ])
}

/// Takes down, beside the session, what git knows of the tree at opening.
///
/// Without this snapshot a file that changes outside becomes a conflict instead of a merge; nothing is lost.
fn record_base(repo: &Repo, layer: &Path) -> tokio::task::JoinHandle<()> {
    let (root, layer) = (repo.root.clone(), layer.to_path_buf());
    tokio::task::spawn_blocking(move || drop(changeset::record_unclean(&root, &layer)))
}

/// The session's own task. It ends with `run.finished`.
fn run(live: Live) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one task of a session, started here and ended by itself"
    )]
    tokio::spawn(live.work());
}

/// An error that is nobody's mistake.
pub(super) fn internal(error: &dyn std::fmt::Display) -> ApiError {
    ApiError::new(Fault::Internal, error.to_string())
}

/// For the journal: the background commands that were at work when their gateway ended without a word.
fn facts_of_gone(names: &[String]) -> Facts {
    if names.is_empty() { Facts::new() } else { facts([("background", json!(names))]) }
}

/// As [`facts_of_gone`], for an end that is recorded beside a session.
pub(crate) fn facts_of_end(state: &Session) -> Facts {
    let names: Vec<String> = state.background().iter().map(|running| running.name.clone()).collect();
    facts_of_gone(&names)
}

/// A record that is written beside a session that no loop works on.
pub(crate) fn single(event: &Event, facts: &Facts, time_us: i64, lease: &Lease) -> Record {
    entry::record(event, facts, time_us, lease.commit_key())
}
