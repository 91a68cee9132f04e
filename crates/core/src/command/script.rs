//! What the parser hands to the judge: a flat list of commands and the texts they came from.
//!
//! There is no tree. Every construct that can run something leaves one [`Command`] in the list, the innermost
//! first, because the strictest of all pieces holds wherever it stands. Nothing here judges.

use std::ops::Range;
use std::rc::Rc;

/// The greatest nesting of constructs in a text.
pub(super) const MAX_DEPTH: usize = 200;
/// How often text may be handed on from one shell to the next before it is refused.
pub(super) const MAX_HANDED: usize = 12;
/// Steps allowed for each byte of text: the reader refuses rather than take longer than linear time.
pub(super) const STEPS_PER_BYTE: usize = 16;
/// Steps allowed for any text, however short.
const STEPS_FREE: usize = 14 * 1024;

/// A range of one of the texts of a [`Script`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which text.
    pub(super) text: usize,
    /// First byte.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
}

/// A text that is read: the command itself, the inside of backquotes, a string handed to another shell.
#[derive(Debug)]
struct Source {
    body: Rc<str>,
    /// For a text that is not the command itself: the place in the command that carries it.
    carrier: Option<Range<usize>>,
    /// How many shells or interpreters the text went through.
    handed: usize,
    depth: usize,
    /// It is only guessed that the text is run.
    guess: bool,
}

/// Everything found in a text.
#[derive(Debug, Default)]
pub(super) struct Script {
    sources: Vec<Source>,
    /// The commands, innermost first.
    pub(super) commands: Vec<Command>,
    /// The bodies of here-documents, filled in when the line ends.
    pub(super) here: Vec<HereDocument>,
    /// Steps taken so far.
    pub(super) steps: usize,
    /// Steps after which the reading is refused.
    pub(super) allowance: usize,
    /// Bodies of here-documents that are being read, one in the other.
    pub(super) bodies: usize,
    /// What is read now is only guessed to be run: of it nothing but refused families counts.
    pub(super) guessing: bool,
    /// Second attempts at text that begins like arithmetic.
    pub(super) retries: usize,
    /// Values of variables are read as names or in arithmetic somewhere.
    pub(super) evaluates: bool,
    /// Texts that run something if they are ever read so, and where they stand.
    pub(super) hidden: Vec<(Place, String)>,
}

/// The body of a here-document.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HereDocument {
    /// Where the body stands; nothing when the text ended first.
    pub(super) body: Option<Place>,
    /// The body holds expansions.
    pub(super) expands: bool,
}

/// What kind of thing a [`Command`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A simple command: assignments, words and redirections.
    Simple,
    /// The redirections of a compound command.
    Compound,
    /// A function definition; the word is its name.
    Function,
    /// A variable set by a loop or by `${name=…}`.
    Loop,
    /// `${!name}` and `${name@P}`: the value is itself read as a name or as shell text.
    Evaluated,
    /// `(( … ))`, `$(( … ))` and subscripts; `names` when it reads or sets variables, whose values are evaluated in turn.
    Arithmetic {
        /// A variable occurs.
        names: bool,
    },
    /// `[[ … ]]`, with all its words.
    Condition,
}

/// One command.
#[derive(Debug)]
pub(super) struct Command {
    /// Where it stands.
    pub(super) place: Place,
    /// What it is.
    pub(super) kind: Kind,
    /// Assignments before the words.
    pub(super) assignments: Vec<Assignment>,
    /// The words, before braces are expanded.
    pub(super) words: Vec<Word>,
    /// The redirections, in order.
    pub(super) redirects: Vec<Redirect>,
    /// Whether its standard input is the output of another command.
    pub(super) piped: Piped,
}

/// Whether the standard input of a command is the output of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piped {
    /// It is not.
    No,
    /// It stands inside a group, loop or substitution that is fed by another command.
    Within,
    /// It stands right behind a `|`, or is fed by `>( … )`.
    Directly,
}

/// An assignment: `name=value`, `name+=value`, `name[…]=value`, `name=(…)`.
#[derive(Debug)]
pub(super) struct Assignment {
    /// Where it stands.
    pub(super) place: Place,
    /// The variable.
    pub(super) name: String,
    /// The value; several words for an array.
    pub(super) values: Vec<Word>,
}

/// A redirection.
#[derive(Debug)]
pub(super) struct Redirect {
    /// Where it stands.
    pub(super) place: Place,
    /// The variable of `{name}>file`.
    pub(super) variable: Option<String>,
    /// What it does.
    pub(super) action: Action,
}

/// What a redirection does.
#[derive(Debug)]
pub(super) enum Action {
    /// `<`: reads a file.
    Read(Word),
    /// `>`, `>>`, `>|`, `<>`, `&>`, `&>>`: writes a file.
    Write(Word),
    /// `<&`, `>&` with a number or `-`: copies or closes a descriptor.
    Descriptor,
    /// `<&` or `2>&` with any other word: a descriptor, known at run time only.
    DescriptorOrFile(Word),
    /// `>&` with any other word: a descriptor or a file. Bash expands the word, and what comes of it once more.
    ExpandedTwice(Word),
    /// `<<`, `<<-`: the index of the here-document.
    Here(usize),
    /// `<<<`.
    HereString(Word),
}

/// A word as written, in parts.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Where it stands.
    pub(super) place: Place,
    /// Its parts.
    pub(super) parts: Vec<Part>,
}

/// A part of a word.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Text outside quotes: braces, globs and tilde are live in it.
    Plain(String),
    /// Text through quotes or a backslash.
    Quoted(String),
    /// Text through `$'…'` or `$"…"`: known, but written to be hard to read.
    Coded(String),
    /// What is known at run time only.
    Dynamic(Dynamic),
}

/// An expansion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dynamic {
    /// Where it stands.
    pub(super) place: Place,
    /// Inside double quotes: one word whatever its value.
    pub(super) quoted: bool,
    /// What it is.
    pub(super) nature: Nature,
}

/// What an expansion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// `$x`, `${x…}`, `$1`, `$@`.
    Variable,
    /// `$IFS`: separates words.
    Separator,
    /// `$HOME`.
    Home,
    /// Only digits, whatever happens: `$?`, `$#`, `${#x}`, `$(nproc)`, `$(( … ))`.
    Number,
    /// `${!x}`, `${x@P}`: the value is itself read as a name or as shell text.
    Evaluated,
    /// `${x=…}`, `${x:=…}`: sets the variable.
    Assigns,
    /// `$( … )` and backquotes.
    Substitution,
    /// A line of an input, or what another command prints, through a variable or a program that puts it in.
    Input,
    /// `<( … )`, `>( … )`.
    Process,
    /// `?( … )` and its like: a pattern that matches any of several.
    Pattern,
    /// The elements of `name=( … )`, which are read where they stand.
    Elements,
}

impl Script {
    /// A script over the command itself.
    pub(super) fn new(text: &str) -> Self {
        let mut script = Self::default();
        script.add_source(text.into(), None, 0, 0);
        script
    }

    /// Adds a text to be read and returns its index. Only the length of the command itself says what the reading
    /// may take, however often a part of it is handed on.
    pub(super) fn add_source(
        &mut self,
        body: Rc<str>,
        carrier: Option<Range<usize>>,
        handed: usize,
        depth: usize,
    ) -> usize {
        if carrier.is_none() {
            self.allowance = STEPS_FREE + STEPS_PER_BYTE * body.len();
        }
        self.sources.push(Source { body, carrier, handed, depth, guess: self.guessing });
        self.sources.len() - 1
    }

    /// The text with this index.
    pub(super) fn body(&self, text: usize) -> Rc<str> {
        self.sources.get(text).map_or_else(|| Rc::from(""), |source| Rc::clone(&source.body))
    }

    /// How many shells the text with this index went through.
    pub(super) fn handed(&self, text: usize) -> usize {
        self.sources.get(text).map_or(0, |source| source.handed)
    }

    /// Whether it is only guessed that the text with this index is run.
    pub(super) fn is_guess(&self, text: usize) -> bool {
        self.sources.get(text).is_some_and(|source| source.guess)
    }

    /// How deep the text with this index stands.
    pub(super) fn depth(&self, text: usize) -> usize {
        self.sources.get(text).map_or(0, |source| source.depth)
    }

    /// What stands at a place.
    pub(super) fn slice(&self, place: Place) -> &str {
        self.sources.get(place.text).and_then(|source| source.body.get(place.start..place.end)).unwrap_or("")
    }

    /// The place in the command itself.
    pub(super) fn span(&self, place: Place) -> Range<usize> {
        match self.sources.get(place.text).and_then(|source| source.carrier.clone()) {
            Some(carrier) => carrier,
            None => place.start..place.end,
        }
    }
}
