//! A gateway's connection to a host, one order after the other: what is brought before a sandbox opens, and what is
//! fetched after it ended. Opening makes a [`Remote`] of it.
use super::frame;
use super::manifest::Manifest;
use super::orders::{Answer, Claim, Commit, Envelope, Hello, Order, Refusal, Reply, VERSION, Wish};
use super::post::{Post, Wire};
use super::remote::Remote;
use super::serve::{Pieces, send_pieces};
use super::things::{self, Bounds, LayError, Sender};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a host may take over one step of an opening: git checks a whole history.
const PATIENCE: Duration = Duration::from_mins(15);
/// How long it may take to greet.
const GREETING: Duration = Duration::from_secs(5);

/// Why a host did not do what was ordered.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Nobody answers.
    #[error("no execution host answers at `{path}`: {source}", path = path.display())]
    Unreachable {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The host said no.
    #[error("the execution host refuses: {message}")]
    Refused {
        /// Why.
        why: Refusal,
        /// In its words.
        message: String,
    },
    /// The connection ended on the way.
    #[error("the execution host was lost: {0}")]
    Lost(io::Error),
    /// What lies on this side cannot be read or written.
    #[error(transparent)]
    Here(#[from] LayError),
}

impl HostError {
    /// Whether somebody else leads the session now, or the host cannot be had: trying again here leads nowhere.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Lost(_))
    }
}

/// A connection, greeted.
pub struct Link {
    from: BufReader<UnixStream>,
    to: BufWriter<UnixStream>,
    stream: UnixStream,
    claim: Claim,
    session: String,
    epoch: u64,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("session", &self.session)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Connects to the host at a socket.
    pub fn connect(path: &Path) -> Result<Self, HostError> {
        let unreachable = |source| HostError::Unreachable { path: path.to_owned(), source };
        let stream = UnixStream::connect(path).map_err(unreachable)?;
        let halves = || -> io::Result<(UnixStream, UnixStream)> {
            stream.set_read_timeout(Some(GREETING))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok((stream.try_clone()?, stream.try_clone()?))
        };
        let (from, to) = halves().map_err(unreachable)?;
        let claim = Claim { version: VERSION, lease_ms: 0, uid: 0, pid: 0 };
        let (from, to) = (BufReader::new(from), BufWriter::new(to));
        let mut link = Self { from, to, stream, claim, session: String::new(), epoch: 0 };
        let hello =
            frame::write(&mut link.to, &Hello { version: VERSION }, &[]).and_then(|()| link.to.flush());
        hello.map_err(unreachable)?;
        match link.hear() {
            Ok((Answer::Welcome { claim }, _)) => link.claim = claim,
            Err(HostError::Lost(source)) => return Err(unreachable(source)),
            Err(error) => return Err(error),
            Ok(_) => return Err(strange()),
        }
        link.stream.set_read_timeout(Some(PATIENCE)).map_err(HostError::Lost)?;
        Ok(link)
    }

    /// What the host says of itself.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Orders from here on are for a session, under the epoch of its lease.
    #[must_use]
    pub fn lead(mut self, session: &str, epoch: u64) -> Self {
        (self.session, self.epoch) = (session.to_owned(), epoch);
        self
    }

    /// What a base holds, if the host has it; else the commits of the project that it has.
    pub fn base(&mut self, base: &Commit) -> Result<Result<Manifest, Vec<String>>, HostError> {
        self.order(Order::Base { base: base.clone() })?;
        self.hear_base()
    }

    /// Brings a pack that completes what the host has to the history of a commit.
    pub fn history(&mut self, base: &Commit, pack: &mut dyn Read) -> Result<Manifest, HostError> {
        self.order(Order::History { base: base.clone() })?;
        send_pieces(pack, &mut self.to).map_err(HostError::Lost)?;
        self.hear_base()?.map_err(|_| strange())
    }

    /// Brings what lies over the base.
    pub fn over(&mut self, send: impl FnOnce(&mut Sender<'_>) -> io::Result<()>) -> Result<(), HostError> {
        self.order(Order::Over {})?;
        let mut sender = Sender::new(&mut self.to);
        let outcome = send(&mut sender);
        let ended = if outcome.is_ok() { sender.end() } else { sender.broken() };
        if let Err(error) = outcome.and(ended) {
            // A host that takes no more has said why.
            return Err(match self.hear() {
                Err(refused @ HostError::Refused { .. }) => refused,
                _ => HostError::Here(error.into()),
            });
        }
        match self.hear()? {
            (Answer::Done {}, _) => Ok(()),
            _ => Err(strange()),
        }
    }

    /// Opens the sandbox. Answers it, and the toolchains in it by name.
    pub fn open(mut self, wish: Wish) -> Result<(Remote, Vec<String>), HostError> {
        let limits = wish.limits.clone();
        self.order(Order::Open { wish })?;
        let (Answer::Opened { report, toolchains }, _) = self.hear()? else { return Err(strange()) };
        self.stream.set_read_timeout(None).map_err(HostError::Lost)?;
        let stream = self.stream;
        let cut = move || drop(stream.shutdown(std::net::Shutdown::Both));
        let wire = Wire { from: Box::new(self.from), to: Box::new(self.to), cut: Box::new(cut) };
        let post = Arc::new(Post::new(self.session, self.epoch, wire.to, wire.cut));
        let remote = Remote::new(post, wire.from, report, self.claim, limits.command_seconds);
        Ok((remote.map_err(HostError::Lost)?, toolchains))
    }

    /// Fetches what the session changed and makes the `upper` in `into` say the same.
    pub fn fetch(&mut self, into: &Path) -> Result<(), HostError> {
        self.order(Order::Fetch {})?;
        match self.hear()? {
            (Answer::Things {}, _) => {}
            _ => return Err(strange()),
        }
        let bounds = Bounds { bytes: FETCHED_BYTES, git: true };
        things::lay(&mut self.from, into, bounds)?;
        Ok(())
    }

    /// Has the host end the session's sandbox. What the session changed stays there.
    pub fn close(&mut self) -> Result<(), HostError> {
        self.done(Order::Close {})
    }

    /// Has the host forget the session.
    pub fn discard(&mut self) -> Result<(), HostError> {
        self.done(Order::Discard {})
    }

    fn done(&mut self, order: Order) -> Result<(), HostError> {
        self.order(order)?;
        match self.hear()? {
            (Answer::Done {}, _) => Ok(()),
            _ => Err(strange()),
        }
    }

    fn order(&mut self, order: Order) -> Result<(), HostError> {
        let envelope = Envelope { id: 1, session: self.session.clone(), epoch: self.epoch, order };
        frame::write(&mut self.to, &envelope, &[]).and_then(|()| self.to.flush()).map_err(HostError::Lost)
    }

    fn hear(&mut self) -> Result<(Answer, Vec<u8>), HostError> {
        match frame::read::<Reply>(&mut self.from).map_err(HostError::Lost)? {
            None => Err(HostError::Lost(io::ErrorKind::UnexpectedEof.into())),
            Some((Reply { answer: Answer::Refused { why, message }, .. }, _)) => {
                Err(HostError::Refused { why, message })
            }
            Some((Reply { answer, .. }, body)) => Ok((answer, body)),
        }
    }

    fn hear_base(&mut self) -> Result<Result<Manifest, Vec<String>>, HostError> {
        match self.hear()? {
            (Answer::Base { ready: false, have }, _) => Ok(Err(have)),
            (Answer::Base { ready: true, .. }, _) => {
                let mut bytes = Vec::new();
                let mut pieces = Pieces::new(&mut self.from, Vec::new());
                pieces.read_to_end(&mut bytes).map_err(HostError::Lost)?;
                Manifest::from_bytes(&bytes).map(Ok).ok_or_else(strange)
            }
            _ => Err(strange()),
        }
    }
}

/// Most bytes that a session's layer may hold when it is fetched.
const FETCHED_BYTES: u64 = 64 << 30;

fn strange() -> HostError {
    HostError::Lost(frame::bad("an answer that was not asked for"))
}
