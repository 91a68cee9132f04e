//! What a command sees of its process: environment, clock, streams, terminal. All of it comes in by parameter.

use std::io::{BufRead, Write};

use enclos_protocol::env::Environment;
use jiff::Timestamp;
use serde::Serialize;

use crate::error::CommandError;
use crate::escape;
use crate::layout::Row;
use crate::style::Paint;

/// The terminal, as far as there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tty {
    /// Whether the standard input is a terminal.
    pub input: bool,
    /// Whether the standard output is a terminal.
    pub output: bool,
    /// Whether the standard error is a terminal.
    pub error: bool,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Tty {
    /// The terminal of this process.
    pub fn of_process() -> Self {
        use std::io::IsTerminal as _;
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
        let of = |cells: u16, usual: u16| if cells == 0 { usual } else { cells };
        Self {
            input: std::io::stdin().is_terminal(),
            output: std::io::stdout().is_terminal(),
            error: std::io::stderr().is_terminal(),
            width: of(size.map_or(0, |size| size.ws_col), 80),
            height: of(size.map_or(0, |size| size.ws_row), 24),
        }
    }
}

/// The process around a command.
pub struct World<'w> {
    /// The environment.
    pub env: Environment,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// The standard input, for data.
    pub input: &'w mut dyn BufRead,
    /// The standard output.
    pub out: &'w mut dyn Write,
    /// The standard error.
    pub err: &'w mut dyn Write,
    /// The terminal.
    pub tty: Tty,
}

/// How a command is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colours on the standard output.
    pub paint: Paint,
    /// Colours on the standard error.
    pub err_paint: Paint,
    /// Plain lines: no live region.
    pub plain: bool,
    /// Columns, at least 20.
    pub width: usize,
}

impl World<'_> {
    /// Prints rows for a person.
    pub fn rows(&mut self, look: Look, rows: &[Row]) -> Result<(), CommandError> {
        for row in rows {
            writeln!(self.out, "{}", row.render(look.paint))?;
        }
        Ok(self.out.flush()?)
    }

    /// Prints rows on the standard error. A failure is nobody's business: there is nowhere to tell it.
    pub fn err_rows(&mut self, look: Look, rows: &[Row]) {
        for row in rows {
            if writeln!(self.err, "{}", row.render(look.err_paint)).is_err() {
                return;
            }
        }
    }

    /// Prints a value as one line of JSON.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CommandError> {
        writeln!(self.out, "{}", json_line(value)?)?;
        Ok(self.out.flush()?)
    }
}

/// A value as one line of JSON that a terminal may be shown.
pub fn json_line<T: Serialize + ?Sized>(value: &T) -> Result<String, CommandError> {
    let text = serde_json::to_string(value).map_err(std::io::Error::from)?;
    Ok(escape::json(&text))
}
