//! Commands that are put together from an input: `xargs`.
//!
//! Where the input is a text of the command itself, what comes of it is read for the refused families. Where the name of
//! the program or the text for a shell would come from the input, that asks whatever is trusted.

use super::Judge;
use super::line::{Context, Gathered};
use crate::command::argument::Argument;
use crate::command::ask;
use crate::command::carriers::quote;
use crate::command::finding::Finding;
use crate::command::options::head;
use crate::command::reading::Unreadable;
use crate::command::wrappers;

/// The most lines of an input that are put into a command one by one.
const MAX_LINES: usize = 64;

impl Judge<'_> {
    /// The command `inner` behind `xargs`, which replaces `mark` by its input or puts it behind.
    pub(super) fn put_together(
        &mut self,
        inner: &[Argument],
        mark: Option<&str>,
        context: Context<'_>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        if decides_by_input(wrappers::innermost(inner), mark) {
            let reason = "What is run is known at run time only, from the input.";
            gathered.add(Finding::asks("command.ask.dynamic", reason));
        }
        let Some(first) = inner.first() else { return Ok(()) };
        let words: Vec<String> = inner.iter().map(Argument::emptied).collect();
        for (text, _) in self.input_texts(context) {
            if let Some(mark) = mark {
                for line in text.lines().take(MAX_LINES) {
                    let put = words.iter().map(|word| quote(&word.replace(mark, line.trim())));
                    self.guess(&put.collect::<Vec<_>>().join(" "), first.place)?;
                }
            } else {
                let unquoted = |word: &str| quote(&word.replace(['\'', '"', '\\'], ""));
                let given = text.split_whitespace().map(unquoted);
                let put = words.iter().map(|word| quote(word)).chain(given);
                self.guess(&put.collect::<Vec<_>>().join(" "), first.place)?;
            }
        }
        Ok(())
    }
}

/// Whether the input says which program runs, or gives a shell its text.
fn decides_by_input(program: &[Argument], mark: Option<&str>) -> bool {
    let Some((name, rest)) = program.split_first() else { return true };
    let name = name.emptied();
    let marked = mark.is_some_and(|mark| name.contains(mark));
    let base = name.rsplit('/').next().unwrap_or("");
    let runs_text = ask::is_shell(base) || ask::is_interpreter(base);
    let ends_open = rest.last().is_some_and(|last| matches!(head(last), "-c" | "-e"));
    marked || runs_text && ends_open
}
