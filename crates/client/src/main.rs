//! The command `enclos`: the process handed to the client, with the gateway of this machine inside.

use std::io;
use std::process::ExitCode;

use enclos_client::world::{Tty, World};
use enclos_gateway::Local;
use enclos_gateway::clock::Clock;
use enclos_protocol::env::{Environment, HOME_DIR};
use enclos_protocol::error::{ApiError, Fault, Place};

fn main() -> ExitCode {
    let env = match Environment::read() {
        Ok(env) => env,
        Err(error) => {
            let place = Place::field(error.0);
            let error = ApiError::new(Fault::Configuration, error.to_string()).at(place);
            return enclos_client::refuse(std::env::args_os(), &error);
        }
    };
    let mut world = World {
        env: env.clone(),
        now: jiff::Timestamp::now,
        input: &mut io::stdin().lock(),
        out: &mut io::stdout().lock(),
        err: &mut io::stderr().lock(),
        tty: Tty::of_process(),
    };
    let code = enclos_client::run(std::env::args_os(), &mut world, |home| {
        let env = home.map_or_else(|| env.clone(), |home| env.with(HOME_DIR, &home.to_string_lossy()));
        Local::new(env, Clock::system())
    });
    ExitCode::from(code)
}
