//! The parser: a bash text becomes a flat list of commands.
//!
//! Recursive descent over the bytes of the text, one look ahead, each byte visited a bounded number of times.
//! Bash's own rules decide what is a word, an operator or a reserved word. What bash would refuse, what nests
//! too deep, and the few forms that two versions of bash read differently are refused with their place.

mod compound;
mod condition;
mod counted;
mod cursor;
mod dollar;
mod group;
mod here;
mod parameter;
mod quote;
mod simple;
mod word;

use std::collections::HashMap;
use std::rc::Rc;

use self::cursor::{Operator, Pending};
use super::reading::Unreadable;
use super::script::{Command, MAX_DEPTH, Part, Piped, Script, Word};

/// What a step of the parser returns.
pub(super) type Read<T> = Result<T, Unreadable>;

/// Says that a text cannot be read for what stands in a part that bash itself only reads when it runs it.
pub(super) fn within_part<T>(read: Read<T>, part: &str) -> Read<T> {
    read.map_err(|unreadable| {
        let named = unreadable.reason.starts_with("in ");
        let reason = if named { unreadable.reason } else { format!("in {part}: {}", unreadable.reason) };
        Unreadable { reason, at: unreadable.at }
    })
}

/// A parser over one text of a script.
pub(super) struct Parser<'s> {
    script: &'s mut Script,
    text: Rc<str>,
    id: usize,
    pos: usize,
    end: usize,
    depth: usize,
    /// The standard input of what is read now is another command's output.
    piped: Piped,
    /// How many `$(` of this text are open.
    substitutions: usize,
    /// A line before this one has switched extended patterns on.
    extended: bool,
    /// Here-documents announced on this line.
    pending: Vec<Pending>,
    /// Constructs that are open in which bash counts parentheses.
    counting: usize,
    /// Where double quotes open and end in them.
    quotes: HashMap<usize, usize>,
    /// Where the commands of the innermost substitution begin.
    head: Option<usize>,
    /// Subscripts of an array's elements that are open.
    elements: usize,
}

/// Reads the text with index `id` of `script` as a whole program.
pub(super) fn program(script: &mut Script, id: usize, piped: Piped) -> Read<()> {
    let mut parser = Parser::new(script, id);
    parser.piped = piped;
    parser.program()
}

/// Reads the text with index `id` as words that a shell expands: only its substitutions are commands.
pub(super) fn expanded(script: &mut Script, id: usize) -> Read<()> {
    let mut parser = Parser::new(script, id);
    let mut parts = Vec::new();
    parser.double_quoted(&mut parts, None)
}

impl<'s> Parser<'s> {
    fn new(script: &'s mut Script, id: usize) -> Self {
        let text = script.body(id);
        let depth = script.depth(id);
        let end = text.len();
        Self {
            script,
            text,
            id,
            pos: 0,
            end,
            depth,
            piped: Piped::No,
            substitutions: 0,
            extended: false,
            pending: Vec::new(),
            counting: 0,
            quotes: HashMap::new(),
            head: None,
            elements: 0,
        }
    }

    fn program(&mut self) -> Read<()> {
        self.enter()?;
        self.list()?;
        self.skip_blank();
        if self.peek().is_some() {
            return self.unexpected();
        }
        self.depth -= 1;
        // Bash warns of a here-document that the text does not end, and runs it all the same.
        self.read_here_documents()
    }

    /// One level deeper; refused beyond the bound, and when the reading has taken too many steps.
    fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        self.check_depth(0)?;
        self.check_steps()
    }

    /// Whether `more` levels are still within the bound.
    fn check_depth(&self, more: usize) -> Read<()> {
        if self.depth + more > MAX_DEPTH + 1 {
            return self.refuse(format!("constructs nest over {MAX_DEPTH} deep"));
        }
        Ok(())
    }

    /// Reads what stands inside a group or substitution: it is fed as a whole, not each command directly.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let outer = self.piped;
        if outer == Piped::Directly {
            self.piped = Piped::Within;
        }
        let result = read(self)?;
        self.piped = outer;
        Ok(result)
    }

    fn check_steps(&self) -> Read<()> {
        if self.script.steps > self.script.allowance {
            return self.refuse("the text takes too long to read");
        }
        Ok(())
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Read<T> {
        let place = self.place(self.pos.min(self.end));
        Err(Unreadable { reason: reason.into(), at: self.script.span(place).start })
    }

    fn unexpected<T>(&mut self) -> Read<T> {
        let Some(byte) = self.peek() else { return self.refuse("the text ends in the middle of a command") };
        if byte == b'\n' {
            return self.refuse("unexpected end of line");
        }
        if let Some((word, _)) = self.keyword() {
            return self.refuse(format!("unexpected `{word}`"));
        }
        let rest = self.text.get(self.pos..self.end).unwrap_or("");
        let shown: String = rest.chars().take_while(|c| !c.is_whitespace()).take(12).collect();
        self.refuse(format!("unexpected `{shown}`"))
    }

    /// A list of commands, possibly empty: says whether it held any.
    fn list(&mut self) -> Read<bool> {
        self.newlines()?;
        let mut any = false;
        while self.at_command() {
            self.and_or()?;
            any = true;
            self.skip_blank();
            match self.operator() {
                Some((Operator::Semicolon | Operator::Ampersand, after)) => {
                    self.pos = after;
                    self.newlines()?;
                }
                Some((Operator::Newline, _)) => {
                    self.extended |= self.depth == 1 && self.switches_patterns_on();
                    self.newlines()?;
                }
                _ => break,
            }
        }
        Ok(any)
    }

    /// Whether the command that was read last is `shopt -s extglob`. Bash reads a text line by line, so what stands on
    /// the lines behind it may hold patterns that are refused elsewhere.
    fn switches_patterns_on(&self) -> bool {
        let plain = |word: &Word| match word.parts.as_slice() {
            [Part::Plain(text)] => Some(text.clone()),
            _ => None,
        };
        let words = |command: &Command| command.words.iter().map(plain).collect::<Option<Vec<String>>>();
        let last = self.script.commands.last().and_then(words).unwrap_or_default();
        last.iter().map(String::as_str).eq(["shopt", "-s", "extglob"])
    }

    /// A list that must hold a command.
    fn some_list(&mut self) -> Read<()> {
        if self.list()? { Ok(()) } else { self.unexpected() }
    }

    fn and_or(&mut self) -> Read<()> {
        self.negated()?;
        loop {
            self.skip_blank();
            match self.operator() {
                Some((Operator::And | Operator::Or, after)) => {
                    self.pos = after;
                    self.newlines()?;
                    self.negated()?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// A pipeline with any number of `!` and `time` before it. Either may also stand alone.
    fn negated(&mut self) -> Read<()> {
        let mut prefixed = false;
        loop {
            self.skip_blank();
            match self.keyword() {
                Some(("!", after)) => self.pos = after,
                // As the first word of a substitution it is a program like any other.
                Some(("time", after)) if self.head != Some(self.pos) => {
                    self.pos = after;
                    self.take_option("-p");
                    self.take_option("--");
                }
                _ => break,
            }
            prefixed = true;
        }
        let stands_alone =
            matches!(self.operator(), Some((Operator::Newline | Operator::Semicolon | Operator::End, _)));
        if prefixed && stands_alone { Ok(()) } else { self.pipeline() }
    }

    fn pipeline(&mut self) -> Read<()> {
        let piped = self.piped;
        self.command()?;
        while self.take_operator(Operator::Pipe) {
            self.newlines()?;
            self.piped = Piped::Directly;
            self.command()?;
        }
        self.piped = piped;
        Ok(())
    }

    fn command(&mut self) -> Read<()> {
        self.check_steps()?;
        self.skip_blank();
        self.check_bracket()?;
        if self.at_compound() {
            return self.compound_with_redirects();
        }
        match self.keyword() {
            Some(("function", after)) => {
                self.pos = after;
                self.function()
            }
            Some(("coproc", after)) => {
                self.pos = after;
                self.coproc()
            }
            // Behind a `|` as well, `time` is a program like any other.
            Some((word, _)) if word != "time" => self.unexpected(),
            _ => self.simple(false),
        }
    }

    /// Whether a list goes on here.
    fn at_command(&mut self) -> bool {
        self.skip_blank();
        match self.operator() {
            Some((Operator::End | Operator::Close | Operator::CaseEnd, _)) => false,
            Some(_) => true,
            None => !matches!(
                self.keyword(),
                Some(("then" | "do" | "done" | "fi" | "elif" | "else" | "esac" | "}", _))
            ),
        }
    }
}
