//! Starting a session's container and ending it. In between its first process is given the init's descriptors; what comes
//! after that is the same as without a container.
use super::door::{self, Door};
use super::engine::{self, Facts, Holds};
use super::peer::{self, Peer};
use super::program::{Ended, Line, Running, first_readable};
use super::{Oci, bundle, profile};
use crate::error::{OpenError, Place};
use crate::image;
use crate::launch::{Given, Started};
use crate::plan::Limits;
use crate::platform::Identity;
use crate::state::Layer;
use enclos_init::channel;
use enclos_init::wire::{Begin, Kind, Source, Step};
use rustix::process::Resource;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const STEP: Step = Step::Engine;
/// Longest time for an engine to start a container, or to answer.
const ENGINE_TIME: Duration = Duration::from_mins(1);
/// Longest time for the container's first process to connect when the engine says that it runs.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How often a container that does not go is removed again.
const REMOVALS: u32 = 50;
/// Most descriptors that go in one frame.
const AT_ONCE: usize = 6;

/// What a container is wanted for.
pub(crate) struct Wanted<'a> {
    pub(crate) oci: &'a Oci,
    pub(crate) layer: &'a Layer,
    /// The layer's path.
    pub(crate) path: &'a Path,
    pub(crate) limits: &'a Limits,
    pub(crate) identity: Identity,
    /// Descriptors of the init, in order. What is a path is mounted by the engine.
    pub(crate) given: Vec<Given>,
}

/// A running container. Dropping it removes it, with the folder that it was shown.
#[derive(Debug)]
pub(crate) struct Container {
    oci: Oci,
    name: String,
    /// The search path that the image names.
    path: Option<String>,
    /// The engine's program, which may need a moment after the container has started.
    running: Option<Running>,
    door: Door,
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.end();
        }
        remove(&self.oci, &self.name, &self.door.state());
    }
}

/// Removes a container and waits until it is gone: an engine that is removing it already refuses to do it again. What
/// cannot be removed has its processes ended, and is removed by the next opening of the session.
fn remove(oci: &Oci, name: &str, state: &Path) {
    let succeeds =
        |line: Line| line.run(&oci.environment, ENGINE_TIME).is_ok_and(|ended| ended.status.success());
    for _ in 0..REMOVALS {
        if succeeds(engine::remove(oci.engine, name, state))
            || !succeeds(engine::has_container(oci.engine, name, state))
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Starts it. `limit` is called with the number of its first process before that has any child.
pub(crate) fn start(
    wanted: Wanted<'_>,
    limit: impl FnOnce(i32) -> Result<(), OpenError>,
) -> Result<(Started, Container), OpenError> {
    let Wanted { oci, layer, path, limits, identity, given } = wanted;
    let root = if oci.engine.is_runtime() { Some(bundle::root(&oci.image)?) } else { None };
    let facts = facts(oci, identity)?;
    let user = user(facts, identity, layer.owner)?;
    if let Some(name) = door::left_behind(layer) {
        remove(oci, &name, &door::state(path));
    }
    let name = super::name().at(STEP, "naming the container")?;
    let mounts = mounts(&given, root.is_none())?;
    let places = mounts.iter().map(|(number, path)| (*number, path.is_file())).collect::<Vec<_>>();
    let profile = serde_json::to_vec(&profile::for_engines()).at(STEP, "writing the filter")?;
    let door = Door::make(layer, path, &name, &profile, &places)?;
    let own = [Resource::Nofile, Resource::Nproc].map(|one| rustix::process::getrlimit(one).maximum);
    let described = engine::Container {
        engine: oci.engine,
        name: &name,
        image: &oci.image,
        user,
        folder: &door.shown(),
        profile: &door.profile(),
        mounts: &mounts,
        limits,
        facts,
        own,
    };
    let line = match &root {
        None => engine::run(&described),
        Some(root) => {
            let maps = facts.rootless.then_some(layer.owner);
            let text = serde_json::to_vec(&bundle::configuration(&described, root, maps));
            let text = text.at(STEP, "writing the bundle")?;
            let folder = door.bundle(&text).at(STEP, "writing the bundle")?;
            engine::run_bundle(oci.engine, &name, &folder, &door.state())
        }
    };
    let running = line.start(&oci.environment).map_err(|error| not_found(oci, error))?;
    let mut container = Container { oci: oci.clone(), name, path: None, running: Some(running), door };
    let peer = container.wait_for_peer(layer.owner.0)?;
    limit(peer.pid)?;
    hand_over(&peer, &given).at(STEP, "handing the descriptors to the container")?;
    let Peer { control, process, pid, hello } = peer;
    container.path = hello.path;
    Ok((Started { process, pid, control, trouble: None }, container))
}

/// What engines said of themselves.
static KNOWN: Mutex<Option<HashMap<&'static str, Facts>>> = Mutex::new(None);

/// What the engine says of itself, asked once in the life of this process. A runtime is not asked: a plain user's
/// container has that user alone in it.
fn facts(oci: &Oci, identity: Identity) -> Result<Facts, OpenError> {
    if oci.engine.is_runtime() {
        return Ok(Facts { rootless: identity != Identity::Root, holds: Holds::NONE });
    }
    let word = oci.engine.word();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(facts) = known.as_ref().and_then(|known| known.get(word)) {
        return Ok(*facts);
    }
    let ended =
        engine::info(oci.engine).run(&oci.environment, ENGINE_TIME).map_err(|error| not_found(oci, error))?;
    let facts = ended.status.success().then(|| engine::facts(oci.engine, &ended.out)).flatten();
    let facts = facts.ok_or_else(|| {
        OpenError::new(STEP, format!("`{word} info` gives no answer: {}", ended.complaint())).mended_by(
            format!("make `{word} info` work for this user: a daemon that runs, and the right to use it"),
        )
    })?;
    known.get_or_insert_default().insert(word, facts);
    Ok(facts)
}

fn not_found(oci: &Oci, error: io::Error) -> OpenError {
    let word = oci.engine.word();
    let error = OpenError { source: Some(error), ..OpenError::new(STEP, format!("starting `{word}`")) };
    error.mended_by(format!("install `{word}`, or choose another `execution.oci.engine`"))
}

/// Who the first process is in the container so that it is `owner` on the machine.
fn user(facts: Facts, identity: Identity, owner: (u32, u32)) -> Result<(u32, u32), OpenError> {
    match (facts.rootless, identity) {
        (false, _) => Ok(owner),
        (true, Identity::User(..)) => Ok((0, 0)),
        (true, Identity::Root) => Err(OpenError::new(
            STEP,
            "the engine runs containers as a plain user, but Enclos runs as root: the files of a session would not be its own",
        )
        .mended_by("run Enclos as that user, or name an engine that root runs".into())),
    }
}

/// What the engine has to mount. `in_words`: it is told on its command line.
fn mounts(given: &[Given], in_words: bool) -> Result<Vec<(u32, PathBuf)>, OpenError> {
    let mut mounts = Vec::new();
    for (number, given) in (0..).zip(given) {
        if let Given::Tree(path) = given {
            let path = std::path::absolute(path).at(STEP, "naming a directory for the engine")?;
            if in_words && !engine::mountable(&path) {
                let shown = path.display().to_string();
                let message = format!(
                    "`{}` cannot be mounted in a container: commas and quotes part the engine's words",
                    shown.escape_debug()
                );
                return Err(OpenError::new(STEP, message).mended_by("rename that folder".into()));
            }
            mounts.push((number, path));
        }
    }
    Ok(mounts)
}

impl Container {
    /// The search path that the image names.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn wait_for_peer(&mut self, owner: u32) -> Result<Peer, OpenError> {
        let what = "waiting for the container";
        let mut ended = false;
        loop {
            let Some(running) = &mut self.running else { return Err(OpenError::new(STEP, what)) };
            let (fds, patience): (&[&OwnedFd], _) = if ended {
                (&[&self.door.socket], CONNECT_TIME)
            } else {
                (&[&self.door.socket, &running.process], ENGINE_TIME)
            };
            match first_readable(fds, patience).at(STEP, what)? {
                Some(0) => return peer::take(&self.door.socket, owner),
                Some(_) => {
                    let end = running.end().at(STEP, what)?;
                    if !end.status.success() {
                        return Err(self.not_started(&end));
                    }
                    ended = true;
                }
                None if ended => return Err(unreachable()),
                None => return Err(OpenError::new(STEP, "the engine does not start the container in time")),
            }
        }
    }

    /// Why the engine started nothing: what it says, and what is found to be missing.
    fn not_started(&self, end: &Ended) -> OpenError {
        let word = self.oci.engine.word();
        let error = OpenError::new(STEP, format!("`{word} run` starts no container: {}", end.complaint()));
        if self.oci.engine.is_runtime() {
            return error
                .mended_by(format!("mend what `{word}` says, or choose another `execution.oci.engine`"));
        }
        let has_image = engine::has_image(self.oci.engine, &self.oci.image)
            .run(&self.oci.environment, ENGINE_TIME)
            .is_ok_and(|ended| ended.status.success());
        if has_image {
            error.mended_by(format!(
                "run a container by hand, `{word} run --rm --network=none {} true`, and mend what it says; a plain user of \
                 podman needs a line in /etc/subuid and /etc/subgid",
                self.oci.image
            ))
        } else {
            let message = format!(
                "the image `{}` is not on this machine, and nothing is fetched at opening",
                self.oci.image
            );
            OpenError::new(STEP, message).mended_by(engine::how_to_fetch(self.oci.engine, &self.oci.image))
        }
    }
}

fn unreachable() -> OpenError {
    OpenError::new(
        STEP,
        "the container runs, but its first process does not reach the control socket: a runtime with a kernel of its own \
         (runsc, Kata) has no way to it",
    )
    .mended_by("use the engine's ordinary runtime (crun or runc)".into())
}

/// Gives the first process what the init needs.
fn hand_over(peer: &Peer, given: &[Given]) -> io::Result<()> {
    let sources = (0..).zip(given).map(|(number, given)| match given {
        Given::Open(_) => Source::Sent,
        Given::Tree(_) => Source::Mounted(number),
    });
    let body = serde_json::to_vec(&Begin { given: sources.collect() })?;
    channel::send(&peer.control, Kind::Begin, 0, &body, &[])?;
    let mut all = vec![image::INIT.file()?];
    all.extend(given.iter().filter_map(|given| match given {
        Given::Open(fd) => Some(fd.as_fd()),
        Given::Tree(_) => None::<BorrowedFd<'_>>,
    }));
    all.chunks(AT_ONCE).try_for_each(|some| channel::send(&peer.control, Kind::Given, 0, &[], some))
}
