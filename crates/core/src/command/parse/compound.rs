//! Compound commands: groups, subshells, conditionals, loops, functions, coprocesses, arithmetic.
//!
//! Their bodies are lists like any other, so the commands in them are seen wherever they stand, run or not.

use super::cursor::Operator;
use super::{Parser, Read};
use crate::command::script::{Assignment, Command, Kind, Redirect, Word};

/// How often text that begins like arithmetic may turn out to be nested subshells.
const MAX_RETRIES: usize = 8;

impl Parser<'_> {
    pub(super) fn at_compound(&mut self) -> bool {
        matches!(self.keyword(), Some(("{" | "if" | "while" | "until" | "for" | "case" | "select" | "[[", _)))
            || matches!(self.operator(), Some((Operator::Open, _)))
    }

    pub(super) fn compound_with_redirects(&mut self) -> Read<()> {
        self.inside(Self::compound)?;
        let start = self.pos;
        let mut redirects = Vec::new();
        loop {
            self.skip_blank();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        if !redirects.is_empty() {
            self.emit(Kind::Compound, start, Vec::new(), Vec::new(), redirects);
        }
        Ok(())
    }

    fn compound(&mut self) -> Read<()> {
        self.enter()?;
        match self.keyword() {
            Some((word, after)) => {
                self.pos = after;
                match word {
                    "{" => {
                        self.some_list()?;
                        self.expect_keyword("}")?;
                    }
                    "if" => self.conditional()?,
                    "while" | "until" => {
                        self.some_list()?;
                        self.do_group()?;
                    }
                    "for" => self.for_loop()?,
                    "select" => self.for_each()?,
                    "case" => self.case()?,
                    _ => self.condition(after.saturating_sub(2))?,
                }
            }
            None => self.parenthesis()?,
        }
        self.depth -= 1;
        Ok(())
    }

    /// `(( … ))`, or a subshell. Text that begins with `((` but does not end as arithmetic is a subshell
    /// in a subshell; the number of such second readings is bounded.
    fn parenthesis(&mut self) -> Read<()> {
        let start = self.pos;
        if self.second() == Some(b'(') {
            let before = self.bookmark();
            self.take(b'(');
            self.take(b'(');
            if let Some(names) = self.arithmetic()? {
                if self.byte(self.pos.saturating_sub(2)) != Some(b')') {
                    return self.refuse("a line ends between the two parentheses that close `((`");
                }
                self.emit(Kind::Arithmetic { names }, start, Vec::new(), Vec::new(), Vec::new());
                return Ok(());
            }
            if matches!(
                (self.byte(self.pos + 1), self.byte(self.pos + 2)),
                (Some(b'\n'), _) | (Some(b'\\'), Some(b'\n'))
            ) {
                return self.refuse("the first parenthesis of `((` ends at the end of a line: write `( (`");
            }
            self.back_to(before)?;
            // Bash reads this from a copy of the text, in which the lines of a here-document are others.
            let documents = self.script.here.len();
            let read = self.subshell();
            if self.script.here.len() > documents {
                return self.refuse("a here-document stands inside `((`: write `( (`");
            }
            return read;
        }
        self.subshell()
    }

    fn subshell(&mut self) -> Read<()> {
        self.take(b'(');
        self.some_list()?;
        self.close()
    }

    /// Where to go back to when arithmetic turns out to be subshells.
    pub(super) fn bookmark(&self) -> (usize, usize) {
        (self.pos, self.script.commands.len())
    }

    pub(super) fn back_to(&mut self, (pos, commands): (usize, usize)) -> Read<()> {
        self.script.retries += 1;
        if self.script.retries > MAX_RETRIES {
            return self.refuse("too many `((` that are not arithmetic: write `( (`");
        }
        self.script.allowance += self.text.len() * crate::command::script::STEPS_PER_BYTE;
        self.pos = pos;
        self.script.commands.truncate(commands);
        Ok(())
    }

    pub(super) fn close(&mut self) -> Read<()> {
        if self.take_operator(Operator::Close) {
            Ok(())
        } else if self.peek().is_none() {
            self.refuse("the text ends before `)`")
        } else {
            self.unexpected()
        }
    }

    fn conditional(&mut self) -> Read<()> {
        self.some_list()?;
        self.expect_keyword("then")?;
        self.some_list()?;
        loop {
            self.skip_blank();
            match self.keyword() {
                Some(("elif", after)) => {
                    self.pos = after;
                    self.some_list()?;
                    self.expect_keyword("then")?;
                    self.some_list()?;
                }
                Some(("else", after)) => {
                    self.pos = after;
                    self.some_list()?;
                    return self.expect_keyword("fi");
                }
                _ => return self.expect_keyword("fi"),
            }
        }
    }

    fn do_group(&mut self) -> Read<()> {
        self.expect_keyword("do")?;
        self.some_list()?;
        self.expect_keyword("done")
    }

    /// The body of `for` and `select`: `do … done`, or bash's older `{ … }`.
    fn loop_body(&mut self) -> Read<()> {
        self.newlines()?;
        if let Some(("{", after)) = self.keyword() {
            self.pos = after;
            self.some_list()?;
            return self.expect_keyword("}");
        }
        self.do_group()
    }

    fn for_loop(&mut self) -> Read<()> {
        self.skip_blank();
        if self.peek() == Some(b'(') && self.second() == Some(b'(') {
            let start = self.pos;
            self.take(b'(');
            self.take(b'(');
            let Some(semicolons) = self.arithmetic_for()? else {
                return self.refuse("`for ((` does not end with `))`");
            };
            if semicolons != 2 {
                return self.refuse("`for ((` needs three expressions with `;` between");
            }
            self.emit(Kind::Arithmetic { names: true }, start, Vec::new(), Vec::new(), Vec::new());
            self.take_operator(Operator::Semicolon);
            return self.loop_body();
        }
        self.for_each()
    }

    /// `for name [in words]` and `select name [in words]`.
    fn for_each(&mut self) -> Read<()> {
        self.skip_blank();
        let start = self.pos;
        let name = self.required_word()?;
        let mut values = Vec::new();
        self.skip_blank();
        let same_line = self.operator().is_none();
        if self.take_operator(Operator::Semicolon) {
            self.newlines()?;
        } else {
            self.newlines()?;
            if let Some(("in", after)) = self.keyword() {
                self.pos = after;
                self.words_to_end(&mut values)?;
            } else if same_line && matches!(self.keyword(), Some(("{", _))) {
                return self.unexpected();
            }
        }
        let place = self.place(start);
        let name = self.script.slice(name.place).to_owned();
        let assignment = Assignment { place, name, values };
        self.emit(Kind::Loop, start, vec![assignment], Vec::new(), Vec::new());
        self.loop_body()
    }

    fn words_to_end(&mut self, values: &mut Vec<Word>) -> Read<()> {
        loop {
            self.skip_blank();
            match self.operator() {
                Some((Operator::Semicolon | Operator::Newline, _)) => break,
                Some(_) => return self.unexpected(),
                None => values.push(self.required_word()?),
            }
        }
        self.take_operator(Operator::Semicolon);
        Ok(())
    }

    fn case(&mut self) -> Read<()> {
        self.skip_blank();
        self.required_word()?;
        self.newlines()?;
        self.expect_keyword("in")?;
        loop {
            self.newlines()?;
            if let Some(("esac", after)) = self.keyword() {
                self.pos = after;
                return Ok(());
            }
            self.take_operator(Operator::Open);
            loop {
                self.skip_blank();
                self.required_word()?;
                self.skip_blank();
                if self.second() == Some(b'&') || !self.take_operator(Operator::Pipe) {
                    break;
                }
            }
            self.close()?;
            self.list()?;
            self.skip_blank();
            match self.operator() {
                Some((Operator::CaseEnd, after)) => self.pos = after,
                _ => return self.expect_keyword("esac"),
            }
        }
    }

    /// A definition that begins with the word `function`.
    pub(super) fn function(&mut self) -> Read<()> {
        self.skip_blank();
        let start = self.pos;
        let name = self.required_word()?;
        // Without `()` behind it, a parenthesis begins the body.
        let before = self.pos;
        if self.take_operator(Operator::Open) && !self.take_operator(Operator::Close) {
            self.pos = before;
        }
        self.function_body(start, name)
    }

    /// The body of a function, after its name and `()`.
    pub(super) fn function_body(&mut self, start: usize, name: Word) -> Read<()> {
        self.emit(Kind::Function, start, Vec::new(), vec![name], Vec::new());
        self.newlines()?;
        if self.at_compound() { self.compound_with_redirects() } else { self.unexpected() }
    }

    pub(super) fn coproc(&mut self) -> Read<()> {
        self.skip_blank();
        if self.at_compound() {
            self.compound_with_redirects()
        } else if let Some((word, _)) = self.keyword() {
            // Bash makes half a reserved word of `time` here.
            if word == "time" { self.refuse("`time` stands behind `coproc`") } else { self.unexpected() }
        } else {
            self.simple(true)
        }
    }

    /// Adds a command that began at `start` and ends here.
    pub(super) fn emit(
        &mut self,
        kind: Kind,
        start: usize,
        assignments: Vec<Assignment>,
        words: Vec<Word>,
        redirects: Vec<Redirect>,
    ) {
        let place = self.place(start);
        let piped = self.piped;
        self.script.commands.push(Command { place, kind, assignments, words, redirects, piped });
    }
}
