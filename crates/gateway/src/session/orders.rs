//! Orders that reach a session at work: from the client that is attached, and from the control socket.

use enclos_protocol::order::Order;
use tokio::sync::mpsc::UnboundedReceiver;

/// Where orders come from.
#[derive(Debug)]
pub(crate) struct Orders {
    client: UnboundedReceiver<Order>,
    remote: UnboundedReceiver<Order>,
    client_left: bool,
}

impl Orders {
    pub(crate) fn new(client: UnboundedReceiver<Order>, remote: UnboundedReceiver<Order>) -> Self {
        Self { client, remote, client_left: false }
    }

    /// The next order. A client that is gone without a word leaves the session as it is.
    pub(crate) async fn next(&mut self) -> Order {
        loop {
            tokio::select! {
                order = self.client.recv(), if !self.client_left => match order {
                    Some(order) => return order,
                    None => {
                        self.client_left = true;
                        return Order::Leave;
                    }
                },
                order = self.remote.recv() => match order {
                    Some(order) => return order,
                    None if self.client_left => return std::future::pending().await,
                    None => {
                        let order = self.client.recv().await;
                        self.client_left = order.is_none();
                        return order.unwrap_or(Order::Leave);
                    }
                },
            }
        }
    }
}
