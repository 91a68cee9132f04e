//! The state of the terminal: as a session needs it while one is followed, and always as it was afterwards.
//!
//! Restored when the guard is dropped and when the program panics. Output processing stays on, so a line's end is
//! still a line's end; keys that make signals come as keys.

use std::sync::{Once, OnceLock};

use rustix::termios::{LocalModes, OptionalActions, OutputModes, Termios, tcgetattr, tcsetattr};

use crate::error::CommandError;

/// The terminal as it was, for the end by a panic.
static BEFORE: OnceLock<Before> = OnceLock::new();
static HOOK: Once = Once::new();

/// Undoes bracketed paste, the hidden cursor and every style.
const CALM: &str = "\x1b[?2004l\x1b[?25h\x1b[0m";
/// Bracketed paste on.
const PASTE: &str = "\x1b[?2004h";

/// The terminal as it was.
#[derive(Clone, Debug)]
struct Before {
    termios: Termios,
    /// Whether it understands sequences.
    fancy: bool,
}

impl Before {
    /// As it was. Nothing can be done about a terminal that does not take it.
    fn restore(&self) {
        if self.fancy {
            say(CALM);
        }
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.termios);
    }
}

/// Holds the terminal in the state for keys.
#[derive(Debug)]
pub(crate) struct Guard(Before);

impl Guard {
    /// Takes the terminal. `fancy` when it understands sequences.
    pub(crate) fn enter(fancy: bool) -> Result<Self, CommandError> {
        let termios = tcgetattr(rustix::stdio::stdin()).map_err(std::io::Error::from)?;
        let before = Before { termios, fancy };
        BEFORE.get_or_init(|| before.clone());
        HOOK.call_once(|| {
            let others = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if let Some(before) = BEFORE.get() {
                    before.restore();
                }
                others(panic);
            }));
        });
        let guard = Self(before);
        guard.keys()?;
        Ok(guard)
    }

    /// Keys come one by one, unseen and at once.
    pub(crate) fn keys(&self) -> Result<(), CommandError> {
        let before = &self.0.termios;
        let mut raw = before.clone();
        raw.make_raw();
        raw.output_modes |= before.output_modes & (OutputModes::OPOST | OutputModes::ONLCR);
        raw.local_modes -= LocalModes::ISIG;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw).map_err(std::io::Error::from)?;
        if self.0.fancy {
            say(PASTE);
        }
        Ok(())
    }

    /// As it was: for a line editor, which has a state of its own.
    pub(crate) fn lines(&self) {
        self.0.restore();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.restore();
    }
}

/// Past the lock of the standard output, which another thread may hold while this one panics.
fn say(sequence: &str) {
    let _ = rustix::io::write(rustix::stdio::stdout(), sequence.as_bytes());
}
