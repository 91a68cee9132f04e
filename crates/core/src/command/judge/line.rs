//! Command lines: the program is found behind its wrappers, then what is known of it is gathered.
//!
//! What a command runs in turn (`xargs`, `find -exec`) becomes a line of its own and waits in a list, so that
//! no command, however long, makes the reading deep.

use super::program::listed;
use super::shell::run_time_code;
use super::{Judge, harmless, loader};
use crate::command::argument::{self, Argument};
use crate::command::ask;
use crate::command::carriers;
use crate::command::finding::{Finding, Weight};
use crate::command::paths::is_trusted;
use crate::command::reading::{CommandRule, Unreadable};
use crate::command::script::{Action, Command, MAX_HANDED, Nature, Piped, Place};
use crate::command::wrappers::{self, Inside, Wrapper};
use crate::verdict::Verdict;

/// Programs that GNU's are installed beside, as `grm` beside `rm`.
const GNU: [&str; 20] = [
    "rm", "chmod", "chown", "dd", "cp", "mv", "tee", "env", "timeout", "nice", "stdbuf", "xargs", "find",
    "sed", "install", "truncate", "shred", "ln", "mkdir", "nohup",
];

/// A command line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) arguments: &'a [Argument],
    pub(super) piped: Piped,
    /// How many commands run each other to get here.
    nested: usize,
}

impl<'a> Line<'a> {
    /// A line that this one runs.
    pub(super) fn runs(&self, arguments: &'a [Argument]) -> Self {
        Self { arguments, piped: Piped::No, nested: self.nested + 1 }
    }
}

/// The command that a line belongs to.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    pub(super) command: &'c Command,
    pub(super) input: Input,
}

/// What feeds the standard input of a command, besides a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// Nothing is said.
    Plain,
    /// A file or a text.
    Given,
    /// The output of a command, or something else known at run time only.
    Unknown,
}

/// What is gathered about one command line.
pub(super) struct Gathered<'r> {
    finding: Finding,
    rule: Option<&'r CommandRule>,
}

impl<'r> Gathered<'r> {
    fn new() -> Self {
        Self { finding: harmless(), rule: None }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        let before = std::mem::replace(&mut self.finding, harmless());
        self.finding = before.and(finding);
    }

    /// Takes the rule for the command behind a wrapper of `behind` words. A rule that only names the wrapper
    /// does not free what it runs.
    fn add_rule(&mut self, rule: Option<&'r CommandRule>, behind: usize) {
        let outer = self.rule.filter(|rule| rule.verdict > Verdict::Allow || rule.argv.len() > behind);
        self.rule = match (outer, rule) {
            (Some(outer), Some(rule)) if outer.verdict > rule.verdict => Some(outer),
            (_, Some(rule)) => Some(rule),
            (outer, None) => outer,
        };
    }
}

/// What came of looking through one word at the head of a line.
enum Next<'a> {
    /// The command behind it.
    Behind(&'a [Argument]),
    /// The line is done.
    Done,
}

impl<'r> Judge<'r> {
    /// A simple command that has words.
    pub(super) fn simple(&mut self, command: &Command) -> Result<(), Unreadable> {
        let arguments = self.arguments(&command.words)?;
        let split = argument::split_at_separators(&arguments);
        let cut = split.is_some();
        let arguments = split.unwrap_or(arguments);
        let context = Context { command, input: input(command) };
        let mut lines = vec![Line { arguments: &arguments, piped: command.piped, nested: 0 }];
        while let Some(line) = lines.pop() {
            self.spend(8 + line.arguments.len())?;
            let mut gathered = Gathered::new();
            if cut {
                gathered.add(Finding::asks(
                    "command.ask.dynamic",
                    "It is cut into words at run time, by `$IFS`.",
                ));
            }
            self.line(line, context, &mut gathered, &mut lines)?;
            self.line_piece(line, command, gathered)?;
        }
        Ok(())
    }

    fn line_piece(
        &mut self,
        line: Line<'_>,
        command: &Command,
        mut gathered: Gathered<'_>,
    ) -> Result<(), Unreadable> {
        if line.arguments.iter().any(|argument| argument.too_large) {
            gathered
                .add(Finding::asks("command.ask.expansion", "Its braces make more words than can be read."));
        }
        if gathered.finding.weight == Weight::Harmless && self.depends_on_run_time(command, line.arguments) {
            let reason = "Some of its words are known at run time only.";
            gathered.add(Finding::contained("command.ask.expansion", reason));
        }
        let argv: Vec<String> = line.arguments.iter().map(|argument| argument.shown(&self.script)).collect();
        // Copying is cheap, beside all else.
        self.spend(argv.iter().map(|word| word.len() / 16 + 1).sum())?;
        let place = match line.arguments {
            [first, .., last] if line.nested > 0 && first.place.text == last.place.text => {
                Place { end: last.place.end, ..first.place }
            }
            [only] if line.nested > 0 => only.place,
            _ => command.place,
        };
        self.piece(place, argv, gathered.finding, gathered.rule);
        Ok(())
    }

    /// One line: through its wrappers to the program it runs.
    fn line<'a>(
        &mut self,
        line: Line<'a>,
        context: Context<'_>,
        gathered: &mut Gathered<'r>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<(), Unreadable> {
        if line.nested > MAX_HANDED {
            let at = self.script.span(context.command.place).start;
            return Err(Unreadable {
                reason: format!("commands run each other over {MAX_HANDED} times"),
                at,
            });
        }
        let mut arguments = line.arguments;
        gathered.add_rule(self.written.find(arguments), 0);
        while let Some((first, rest)) = arguments.split_first() {
            let written = first.emptied();
            gathered.add(name_finding(first, &written));
            if first.may_vanish() {
                arguments = rest;
                continue;
            }
            let name = if is_shell_itself(&written) { "bash".to_owned() } else { base_name(&written) };
            self.look(&name, rest)?;
            if let Some(finding) = self.refused(&name, rest) {
                gathered.add(finding);
                return Ok(());
            }
            let Some(wrapper) = wrappers::find(&name) else {
                return self.program(&name, rest, line, context, gathered, lines);
            };
            match self.wrapper((&name, wrapper), rest, (line, context), gathered, lines)? {
                Next::Behind(inner) => {
                    gathered.add_rule(self.written.find(inner), line.arguments.len() - inner.len());
                    arguments = inner;
                }
                Next::Done => return Ok(()),
            }
        }
        Ok(())
    }

    /// What a wrapper runs.
    fn wrapper<'a>(
        &mut self,
        (name, wrapper): (&str, &Wrapper),
        rest: &'a [Argument],
        (line, context): (Line<'a>, Context<'_>),
        gathered: &mut Gathered<'r>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<Next<'a>, Unreadable> {
        for assignment in wrapper.assignments(rest) {
            gathered.add(environment(assignment));
            let text = assignment.emptied();
            if let Some((variable, value)) = text.split_once('=')
                && carriers::variable(variable)
            {
                self.guess(value.trim_start_matches('|'), assignment.place)?;
            }
        }
        if let Some(directory) = wrapper.directory(rest) {
            self.change_directory("cd", std::slice::from_ref(directory.as_ref()));
        }
        if wrapper.hands_on {
            gathered
                .add(Finding::contained("command.ask.handed", format!("`{name}` runs what it is given.")));
        }
        if let Some((rule, reason)) = wrapper.effect {
            gathered.add(Finding::contained(rule, reason));
        }
        match wrapper.inside(rest) {
            Inside::Command(inner) if wrapper.hands_on => {
                if name == "xargs" {
                    self.put_together(inner, wrapper.mark(rest).as_deref(), context, gathered)?;
                }
                lines.push(line.runs(inner));
            }
            Inside::Command(inner) => return Ok(Next::Behind(inner)),
            Inside::Code(text, carrier, inner) => {
                self.code(&text, carrier, "sh", gathered)?;
                return Ok(Next::Behind(inner));
            }
            Inside::Split(text, carrier, behind) => {
                let mut words = carriers::split(&text);
                words.extend(behind.iter().map(|argument| carriers::quote(&argument.emptied())));
                if text.contains("${") || behind.iter().any(Argument::is_dynamic) {
                    gathered.add(run_time_code(name));
                }
                self.code(&format!("{name} {}", words.join(" ")), carrier, "sh", gathered)?;
            }
            Inside::Joined(words) => self.joined(name, words, gathered)?,
            Inside::Nothing if matches!(name, "env" | "command" | "builtin" | "time" | "nice") => {}
            Inside::Nothing if name == "parallel" => {
                gathered.add(Finding::asks("command.ask.pipe", "`parallel` runs whatever its input holds."));
            }
            Inside::Nothing => gathered.add(listed(name, rest)),
            Inside::Unknown => {
                let reason = format!("What `{name}` runs cannot be told from its options.");
                gathered.add(Finding::asks("command.ask.wrapper", reason));
                self.anywhere(line, rest, gathered, lines)?;
            }
        }
        Ok(Next::Done)
    }

    /// Whether some of its words or its input are known at run time only.
    fn depends_on_run_time(&self, command: &Command, arguments: &[Argument]) -> bool {
        let unknown =
            |argument: &Argument| argument.dynamics().any(|dynamic| dynamic.nature != Nature::Number);
        arguments.iter().any(unknown)
            || command.redirects.iter().any(|redirect| match &redirect.action {
                Action::HereString(word) => unknown(&argument::single(word)),
                Action::Here(index) => self.script.here.get(*index).is_some_and(|here| here.expands),
                Action::Read(_)
                | Action::Write(_)
                | Action::Descriptor
                | Action::DescriptorOrFile(_)
                | Action::ExpandedTwice(_) => false,
            })
    }
}

/// What the way a name is written says by itself.
fn name_finding(first: &Argument, written: &str) -> Finding {
    if first.is_dynamic() || first.is_glob() {
        return Finding::asks("command.ask.dynamic", "The name of the command is known at run time only.");
    }
    if first.coded {
        return Finding::asks(
            "command.ask.obfuscation",
            "The name of the command is written to be hard to read.",
        );
    }
    if written.chars().any(is_invisible) {
        return Finding::asks(
            "command.ask.obfuscation",
            "The name of the command holds invisible characters.",
        );
    }
    if !is_trusted(written) {
        let reason = format!("`{}` is a program of its own.", shown(written));
        return Finding::contained("command.ask.unknown", reason);
    }
    harmless()
}

/// Characters beyond ASCII that show nothing, or as a blank.
pub(crate) fn is_invisible(character: char) -> bool {
    !character.is_ascii() && character.is_whitespace()
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn environment(assignment: &Argument) -> Finding {
    let text = assignment.emptied();
    if text == "-" {
        return harmless();
    }
    let (name, value) = text.split_once('=').unwrap_or((text.as_ref(), ""));
    let value = assignment.literal().map(|_| value);
    if ask::carries_code(name, value) {
        return loader(name);
    }
    Finding::contained("command.ask.assignment", format!("It sets the variable `{name}`."))
}

fn input(command: &Command) -> Input {
    let mut input = Input::Plain;
    for redirect in &command.redirects {
        input = match &redirect.action {
            Action::Read(word) | Action::HereString(word) if argument::single(word).is_dynamic() => {
                Input::Unknown
            }
            Action::Read(_) | Action::HereString(_) | Action::Here(_) => Input::Given,
            Action::Write(_)
            | Action::Descriptor
            | Action::DescriptorOrFile(_)
            | Action::ExpandedTwice(_) => input,
        };
    }
    input
}

pub(super) fn unknown(name: &str) -> Finding {
    let reason = format!("`{}` is not among the programs known only to read.", shown(name));
    Finding::contained("command.ask.unknown", reason)
}

/// A name, cut for a sentence.
fn shown(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Whether a path is the running shell: `/proc/self/exe`, `/proc/$$/exe`.
fn is_shell_itself(written: &str) -> bool {
    written.strip_prefix("/proc/").and_then(|rest| rest.strip_suffix("/exe")).is_some()
}

/// The last component of a name, by the file systems of either kind.
pub(super) fn base_name(written: &str) -> String {
    let base = written.rsplit(['/', '\\']).next().unwrap_or("").trim_end_matches('\r');
    let stem = base.len().checked_sub(4).and_then(|at| base.split_at_checked(at));
    let base = stem.filter(|(_, end)| end.eq_ignore_ascii_case(".exe")).map_or(base, |(stem, _)| stem);
    // The tools of GNU under the names that they have beside others.
    match base.strip_prefix('g') {
        Some(plain) if GNU.contains(&plain) => plain.to_owned(),
        _ => base.to_owned(),
    }
}
