//! Telling a client what happens: events in order, each with its number and time.
//!
//! What is told here is already in the store. A client that is gone is no reason to stop.

use enclos_core::ids::SessionId;
use enclos_protocol::event::{Body, Event};
use tokio::sync::mpsc::UnboundedSender;

use crate::clock::Clock;

/// The one who tells.
#[derive(Debug)]
pub(crate) struct Teller {
    session: SessionId,
    clock: Clock,
    seq: u64,
    listener: UnboundedSender<Event>,
}

impl Teller {
    pub(crate) fn new(session: SessionId, clock: Clock, listener: UnboundedSender<Event>) -> Self {
        Self { session, clock, seq: 0, listener }
    }

    /// Tells one event.
    pub(crate) fn tell(&mut self, body: Body) {
        self.seq += 1;
        let event = Event { seq: self.seq, time: self.clock.now(), session: self.session.clone(), body };
        // A listener that left has nothing to be told; the store has it all.
        drop(self.listener.send(event));
    }

    /// Tells a remark of Enclos itself.
    pub(crate) fn notice(&mut self, text: impl Into<String>) {
        self.tell(Body::Notice { text: text.into() });
    }
}
