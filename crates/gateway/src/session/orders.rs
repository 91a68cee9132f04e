//! Orders that reach a session at work: from the client that is attached, and from the control socket.

use enclos_protocol::event::Event;
use enclos_protocol::order::Order;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// Where orders come from.
#[derive(Debug)]
pub(crate) struct Orders {
    inbox: UnboundedReceiver<Order>,
    /// The client's ear: when it is gone, so is the client.
    client: UnboundedSender<Event>,
    client_left: bool,
}

impl Orders {
    pub(crate) fn new(inbox: UnboundedReceiver<Order>, client: UnboundedSender<Event>) -> Self {
        Self { inbox, client, client_left: false }
    }

    /// The next order. A client that is gone without a word leaves the session as it is.
    pub(crate) async fn next(&mut self) -> Order {
        tokio::select! {
            biased;
            Some(order) = self.inbox.recv() => order,
            () = self.client.closed(), if !self.client_left => {
                self.client_left = true;
                Order::Leave
            }
            else => std::future::pending().await,
        }
    }
}
