//! Commands that are put together from an input: `xargs`, `parallel`.
//!
//! Where the input is a text of the command itself, what comes of it is read for the refused families. Where the name of
//! the program, the text for a shell or what a removal destroys would come from the input, that asks whatever is trusted.

use super::Judge;
use super::line::{Context, Gathered, base_name};
use crate::command::argument::{Argument, Atom};
use crate::command::ask;
use crate::command::carriers::quote;
use crate::command::families;
use crate::command::finding::Finding;
use crate::command::options::head;
use crate::command::reading::Unreadable;
use crate::command::script::{Dynamic, Nature};
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
        if decides_by_input(inner, mark) {
            let reason = "What is run is known at run time only, from the input.";
            gathered.add(Finding::asks("command.ask.dynamic", reason));
        }
        let Some(first) = inner.first() else { return Ok(()) };
        let texts = self.input_texts(context);
        if texts.is_empty() {
            self.fed_unseen(wrappers::innermost(inner).unwrap_or(&[]), mark, gathered)?;
        }
        let words: Vec<_> = inner.iter().map(Argument::emptied).collect();
        for (text, _) in texts {
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

    /// What the families say of a command with an input that nobody has seen.
    fn fed_unseen(
        &mut self,
        program: &[Argument],
        mark: Option<&str>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let Some((name, rest)) = program.split_first() else { return Ok(()) };
        let name = base_name(&name.emptied());
        if ask::is_shell(&name) {
            self.note_parameters();
        }
        self.look(&name, rest)?;
        if families::removes(&name)
            && let Some(finding) = self.refused(&name, &put_in(rest, mark))
        {
            gathered.add(finding);
        }
        Ok(())
    }

    /// Words that are joined to a text for a shell. `parallel` puts a line of its input, or of a list behind `:::`, in.
    pub(super) fn joined(
        &mut self,
        name: &str,
        words: &[Argument],
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let Some(first) = words.first() else { return Ok(()) };
        let listed = words.iter().position(|word| word.emptied().starts_with(":::"));
        for word in listed.and_then(|at| words.get(at + 1..)).unwrap_or(&[]) {
            self.guess(&word.emptied(), word.place)?;
        }
        let text: Vec<String> = words.iter().map(|word| word.shown(&self.script)).collect();
        let from = listed.and_then(|at| text.get(at)).map_or("", String::as_str);
        // `::::` names files that hold the list.
        if name == "parallel" && (listed.is_none() || from.starts_with("::::")) {
            let command = text.get(..listed.unwrap_or(text.len())).unwrap_or(&text);
            let fed = self.with_parameters(&command.join(" "));
            self.text_for_shell(&fed, first.place, "sh", gathered)?;
            return self.guess(&text.join(" "), first.place);
        }
        self.text_for_shell(&text.join(" "), first.place, "sh", gathered)
    }

    /// A text with the input as its parameters.
    fn with_parameters(&mut self, text: &str) -> String {
        self.note_parameters();
        let mut put = text.to_owned();
        for mark in ["{}", "{.}", "{/}", "{//}", "{1}"] {
            put = put.replace(mark, "$@");
        }
        if put == text { format!("{text} $@") } else { put }
    }
}

/// Whether the input says which program runs, or gives a shell its text.
pub(super) fn decides_by_input(command: &[Argument], mark: Option<&str>) -> bool {
    let program = wrappers::innermost(command);
    let Some((name, rest)) = program.and_then(<[Argument]>::split_first) else { return true };
    let marked = |argument: &Argument| mark.is_some_and(|mark| argument.emptied().contains(mark));
    if marked(name) {
        return true;
    }
    let name = base_name(&name.emptied());
    let code = |argument: &Argument| matches!(head(argument), "-c" | "-e");
    let marked_code =
        rest.windows(2).any(|pair| matches!(pair, [option, text] if code(option) && marked(text)));
    let ends_open = rest.last().is_some_and(code);
    (ask::is_shell(&name) || ask::is_interpreter(&name)) && (ends_open || marked_code)
}

/// The arguments of a command with a line of the input put in: in place of the mark, or behind.
fn put_in(rest: &[Argument], mark: Option<&str>) -> Vec<Argument> {
    let Some(first) = rest.first() else { return Vec::new() };
    let input = Atom::Dynamic(Dynamic { place: first.place, quoted: false, nature: Nature::Input });
    let put = |argument: &Argument| {
        let text = argument.emptied();
        let Some((before, behind)) = mark.and_then(|mark| text.split_once(mark)) else {
            return argument.clone();
        };
        let text = |text: &str| (!text.is_empty()).then(|| Atom::Text(text.to_owned()));
        let atoms = [text(before), Some(input.clone()), text(behind)];
        Argument { atoms: atoms.into_iter().flatten().collect(), ..argument.clone() }
    };
    let mut arguments: Vec<Argument> = rest.iter().map(put).collect();
    if mark.is_none() {
        arguments.push(Argument { atoms: vec![input.clone()], ..Argument::text("", first.place) });
    }
    arguments
}
