//! The clock of leases: it counts the time in which the machine slept, and never goes back.
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Time since the machine was started, its sleep included.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or(0),
        u32::try_from(now.tv_nsec).unwrap_or(0).min(999_999_999),
    )
}
