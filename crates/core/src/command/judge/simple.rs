//! Simple commands: the name is found behind wrappers, then the families, the lists and the grammars speak.
//!
//! What a command runs in turn (`find -exec`) waits in a list of its own, so that no command line, however
//! long, makes the reading deep.

use super::{Judge, MAX_DIRECTORIES, harmless, loader};
use crate::command::allowed;
use crate::command::argument::{self, Argument};
use crate::command::ask;
use crate::command::families;
use crate::command::finding::{Finding, Weight};
use crate::command::options::head;
use crate::command::paths::{Directory, Path};
use crate::command::reading::{CommandRule, Unreadable};
use crate::command::script::{Action, Command, MAX_HANDED, Nature, Piped, Place};
use crate::command::wrappers::{self, Inside};
use crate::verdict::Verdict;

/// At how many places the families are looked for when a command line is not understood.
const MAX_PLACES: usize = 64;
/// Directories whose programs are the ones their names say.
const TRUSTED: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// How a command line is fed and where it came from.
#[derive(Clone, Copy)]
struct Line<'a> {
    arguments: &'a [Argument],
    piped: Piped,
    /// How many commands ran each other to get here.
    nested: usize,
}

/// What feeds the standard input of a command, besides a pipe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    /// Nothing is said.
    Plain,
    /// A file or a here-document.
    Given,
    /// The output of a command.
    Process,
}

/// What is gathered about one command line.
struct Gathered<'r> {
    finding: Finding,
    rule: Option<&'r CommandRule>,
}

impl<'r> Gathered<'r> {
    fn new() -> Self {
        Self { finding: harmless(), rule: None }
    }

    fn add(&mut self, finding: Finding) {
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

impl<'r> Judge<'r> {
    pub(super) fn simple(&mut self, command: &Command) -> Result<(), Unreadable> {
        let mut arguments = self.arguments(&command.words);
        let split = argument::split_at_separators(&arguments);
        let cut = split.is_some();
        arguments = split.unwrap_or(arguments);
        let input = self.input(command);
        let mut lines = vec![Line { arguments: &arguments, piped: command.piped, nested: 0 }];
        while let Some(line) = lines.pop() {
            let mut gathered = Gathered::new();
            if cut {
                gathered.add(Finding::asks(
                    "command.ask.dynamic",
                    "It is cut into words at run time, by `$IFS`.",
                ));
            }
            self.line(line, input, command, &mut gathered, &mut lines)?;
            self.line_piece(line, command, gathered);
        }
        Ok(())
    }

    fn line_piece(&mut self, line: Line<'_>, command: &Command, mut gathered: Gathered<'_>) {
        if line.arguments.iter().any(|argument| argument.too_large) {
            gathered
                .add(Finding::asks("command.ask.expansion", "Its braces make more words than can be read."));
        }
        if gathered.finding.weight == Weight::Harmless && self.depends_on_run_time(command, line.arguments) {
            gathered.add(Finding::contained(
                "command.ask.expansion",
                "Some of its words are known at run time only.",
            ));
        }
        let argv = line.arguments.iter().map(|argument| argument.shown(&self.script)).collect();
        let place = match (line.arguments, line.nested) {
            ([first, .., last], 1..) if first.place.text == last.place.text => {
                Place { end: last.place.end, ..first.place }
            }
            ([only], 1..) => only.place,
            _ => command.place,
        };
        self.piece(place, argv, gathered.finding, gathered.rule);
    }

    /// One command line: through its wrappers to the program it runs.
    fn line<'a>(
        &mut self,
        line: Line<'a>,
        input: Input,
        command: &Command,
        gathered: &mut Gathered<'r>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<(), Unreadable> {
        let Line { mut arguments, piped, nested } = line;
        if nested > MAX_HANDED {
            let at = self.script.span(command.place).start;
            return Err(Unreadable {
                reason: format!("commands run each other over {MAX_HANDED} times"),
                at,
            });
        }
        gathered.add_rule(self.written.find(arguments), 0);
        while let Some((first, rest)) = arguments.split_first() {
            if first.is_dynamic() || first.is_glob() {
                gathered.add(Finding::asks(
                    "command.ask.dynamic",
                    "The name of the command is known at run time only.",
                ));
                if first.may_vanish() {
                    arguments = rest;
                    continue;
                }
            }
            if first.coded {
                gathered.add(Finding::asks(
                    "command.ask.obfuscation",
                    "The name of the command is written to be hard to read.",
                ));
            }
            let written = first.emptied();
            let name = base_name(&written);
            if let Some(finding) = self.refused(&name, rest) {
                gathered.add(finding);
                return Ok(());
            }
            if !is_trusted(&written) {
                gathered.add(Finding::contained(
                    "command.ask.unknown",
                    format!("`{}` is a program of its own.", shown(&written)),
                ));
            }
            let Some(wrapper) = wrappers::find(&name) else {
                return self.program(
                    &name,
                    rest,
                    Line { arguments, piped, nested },
                    input,
                    command,
                    gathered,
                    lines,
                );
            };
            for assignment in wrapper.assignments(rest) {
                gathered.add(environment(assignment));
            }
            if wrapper.hands_on {
                gathered.add(Finding::contained(
                    "command.ask.handed",
                    format!("`{name}` runs what it is given."),
                ));
            }
            match wrapper.inside(rest) {
                Inside::Command(inner) if wrapper.hands_on => {
                    lines.push(Line { arguments: inner, piped: Piped::No, nested: nested + 1 });
                    return Ok(());
                }
                Inside::Command(inner) => {
                    gathered.add_rule(self.written.find(inner), line.arguments.len() - inner.len());
                    arguments = inner;
                }
                Inside::Code(text, carrier, inner) => {
                    self.code(&text, carrier, "sh", gathered)?;
                    arguments = inner;
                }
                Inside::Joined(words) => {
                    let text: Vec<String> = words.iter().map(|word| word.shown(&self.script)).collect();
                    let place = words.first().map_or(command.place, |word| word.place);
                    self.hand_on(&text.join(" "), place, Piped::No)?;
                    return Ok(());
                }
                Inside::Nothing => {
                    if !matches!(name.as_str(), "env" | "command" | "builtin" | "time" | "nice") {
                        gathered.add(unknown(&name));
                    }
                    return Ok(());
                }
                Inside::Unknown => {
                    let reason = format!("What `{name}` runs cannot be told from its options.");
                    gathered.add(Finding::asks("command.ask.wrapper", reason));
                    self.anywhere(rest, gathered);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// A program that is no wrapper.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop, split for length")]
    fn program<'a>(
        &mut self,
        name: &str,
        rest: &'a [Argument],
        line: Line<'a>,
        input: Input,
        command: &Command,
        gathered: &mut Gathered<'_>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<(), Unreadable> {
        match name {
            "find" => {
                let found = allowed::find(rest, &self.directories);
                gathered.add(found.finding);
                let nested = line.nested + 1;
                lines.extend(found.commands.into_iter().map(|arguments| Line {
                    arguments,
                    piped: Piped::No,
                    nested,
                }));
            }
            "source" | "." => gathered.add(self.interpreter(name, rest, line.piped, input)),
            "trap" => self.trap(rest, gathered)?,
            _ if ask::is_shell(name) => self.shell(name, rest, line.piped, input, command, gathered)?,
            _ if ask::is_interpreter(name) => gathered.add(self.interpreter(name, rest, line.piped, input)),
            _ if wrappers::is_lenient(name) => {
                gathered.add(unknown(name));
                self.anywhere(rest, gathered);
            }
            _ => {
                gathered.add(self.listed(name, rest));
                self.reread(name, rest, gathered)?;
            }
        }
        if matches!(name, "cd" | "pushd" | "popd") {
            self.change_directory(name, rest);
        }
        Ok(())
    }

    /// What the lists say of a program.
    fn listed(&self, name: &str, rest: &[Argument]) -> Finding {
        if let Some(finding) = allowed::check(name, rest) {
            return finding;
        }
        if ask::is_network(name) {
            return Finding::contained("command.ask.network", format!("`{name}` talks to other machines."));
        }
        if ask::installs(name, rest) {
            return Finding::contained("command.ask.install", format!("`{name}` installs packages."));
        }
        unknown(name)
    }

    /// Texts that some programs run: read again, for what they hold.
    fn reread(
        &mut self,
        name: &str,
        rest: &[Argument],
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let place = |rest: &[Argument]| rest.first().map(|first| first.place);
        let commands = match name {
            "sed" => allowed::sed_commands(rest),
            "awk" | "gawk" | "mawk" | "nawk" => allowed::awk_commands(rest),
            _ => Vec::new(),
        };
        for text in commands {
            if let Some(place) = place(rest) {
                // A script of another language: what does not read as shell text is no shell text.
                let before = self.script.commands.len();
                if self.hand_on(&text, place, Piped::No).is_err() {
                    self.script.commands.truncate(before);
                }
            }
        }
        if allowed::evaluates_names(name) {
            for argument in rest {
                let text = argument.emptied();
                let runs = name == "let" && (text.contains("$(") || text.contains('`'));
                if runs || text.contains("[$(") || text.contains("[`") {
                    gathered.add(self.hidden_substitution(argument)?);
                }
            }
        }
        Ok(())
    }

    /// `trap`: its first operand is shell text.
    fn trap(&mut self, rest: &[Argument], gathered: &mut Gathered<'_>) -> Result<(), Unreadable> {
        let operands: &[Argument] = match rest {
            [option, operands @ ..] if option.literal() == Some("--") => operands,
            [option, ..] if matches!(option.literal(), Some("-l" | "-p")) => return Ok(()),
            _ => rest,
        };
        let Some(code) = operands.first().filter(|_| operands.len() > 1) else {
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
    fn shell(
        &mut self,
        name: &str,
        rest: &[Argument],
        piped: Piped,
        input: Input,
        command: &Command,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        gathered.add(self.interpreter(name, rest, piped, input));
        let (is_code, at) = shell_options(rest);
        if is_code {
            if let Some(code) = rest.get(at) {
                self.code(&code.emptied(), code, name, gathered)?;
            }
            return Ok(());
        }
        for redirect in &command.redirects {
            match &redirect.action {
                Action::Here(index) => {
                    let here = self.script.here.get(*index).copied().unwrap_or_default();
                    if let Some(body) = here.body {
                        let text = self.script.slice(body).to_owned();
                        self.text_for_shell(&text, body, name, gathered)?;
                    }
                    if here.expands {
                        gathered.add(run_time_code(name));
                    }
                }
                Action::HereString(word) => {
                    let argument = argument::single(word);
                    self.code(&argument.emptied(), &argument, name, gathered)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Text from one argument that a shell of this name runs.
    fn code(
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
            gathered.add(run_time_code(shell));
            // The known part is read for what it holds; alone it need not be whole.
            let before = self.script.commands.len();
            if self.hand_on(text, carrier.place, Piped::No).is_err() {
                self.script.commands.truncate(before);
            }
            return Ok(());
        }
        self.text_for_shell(text, carrier.place, shell, gathered)
    }

    fn text_for_shell(
        &mut self,
        text: &str,
        place: Place,
        shell: &str,
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let before = self.script.commands.len();
        match self.hand_on(text, place, Piped::No) {
            Err(error) if ask::reads_as_bash(shell) => Err(error),
            Err(_) => {
                self.script.commands.truncate(before);
                let reason = format!("The text for `{shell}` cannot be read as bash.");
                gathered.add(Finding::asks("command.ask.handed", reason));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// An interpreter: what feeds it decides.
    #[expect(clippy::unused_self, reason = "reads like its siblings")]
    fn interpreter(&self, name: &str, rest: &[Argument], piped: Piped, input: Input) -> Finding {
        if let [only] = rest
            && matches!(only.literal(), Some("--version" | "-V" | "--help"))
        {
            return Finding::harmless("command.allow.read-only", "It only prints its version.");
        }
        let fed = rest.iter().flat_map(Argument::dynamics).any(|dynamic| dynamic.nature == Nature::Process);
        if fed || input == Input::Process || piped == Piped::Directly {
            return Finding::asks("command.ask.pipe", format!("`{name}` is fed by another command."));
        }
        let operand = rest.iter().any(|argument| {
            let text = head(argument);
            let code = text.len() > 1
                && text.starts_with('-')
                && !text.starts_with("--")
                && text.contains(['c', 'e', 'm']);
            let standard_input = matches!(text, "-" | "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0");
            code || !standard_input && !text.starts_with('-') || argument.is_dynamic()
        });
        if !operand && input == Input::Plain {
            return Finding::asks("command.ask.pipe", format!("`{name}` runs whatever its input holds."));
        }
        Finding::contained("command.ask.interpreter", format!("`{name}` runs a script."))
    }

    /// Looks for the families at every place of a command line that is not understood.
    fn anywhere(&self, arguments: &[Argument], gathered: &mut Gathered<'_>) {
        for at in 0..arguments.len().min(MAX_PLACES) {
            let Some((first, rest)) = arguments.get(at..).and_then(<[Argument]>::split_first) else { return };
            let name = base_name(&first.emptied());
            if let Some(finding) = families::refused_anywhere(&name, rest, &self.directories) {
                gathered.add(finding);
            }
        }
    }

    fn refused(&self, name: &str, rest: &[Argument]) -> Option<Finding> {
        families::refused(&name.to_ascii_lowercase(), rest, &self.directories)
    }

    fn change_directory(&mut self, name: &str, rest: &[Argument]) {
        let operand =
            rest.iter().find(|argument| !head(argument).starts_with('-') || argument.literal() == Some("-"));
        let Some(current) = self.directories.first() else { return };
        let target = match operand {
            None if name == "cd" => Directory::of(&Path::of_text("~", current)),
            Some(operand) if operand.literal() != Some("-") && name != "popd" => {
                Directory::of(&Path::of(operand, current))
            }
            _ => None,
        };
        let Some(target) = target else {
            self.lost = true;
            return;
        };
        if target.is_system() && self.directories.len() < MAX_DIRECTORIES {
            self.directories.push(target.clone());
        }
        if let Some(current) = self.directories.first_mut() {
            *current = target;
        }
    }

    fn input(&self, command: &Command) -> Input {
        let mut input = Input::Plain;
        for redirect in &command.redirects {
            input = match &redirect.action {
                Action::Read(word) | Action::HereString(word) if argument::single(word).is_dynamic() => {
                    Input::Process
                }
                Action::Read(_) | Action::HereString(_) | Action::Here(_) => Input::Given,
                _ => input,
            };
        }
        input
    }

    /// Whether some of its words or its input are known at run time only.
    fn depends_on_run_time(&self, command: &Command, arguments: &[Argument]) -> bool {
        let unknown =
            |argument: &Argument| argument.dynamics().any(|dynamic| dynamic.nature != Nature::Number);
        arguments.iter().any(unknown)
            || command.redirects.iter().any(|redirect| match &redirect.action {
                Action::HereString(word) => unknown(&argument::single(word)),
                Action::Here(index) => self.script.here.get(*index).is_some_and(|here| here.expands),
                _ => false,
            })
    }
}

/// The options of a shell: whether it is given text to run, and where its first operand stands.
fn shell_options(arguments: &[Argument]) -> (bool, usize) {
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
            at += text.matches(['o', 'O']).count().min(1);
        }
    }
    (code, at)
}

fn environment(assignment: &Argument) -> Finding {
    let text = assignment.emptied();
    let (name, value) = text.split_once('=').unwrap_or((text.as_str(), ""));
    let value = assignment.literal().map(|_| value);
    if ask::carries_code(name, value) {
        return loader(name);
    }
    if text == "-" {
        return harmless();
    }
    Finding::contained("command.ask.assignment", format!("It sets the variable `{name}`."))
}

fn run_time_code(name: &str) -> Finding {
    Finding::asks("command.ask.dynamic", format!("Part of the text for `{name}` is known at run time only."))
}

fn unknown(name: &str) -> Finding {
    Finding::contained(
        "command.ask.unknown",
        format!("`{}` is not among the programs known only to read.", shown(name)),
    )
}

fn shown(name: &str) -> String {
    name.chars().take(60).collect()
}

/// The last component of a name, as the file systems of either kind compare it.
fn base_name(written: &str) -> String {
    let base = written.rsplit(['/', '\\']).next().unwrap_or("").trim_end_matches('\r');
    base.strip_suffix(".exe").unwrap_or(base).to_owned()
}

/// Whether a program is the one that its name says: named without a path, or in a directory of the system.
fn is_trusted(written: &str) -> bool {
    let Some((_, name)) = written.rsplit_once('/') else { return true };
    TRUSTED.iter().any(|directory| written.strip_prefix(directory) == Some(name))
}
