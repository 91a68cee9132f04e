//! The control socket of a session at work: how another process of the same person stops it or answers its cards.
//!
//! The socket lies in `run/`, is for its owner alone, and takes orders only from the same user; from root, a stop and
//! no answer. Whether a person sits at the other end is believed only where that process has a terminal.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use enclos_core::ids::SessionId;
use enclos_protocol::order::{Order, Reply, Sent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::session::Remote;

/// Bytes of one order at most: an edit carries whole arguments.
const LONGEST: u64 = 2 * 1024 * 1024;

/// How long an answer may take to be recorded.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

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

/// The sessions whose socket lies there although nobody listens: their process was killed.
pub(crate) fn left(run: &Path) -> Vec<SessionId> {
    let Ok(entries) = std::fs::read_dir(run) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    let sessions = names.filter_map(|name| SessionId::parse(name.strip_suffix(".sock")?));
    sessions.filter(|id| !is_live(run, id)).collect()
}

/// Removes the socket of a session that nobody works on.
pub(crate) fn remove_left(run: &Path, id: &SessionId) {
    // What cannot be removed now is removed at the next start.
    drop(std::fs::remove_file(socket(run, id)));
}

/// Listens for orders to a session. The lease is held, so a socket that lies there is a leftover.
pub(crate) fn listen(run: &Path, id: &SessionId, orders: UnboundedSender<Remote>) -> io::Result<Control> {
    let path = socket(run, id);
    std::fs::create_dir_all(run)?;
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(&path)?;
    }
    let (_folder, near) = short(&path)?;
    let listener = UnixListener::bind(&near)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "ends with the session: its orders have nowhere to go then; an order that waits delays no other"
    )]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if orders.is_closed() {
                return;
            }
            tokio::spawn(serve(stream, orders.clone()));
        }
    });
    Ok(Control { path })
}

/// Takes the order of one connection, and tells what became of it.
async fn serve(mut stream: UnixStream, orders: UnboundedSender<Remote>) {
    let Ok(peer) = stream.peer_cred() else { return };
    let same = peer.uid() == rustix::process::geteuid().as_raw();
    let person = same && peer.pid().is_some_and(has_terminal);
    let mut text = Vec::new();
    let (mut read, mut write) = stream.split();
    let wait = std::time::Duration::from_secs(2);
    let got = tokio::time::timeout(wait, (&mut read).take(LONGEST).read_to_end(&mut text)).await;
    let sent = got.ok().and_then(Result::ok).and_then(|_| serde_json::from_slice::<Sent>(&text).ok());
    let Some(Sent { order, at_terminal }) = sent else { return };
    let stops = matches!(order, Order::Stop | Order::Interrupt);
    let answers = matches!(
        order,
        Order::Approve { .. } | Order::Reject { .. } | Order::Edit { .. } | Order::RevokeGrant { .. }
    );
    if !(answers && same || stops && (same || peer.uid() == 0)) {
        return;
    }
    let (reply, heard) = oneshot::channel();
    if orders.send(Remote { order, at_terminal: at_terminal && person, reply }).is_err() {
        return;
    }
    let told = if stops {
        // The other side learns the end by the lease, not by this word.
        Reply::Taken
    } else {
        let not_now = Reply::Refused { why: "the session has no such question open now".to_owned() };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        heard.ok().and_then(Result::ok).unwrap_or(not_now)
    };
    let text = serde_json::to_vec(&told).unwrap_or_default();
    drop(write.write_all(&text).await);
}

/// Whether the standard input of a process is a terminal.
fn has_terminal(pid: i32) -> bool {
    let input = std::fs::read_link(format!("/proc/{pid}/fd/0")).unwrap_or_default();
    input.starts_with("/dev/pts") || input.starts_with("/dev/tty") || input.starts_with("/dev/console")
}

/// Sends an order to the process that works on a session. `None` when there is none.
pub(crate) async fn send(run: &Path, id: &SessionId, sent: &Sent) -> io::Result<Option<Reply>> {
    let Ok((_folder, near)) = short(&socket(run, id)) else { return Ok(None) };
    let Ok(mut stream) = UnixStream::connect(near).await else { return Ok(None) };
    let text = serde_json::to_vec(sent).map_err(io::Error::other)?;
    stream.write_all(&text).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(serde_json::from_slice(&answer).ok())
}
