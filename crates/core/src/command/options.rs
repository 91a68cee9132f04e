//! Option grammars: which options a program has, and how they take values.
//!
//! Short options cluster and take attached values; long ones may take theirs after `=`. What a grammar does
//! not list is unknown, and an unknown option is never skipped.

use super::argument::{Argument, Atom};

/// The options of one program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Short options without a value.
    pub(super) flags: &'static str,
    /// Short options with a value, attached or in the next argument.
    pub(super) valued: &'static str,
    /// Short options with a value only when it is attached.
    pub(super) optional: &'static str,
    /// Long options, with blanks between: `name` without a value, `name=` with one, `name?` with one only
    /// after `=`.
    pub(super) long: &'static str,
    /// `-5`: a number by itself is an option.
    pub(super) numbers: bool,
}

impl Options {
    /// No options at all.
    pub(super) const NONE: Self = Self { flags: "", valued: "", optional: "", long: "", numbers: false };
}

/// The name of an option that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Short(char),
    Long(&'static str),
}

/// What a command line says, by a grammar.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    /// The options in order, with their values.
    pub(super) options: Vec<(Name, Option<Value<'a>>)>,
    /// The indices of the operands.
    pub(super) operands: Vec<usize>,
    /// The first argument that is an option the grammar does not know.
    pub(super) unknown: Option<usize>,
}

/// The value of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    /// The rest of the argument with this index, as far as it is known.
    Attached(&'a str, usize),
    /// The argument with this index.
    Separate(usize),
}

impl Given<'_> {
    /// Whether this option was given.
    pub(super) fn has(&self, name: Name) -> bool {
        self.options.iter().any(|(given, _)| *given == name)
    }
}

/// How a command line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Up to the first operand; long options may be abbreviated. The grammar must list all options.
    UpToOperand,
    /// Options may follow operands; long options may be abbreviated.
    Throughout,
    /// Options may follow operands; the grammar lists harmless options only, so they must be spelled out.
    Harmless,
}

/// Reads `arguments` (without the name of the program).
pub(super) fn read<'a>(arguments: &'a [Argument], grammar: &Options, style: Style) -> Given<'a> {
    let mut given = Given::default();
    let permuted = style != Style::UpToOperand;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let head = head(argument);
        let option = head.len() > 1 && head.starts_with('-');
        if argument.literal() == Some("--") {
            given.operands.extend((at + 1..arguments.len()).take(if permuted { usize::MAX } else { 1 }));
            break;
        }
        let doubtful = argument.may_be_option() && (argument.is_dynamic() || style != Style::Harmless);
        if !option && doubtful && head != "-" {
            given.unknown = given.unknown.or(Some(at));
            if !permuted {
                break;
            }
        }
        if !option {
            given.operands.push(at);
            if !permuted {
                break;
            }
            at += 1;
            continue;
        }
        // A value in an argument of its own must stay one argument.
        match one(argument, head, at, (grammar, style), &mut given.options) {
            Some(2) if arguments.get(at + 1).is_some_and(Argument::splits) => {
                given.unknown = Some(at + 1);
                break;
            }
            Some(taken) => at += taken,
            None => {
                given.unknown = Some(at);
                break;
            }
        }
    }
    given
}

/// Reads one argument that holds options: how many arguments it takes up.
fn one<'a>(
    argument: &Argument,
    head: &'a str,
    at: usize,
    (grammar, style): (&Options, Style),
    options: &mut Vec<(Name, Option<Value<'a>>)>,
) -> Option<usize> {
    // What cannot be known may only be the value of an option, as one word.
    let known = argument.literal().is_some();
    if argument.splits() {
        return None;
    }
    if let Some(long) = head.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let spec = find_long(grammar.long, name, style != Style::Harmless)?;
        let takes = spec.ends_with('=');
        return match value {
            Some(value) if takes || spec.ends_with('?') => {
                options
                    .push((Name::Long(spec.trim_end_matches(['=', '?'])), Some(Value::Attached(value, at))));
                Some(1)
            }
            None if takes && known => {
                options.push((Name::Long(spec.trim_end_matches('=')), Some(Value::Separate(at + 1))));
                Some(2)
            }
            None if known => {
                options.push((Name::Long(spec.trim_end_matches('?')), None));
                Some(1)
            }
            _ => None,
        };
    }
    let cluster = head.get(1..)?;
    if grammar.numbers && known && cluster.bytes().all(|byte| byte.is_ascii_digit()) {
        options.push((Name::Short('0'), Some(Value::Attached(cluster, at))));
        return Some(1);
    }
    for (offset, letter) in cluster.char_indices() {
        let rest = cluster.get(offset + letter.len_utf8()..)?;
        if grammar.flags.contains(letter) {
            options.push((Name::Short(letter), None));
        } else if grammar.optional.contains(letter) {
            options.push((Name::Short(letter), Some(Value::Attached(rest, at))));
            return Some(1);
        } else if grammar.valued.contains(letter) {
            let attached = !rest.is_empty() || !known;
            let value = if attached { Value::Attached(rest, at) } else { Value::Separate(at + 1) };
            options.push((Name::Short(letter), Some(value)));
            return Some(if attached { 1 } else { 2 });
        } else {
            return None;
        }
    }
    known.then_some(1)
}

/// The long option by its name or, abbreviated, by the beginning of it that fits no other.
fn find_long(long: &'static str, name: &str, abbreviated: bool) -> Option<&'static str> {
    let mut specs = long.split_ascii_whitespace();
    if let Some(exact) = specs.find(|spec| spec.trim_end_matches(['=', '?']) == name) {
        return Some(exact);
    }
    if !abbreviated {
        return None;
    }
    let mut fitting = long.split_ascii_whitespace().filter(|spec| spec.starts_with(name));
    let first = fitting.next()?;
    (fitting.next().is_none() && !name.is_empty()).then_some(first)
}

/// The known text at the head of an argument.
pub(super) fn head(argument: &Argument) -> &str {
    match argument.atoms.first() {
        Some(Atom::Text(text)) => text,
        _ => "",
    }
}
