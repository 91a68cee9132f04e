//! `find`: its expression read term by term, the commands it runs cut out.

use super::{harmless, unknown_option};
use crate::command::argument::Argument;
use crate::command::ask;
use crate::command::families;
use crate::command::finding::Finding;
use crate::command::options::head;
use crate::command::paths::Directory;
use crate::command::wrappers;

const TESTS: [&str; 33] = [
    "-print",
    "-print0",
    "-prune",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-daystart",
    "-follow",
    "-noleaf",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-warn",
    "-nowarn",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-nouser",
    "-nogroup",
    "-true",
    "-false",
    "-ls",
    "-quit",
    "-not",
    "-and",
    "-a",
    "-or",
    "-o",
    "(",
    ")",
    "!",
    ",",
];
/// Terms that write, run or remove something, or read what to search elsewhere.
const ACTIONS: [&str; 10] = [
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-fprint",
    "-fprint0",
    "-fprintf",
    "-fls",
    "-files0-from",
];
const WITH_VALUE: [&str; 37] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-lname",
    "-ilname",
    "-maxdepth",
    "-mindepth",
    "-fstype",
    "-samefile",
    "-used",
    "-context",
    "-printf",
];

/// What a `find` does.
#[derive(Debug)]
pub(in crate::command) struct Found<'a> {
    /// What its own terms weigh.
    pub(in crate::command) finding: Finding,
    /// The commands it runs.
    pub(in crate::command) commands: Vec<&'a [Argument]>,
}

/// Reads the arguments of `find`.
pub(in crate::command) fn read<'a>(arguments: &'a [Argument], directories: &[Directory]) -> Found<'a> {
    let mut reader = Reader { arguments, at: 0, finding: harmless(), commands: Vec::new(), deletes: false };
    let starts = reader.starts();
    reader.patterns();
    while let Some(term) = reader.next() {
        reader.term(term, directories);
    }
    let removes = reader.deletes || reader.commands.iter().any(|command| removes(command));
    let here = arguments.first().map(|first| Argument::text(".", first.place));
    let starts: Vec<&Argument> = if starts.is_empty() { here.iter().collect() } else { starts };
    if removes && starts.iter().any(|start| families::destroys_from(start, directories)) {
        reader.finding =
            Finding::refused("command.refused.destruction", "`find` removes what it finds in the system.");
    } else if removes
        && let Some(doubtful) = starts.iter().find_map(|start| families::may_destroy_from(start, directories))
    {
        reader.add(doubtful);
    }
    Found { finding: reader.finding, commands: reader.commands }
}

/// Whether a command removes what it is given: behind its wrappers, or in the text for a shell.
fn removes(command: &[Argument]) -> bool {
    let base = |name: &str| name.rsplit('/').next().unwrap_or("").to_owned();
    let Some(inner) = wrappers::innermost(command) else { return true };
    let Some((name, rest)) = inner.split_first() else { return false };
    let name = base(&name.emptied());
    let words = |argument: &Argument| {
        let text = argument.emptied();
        text.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c))
            .any(|word| families::removes(&base(word)))
    };
    families::removes(&name) || ask::is_shell(&name) && rest.iter().any(words)
}

struct Reader<'a> {
    arguments: &'a [Argument],
    at: usize,
    finding: Finding,
    commands: Vec<&'a [Argument]>,
    deletes: bool,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a Argument> {
        let argument = self.arguments.get(self.at)?;
        self.at += 1;
        Some(argument)
    }

    fn add(&mut self, finding: Finding) {
        let before = std::mem::replace(&mut self.finding, harmless());
        self.finding = before.and(finding);
    }

    /// Patterns that may become an action, by the name of a file.
    fn patterns(&mut self) {
        let acts = |argument: &&Argument| {
            argument.is_glob() && ACTIONS.iter().any(|action| argument.may_spell(action))
        };
        if self.arguments.iter().any(|argument| acts(&argument)) {
            let reason = "A pattern handed to `find` may become an action.";
            self.add(Finding::contained("command.ask.option", reason));
        }
    }

    /// The options before the paths, and the paths.
    fn starts(&mut self) -> Vec<&'a Argument> {
        let mut starts = Vec::new();
        while let Some(argument) = self.arguments.get(self.at) {
            let text = head(argument);
            match text {
                "-H" | "-L" | "-P" | "--" => self.at += 1,
                "-D" => self.at += 2,
                _ if text.starts_with("-O") => self.at += 1,
                _ if text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",") => break,
                _ => {
                    if argument.is_dynamic() {
                        self.add(Finding::contained(
                            "command.ask.expansion",
                            "A word of `find` is known at run time only.",
                        ));
                    }
                    starts.push(argument);
                    self.at += 1;
                }
            }
        }
        starts
    }

    fn term(&mut self, term: &'a Argument, directories: &[Directory]) {
        let Some(text) = term.literal() else {
            if head(term).starts_with('-') && term.is_dynamic() {
                self.add(Finding::asks(
                    "command.ask.dynamic",
                    "An action of `find` is known at run time only.",
                ));
            } else {
                self.add(unknown_option("find", Some(term)));
            }
            return;
        };
        match text {
            "-exec" | "-execdir" | "-ok" | "-okdir" => self.command(),
            "-delete" => {
                self.deletes = true;
                self.add(Finding::contained("command.ask.unknown", "`find -delete` removes files."));
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                let target = self.next();
                if text == "-fprintf" {
                    self.at += 1;
                }
                if target.is_some_and(|target| families::writes_device(target, directories)) {
                    self.add(Finding::refused(
                        "command.refused.device",
                        "`find` writes to a device under `/dev`.",
                    ));
                }
                self.add(Finding::contained("command.ask.redirect", format!("`find {text}` writes a file.")));
            }
            _ if TESTS.contains(&text) => {}
            _ if WITH_VALUE.contains(&text) || text.starts_with("-newer") => {
                if self.next().is_some_and(Argument::is_dynamic) {
                    self.add(Finding::contained(
                        "command.ask.expansion",
                        "A word of `find` is known at run time only.",
                    ));
                }
            }
            _ => self.add(unknown_option("find", Some(term))),
        }
    }

    /// The command behind `-exec`, up to `;` or `{} +`.
    fn command(&mut self) {
        let rest = self.arguments.get(self.at..).unwrap_or(&[]);
        let ends = |index: usize| match rest.get(index).and_then(Argument::literal) {
            Some(";") => true,
            Some("+") => index > 0 && rest.get(index - 1).and_then(Argument::literal) == Some("{}"),
            _ => false,
        };
        let length = (0..rest.len()).find(|index| ends(*index)).unwrap_or(rest.len());
        self.commands.push(rest.get(..length).unwrap_or(&[]));
        self.at += length + 1;
        self.add(Finding::contained("command.ask.handed", "`find` runs a command for each file it finds."));
    }
}
