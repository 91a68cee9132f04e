//! The init's only loop: takes requests from the control socket, starts a confined child for each, reaps, keeps
//! time, watches the ceilings, and tells on each request's own channel how it ended. It ends when the gateway does.
use crate::command::{self, Outcome, Waiting};
use crate::confine::Confinement;
use crate::environment;
use crate::fault::{At, Done};
use crate::operation;
use crate::process;
use crate::setup::Built;
use crate::watch::Watch;
use enclos_init::channel::{self, Frame};
use enclos_init::sys;
use enclos_init::wire::{BACKGROUND, Counters, Ended, Kind, Ready, Reason, Run, Setup, Step};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Time between a polite end and the end.
const GRACE: Duration = Duration::from_secs(2);
/// Longest file operation.
const TOOL_TIME: Duration = Duration::from_mins(1);
/// After so long without anything to do the program's pages are let go of.
const REST: Duration = Duration::from_secs(1);
/// Later than anything.
const NEVER: Duration = Duration::from_hours(24);
/// Longest run of a command that has no limit of its own: longer than any session.
const ENDLESS: Duration = Duration::from_hours(24 * 365);

/// A child at work.
struct Child {
    id: u32,
    pid: Pid,
    channel: OwnedFd,
    /// Where a command's first process tells how bash ended, when nothing of it is left; a file operation has none.
    outcome: Option<OwnedFd>,
    /// Its end has been told; what remains is to reap the process.
    told: bool,
    /// Its first process has ended without a word: there is nothing more to hear.
    silent: bool,
    deadline: Instant,
    reason: Option<Reason>,
}

impl Child {
    /// A command that is not over.
    fn at_work(&self) -> bool {
        self.outcome.is_some() && !self.told
    }
}

/// What there is to do.
struct Woken {
    /// A message on the control socket.
    message: bool,
    /// A child to reap.
    ended: bool,
    /// Commands whose first process has something to say, or has ended.
    told: Vec<u32>,
    /// Requests that nobody waits for any more.
    gone: Vec<u32>,
}

/// The state of the loop.
pub(crate) struct Serve {
    control: OwnedFd,
    signals: OwnedFd,
    confinement: Confinement,
    environment: Vec<String>,
    watch: Watch,
    /// What the set-up has to say, until it is said.
    remarks: Vec<String>,
    children: Vec<Child>,
    /// Made beforehand for the next command.
    next: Option<Waiting>,
    /// Nothing was done since the program's pages were let go of.
    at_rest: bool,
}

impl Serve {
    /// Everything that is computed once. What cannot be had fails the opening.
    pub(crate) fn new(control: OwnedFd, setup: &Setup, built: Built) -> Done<Self> {
        Ok(Self {
            control,
            signals: command::block_signals()?,
            confinement: Confinement::new(setup)?,
            environment: environment::build(setup),
            watch: Watch::new(&setup.limits, built.layer),
            remarks: built.remarks,
            children: Vec::new(),
            next: None,
            at_rest: false,
        })
    }

    /// Serves until the control socket closes or says what it must not. Returning ends the sandbox.
    pub(crate) fn run(mut self) {
        let remarks = std::mem::take(&mut self.remarks);
        let ready = Ready { landlock_abi: self.confinement.abi_number(), remarks };
        let body = serde_json::to_vec(&ready).unwrap_or_default();
        if channel::send(&self.control, Kind::Ready, 0, &body, &[]).is_ok() {
            while self.turn().is_some() {}
        }
    }

    /// One turn; `None` ends the sandbox.
    fn turn(&mut self) -> Option<()> {
        let Woken { message, ended, told, gone } = self.wait()?;
        let nothing = !message && !ended && told.is_empty() && gone.is_empty();
        if nothing && self.children.iter().all(|child| child.told) {
            process::release_program();
            self.at_rest = true;
            return Some(());
        }
        self.at_rest = false;
        for id in told {
            self.hear(id);
        }
        for id in gone {
            self.kill(id, None);
        }
        if ended {
            let mut drain = [0u8; 1024];
            while rustix::io::read(&self.signals, &mut drain).is_ok_and(|length| length > 0) {}
            self.reap();
        }
        if message {
            let frame = channel::receive(self.control.as_fd()).ok()??;
            self.take(frame)?;
        }
        self.keep_time();
        let commands: Vec<Pid> =
            self.children.iter().filter(|child| child.at_work()).map(|child| child.pid).collect();
        for (pid, reason) in self.watch.look(&commands) {
            if let Some(id) = self.children.iter().find(|child| child.pid == pid).map(|child| child.id) {
                self.kill(id, Some(reason));
            }
        }
        Some(())
    }

    /// Waits for something to do.
    fn wait(&self) -> Option<Woken> {
        let timeout = self.patience().map(|time| rustix::event::Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        let open = || self.children.iter().filter(|child| !child.told);
        let talking = || {
            open().filter(|child| !child.silent).filter_map(|child| Some((child.id, child.outcome.as_ref()?)))
        };
        let mut polled =
            vec![PollFd::new(&self.control, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        polled.extend(open().map(|child| PollFd::new(&child.channel, PollFlags::IN)));
        polled.extend(talking().map(|(_, outcome)| PollFd::new(outcome, PollFlags::IN)));
        match rustix::event::poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
        let mut seen = polled.iter().map(PollFd::revents);
        let message = !seen.next()?.is_empty();
        let ended = !seen.next()?.is_empty();
        let gone = open().filter(|_| seen.next().is_some_and(|events| !events.is_empty()));
        let gone = gone.map(|child| child.id).collect();
        let told = talking().filter(|_| seen.next().is_some_and(|events| !events.is_empty()));
        let told = told.map(|(id, _)| id).collect();
        Some(Woken { message, ended, told, gone })
    }

    fn patience(&self) -> Option<Duration> {
        let now = Instant::now();
        let open = self.children.iter().filter(|child| !child.told);
        let Some(next) = open.map(|child| child.deadline.saturating_duration_since(now)).min() else {
            return (!self.at_rest).then_some(REST);
        };
        Some(next.min(self.watch.due_in()))
    }

    fn take(&mut self, frame: Frame) -> Option<()> {
        match frame.kind {
            Kind::Kill => {
                let ids: Vec<u32> = self
                    .children
                    .iter()
                    .filter(|child| {
                        !child.told && (child.id == frame.id || frame.id == 0 && child.id & BACKGROUND == 0)
                    })
                    .map(|child| child.id)
                    .collect();
                for id in ids {
                    self.kill(id, Some(Reason::Stop));
                }
                Some(())
            }
            Kind::Run => self.command(frame),
            Kind::File => self.tool(frame),
            Kind::Counters => self.limits(frame),
            Kind::Setup
            | Kind::Ready
            | Kind::Failed
            | Kind::Ended
            | Kind::Terminal
            | Kind::Hello
            | Kind::Begin
            | Kind::Given => None,
        }
    }

    /// Goes into the control groups, and takes over their counters. Nothing of the agent's has run before.
    fn limits(&mut self, frame: Frame) -> Option<()> {
        let which: Counters = serde_json::from_slice(&frame.body).ok()?;
        let mut counters = frame.fds;
        let ways_in = counters.split_off(counters.len().checked_sub(which.ways_in.into())?);
        // The init has one thread: moving it alone moves the process, and needs no pause of the whole machine.
        let entered = ways_in.iter().try_for_each(|way| rustix::io::write(way, b"0").map(drop));
        drop(ways_in);
        // They are the root of what can be seen of groups.
        let inside = entered.map_err(io::Error::from).and_then(|()| sys::own_groups());
        if let Err(error) = inside.at(Step::Limits, "going into the control groups") {
            let body = serde_json::to_vec(&error).unwrap_or_default();
            // The gateway sees the end of the socket when even this fails.
            let _ = channel::send(&self.control, Kind::Failed, 0, &body, &[]);
            return None;
        }
        if which.processes {
            self.confinement.processes_held_by_group();
        }
        self.watch.count(which, counters)?;
        channel::send(&self.control, Kind::Ready, 0, &[], &[]).ok()?;
        self.prepare_next();
        Some(())
    }

    fn command(&mut self, frame: Frame) -> Option<()> {
        let run: Run = serde_json::from_slice(&frame.body).ok()?;
        let [channel, out, error] = <[OwnedFd; 3]>::try_from(frame.fds).ok()?;
        if !self.children.iter().any(Child::at_work) {
            self.watch.forget();
        }
        let begun = self.waiting().and_then(|waiting| {
            waiting.give(&frame.body, &[out, error])?;
            Ok(waiting)
        });
        match begun {
            Ok(waiting) => self.children.push(Child {
                id: frame.id,
                pid: waiting.pid,
                channel,
                outcome: Some(waiting.outcome),
                told: false,
                silent: false,
                deadline: Instant::now() + Duration::from_millis(run.milliseconds).min(ENDLESS),
                reason: None,
            }),
            Err(error) => not_started(frame.id, &channel, error.raw_os_error()),
        }
        self.prepare_next();
        Some(())
    }

    /// A first process for a command: the one made beforehand, or a new one.
    fn waiting(&mut self) -> io::Result<Waiting> {
        match self.next.take() {
            Some(waiting) => Ok(waiting),
            None => Waiting::start(&self.confinement, &self.environment),
        }
    }

    /// Makes the first process of the next command. When there is no room for it now it is made with the command.
    fn prepare_next(&mut self) {
        if self.next.is_none() {
            self.next = Waiting::start(&self.confinement, &self.environment).ok();
        }
    }

    fn tool(&mut self, frame: Frame) -> Option<()> {
        let [channel, given @ ..] = <[OwnedFd; 4]>::try_from(frame.fds).ok()?;
        match operation::start(&given, &self.confinement) {
            Ok(pid) => self.children.push(Child {
                id: frame.id,
                pid,
                channel,
                outcome: None,
                told: false,
                silent: false,
                deadline: Instant::now() + TOOL_TIME,
                reason: None,
            }),
            Err(error) => not_started(frame.id, &channel, error.raw_os_error()),
        }
        Some(())
    }

    /// Ends a child and all that came of it. The first reason stays.
    fn kill(&mut self, id: u32, reason: Option<Reason>) {
        if let Some(child) = self.children.iter_mut().find(|child| child.id == id) {
            child.reason = child.reason.or(reason);
            process::kill(child.pid, Signal::KILL);
            // Nothing more to do for it but to reap it.
            child.deadline = Instant::now() + NEVER;
        }
    }

    /// A child whose time is over is asked to end, then ended.
    fn keep_time(&mut self) {
        let now = Instant::now();
        for child in self.children.iter_mut().filter(|child| child.deadline <= now) {
            if child.reason.is_none() && child.outcome.is_some() {
                child.reason = Some(Reason::Timeout);
                child.deadline = now + GRACE;
                process::kill(child.pid, Signal::TERM);
            } else {
                child.reason = child.reason.or(Some(Reason::Timeout));
                child.deadline = now + NEVER;
                process::kill(child.pid, Signal::KILL);
            }
        }
    }

    /// A command's first process says how bash ended. It says so last: what is left to do for it takes the kernel a
    /// while, and nobody has to wait for that.
    fn hear(&mut self, id: u32) {
        let Some(place) = self.children.iter().position(|child| child.id == id) else { return };
        let mut child = self.children.swap_remove(place);
        match child.outcome.as_ref().and_then(Outcome::read) {
            None => child.silent = true,
            heard => {
                self.tell(&child, heard, None);
                child.told = true;
                child.deadline = Instant::now() + NEVER;
            }
        }
        self.children.push(child);
    }

    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if self.next.as_ref().is_some_and(|next| next.pid == pid) {
                self.next = None;
            }
            if let Some(place) = self.children.iter().position(|child| child.pid == pid) {
                let child = self.children.swap_remove(place);
                if !child.told {
                    let heard = child.outcome.as_ref().and_then(Outcome::read);
                    self.tell(&child, heard, Some(status));
                }
            }
        }
    }

    fn tell(&mut self, child: &Child, heard: Option<Outcome>, status: Option<WaitStatus>) {
        let mut ended = Ended { code: None, signal: None, reason: child.reason, failed: None };
        match (heard, status) {
            (Some(Outcome::Ended(raw)), _) => (ended.code, ended.signal) = split(raw),
            (Some(Outcome::Failed(step, errno)), _) => ended.failed = Some((step, errno)),
            (None, Some(status)) if child.outcome.is_none() => {
                (ended.code, ended.signal) = (status.exit_status(), status.terminating_signal());
            }
            // Killed before bash ended.
            (None, _) => ended.signal = Some(libc::SIGKILL),
        }
        let killed = ended.signal == Some(libc::SIGKILL) || ended.code == Some(128 + libc::SIGKILL);
        let alone = !self.children.iter().any(Child::at_work);
        if ended.reason.is_none() && child.outcome.is_some() && (killed || alone) {
            let short = self.watch.memory_kill();
            ended.reason = short.then_some(Reason::Oom);
        }
        let body = serde_json::to_vec(&ended).unwrap_or_default();
        // The gateway's thread may be gone; then nobody wants to know.
        let _ = channel::send(&child.channel, Kind::Ended, child.id, &body, &[]);
    }
}

/// Exit code or signal of a raw wait status.
fn split(status: i32) -> (Option<i32>, Option<i32>) {
    if libc::WIFEXITED(status) {
        (Some(libc::WEXITSTATUS(status)), None)
    } else {
        (None, Some(libc::WTERMSIG(status)))
    }
}

fn not_started(id: u32, channel: &OwnedFd, errno: Option<i32>) {
    let failed = Some((Step::Namespaces, errno.unwrap_or(libc::EINVAL)));
    let ended = Ended { code: None, signal: None, reason: None, failed };
    let body = serde_json::to_vec(&ended).unwrap_or_default();
    // As above.
    let _ = channel::send(channel, Kind::Ended, id, &body, &[]);
}
