//! A session without a person: its events become output, its exit code is the gateway's.
//!
//! Nothing is ever answered here. A signal interrupts the turn and leaves the session to be resumed; a second
//! interruption, or a quit, stops it.

mod forms;

pub(crate) use forms::failed;

use std::time::Duration;

use enclos_protocol::api::Attached;
use enclos_protocol::error::Fault;
use enclos_protocol::event::Body;
use enclos_protocol::order::Order;

use crate::cli::Output;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::{Caught, Signals};
use crate::text;
use crate::world::{Look, World};

/// How long a session that was told to end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a run was told to end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// By a signal.
    Caught(Caught),
    /// The reader of the output is gone.
    Pipe,
}

impl Ending {
    fn exit(self) -> Exit {
        match self {
            Self::Caught(caught) => caught.exit(),
            Self::Pipe => Exit::Pipe,
        }
    }
}

/// Follows a session to its end.
pub(crate) async fn follow(
    world: &mut World<'_>,
    look: Look,
    output: Output,
    mut attached: Attached,
    mut signals: Signals,
) -> Result<Exit, CommandError> {
    let mut form = forms::Form::new(output, look);
    let mut ending: Option<Ending> = None;
    let mut finished: Option<End> = None;
    loop {
        let patience = async {
            match ending {
                Some(_) => tokio::time::sleep(PATIENCE).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            caught = signals.next() => {
                let stop = caught == Caught::Quit || (caught == Caught::Interrupt && ending.is_some());
                order(&attached, stop);
                ending = Some(Ending::Caught(caught));
            }
            event = attached.events.recv() => {
                let Some(event) = event else { break };
                finished = End::of(&event.body).or(finished);
                match form.event(world, &event) {
                    Ok(()) => {}
                    Err(error) if error.exit == Exit::Pipe => {
                        order(&attached, false);
                        ending.get_or_insert(Ending::Pipe);
                    }
                    Err(error) => return Err(error),
                }
            }
            () = patience => break,
        }
    }
    let exit = match (ending, &finished) {
        (Some(ending), _) => ending.exit(),
        (None, Some(end)) => Exit::Passed(end.code),
        (None, None) => {
            return Err(CommandError::new(Fault::Unreachable, text::STREAM_CUT)
                .hint(text::hint_resume(attached.session.as_str())));
        }
    };
    if ending != Some(Ending::Pipe) {
        form.end(world, &attached.session, exit)?;
    }
    match finished.filter(|_| ending.is_none() && output != Output::Text).and_then(End::error) {
        // In words it is among what was told as it came.
        Some(error) => Err(error),
        None => Ok(exit),
    }
}

/// The last event of a run.
struct End {
    code: u8,
    next_step: String,
    error: Option<String>,
}

impl End {
    fn of(body: &Body) -> Option<Self> {
        match body {
            Body::Finished { exit_code, next_step, error, .. } => {
                Some(Self { code: *exit_code, next_step: next_step.clone(), error: error.clone() })
            }
            _ => None,
        }
    }

    /// The error of a run that could not go on. What was refused, or waits for a person, is its outcome.
    fn error(self) -> Option<CommandError> {
        let fault = match self.code {
            1 => Fault::Internal,
            2 => Fault::Usage,
            3 => Fault::Budget,
            6 => Fault::Unreachable,
            _ => return None,
        };
        let Self { code, next_step, error } = self;
        let mut left = Some(next_step).filter(|step| !step.is_empty());
        let message = error.or_else(|| left.take()).unwrap_or_else(|| text::run_failed(code));
        let told = CommandError::new(fault, message);
        Some(left.into_iter().fold(told, CommandError::hint))
    }
}

/// Leaves the session to be resumed, or stops it. A session that is over takes no order, which is no error.
fn order(attached: &Attached, stop: bool) {
    let _ = attached.orders.send(if stop { Order::Stop } else { Order::Leave });
}
