//! One session at work: the loop, and what it holds.
//!
//! The loop asks `core::session` what is to be done, does it, and records what came of it; the record is durable
//! before its effect. The loop decides nothing by itself: verdicts come from `judge`, effects go through `effects`.

mod answer;
mod ask;
mod background;
mod card;
mod checkpoint;
mod compact;
mod entry;
mod finish;
mod grants;
mod handle;
mod judge;
mod label;
mod names;
mod open;
mod orders;
mod past;
mod place;
mod record;
mod review;
mod rules;
mod wait;
mod weave;
mod workspace;

use std::path::PathBuf;
use std::sync::Arc;

use enclos_connect::model::Model;
use enclos_core::args::Schema;
use enclos_core::ids::UserId;
use enclos_core::model::ToolSpec;
use enclos_core::policy::{OnAsk, Policy, Role, Surface};
use enclos_core::session::{Impossible, Next, Phase, Session};
use enclos_protocol::api::Answering;
use enclos_store::{Lease, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::clock::Clock;
use crate::control::Control;
use crate::effects::Report;
use crate::host::Elsewhere;
use crate::masks::Masks;
use crate::repo::Repo;
use crate::tell::Teller;
use crate::workplace::Workplace;

pub(crate) use answer::{Here, Said, checked, event as answer_event, over, revoke, state_view};
pub(crate) use entry::facts;
pub(crate) use finish::{Exit, Finish};
pub(crate) use handle::automation;
pub(crate) use judge::{Question, verdict, verdict_of_classed, verdict_of_part, verdict_of_tool};
pub(crate) use open::{Again, Opening, admitted, facts_of_end, open, plan, resume};
pub(crate) use orders::{Orders, Remote};
pub(crate) use past::{Past, replay};
pub(crate) use record::{Facts, record_beside, session_state};
pub(crate) use review::{Made, accept, change_set, close_quietly, discard, view};
pub(crate) use wait::budget_view;
pub(crate) use weave::{Part, PartHunk, Parts, sent};

/// A session at work.
pub(crate) struct Live {
    clock: Clock,
    lease: Lease,
    state: Session,
    /// What its events leave in the lineage.
    weaver: Box<weave::Weaver>,
    shown: Phase,
    policy: Policy,
    rules: rules::Rules,
    person: UserId,
    role: Role,
    surface: Surface,
    answering: Answering,
    on_ask: OnAsk,
    conversation: bool,
    patch: Option<PathBuf>,
    repo: Repo,
    layer: PathBuf,
    tools: Vec<Tool>,
    instructions: String,
    model: Model,
    window: Window,
    next_call: u64,
    /// The change set that was shown last.
    reviewed: Option<enclos_core::ids::Digest>,
    corrections: u32,
    queued: Vec<String>,
    /// Under way until the base of the change set is written down.
    base: Option<tokio::task::JoinHandle<()>>,
    /// Keeps what the workspace is before each change of it.
    keeper: Option<crate::undo::Keeper>,
    /// Whether it was told that the last moment is not kept.
    told_no_way_back: bool,
    /// Whether a person took it up, which grants an extension once one is needed.
    taken_up: bool,
    board: background::Board,
    sandbox: Arc<Workplace>,
    /// What is not shown in it until the session knows as much.
    masks: Masks,
    /// Where the layer is, when that is not here.
    elsewhere: Option<Elsewhere>,
    teller: Teller,
    orders: Orders,
    control: Option<Control>,
    reports: UnboundedReceiver<Report>,
    reporter: UnboundedSender<Report>,
}

/// A built-in tool, with the schema that its arguments must fit.
pub(crate) struct Tool {
    spec: ToolSpec,
    schema: Schema,
    /// Whether the model is shown it: a disabled tool is invisible.
    visible: bool,
}

/// What is known of the model's window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// Tokens that it holds; asked for when the history has grown.
    tokens: Option<u64>,
    /// Tokens of the last call by the server's count, and our estimate of the history then.
    last: Option<(u64, u64)>,
    /// Whether the last thing that was done was a compaction.
    just_compacted: bool,
}

/// How the loop goes on.
#[derive(Debug)]
enum Flow {
    /// It goes on.
    On,
    /// The run is over.
    Finish(Finish),
}

/// Why the loop cannot go on. Nothing runs after it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    /// The journal cannot be written.
    #[error("the journal cannot be written: {0}")]
    Store(#[from] StoreError),
    /// An event has no place in the session.
    #[error("the session is in a state that it cannot be in: {0}")]
    Impossible(#[from] Impossible),
    /// There is no policy, and none that closes everything either.
    #[error("there is no policy: {0}")]
    Policy(String),
    /// A background command does not end.
    #[error("the background commands `{0}` were killed and do not end, so nothing is made of the workspace")]
    Background(String),
    /// The change set cannot be made.
    #[error("the change set cannot be made: {0}")]
    ChangeSet(String),
}

impl Live {
    /// Works until the run is over, tells it, and takes the sandbox down.
    pub(crate) async fn work(mut self) {
        let finish = loop {
            match self.turn().await {
                Ok(Flow::On) => {}
                Ok(Flow::Finish(finish)) => break finish,
                Err(halt) => {
                    self.teller.notice(halt.to_string());
                    break Finish::new(Exit::Failed, halt.to_string());
                }
            }
        };
        self.finish(finish).await;
    }

    /// The end of a run whose host is lost, once what was under way there is recorded.
    fn host_lost(&self) -> Option<Finish> {
        let runs =
            |call: &enclos_core::call::Call| matches!(call.state(), enclos_core::call::State::Calling { .. });
        if !self.sandbox.is_lost() || self.state.calls().iter().any(runs) {
            return None;
        }
        let id = self.lease.session();
        Some(Finish::new(
            Exit::Unreachable,
            format!("the execution host was lost: start it with enclos host, then: enclos resume {id}"),
        ))
    }

    /// The end of a run in a sandbox that has less isolation than the policy in force demands by now.
    fn too_weak(&self) -> Option<Finish> {
        let demanded = crate::isolation::unmet(&self.policy, self.sandbox.report())?;
        let message = format!(
            "the policy of the {} now demands `execution.isolation = \"{}\"`, and this session's sandbox has `{}`",
            demanded.scope,
            demanded.level,
            self.sandbox.report().level.word()
        );
        Some(Finish::new(Exit::Usage, message))
    }

    /// The end of a run at a place that the policy in force does not allow any more.
    fn out_of_place(&self) -> Option<Finish> {
        let fixed = self.policy.settings().place.as_ref()?;
        let place = self.sandbox.word();
        if fixed.place.to_string() == place {
            return None;
        }
        let message = format!(
            "the policy of the {} now fixes `execution.place = \"{}\"`, and this session works at `{place}`",
            fixed.scope, fixed.place
        );
        Some(Finish::new(Exit::Usage, message))
    }

    /// One step of the loop.
    async fn turn(&mut self) -> Result<Flow, Halt> {
        if let Some(finish) = self.host_lost() {
            return Ok(Flow::Finish(finish));
        }
        self.take_policy().await?;
        self.know_project().await?;
        if let Some(finish) = self.out_of_place().or_else(|| self.too_weak()) {
            return Ok(Flow::Finish(finish));
        }
        let next = self.state.next(self.clock.now_us());
        if self.goes_on(&next).await? {
            return Ok(Flow::On);
        }
        match next {
            Next::AskModel => match self.model_not_cleared() {
                Some(finish) => Ok(Flow::Finish(finish)),
                None => self.ask_model().await,
            },
            Next::Judge(calls) => self.handle(calls).await,
            Next::Wait => self.wait().await,
            Next::AskExtension(spent) => self.ask_extension(spent).await,
            Next::EndOfTurn(end) => self.end_of_turn(end).await,
            Next::Nothing => Ok(Flow::Finish(Finish::new(Exit::Done, String::new()))),
        }
    }
}
