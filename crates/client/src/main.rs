//! The command `enclos`: the client over the gateway of this machine.
//!
//! The only file of this crate that knows the gateway. It reads the process and hands it on by parameter.

use std::io::{BufReader, IsTerminal};
use std::process::ExitCode;

use enclos_client::world::{Tty, World};
use enclos_gateway::Local;
use enclos_gateway::clock::Clock;
use enclos_protocol::env::{self, Environment};

fn main() -> ExitCode {
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(error) => {
            eprintln!("enclos: {error}");
            return ExitCode::from(2);
        }
    };
    let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let tty = Tty {
        input: stdin.is_terminal(),
        output: stdout.is_terminal(),
        error: stderr.is_terminal(),
        width,
        height,
    };
    let mut world = World {
        env: environment.clone(),
        now: jiff::Timestamp::now,
        input: &mut BufReader::new(stdin),
        out: &mut stdout.lock(),
        err: &mut stderr.lock(),
        tty,
    };
    let code = enclos_client::run(std::env::args_os(), &mut world, |home| {
        let environment = match home {
            Some(home) => environment.with(env::HOME_DIR, &home.display().to_string()),
            None => environment.clone(),
        };
        Local::new(environment, Clock::system())
    });
    ExitCode::from(code)
}
