//! What a host keeps of each session: its epoch, its layers, and while one is open its sandbox. Each session of a host
//! that runs as root has a user number of its own, given back only when nothing is left of the session.
use super::base::{Base, below};
use super::clock;
use super::given::{within, write_git};
use super::lease::Lease;
use super::numbers::Numbers;
use super::orders::{Refusal, Wish};
use super::things::make_folder;
use crate::open::open;
use crate::plan::{Backend, Plan, Prefer};
use crate::platform::{self, Identity};
use crate::sandbox::Sandbox;
use crate::toolchains::{self, Taken};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the last users of a sandbox that was ended may take to let it go.
const LAST_BREATH: Duration = Duration::from_secs(2);
/// A session that nobody asked for in so long is forgotten at the next start.
const FORGOTTEN: Duration = Duration::from_hours(30 * 24);

/// Sandboxes of one user that are open at the same time.
const OPEN: usize = 128;
/// Sessions of one user that are known at the same time.
const KNOWN: usize = 16_384;

/// Why an order was not carried out.
pub(crate) type Refused = (Refusal, String);

pub(crate) fn refused<T>(why: Refusal, message: impl Into<String>) -> Result<T, Refused> {
    Err((why, message.into()))
}

/// Something failed on this machine.
pub(crate) fn failed(error: impl std::fmt::Display) -> Refused {
    (Refusal::Failed, error.to_string())
}

/// All sessions of a host.
#[derive(Debug)]
pub(crate) struct Sessions {
    folder: PathBuf,
    known: Mutex<HashMap<(u32, String), Arc<Held>>>,
    numbers: Numbers,
}

/// One session.
#[derive(Debug)]
pub(crate) struct Held {
    folder: PathBuf,
    /// Held for a moment only.
    state: Mutex<State>,
    /// Held while the session's folders are worked on: opened, ended, read, removed.
    at_work: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    epoch: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sandbox: Arc<Sandbox>,
    lease: Lease,
    running: Arc<AtomicUsize>,
}

/// The right to use an open sandbox for one order.
#[derive(Debug)]
pub(crate) struct Use {
    pub(crate) sandbox: Arc<Sandbox>,
    running: Arc<AtomicUsize>,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Sessions {
    /// The sessions below a folder; user numbers are given from `range`, both ends included.
    pub(crate) fn new(folder: PathBuf, range: (u32, u32)) -> Self {
        let folders = below(&folder).iter().flat_map(|who| below(who)).collect::<Vec<_>>();
        let taken = folders.iter().filter_map(|session| owner(&session.join("layer/upper"))).collect();
        Self { folder, known: Mutex::default(), numbers: Numbers { range, taken: Mutex::new(taken) } }
    }

    /// Forgets what nobody asked for in long. No sandbox is open.
    pub(crate) fn sweep(&self, age: &dyn Fn(&Path) -> Option<Duration>) {
        for session in below(&self.folder).iter().flat_map(|who| below(who)) {
            if age(&session.join("epoch")).is_none_or(|age| age > FORGOTTEN) {
                let number = owner(&session.join("layer/upper"));
                if crate::state::remove_layer(&session).is_ok() {
                    self.numbers.give_back(number);
                }
            }
        }
    }

    /// The session that an order is for. An order under an older epoch is refused; a newer one ends what was open.
    pub(crate) fn admit(&self, who: u32, session: &str, epoch: u64) -> Result<Arc<Held>, Refused> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if session.is_empty() || session.len() > 64 || !session.bytes().all(plain) {
            return refused(Refusal::Bad, "no name of a session");
        }
        let held = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = self.folder.join(who.to_string()).join(session);
            let new =
                || Arc::new(Held { state: Mutex::new(State::of(&folder)), folder, at_work: Mutex::new(()) });
            let key = (who, session.to_owned());
            if !known.contains_key(&key) && known.keys().filter(|(user, _)| *user == who).count() >= KNOWN {
                return refused(
                    Refusal::Busy,
                    format!("{KNOWN} sessions of this user are kept, which is the most"),
                );
            }
            Arc::clone(known.entry(key).or_insert_with(new))
        };
        held.raise(epoch)?;
        Ok(held)
    }

    /// Opens a session's sandbox.
    pub(crate) fn open(
        &self,
        (held, who, epoch): (&Held, u32, u64),
        wish: &Wish,
        base: Option<&Base>,
        home: Option<&Path>,
    ) -> Result<(Arc<Sandbox>, Vec<String>), Refused> {
        if self.open_of(who) >= OPEN {
            return refused(
                Refusal::Busy,
                format!("{OPEN} sandboxes of this user are open, which is the most"),
            );
        }
        let _work = held.at_work();
        held.led(epoch)?;
        if held.state().open.is_some() {
            return refused(Refusal::Busy, "a sandbox of the session is open already");
        }
        let (mut plan, names) = held.plan(wish, base, home).map_err(failed)?;
        if platform::identity() == Identity::Root && owner(&held.layer().join("upper")).is_none() {
            plan.owner = Some(self.numbers.take().ok_or_else(|| failed("every user number is in use"))?);
        }
        let opened = open(&plan);
        if opened.is_err() && owner(&held.layer().join("upper")).is_none() {
            self.numbers.give_back(plan.owner);
        }
        let sandbox = Arc::new(opened.map_err(failed)?);
        let lease = Lease::new(super::LEASE, clock::now());
        let (shown, running) = (Arc::clone(&sandbox), Arc::default());
        held.state().open = Some(Open { sandbox, lease, running });
        Ok((shown, names))
    }

    /// Sandboxes of a user that are open now.
    fn open_of(&self, who: u32) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own: Vec<_> =
            known.iter().filter(|((user, _), _)| *user == who).map(|(_, held)| Arc::clone(held)).collect();
        drop(known);
        own.iter().filter(|held| held.state().open.is_some()).count()
    }

    /// Removes all that is kept of a session.
    pub(crate) fn discard(
        &self,
        (who, epoch): (u32, u64),
        session: &str,
        held: &Held,
    ) -> Result<(), Refused> {
        held.close(epoch)?;
        let _work = held.at_work();
        held.led(epoch)?;
        let number = owner(&held.layer().join("upper"));
        crate::state::remove_layer(&held.folder).map_err(failed)?;
        self.numbers.give_back(number);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&(who, session.to_owned()));
        Ok(())
    }

    /// Ends the sandboxes whose lease is over, or all. Names those that were ended.
    pub(crate) fn end(&self, all: bool) -> Vec<String> {
        let known: Vec<_> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().map(|((_, session), held)| (session.clone(), Arc::clone(held))).collect()
        };
        let over = |open: &Open| all || open.lease.is_over(clock::now());
        let over: Vec<_> =
            known.into_iter().filter(|(_, held)| held.state().open.as_ref().is_some_and(over)).collect();
        for (_, held) in &over {
            held.kill();
        }
        let mut ended = Vec::new();
        for (session, held) in over {
            // One that is read just now has nothing running any more, and is looked at again.
            let Ok(_work) = held.at_work.try_lock() else { continue };
            let open = held.state().open.take();
            // It is dead whether or not the last user lets go in time.
            let _ = end(open);
            ended.push(session);
        }
        ended
    }
}

impl State {
    fn of(folder: &Path) -> Self {
        let epoch = std::fs::read_to_string(folder.join("epoch")).ok();
        Self { epoch: epoch.and_then(|text| text.trim().parse().ok()).unwrap_or(0), open: None }
    }
}

impl Held {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at_work(&self) -> MutexGuard<'_, ()> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills everything in the sandbox, without waiting.
    fn kill(&self) {
        if let Some(open) = &self.state().open {
            open.sandbox.killer().kill_all();
        }
    }

    /// The session's layer.
    pub(crate) fn layer(&self) -> PathBuf {
        self.folder.join("layer")
    }

    /// What lies over its base.
    pub(crate) fn over(&self) -> PathBuf {
        self.folder.join("over")
    }

    /// Lets `lay` write what lies over the base. No sandbox is open on it.
    pub(crate) fn lay_over<T>(&self, epoch: u64, lay: impl FnOnce(&Path) -> T) -> Result<T, Refused> {
        let _work = self.at_work();
        self.led(epoch)?;
        if self.state().open.is_some() {
            return refused(Refusal::Busy, "a sandbox of the session is open already");
        }
        Ok(lay(&self.over()))
    }

    /// Whether anything is kept of it.
    pub(crate) fn is_there(&self) -> bool {
        self.layer().join("upper").is_dir()
    }

    fn raise(&self, epoch: u64) -> Result<(), Refused> {
        let newest = self.state().epoch;
        if epoch < newest || epoch == 0 {
            return refused(
                Refusal::Epoch,
                format!("the order has epoch {epoch}, and the session is led under epoch {newest}"),
            );
        }
        if epoch > newest {
            match self.close(newest) {
                // Another order was first: it is asked anew.
                Err((Refusal::Epoch, _)) => return self.raise(epoch),
                closed => closed?,
            };
            let work = self.at_work();
            let mut state = self.state();
            if epoch <= state.epoch {
                // Another order of this epoch, or of a newer one, was first.
                drop((state, work));
                return self.raise(epoch);
            }
            std::fs::create_dir_all(&self.folder).map_err(failed)?;
            let new = self.folder.join("epoch.new");
            std::fs::write(&new, epoch.to_string()).map_err(failed)?;
            std::fs::rename(&new, self.folder.join("epoch")).map_err(failed)?;
            state.epoch = epoch;
        }
        Ok(())
    }

    /// Whether the session is still led under `epoch`. While its folders are worked on nobody can take it over.
    fn led(&self, epoch: u64) -> Result<(), Refused> {
        let newest = self.state().epoch;
        if newest == epoch {
            return Ok(());
        }
        refused(
            Refusal::Epoch,
            format!("the order has epoch {epoch}, and the session is led under epoch {newest}"),
        )
    }

    /// The open sandbox, for one order under `epoch`.
    pub(crate) fn sandbox(&self, epoch: u64) -> Result<Use, Refused> {
        let state = self.state();
        match &state.open {
            Some(open) if state.epoch == epoch && !open.lease.is_over(clock::now()) => {
                open.running.fetch_add(1, Ordering::AcqRel);
                Ok(Use { sandbox: Arc::clone(&open.sandbox), running: Arc::clone(&open.running) })
            }
            _ => refused(Refusal::Closed, "the session has no open sandbox here"),
        }
    }

    /// The gateway is there.
    pub(crate) fn renew(&self, epoch: u64) -> Result<(), Refused> {
        let state = self.state();
        match &state.open {
            Some(open) if state.epoch == epoch && open.lease.renew(clock::now()) => Ok(()),
            _ => refused(Refusal::Closed, "the session has no open sandbox here"),
        }
    }

    /// Ends the sandbox. What the session changed stays. Answers whether there was one.
    pub(crate) fn close(&self, epoch: u64) -> Result<bool, Refused> {
        {
            let state = self.state();
            if let Some(open) = state.open.as_ref().filter(|_| state.epoch == epoch) {
                open.sandbox.killer().kill_all();
            }
        }
        let _work = self.at_work();
        self.led(epoch)?;
        let open = self.state().open.take();
        let was_open = open.is_some();
        end(open).map(|()| was_open)
    }

    /// Holds the layer still while `read` reads it: nothing is opened, and nothing runs.
    pub(crate) fn at_rest<T>(&self, epoch: u64, read: impl FnOnce(&Path) -> T) -> Result<T, Refused> {
        let _work = self.at_work();
        self.led(epoch)?;
        if self.state().open.as_ref().is_some_and(|open| open.running.load(Ordering::Acquire) > 0) {
            return refused(Refusal::Busy, "something runs in the sandbox");
        }
        if !self.is_there() {
            return refused(Refusal::Unknown, "nothing is kept of the session here");
        }
        Ok(read(&self.layer()))
    }

    fn plan(&self, wish: &Wish, base: Option<&Base>, home: Option<&Path>) -> io::Result<(Plan, Vec<String>)> {
        let Taken { mounts, environment, names } = toolchains::take(home, |found| {
            if found.is_cache { &wish.caches } else { &wish.toolchains }.admits(&found.name)
        });
        let git = self.folder.join("git");
        crate::state::remove_layer(&git)?;
        make_folder(&self.over())?;
        let (over, workspace, git) = match base {
            Some(base) => {
                write_git(&git, base, wish)?;
                (Some(self.over().join("upper")), base.tree(), Some(git))
            }
            None => (None, self.over().join("upper"), None),
        };
        let plan = Plan {
            workspace,
            over,
            owner: None,
            layer: self.layer(),
            hidden: Vec::new(),
            masked: Vec::new(),
            git,
            mounts,
            environment,
            limits: within(&wish.limits),
            backend: Backend::Namespaces,
            // What a session wrote here is brought back as an overlay's layer.
            workspace_by: Prefer::OverlayAlone,
        };
        Ok((plan, names))
    }
}

/// Ends what was open, and waits for it.
fn end(open: Option<Open>) -> Result<(), Refused> {
    let Some(open) = open else { return Ok(()) };
    open.sandbox.killer().kill_all();
    let start = Instant::now();
    let mut sandbox = open.sandbox;
    loop {
        match Arc::try_unwrap(sandbox) {
            Ok(last) => {
                last.close();
                return Ok(());
            }
            Err(shared) if start.elapsed() < LAST_BREATH => sandbox = shared,
            // Everything in it is killed; the last user closes it.
            Err(_) => return refused(Refusal::Busy, "the last command of the session is still ending"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Who owns a folder.
fn owner(folder: &Path) -> Option<u32> {
    std::fs::symlink_metadata(folder).ok().map(|facts| facts.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_never_taken_back_not_even_by_a_new_process() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(dir.path().to_owned(), (10, 12));
        let why =
            |sessions: &Sessions, who, epoch| sessions.admit(who, "sess_1", epoch).err().map(|(why, _)| why);
        assert_eq!(why(&sessions, 7, 0), Some(Refusal::Epoch));
        for (epoch, answer) in
            [(2, None), (2, None), (1, Some(Refusal::Epoch)), (5, None), (4, Some(Refusal::Epoch))]
        {
            assert_eq!(why(&sessions, 7, epoch), answer, "{epoch}");
        }
        assert_eq!(why(&sessions, 8, 1), None, "another person's session of that name is another session");
        let again = Sessions::new(dir.path().to_owned(), (10, 12));
        assert_eq!(why(&again, 7, 4), Some(Refusal::Epoch));
        assert_eq!(why(&again, 7, 5), None);
        for name in ["", "..", "a/b", "a\0"] {
            assert_eq!(again.admit(7, name, 1).err().map(|(why, _)| why), Some(Refusal::Bad), "{name:?}");
        }
    }

    #[test]
    fn an_order_that_was_let_in_under_an_epoch_that_is_over_by_now_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(dir.path().to_owned(), (10, 12));
        let held = sessions.admit(7, "sess_1", 1).unwrap();
        sessions.admit(7, "sess_1", 2).unwrap();
        std::fs::create_dir_all(held.layer().join("upper")).unwrap();
        let why = |refused: Result<(), Refused>| refused.err().map(|(why, _)| why);
        assert_eq!(why(held.close(1).map(drop)), Some(Refusal::Epoch));
        assert_eq!(why(held.lay_over(1, |_| ())), Some(Refusal::Epoch));
        assert_eq!(why(held.at_rest(1, |_| ())), Some(Refusal::Epoch));
        assert_eq!(why(sessions.discard((7, 1), "sess_1", &held)), Some(Refusal::Epoch));
        assert_eq!(why(held.renew(1)), Some(Refusal::Closed));
        assert!(held.is_there());
        assert_eq!(why(held.at_rest(2, |_| ())), None);
        assert_eq!(why(sessions.discard((7, 2), "sess_1", &held)), None);
        assert!(!held.is_there());
    }
}
