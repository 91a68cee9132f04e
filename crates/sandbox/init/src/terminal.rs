//! A terminal for one command, from the sandbox's own multiplexer. Its other side goes to the gateway, which only reads.
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;

/// Its size, in characters.
const SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// A new one: the side that controls it, and the side that programs see. No path is followed between the two.
pub(crate) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, SIZE)?;
    let slave = ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, slave))
}

/// Makes it the terminal of this session of processes, and its three standard streams.
pub(crate) fn take(slave: &OwnedFd) -> io::Result<()> {
    rustix::process::ioctl_tiocsctty(slave)?;
    rustix::stdio::dup2_stdin(slave)?;
    rustix::stdio::dup2_stdout(slave)?;
    rustix::stdio::dup2_stderr(slave)?;
    Ok(())
}
