//! What is known of a program by its name and arguments: the families, the lists, the grammars.

use super::Judge;
use super::fed::decides_by_input;
use super::line::{Context, Gathered, Line, base_name, unknown};
use super::shell::{run_time_code, takes_code};
use crate::command::allowed;
use crate::command::argument::Argument;
use crate::command::ask;
use crate::command::carriers::{self, Carried};
use crate::command::families;
use crate::command::finding::{Finding, Weight};
use crate::command::judge::MAX_DIRECTORIES;
use crate::command::options::head;
use crate::command::paths::{Directory, Path};
use crate::command::reading::Unreadable;
use crate::command::subscript;
use crate::command::wrappers;

/// Steps that a part of an operand counts for, from each directory that it may be seen from.
const OPERAND_STEPS: usize = 16;
/// Steps that a place counts for at which the families are looked for.
const PLACE_STEPS: usize = 24;
/// Steps that each directory on the way to the working directory counts for.
const DIRECTORY_STEPS: usize = 4;

impl<'r> Judge<'r> {
    /// A program that is no wrapper.
    pub(super) fn program<'a>(
        &mut self,
        name: &str,
        rest: &'a [Argument],
        line: Line<'a>,
        context: Context<'_>,
        gathered: &mut Gathered<'r>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<(), Unreadable> {
        match name {
            "find" => {
                let found = allowed::find(rest, &self.directories);
                gathered.add(found.finding);
                let put = self.by_values(rest, |put| Some(allowed::find(put, &self.directories).finding));
                if let Some(finding) = put {
                    gathered.add(finding);
                }
                if found.commands.iter().any(|command| is_put_together(command)) {
                    let reason = "What is run is known at run time only, from the names of files.";
                    gathered.add(Finding::asks("command.ask.dynamic", reason));
                }
                lines.extend(found.commands.into_iter().map(|arguments| line.runs(arguments)));
            }
            "trap" => self.trap(rest, gathered)?,
            "source" | "." => {
                let file = sourced(rest);
                gathered.add(Self::interpreter(name, file, line.piped, context.input));
                if file.first().is_some_and(carriers::is_descriptor) {
                    self.fed("bash", context, gathered)?;
                } else {
                    self.guess_input(context)?;
                }
            }
            "at" | "batch" => {
                gathered.add(Self::interpreter(name, &[], line.piped, context.input));
                self.fed("sh", context, gathered)?;
            }
            _ if ask::is_shell(name) => self.shell(name, rest, line.piped, context, gathered)?,
            _ if ask::is_interpreter(name) => {
                gathered.add(Self::interpreter(name, rest, line.piped, context.input));
                self.inline(name, rest, context)?;
            }
            _ if wrappers::is_runner(name) || wrappers::is_manager(name) => {
                gathered.add(listed(name, rest));
                if wrappers::is_runner(name) {
                    self.anywhere(line, rest, gathered, lines)?;
                }
                let likely = wrappers::likely(name, rest);
                // A guess: `exec` and `eval` are then words of the program, not builtins.
                let named = likely.first().and_then(Argument::literal);
                if named.is_some_and(|named| !matches!(named, "exec" | "eval" | "format")) {
                    lines.push(line.runs(likely));
                }
                // A `--` may also belong to the command: what stands before it, if it is one that is known to run text.
                let before = wrappers::before_end(rest);
                if before.first().is_some_and(|first| runs_text(&first.emptied())) {
                    lines.push(line.runs(before));
                }
            }
            _ => {
                gathered.add(listed(name, rest));
                if name == "sed" {
                    self.sed(rest, line.piped, context, gathered)?;
                }
                self.read_again(name, rest, gathered)?;
                if allowed::is_awk(name) {
                    self.awk(rest, line.piped, context, gathered)?;
                }
                self.fed_lines(name, context)?;
            }
        }
        if matches!(name, "cd" | "pushd" | "popd") {
            self.change_directory(name, rest);
        }
        self.carried(name, rest, line, gathered, lines)
    }

    /// What the program hands on by its options and operands.
    pub(super) fn carried<'a>(
        &mut self,
        name: &str,
        rest: &'a [Argument],
        line: Line<'a>,
        gathered: &mut Gathered<'r>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<(), Unreadable> {
        for carried in carriers::carried(name, rest) {
            match carried {
                Carried::Text(text, argument) => {
                    gathered.add(Finding::contained(
                        "command.ask.handed",
                        format!("`{name}` runs what it is given."),
                    ));
                    if argument.is_dynamic() && text.trim().is_empty() {
                        gathered.add(run_time_code(name));
                    }
                    self.spend(text.len())?;
                    self.try_hand_on(&text, argument.place)?;
                }
                Carried::Guess(text, argument) => self.guess(&text, argument.place)?,
                Carried::Command(arguments) => lines.push(line.runs(arguments)),
            }
        }
        Ok(())
    }

    /// Counts what the families look at in a command of this name.
    pub(super) fn look(&mut self, name: &str, rest: &[Argument]) -> Result<(), Unreadable> {
        if !families::looks_at_operands(name) {
            return self.spend(1);
        }
        let each = |argument: &Argument| OPERAND_STEPS * argument.atoms.len() + argument.known();
        self.spend(rest.iter().map(each).sum::<usize>() * self.directories.len())
    }

    fn look_anywhere(&mut self, name: &str, rest: &[Argument]) -> Result<Option<Finding>, Unreadable> {
        self.look(name, rest)?;
        Ok(families::refused_anywhere(name, rest, &self.directories))
    }

    pub(super) fn refused(&self, name: &str, rest: &[Argument]) -> Option<Finding> {
        let name = name.to_ascii_lowercase();
        let plain = families::refused(&name, rest, &self.directories);
        let put = || self.refused_by_values(&name, rest);
        match plain {
            Some(finding) if finding.weight == Weight::Refused => Some(finding),
            Some(finding) => Some(put().map_or(finding.clone(), |put| finding.and(put))),
            None => put(),
        }
    }

    /// Looks for the families at every place of a command line that is not understood, and for shells with a text
    /// and searches, which are lines of their own.
    pub(super) fn anywhere<'a>(
        &mut self,
        line: Line<'a>,
        arguments: &'a [Argument],
        gathered: &mut Gathered<'_>,
        lines: &mut Vec<Line<'a>>,
    ) -> Result<(), Unreadable> {
        let mut seen: Vec<String> = Vec::new();
        let mut next = None;
        for (at, first) in arguments.iter().enumerate() {
            let here = arguments.get(at..).unwrap_or(&[]);
            let rest = here.get(1..).unwrap_or(&[]);
            let written = first.emptied();
            if first.literal() == Some("--") {
                // What stood before it for an operand may be an option to what stands behind.
                seen.clear();
            }
            if written.starts_with('-') && !written.contains(['/', '\\']) {
                self.spend(1)?;
                continue;
            }
            self.spend(PLACE_STEPS)?;
            let name = base_name(&written).to_ascii_lowercase();
            // Of a name that stands there twice the first sees all that the second does, but for the first mode.
            let families = if seen.contains(&name) {
                self.spend(1)?;
                let next = next.get_or_insert_with(|| families::NextMode::of(arguments));
                families::again(&name, arguments, at + 1, next)
            } else {
                self.look_anywhere(&name, rest)?
            };
            if let Some(finding) = families {
                let refused = finding.weight == Weight::Refused;
                gathered.add(finding);
                if refused {
                    return Ok(());
                }
            }
            if families::looks_at_operands(&name) && !seen.contains(&name) {
                seen.push(name.clone());
            }
            if ask::is_shell(&name) && takes_code(rest) || name == "find" {
                self.spend(OPERAND_STEPS * here.len())?;
                lines.push(line.runs(here));
            }
        }
        Ok(())
    }

    /// Texts that some programs run in turn: read again for what they hold.
    fn read_again(
        &mut self,
        name: &str,
        rest: &[Argument],
        gathered: &mut Gathered<'_>,
    ) -> Result<(), Unreadable> {
        let commands = match name {
            _ if allowed::is_awk(name) => allowed::awk_commands(rest),
            _ => Vec::new(),
        };
        if let Some(first) = rest.first() {
            for text in commands {
                self.try_hand_on(&text, first.place)?;
            }
        }
        if allowed::takes_names(name, rest) {
            self.script.evaluates |= allowed::evaluates(name, rest);
            for argument in rest {
                let text = argument.emptied();
                let expands = name == "let" && subscript::expands(&text);
                let finding =
                    if expands { self.run_later(&text, argument.place)? } else { self.evaluated(argument)? };
                gathered.add(finding);
            }
        }
        Ok(())
    }

    pub(super) fn change_directory(&mut self, name: &str, rest: &[Argument]) {
        let operand =
            rest.iter().find(|argument| !head(argument).starts_with('-') || argument.literal() == Some("-"));
        let Some(current) = self.directories.first() else { return };
        self.script.steps += DIRECTORY_STEPS * current.depth();
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
        // It may fail, and then what follows runs where the text began.
        let begun = Directory::workspace();
        for directory in [Some(begun), target.is_system().then(|| target.clone())].into_iter().flatten() {
            if self.directories.len() < MAX_DIRECTORIES && !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
        if let Some(current) = self.directories.first_mut() {
            *current = target;
        }
    }
}

/// Whether the file that `find` puts in says which program runs, or is a part of the text for a shell.
fn is_put_together(command: &[Argument]) -> bool {
    !command.is_empty() && decides_by_input(command, Some("{}"))
}

/// Whether a program of this name runs text, or a command behind it.
fn runs_text(name: &str) -> bool {
    let name = base_name(name);
    let known = matches!(name.as_str(), "source" | "." | "sed" | "find");
    let runs = wrappers::find(&name).is_some() || wrappers::is_runner(&name) || wrappers::is_manager(&name);
    known || runs || ask::is_shell(&name) || ask::is_interpreter(&name)
}

/// The operands of `source`: the file, and what it is given.
fn sourced(arguments: &[Argument]) -> &[Argument] {
    match arguments {
        [option, _, rest @ ..] if option.literal() == Some("-p") => sourced(rest),
        [option, rest @ ..] if option.literal() == Some("--") => rest,
        _ => arguments,
    }
}

/// What the lists say of a program.
pub(super) fn listed(name: &str, rest: &[Argument]) -> Finding {
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
