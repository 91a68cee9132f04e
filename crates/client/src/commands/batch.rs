//! `policy explain-command --batch`: JSON lines in, JSON lines out, flushed one by one.
//!
//! A line that cannot be read is answered by an error that names it, and the next line is read. Nothing is guessed:
//! an unknown field, a missing command, a base that is no verdict or stands beside a policy is such an error, and the
//! batch ends with the code of a wrong input.

use std::io::{BufRead, Read as _};

use enclos_protocol::api::{CommandQuestion, Gateway};
use enclos_protocol::report::CommandExplanation;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::text;
use crate::world::World;

/// The longest line that is read, in bytes: a command has 64 KiB, and each of them may be escaped.
const LINE: u64 = 1 << 20;

/// A question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    base: Option<String>,
    command: String,
}

/// Answers questions until there are none.
pub(crate) fn run<G: Gateway>(
    world: &mut World<'_>,
    gateway: &G,
    defaults: &CommandQuestion,
) -> Result<Exit, CommandError> {
    let mut line = Vec::new();
    let mut exit = Exit::Done;
    for number in 1_u64.. {
        line.clear();
        let read = (&mut *world.input as &mut dyn BufRead).take(LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let whole = line.ends_with(b"\n") || (read as u64) < LINE;
        if !whole {
            skip_line(world)?;
        }
        if whole && line.trim_ascii().is_empty() {
            continue;
        }
        let answer = if whole {
            answer(gateway, defaults, &line, number)
        } else {
            Err((Value::Null, text::batch_long(LINE)))
        };
        let answer = answer.unwrap_or_else(|(id, error)| {
            exit = Exit::Usage;
            json!({ "id": id, "line": number, "error": error })
        });
        world.json(&answer)?;
    }
    Ok(exit)
}

/// Reads to the end of a line without keeping it.
pub(super) fn skip_line(world: &mut World<'_>) -> Result<(), CommandError> {
    loop {
        let buffer = world.input.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        let done = end.is_some() || buffer.is_empty();
        world.input.consume(used);
        if done {
            return Ok(());
        }
    }
}

/// One answer, or the question's id with what is wrong.
fn answer<G: Gateway>(
    gateway: &G,
    defaults: &CommandQuestion,
    line: &[u8],
    number: u64,
) -> Result<Value, (Value, String)> {
    let question: Question = serde_json::from_slice(line).map_err(|error| {
        let id = serde_json::from_slice::<Value>(line).ok().and_then(|value| value.get("id").cloned());
        (id.unwrap_or(Value::Null), text::batch_unreadable(number, &error.to_string()))
    })?;
    if question.base.is_some() && (defaults.preset.is_some() || !defaults.policy.is_empty()) {
        return Err((question.id, text::BATCH_TWO_BASES.to_owned()));
    }
    let asked = CommandQuestion { base: question.base.or_else(|| defaults.base.clone()), ..defaults.clone() };
    match gateway.explain_command(&asked, &question.command) {
        Ok(CommandExplanation { reading, .. }) => {
            let mut answer =
                json!({ "id": question.id, "verdict": reading.verdict, "pieces": reading.pieces });
            if let Some(unreadable) = reading.unreadable {
                answer["unreadable"] = json!(unreadable);
            }
            Ok(answer)
        }
        Err(error) => Err((question.id, error.message)),
    }
}
