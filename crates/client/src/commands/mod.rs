//! One file a command, and the one place that chooses among them.

mod approvals;
mod batch;
mod changes;
mod decide;
mod demo;
mod doctor;
mod host;
mod journal;
mod lab;
mod lineage;
mod policy;
mod reference;
mod sandbox;
mod session;
mod sessions;
mod versions;

use std::path::Path;

use clap::CommandFactory as _;
use enclos_core::ids::SessionId;
use enclos_protocol::api::Gateway;
use enclos_protocol::error::ApiError;

use crate::cli::{JournalCommand, LowArgs, LowCommand, PolicyCommand, SandboxCommand};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::resolve;
use crate::world::{Look, World};

/// What every command gets.
pub(crate) struct Context<'c, 'w, M> {
    /// The process.
    pub(crate) world: &'c mut World<'w>,
    /// How it looks.
    pub(crate) look: Look,
    /// Opens the gateway.
    pub(crate) make: &'c M,
}

impl<G, M> Context<'_, '_, M>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    /// The gateway of the environment.
    fn gateway(&self) -> Result<G, CommandError> {
        Ok((self.make)(None)?)
    }

    /// The gateway, and the session that an ID means there.
    fn of(&self, id: &str) -> Result<(G, SessionId), CommandError> {
        let gateway = self.gateway()?;
        let session = resolve::session(id, &gateway.sessions()?)?;
        Ok((gateway, session))
    }
}

/// Runs a command.
pub(crate) async fn run<G, M>(
    command: LowCommand,
    world: &mut World<'_>,
    look: Look,
    make: &M,
) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let mut cx = Context { world, look, make };
    match command {
        LowCommand::Demo(args) => demo::run(&mut cx, &args).await,
        LowCommand::Run(args) => session::run(&mut cx, &args).await,
        LowCommand::Chat(args) => session::chat(&mut cx, &args).await,
        LowCommand::Resume(args) => session::resume(&mut cx, args).await,
        LowCommand::Sessions(args) => sessions::list(&mut cx, args),
        LowCommand::Show(args) => sessions::show(&mut cx, &args),
        LowCommand::Stop(args) => sessions::stop(&mut cx, &args).await,
        LowCommand::Approvals(args) => approvals::list(&mut cx, args),
        LowCommand::Approve(args) => approvals::approve(&mut cx, args).await,
        LowCommand::Reject(args) => approvals::reject(&mut cx, args).await,
        LowCommand::Grants(args) => approvals::grants(&mut cx, args).await,
        LowCommand::Diff(args) => changes::diff(&mut cx, &args),
        LowCommand::Apply(args) => changes::apply(&mut cx, args),
        LowCommand::Undo(args) => changes::undo(&mut cx, args).await,
        LowCommand::Discard(args) => changes::discard(&mut cx, &args),
        LowCommand::Reset(args) => changes::reset(&mut cx, &args),
        LowCommand::Policy(PolicyCommand::Check(args)) => policy::check(&mut cx, &args),
        LowCommand::Policy(PolicyCommand::Test(args)) => lab::test(&mut cx, &args),
        LowCommand::Policy(PolicyCommand::Diff(args)) => lab::diff(&mut cx, &args),
        LowCommand::Policy(PolicyCommand::Simulate(args)) => lab::simulate(&mut cx, args),
        LowCommand::Policy(PolicyCommand::Schema(args)) => lab::schema(cx.world, &args),
        LowCommand::Policy(PolicyCommand::Explain(args)) => policy::explain(&mut cx, args),
        LowCommand::Policy(PolicyCommand::ExplainCommand(args)) => policy::explain_command(&mut cx, args),
        LowCommand::Policy(PolicyCommand::Decide(args)) => policy::decide(&mut cx, args),
        LowCommand::Policy(PolicyCommand::Apply(args)) => versions::apply(&mut cx, args),
        LowCommand::Policy(PolicyCommand::History(args)) => versions::history(&mut cx, &args),
        LowCommand::Policy(PolicyCommand::Rollback(args)) => versions::rollback(&mut cx, &args),
        LowCommand::Policy(PolicyCommand::Show(args)) => versions::show(&mut cx, &args),
        LowCommand::Sandbox(SandboxCommand::Run(args)) => {
            sandbox::run(&mut cx, args).map_err(|error| error.exit(Exit::OUR_FAILURE))
        }
        LowCommand::Journal(JournalCommand::Export(args)) => journal::export(&mut cx, &args),
        LowCommand::Journal(JournalCommand::Verify(args)) => {
            journal::verify(&mut cx, &args).map_err(|error| error.exit(Exit::BAD_INPUT))
        }
        LowCommand::Lineage(command) => lineage::run(&mut cx, command),
        LowCommand::Doctor(args) => doctor::run(&mut cx, args),
        LowCommand::Host(args) => host::run(&mut cx, args).await,
        LowCommand::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut LowArgs::command(), "enclos", &mut script);
            cx.world.out.write_all(&script)?;
            Ok(Exit::Done)
        }
        LowCommand::Reference(args) => reference::run(cx.world, args.page),
    }
}
