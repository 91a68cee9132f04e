//! `policy decide --stdio`: another agent's calls in, verdicts out, line by line and flushed.
//!
//! What a line means is the guard's; here lines are only read, and one that is too long is told to it as unread.

use std::io::{BufRead, Read as _};

use enclos_core::outside::Guard;

use crate::commands::batch::skip_line;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::text;
use crate::world::World;

/// The longest line that is read, in bytes: the answer of a tool is on one.
const LINE: u64 = 16 << 20;

/// Answers lines until there are none. Code 2 where one of them was an error.
pub(crate) fn run(world: &mut World<'_>, mut guard: Guard) -> Result<Exit, CommandError> {
    let mut line = Vec::new();
    let mut wrong = false;
    loop {
        line.clear();
        let read = (&mut *world.input as &mut dyn BufRead).take(LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(if wrong { Exit::Usage } else { Exit::Done });
        }
        let whole = line.ends_with(b"\n") || (read as u64) < LINE;
        let answer = if whole {
            if line.trim_ascii().is_empty() {
                continue;
            }
            guard.line(&line)
        } else {
            skip_line(world)?;
            guard.unread(&text::batch_long(LINE))
        };
        wrong |= answer.get("error").is_some();
        world.json(&answer)?;
    }
}
