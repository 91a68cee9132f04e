//! Orders and answers over one connection, many at a time: each order waits for the answers of its number. When the
//! connection ends, or the host leaves renewals unanswered, every order under way is lost, and so is any later one.
use super::frame;
use super::orders::{Answer, Envelope, Order, Reply};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};

type Heard = (Answer, Vec<u8>);

/// A connection of bytes in two halves: whatever keeps their order can carry a host's language.
pub(crate) struct Wire {
    /// What comes.
    pub(crate) from: Box<dyn Read + Send>,
    /// What goes.
    pub(crate) to: Box<dyn Write + Send>,
    /// Ends both, from any thread.
    pub(crate) cut: Box<dyn Fn() + Send + Sync>,
}

/// The side that writes, and who waits for what.
pub(crate) struct Post {
    session: String,
    epoch: u64,
    to: Mutex<Box<dyn Write + Send>>,
    cut: Box<dyn Fn() + Send + Sync>,
    /// `None`: the connection is lost.
    waiting: Mutex<Option<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: u32,
    orders: HashMap<u32, Sender<Heard>>,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post")
            .field("session", &self.session)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Post {
    pub(crate) fn new(
        session: String,
        epoch: u64,
        to: Box<dyn Write + Send>,
        cut: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let waiting = Mutex::new(Some(Waiting::default()));
        Self { session, epoch, to: Mutex::new(to), cut, waiting }
    }

    /// Hands out answers until the connection ends. The work of one thread.
    pub(crate) fn listen(&self, from: &mut dyn Read) {
        while let Ok(Some((Reply { id, answer }, body))) = frame::read::<Reply>(from) {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(known) = waiting.as_mut() else { break };
            let last = !matches!(answer, Answer::Output { .. });
            let asker = if last { known.orders.remove(&id) } else { known.orders.get(&id).cloned() };
            // Whoever asked may not want to know any more.
            if let Some(asker) = asker {
                drop(asker.send((answer, body)));
            }
        }
        self.lose();
    }

    /// Gives an order. Its answers come on the channel, which ends early when the connection is lost.
    pub(crate) fn order(&self, order: Order, body: &[u8]) -> Receiver<Heard> {
        let (asker, answers) = mpsc::channel();
        let id = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(known) = waiting.as_mut() else { return answers };
            known.last = known.last.wrapping_add(1).max(1);
            known.orders.insert(known.last, asker);
            known.last
        };
        let envelope = Envelope { id, session: self.session.clone(), epoch: self.epoch, order };
        let sent = {
            let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
            frame::write(&mut *to, &envelope, body).and_then(|()| to.flush())
        };
        match sent {
            Ok(()) => {}
            // Nothing of it was sent: the order itself cannot be.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.forget(id),
            Err(_) => self.lose(),
        }
        answers
    }

    fn forget(&self, id: u32) {
        if let Some(known) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            known.orders.remove(&id);
        }
    }

    /// Gives the connection up.
    pub(crate) fn lose(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        (self.cut)();
    }

    /// Whether it is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}
