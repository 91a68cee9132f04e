//! The person's side of Enclos: the command `enclos` over any gateway.
//!
//! It shows sessions and carries a person's answers; it decides nothing. Everything it needs of its process comes in
//! by parameter ([`world::World`]), and the gateway by a closure, so the whole command runs in a test.

pub mod cli;
mod commands;
pub mod error;
pub mod escape;
pub mod exit;
mod headless;
mod hi;
pub mod layout;
mod render;
mod resolve;
mod signals;
pub mod style;
mod telling;
mod terminal;
mod text;
pub mod world;

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _};
use enclos_protocol::api::Gateway;
use enclos_protocol::env::Environment;
use enclos_protocol::error::{ApiError, Fault};

use crate::cli::LowArgs;
use crate::error::CommandError;
use crate::style::Paint;
use crate::telling::Form;
use crate::world::{Look, Tty, World};

/// The most columns that help is laid out for.
const HELP_WIDTH: usize = 100;

/// Runs one command and returns its exit code.
///
/// `make` opens the gateway: that of the environment, or one whose home is the given folder and nothing else.
pub fn run<G, M>(args: impl IntoIterator<Item = OsString>, world: &mut World<'_>, make: M) -> u8
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let args: Vec<OsString> = args.into_iter().collect();
    let form = Form::asked(&args);
    let width = if world.tty.output { usize::from(world.tty.width).min(HELP_WIDTH) } else { HELP_WIDTH };
    let parsed = LowArgs::command().term_width(width).try_get_matches_from(args);
    let low = match parsed.and_then(|matches| LowArgs::from_arg_matches(&matches)) {
        Ok(low) => low,
        Err(error) => return form.words_of_clap(&error, world).code(),
    };
    let look = hi::look(&low, world);
    let done = runtime().and_then(|runtime| {
        let done = runtime.block_on(commands::run(low.command, world, look, &make));
        // A thread that still waits for a key must not hold the end back.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(exit) => exit.code(),
        Err(error) => {
            form.tell(world, look, &error);
            error.exit.code()
        }
    }
}

/// Tells a mistake that was made before there is a world, and gives its exit code.
pub fn refuse(args: impl IntoIterator<Item = OsString>, error: &ApiError) -> std::process::ExitCode {
    let error = CommandError::from(error.clone());
    let tty = Tty { input: false, output: false, error: false, width: 80, height: 24 };
    let mut world = World {
        env: Environment::default(),
        now: jiff::Timestamp::now,
        input: &mut std::io::empty(),
        out: &mut std::io::sink(),
        err: &mut std::io::stderr(),
        tty,
    };
    let look = Look { paint: Paint::PLAIN, err_paint: Paint::PLAIN, plain: true, width: usize::MAX };
    Form::asked(&args.into_iter().collect::<Vec<_>>()).tell(&mut world, look, &error);
    std::process::ExitCode::from(error.exit.code())
}

fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| CommandError::new(Fault::Internal, text::no_runtime(&error.to_string())))
}
