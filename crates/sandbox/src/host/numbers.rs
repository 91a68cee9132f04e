//! The user numbers that a host gives to its sessions: none twice, and none before nothing is left of the session that had it.
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The user numbers of a host.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) range: (u32, u32),
    pub(super) taken: Mutex<BTreeSet<u32>>,
}

impl Numbers {
    /// The lowest that nothing has.
    pub(super) fn take(&self) -> Option<u32> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (self.range.0..=self.range.1).find(|number| !taken.contains(number))?;
        taken.insert(free);
        Some(free)
    }

    pub(super) fn give_back(&self, number: Option<u32>) {
        if let Some(number) = number {
            self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_number_is_given_twice_and_one_comes_back_with_its_session() {
        let numbers = Numbers { range: (10, 12), taken: Mutex::new([11].into()) };
        assert_eq!([numbers.take(), numbers.take(), numbers.take()], [Some(10), Some(12), None]);
        numbers.give_back(Some(11));
        numbers.give_back(None);
        assert_eq!([numbers.take(), numbers.take()], [Some(11), None]);
    }
}
