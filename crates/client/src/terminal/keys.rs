//! Keys as they are typed: a thread that reads them, and what each of them is.
//!
//! A key says when it was read and whether it came in a burst, as pasted text does; whoever asks a question takes
//! neither an early key nor one of a burst for an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use tokio::sync::mpsc::UnboundedSender;

use crate::terminal::prompt::Said;

/// How long the thread sleeps before it looks whether it should end.
const LOOK: Duration = Duration::from_millis(25);

/// What was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Escape.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-\.
    Quit,
    /// Ctrl-D.
    EndOfInput,
    /// Text that was pasted.
    Paste,
    /// Anything else, Enter included: it never answers anything.
    Other,
}

/// A key with its circumstances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Press {
    /// The key.
    pub(crate) key: Key,
    /// When it was read.
    pub(crate) at: Instant,
    /// Whether it came together with others.
    pub(crate) burst: bool,
    /// The last question after whose showing nothing was left to read: only from then on a key is an answer to it.
    pub(crate) question: u64,
}

/// What comes from the terminal.
#[derive(Debug)]
pub(crate) enum Input {
    /// A key.
    Press(Press),
    /// Another size: columns and rows.
    Resize(u16, u16),
    /// What the line editor gives.
    Said(Said),
    /// What comes out of the person's editor: arguments as JSON, nothing when it was left as it was, or why not.
    Edited(Result<Option<String>, String>),
    /// The terminal cannot be read any more.
    Lost,
}

/// The thread that reads keys.
#[derive(Debug)]
pub(crate) struct Keys {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Begins to read. `question` counts the questions that were shown.
    pub(crate) fn start(to: UnboundedSender<Input>, question: Arc<AtomicU64>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut reader = Reader { burst: false, quiet: 0, question };
            while !told.load(Ordering::Relaxed) {
                match reader.next() {
                    Ok(Some(input)) => {
                        if to.send(input).is_err() {
                            return;
                        }
                    }
                    Ok(None) => {}
                    Err(_) => {
                        // Whoever listens ends the run; when nobody listens there is nothing to end.
                        let _ = to.send(Input::Lost);
                        return;
                    }
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Keys {
    /// Leaves the thread to itself: a read of a terminal that is gone may never come back.
    pub(crate) fn abandon(mut self) {
        drop(self.thread.take());
    }
}

impl Drop for Keys {
    /// Ends the thread, so that somebody else may read the terminal.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is known of the keys that were read.
struct Reader {
    /// Whether the last key came together with others.
    burst: bool,
    /// The question that was shown when there was last nothing to read.
    quiet: u64,
    question: Arc<AtomicU64>,
}

impl Reader {
    /// The next input, when there is one in time. A terminal that hung up is an error, told before it is read: a read
    /// of it would never end.
    fn next(&mut self) -> std::io::Result<Option<Input>> {
        let shown = self.question.load(Ordering::Acquire);
        present(Duration::ZERO)?;
        if !poll(Duration::ZERO)? {
            self.quiet = shown;
            present(LOOK)?;
            if !poll(Duration::ZERO)? {
                self.burst = false;
                return Ok(None);
            }
        }
        let event = read()?;
        let at = Instant::now();
        let more = poll(Duration::ZERO)?;
        let burst = std::mem::replace(&mut self.burst, more) || more;
        let press = |key, burst| Some(Input::Press(Press { key, at, burst, question: self.quiet }));
        Ok(match event {
            Event::Resize(width, height) => Some(Input::Resize(width, height)),
            Event::Paste(_) => press(Key::Paste, true),
            Event::Key(event) if event.kind != KeyEventKind::Release => press(key(event), burst),
            _ => None,
        })
    }
}

/// Waits for something to read; an error when the terminal is gone.
fn present(wait: Duration) -> std::io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec};
    let mut ready = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    match rustix::event::poll(&mut ready, Some(&wait)) {
        // A change of size interrupts the wait, and is read like a key.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if ready.iter().any(|fd| fd.revents().intersects(gone)) {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// What a key of the terminal is. Ctrl-\ arrives as Ctrl-4 from most terminals: both are the same byte.
fn key(event: KeyEvent) -> Key {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    let other = event.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META);
    match event.code {
        KeyCode::Char('c' | 'C') if control => Key::Interrupt,
        KeyCode::Char('\\' | '4') if control => Key::Quit,
        KeyCode::Char('d' | 'D') if control => Key::EndOfInput,
        KeyCode::Char(_) if control || other => Key::Other,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Esc => Key::Escape,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::{Key, key};

    #[test]
    fn keys_are_what_they_say() {
        let of = |code, modifiers| key(KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyCode::Char('a'), KeyModifiers::NONE), Key::Char('a'));
        assert_eq!(of(KeyCode::Char('R'), KeyModifiers::SHIFT), Key::Char('R'));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Key::Interrupt);
        assert_eq!(of(KeyCode::Char('4'), KeyModifiers::CONTROL), Key::Quit);
        assert_eq!(of(KeyCode::Char('\\'), KeyModifiers::CONTROL), Key::Quit);
        assert_eq!(of(KeyCode::Char('a'), KeyModifiers::ALT), Key::Other);
        assert_eq!(of(KeyCode::Char('a'), KeyModifiers::CONTROL), Key::Other);
        assert_eq!(of(KeyCode::Enter, KeyModifiers::NONE), Key::Other);
    }
}
