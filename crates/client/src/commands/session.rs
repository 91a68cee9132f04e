//! `run`, `chat`, `resume`: a session is opened or taken up, and followed to the end of the run.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use enclos_protocol::api::{Answering, Attached, Copying, Gateway, ResumeRequest};
use enclos_protocol::error::ApiError;

use crate::cli::{ChatArgs, Output, ResumeArgs, RunArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::hi::{self, Drive};
use crate::signals::Signals;
use crate::{headless, resolve, terminal, text};

/// Opens a session for one task.
pub(crate) async fn run<G, M>(cx: &mut Context<'_, '_, M>, args: &RunArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let drive = hi::drive(&args.drive, cx.world)?;
    let mut request = hi::open_request(args, cx.world)?;
    if request.task.is_none() {
        let Some(task) = terminal::ask(text::ASK_TASK)? else { return Ok(Exit::Interrupted) };
        request.task = Some(task);
    }
    let gateway = cx.gateway();
    let gateway = told(cx, drive, gateway)?;
    let opening = gateway.open(request);
    follow(cx, Way { drive, talks: false }, &gateway, opening).await
}

/// Opens a conversation.
pub(crate) async fn chat<G, M>(cx: &mut Context<'_, '_, M>, args: &ChatArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    hi::person(cx.world)?;
    let mut request = hi::place(&args.place)?;
    request.conversation = true;
    request.task.clone_from(&args.message);
    let gateway = cx.gateway()?;
    let opening = gateway.open(request);
    follow(cx, Way { drive: Drive::Person, talks: true }, &gateway, opening).await
}

/// Takes up a session.
pub(crate) async fn resume<G, M>(cx: &mut Context<'_, '_, M>, args: ResumeArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let drive = hi::drive(&args.drive, cx.world)?;
    let patch = args.drive.patch.as_deref().map(hi::absolute).transpose()?;
    let found = cx.gateway().and_then(|gateway| {
        let session = resolve::session(&args.id, &gateway.sessions()?)?;
        Ok((gateway, session))
    });
    let (gateway, session) = told(cx, drive, found)?;
    let talks = args.chat && drive == Drive::Person;
    let request = ResumeRequest {
        session,
        extend: args.extend,
        message: args.message,
        answering: hi::answering(&args.drive),
        conversation: talks,
        patch,
    };
    debug_assert!((request.answering == Answering::Person) == (drive == Drive::Person));
    let opening = gateway.resume(request);
    follow(cx, Way { drive, talks }, &gateway, opening).await
}

/// How a session is followed.
#[derive(Clone, Copy, Debug)]
struct Way {
    drive: Drive,
    /// Whether it is a conversation: the next line is a message.
    talks: bool,
}

/// How often progress is told while a session opens.
const LOOK: Duration = Duration::from_secs(2);

/// Tells a person who waits how far a copy of the repository is. A program that reads is told nothing.
fn tell_copying<M>(
    cx: &mut Context<'_, '_, M>,
    drive: Drive,
    copying: Option<Copying>,
) -> Result<(), CommandError> {
    if let (Some(copying), Drive::Person | Drive::Headless(Output::Text)) = (copying, drive) {
        writeln!(cx.world.err, "{}", text::copying(copying))?;
    }
    Ok(())
}

/// Waits for the session and follows it. A signal that comes first ends the command: there is no session yet.
async fn follow<G, M>(
    cx: &mut Context<'_, '_, M>,
    way: Way,
    gateway: &G,
    opening: impl Future<Output = Result<Attached, ApiError>>,
) -> Result<Exit, CommandError>
where
    G: Gateway,
{
    let mut signals = Signals::catch()?;
    let mut opening = std::pin::pin!(opening);
    let opened = loop {
        tokio::select! {
            biased;
            caught = signals.next() => return Ok(caught.exit()),
            opened = &mut opening => break opened.map_err(CommandError::from),
            () = tokio::time::sleep(LOOK) => tell_copying(cx, way.drive, gateway.copying())?,
        }
    };
    let attached = told(cx, way.drive, opened)?;
    match way.drive {
        Drive::Person => terminal::follow(cx.world, cx.look, gateway, attached, signals, way.talks).await,
        Drive::Headless(output) => headless::follow(cx.world, cx.look, output, attached, signals).await,
    }
}

/// Tells an error in the form that a headless run was asked for, besides the words on the standard error.
fn told<T, M>(
    cx: &mut Context<'_, '_, M>,
    drive: Drive,
    result: Result<T, CommandError>,
) -> Result<T, CommandError> {
    if let (Err(error), Drive::Headless(output)) = (&result, drive) {
        headless::failed(cx.world, output, error)?;
    }
    result
}
