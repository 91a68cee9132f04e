//! The calls of an answer, put together from their pieces.
//!
//! Decides which call a piece belongs to, when servers give the same index to all, no index, no identifier, the name
//! again with each piece, or whole calls at once. In doubt two calls stay two: text of one never ends up in another, and
//! nothing is repaired. A name is set once; a piece that only repeats what is known adds nothing.

use enclos_core::model::Proposed;
use serde_json::Value;

use super::super::Delta;
use super::wire::Fragment;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    shape: Shape,
}

/// How far a text of JSON has come, followed piece by piece so that long arguments are not read again for each.
#[derive(Debug, Default)]
struct Shape {
    depth: usize,
    within: Within,
    end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Structure,
    String,
    Escape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// Every bracket that was opened is closed.
    Closed,
    /// More than white space came after that.
    Passed,
}

impl Calls {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Adds a piece, and tells what it adds.
    pub(super) fn add(&mut self, fragment: Fragment, on: &mut dyn FnMut(Delta)) {
        let at = match self.find(&fragment).filter(|&at| !self.calls[at].is_another(&fragment)) {
            Some(at) => at,
            None if fragment.says_nothing() => return,
            None => {
                self.calls.push(Call { index: fragment.index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        self.calls[at].take(at, fragment, on);
    }

    /// The call that a piece points to by index and identifier; none when it points to a new one.
    fn find(&self, fragment: &Fragment) -> Option<usize> {
        let last = self.calls.len().checked_sub(1);
        let same_id = |call: &Call| fragment.id.is_some() && call.id == fragment.id;
        let by_id = self.calls.iter().rposition(same_id);
        let other_id = |at: usize| match (&fragment.id, &self.calls[at].id) {
            (Some(new), Some(old)) => new != old,
            (Some(_), None) => fragment.name.is_some(),
            (None, _) => false,
        };
        let Some(index) = fragment.index else {
            return by_id.or(last.filter(|&at| !other_id(at)));
        };
        match self.calls.iter().rposition(|call| call.index == Some(index)) {
            Some(at) if fragment.id.is_some() && self.calls[at].id.is_some() && other_id(at) => by_id,
            Some(at) => Some(at),
            // An index never seen: a new call, but for a mere continuation of a call that is known otherwise.
            None if fragment.name.is_some() => None,
            None if by_id.is_some() => by_id,
            None => last.filter(|&at| fragment.id.is_none() && self.calls[at].index.is_none()),
        }
    }

    /// The calls, in order. One without name and arguments was never a call; an identifier counts once.
    pub(super) fn finish(self) -> Vec<Proposed> {
        let mut seen: Vec<String> = Vec::new();
        let real = |call: &Call| !call.name.is_empty() || !call.arguments.trim().is_empty();
        let proposed = |call: Call| {
            let id = call.id.filter(|id| !seen.contains(id));
            seen.extend(id.clone());
            Proposed { id, name: call.name, arguments: call.arguments }
        };
        self.calls.into_iter().filter(real).map(proposed).collect()
    }
}

impl Call {
    /// Whether a piece that points here by index and identifier is nevertheless another call: it has another name (unless
    /// the identifier insists on this call), or names this tool again with other arguments after complete ones.
    fn is_another(&self, fragment: &Fragment) -> bool {
        let Some(name) = fragment.name.as_ref().filter(|_| !self.name.is_empty()) else {
            return false;
        };
        if *name != self.name {
            return fragment.id.is_none() || fragment.id != self.id;
        }
        !fragment.arguments.trim().is_empty() && self.is_complete() && !self.repeats(fragment)
    }

    /// Whether the piece's arguments are this call's complete arguments once more.
    fn repeats(&self, fragment: &Fragment) -> bool {
        // The same object has about the same length; so the work stays within what the piece itself weighs.
        let (piece, all) = (&fragment.arguments, &self.arguments);
        piece.trim_start().starts_with('{')
            && piece.len().saturating_mul(8).saturating_add(64) >= all.len()
            && self.is_complete()
            && object(piece).is_some_and(|again| object(all) == Some(again))
    }

    /// Whether the arguments look like one complete object.
    fn is_complete(&self) -> bool {
        self.shape.end == End::Closed
    }

    fn take(&mut self, at: usize, fragment: Fragment, on: &mut dyn FnMut(Delta)) {
        let repeats = self.repeats(&fragment);
        self.id = self.id.take().or(fragment.id);
        self.index = self.index.or(fragment.index);
        if !repeats {
            self.arguments.push_str(&fragment.arguments);
            self.shape.follow(&fragment.arguments);
        }
        let starts = self.name.is_empty() && fragment.name.is_some();
        if starts {
            self.name = fragment.name.unwrap_or_default();
            on(Delta::CallStarted { index: at, name: self.name.clone() });
        }
        let shown = if starts { self.arguments.clone() } else { fragment.arguments };
        if !repeats && !self.name.is_empty() && !shown.is_empty() {
            on(Delta::CallArguments { index: at, fragment: shown });
        }
    }
}

impl Shape {
    fn follow(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match (self.within, byte) {
                (Within::Escape, _) => self.within = Within::String,
                (Within::String, b'\\') => self.within = Within::Escape,
                (Within::String, b'"') => self.within = Within::Structure,
                (Within::String, _) | (Within::Structure, b' ' | b'\t' | b'\r' | b'\n') => {}
                (Within::Structure, byte) => self.structure(byte),
            }
        }
    }

    fn structure(&mut self, byte: u8) {
        match byte {
            _ if self.end != End::Open => self.end = End::Passed,
            b'"' => self.within = Within::String,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end = End::Closed;
                }
            }
            _ => {}
        }
    }
}

impl Fragment {
    fn says_nothing(&self) -> bool {
        self.id.is_none() && self.name.is_none() && self.arguments.trim().is_empty()
    }
}

/// The text as one complete JSON object.
fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece: index (negative: none), identifier, name, arguments (empty: none).
    type Piece<'a> = (i64, &'a str, &'a str, &'a str);

    fn fragment((index, id, name, arguments): Piece) -> Fragment {
        let word = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Fragment {
            index: u64::try_from(index).ok(),
            id: word(id),
            name: word(name),
            arguments: arguments.to_owned(),
        }
    }

    /// What the pieces make: `id name arguments` each; checks that the deltas tell the same.
    fn made(pieces: &[Piece]) -> Vec<String> {
        let mut calls = Calls::default();
        let mut told: Vec<(String, String)> = Vec::new();
        for &piece in pieces {
            calls.add(fragment(piece), &mut |delta| match delta {
                Delta::CallStarted { index, name } => {
                    assert!(index >= told.len(), "a call starts once");
                    told.resize(index, (String::new(), String::new()));
                    told.push((name, String::new()));
                }
                Delta::CallArguments { index, fragment } => told[index].1.push_str(&fragment),
                other => panic!("{other:?}"),
            });
        }
        let calls = calls.finish();
        let named: Vec<_> = calls.iter().filter(|call| !call.name.is_empty()).collect();
        told.retain(|(name, _)| !name.is_empty());
        let same =
            named.iter().zip(&told).all(|(call, told)| (&call.name, &call.arguments) == (&told.0, &told.1));
        assert!(same && named.len() == told.len(), "{named:?} {told:?}");
        let show = |call: &Proposed| {
            format!("{} {} {}", call.id.as_deref().unwrap_or("-"), call.name, call.arguments)
        };
        calls.iter().map(show).collect()
    }

    const A: &str = r#"{"a":1}"#;
    const B: &str = r#"{"b":2}"#;

    #[test]
    fn the_usual_stream() {
        let got =
            made(&[(0, "x", "read", ""), (0, "", "", r#"{"a""#), (0, "", "", ":1}"), (1, "y", "list", B)]);
        assert_eq!(got, [format!("x read {A}"), format!("y list {B}")]);
    }

    #[test]
    fn pieces_of_parallel_calls_may_alternate() {
        let got = made(&[
            (0, "x", "read", "{"),
            (1, "y", "list", "{"),
            (0, "", "", r#""a":1}"#),
            (1, "", "", r#""b":2}"#),
        ]);
        assert_eq!(got, [format!("x read {A}"), format!("y list {B}")]);
    }

    #[test]
    fn no_identifier_at_all() {
        let got = made(&[(0, "", "read", r#"{"a"#), (0, "", "", r#"":1}"#), (1, "", "list", B)]);
        assert_eq!(got, [format!("- read {A}"), format!("- list {B}")]);
    }

    #[test]
    fn no_index_at_all() {
        let got = made(&[
            (-1, "x", "read", ""),
            (-1, "", "", A),
            (-1, "y", "list", "{"),
            (-1, "y", "", r#""b":2}"#),
        ]);
        assert_eq!(got, [format!("x read {A}"), format!("y list {B}")]);
        let got = made(&[(-1, "", "read", A), (-1, "", "list", B), (-1, "", "list", A)]);
        assert_eq!(got, [format!("- read {A}"), format!("- list {B}"), format!("- list {A}")]);
        let late = made(&[(-1, "", "read", ""), (-1, "x", "", A)]);
        assert_eq!(late, [format!("x read {A}")]);
    }

    #[test]
    fn index_0_for_all_with_identifiers() {
        let got = made(&[
            (0, "x", "read", A),
            (0, "y", "read", A),
            (0, "z", "list", "{"),
            (0, "", "", r#""b":2}"#),
        ]);
        assert_eq!(got, [format!("x read {A}"), format!("y read {A}"), format!("z list {B}")]);
        let back = made(&[(0, "x", "read", "{"), (0, "y", "list", B), (0, "x", "", r#""a":1}"#)]);
        assert_eq!(back, [format!("x read {A}"), format!("y list {B}")]);
    }

    #[test]
    fn index_0_for_all_without_identifiers() {
        let got = made(&[(0, "", "read", A), (0, "", "read", B), (0, "", "list", ""), (0, "", "", A)]);
        assert_eq!(got, [format!("- read {A}"), format!("- read {B}"), format!("- list {A}")]);
    }

    #[test]
    fn a_name_sent_again_is_not_doubled() {
        let got = made(&[
            (0, "x", "read", "{"),
            (0, "x", "read", r#""a":"#),
            (0, "x", "read", "1}"),
            (0, "x", "read", ""),
        ]);
        assert_eq!(got, [format!("x read {A}")]);
    }

    #[test]
    fn complete_arguments_sent_again_are_not_appended() {
        let got = made(&[
            (0, "x", "read", r#"{"a""#),
            (0, "", "", ":1}"),
            (0, "", "", r#"{ "a": 1 }"#),
            (0, "x", "read", A),
        ]);
        assert_eq!(got, [format!("x read {A}")]);
    }

    #[test]
    fn other_text_after_complete_arguments_stays_to_be_refused() {
        assert_eq!(made(&[(0, "x", "read", A), (0, "", "", B)]), [format!("x read {A}{B}")]);
        assert_eq!(made(&[(0, "x", "read", A), (0, "", "", "}")]), [format!("x read {A}}}")]);
    }

    #[test]
    fn another_name_is_another_call_and_never_lends_its_arguments() {
        let got = made(&[(0, "", "read", ""), (0, "", "delete", A)]);
        assert_eq!(got, ["- read ".to_owned(), format!("- delete {A}")]);
        let got = made(&[(0, "", "read", r#"{"a"#), (0, "", "delete", A)]);
        assert_eq!(got, [r#"- read {"a"#.to_owned(), format!("- delete {A}")]);
        // The identifier insists: the first name stays.
        assert_eq!(made(&[(0, "x", "read", ""), (0, "x", "delete", A)]), [format!("x read {A}")]);
    }

    #[test]
    fn an_identifier_counts_once() {
        let got = made(&[(0, "x", "read", A), (1, "x", "list", B)]);
        assert_eq!(got, [format!("x read {A}"), format!("- list {B}")]);
        // The same identifier and index, complete arguments again but different: two calls.
        assert_eq!(
            made(&[(0, "x", "read", A), (0, "x", "read", B)]),
            [format!("x read {A}"), format!("- read {B}")]
        );
    }

    #[test]
    fn an_index_that_comes_late_or_goes_astray() {
        assert_eq!(made(&[(-1, "", "read", "{"), (0, "", "", r#""a":1}"#)]), [format!("- read {A}")]);
        assert_eq!(made(&[(0, "x", "read", "{"), (5, "x", "", r#""a":1}"#)]), [format!("x read {A}")]);
        assert_eq!(made(&[(0, "x", "read", "{"), (1, "", "", "}")]), ["x read {", "-  }"]);
    }

    #[test]
    fn what_was_never_a_call_is_left_out() {
        assert_eq!(made(&[(0, "", "", ""), (0, "x", "", ""), (1, "", "", " ")]), [""; 0]);
        assert_eq!(made(&[(0, "x", "", ""), (0, "", "read", A)]), [format!("x read {A}")]);
        assert_eq!(made(&[(0, "", "", "{"), (0, "", "read", r#""a":1}"#)]), [format!("- read {A}")]);
    }

    #[test]
    fn brackets_in_strings_close_nothing() {
        let text = r#"{"a":"}\"}{","b":[{}]}"#;
        let mut shape = Shape::default();
        text.chars().for_each(|c| {
            assert_eq!(shape.end, End::Open);
            shape.follow(c.encode_utf8(&mut [0; 4]));
        });
        assert_eq!(shape.end, End::Closed);
        shape.follow(" \n");
        assert_eq!(shape.end, End::Closed);
        shape.follow("\"");
        assert_eq!(shape.end, End::Passed);
    }
}
