//! Where a container's first process knocks: a folder in the session's layer, with the init's program, a control socket
//! and places for what is mounted. The layer's lock makes it this sandbox's alone; what an earlier one left is removed.
use crate::error::{OpenError, Place};
use crate::image::INIT;
use crate::state::Layer;
use enclos_init::wire::Step;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

const STEP: Step = Step::Engine;
/// Its name in the layer.
const NAME: &str = "container";
/// The part of it that the container sees.
const SHOWN: &str = "shown";
/// The file with the name of the container.
const WHO: &str = "name";

/// The folder, and the socket that is listened on.
#[derive(Debug)]
pub(super) struct Door {
    layer: OwnedFd,
    layer_path: PathBuf,
    path: PathBuf,
    pub(super) socket: OwnedFd,
}

impl Door {
    /// Makes it. `places` are for mounts: their number, and whether it is a file. What stands in `path` already was left by
    /// a sandbox that is gone.
    pub(super) fn make(
        layer: &Layer,
        path: &Path,
        name: &str,
        profile: &[u8],
        places: &[(u32, bool)],
    ) -> Result<Self, OpenError> {
        let directory = layer.directory.try_clone().at(STEP, "keeping the layer")?;
        forget(&directory).at(STEP, "removing what the last container left")?;
        let layer_path = path.to_owned();
        let path = path.join(NAME);
        let shown = path.join(SHOWN);
        let what = "making a folder for the container";
        DirBuilder::new().mode(0o700).create(&path).at(STEP, what)?;
        DirBuilder::new().mode(0o755).create(&shown).at(STEP, what)?;
        std::fs::set_permissions(&shown, Permissions::from_mode(0o755)).at(STEP, what)?;
        write(&path.join(WHO), name.as_bytes(), 0o600).at(STEP, what)?;
        write(&path.join("profile.json"), profile, 0o644).at(STEP, what)?;
        write(&shown.join("init"), INIT.bytes(), 0o555).at(STEP, "writing the init's program")?;
        for (number, file) in places {
            let place = shown.join(number.to_string());
            if *file {
                File::create_new(place).map(drop).at(STEP, what)?;
            } else {
                std::fs::create_dir(place).at(STEP, what)?;
            }
        }
        let socket = listen(&shown, layer.owner).at(STEP, "making the control socket")?;
        Ok(Self { layer: directory, layer_path, path, socket })
    }

    /// The folder that the container sees.
    pub(super) fn shown(&self) -> PathBuf {
        self.path.join(SHOWN)
    }

    /// Where a runtime keeps its state.
    pub(super) fn state(&self) -> PathBuf {
        state(&self.layer_path)
    }

    /// Writes a bundle, and answers its folder.
    pub(super) fn bundle(&self, configuration: &[u8]) -> std::io::Result<PathBuf> {
        let folder = self.path.join("bundle");
        DirBuilder::new().mode(0o700).create(&folder)?;
        write(&folder.join("config.json"), configuration, 0o600)?;
        Ok(folder)
    }

    /// The file of the filter.
    pub(super) fn profile(&self) -> PathBuf {
        self.path.join("profile.json")
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // What cannot be removed now is removed when the layer is used again, or with it.
        let _ = forget(&self.layer);
    }
}

/// Where a runtime keeps the state of the container that is open on the layer at `path`.
pub(super) fn state(path: &Path) -> PathBuf {
    path.join(NAME).join("state")
}

/// The name of the container that an earlier sandbox on this layer had, when it could not remove it.
pub(super) fn left_behind(layer: &Layer) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&layer.directory, format!("{NAME}/{WHO}"), flags, Mode::empty()).ok()?;
    let name = crate::platform::small_text(file.into(), 100).ok()?;
    super::is_name(&name).then_some(name)
}

fn forget(layer: &OwnedFd) -> Result<(), Errno> {
    match enclos_init::tree::remove(layer, NAME.as_ref()) {
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))
}

/// Listens in `folder`; only `owner` and root can connect.
fn listen(folder: &Path, owner: (u32, u32)) -> std::io::Result<OwnedFd> {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // An address has room for 108 bytes, whatever the folder's path: so it goes by the folder's descriptor.
    let folder_fd =
        rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let address = SocketAddrUnix::new(format!("/proc/self/fd/{}/control", folder_fd.as_raw_fd()))?;
    rustix::net::bind(&socket, &address)?;
    let path = folder.join("control");
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(owner.0), Some(owner.1))?;
    }
    rustix::net::listen(&socket, 1)?;
    Ok(socket)
}
