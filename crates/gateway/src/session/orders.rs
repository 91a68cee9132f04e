//! Orders that reach a session at work: from the client that is attached, and from the control socket.

use enclos_protocol::event::Event;
use enclos_protocol::order::{Order, Reply};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

/// An order from another process of the same person.
#[derive(Debug)]
pub(crate) struct Remote {
    pub order: Order,
    /// Whether a person sits at its terminal.
    pub at_terminal: bool,
    pub reply: oneshot::Sender<Reply>,
}

/// Who gave the last order, and who waits to hear of it.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// For an order of another process: whether a person sits at its terminal.
    pub remote: Option<bool>,
    reply: Option<oneshot::Sender<Reply>>,
}

impl Source {
    /// Tells what became of the order. One that waits no more need not be told.
    pub(crate) fn reply(self, reply: Reply) {
        if let Some(waiting) = self.reply {
            drop(waiting.send(reply));
        }
    }
}

/// Where orders come from.
#[derive(Debug)]
pub(crate) struct Orders {
    inbox: UnboundedReceiver<Order>,
    remote: UnboundedReceiver<Remote>,
    /// The client's ear: when it is gone, so is the client.
    client: UnboundedSender<Event>,
    client_left: bool,
    source: Source,
}

impl Orders {
    pub(crate) fn new(
        inbox: UnboundedReceiver<Order>,
        remote: UnboundedReceiver<Remote>,
        client: UnboundedSender<Event>,
    ) -> Self {
        Self { inbox, remote, client, client_left: false, source: Source::default() }
    }

    /// The next order. A client that is gone without a word leaves the session as it is.
    pub(crate) async fn next(&mut self) -> Order {
        // Whoever still waits to hear of the order before learns that nobody took it.
        self.source = Source::default();
        tokio::select! {
            biased;
            Some(remote) = self.remote.recv() => {
                self.source = Source { remote: Some(remote.at_terminal), reply: Some(remote.reply) };
                remote.order
            }
            Some(order) = self.inbox.recv() => order,
            () = self.client.closed(), if !self.client_left => {
                self.client_left = true;
                Order::Leave
            }
            else => std::future::pending().await,
        }
    }

    /// Who gave the last order. It can be asked once.
    pub(crate) fn source(&mut self) -> Source {
        std::mem::take(&mut self.source)
    }
}
