//! What the command line means: [`LowArgs`] joined with the environment and the terminal, decided once.
//!
//! Here a word becomes a path, a colour a decision, a surface a request of the API. What cannot be meant is refused
//! with a hint; nothing is guessed and no session is opened here.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use enclos_protocol::api::{Answering, OnAsk, OpenRequest};
use enclos_protocol::env;

use crate::cli::{Ask, DriveArgs, LowArgs, Output, RunArgs, When, WhereArgs};
use crate::error::CommandError;
use crate::style::Paint;
use crate::text;
use crate::world::{Look, World};

/// The fewest columns that are drawn for.
const NARROWEST: usize = 20;
/// Columns where there is no terminal.
const NO_TERMINAL: usize = 100;
/// Bytes of a task that is read from the standard input.
const TASK_BYTES: u64 = 1 << 20;

/// How a run is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    /// A person at this terminal.
    Person,
    /// Nobody.
    Headless(Output),
}

/// How everything is to look.
pub(crate) fn look(low: &LowArgs, world: &World<'_>) -> Look {
    let dumb = world.env.get(env::TERM) == Some("dumb");
    let no_color = world.env.get(env::NO_COLOR).is_some_and(|value| !value.is_empty());
    let colour = |tty: bool| match low.color {
        When::Always => true,
        When::Never => false,
        When::Auto => tty && !no_color && !dumb && !low.plain,
    };
    let width = if world.tty.output { usize::from(world.tty.width) } else { NO_TERMINAL };
    Look {
        paint: Paint::new(colour(world.tty.output)),
        err_paint: Paint::new(colour(world.tty.error)),
        plain: low.plain || dumb || !world.tty.output,
        width: width.max(NARROWEST),
    }
}

/// Who drives, or why nobody can. A card is never read from a pipe: a person needs a terminal on both sides.
pub(crate) fn drive(args: &DriveArgs, world: &World<'_>) -> Result<Drive, CommandError> {
    if args.headless {
        return Ok(Drive::Headless(args.output.unwrap_or_default()));
    }
    person(world)?;
    Ok(Drive::Person)
}

/// A person at a terminal, or an error with the way out.
pub(crate) fn person(world: &World<'_>) -> Result<(), CommandError> {
    if world.tty.input && world.tty.output {
        return Ok(());
    }
    Err(CommandError::usage(text::NO_TERMINAL).hint(text::HINT_HEADLESS))
}

/// Who answers the cards.
pub(crate) fn answering(args: &DriveArgs) -> Answering {
    if !args.headless {
        return Answering::Person;
    }
    Answering::Nobody(match args.on_ask.unwrap_or_default() {
        Ask::Park => OnAsk::Park,
        Ask::Stop => OnAsk::Stop,
        Ask::Deny => OnAsk::Deny,
    })
}

/// The request that a `run` stands for. A task of `-` is read from the standard input of a headless run.
pub(crate) fn open_request(args: &RunArgs, world: &mut World<'_>) -> Result<OpenRequest, CommandError> {
    let headless = args.drive.headless;
    let task = match args.task.as_deref() {
        Some("-") if headless => Some(task_from(world)?),
        Some(task) => Some(task.to_owned()),
        None if headless => return Err(CommandError::usage(text::NO_TASK).hint(text::HINT_TASK)),
        None => None,
    };
    if task.as_deref().is_some_and(|task| task.trim().is_empty()) {
        return Err(CommandError::usage(text::EMPTY_TASK).hint(text::HINT_TASK));
    }
    Ok(OpenRequest {
        task,
        answering: answering(&args.drive),
        patch: args.drive.patch.as_deref().map(absolute).transpose()?,
        ..place(&args.place)?
    })
}

/// A request that has only its place and rules, driven by a person.
pub(crate) fn place(args: &WhereArgs) -> Result<OpenRequest, CommandError> {
    Ok(OpenRequest {
        repo: absolute(&args.repo)?,
        task: None,
        model: args.model.clone(),
        preset: args.preset.clone(),
        policy: args.policy.clone(),
        answering: Answering::Person,
        conversation: false,
        patch: None,
    })
}

fn task_from(world: &mut World<'_>) -> Result<String, CommandError> {
    let mut task = String::new();
    let read = world.input.take(TASK_BYTES + 1).read_to_string(&mut task);
    match read {
        Ok(bytes) if bytes as u64 > TASK_BYTES => Err(CommandError::usage(text::TASK_TOO_LONG)),
        Ok(_) => Ok(task),
        Err(error) => Err(CommandError::usage(text::task_unreadable(&error.to_string()))),
    }
}

/// A path that no longer depends on the current folder.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, CommandError> {
    std::path::absolute(path).map_err(|error| CommandError::file(text::FIND, path, &error))
}
