//! The control socket of a session at work: how another process of the same person stops it.
//!
//! The socket lies in `run/`, is for its owner alone, and takes orders only from the same user or root.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_protocol::order::Order;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedSender;

/// Bytes of one order at most.
const LONGEST: u64 = 64 * 1024;

/// A listening control socket. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
}

impl Drop for Control {
    fn drop(&mut self) {
        // Gone already is as good.
        drop(std::fs::remove_file(&self.path));
    }
}

fn socket(run: &Path, id: &SessionId) -> PathBuf {
    run.join(format!("{id}.sock"))
}

/// The path of a socket through a descriptor of its folder: the address of a socket holds 107 bytes only.
fn short(path: &Path) -> io::Result<(std::fs::File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = std::fs::File::open(parent)?;
    let name = path.file_name().unwrap_or_default();
    let near = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, near))
}

/// Whether a process works on the session now.
pub(crate) fn is_live(run: &Path, id: &SessionId) -> bool {
    let Ok((_folder, near)) = short(&socket(run, id)) else { return false };
    std::os::unix::net::UnixStream::connect(near).is_ok()
}

/// Listens for orders to a session. The lease is held, so a socket that lies there is a leftover.
pub(crate) fn listen(run: &Path, id: &SessionId, orders: UnboundedSender<Order>) -> io::Result<Control> {
    let path = socket(run, id);
    std::fs::create_dir_all(run)?;
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(&path)?;
    }
    let (_folder, near) = short(&path)?;
    let listener = UnixListener::bind(&near)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    let own = rustix::process::geteuid().as_raw();
    #[expect(
        clippy::disallowed_methods,
        reason = "ends with the session: its orders have nowhere to go then"
    )]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let known = stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0);
            if known && !serve(stream, &orders).await {
                return;
            }
        }
    });
    Ok(Control { path })
}

/// Takes the orders of one connection. `false` when the session is gone.
async fn serve(mut stream: UnixStream, orders: &UnboundedSender<Order>) -> bool {
    let mut text = Vec::new();
    let (mut read, mut write) = stream.split();
    let wait = std::time::Duration::from_secs(2);
    let got = tokio::time::timeout(wait, (&mut read).take(LONGEST).read_to_end(&mut text)).await;
    let order = got.ok().and_then(Result::ok).and_then(|_| serde_json::from_slice::<Order>(&text).ok());
    let Some(order) = order.filter(|order| matches!(order, Order::Stop | Order::Interrupt)) else {
        return true;
    };
    let taken = orders.send(order).is_ok();
    // The other side learns the end by the lease, not by this word.
    drop(write.write_all(if taken { b"taken\n" } else { b"gone\n" }).await);
    taken
}

/// Sends an order to the process that works on a session. `false` when there is none.
pub(crate) async fn send(run: &Path, id: &SessionId, order: &Order) -> io::Result<bool> {
    let Ok((_folder, near)) = short(&socket(run, id)) else { return Ok(false) };
    let Ok(mut stream) = UnixStream::connect(near).await else { return Ok(false) };
    let text = serde_json::to_vec(order).map_err(io::Error::other)?;
    stream.write_all(&text).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer == "taken\n")
}
