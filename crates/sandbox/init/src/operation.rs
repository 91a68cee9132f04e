//! One file operation: a confined child that becomes the program for file operations, which the gateway hands over as an
//! open file. The init never looks at what is asked.
use crate::command::close_all_but;
use crate::confine::Confinement;
use crate::process::{self, Side};
use enclos_init::wire::{ANSWER_FD, REQUEST_FD, UNCONFINED};
use rustix::io::FdFlags;
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Above the numbers at which the program expects its two files.
const ABOVE: i32 = 16;

/// Starts the operation asked for in `request`; its answer goes into `pipe`.
pub(crate) fn start([pipe, request, image]: &[OwnedFd; 3], confinement: &Confinement) -> io::Result<Pid> {
    match process::fork()? {
        Side::Parent(pid) => Ok(pid),
        Side::Child => {
            let begun = close_all_but(&[pipe.as_raw_fd(), request.as_raw_fd(), image.as_raw_fd()]).is_ok()
                && confinement.tool().is_ok()
                && process::default_signals().is_ok();
            if begun {
                // Answers only when it fails.
                let _ = become_tool([pipe, request, image]);
            }
            process::exit(UNCONFINED.into())
        }
    }
}

fn become_tool([pipe, request, image]: [&OwnedFd; 3]) -> io::Result<()> {
    let high = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, ABOVE);
    let (pipe, request, image) = (high(pipe)?, high(request)?, high(image)?);
    process::place(&request, REQUEST_FD)?;
    process::place(&pipe, ANSWER_FD)?;
    rustix::io::fcntl_setfd(&image, FdFlags::CLOEXEC)?;
    Err(process::execute_open(image.as_fd(), c"tool"))
}
