//! A sandbox on an execution host, as its gateway uses it: the same acts as on a sandbox here. It renews the lease while it
//! lives. What is under way when the host is lost is told as such: it may have happened.
use super::orders::{Answer, Claim, LEASE, Order, Refusal};
use super::post::Post;
use crate::background::{Background, End, Part};
use crate::command::{Command, Counted, Exit, Stream};
use crate::error::{FileError, RunError};
use crate::report::Report;
use enclos_init::channel;
use enclos_init::file::{FileOp, FileReply};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often the lease is renewed.
const RENEWED: Duration = Duration::from_secs(1);
/// How long a renewal may go unanswered: as long as the lease lasts at the host.
const UNANSWERED: Duration = LEASE;
/// How much longer than its limit a command may take until the host is taken for lost.
const GRACE: Duration = Duration::from_mins(1);

/// An open sandbox on a host. Dropping it gives the connection up; the host ends the sandbox with its lease.
#[derive(Debug)]
pub struct Remote {
    asker: Asker,
    report: Report,
    claim: Claim,
    /// Ends the renewals when it goes.
    _renewing: mpsc::Sender<()>,
}

/// Ends what runs in a sandbox on a host, from any thread, without waiting.
#[derive(Debug, Clone)]
pub struct RemoteKiller {
    post: Arc<Post>,
}

impl RemoteKiller {
    /// Ends the running commands and file operations with all their processes.
    pub fn kill_commands(&self) {
        drop(self.post.order(Order::KillCommands {}, &[]));
    }

    /// Ends the sandbox with all that runs in it.
    pub fn kill_all(&self) {
        drop(self.post.order(Order::Close {}, &[]));
    }
}

impl Remote {
    pub(crate) fn new(
        post: Arc<Post>,
        mut from: Box<dyn Read + Send>,
        report: Report,
        claim: Claim,
        command_seconds: u32,
    ) -> io::Result<Self> {
        let (renewing, ended) = mpsc::channel();
        let listener = Arc::clone(&post);
        std::thread::Builder::new().name("host".into()).spawn(move || listener.listen(&mut *from))?;
        let renewer = Arc::clone(&post);
        std::thread::Builder::new().name("lease".into()).spawn(move || renew(&renewer, &ended))?;
        let longest = Duration::from_secs(command_seconds.into()) + GRACE;
        Ok(Self { asker: Asker { post, longest }, report, claim, _renewing: renewing })
    }

    /// What the host claims to have obtained.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What the host says of itself.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Whether the host is lost: nothing more can be done in this sandbox.
    pub fn is_lost(&self) -> bool {
        self.asker.post.is_lost()
    }

    /// As [`crate::Sandbox::run`].
    pub fn run(&self, command: &Command, output: &mut dyn FnMut(Stream, &[u8])) -> Result<Exit, RunError> {
        crate::run::check(command)?;
        let answers = self.asker.post.order(Order::Run { command: command.clone() }, &[]);
        loop {
            match self.asker.hear(&answers)? {
                (Answer::Output { stderr }, bytes) => {
                    output(if stderr { Stream::Stderr } else { Stream::Stdout }, &bytes);
                }
                (Answer::Exit { exit }, _) => return Ok(exit),
                _ => return Err(strange()),
            }
        }
    }

    /// As [`crate::Sandbox::start`].
    pub fn start(&self, name: &str, command: &Command) -> Result<(), RunError> {
        self.done(Order::Start { name: name.to_owned(), command: command.clone() })
    }

    /// As [`crate::Sandbox::start_watched`]. A host that is lost has ended the command as well, and is told as its stop.
    pub fn start_watched(
        &self,
        name: &str,
        command: &Command,
        ended: impl FnOnce(Background) + Send + 'static,
    ) -> Result<(), RunError> {
        self.start(name, command)?;
        let (asker, name, text) = (self.asker.clone(), name.to_owned(), command.text.clone());
        let watch = move || ended(asker.wait_for_end(name, text));
        std::thread::Builder::new().name("background".into()).spawn(watch)?;
        Ok(())
    }

    /// As [`crate::Sandbox::background`]; an error when the host cannot say.
    pub fn background(&self) -> Result<Vec<Background>, RunError> {
        self.asker.background()
    }

    /// As [`crate::Sandbox::read_background`].
    pub fn read_background(&self, name: &str, from: u64, most: usize) -> Result<Part, RunError> {
        let order = Order::ReadBackground { name: name.to_owned(), from, most: most as u64 };
        match self.ask(order, &[])? {
            (Answer::Written { part }, _) => Ok(part),
            _ => Err(strange()),
        }
    }

    /// As [`crate::Sandbox::wait_background`], a minute at most.
    pub fn wait_background(&self, name: &str, from: u64, most: Duration) -> Result<(), RunError> {
        let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self.done(Order::WaitBackground { name: name.to_owned(), from, most_ms })
    }

    /// As [`crate::Sandbox::kill_background`].
    pub fn kill_background(&self, name: &str) -> Result<(), RunError> {
        self.done(Order::KillBackground { name: name.to_owned() })
    }

    /// As [`crate::Sandbox::file`].
    pub fn file(&self, op: &FileOp) -> Result<FileReply, FileError> {
        let body = serde_json::to_vec(op).map_err(|error| RunError::Io(error.into()))?;
        match self.ask(Order::File {}, &body)? {
            (Answer::File {}, body) => Ok(understand(&body)?),
            (Answer::Fault { fault }, _) => Err(FileError::Refused(fault)),
            _ => Err(strange().into()),
        }
    }

    /// A handle that ends commands or everything from any thread.
    pub fn killer(&self) -> RemoteKiller {
        RemoteKiller { post: Arc::clone(&self.asker.post) }
    }

    /// Ends everything inside and waits for it; what the session changed stays at the host.
    pub fn close(self) {
        // A host that is lost ends it with the lease.
        let _ = self.asker.post.order(Order::Close {}, &[]).recv_timeout(LEASE);
    }

    fn done(&self, order: Order) -> Result<(), RunError> {
        match self.ask(order, &[])? {
            (Answer::Done {}, _) => Ok(()),
            _ => Err(strange()),
        }
    }

    fn ask(&self, order: Order, body: &[u8]) -> Result<(Answer, Vec<u8>), RunError> {
        self.asker.ask(order, body)
    }
}

/// Gives orders and waits for their answers.
#[derive(Debug, Clone)]
struct Asker {
    post: Arc<Post>,
    /// The longest wait for an answer.
    longest: Duration,
}

impl Asker {
    fn ask(&self, order: Order, body: &[u8]) -> Result<(Answer, Vec<u8>), RunError> {
        self.hear(&self.post.order(order, body))
    }

    fn hear(&self, answers: &Receiver<(Answer, Vec<u8>)>) -> Result<(Answer, Vec<u8>), RunError> {
        match answers.recv_timeout(self.longest) {
            Ok((Answer::Refused { why: Refusal::Closed, .. }, _)) => Err(RunError::Closed),
            Ok((Answer::Refused { message, .. }, _)) => Err(RunError::Host(message)),
            Ok(heard) => Ok(heard),
            Err(_) => Err(RunError::Lost),
        }
    }

    fn background(&self) -> Result<Vec<Background>, RunError> {
        match self.ask(Order::Background {}, &[])? {
            (Answer::Background { commands }, _) => Ok(commands),
            _ => Err(strange()),
        }
    }

    /// The end of a background command, however long it takes. When the host cannot be asked any more, that is its end.
    fn wait_for_end(&self, name: String, text: String) -> Background {
        loop {
            // It never writes that much: its end alone is waited for.
            let order = Order::WaitBackground { name: name.clone(), from: u64::MAX, most_ms: 60_000 };
            let found = self.ask(order, &[]).and_then(|_| self.background());
            let why = match found.map(|all| all.into_iter().find(|command| command.name == name)) {
                Ok(Some(command)) if command.end.is_none() => continue,
                Ok(Some(command)) => return command,
                Ok(None) => "the host knows nothing of it any more".to_owned(),
                Err(error) => error.to_string(),
            };
            let (duration, output) = (Duration::ZERO, Counted::default());
            return Background { name, text, duration, output, end: Some(End::Failed(why)) };
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.asker.post.lose();
    }
}

/// Renews the lease until the sandbox is let go. A host that does not answer is lost, and so is one that has ended the
/// lease.
fn renew(post: &Post, ended: &Receiver<()>) {
    while ended.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
        match post.order(Order::Renew {}, &[]).recv_timeout(UNANSWERED) {
            Ok((Answer::Done {}, _)) => {}
            _ => return post.lose(),
        }
    }
}

fn understand(body: &[u8]) -> Result<FileReply, RunError> {
    let (json, blob) = channel::unpack(body).ok_or_else(strange)?;
    match serde_json::from_slice(json).map_err(|error| RunError::Io(error.into()))? {
        FileReply::Bytes { size, .. } => Ok(FileReply::Bytes { size, bytes: blob.to_vec() }),
        other => Ok(other),
    }
}

fn strange() -> RunError {
    RunError::Io(io::Error::new(io::ErrorKind::InvalidData, "an answer that was not asked for"))
}
