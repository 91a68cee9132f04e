//! How an error is told: in words, or as one object where the command line asks for JSON.
//!
//! The line is looked at as it was typed, since one that `clap` refuses asks as well. Nothing else is read here, and an
//! error goes to the standard error in either form: the standard output is for reports.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, ValueEnum as _};
use enclos_protocol::error::Place;

use crate::cli::{LowArgs, Output};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, exact};
use crate::style::{Paint, Role};
use crate::world::{Look, World, json_line};

/// The form of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For a person.
    Words,
    /// One line of JSON.
    Json,
}

impl Form {
    /// What a command line asks for: `--json` of any command, `--output json` and `stream-json` of a run.
    pub(crate) fn asked(args: &[OsString]) -> Self {
        let words: Vec<&str> =
            args.iter().skip(1).take_while(|word| *word != "--").filter_map(|word| word.to_str()).collect();
        let named = LowArgs::command();
        let drives = words
            .iter()
            .find(|word| named.find_subcommand(word).is_some())
            .is_some_and(|command| ["run", "resume"].contains(command));
        let output = |at: usize, word: &str| {
            let given = word.strip_prefix("--output=").or_else(|| words.get(at + 1).copied());
            given.and_then(|given| Output::from_str(given, false).ok())
        };
        let json = words.iter().enumerate().any(|(at, word)| {
            let form = drives && (*word == "--output" || word.starts_with("--output="));
            *word == "--json" || (form && output(at, word).is_some_and(|output| output != Output::Text))
        });
        if json { Self::Json } else { Self::Words }
    }

    /// Tells an error on the standard error. An end without words is silent.
    pub(crate) fn tell(self, world: &mut World<'_>, look: Look, error: &CommandError) {
        if self == Self::Words || error.message.is_empty() {
            return world.err_rows(look, &error.rows(look.width));
        }
        if let Ok(line) = json_line(&error.object()) {
            // There is nowhere else to tell it.
            let _ = writeln!(world.err, "{line}");
        }
    }

    /// Help goes to the standard output, a mistake to the standard error; what was typed is shown escaped.
    pub(crate) fn words_of_clap(self, error: &clap::Error, world: &mut World<'_>) -> Exit {
        let look = Look { paint: Paint::PLAIN, err_paint: Paint::PLAIN, plain: true, width: usize::MAX };
        let rows = exact(&Gutter::default(), Role::Plain, &error.render().to_string(), look.width);
        if !error.use_stderr() {
            return world.rows(look, &rows).map_or_else(|error| error.exit, |()| Exit::Done);
        }
        match self {
            Self::Words => world.err_rows(look, &rows),
            Self::Json => self.tell(world, look, &mistake(error)),
        }
        Exit::Usage
    }
}

/// A mistake that `clap` found: its first paragraph is the message, the others are hints.
fn mistake(error: &clap::Error) -> CommandError {
    let text = error.render().to_string();
    let mut parts = text
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(&first);
    let told = parts.fold(CommandError::usage(message), CommandError::hint);
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => told.at(Place::field(name)),
        Some(ContextValue::Strings(names)) => told.at(Place::field(names.join(" "))),
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    fn asked(line: &str) -> Form {
        Form::asked(&line.split(' ').map(Into::into).collect::<Vec<_>>())
    }

    #[test]
    fn json_is_asked_for_by_its_options_and_by_nothing_else() {
        for line in [
            "enclos sessions --json",
            "enclos --plain sessions --bogus --json",
            "enclos run --headless --output json x",
            "enclos --color never resume last --output=stream-json",
        ] {
            assert_eq!(asked(line), Form::Json, "{line}");
        }
        for line in [
            "enclos",
            "enclos sessions",
            "enclos sandbox run -- --json",
            "enclos run --headless --output text x",
            "enclos run --output",
            "enclos journal export --output json",
        ] {
            assert_eq!(asked(line), Form::Words, "{line}");
        }
    }
}
