//! `enclos host`: the process that serves sandboxes to gateways of this machine, until it is asked to end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use enclos_protocol::api::HostRequest;
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::host::{Config, Host, HostFailure};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Serves until TERM, INT or HUP. `say` is told what happens, a line each, without content.
pub(crate) async fn serve(
    request: HostRequest,
    places: (PathBuf, PathBuf, Option<PathBuf>),
    say: &mut dyn FnMut(&str),
) -> Result<(), ApiError> {
    let (socket, state, home) = places;
    let config = Config {
        socket: request.socket.unwrap_or(socket),
        state: request.state.unwrap_or(state),
        gateways: request.gateway_uids,
        home,
    };
    let internal = |error: std::io::Error| ApiError::new(Fault::Internal, error.to_string());
    let mut ends = [
        signal(SignalKind::terminate()).map_err(internal)?,
        signal(SignalKind::interrupt()).map_err(internal)?,
        signal(SignalKind::hangup()).map_err(internal)?,
    ];
    let (lines, mut told) = mpsc::unbounded_channel::<String>();
    let shown = config.socket.clone();
    // Whoever listens may have gone; the host goes on.
    let teller = Box::new(move |line: &str| drop(lines.send(line.to_owned())));
    let host = Host::start(config, teller).map_err(|failure| of_failure(&failure))?;
    say(&format!("enclos host {}: the self-test passed, {}", env!("CARGO_PKG_VERSION"), host.level()));
    say(&format!("listening at {}", shown.display()));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let mut serving = tokio::task::spawn_blocking(move || host.serve(&stopped));
    let [term, int, hup] = &mut ends;
    loop {
        tokio::select! {
            Some(line) = told.recv() => say(&line),
            _ = term.recv() => stop.store(true, Ordering::Release),
            _ = int.recv() => stop.store(true, Ordering::Release),
            _ = hup.recv() => stop.store(true, Ordering::Release),
            served = &mut serving => {
                while let Ok(line) = told.try_recv() {
                    say(&line);
                }
                say("ended");
                return served.map_err(|error| ApiError::new(Fault::Internal, error.to_string()));
            }
        }
    }
}

fn of_failure(failure: &HostFailure) -> ApiError {
    let message = failure.to_string();
    match failure {
        HostFailure::SelfTest(checks) => {
            let error = ApiError::new(Fault::Internal, format!("no session is served: {message}"));
            checks.iter().filter_map(|check| check.remedy.clone()).fold(error, ApiError::hint)
        }
        HostFailure::Taken(_) => ApiError::new(Fault::Usage, message)
            .hint("end the other one, or name another place with --socket and --state"),
        HostFailure::Place { .. } => ApiError::new(Fault::Usage, message),
    }
}
