//! `sed`: its script read command by command. Only scripts that cannot write or run anything are harmless.

use super::{harmless, unknown_option};
use crate::command::argument::Argument;
use crate::command::finding::Finding;
use crate::command::options::{self, Given, Name, Options, Style, Value};

const OPTIONS: Options = Options {
    flags: "nrEsuz",
    valued: "el",
    optional: "",
    long: "quiet silent regexp-extended separate unbuffered null-data posix debug sandbox \
     expression= line-length= version help",
    numbers: false,
};

/// All options of `sed`.
pub(in crate::command) const ALL: Options = Options {
    flags: "nrEsuzb",
    valued: "elf",
    optional: "i",
    long: "quiet silent regexp-extended separate unbuffered null-data zero-terminated posix debug sandbox binary \
     follow-symlinks expression= file= line-length= in-place? version help",
    numbers: false,
};

pub(super) fn check(arguments: &[Argument]) -> Finding {
    let given = options::read(arguments, &OPTIONS, Style::Harmless);
    if let Some(at) = given.unknown {
        return unknown_option("sed", arguments.get(at));
    }
    if arguments.iter().any(|argument| argument.is_glob() && argument.may_be_option()) {
        return Finding::contained("command.ask.option", "A pattern handed to `sed` may become an option.");
    }
    let known = scripts(arguments, &given);
    if known.iter().any(|script| !script.known) {
        return Finding::contained("command.ask.expansion", "The script of `sed` is known at run time only.");
    }
    if !read(&joined(&known), &mut Script::default()) {
        return Finding::contained(
            "command.ask.interpreter",
            "The script of `sed` may write files or run commands.",
        );
    }
    harmless()
}

/// What the scripts of a `sed` do besides editing, as far as they are known.
#[derive(Debug, Default)]
pub(in crate::command) struct Script {
    /// The commands that it hands to a shell, and the files that it writes, as redirections.
    pub(in crate::command) commands: Vec<String>,
    /// It runs what it is fed.
    pub(in crate::command) runs_input: bool,
}

/// Reads the scripts of a `sed` with these arguments. `input`: texts that feed it, which may be its script.
pub(in crate::command) fn script(arguments: &[Argument], input: &[String]) -> Script {
    let mut script = Script::default();
    let given = options::read(arguments, &ALL, Style::Throughout);
    if given.unknown.is_none() {
        let mut parts = scripts(arguments, &given);
        if parts.iter().any(|part| part.fed) {
            parts.extend(input.iter().map(|text| Part { text: text.clone(), known: true, fed: false }));
        }
        read(&joined(&parts), &mut script);
        return script;
    }
    // Its options cannot be told: any word may be a script.
    for argument in arguments {
        let text = argument.emptied();
        let attached = ["-e", "--expression="].iter().find_map(|option| text.strip_prefix(option));
        read(attached.unwrap_or(&text), &mut script);
    }
    script
}

/// A part of the script.
struct Part {
    text: String,
    /// All of it is known.
    known: bool,
    /// It is what `sed` is fed.
    fed: bool,
}

/// `sed` reads its parts as one script, each on lines of its own.
fn joined(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    texts.join("\n")
}

/// The parts of the script: the values of `-e` and `-f`, or the first operand.
fn scripts(arguments: &[Argument], given: &Given<'_>) -> Vec<Part> {
    let mut scripts = Vec::new();
    for (name, value) in &given.options {
        let file = matches!(name, Name::Short('f') | Name::Long("file"));
        if !file && !matches!(name, Name::Short('e') | Name::Long("expression")) {
            continue;
        }
        let (text, argument) = match value {
            Some(Value::Attached(text, at)) => {
                let Some(argument) = arguments.get(*at) else { continue };
                let before = options::head(argument).len() - text.len();
                (argument.emptied().get(before..).unwrap_or("").to_owned(), argument)
            }
            Some(Value::Separate(at)) => {
                let Some(argument) = arguments.get(*at) else { continue };
                (argument.emptied().into_owned(), argument)
            }
            None => continue,
        };
        scripts.push(if file {
            let fed = matches!(text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0");
            Part { text: String::new(), known: false, fed }
        } else {
            Part { text, known: argument.literal().is_some(), fed: false }
        });
    }
    if scripts.is_empty() {
        let first = given.operands.first().and_then(|at| arguments.get(*at));
        scripts.extend(first.map(|argument| Part {
            text: argument.emptied().into_owned(),
            known: argument.literal().is_some(),
            fed: false,
        }));
    }
    scripts
}

/// Reads a script. `false`: it writes, runs something, or is not understood. What it runs is added to
/// `found`.
fn read(script: &str, found: &mut Script) -> bool {
    let commands = &mut found.commands;
    let mut rest = Rest { text: script };
    let mut harmless = true;
    loop {
        rest.skip(" \t\r\n;");
        if rest.text.is_empty() {
            return harmless;
        }
        if !rest.addresses() {
            return false;
        }
        let Some(command) = rest.take() else { return false };
        let understood = match command {
            '{' => true,
            '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
                rest.ends()
            }
            's' => {
                let substitution = rest.substitution();
                match substitution {
                    Some(Substitution { runs, writes, replacement }) => {
                        if runs {
                            found.runs_input = true;
                            commands.push(replacement);
                        }
                        harmless &= !runs && writes.is_none();
                        commands.extend(writes.as_deref().map(redirection));
                        true
                    }
                    None => false,
                }
            }
            'y' => rest.delimited(2).is_some() && rest.ends(),
            'q' | 'Q' | 'l' | 'L' => {
                rest.skip(" ");
                rest.skip("0123456789");
                rest.ends()
            }
            'a' | 'i' | 'c' => {
                rest.text_block();
                true
            }
            'b' | 't' | 'T' | 'v' | ':' => {
                // A blank ends the label, and what follows is another command.
                rest.skip(" \t");
                !rest.until("; \t\n").contains(['{', '}'])
            }
            'r' | 'R' | '#' => {
                rest.until("\n");
                true
            }
            'e' => {
                let command = rest.until("\n").trim();
                found.runs_input |= command.is_empty();
                commands.push(command.to_owned());
                harmless = false;
                true
            }
            'w' | 'W' => {
                commands.push(redirection(rest.until("\n").trim()));
                harmless = false;
                true
            }
            _ => false,
        };
        if !understood {
            return false;
        }
    }
}

/// What writing a file is in the words of a shell.
pub(super) fn redirection(file: &str) -> String {
    format!("> '{}'", file.replace('\'', "'\\''"))
}

struct Rest<'s> {
    text: &'s str,
}

struct Substitution {
    runs: bool,
    /// The file that it writes.
    writes: Option<String>,
    replacement: String,
}

impl<'s> Rest<'s> {
    fn skip(&mut self, any: &str) {
        self.text = self.text.trim_start_matches(|c| any.contains(c));
    }

    fn take(&mut self) -> Option<char> {
        let first = self.text.chars().next()?;
        self.text = self.text.get(first.len_utf8()..).unwrap_or("");
        Some(first)
    }

    /// Everything before one of these characters, or all that is left.
    fn until(&mut self, any: &str) -> &'s str {
        let at = self.text.find(|c| any.contains(c)).unwrap_or(self.text.len());
        let (before, after) = self.text.split_at_checked(at).unwrap_or((self.text, ""));
        self.text = after;
        before
    }

    /// Whether a command ends here.
    fn ends(&mut self) -> bool {
        self.skip(" \t");
        self.text.is_empty() || self.text.starts_with([';', '\n', '}', '#'])
    }

    /// Addresses and `!` before a command.
    fn addresses(&mut self) -> bool {
        for second in [false, true] {
            if !self.address(second) {
                return false;
            }
            self.skip(" \t");
            if second || !self.text.starts_with(',') {
                break;
            }
            self.take();
            self.skip(" \t");
        }
        self.skip("! \t");
        true
    }

    fn address(&mut self, second: bool) -> bool {
        match self.text.chars().next() {
            Some('0'..='9' | '$') => self.skip("0123456789~$"),
            Some('+' | '~') if second => self.skip("+~0123456789"),
            Some('/') => {
                if self.delimited(1).is_none() {
                    return false;
                }
                self.skip("IM");
            }
            Some('\\') => {
                self.take();
                if self.delimited(1).is_none() {
                    return false;
                }
                self.skip("IM");
            }
            _ => {}
        }
        true
    }

    /// So many texts between delimiters, the first character being the delimiter: the last of them.
    fn delimited(&mut self, count: usize) -> Option<String> {
        let delimiter = self.take()?;
        if delimiter == '\\' || delimiter == '\n' {
            return None;
        }
        let mut last = String::new();
        for _ in 0..count {
            last.clear();
            loop {
                match self.take()? {
                    '\\' => {
                        let escaped = self.take()?;
                        if escaped != delimiter {
                            last.push('\\');
                        }
                        last.push(escaped);
                    }
                    character if character == delimiter => break,
                    character => last.push(character),
                }
            }
        }
        Some(last)
    }

    fn substitution(&mut self) -> Option<Substitution> {
        let replacement = self.delimited(2)?;
        let mut found = Substitution { runs: false, writes: None, replacement };
        loop {
            match self.text.chars().next() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' | ' ' | '\t') => {
                    self.take();
                }
                Some('e') => {
                    self.take();
                    found.runs = true;
                }
                Some('w') => {
                    self.take();
                    found.writes = Some(self.until("\n").trim().to_owned());
                    return Some(found);
                }
                _ => return self.ends().then_some(found),
            }
        }
    }

    /// The text of `a`, `i` and `c`: to the end of the line, further when a backslash stands before it that is not
    /// escaped itself.
    fn text_block(&mut self) {
        while let Some(character) = self.take() {
            match character {
                '\n' => return,
                '\\' => {
                    self.take();
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Script, read};

    #[test]
    fn scripts_that_only_edit_the_stream_are_told_from_others() {
        for script in [
            "1,5p",
            "s/a/b/g",
            "s/a/woutput/",
            "s#x#foo;woutput#",
            "/re/d",
            "$!N;s/\\n/ /",
            "y/ab/cd/",
            "1{p;q}",
            "/a/,/b/{s/x/y/;p}",
            "2,+3d",
            "/^#/!p",
            "s/\\//e/",
            "a\\\nnew text",
            "10q",
            ":a;N;$!ba;s/\\n/,/g",
            ": a\nN\n$! b a\np",
            "a x\\\\\nd",
            "a x\\\nw out",
        ] {
            assert!(read(script, &mut Script::default()), "{script}");
        }
        for script in [
            "xp",
            "woutput",
            "s/a/b/wout",
            "1w out",
            "s/a/;/;w output",
            "s/y/echo hi/e",
            "etouch marker",
            "p;w output",
            "W output",
            "s/a/b",
            "k",
            "s/a/b/ep",
            ";W output.txt",
            ": a e touch marker",
            ":e; b e e touch marker",
            "t a}; w out",
            "a x\\\\\nw out",
            "a\\\nx\\\\\nw out",
            "a\\  \nw out",
            "s/a/b/g e",
            "v;w out",
            ":a\rx w out",
        ] {
            assert!(!read(script, &mut Script::default()), "{script}");
        }
    }

    #[test]
    fn what_a_script_runs_is_found() {
        let mut found = Script::default();
        read("s/x/sudo id/e", &mut found);
        read("1e sudo id", &mut found);
        read("s/x/y/w out", &mut found);
        read("1w it's", &mut found);
        assert_eq!(found.commands, ["sudo id", "sudo id", "> 'out'", "> 'it'\\''s'"]);
    }
}
