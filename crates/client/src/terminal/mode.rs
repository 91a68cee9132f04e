//! What a key means: one pure function over what is being asked.
//!
//! Enter never answers. A key that was typed before the whole question was shown, or that came in a burst, answers
//! nothing; an interruption and a stop are always heard.

use enclos_protocol::order::Order;

use crate::terminal::keys::Key;
use crate::terminal::pager::Pager;
use crate::terminal::review::Review;
use crate::text;

/// What is being asked.
#[derive(Debug)]
pub(crate) enum Mode {
    /// Nothing: the session works.
    Working,
    /// An approval.
    Card(Asking),
    /// An extension of the budget.
    Extension,
    /// What becomes of the change set.
    Review(Review),
}

/// An approval that is being asked for.
#[derive(Debug)]
pub(crate) struct Asking {
    /// Its name.
    pub(crate) approval: String,
    /// Which answers besides a refusal.
    pub(crate) offered: Offered,
    /// Whether a pattern is being chosen.
    pub(crate) choosing: bool,
    /// The pager, when the card is longer than the screen.
    pub(crate) pager: Option<Pager>,
}

/// The answers that a card offers besides a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    /// Whether somebody here can approve.
    pub(crate) approve: bool,
    /// Whether `s` is offered.
    pub(crate) remember: bool,
    /// How many patterns are offered with `p`.
    pub(crate) patterns: usize,
}

/// What is to be done about a key.
#[derive(Debug)]
pub(crate) enum Act {
    /// Nothing at all.
    Nothing,
    /// Another page of the same question.
    Scrolled,
    /// Another question: keys that were typed before it was shown are dropped.
    Next,
    /// A remark to the person.
    Note(&'static str),
    /// An order that answers the question.
    Send(Order),
    /// The patterns are shown, to choose one.
    Patterns,
    /// The arguments are changed in an editor.
    Edit(String),
    /// A word goes with the refusal of this approval: it is asked for.
    Word(String),
    /// A message to go on with is asked for.
    Message,
    /// The diff is shown.
    Diff,
    /// The keys are explained.
    Help,
    /// The turn is interrupted.
    Interrupt,
    /// The session is stopped, as an answer to a card.
    Stop,
    /// The session is stopped at any moment, and the run with it.
    Quit,
    /// The session is left as it is.
    Leave,
}

/// What a key means. `ready`: the whole question was shown before it was typed, and it came alone.
pub(crate) fn key(mode: &mut Mode, key: Key, ready: bool) -> Act {
    match key {
        Key::Interrupt => return Act::Interrupt,
        Key::Quit => return Act::Quit,
        Key::Paste => return Act::Note(text::NOTE_PASTE),
        _ => {}
    }
    match mode {
        Mode::Card(asking) => card(asking, key, ready),
        Mode::Extension if ready => extension(key),
        Mode::Review(review) if ready => review.key(key),
        Mode::Working | Mode::Extension | Mode::Review(_) => Act::Nothing,
    }
}

fn card(asking: &mut Asking, key: Key, ready: bool) -> Act {
    if let Some(pager) = &mut asking.pager
        && pager.key(key)
    {
        return Act::Scrolled;
    }
    if !ready {
        return Act::Nothing;
    }
    let approval = asking.approval.clone();
    if asking.choosing {
        return choose(asking, approval, key);
    }
    let read = asking.pager.as_ref().is_none_or(Pager::was_read);
    let offered = asking.offered;
    match key {
        Key::Char('a' | 's' | 'p') if !offered.approve => Act::Note(text::NOTE_NOT_HERE),
        Key::Char('a' | 's' | 'p') if !read => Act::Note(text::NOTE_READ_FIRST),
        Key::Char('a') => Act::Send(approve(approval, false, None)),
        Key::Char('s') if offered.remember => Act::Send(approve(approval, true, None)),
        Key::Char('p') if offered.remember && offered.patterns > 0 => {
            asking.choosing = true;
            Act::Patterns
        }
        Key::Char('p') if offered.remember => Act::Note(text::NOTE_NO_PATTERN),
        Key::Char('e') => Act::Edit(approval),
        Key::Char('s' | 'p') => Act::Note(text::NOTE_NOT_REMEMBERED),
        Key::Char('r') => Act::Send(Order::Reject { approval, word: None }),
        Key::Char('R') => Act::Word(approval),
        Key::Char('!') => Act::Stop,
        Key::Char('?') => Act::Help,
        _ => Act::Nothing,
    }
}

fn approve(approval: String, for_session: bool, pattern: Option<usize>) -> Order {
    Order::Approve { approval, for_session, pattern }
}

/// A number chooses a pattern that was shown; `b` goes back to the card's own keys.
fn choose(asking: &mut Asking, approval: String, key: Key) -> Act {
    match key {
        Key::Char('b') | Key::Escape => {
            asking.choosing = false;
            Act::Next
        }
        Key::Char(digit @ '1'..='9') => {
            let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or(0);
            if at > asking.offered.patterns {
                return Act::Nothing;
            }
            Act::Send(approve(approval, false, at.checked_sub(1)))
        }
        _ => Act::Nothing,
    }
}

fn extension(key: Key) -> Act {
    match key {
        Key::Char('y') => Act::Send(Order::Extend { granted: true }),
        Key::Char('n') => Act::Send(Order::Extend { granted: false }),
        Key::Char('!') => Act::Stop,
        Key::Char('?') => Act::Help,
        _ => Act::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use enclos_protocol::order::Order;

    use super::{Act, Asking, Mode, Offered, key};
    use crate::terminal::keys::Key;
    use crate::terminal::pager::Pager;

    fn card(remember: bool, pager: Option<Pager>) -> Mode {
        let offered = Offered { approve: true, remember, patterns: 2 };
        Mode::Card(Asking { approval: "app_1".to_owned(), offered, choosing: false, pager })
    }

    const ALL: [Key; 13] = [
        Key::Char('a'),
        Key::Char('s'),
        Key::Char('r'),
        Key::Char('R'),
        Key::Char('!'),
        Key::Char('y'),
        Key::Char('n'),
        Key::Char('A'),
        Key::Char(' '),
        Key::Other,
        Key::Escape,
        Key::EndOfInput,
        Key::Paste,
    ];

    #[test]
    fn only_the_key_of_an_answer_answers() {
        for pressed in ALL {
            let act = key(&mut card(true, None), pressed, true);
            match pressed {
                Key::Char('a') => {
                    assert!(matches!(act, Act::Send(Order::Approve { for_session: false, .. })));
                }
                Key::Char('s') => assert!(matches!(act, Act::Send(Order::Approve { for_session: true, .. }))),
                Key::Char('r') => assert!(matches!(act, Act::Send(Order::Reject { word: None, .. }))),
                Key::Char('R') => assert!(matches!(act, Act::Word(_))),
                Key::Char('!') => assert!(matches!(act, Act::Stop)),
                _ => assert!(!matches!(act, Act::Send(_)), "{pressed:?}"),
            }
        }
    }

    #[test]
    fn a_pattern_is_chosen_by_its_number_once_it_was_shown() {
        let mut mode = card(true, None);
        assert!(matches!(key(&mut mode, Key::Char('1'), true), Act::Nothing));
        assert!(matches!(key(&mut mode, Key::Char('p'), true), Act::Patterns));
        assert!(matches!(key(&mut mode, Key::Char('a'), true), Act::Nothing), "only a number answers");
        assert!(matches!(key(&mut mode, Key::Char('3'), true), Act::Nothing), "there are two");
        assert!(matches!(key(&mut mode, Key::Other, true), Act::Nothing), "Enter answers nothing");
        let chosen = key(&mut mode, Key::Char('2'), true);
        assert!(matches!(chosen, Act::Send(Order::Approve { for_session: false, pattern: Some(1), .. })));
        assert!(matches!(key(&mut mode, Key::Char('b'), true), Act::Next));
        assert!(matches!(key(&mut mode, Key::Char('a'), true), Act::Send(_)));
        assert!(matches!(key(&mut card(false, None), Key::Char('p'), true), Act::Note(_)));
    }

    #[test]
    fn where_nobody_can_approve_no_key_does() {
        let asking = || {
            let offered = Offered { approve: false, remember: false, patterns: 2 };
            Mode::Card(Asking { approval: "app_1".to_owned(), offered, choosing: false, pager: None })
        };
        for pressed in ['a', 's', 'p'] {
            assert!(matches!(key(&mut asking(), Key::Char(pressed), true), Act::Note(_)), "{pressed}");
        }
        assert!(matches!(key(&mut asking(), Key::Char('r'), true), Act::Send(Order::Reject { .. })));
        assert!(matches!(key(&mut asking(), Key::Char('e'), true), Act::Edit(_)));
        assert!(matches!(key(&mut asking(), Key::Char('!'), true), Act::Stop));
    }

    #[test]
    fn an_edit_is_no_answer() {
        assert!(matches!(key(&mut card(false, None), Key::Char('e'), true), Act::Edit(_)));
        assert!(matches!(key(&mut card(false, None), Key::Char('e'), false), Act::Nothing));
    }

    #[test]
    fn an_early_key_or_a_burst_answers_nothing() {
        for pressed in ALL {
            for mut mode in [card(true, None), Mode::Extension] {
                let act = key(&mut mode, pressed, false);
                assert!(matches!(act, Act::Nothing | Act::Note(_)), "{pressed:?} {act:?}");
            }
        }
    }

    #[test]
    fn interruption_and_stop_are_always_heard() {
        for ready in [true, false] {
            for mut mode in [Mode::Working, card(false, None), Mode::Extension] {
                assert!(matches!(key(&mut mode, Key::Interrupt, ready), Act::Interrupt));
                assert!(matches!(key(&mut mode, Key::Quit, ready), Act::Quit));
            }
        }
    }

    #[test]
    fn what_may_not_be_remembered_is_not() {
        assert!(matches!(key(&mut card(false, None), Key::Char('s'), true), Act::Note(_)));
    }

    #[test]
    fn a_long_card_is_approved_only_after_its_end_was_seen() {
        let mut mode = card(true, Some(Pager::new(100, 10)));
        assert!(matches!(key(&mut mode, Key::Char('a'), true), Act::Note(_)));
        assert!(matches!(key(&mut mode, Key::Char('s'), true), Act::Note(_)));
        assert!(matches!(key(&mut mode, Key::PageDown, true), Act::Scrolled));
        assert!(matches!(key(&mut mode, Key::Char('a'), true), Act::Note(_)));
        assert!(matches!(key(&mut mode, Key::End, true), Act::Scrolled));
        assert!(matches!(key(&mut mode, Key::Char('a'), true), Act::Send(Order::Approve { .. })));
        let mut mode = card(true, Some(Pager::new(100, 10)));
        assert!(matches!(key(&mut mode, Key::Char('r'), true), Act::Send(Order::Reject { .. })));
    }

    #[test]
    fn an_extension_wants_a_y_or_an_n() {
        for pressed in ALL {
            let act = key(&mut Mode::Extension, pressed, true);
            match pressed {
                Key::Char('y') => assert!(matches!(act, Act::Send(Order::Extend { granted: true }))),
                Key::Char('n') => assert!(matches!(act, Act::Send(Order::Extend { granted: false }))),
                _ => assert!(!matches!(act, Act::Send(_)), "{pressed:?}"),
            }
        }
    }
}
