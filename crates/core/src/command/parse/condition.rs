//! `[[ … ]]`: its words and operators, by bash's grammar for conditions.

use super::cursor::Operator;
use super::simple::Form;
use super::{Parser, Read};
use crate::command::script::{Kind, Part, Word};

const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";
const BINARY: [&str; 13] =
    ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"];

impl Parser<'_> {
    /// After `[[`, which stood at `start`.
    pub(super) fn condition(&mut self, start: usize) -> Read<()> {
        let mut words = Vec::new();
        self.alternatives(&mut words)?;
        self.newlines()?;
        self.expect_keyword("]]")?;
        self.emit(Kind::Condition, start, Vec::new(), words, Vec::new());
        Ok(())
    }

    fn alternatives(&mut self, words: &mut Vec<Word>) -> Read<()> {
        loop {
            self.term(words)?;
            self.newlines()?;
            match self.operator() {
                Some((Operator::And | Operator::Or, after)) => self.pos = after,
                _ => return Ok(()),
            }
        }
    }

    fn term(&mut self, words: &mut Vec<Word>) -> Read<()> {
        self.newlines()?;
        while let Some(("!", after)) = self.keyword() {
            self.pos = after;
            self.newlines()?;
        }
        if self.take_operator(Operator::Open) {
            self.enter()?;
            self.alternatives(words)?;
            self.newlines()?;
            self.close()?;
            self.depth -= 1;
            return Ok(());
        }
        let left = self.operand_word(Form::Usual)?;
        if is_unary(&left) {
            words.push(left);
            let operand = self.operand_word(Form::Usual)?;
            words.push(operand);
            return Ok(());
        }
        words.push(left);
        self.binary(words)
    }

    /// The operator and right side, unless the left side stands alone.
    fn binary(&mut self, words: &mut Vec<Word>) -> Read<()> {
        self.skip_blank();
        let comparison = matches!(self.peek(), Some(b'<' | b'>')) && self.second() != Some(b'(');
        let form = if comparison {
            self.pos += 1;
            Form::Usual
        } else if self.peek() == Some(b'\n') {
            return self.unexpected();
        } else if self.operator().is_some() || matches!(self.keyword(), Some(("]]", _))) {
            return Ok(());
        } else {
            let operator = self.operand_word(Form::Usual)?;
            let form = match plain(&operator) {
                Some("=~") => Form::Regex,
                Some("=" | "==" | "!=") => Form::Pattern,
                Some(name) if BINARY.contains(&name) => Form::Usual,
                _ => return self.refuse("`[[` holds a word where an operator was expected"),
            };
            words.push(operator);
            form
        };
        let right = self.operand_word(form)?;
        words.push(right);
        Ok(())
    }

    fn operand_word(&mut self, form: Form) -> Read<Word> {
        self.skip_blank();
        if self.at_redirect_prefix() {
            return self.unexpected();
        }
        let opens = matches!(self.peek(), Some(b'(' | b'|')) && form == Form::Regex;
        if !opens && (!self.at_word() || matches!(self.keyword(), Some(("]]", _)))) {
            // Bash takes an operator for the expression; nobody means that.
            return match (form, self.operator()) {
                (Form::Regex, Some((Operator::And, _))) => self.refuse("`=~` stands without an expression"),
                _ => self.unexpected(),
            };
        }
        self.word(form)
    }
}

fn plain(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Plain(text)] => Some(text),
        _ => None,
    }
}

fn is_unary(word: &Word) -> bool {
    let Some(letter) = plain(word).and_then(|text| text.strip_prefix('-')) else { return false };
    letter.len() == 1 && UNARY.contains(letter)
}
