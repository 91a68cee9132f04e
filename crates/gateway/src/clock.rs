//! Time, and the only place that reads it.
//!
//! The wall clock is read once; from there time advances with the boot clock, which counts sleep and never goes
//! back. Everything else receives microseconds by parameter.

use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};

/// A source of time in microseconds since 1970, UTC.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({})", self.now_us())
    }
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        let wall = micros(clock_gettime(ClockId::Realtime));
        let boot = micros(clock_gettime(ClockId::Boottime));
        Self(Arc::new(move || wall + (micros(clock_gettime(ClockId::Boottime)) - boot)))
    }

    /// A clock that a test holds in its hand.
    pub fn by(read: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The time now.
    pub fn now_us(&self) -> i64 {
        (self.0)()
    }

    /// The time now, as events carry it.
    pub fn now(&self) -> String {
        rfc3339(self.now_us())
    }
}

fn micros(time: rustix::time::Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1000)
}

/// A time as RFC 3339 in UTC with microseconds.
pub fn rfc3339(time_us: i64) -> String {
    let fallback = || format!("@{time_us}us");
    jiff::Timestamp::from_microsecond(time_us).map_or_else(|_| fallback(), |time| format!("{time:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_microseconds() {
        assert_eq!(rfc3339(1_796_000_000_000_001), "2026-11-30T00:53:20.000001Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = Clock::system();
        let first = clock.now_us();
        assert!(clock.now_us() >= first);
    }
}
