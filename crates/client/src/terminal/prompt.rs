//! The line editor: where a person writes a task, a message or a word. On a thread of its own, so that the session
//! goes on being followed while somebody writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::error::ReadlineError;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, DefaultEditor, Event, EventContext, EventHandler, ExternalPrinter,
    KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::error::CommandError;
use crate::terminal::keys::Input;

/// What the line editor gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-\.
    Quit,
    /// Ctrl-D on an empty line, or a terminal that is gone.
    End,
}

/// A line that is being written.
pub(crate) struct Prompt {
    /// None where the terminal understands no sequences.
    printer: Option<Box<dyn ExternalPrinter + Send>>,
}

impl Prompt {
    /// Asks for a line; the answer goes where keys go.
    pub(crate) fn open(
        prompt: &'static str,
        history: &[String],
        to: UnboundedSender<Input>,
    ) -> Result<Self, CommandError> {
        let (mut editor, quit) = editor(history)?;
        let printer = editor.create_external_printer().ok();
        std::thread::spawn(move || {
            let said = read(&mut editor, &quit, prompt);
            // A run that is over listens no more.
            let _ = to.send(Input::Said(said));
        });
        Ok(Self { printer: printer.map(|printer| Box::new(printer) as Box<dyn ExternalPrinter + Send>) })
    }

    /// Somebody else has the terminal, and nothing can be printed above what they write.
    pub(crate) fn elsewhere() -> Self {
        Self { printer: None }
    }

    /// Prints rows above the line that is being written, and gives them back when it cannot. They are escaped already.
    pub(crate) fn print(&mut self, text: String) -> Result<(), String> {
        match &mut self.printer {
            Some(printer) => printer.print(text.clone()).map_err(|_| text),
            None => Err(text),
        }
    }
}

/// Asks for a line and waits for it.
pub(crate) fn ask(prompt: &'static str) -> Result<Said, CommandError> {
    let (mut editor, quit) = editor(&[])?;
    Ok(read(&mut editor, &quit, prompt))
}

fn editor(history: &[String]) -> Result<(DefaultEditor, Arc<AtomicBool>), CommandError> {
    let config = Config::builder().bracketed_paste(true).max_history_size(100).map_err(failed)?.build();
    let mut editor = DefaultEditor::with_config(config).map_err(failed)?;
    for line in history {
        editor.add_history_entry(line.as_str()).map_err(failed)?;
    }
    let quit = Arc::new(AtomicBool::new(false));
    for key in ['\\', '4'] {
        let handler = EventHandler::Conditional(Box::new(QuitKey(Arc::clone(&quit))));
        editor.bind_sequence(Event::from(KeyEvent(KeyCode::Char(key), Modifiers::CTRL)), handler);
    }
    Ok((editor, quit))
}

fn read(editor: &mut DefaultEditor, quit: &AtomicBool, prompt: &str) -> Said {
    match editor.readline(prompt) {
        Ok(line) => Said::Line(line),
        Err(ReadlineError::Interrupted) if quit.load(Ordering::Relaxed) => Said::Quit,
        Err(ReadlineError::Interrupted) => Said::Interrupt,
        Err(_) => Said::End,
    }
}

fn failed(error: ReadlineError) -> CommandError {
    match error {
        ReadlineError::Io(error) => error.into(),
        other => std::io::Error::other(other.to_string()).into(),
    }
}

/// Ctrl-\ ends the line and is remembered.
struct QuitKey(Arc<AtomicBool>);

impl ConditionalEventHandler for QuitKey {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.0.store(true, Ordering::Relaxed);
        Some(Cmd::Interrupt)
    }
}
