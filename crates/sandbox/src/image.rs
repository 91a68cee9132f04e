//! The two programs that run inside, each as a sealed file in memory: written once for the life of this process when it is
//! first wanted, then executed for each sandbox or file operation. Nobody can change them, and they have no path.
use crate::error::{OpenError, Place};
use enclos_init::wire::Step;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

/// A program, and its file once that was made.
pub(crate) struct Image {
    bytes: &'static [u8],
    name: &'static CStr,
    file: OnceLock<OwnedFd>,
}

/// PID 1 of a sandbox.
pub(crate) static INIT: Image = Image::new(include_bytes!(concat!(env!("OUT_DIR"), "/enclos-init")), c"init");
/// The file operations.
pub(crate) static TOOL: Image = Image::new(include_bytes!(concat!(env!("OUT_DIR"), "/enclos-tool")), c"tool");

impl Image {
    const fn new(bytes: &'static [u8], name: &'static CStr) -> Self {
        Self { bytes, name, file: OnceLock::new() }
    }

    /// The program itself.
    pub(crate) fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// The program, ready to be executed.
    pub(crate) fn file(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(file) = self.file.get() {
            return Ok(file.as_fd());
        }
        let made = self.make()?;
        // Another thread may have been first; its file is as good.
        Ok(self.file.get_or_init(|| made).as_fd())
    }

    fn make(&self) -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = match rustix::fs::memfd_create(self.name, flags | MemfdFlags::EXEC) {
            // Older kernels do not know the flag: every such file can be executed there.
            Err(Errno::INVAL) => rustix::fs::memfd_create(self.name, flags)?,
            other => other?,
        };
        let mut file = File::from(fd);
        file.write_all(self.bytes)?;
        let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        Ok(file.into())
    }
}

/// A handle on the init's program.
pub(crate) fn init() -> Result<OwnedFd, OpenError> {
    INIT.file().and_then(|file| file.try_clone_to_owned()).at(Step::Init, "keeping the init in memory")
}
