//! Text that becomes code: what shells, interpreters and `trap` are given.
//!
//! Shell text is read again with the same eyes. Text of other languages is not read; that it runs is enough
//! to ask. Text put together at run time asks whatever is trusted.

use super::Judge;
use super::line::{Context, Gathered, Input, unknown};
use crate::command::allowed;
use crate::command::argument::{self, Argument};
use crate::command::ask;
use crate::command::carriers::{self, Language};
use crate::command::finding::Finding;
use crate::command::options::head;
use crate::command::parse;
use crate::command::reading::Unreadable;
use crate::command::script::{Action, Nature, Piped, Place, Redirect};

impl Judge<'_> {
    /// `trap`: its first operand is shell text.
    pub(super) fn trap(&mut self, rest: &[Argument], gathered: &mut Gathered<'_>) -> Result<(), Unreadable> {
        let operands: &[Argument] = match rest {
            [option, operands @ ..] if option.literal() == Some("--") => operands,
            [option, ..] if matches!(option.literal(), Some("-l" | "-p")) => return Ok(()),
            _ => rest,
        };
        let [code, _, ..] = operands else {
            gathered.add(unknown("trap"));
            return Ok(());
        };
        gathered.add(Finding::contained("command.ask.handed", "`trap` runs its text later."));
        if code.literal() == Some("-") {
            return Ok(());
        }
        self.code(&code.emptied(), code, "bash", gathered)
    }

    /// A shell: its `-c` text, its here-document, or a script.
    pub(super) fn shell(
        &mut self,
        name: &str,
        rest: &[Argument],
        piped: Piped,
        context: Context<'_>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        gathered.add(Self::interpreter(name, rest, piped, context.input));
        let (is_code, at) = options(rest);
        if is_code {
            return match rest.get(at) {
                Some(code) => self.code(&code.emptied(), code, name, gathered),
                None => Ok(()),
            };
        }
        self.fed(name, context, gathered)
    }

    /// The lines that feed a program which runs some of them.
    pub(super) fn fed_lines(&mut self, name: &str, context: Context<'_>) -> Result<(), Unreadable> {
        if !carriers::runs_lines(name) {
            return Ok(());
        }
        for (text, place) in self.input_texts(context) {
            self.spend(text.len())?;
            for line in text.lines() {
                self.guess(carriers::line(line), place)?;
            }
        }
        Ok(())
    }

    /// The texts that feed a command: here-documents and here-strings.
    pub(super) fn input_texts(&self, context: Context<'_>) -> Vec<(String, Place)> {
        let text = |redirect: &Redirect| match &redirect.action {
            Action::Here(index) => {
                let body = self.script.here.get(*index).and_then(|here| here.body)?;
                Some((self.script.slice(body).to_owned(), body))
            }
            Action::HereString(word) => Some((argument::single(word).emptied().into_owned(), word.place)),
            Action::Read(_)
            | Action::Write(_)
            | Action::Descriptor
            | Action::DescriptorOrFile(_)
            | Action::ExpandedTwice(_) => None,
        };
        context.command.redirects.iter().filter_map(text).collect()
    }

    /// The texts that feed a program which may run them.
    pub(super) fn guess_input(&mut self, context: Context<'_>) -> Result<(), Unreadable> {
        for (text, place) in self.input_texts(context) {
            self.guess(&text, place)?;
        }
        Ok(())
    }

    /// The texts of the command line and the input of an interpreter, as far as they start a process.
    pub(super) fn inline(
        &mut self,
        name: &str,
        rest: &[Argument],
        context: Context<'_>,
    ) -> Result<(), Unreadable> {
        let language = Language::of(name);
        let mut texts: Vec<(String, Place)> =
            rest.iter().map(|argument| (argument.emptied().into_owned(), argument.place)).collect();
        texts.extend(self.input_texts(context));
        for (code, place) in texts {
            self.spend(code.len())?;
            for command in carriers::inline_commands(&code, language) {
                self.guess(&command, place)?;
            }
        }
        Ok(())
    }

    /// `sed`: what its script runs and writes. A script that runs its input makes a shell of it.
    pub(super) fn sed(
        &mut self,
        rest: &[Argument],
        piped: Piped,
        context: Context<'_>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let input: Vec<String> = self.input_texts(context).into_iter().map(|(text, _)| text).collect();
        let script = allowed::sed_script(rest, &input);
        if let Some(first) = rest.first() {
            for text in &script.commands {
                self.try_hand_on(text, first.place)?;
            }
        }
        if script.runs_input {
            gathered.add(Self::interpreter("sed", rest, piped, context.input));
            self.fed("sh", context, gathered)?;
        }
        Ok(())
    }

    /// `awk`: a program that it is fed, and values that its program may hand to a shell.
    pub(super) fn awk(
        &mut self,
        rest: &[Argument],
        piped: Piped,
        context: Context<'_>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let mut programs: Vec<Argument> = Vec::new();
        if allowed::awk_is_fed(rest) {
            gathered.add(Self::interpreter("awk", &[], piped, context.input));
            let texts = self.input_texts(context).into_iter();
            programs.extend(texts.map(|(text, place)| Argument::text(&text, place)));
            for text in allowed::awk_commands(&programs) {
                self.guess(&text, context.command.place)?;
            }
        }
        let starts = |argument: &Argument| allowed::awk_starts(&argument.emptied());
        if rest.iter().chain(&programs).any(starts) {
            for argument in rest.iter().chain(&programs) {
                for text in allowed::awk_strings(&argument.emptied()) {
                    self.guess(&text, argument.place)?;
                }
            }
            for argument in rest {
                if let Some((_, value)) = argument.emptied().split_once('=') {
                    self.guess(value, argument.place)?;
                }
            }
        }
        Ok(())
    }

    /// The texts that feed the standard input of a shell.
    pub(super) fn fed(
        &mut self,
        name: &str,
        context: Context<'_>,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        for redirect in &context.command.redirects {
            match &redirect.action {
                Action::Here(index) => self.here_document(*index, name, gathered)?,
                Action::HereString(word) => {
                    let argument = argument::single(word);
                    self.code(&argument.emptied(), &argument, name, gathered)?;
                }
                Action::Read(_)
                | Action::Write(_)
                | Action::Descriptor
                | Action::DescriptorOrFile(_)
                | Action::ExpandedTwice(_) => {}
            }
        }
        Ok(())
    }

    fn here_document(
        &mut self,
        index: usize,
        shell: &str,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let here = self.script.here.get(index).copied().unwrap_or_default();
        let Some(body) = here.body else { return Ok(()) };
        let text = self.script.slice(body).to_owned();
        if here.expands {
            gathered.add(run_time_code(shell));
            self.try_hand_on(&text, body)?;
            return Ok(());
        }
        self.text_for_shell(&text, body, shell, gathered)
    }

    /// Text from one argument that a shell of this name runs.
    pub(super) fn code(
        &mut self,
        text: &str,
        carrier: &Argument,
        shell: &str,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        gathered.add(Finding::contained(
            "command.ask.handed",
            "It hands text to a shell, which is read as commands.",
        ));
        if carrier.is_dynamic() {
            // The known part is read for what it holds; alone it need not be whole.
            gathered.add(run_time_code(shell));
            self.try_hand_on(text, carrier.place)?;
            return Ok(());
        }
        self.text_for_shell(text, carrier.place, shell, gathered)
    }

    /// Text that is known in full. A shell with another grammar may read what bash cannot.
    pub(super) fn text_for_shell(
        &mut self,
        text: &str,
        place: Place,
        shell: &str,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        if ask::reads_as_bash(shell) {
            return self.hand_on(text, place);
        }
        if !self.try_hand_on(text, place)? {
            let reason = format!("The text for `{shell}` cannot be read as bash.");
            gathered.add(Finding::asks("command.ask.handed", reason));
        }
        Ok(())
    }

    /// Hands a text on if it can be read as bash: whether it can.
    pub(super) fn try_hand_on(&mut self, text: &str, place: Place) -> Result<bool, Unreadable> {
        let before = self.script.commands.len();
        let id = self.handed_source(text, place)?;
        let read = parse::program(&mut self.script, id, Piped::No).is_ok();
        if !read {
            self.script.commands.truncate(before);
        }
        Ok(read)
    }

    /// An interpreter: what feeds it decides.
    pub(super) fn interpreter(name: &str, rest: &[Argument], piped: Piped, input: Input) -> Finding {
        if let [only] = rest
            && matches!(only.literal(), Some("--version" | "-V" | "--help"))
        {
            return Finding::harmless("command.allow.read-only", "It only prints its version.");
        }
        let fed = rest.iter().flat_map(Argument::dynamics).any(|dynamic| dynamic.nature == Nature::Process);
        if fed || input == Input::Unknown || piped == Piped::Directly {
            return Finding::asks("command.ask.pipe", format!("`{name}` is fed by another command."));
        }
        if input == Input::Plain && !rest.iter().any(names_script) {
            return Finding::asks("command.ask.pipe", format!("`{name}` runs whatever its input holds."));
        }
        Finding::contained("command.ask.interpreter", format!("`{name}` runs a script."))
    }
}

/// Whether an argument of an interpreter is its script, or an option that gives one.
fn names_script(argument: &Argument) -> bool {
    let text = head(argument);
    let standard_input = carriers::is_descriptor(argument);
    let inline = text.starts_with('-') && text.contains(['c', 'e', 'm', 'p', 'r']);
    argument.is_dynamic() || inline || !standard_input && !text.starts_with('-')
}

/// Whether a shell with these arguments is given text to run.
pub(super) fn takes_code(arguments: &[Argument]) -> bool {
    options(arguments).0
}

/// The options of a shell: whether it is given text to run, and where its first operand stands.
fn options(arguments: &[Argument]) -> (bool, usize) {
    let mut code = false;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = head(argument);
        if matches!(text, "--" | "-") {
            return (code, at + 1);
        }
        if text.len() < 2 || !text.starts_with(['-', '+']) {
            break;
        }
        at += 1;
        if matches!(text, "--rcfile" | "--init-file") {
            at += 1;
        } else if !text.starts_with("--") {
            code |= text.starts_with('-') && text.contains('c');
            at += text.matches(['o', 'O']).count();
        }
    }
    (code, at)
}

pub(super) fn run_time_code(name: &str) -> Finding {
    Finding::asks("command.ask.dynamic", format!("Part of the text for `{name}` is known at run time only."))
}
