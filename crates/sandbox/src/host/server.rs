//! The host's process: whom it listens to, and what ends with what. It serves only when the quickest escapes, tried on this
//! very machine, all failed.
use super::base::Bases;
use super::serve;
use super::session::Sessions;
use crate::plan::Backend;
use crate::platform::{self, Identity};
use crate::probe::{self, Check, Outcome};
use crate::report::Level;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connections at the same time.
const CONNECTIONS: usize = 256;
/// Connections of one user at the same time: others are served whatever one of them does.
const OF_ONE_USER: usize = 128;
/// How often leases are looked at, and how soon a stop is seen.
const TICK: Duration = Duration::from_millis(50);
/// The user numbers of sessions, where nothing else is said.
const NUMBERS: (u32, u32) = (2_000_000_000, 2_000_065_535);

/// How a host is to run.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens.
    pub socket: PathBuf,
    /// Its own folder: bases, mirrors, sessions.
    pub state: PathBuf,
    /// Users besides its own whose gateways it serves.
    pub gateways: Vec<u32>,
    /// Where toolchains are looked for.
    pub home: Option<PathBuf>,
}

/// Why a host does not serve.
#[derive(Debug, thiserror::Error)]
pub enum HostFailure {
    /// The machine does not keep a sandbox apart.
    #[error("the self-test failed: {}", .0.iter().map(|check| format!("{}: {}", check.name, check.detail)).collect::<Vec<_>>().join("; "))]
    SelfTest(Vec<Check>),
    /// Another host has this folder or this socket.
    #[error("another host uses `{0}`")]
    Taken(PathBuf),
    /// A folder or the socket cannot be made.
    #[error("`{path}`: {source}", path = path.display())]
    Place {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A host that is ready to serve.
#[derive(Debug)]
pub struct Host {
    listener: UnixListener,
    socket: PathBuf,
    shared: Arc<Shared>,
    level: String,
    _lock: OwnedFd,
}

/// What all connections use.
pub(crate) struct Shared {
    pub(crate) bases: Bases,
    pub(crate) sessions: Sessions,
    pub(crate) home: Option<PathBuf>,
    gateways: Vec<u32>,
    connections: Mutex<HashMap<u32, usize>>,
    say: Box<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

impl Shared {
    /// Tells whoever runs the host, without content.
    pub(crate) fn say(&self, line: &str) {
        (self.say)(line);
    }

    /// Counts a connection of a user, if there is room for it.
    fn count_in(&self, who: u32) -> bool {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = connections.values().sum();
        let own = connections.entry(who).or_default();
        let room = all < CONNECTIONS && *own < OF_ONE_USER;
        *own += usize::from(room);
        room
    }

    fn count_out(&self, who: u32) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = connections.get_mut(&who) {
            *own = own.saturating_sub(1);
        }
        connections.retain(|_, own| *own > 0);
    }
}

impl Host {
    /// Tests this machine, takes the folder, sweeps what an earlier process left, and listens. `say` is told what happens,
    /// a line each.
    pub fn start(config: Config, say: Box<dyn Fn(&str) + Send + Sync>) -> Result<Self, HostFailure> {
        let (failed, passed): (Vec<Check>, Vec<Check>) = probe::probe(&Backend::Namespaces)
            .into_iter()
            .partition(|check| check.outcome == Outcome::Failed);
        if !failed.is_empty() {
            return Err(HostFailure::SelfTest(failed));
        }
        let state = private(&config.state)?;
        let lock = lock(&state)?;
        let bases = Bases::new(state.join("projects"));
        let sessions = Sessions::new(state.join("sessions"), NUMBERS);
        bases.sweep();
        sessions.sweep(&age);
        let listener = listen(&config.socket, config.gateways.is_empty())?;
        let shared = Shared {
            bases,
            sessions,
            home: config.home,
            gateways: config.gateways,
            connections: Mutex::default(),
            say,
        };
        let level =
            passed.iter().find(|check| check.name == probe::ISOLATION && check.outcome == Outcome::Ok);
        let level = level.map_or(Level::Standard, |_| Level::Hard).word();
        let level = match platform::identity() {
            Identity::Root => format!("level {level}, each session under a user number of its own"),
            Identity::User(uid, _) => format!("level {level}, rootless: every session runs as user {uid}"),
        };
        Ok(Self { listener, socket: config.socket, shared: Arc::new(shared), level, _lock: lock })
    }

    /// The level of its sandboxes, and who the sessions are on this machine, in words.
    pub fn level(&self) -> &str {
        &self.level
    }

    /// Serves until `stop`, then ends every sandbox.
    pub fn serve(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
            let waiting = rustix::event::poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&tick));
            if waiting.is_ok_and(|ready| ready > 0)
                && let Ok((stream, _)) = self.listener.accept()
            {
                self.take(stream);
            }
            for session in self.shared.sessions.end(false) {
                self.shared.say(&format!("{session}: the gateway is lost, the sandbox is ended"));
            }
        }
        for session in self.shared.sessions.end(true) {
            self.shared.say(&format!("{session}: the host ends, the sandbox is ended"));
        }
    }

    /// Lets a thread of its own serve a connection, if it is one that is served.
    fn take(&self, stream: UnixStream) {
        let Some(who) = self.admitted(&stream) else { return };
        if !self.shared.count_in(who) {
            self.shared.say("a connection is refused: too many at the same time");
            return;
        }
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("connection".into()).spawn(move || {
            // An error ends the connection, and that is what the other side is told.
            let _ = serve::connection(&shared, &stream, who);
            shared.count_out(who);
        });
        if thread.is_err() {
            self.shared.count_out(who);
        }
    }

    fn admitted(&self, stream: &UnixStream) -> Option<u32> {
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?.uid.as_raw();
        let own = rustix::process::geteuid().as_raw();
        if peer == own || self.shared.gateways.contains(&peer) {
            return Some(peer);
        }
        self.shared.say(&format!("a connection of user {peer} is refused"));
        None
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.shared.sessions.end(true);
        // A socket that stays is found to be nobody's at the next start.
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn placed(path: &Path) -> impl FnOnce(io::Error) -> HostFailure {
    move |source| HostFailure::Place { path: path.to_owned(), source }
}

/// A folder of the host's own, closed to others.
fn private(path: &Path) -> Result<PathBuf, HostFailure> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(placed(path))?;
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path, closed).map_err(placed(path))?;
    path.canonicalize().map_err(placed(path))
}

fn lock(state: &Path) -> Result<OwnedFd, HostFailure> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = state.join("lock");
    let lock =
        rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(|e| placed(&path)(e.into()))?;
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(HostFailure::Taken(state.to_owned())),
        Err(errno) => Err(placed(&path)(errno.into())),
    }
}

/// Listens on a socket that nobody else listens on. `own`: nobody but this user may connect.
fn listen(path: &Path, own: bool) -> Result<UnixListener, HostFailure> {
    if let Some(parent) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(placed(parent))?;
    }
    if UnixStream::connect(path).is_ok() {
        return Err(HostFailure::Taken(path.to_owned()));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(placed(path)(error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(placed(path))?;
    let mode = if own { 0o600 } else { 0o666 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(placed(path))?;
    Ok(listener)
}

/// Time since a file was written.
#[expect(clippy::disallowed_methods, reason = "the age of a file of this host, for its sweep")]
fn age(path: &Path) -> Option<Duration> {
    let written = path.metadata().and_then(|facts| facts.modified()).ok()?;
    Some(std::time::SystemTime::now().duration_since(written).unwrap_or_default())
}
