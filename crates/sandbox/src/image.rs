//! The init as a sealed file in memory: written once for the life of this process, then executed for each sandbox.
//! Nobody can change it, and it has no path.
use crate::error::{OpenError, Place};
use enclos_init::wire::Step;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/enclos-init"));
static IMAGE: OnceLock<OwnedFd> = OnceLock::new();

/// The program, ready to be executed.
pub(crate) fn image() -> Result<BorrowedFd<'static>, OpenError> {
    if IMAGE.get().is_none() {
        let made = make().at(Step::Init, "keeping the init in memory")?;
        // Another thread may have been first; its file is as good.
        let _ = IMAGE.set(made);
    }
    match IMAGE.get() {
        Some(image) => Ok(image.as_fd()),
        None => Err(OpenError::new(Step::Init, "the init is not in memory")),
    }
}

fn make() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = match rustix::fs::memfd_create(c"init", flags | MemfdFlags::EXEC) {
        // Older kernels do not know the flag: every such file can be executed there.
        Err(Errno::INVAL) => rustix::fs::memfd_create(c"init", flags)?,
        other => other?,
    };
    let mut file = File::from(fd);
    file.write_all(PROGRAM)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}
