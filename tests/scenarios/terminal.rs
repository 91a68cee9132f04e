//! A person at a terminal: the binary behind a pseudo-terminal. Nothing is timed: each step waits for words.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Longer than any machine needs; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_mins(2);

/// A person in front of a terminal in which a command runs.
pub(crate) struct Person {
    terminal: OwnedFd,
    child: Child,
    seen: Receiver<Vec<u8>>,
    screen: String,
    from: usize,
}

impl Person {
    /// Starts a command on a terminal of 60 rows and 160 columns.
    pub(crate) fn runs(mut command: Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let size = Winsize { ws_row: 60, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        let open = || {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(true).custom_flags(rustix::fs::OFlags::NOCTTY.bits().cast_signed());
            Stdio::from(options.open(name.to_str().unwrap()).unwrap())
        };
        command.env("TERM", "xterm-256color").stdin(open()).stdout(open()).stderr(open());
        let child = command.spawn().unwrap();
        let mut reader = std::fs::File::from(terminal.try_clone().unwrap());
        let (tell, seen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end of the last process on the terminal is an error of the read.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if tell.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { terminal, child, seen, screen: String::new(), from: 0 }
    }

    /// Waits for words on the screen, after those of the last wait.
    pub(crate) fn sees(&mut self, words: &str) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.screen[self.from..].find(words) {
                self.from += at + words.len();
                return self;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.seen.recv_timeout(left) {
                Ok(bytes) => self.screen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("`{words}` was not seen ({error}) in:\n{}", self.screen),
            }
        }
    }

    pub(crate) fn types(&mut self, keys: &str) -> &mut Self {
        let mut terminal = std::fs::File::from(self.terminal.try_clone().unwrap());
        terminal.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits for the end: the exit code, and all that was shown.
    pub(crate) fn leaves(mut self) -> (i32, String) {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                self.child.kill().unwrap();
                panic!("the command did not end; the screen was:\n{}", self.screen);
            }
            if let Ok(bytes) = self.seen.recv_timeout(Duration::from_millis(50)) {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
            }
        };
        while let Ok(bytes) = self.seen.recv_timeout(Duration::from_millis(200)) {
            self.screen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (status.code().unwrap(), self.screen)
    }
}
