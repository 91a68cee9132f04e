//! When a second interruption stops the session: within the same turn, or within two seconds.

use std::time::{Duration, Instant};

/// Two interruptions within this time stop the session.
const TWICE: Duration = Duration::from_secs(2);

/// The interruptions so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interruptions {
    last: Option<Instant>,
    this_turn: bool,
}

impl Interruptions {
    /// One more, now; whether it is one too many. `turn`: something runs that it interrupts.
    pub(crate) fn again(&mut self, now: Instant, turn: bool) -> bool {
        let again =
            self.this_turn || self.last.is_some_and(|last| now.saturating_duration_since(last) < TWICE);
        self.last = Some(now);
        self.this_turn |= turn;
        again
    }

    /// The turn is over, or another one began.
    pub(crate) fn next_turn(&mut self) {
        self.this_turn = false;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Interruptions;

    #[test]
    fn the_second_within_a_turn_or_two_seconds_is_one_too_many() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut of = Interruptions::default();
        assert!(!of.again(after(0), true));
        assert!(of.again(after(60), true), "the same turn");
        of.next_turn();
        assert!(of.again(after(61), false), "within two seconds");
        assert!(!of.again(after(100), false));
        assert!(!of.again(after(200), false), "nothing ran");
        assert!(!of.again(after(300), true));
        of.next_turn();
        assert!(!of.again(after(400), true), "another turn");
    }
}
