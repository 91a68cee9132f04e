//! How long to wait, and how often to ask again.
//!
//! Back-off doubles, with jitter that comes in by parameter; what the server asks for in `Retry-After` is honoured up to
//! a minute, and a longer wish ends the request instead. It never reads a clock: a date in `Retry-After` is held against
//! the `Date` of the same response.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Limits of time and number of one request.
#[derive(Clone, Debug)]
pub struct Patience {
    /// How often to ask in all; at least 1.
    pub attempts: u32,
    /// How often to try when no connection can be made: nothing listens there, most likely.
    pub attempts_to_connect: u32,
    /// The first wait between two attempts; each further one is twice as long.
    pub first_wait: Duration,
    /// The longest wait of our own choosing.
    pub longest_wait: Duration,
    /// The longest wait that a server may ask for.
    pub longest_asked: Duration,
    /// How long a connection may take.
    pub connect: Duration,
    /// How long a server may take to begin its answer: slow machines read long prompts for minutes.
    pub begin: Duration,
    /// How long a stream may be silent.
    pub idle: Duration,
    /// How long to wait, once the answer is complete, for what servers send after it.
    pub tail: Duration,
    /// How long one attempt may take in all.
    pub whole: Duration,
    /// A number from 0 to 1 for each wait, drawn anew: so that many clients do not return together.
    pub jitter: fn() -> f64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 6,
            attempts_to_connect: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(15),
            longest_asked: Duration::from_mins(1),
            connect: Duration::from_secs(10),
            begin: Duration::from_mins(10),
            idle: Duration::from_mins(2),
            tail: Duration::from_secs(3),
            whole: Duration::from_mins(30),
            jitter: random,
        }
    }
}

impl Patience {
    /// The wait before the attempt that follows `attempt` (from 1); none when the server asks for more than is honoured.
    pub(crate) fn wait(&self, attempt: u32, asked: Option<Duration>) -> Option<Duration> {
        if let Some(asked) = asked {
            return (asked <= self.longest_asked).then_some(asked);
        }
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
        let wait = doubled.min(self.longest_wait);
        // Between half of the wait and the whole of it.
        Some(wait.mul_f64(0.5 + 0.5 * (self.jitter)().clamp(0.0, 1.0)))
    }
}

/// What a response asks for in `Retry-After`: seconds, or an HTTP date held against the response's own `Date`.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let now = jiff::fmt::rfc2822::parse(headers.get(DATE)?.to_str().ok()?).ok()?.timestamp();
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// A number from 0 to 1 out of the standard library's hash seeds: good enough to spread waits, and for nothing else.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(bits >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.insert(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn waits_double_up_to_a_ceiling() {
        let patience = Patience { jitter: || 1.0, ..Patience::default() };
        let waits: Vec<_> = (1..=7).map(|n| patience.wait(n, None).unwrap().as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 15000, 15000]);
        let least = Patience { jitter: || 0.0, ..patience };
        assert_eq!(least.wait(2, None), Some(Duration::from_millis(500)));
        assert_eq!(least.wait(u32::MAX, None), Some(Duration::from_millis(7500)));
    }

    #[test]
    fn a_server_may_ask_for_a_minute_and_no_more() {
        let patience = Patience::default();
        assert_eq!(patience.wait(1, Some(Duration::from_mins(1))), Some(Duration::from_mins(1)));
        assert_eq!(patience.wait(1, Some(Duration::from_secs(61))), None);
        assert_eq!(patience.wait(1, Some(Duration::ZERO)), Some(Duration::ZERO));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(asked(&headers(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let later = headers(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), ("date", date)]);
        assert_eq!(asked(&later), Some(Duration::from_secs(30)));
        let past = headers(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), ("date", date)]);
        assert_eq!(asked(&past), Some(Duration::ZERO));
        assert_eq!(asked(&headers(&[("retry-after", date)])), None);
        assert_eq!(asked(&headers(&[("retry-after", "soon")])), None);
        assert_eq!(asked(&headers(&[])), None);
    }

    #[test]
    fn jitter_is_a_number_from_0_to_1() {
        for _ in 0..100 {
            assert!((0.0..=1.0).contains(&random()));
        }
    }
}
