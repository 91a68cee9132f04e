//! `demo`: a whole session on a small repository, with the real policy, sandbox, approvals, change set and journal.
//!
//! It has a home of its own, removed at the end. It succeeds only when everything held: the refused command never ran,
//! the test passes in the tree that the change set was applied to, and the journal verifies.

mod project;
mod watch;

use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_protocol::api::{Answering, Gateway, OpenRequest, SandboxRequest};
use enclos_protocol::error::{ApiError, Fault};

use crate::cli::DemoArgs;
use crate::commands::{Context, journal};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, prose};
use crate::signals::Signals;
use crate::style::Role;
use crate::{hi, terminal, text};

/// The preset under which everything that changes something asks.
const PRESET: &str = "strict";

/// Runs the demonstration.
pub(crate) async fn run<G, M>(cx: &mut Context<'_, '_, M>, args: &DemoArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    if !args.yes && hi::person(cx.world).is_err() {
        return Err(CommandError::usage(text::NO_TERMINAL).hint(text::HINT_YES));
    }
    let folder = project::folder(&cx.world.env)?;
    let home = folder.path().join("home");
    let repo = folder.path().join("calculator");
    let script = folder.path().join("turns.json");
    let with_git = project::make(&repo, &script, &cx.world.env)?;
    let made = text::demo_made(&repo.display().to_string(), with_git);
    say(cx, &[text::DEMO_WELCOME.to_owned(), made, text::demo_rules(args.yes)])?;
    let gateway = (cx.make)(Some(&home))?;
    let done = session(cx, &gateway, args.yes, &repo, &script).await;
    drop(gateway);
    if args.keep {
        let kept = folder.keep();
        say(cx, &[text::demo_kept(&kept.display().to_string())])?;
    }
    done
}

/// Tells what was shown, in words of Enclos itself.
fn say<M>(cx: &mut Context<'_, '_, M>, lines: &[String]) -> Result<(), CommandError> {
    let gutter = Gutter { first: Row::of(Role::Good, "▌ "), rest: Row::of(Role::Good, "▌ ") };
    let mut rows = vec![Row::new()];
    rows.extend(lines.iter().flat_map(|line| prose(&gutter, Role::Bold, line, cx.look.width)));
    cx.world.rows(cx.look, &rows)
}

async fn session<G, M>(
    cx: &mut Context<'_, '_, M>,
    gateway: &G,
    yes: bool,
    repo: &Path,
    script: &Path,
) -> Result<Exit, CommandError>
where
    G: Gateway,
{
    let request = OpenRequest {
        repo: repo.to_owned(),
        task: Some(text::DEMO_TASK.to_owned()),
        model: Some(format!("script:{}", script.display())),
        preset: Some(PRESET.to_owned()),
        policy: Vec::new(),
        answering: if yes { Answering::DemoYes } else { Answering::Person },
        conversation: false,
        patch: None,
    };
    let mut signals = Signals::catch()?;
    let attached = tokio::select! {
        biased;
        caught = signals.next() => return Ok(caught.exit()),
        opened = gateway.open(request) => opened?,
    };
    let name = attached.session.clone();
    let exit = if yes {
        watch::follow(cx.world, cx.look, attached, signals).await?
    } else {
        terminal::follow(cx.world, cx.look, gateway, attached, signals, false).await?
    };
    // One command was refused on purpose, so the run of a demonstration that held ends with that code.
    if exit.code() != Exit::Done.code() && exit.code() != Exit::Refused.code() {
        say(cx, &[text::demo_ended(exit.code())])?;
        return Ok(exit);
    }
    check(cx, gateway, &name, repo)
}

/// Holds what the session left against what was promised.
fn check<G, M>(
    cx: &mut Context<'_, '_, M>,
    gateway: &G,
    session: &SessionId,
    repo: &Path,
) -> Result<Exit, CommandError>
where
    G: Gateway,
{
    if !project::was_mended(repo) {
        say(cx, &[text::DEMO_NOT_APPLIED.to_owned()])?;
        return Ok(Exit::Refused);
    }
    say(cx, &[text::DEMO_APPLIED.to_owned()])?;
    let passed = test_passes(gateway, repo.to_owned())?;
    if !passed {
        return Err(CommandError::new(Fault::Internal, text::DEMO_TEST_FAILED));
    }
    say(cx, &[text::DEMO_TEST_PASSED.to_owned()])?;
    let verification = gateway.journal_verify(None)?;
    let rows = journal::rows(&verification, cx.look.width);
    cx.world.rows(cx.look, &rows)?;
    if verification.exit_code != 0 {
        return Ok(Exit::Passed(verification.exit_code));
    }
    say(cx, &text::demo_done(session.as_str()))?;
    Ok(Exit::Done)
}

/// Runs the project's own test over the tree as it is now, in a sandbox.
fn test_passes<G: Gateway>(gateway: &G, repo: PathBuf) -> Result<bool, CommandError> {
    let request = SandboxRequest {
        repo,
        text: project::TEST.to_owned(),
        repeat: 1,
        preset: Some(PRESET.to_owned()),
        pty: false,
    };
    let report = gateway.sandbox_run(&request, &mut |_, _| {})?;
    Ok(report.runs.last().is_some_and(|run| run.exit_code == 0))
}
