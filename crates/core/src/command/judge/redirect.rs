//! Redirections: what they write, and where.

use super::{Judge, loader};
use crate::command::argument::{self, Argument};
use crate::command::ask;
use crate::command::families;
use crate::command::finding::Finding;
use crate::command::paths::Path;
use crate::command::reading::Unreadable;
use crate::command::script::{Action, Nature, Redirect, Word};
use crate::command::subscript;

impl Judge<'_> {
    /// The piece of a redirection, unless it does nothing but read or copy a descriptor.
    pub(super) fn redirect(&mut self, redirect: &Redirect) -> Result<(), Unreadable> {
        if let Some(variable) = &redirect.variable
            && ask::is_loader(variable)
        {
            self.piece(redirect.place, Vec::new(), loader(variable), None);
        }
        let (word, finding) = match &redirect.action {
            Action::Write(word) | Action::DescriptorOrFile(word) => (word, self.write(word)?),
            Action::ExpandedTwice(word) => (word, self.expanded_twice(word)?),
            Action::Read(word) => (word, self.read(word)),
            Action::Descriptor | Action::Here(_) | Action::HereString(_) => return Ok(()),
        };
        if let Some(finding) = finding {
            let target = argument::single(word).shown(&self.script);
            let text = self.script.slice(redirect.place);
            let operator: String =
                text.chars().skip_while(char::is_ascii_digit).take_while(|c| "<>&|".contains(*c)).collect();
            self.piece(redirect.place, vec![operator, target], finding, None);
        }
        Ok(())
    }

    fn write(&mut self, word: &Word) -> Result<Option<Finding>, Unreadable> {
        let arguments = self.arguments(std::slice::from_ref(word))?;
        let [target] = arguments.as_slice() else {
            return Ok(Some(Finding::asks(
                "command.ask.redirect",
                "It writes to a file that braces put together.",
            )));
        };
        Ok(self.written_to(target))
    }

    /// `>&word`: what the quotes of the word protected is live when it is expanded once more.
    fn expanded_twice(&mut self, word: &Word) -> Result<Option<Finding>, Unreadable> {
        let written = self.write(word)?;
        let target = argument::single(word);
        let text = target.emptied();
        if !subscript::expands(&text) {
            return Ok(written);
        }
        let again = self.run_later(&text, target.place)?;
        Ok(Some(written.map_or(again.clone(), |written| written.and(again))))
    }

    /// What writing to `target` weighs; nothing for `/dev/null` and its like.
    fn written_to(&self, target: &Argument) -> Option<Finding> {
        let device = || Finding::refused("command.refused.device", "It writes to a device under `/dev`.");
        let written = |put: &[Argument]| {
            put.iter().any(|target| families::writes_device(target, &self.directories)).then(device)
        };
        if let Some(finding) = self.by_values(std::slice::from_ref(target), written) {
            return Some(finding);
        }
        if families::writes_device(target, &self.directories) {
            return Some(device());
        }
        if target.dynamics().any(|dynamic| dynamic.nature == Nature::Process) {
            return Some(Finding::contained("command.ask.redirect", "It writes to another command."));
        }
        if target.is_dynamic() {
            return Some(Finding::asks(
                "command.ask.redirect",
                "It writes to a file whose name is known at run time only.",
            ));
        }
        // Where the text has gone to, and where it may have done harm on the way.
        let (here, others) =
            self.directories.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
        let directories = here.into_iter().chain(others.iter().filter(|directory| directory.is_system()));
        let mut paths = directories.map(|directory| Path::of(target, directory));
        if paths.clone().all(|path| path.is_harmless_device()) {
            return None;
        }
        let relative = !target.emptied().starts_with('/');
        if paths.all(|path| path.is_writable()) && !(relative && self.lost) {
            return Some(Finding::contained("command.ask.redirect", "It writes a file."));
        }
        Some(Finding::asks("command.ask.redirect", "It writes a file outside the workspace and `/tmp`."))
    }

    fn read(&self, word: &Word) -> Option<Finding> {
        let source = argument::single(word);
        if self.is_connection(&source) {
            return Some(Finding::contained("command.ask.network", "It opens a connection."));
        }
        source
            .is_dynamic()
            .then(|| Finding::contained("command.ask.expansion", "It reads what is known at run time only."))
    }

    fn is_connection(&self, source: &Argument) -> bool {
        self.directories.iter().any(|directory| Path::of(source, directory).is_connection())
    }
}
