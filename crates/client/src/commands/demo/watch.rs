//! A demonstration that answers itself: everything is printed. The answers are the gateway's, as automation.

use std::time::Duration;

use enclos_core::verdict::Verdict;
use enclos_protocol::api::Attached;
use enclos_protocol::error::Fault;
use enclos_protocol::event::{Body, SessionState};
use enclos_protocol::order::Order;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, prose};
use crate::render::card;
use crate::render::transcript::Transcript;
use crate::signals::Signals;
use crate::style::Role;
use crate::text;
use crate::world::{Look, World};

/// How long a session that was told to end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Follows the session to the end of the run.
pub(crate) async fn follow(
    world: &mut World<'_>,
    look: Look,
    mut attached: Attached,
    mut signals: Signals,
) -> Result<Exit, CommandError> {
    let mut transcript = Transcript::new(look.width, false);
    let (mut finished, mut told_reading, mut refused) = (None, false, false);
    loop {
        let event = tokio::select! {
            biased;
            caught = signals.next() => {
                // Nobody resumes a demonstration: it is stopped.
                let _ = attached.orders.send(Order::Stop);
                let _ = tokio::time::timeout(PATIENCE, async { while attached.events.recv().await.is_some() {} }).await;
                return Ok(caught.exit());
            }
            event = attached.events.recv() => event,
        };
        let Some(event) = event else { break };
        let mut rows = transcript.event(&event, (world.now)());
        match &event.body {
            Body::ApprovalRequested { card, .. } => {
                rows.extend(card::rows(card, look.width));
                rows.extend(note(text::DEMO_ANSWERED, look.width));
            }
            Body::CallDone { of, .. } if of.tool == "read" && !told_reading => {
                told_reading = true;
                rows.extend(note(text::DEMO_READING, look.width));
            }
            Body::CallDecided { verdict: Verdict::Disabled, .. } => refused = true,
            Body::CallCanceled { .. } if refused => {
                refused = false;
                rows.extend(note(text::DEMO_REFUSED, look.width));
            }
            Body::State { state: SessionState::Reviewing } => {
                rows.extend(note(text::DEMO_ACCEPTED, look.width));
            }
            Body::State { state: SessionState::WaitingInput } => {
                let _ = attached.orders.send(Order::Leave);
            }
            Body::Finished { exit_code, .. } => finished = Some(*exit_code),
            _ => {}
        }
        world.rows(look, &rows)?;
    }
    match finished {
        Some(code) => Ok(Exit::Passed(code)),
        None => Err(CommandError::new(Fault::Unreachable, text::STREAM_CUT)),
    }
}

fn note(words: &str, width: usize) -> Vec<Row> {
    prose(&Gutter { first: Row::of(Role::Good, "▸ "), rest: Row::new().to(2) }, Role::Good, words, width)
}
