//! One connection of a gateway, as the host serves it: greeting, then order after order. What takes time runs in a thread of
//! its own and answers under its order's number; the streams of an opening and of a fetch hold the connection meanwhile.
use super::frame::{self, bad};
use super::orders::{Answer, Claim, Envelope, Hello, LEASE, Order, Piece, Refusal, Reply, VERSION, Wish};
use super::server::Shared;
use super::session::{Held, Refused, failed, refused};
use super::things::{self, Bounds};
use crate::command::Stream;
use crate::error::{FileError, RunError};
use enclos_init::channel;
use enclos_init::file::{FileOp, FileReply};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Orders under way on one connection at the same time.
const ORDERS: usize = 64;
/// How long a gateway may leave what it is sent unread.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a greeting may take.
const GREETING: Duration = Duration::from_secs(5);

/// The side that writes.
struct Out {
    stream: Mutex<BufWriter<UnixStream>>,
    under_way: AtomicUsize,
}

impl Out {
    fn send(&self, id: u32, answer: Answer, body: &[u8]) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = frame::write(&mut *stream, &Reply { id, answer }, body).and_then(|()| stream.flush());
        if sent.is_err() {
            // What was sent in part cannot be gone on with; the reader finds the end.
            let _ = stream.get_ref().shutdown(std::net::Shutdown::Both);
        }
        sent
    }

    fn refuse(&self, id: u32, (why, message): Refused) -> io::Result<()> {
        self.send(id, Answer::Refused { why, message }, &[])
    }
}

/// Serves one connection until it ends. `who` is the user at its other side.
pub(crate) fn connection(host: &Arc<Shared>, stream: &UnixStream, who: u32) -> io::Result<()> {
    stream.set_read_timeout(Some(GREETING))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut from = BufReader::new(stream.try_clone()?);
    let out = Arc::new(Out {
        stream: Mutex::new(BufWriter::new(stream.try_clone()?)),
        under_way: AtomicUsize::new(0),
    });
    let Some((hello, _)) = frame::read::<Hello>(&mut from)? else { return Ok(()) };
    if hello.version != VERSION {
        let message = format!("this host speaks version {VERSION}, the gateway {}", hello.version);
        return out.refuse(0, (Refusal::Version, message));
    }
    let lease_ms = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
    let uid = rustix::process::geteuid().as_raw();
    let claim = Claim { version: VERSION, lease_ms, uid, pid: std::process::id() };
    out.send(0, Answer::Welcome { claim }, &[])?;
    stream.set_read_timeout(None)?;
    while let Some((envelope, body)) = frame::read::<Envelope>(&mut from)? {
        let session = envelope.session.clone();
        let held = match host.sessions.admit(who, &session, envelope.epoch) {
            Ok(held) => held,
            Err(why) => {
                if why.0 == Refusal::Epoch {
                    host.say(&format!("{session}: an order is refused: {}", why.1));
                }
                out.refuse(envelope.id, why)?;
                // A stream may follow that nobody will take.
                if matches!(envelope.order, Order::Over {} | Order::History { .. }) {
                    return Ok(());
                }
                continue;
            }
        };
        let at = At { host, who, session: &session, held: &held, epoch: envelope.epoch, out: &out };
        at.serve(envelope.id, envelope.order, body, &mut from)?;
    }
    Ok(())
}

/// Where an order was given.
struct At<'a> {
    host: &'a Arc<Shared>,
    who: u32,
    session: &'a str,
    held: &'a Arc<Held>,
    epoch: u64,
    out: &'a Arc<Out>,
}

impl At<'_> {
    fn serve(&self, id: u32, order: Order, body: Vec<u8>, from: &mut dyn Read) -> io::Result<()> {
        let done = match order {
            Order::Base { base } => return self.base(id, &base),
            Order::History { base } => {
                let taken = {
                    let mut pieces = Pieces::new(&mut *from, body);
                    let taken = self.host.bases.take(self.who, &base, &mut pieces);
                    // What is left of the stream is not an order.
                    io::copy(&mut pieces, &mut io::sink())?;
                    taken
                };
                return match taken {
                    Ok(()) => self.base(id, &base),
                    Err(error) => self.out.refuse(id, failed(error)),
                };
            }
            Order::Over {} => {
                let bounds = Bounds { bytes: OVER_BYTES, git: false };
                let laid = self.held.lay_over(self.epoch, |over| things::lay(from, over, bounds));
                let laid = laid.and_then(|laid| laid.map(drop).map_err(failed));
                let broken = laid.is_err();
                self.answer(id, laid)?;
                // After half a stream nothing on this connection can be understood.
                return if broken { Err(bad("what lies over a base did not come whole")) } else { Ok(()) };
            }
            Order::Open { wish } => return self.open(id, &wish),
            Order::Run { .. } | Order::File {} | Order::WaitBackground { .. } => {
                return self.beside(id, order, body);
            }
            Order::Fetch {} => return self.fetch(id),
            Order::Start { name, command } => self.used(|sandbox| sandbox.start(&name, &command)),
            Order::KillBackground { name } => self.used(|sandbox| sandbox.kill_background(&name)),
            Order::KillCommands {} => self.used(|sandbox| {
                sandbox.killer().kill_commands();
                Ok(())
            }),
            Order::Background {} => {
                return match self.held.sandbox(self.epoch) {
                    Ok(used) => {
                        self.out.send(id, Answer::Background { commands: used.sandbox.background() }, &[])
                    }
                    Err(why) => self.out.refuse(id, why),
                };
            }
            Order::ReadBackground { name, from, most } => {
                let most = usize::try_from(most.min(frame::BODY.into())).unwrap_or(0);
                return match self.used(|sandbox| sandbox.read_background(&name, from, most.min(48 * 1024))) {
                    Ok(part) => self.out.send(id, Answer::Written { part }, &[]),
                    Err(why) => self.out.refuse(id, why),
                };
            }
            Order::Close {} => self.held.close(self.epoch).map(|was_open| {
                if was_open {
                    self.host.say(&format!("{}: closed", self.session));
                }
            }),
            Order::Renew {} => self.held.renew(self.epoch),
            Order::Discard {} => self.host.sessions.discard((self.who, self.epoch), self.session, self.held),
        };
        self.answer(id, done)
    }

    fn answer(&self, id: u32, done: Result<(), Refused>) -> io::Result<()> {
        match done {
            Ok(()) => self.out.send(id, Answer::Done {}, &[]),
            Err(why) => self.out.refuse(id, why),
        }
    }

    fn used<T>(
        &self,
        work: impl FnOnce(&crate::sandbox::Sandbox) -> Result<T, RunError>,
    ) -> Result<T, Refused> {
        let used = self.held.sandbox(self.epoch)?;
        work(&used.sandbox).map_err(|error| of_run(&error))
    }

    fn base(&self, id: u32, base: &super::Commit) -> io::Result<()> {
        match self.host.bases.find(self.who, base) {
            Ok(Ok(found)) => match found.manifest() {
                Ok(manifest) => {
                    self.out.send(id, Answer::Base { ready: true, have: Vec::new() }, &[])?;
                    let mut stream = self.out.stream.lock().unwrap_or_else(PoisonError::into_inner);
                    send_pieces(&mut manifest.as_slice(), &mut *stream)?;
                    stream.flush()
                }
                Err(error) => self.out.refuse(id, failed(error)),
            },
            Ok(Err(have)) => self.out.send(id, Answer::Base { ready: false, have }, &[]),
            Err(error) => self.out.refuse(id, failed(error)),
        }
    }

    fn open(&self, id: u32, wish: &Wish) -> io::Result<()> {
        let base = match &wish.base {
            None => Ok(None),
            Some(base) => match self.host.bases.find(self.who, base) {
                Ok(Ok(found)) => Ok(Some(found)),
                Ok(Err(_)) => refused(Refusal::Unknown, "the base is not here"),
                Err(error) => Err(failed(error)),
            },
        };
        let home = self.host.home.as_deref();
        let opened = base.and_then(|base| {
            self.host.sessions.open((self.held, self.who, self.epoch), wish, base.as_ref(), home)
        });
        match opened {
            Ok((sandbox, toolchains)) => {
                let report = sandbox.report().clone();
                self.host.say(&format!(
                    "{}: opened for user {} under epoch {}, as user {}",
                    self.session, self.who, self.epoch, report.host_uid
                ));
                self.out.send(id, Answer::Opened { report, toolchains }, &[])
            }
            Err(why) => {
                self.host.say(&format!("{}: not opened", self.session));
                self.out.refuse(id, why)
            }
        }
    }

    fn fetch(&self, id: u32) -> io::Result<()> {
        // The answer comes first: what follows it is a stream.
        let sent = self.held.at_rest(self.epoch, |layer| {
            self.out.send(id, Answer::Things {}, &[])?;
            let mut stream = self.out.stream.lock().unwrap_or_else(PoisonError::into_inner);
            match things::send_layer(layer, &mut *stream) {
                Ok(()) => Ok(()),
                Err(error) => {
                    self.host.say(&format!("{}: the layer cannot be sent: {error}", self.session));
                    things::Sender::new(&mut *stream).broken()?;
                    Err(bad("a layer was sent in part"))
                }
            }
        });
        match sent {
            Ok(sent) => sent,
            Err(why) => self.out.refuse(id, why),
        }
    }

    /// Lets an order that takes its time run beside the others.
    fn beside(&self, id: u32, order: Order, body: Vec<u8>) -> io::Result<()> {
        let used = match self.held.sandbox(self.epoch) {
            Ok(used) => used,
            Err(why) => return self.out.refuse(id, why),
        };
        if self.out.under_way.fetch_add(1, Ordering::AcqRel) >= ORDERS {
            self.out.under_way.fetch_sub(1, Ordering::AcqRel);
            return self.out.refuse(id, (Refusal::Busy, "too many orders at the same time".into()));
        }
        let out = Arc::clone(self.out);
        let spawned = std::thread::Builder::new().name("order".into()).spawn(move || {
            let sandbox = &used.sandbox;
            // An answer that cannot be sent ends the connection.
            let _ = match order {
                Order::Run { command } => {
                    let mut output = |stream: Stream, bytes: &[u8]| {
                        let _ = out.send(id, Answer::Output { stderr: stream == Stream::Stderr }, bytes);
                    };
                    let exit = sandbox.run(&command, &mut output);
                    drop(used);
                    match exit {
                        Ok(exit) => out.send(id, Answer::Exit { exit }, &[]),
                        Err(error) => out.refuse(id, of_run(&error)),
                    }
                }
                Order::WaitBackground { name, from, most_ms } => {
                    let waited =
                        sandbox.wait_background(&name, from, Duration::from_millis(most_ms.min(60_000)));
                    drop(used);
                    match waited {
                        Ok(()) => out.send(id, Answer::Done {}, &[]),
                        Err(error) => out.refuse(id, of_run(&error)),
                    }
                }
                _ => {
                    let done = file(sandbox, &body);
                    drop(used);
                    match done {
                        Ok(Ok(reply)) => out.send(id, Answer::File {}, &reply),
                        Ok(Err(fault)) => out.send(id, Answer::Fault { fault }, &[]),
                        Err(why) => out.refuse(id, why),
                    }
                }
            };
            out.under_way.fetch_sub(1, Ordering::AcqRel);
        });
        if spawned.is_err() {
            self.out.under_way.fetch_sub(1, Ordering::AcqRel);
            return self.out.refuse(id, (Refusal::Busy, "no thread can be had".into()));
        }
        Ok(())
    }
}

/// Most bytes of a tree over a base.
const OVER_BYTES: u64 = 64 << 30;

fn file(
    sandbox: &crate::sandbox::Sandbox,
    body: &[u8],
) -> Result<Result<Vec<u8>, crate::error::Fault>, Refused> {
    let op: FileOp = serde_json::from_slice(body).map_err(|error| (Refusal::Bad, error.to_string()))?;
    match sandbox.file(&op) {
        Ok(reply) => {
            let blob = if let FileReply::Bytes { bytes, .. } = &reply { bytes.as_slice() } else { &[] };
            Ok(Ok(channel::pack(&serde_json::to_vec(&reply).map_err(failed)?, blob)))
        }
        Err(FileError::Refused(fault)) => Ok(Err(fault)),
        Err(FileError::Run(error)) => Err(of_run(&error)),
        Err(error @ FileError::Ended(_)) => Err(failed(error)),
    }
}

fn of_run(error: &RunError) -> Refused {
    let why = match error {
        RunError::Closed | RunError::Lost => Refusal::Closed,
        RunError::BadCommand(_) => Refusal::Bad,
        _ => Refusal::Failed,
    };
    (why, error.to_string())
}

/// Sends bytes as pieces.
pub(crate) fn send_pieces(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    loop {
        let mut bytes = Vec::new();
        let read = from.take(frame::CHUNK as u64).read_to_end(&mut bytes);
        let more = read.is_ok() && bytes.len() == frame::CHUNK;
        frame::write(to, &Piece { more, broken: read.is_err() }, &bytes)?;
        if !more {
            to.flush()?;
            return read.map(drop);
        }
    }
}

/// Bytes that come as pieces.
pub(crate) struct Pieces<'a> {
    from: &'a mut dyn Read,
    now: Vec<u8>,
    at: usize,
    more: bool,
    next: Next,
}

/// Reads the next piece.
type Next = fn(&mut dyn Read) -> io::Result<(Piece, Vec<u8>)>;

impl<'a> Pieces<'a> {
    /// What [`send_pieces`] sends, behind what is here already.
    pub(crate) fn new(from: &'a mut dyn Read, now: Vec<u8>) -> Self {
        let next = |from: &mut dyn Read| frame::read(from)?.ok_or_else(|| bad("a stream is cut"));
        Self::framed(from, now, true, next)
    }

    /// Pieces that come in frames of another kind; `more`: some follow what is here already.
    pub(crate) fn framed(from: &'a mut dyn Read, now: Vec<u8>, more: bool, next: Next) -> Self {
        Self { from, now, at: 0, more, next }
    }

    /// Whether there are no bytes at all. Nothing has been read of them.
    pub(crate) fn is_empty(&self) -> bool {
        self.now.is_empty() && !self.more
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = self.now.get(self.at..).unwrap_or_default();
            if !rest.is_empty() {
                let size = rest.len().min(into.len());
                let (Some(to), Some(from)) = (into.get_mut(..size), rest.get(..size)) else { return Ok(0) };
                to.copy_from_slice(from);
                self.at += size;
                return Ok(size);
            }
            if !self.more {
                return Ok(0);
            }
            let (piece, bytes) = (self.next)(self.from)?;
            (self.now, self.at, self.more) = (bytes, 0, piece.more);
            if piece.broken {
                self.more = false;
                return Err(bad("the sender could not go on"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_in_pieces_and_half_of_them_is_an_error() {
        for size in [0, 1, frame::CHUNK, frame::CHUNK + 1, 3 * frame::CHUNK] {
            let bytes = vec![5; size];
            let mut stream = Vec::new();
            send_pieces(&mut bytes.as_slice(), &mut stream).unwrap();
            let read = |mut stream: &[u8]| {
                let mut got = Vec::new();
                let mut pieces = Pieces::new(&mut stream, Vec::new());
                pieces.read_to_end(&mut got).map(|_| got)
            };
            assert_eq!(read(&stream).unwrap(), bytes);
            assert!(read(&stream[..stream.len() - 1]).is_err());
        }
    }
}
