//! How long a host may keep a sandbox for a gateway that it does not hear. The gateway renews; nobody else does, and a
//! lease that is over does not come back.
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A lease on one open sandbox.
#[derive(Debug)]
pub(crate) struct Lease {
    length: Duration,
    until: Mutex<Option<Duration>>,
}

impl Lease {
    /// One that begins `now`, by the clock of `clock`.
    pub(crate) fn new(length: Duration, now: Duration) -> Self {
        Self { length, until: Mutex::new(Some(now + length)) }
    }

    /// Begins it anew; false when it is over already.
    pub(crate) fn renew(&self, now: Duration) -> bool {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = until.filter(|until| now < *until).map(|_| now + self.length);
        until.is_some()
    }

    /// Whether it is over. Once it is, it stays so.
    pub(crate) fn is_over(&self, now: Duration) -> bool {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = until.filter(|until| now < *until);
        until.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_lease_lives_by_its_renewals() {
        let lease = Lease::new(5 * SECOND, 100 * SECOND);
        assert!(!lease.is_over(104 * SECOND));
        assert!(lease.renew(104 * SECOND));
        assert!(!lease.is_over(108 * SECOND));
        assert!(lease.is_over(109 * SECOND));
    }

    #[test]
    fn a_lease_that_is_over_does_not_come_back() {
        let lease = Lease::new(5 * SECOND, 100 * SECOND);
        assert!(!lease.renew(105 * SECOND), "too late by nothing is too late");
        assert!(lease.is_over(101 * SECOND), "whatever the clock says next");
        let lease = Lease::new(5 * SECOND, 100 * SECOND);
        assert!(lease.is_over(3600 * SECOND), "the machine slept");
        assert!(!lease.renew(3600 * SECOND));
    }

    #[test]
    fn the_clock_goes_on() {
        let before = super::super::clock::now();
        assert!(before > Duration::ZERO && super::super::clock::now() >= before);
    }
}
