//! The judge: every command the parser found becomes pieces, every piece gets a verdict.
//!
//! A piece's base is the most specific written rule for its argv, else the verdict of `bash`; the reading
//! only hardens it. Text handed to another shell joins the list and is judged like the rest.

mod fed;
mod line;
mod program;
mod redirect;
mod shell;
mod unseen;
mod values;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

pub(crate) use line::is_invisible;

use super::argument::{self, Argument};
use super::ask;
use super::carriers;
use super::finding::{Finding, Weight};
use super::names::Collected;
use super::parse;
use super::paths::Directory;
use super::reading::{CommandRule, Names, Piece, Reading, Rules, Unreadable};
use super::script::{Assignment, Command, Kind, MAX_DEPTH, MAX_HANDED, Piped, Place, Script, Word};
use super::subscript;
use super::written::Written;
use crate::ids::RuleId;
use crate::verdict::Verdict;

/// The most directories kept in mind for relative paths.
const MAX_DIRECTORIES: usize = 8;
/// Bytes that braces may add to any text; as much again for each byte of it.
const BRACE_ROOM: usize = 2 * 1024;

/// Steps that a piece, or a text handed on, counts for besides its length.
const PIECE_STEPS: usize = 96;

/// Judges one text.
pub(super) struct Judge<'r> {
    rules: Rules<'r>,
    written: Written<'r>,
    script: Script,
    pieces: Vec<Piece>,
    names: Collected,
    /// Where relative paths may start from: first where the text has gone to, then the system directories
    /// it has been in.
    directories: Vec<Directory>,
    /// It went somewhere that is not known.
    lost: bool,
    /// Bytes that braces may still add.
    room: usize,
    /// Variables that hold what nobody has seen.
    unseen: HashSet<String>,
    /// Values that the text gives variables.
    values: HashMap<String, values::Values>,
    /// Steps that putting them in may still take.
    values_left: Cell<usize>,
}

/// Reads and judges `text`.
pub(super) fn judge(text: &str, rules: &Rules<'_>) -> Reading {
    judge_counting(text, rules).0
}

/// The same, with the number of steps that it took.
pub(super) fn judge_counting(text: &str, rules: &Rules<'_>) -> (Reading, usize) {
    let mut judge = Judge {
        rules: *rules,
        written: Written::new(rules.freed),
        script: Script::new(text),
        pieces: Vec::new(),
        names: Collected::of_length(text.len()),
        directories: vec![Directory::workspace()],
        lost: false,
        room: BRACE_ROOM + text.len(),
        unseen: HashSet::new(),
        values: HashMap::new(),
        values_left: Cell::new(0),
    };
    judge.values_left.set(judge.script.allowance);
    let unreadable = parse::program(&mut judge.script, 0, Piped::No).and_then(|()| judge.run()).err();
    let steps = judge.script.steps;
    if let Some(unreadable) = unreadable {
        return (judge.unreadable(text, unreadable), steps);
    }
    let verdict = judge.pieces.iter().map(|piece| piece.verdict).max();
    let mut names = judge.names;
    names.of_pieces(&judge.pieces);
    let names = names.taken();
    let verdict = verdict.unwrap_or(rules.base);
    (Reading { verdict, unreadable: None, pieces: judge.pieces, names }, steps)
}

/// A reading of a text that cannot be read.
pub(super) fn refuse(text: &str, unreadable: Unreadable) -> Reading {
    let piece = Piece {
        span: 0..text.len(),
        text: text.to_owned(),
        argv: Vec::new(),
        verdict: Verdict::Disabled,
        rule: RuleId::new("command.unreadable"),
        reason: format!("It cannot be read: {} (byte {}).", unreadable.reason, unreadable.at),
    };
    let names = Names::default();
    Reading { verdict: Verdict::Disabled, unreadable: Some(unreadable), pieces: vec![piece], names }
}

impl Judge<'_> {
    fn unreadable(self, text: &str, unreadable: Unreadable) -> Reading {
        let mut reading = refuse(text, unreadable);
        // What was found before stays of use to whoever asks why.
        reading.pieces.extend(self.pieces);
        reading
    }

    fn run(&mut self) -> Result<(), Unreadable> {
        loop {
            let commands = std::mem::take(&mut self.script.commands);
            self.note_unseen(&commands);
            self.note_values(&commands);
            for command in commands {
                self.script.guessing = self.script.is_guess(command.place.text);
                self.names.of(&command);
                self.command(&command)?;
            }
            if !self.script.commands.is_empty() {
                continue;
            }
            if !self.script.evaluates || self.script.hidden.is_empty() {
                return Ok(());
            }
            for (place, text) in std::mem::take(&mut self.script.hidden) {
                self.script.guessing = self.script.is_guess(place.text);
                let finding = self.run_later(&text, place)?;
                self.piece(place, vec![self.script.slice(place).to_owned()], finding, None);
            }
        }
    }

    fn command(&mut self, command: &Command) -> Result<(), Unreadable> {
        match command.kind {
            Kind::Function => {
                let finding = Finding::contained(
                    "command.ask.function",
                    "It defines a function, which may replace a command.",
                );
                self.words_piece(command, finding);
            }
            Kind::Loop => self.loop_variable(command)?,
            Kind::Evaluated => {
                let reason = "It reads a value as a name or as shell text, at run time.";
                self.words_piece(command, Finding::asks("command.ask.dynamic", reason));
            }
            Kind::Arithmetic { names } => {
                let finding = if names {
                    Finding::contained("command.ask.arithmetic", "It reads or sets variables in arithmetic.")
                } else {
                    Finding::harmless("command.allow.read-only", "It only computes.")
                };
                self.words_piece(command, finding);
            }
            Kind::Condition => self.condition(command)?,
            Kind::Simple | Kind::Compound => {
                for assignment in &command.assignments {
                    self.assignment(assignment)?;
                }
                if !command.words.is_empty() {
                    self.simple(command)?;
                }
            }
        }
        for redirect in &command.redirects {
            self.redirect(redirect)?;
        }
        Ok(())
    }

    /// A piece that no written rule matches.
    fn words_piece(&mut self, command: &Command, finding: Finding) {
        let argv = if command.words.is_empty() {
            vec![self.script.slice(command.place).to_owned()]
        } else {
            command.words.iter().map(|word| argument::single(word).shown(&self.script)).collect()
        };
        self.piece(command.place, argv, finding, None);
    }

    fn condition(&mut self, command: &Command) -> Result<(), Unreadable> {
        let arguments: Vec<Argument> = command.words.iter().map(argument::single).collect();
        let compares = arguments.iter().any(|argument| {
            matches!(argument.literal(), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v"))
        });
        let mut finding = if compares || arguments.iter().any(Argument::is_dynamic) {
            Finding::contained("command.ask.expansion", "It tests what is known at run time only.")
        } else {
            Finding::harmless("command.allow.read-only", "It only tests.")
        };
        for argument in arguments.iter().filter(|_| compares) {
            self.script.evaluates = true;
            finding = finding.and(self.evaluated(argument)?);
        }
        self.words_piece(command, finding);
        Ok(())
    }

    fn loop_variable(&mut self, command: &Command) -> Result<(), Unreadable> {
        for assignment in &command.assignments {
            if ask::is_loader(&assignment.name) {
                let finding = loader(&assignment.name);
                self.piece(assignment.place, Vec::new(), finding, None);
            }
            for value in &assignment.values {
                let value = argument::single(value);
                let finding = self.assigned(&value)?;
                if finding.weight != Weight::Harmless {
                    self.piece(value.place, vec![value.shown(&self.script)], finding, None);
                }
            }
        }
        Ok(())
    }

    fn assignment(&mut self, assignment: &Assignment) -> Result<(), Unreadable> {
        let values: Vec<Argument> = assignment.values.iter().map(argument::single).collect();
        let known = match values.as_slice() {
            [only] => only.literal(),
            _ => None,
        };
        if let ([value], true) = (values.as_slice(), carriers::variable(&assignment.name)) {
            self.guess(value.emptied().trim_start_matches('|'), value.place)?;
        }
        let mut finding = if ask::carries_code(&assignment.name, known) {
            loader(&assignment.name)
        } else {
            Finding::contained(
                "command.ask.assignment",
                format!("It sets the variable `{}`.", assignment.name),
            )
        };
        for value in &values {
            finding = finding.and(self.assigned(value)?);
        }
        let argv = vec![self.script.slice(assignment.place).to_owned()];
        self.piece(assignment.place, argv, finding, None);
        Ok(())
    }

    /// A word that bash evaluates as a name, or may: what runs by that.
    fn evaluated(&mut self, argument: &Argument) -> Result<Finding, Unreadable> {
        let text = argument.emptied();
        if subscript::runs(&text) { self.run_later(&text, argument.place) } else { Ok(harmless()) }
    }

    /// The value of a variable. Where names are evaluated, several may be put together to a subscript.
    fn assigned(&mut self, value: &Argument) -> Result<Finding, Unreadable> {
        let text = value.emptied();
        if self.script.evaluates && subscript::substitutes(&text) {
            return self.run_later(&text, value.place);
        }
        self.evaluated(value)
    }

    /// Text that is expanded though quotes protected it at first: its substitutions join the list.
    fn run_later(&mut self, text: &str, place: Place) -> Result<Finding, Unreadable> {
        let before = self.script.commands.len();
        let id = self.handed_source(text, place)?;
        if parse::expanded(&mut self.script, id).is_err() {
            self.script.commands.truncate(before);
        }
        Ok(Finding::asks("command.ask.obfuscation", "Bash would expand what is quoted here, and run it."))
    }

    /// Applies the policy to a finding and adds the piece. `rule`: the written rule that matches its argv.
    fn piece(&mut self, place: Place, argv: Vec<String>, finding: Finding, rule: Option<&CommandRule>) {
        self.script.steps += PIECE_STEPS;
        if self.script.guessing && finding.weight != Weight::Refused {
            return;
        }
        let base = rule.map_or(self.rules.base, |rule| rule.verdict);
        let freed = match finding.weight {
            Weight::Harmless => true,
            Weight::Contained => {
                self.rules.contained || rule.is_some_and(|rule| rule.verdict == Verdict::Allow)
            }
            Weight::Asks | Weight::Refused => false,
        };
        let read = match finding.weight {
            _ if freed => Verdict::Allow,
            Weight::Refused => Verdict::Disabled,
            Weight::Harmless | Weight::Contained | Weight::Asks => Verdict::Ask,
        };
        let verdict = base.and(read);
        let (id, reason) = match rule {
            Some(rule) if base == verdict => (rule.id.clone(), by_rule(rule)),
            _ if read == verdict && (!freed || finding.weight == Weight::Harmless) => {
                (RuleId::new(finding.rule), finding.reason.into_owned())
            }
            _ if read == verdict => (RuleId::new("command.contained"), contained(&finding)),
            _ => (RuleId::new("command.base"), format!("The policy answers `{base}` to commands.")),
        };
        let text = self.script.slice(place).to_owned();
        let span = self.script.span(place);
        self.pieces.push(Piece { span, text, argv, verdict, rule: id, reason });
    }

    /// Hands a text to another shell: its commands are judged with the rest.
    fn hand_on(&mut self, text: &str, place: Place) -> Result<(), Unreadable> {
        let id = self.handed_source(text, place)?;
        parse::within_part(parse::program(&mut self.script, id, Piped::No), "a text that is handed on")
    }

    /// A text that may go to a shell: only what must be refused in it counts.
    fn guess(&mut self, text: &str, place: Place) -> Result<(), Unreadable> {
        let before = std::mem::replace(&mut self.script.guessing, true);
        self.spend(text.len())?;
        self.try_hand_on(text, place)?;
        self.script.guessing = before;
        Ok(())
    }

    /// Counts steps of the judgement; refused when they are more than any text may take.
    fn spend(&mut self, steps: usize) -> Result<(), Unreadable> {
        self.script.steps += steps;
        if self.script.steps > self.script.allowance {
            return Err(Unreadable { reason: "the text takes too long to read".to_owned(), at: 0 });
        }
        Ok(())
    }

    fn handed_source(&mut self, text: &str, place: Place) -> Result<usize, Unreadable> {
        self.spend(PIECE_STEPS + text.len())?;
        let handed = self.script.handed(place.text) + 1;
        let span = self.script.span(place);
        if handed > MAX_HANDED {
            let reason = format!("commands are handed on over {MAX_HANDED} times");
            return Err(Unreadable { reason, at: span.start });
        }
        let depth = self.script.depth(place.text);
        self.script.bodies = 0;
        Ok(self.script.add_source(Rc::from(text), Some(span), handed, depth))
    }

    /// The arguments that words become, braces expanded.
    fn arguments(&mut self, words: &[Word]) -> Result<Vec<Argument>, Unreadable> {
        let before = self.room;
        let arguments = argument::arguments(words, &mut self.room);
        self.spend(before - self.room)?;
        let mut arguments = arguments.map_err(|place| {
            let reason = format!("braces nest over {MAX_DEPTH} deep");
            Unreadable { reason, at: self.script.span(place).start }
        })?;
        self.mark_unseen(&mut arguments);
        Ok(arguments)
    }
}

fn by_rule(rule: &CommandRule) -> String {
    format!("The rule `{}` answers `{}` to commands that begin so.", rule.id, rule.verdict)
}

fn contained(finding: &Finding) -> String {
    format!("{} The sandbox contains it.", finding.reason)
}

fn harmless() -> Finding {
    Finding::harmless("command.allow.read-only", "It only reads.")
}

fn loader(name: &str) -> Finding {
    Finding::asks("command.ask.loader", format!("It sets `{name}`, which decides what later commands run."))
}
