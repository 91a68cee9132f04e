//! A session at a person's terminal: shown as it goes, and asked about what needs a person.

mod editor;
mod face;
mod guard;
mod interruptions;
mod keys;
mod live;
pub(crate) mod mode;
mod pager;
mod prompt;
mod review;
mod screen;

use enclos_protocol::api::{Attached, Gateway};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::signals::Signals;
use crate::world::{Look, World};

/// Follows a session to the end of the run. The terminal is left as it was, whatever happens.
pub(crate) async fn follow<G: Gateway>(
    world: &mut World<'_>,
    look: Look,
    gateway: &G,
    attached: Attached,
    signals: Signals,
    talks: bool,
) -> Result<Exit, CommandError> {
    let guard = guard::Guard::enter(!look.plain)?;
    let (to, inputs) = tokio::sync::mpsc::unbounded_channel();
    let Attached { session, events, orders } = attached;
    let mut face = face::Face::new(face::Parts { world, look, gateway, session, orders, guard, to, talks });
    let done = face.run(events, inputs, signals).await;
    let closed = face.close();
    done.and_then(|exit| closed.map(|()| exit))
}

/// Asks for a line that is not empty. `None` when the person leaves.
pub(crate) fn ask(prompt: &'static str) -> Result<Option<String>, CommandError> {
    loop {
        match prompt::ask(prompt)? {
            prompt::Said::Line(line) if line.trim().is_empty() => {}
            prompt::Said::Line(line) => return Ok(Some(line)),
            prompt::Said::Interrupt | prompt::Said::Quit | prompt::Said::End => return Ok(None),
        }
    }
}
