//! A failure with its step. Every call of the set-up that can fail is named, and none is tried again with less.
use enclos_init::wire::{Failure, Step};
use std::io;

/// The result of a step.
pub(crate) type Done<T> = Result<T, Failure>;

/// Names the step at which something failed.
pub(crate) trait At<T> {
    /// The value, or a failure at `step` while doing `what`.
    fn at(self, step: Step, what: &str) -> Done<T>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step, what: &str) -> Done<T> {
        self.map_err(|error| {
            let error = error.into();
            let errno = error.raw_os_error().unwrap_or(0);
            let message = if errno == 0 { format!("{what}: {error}") } else { what.to_owned() };
            Failure { step, message, errno, no_overlay: false }
        })
    }
}

/// A failure without an error number.
pub(crate) fn refused<T>(step: Step, what: impl Into<String>) -> Done<T> {
    Err(Failure { step, message: what.into(), errno: 0, no_overlay: false })
}
