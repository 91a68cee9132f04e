//! The state of the terminal: as a session needs it while one is followed, and always as it was afterwards.
//!
//! Restored when the guard is dropped and when the program panics. Output processing stays on, so a line's end is
//! still a line's end; keys that make signals come as keys.

use std::io::Write as _;
use std::sync::{Once, OnceLock};

use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

use crate::error::CommandError;

/// The terminal as it was, and whether it understands sequences.
static BEFORE: OnceLock<(Termios, bool)> = OnceLock::new();
static HOOK: Once = Once::new();

/// Undoes bracketed paste, the hidden cursor and every style.
const CALM: &str = "\x1b[?2004l\x1b[?25h\x1b[0m";
/// Bracketed paste on.
const PASTE: &str = "\x1b[?2004h";

/// Holds the terminal in the state for keys.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Takes the terminal. `fancy` when it understands sequences.
    pub fn enter(fancy: bool) -> Result<Self, CommandError> {
        let before = tcgetattr(rustix::stdio::stdin()).map_err(std::io::Error::from)?;
        BEFORE.get_or_init(|| (before, fancy));
        HOOK.call_once(|| {
            let others = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                others(panic);
            }));
        });
        let guard = Self(());
        guard.keys()?;
        Ok(guard)
    }

    /// Keys come one by one, unseen and at once.
    pub fn keys(&self) -> Result<(), CommandError> {
        let Some((before, fancy)) = BEFORE.get() else { return Ok(()) };
        let mut raw = before.clone();
        raw.make_raw();
        raw.output_modes |= before.output_modes & (OutputModes::OPOST | OutputModes::ONLCR);
        raw.local_modes -= LocalModes::ISIG;
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw).map_err(std::io::Error::from)?;
        if *fancy {
            say(PASTE);
        }
        Ok(())
    }

    /// As it was: for a line editor, which has a state of its own.
    pub fn lines(&self) {
        restore();
    }

    /// Throws away what was typed and not yet read.
    pub fn flush(&self) {
        // A terminal that is gone has nothing to throw away.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// As it was. Nothing can be done about a terminal that does not take it.
fn restore() {
    if let Some((before, fancy)) = BEFORE.get() {
        if *fancy {
            say(CALM);
        }
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
    }
}

fn say(sequence: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(sequence.as_bytes()).and_then(|()| out.flush());
}
