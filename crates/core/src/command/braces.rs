//! Brace expansion: `{a,b}` and `{1..3}` make several words of one.
//!
//! Done as bash does it, before anything else in a word is expanded, and never beyond a number of words and
//! bytes that grows with the text: a word that would become more is reported as too large to be read.

use super::script::{MAX_DEPTH, Part, Word};

/// The most words that one word may become.
const MAX_WORDS: usize = 256;
/// The longest sequence that is written out.
const MAX_SEQUENCE: i64 = 64;

/// What became of a word.
pub(super) enum Expanded {
    /// Nothing to expand.
    Same,
    /// These words, in parts. Empty unquoted words are left out.
    Words(Vec<Vec<Part>>),
    /// Too many words or bytes.
    TooLarge,
    /// Braces in braces beyond the bound of all nesting.
    TooDeep,
}

/// A plain character, or a part that braces do not look into.
#[derive(Clone, Copy)]
enum Item<'w> {
    Plain(char),
    Part(&'w Part),
}

enum Node<'w> {
    Item(Item<'w>),
    Choice(Vec<Vec<Node<'w>>>),
    Sequence(Vec<String>),
}

/// A pair of braces and the commas between them.
#[derive(Default)]
struct Pair {
    close: Option<usize>,
    commas: Vec<usize>,
}

/// Expands the braces of `word`. `room` is how many bytes all words of the text may still grow by.
pub(super) fn expand(word: &Word, room: &mut usize) -> Expanded {
    if !may_expand(word) {
        return Expanded::Same;
    }
    if *room == 0 {
        return Expanded::TooLarge;
    }
    let mut items = Vec::new();
    for part in &word.parts {
        match part {
            Part::Plain(text) => items.extend(text.chars().map(Item::Plain)),
            Part::Quoted(_) | Part::Coded(_) | Part::Dynamic(_) => items.push(Item::Part(part)),
        }
    }
    let Some(pairs) = pair(&items) else { return Expanded::TooDeep };
    if pairs.iter().all(|pair| pair.close.is_none()) {
        return Expanded::Same;
    }
    let mut reader = Reader { items: &items, pairs: &pairs, room, full: false };
    let nodes = reader.nodes(0, items.len());
    // Once there is no room, no word is tried any more.
    let words = if reader.full { Err(Over::Room) } else { combine(&nodes, room) };
    let words = match words {
        Ok(words) => words,
        Err(over) => {
            *room = if over == Over::Room { 0 } else { *room };
            return Expanded::TooLarge;
        }
    };
    Expanded::Words(words.iter().map(|items| parts(items)).filter(|parts| !parts.is_empty()).collect())
}

/// Whether a `{` stands before a `}` with a comma or dots between them, outside quotes.
fn may_expand(word: &Word) -> bool {
    let mut opened = false;
    let mut separated = false;
    for part in &word.parts {
        let Part::Plain(text) = part else { continue };
        let mut before = ' ';
        for character in text.chars() {
            match character {
                '{' => opened = true,
                ',' => separated |= opened,
                '.' => separated |= opened && before == '.',
                '}' if separated => return true,
                _ => {}
            }
            before = character;
        }
    }
    false
}

/// Of what there was too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Words,
    Room,
}

/// Matches braces and finds the commas of each pair. `None` when they nest too deep.
fn pair(items: &[Item<'_>]) -> Option<Vec<Pair>> {
    let mut pairs: Vec<Pair> = items.iter().map(|_| Pair::default()).collect();
    let mut open: Vec<usize> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Plain('{') => open.push(at),
            Item::Plain(',') => {
                if let Some(pair) = open.last().and_then(|&last| pairs.get_mut(last)) {
                    pair.commas.push(at);
                }
            }
            Item::Plain('}') => {
                if open.len() > MAX_DEPTH {
                    return None;
                }
                if let Some(pair) = open.pop().and_then(|last| pairs.get_mut(last)) {
                    pair.close = Some(at);
                }
            }
            Item::Plain(_) | Item::Part(_) => {}
        }
    }
    Some(pairs)
}

struct Reader<'w, 'p> {
    items: &'p [Item<'w>],
    pairs: &'p [Pair],
    room: &'p mut usize,
    /// There was no room for a sequence.
    full: bool,
}

impl<'w> Reader<'w, '_> {
    fn nodes(&mut self, from: usize, to: usize) -> Vec<Node<'w>> {
        let mut nodes = Vec::new();
        let mut at = from;
        while at < to {
            let Some(&item) = self.items.get(at) else { break };
            let (node, after) = self.group(at).unwrap_or((Node::Item(item), at + 1));
            nodes.push(node);
            at = after;
        }
        nodes
    }

    /// The choice or sequence that begins at `at`, and where it ends.
    fn group(&mut self, at: usize) -> Option<(Node<'w>, usize)> {
        let pair = self.pairs.get(at)?;
        let close = pair.close?;
        if pair.commas.is_empty() {
            let inside = self.items.get(at + 1..close)?;
            let words = sequence(inside, *self.room / 4)?;
            if words.is_empty() {
                self.full = true;
                return None;
            }
            *self.room = self.room.saturating_sub(4 * words.len());
            return Some((Node::Sequence(words), close + 1));
        }
        let mut choices = Vec::new();
        let mut from = at + 1;
        for &comma in pair.commas.iter().chain([&close]) {
            choices.push(self.nodes(from, comma));
            from = comma + 1;
        }
        Some((Node::Choice(choices), close + 1))
    }
}

/// The words of `1..9`, `a..f`, `1..9..2`; none when there are over `most`.
fn sequence(inside: &[Item<'_>], most: usize) -> Option<Vec<String>> {
    if inside.len() > 64 {
        return None;
    }
    let mut text = String::new();
    for item in inside {
        match item {
            Item::Plain(character) => text.push(*character),
            Item::Part(_) => return None,
        }
    }
    let mut ends = text.split("..");
    let (first, last, step) = (ends.next()?, ends.next()?, ends.next());
    if ends.next().is_some() {
        return None;
    }
    let step: i64 = step.map_or(Some(1), |step| step.parse().ok())?;
    let step = step.checked_abs()?.max(1);
    let numbers: Option<(i64, i64)> = first.parse().ok().zip(last.parse().ok());
    let (from, to, letters) = match numbers {
        Some((from, to)) => (from, to, false),
        None => (letter(first)?, letter(last)?, true),
    };
    let count = from.checked_sub(to)?.checked_abs()? / step + 1;
    if count > MAX_SEQUENCE {
        // Too long to write out: its ends stand for all of it.
        return Some(vec![first.to_owned(), last.to_owned()]);
    }
    if usize::try_from(count).map_or(true, |count| count > most) {
        return Some(Vec::new());
    }
    let direction = if from <= to { step } else { -step };
    let word = |index: i64| {
        let value = from + index * direction;
        if letters {
            u32::try_from(value).ok().and_then(char::from_u32).map_or_else(String::new, String::from)
        } else {
            value.to_string()
        }
    };
    Some((0..count).map(word).collect())
}

fn letter(text: &str) -> Option<i64> {
    let mut characters = text.chars();
    let only = characters.next().filter(char::is_ascii_alphabetic)?;
    characters.next().is_none().then(|| i64::from(u32::from(only)))
}

/// A word that is being put together.
type Built<'n> = Vec<Bit<'n>>;

#[derive(Clone, Copy)]
enum Bit<'n> {
    Item(Item<'n>),
    Text(&'n str),
}

/// All words that the nodes stand for.
fn combine<'n>(nodes: &'n [Node<'n>], room: &mut usize) -> Result<Vec<Built<'n>>, Over> {
    let mut words: Vec<Built<'n>> = vec![Vec::new()];
    for node in nodes {
        let endings: Vec<Built<'n>> = match node {
            Node::Item(item) => {
                *room = room.checked_sub(words.len()).ok_or(Over::Room)?;
                for word in &mut words {
                    word.push(Bit::Item(*item));
                }
                continue;
            }
            Node::Sequence(texts) => texts.iter().map(|text| vec![Bit::Text(text)]).collect(),
            Node::Choice(choices) => {
                let mut all = Vec::new();
                for choice in choices {
                    all.extend(combine(choice, room)?);
                }
                all
            }
        };
        if words.len() * endings.len() > MAX_WORDS {
            return Err(Over::Words);
        }
        let mut product = Vec::with_capacity(words.len() * endings.len());
        for word in &words {
            for ending in &endings {
                *room = room.checked_sub(weight(word) + weight(ending) + 1).ok_or(Over::Room)?;
                product.push(word.iter().chain(ending).copied().collect());
            }
        }
        words = product;
    }
    Ok(words)
}

fn weight(word: &[Bit<'_>]) -> usize {
    word.iter()
        .map(|built| match built {
            Bit::Text(text) => text.len() + 1,
            Bit::Item(Item::Part(Part::Quoted(text) | Part::Coded(text))) => text.len() + 1,
            Bit::Item(_) => 1,
        })
        .sum()
}

fn parts(word: &[Bit<'_>]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for built in word {
        match built {
            Bit::Item(Item::Part(part)) => parts.push((*part).clone()),
            Bit::Item(Item::Plain(character)) => push(&mut parts, character.encode_utf8(&mut [0; 4])),
            Bit::Text(text) => push(&mut parts, text),
        }
    }
    parts
}

fn push(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Plain(last)) => last.push_str(text),
        _ => parts.push(Part::Plain(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Expanded, expand};
    use crate::command::script::{Part, Place, Word};

    fn words(text: &str) -> Vec<String> {
        let place = Place { text: 0, start: 0, end: 0 };
        let word = Word { place, parts: vec![Part::Plain(text.to_owned())] };
        match expand(&word, &mut 10_000) {
            Expanded::Same => vec![text.to_owned()],
            Expanded::TooLarge => vec!["TOO LARGE".to_owned()],
            Expanded::TooDeep => vec!["TOO DEEP".to_owned()],
            Expanded::Words(words) => words
                .into_iter()
                .map(|parts| match parts.as_slice() {
                    [Part::Plain(text)] => text.clone(),
                    _ => String::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn braces_expand_as_in_bash() {
        for (written, meant) in [
            ("{sudo,id}", "sudo id"),
            ("{r,R}{m,M}", "rm rM Rm RM"),
            ("a{b,c}d", "abd acd"),
            ("{a,{b,c}}", "a b c"),
            ("{{a,b}", "{a {b"),
            ("{a,b", "{a,b"),
            ("{a}", "{a}"),
            ("{}", "{}"),
            ("x{a}{b,c}", "x{a}b x{a}c"),
            ("{1..3}", "1 2 3"),
            ("{r..r}m", "rm"),
            ("{c..a}", "c b a"),
            ("{1..5..2}", "1 3 5"),
            ("-{delete,print}", "-delete -print"),
            ("{,a}", "a"),
        ] {
            assert_eq!(words(written).join(" "), meant, "{written}");
        }
    }

    #[test]
    fn growth_is_bounded() {
        assert_eq!(words(&"{a,b}".repeat(40)), ["TOO LARGE"]);
        assert_eq!(words(&format!("{}x{}", "{a,".repeat(300), "}".repeat(300))), ["TOO DEEP"]);
    }
}
