//! The conductor of the terminal: events, keys, signals and time in; rows and orders out.
//!
//! It answers nothing by itself. An order is sent only when [`crate::terminal::mode`] says that a person gave it, or
//! when a signal asks the session to be left.

mod acts;
mod events;
mod paint;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use enclos_core::ids::SessionId;
use enclos_protocol::api::Gateway;
use enclos_protocol::card::Card;
use enclos_protocol::changeset::FileView;
use enclos_protocol::error::Fault;
use enclos_protocol::event::{Amounts, Event, SessionState};
use enclos_protocol::order::Order;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::Row;
use crate::render::transcript::Transcript;
use crate::signals::{Caught, Signals};
use crate::terminal::guard::Guard;
use crate::terminal::interruptions::Interruptions;
use crate::terminal::keys::{Input, Keys};
use crate::terminal::mode::Mode;
use crate::terminal::pager::Pager;
use crate::terminal::prompt::Prompt;
use crate::terminal::screen::Screen;
use crate::text;
use crate::world::{Look, World};

/// Between two drawings of the region.
const TICK: Duration = Duration::from_millis(100);
/// How long a session that was told to end, or has said its last word, is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a line that is being written is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Purpose {
    /// A message to the model.
    Message,
    /// A word that goes with the refusal of this approval.
    Word(String),
    /// The arguments of the call of this approval, in an editor that has the terminal to itself.
    Edit(String),
}

/// A request for an extension.
#[derive(Clone, Debug)]
struct Extension {
    spent: String,
    grants: Amounts,
    left: u64,
}

/// What a face is made of.
pub(crate) struct Parts<'f, 'w, G> {
    /// The process.
    pub(crate) world: &'f mut World<'w>,
    /// How it looks.
    pub(crate) look: Look,
    /// For the diff.
    pub(crate) gateway: &'f G,
    /// The session.
    pub(crate) session: SessionId,
    /// Where orders go.
    pub(crate) orders: UnboundedSender<Order>,
    /// The terminal's state.
    pub(crate) guard: Guard,
    /// Where keys go.
    pub(crate) to: UnboundedSender<Input>,
    /// Whether it is a conversation: a change set that waits does not take the keys of the next message.
    pub(crate) talks: bool,
}

/// The terminal of one run.
pub(crate) struct Face<'f, 'w, G> {
    parts: Parts<'f, 'w, G>,
    screen: Screen,
    transcript: Transcript,
    mode: Mode,
    /// Approvals that wait; the first one is the one that is asked.
    cards: VecDeque<(String, Box<Card>)>,
    extension: Option<Extension>,
    changes: Vec<FileView>,
    /// A state whose question has not been asked yet.
    due: Option<SessionState>,
    /// From when on the question takes answers.
    armed: Instant,
    /// Counts the questions that were shown.
    question: Arc<AtomicU64>,
    /// Whether the keys of the question are still to be told, where there is no region that shows them.
    untold: bool,
    /// The last remark to the person.
    note: String,
    tick: usize,
    keys: Option<Keys>,
    prompt: Option<(Prompt, Purpose)>,
    /// Rows that came while an editor had the terminal.
    held: Vec<Row>,
    history: Vec<String>,
    /// Messages that the person typed here and sees already.
    typed: VecDeque<String>,
    /// A long text, and the place in it when it is not a card's.
    pages: Vec<Row>,
    overlay: Option<Pager>,
    interruptions: Interruptions,
    /// The exit code of an end that a signal or a key brought about.
    forced: Option<Exit>,
    /// Since when the end is awaited.
    ending: Option<Instant>,
    abandoned: bool,
    finished: Option<u8>,
    /// Whether the terminal is gone.
    blind: bool,
}

impl<'f, 'w, G: Gateway> Face<'f, 'w, G> {
    /// The terminal of a run that has not begun.
    pub(crate) fn new(parts: Parts<'f, 'w, G>) -> Self {
        let (look, tty) = (parts.look, parts.world.tty);
        let screen = Screen::new(look.paint, !look.plain, look.width, usize::from(tty.height));
        Self {
            screen,
            transcript: Transcript::new(look.width, true),
            parts,
            mode: Mode::Working,
            cards: VecDeque::new(),
            extension: None,
            changes: Vec::new(),
            due: None,
            armed: Instant::now(),
            question: Arc::default(),
            untold: false,
            note: String::new(),
            tick: 0,
            keys: None,
            prompt: None,
            held: Vec::new(),
            history: Vec::new(),
            typed: VecDeque::new(),
            pages: Vec::new(),
            overlay: None,
            interruptions: Interruptions::default(),
            forced: None,
            ending: None,
            abandoned: false,
            finished: None,
            blind: false,
        }
    }

    /// Follows the session to the end of the run.
    pub(crate) async fn run(
        &mut self,
        mut events: UnboundedReceiver<Event>,
        mut inputs: UnboundedReceiver<Input>,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        self.listen();
        let mut ticks = tokio::time::interval(TICK);
        while !self.is_over() {
            tokio::select! {
                biased;
                caught = signals.next() => self.caught(caught),
                Some(input) = inputs.recv() => self.input(input),
                _ = ticks.tick() => self.ticked(),
                event = events.recv() => match event {
                    Some(event) => self.event(&event),
                    None => break,
                },
            }
        }
        match (self.forced, self.finished) {
            (Some(exit), _) => Ok(exit),
            (None, Some(code)) => Ok(Exit::Passed(code)),
            (None, None) => Err(CommandError::new(Fault::Unreachable, text::STREAM_CUT)
                .hint(text::hint_resume(self.parts.session.as_str()))),
        }
    }

    /// Gives the terminal back.
    pub(crate) fn close(&mut self) -> Result<(), CommandError> {
        if self.blind {
            if let Some(keys) = self.keys.take() {
                keys.abandon();
            }
            return Ok(());
        }
        self.keys = None;
        self.prompt = None;
        self.screen.yield_to(self.parts.world.out)
    }

    /// Reads keys from now on.
    fn listen(&mut self) {
        if self.keys.is_none() {
            self.keys = Some(Keys::start(self.parts.to.clone(), Arc::clone(&self.question)));
        }
    }

    fn is_over(&self) -> bool {
        self.abandoned || self.ending.is_some_and(|since| since.elapsed() > PATIENCE)
    }

    /// Sends an order. A session that is over takes none, which its last event tells.
    fn send(&self, order: Order) {
        let _ = self.parts.orders.send(order);
    }

    fn caught(&mut self, caught: Caught) {
        match caught {
            Caught::Interrupt => self.interrupt(),
            Caught::Quit => self.stop(Some(Exit::Interrupted)),
            Caught::Terminate => self.leave_for(caught.exit()),
            Caught::HangUp => {
                self.blind = true;
                self.leave_for(caught.exit());
            }
        }
    }

    /// Leaves the session to be resumed: what runs is interrupted, what waits for an answer stays.
    fn leave_for(&mut self, exit: Exit) {
        self.send(Order::Leave);
        self.forced.get_or_insert(exit);
        self.ending.get_or_insert_with(Instant::now);
    }

    /// The first one interrupts the turn; a second one within the turn or within two seconds stops the session.
    fn interrupt(&mut self) {
        let turn = match self.transcript.state {
            SessionState::WaitingInput | SessionState::Reviewing | SessionState::Closed => false,
            SessionState::Opening
            | SessionState::Running
            | SessionState::WaitingApproval
            | SessionState::WaitingExtension => true,
        };
        if self.interruptions.again(Instant::now(), turn) {
            self.stop(Some(Exit::Interrupted));
        } else if turn {
            self.send(Order::Interrupt);
            self.remark(text::NOTE_INTERRUPTED);
        } else {
            self.remark(text::NOTE_NO_TURN);
        }
    }

    /// Stops the session; when it was told so already, does not wait for it any longer.
    fn stop(&mut self, exit: Option<Exit>) {
        if self.ending.is_some() {
            self.forced.get_or_insert(Exit::Interrupted);
            self.abandoned = true;
            return;
        }
        self.send(Order::Stop);
        self.ending = Some(Instant::now());
        self.forced = exit;
        self.settle();
        self.remark(text::NOTE_STOPPING);
    }
}
