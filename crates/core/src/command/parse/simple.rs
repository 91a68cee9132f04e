//! Simple commands: assignments, words, redirections; and the definitions of functions that begin like one.

use super::cursor::{Operator, is_break};
use super::group::Bracket;
use super::{Parser, Read};
use crate::command::script::{Action, Assignment, Dynamic, Kind, Nature, Part, Redirect, Word};

/// Builtins whose arguments may be arrays, `declare x=(…)`.
const ASSIGNING: [&str; 8] = ["declare", "typeset", "local", "export", "readonly", "alias", "eval", "let"];

impl Parser<'_> {
    /// A simple command. After `coproc`, its first word may be the name of the coprocess.
    pub(super) fn simple(&mut self, coprocess: bool) -> Read<()> {
        let start = self.pos;
        let (mut assignments, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = start;
        // Behind a redirection that stands behind a word, bash knows no arrays.
        let mut arrays = true;
        loop {
            self.skip_blank();
            if let Some(redirect) = self.redirect()? {
                arrays &= words.is_empty() && assignments.is_empty();
                redirects.push(redirect);
                end = self.pos;
            } else if !self.at_word() {
                break;
            } else {
                let first = words.is_empty() && assignments.is_empty() && redirects.is_empty();
                let word = match self.assignment_or_word(&words, (arrays, coprocess))? {
                    Leading::Assignment(assignment) => {
                        assignments.push(assignment);
                        end = self.pos;
                        continue;
                    }
                    Leading::Word(word) => word,
                };
                let word_end = self.pos;
                if first && coprocess && self.at_compound_after_blank() {
                    return self.compound_with_redirects();
                }
                if first && coprocess && self.keyword().is_some_and(|(word, _)| word != "time") {
                    return self.refuse("a reserved word stands behind `coproc` and a name");
                }
                if first && self.take_operator(Operator::Open) {
                    self.close()?;
                    return self.function_body(start, word);
                }
                self.script.evaluates |= self.names_descriptor(&word);
                words.push(word);
                end = word_end;
            }
        }
        let glued = |word: &Word| matches!(word.parts.last(), Some(Part::Plain(text)) if text.ends_with('='));
        if self.byte(self.pos) == Some(b'(') && self.pos == end && words.last().is_some_and(glued) {
            return self.refuse("`=(` stands where bash knows no array");
        }
        if end == start && assignments.is_empty() && words.is_empty() && redirects.is_empty() {
            return self.unexpected();
        }
        let after = std::mem::replace(&mut self.pos, end);
        self.emit(Kind::Simple, start, assignments, words, redirects);
        self.pos = after;
        Ok(())
    }

    /// Whether a word right before a redirection is `{name[…]}`, which says where the descriptor is kept.
    fn names_descriptor(&mut self, word: &Word) -> bool {
        matches!(word.parts.first(), Some(Part::Plain(text)) if text.starts_with('{') && text.contains('['))
            && matches!(self.peek(), Some(b'<' | b'>'))
    }

    fn at_compound_after_blank(&mut self) -> bool {
        self.skip_blank();
        self.at_compound()
    }

    /// Whether a word begins here.
    pub(super) fn at_word(&mut self) -> bool {
        match self.peek() {
            None => false,
            Some(b'<' | b'>') => self.second() == Some(b'('),
            Some(byte) => !is_break(byte),
        }
    }

    pub(super) fn required_word(&mut self) -> Read<Word> {
        if self.at_word() { self.word(Form::Usual) } else { self.unexpected() }
    }

    /// The next word of a command, which may be an assignment as long as no other word came before it.
    fn assignment_or_word(&mut self, words: &[Word], (arrays, coprocess): (bool, bool)) -> Read<Leading> {
        if let Some(first) = words.first() {
            if coprocess && words.len() == 1 && matches!(self.assignment_ahead(), Some((_, true))) {
                return self.refuse("a subscript stands behind `coproc`");
            }
            let form = if arrays && takes_arrays(first) { Form::Array } else { Form::Usual };
            return self.word(form).map(Leading::Word);
        }
        let start = self.pos;
        let Some((name_end, subscript)) = self.assignment_ahead() else {
            return self.word(Form::Usual).map(Leading::Word);
        };
        if subscript && !arrays {
            return self.refuse("a subscript stands behind a redirection");
        }
        self.pos = name_end;
        if subscript {
            self.take(b'[');
            self.group(Bracket::Subscript)?;
        }
        let subscripted = self.pos;
        self.take(b'+');
        if !self.take(b'=') {
            self.pos = subscripted;
            return self.subscripted_word(start).map(Leading::Word);
        }
        let name = self.text.get(start..name_end).unwrap_or("").replace("\\\n", "");
        let mut values = if arrays && self.peek() == Some(b'(') { self.array()? } else { Vec::new() };
        // Whatever is glued behind an array belongs to the assignment as well.
        let value = self.word(Form::Value)?;
        if values.is_empty() || !value.parts.is_empty() {
            values.push(value);
        }
        Ok(Leading::Assignment(Assignment { place: self.place(start), name, values }))
    }

    /// A word that begins `name[…]` without being an assignment: bash reads the brackets as one, and as a
    /// name it is a pattern.
    fn subscripted_word(&mut self, start: usize) -> Read<Word> {
        let head = Dynamic { place: self.place(start), quoted: false, nature: Nature::Variable };
        let tail = self.word(Form::Value)?;
        let mut parts = vec![Part::Dynamic(head)];
        parts.extend(tail.parts);
        Ok(Word { place: self.place(start), parts })
    }

    /// Looks for `name=`, `name+=` or `name[`: where the name ends, and whether a subscript follows.
    fn assignment_ahead(&mut self) -> Option<(usize, bool)> {
        let start = self.pos;
        let name = self.name();
        let name_end = self.pos;
        let next = self.peek();
        let second = self.second();
        self.pos = start;
        match (name.is_empty(), next, second) {
            (false, Some(b'='), _) | (false, Some(b'+'), Some(b'=')) => Some((name_end, false)),
            (false, Some(b'['), _) => Some((name_end, true)),
            _ => None,
        }
    }

    /// The elements of `name=( … )`.
    pub(super) fn array(&mut self) -> Read<Vec<Word>> {
        self.enter()?;
        self.take(b'(');
        let mut values = Vec::new();
        loop {
            self.newlines()?;
            match self.peek() {
                Some(b')') => break,
                Some(b'[') => {
                    let start = self.pos;
                    self.pos += 1;
                    self.elements += 1;
                    self.group(Bracket::Subscript)?;
                    self.elements -= 1;
                    let mut word = self.word(Form::Value)?;
                    word.place = self.place(start);
                    values.push(word);
                }
                _ => values.push(self.required_word()?),
            }
        }
        self.pos += 1;
        self.depth -= 1;
        Ok(values)
    }

    /// A redirection, if one stands here.
    pub(super) fn redirect(&mut self) -> Read<Option<Redirect>> {
        let start = self.pos;
        let variable = self.redirect_prefix();
        let number = self.text.get(start..self.pos).unwrap_or("").replace("\\\n", "");
        let output = number.is_empty() || number.parse() == Ok(1_usize);
        let Some(operator) = self.redirect_operator() else {
            self.pos = start;
            return Ok(None);
        };
        self.skip_blank();
        let numbers = matches!(operator, "<&" | ">&") && self.peek() != Some(b'{');
        if !numbers && self.at_redirect_prefix() {
            return self.unexpected();
        }
        let action = match operator {
            "<<" | "<<-" => Action::Here(self.here_document(operator == "<<-")?),
            "<&" | ">&" if self.take(b'-') => Action::Descriptor,
            _ => {
                let word = self.required_word()?;
                match operator {
                    "<" => Action::Read(word),
                    "<<<" => Action::HereString(word),
                    "<&" | ">&" if is_descriptor(&word) => Action::Descriptor,
                    ">&" if output => Action::ExpandedTwice(word),
                    "<&" | ">&" => Action::DescriptorOrFile(word),
                    _ => Action::Write(word),
                }
            }
        };
        Ok(Some(Redirect { place: self.place(start), variable, action }))
    }

    /// Whether a number or `{name}` stands here that belongs to a redirection, and so is no file.
    pub(super) fn at_redirect_prefix(&mut self) -> bool {
        let start = self.pos;
        let named = self.redirect_prefix().is_some();
        std::mem::replace(&mut self.pos, start) != start || named
    }

    /// Steps over the number or `{name}` before a redirection and returns the name.
    fn redirect_prefix(&mut self) -> Option<String> {
        let start = self.pos;
        if self.take(b'{') {
            let name = self.name();
            let fits = !name.is_empty() && self.take(b'}') && matches!(self.peek(), Some(b'<' | b'>'));
            if fits && self.second() != Some(b'(') {
                return Some(name);
            }
            self.pos = start;
            return None;
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
        // A number before `>( … )` is a part of a word.
        if !matches!(self.peek(), Some(b'<' | b'>')) || self.second() == Some(b'(') {
            self.pos = start;
        }
        None
    }

    fn redirect_operator(&mut self) -> Option<&'static str> {
        const OPERATORS: [&str; 11] = ["<<<", "<<-", "&>>", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<"];
        let first = self.peek()?;
        if !matches!(first, b'<' | b'>' | b'&') || self.second() == Some(b'(') && first != b'&' {
            return None;
        }
        for operator in OPERATORS.iter().chain(&[">"]) {
            let mut at = self.pos;
            let fits = operator.bytes().all(|wanted| {
                at = self.past_continuations(at);
                let found = self.byte(at) == Some(wanted);
                at += 1;
                found
            });
            if fits {
                self.spend(at - self.pos);
                self.pos = at;
                return Some(operator);
            }
        }
        None
    }
}

/// What stands at the head of a simple command.
enum Leading {
    Assignment(Assignment),
    Word(Word),
}

/// What the parser expects of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A word of a command.
    Usual,
    /// An argument of `declare` and its like: `name=(…)` is an array.
    Array,
    /// The value of an assignment; may be empty.
    Value,
    /// The right side of `=~`: parentheses and `|` belong to it.
    Regex,
    /// The right side of `==`: extended patterns are live.
    Pattern,
}

fn takes_arrays(word: &Word) -> bool {
    matches!(word.parts.as_slice(), [Part::Plain(name)] if ASSIGNING.contains(&name.as_str()))
}

/// A word that can only be a descriptor: digits, perhaps with `-` behind to move it.
fn is_descriptor(word: &Word) -> bool {
    let [Part::Plain(text)] = word.parts.as_slice() else { return false };
    let digits = text.strip_suffix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
