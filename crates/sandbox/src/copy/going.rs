//! How far the copies are that this process is making: a person who waits for one sees that it goes on. It decides nothing.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

static AT_WORK: AtomicUsize = AtomicUsize::new(0);
static ENTRIES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// How far the copies are that this process is making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copying {
    /// Files, folders and links copied so far.
    pub entries: u64,
    /// Bytes of the files copied so far.
    pub bytes: u64,
}

/// How far they are; `None` while none is made.
pub fn copying() -> Option<Copying> {
    (AT_WORK.load(Ordering::Acquire) > 0)
        .then(|| Copying { entries: ENTRIES.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) })
}

/// A copy that is being made; it is over when this is dropped.
#[derive(Debug)]
pub(super) struct Going(());

impl Going {
    pub(super) fn begin() -> Self {
        if AT_WORK.fetch_add(1, Ordering::AcqRel) == 0 {
            ENTRIES.store(0, Ordering::Relaxed);
            BYTES.store(0, Ordering::Relaxed);
        }
        Self(())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One more entry is copied.
pub(super) fn entry() {
    ENTRIES.fetch_add(1, Ordering::Relaxed);
}

/// So many more bytes are copied.
pub(super) fn bytes(count: u64) {
    BYTES.fetch_add(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_seen_while_it_is() {
        let going = Going::begin();
        let before = copying().expect("one is made");
        entry();
        bytes(5);
        let now = copying().expect("it goes on");
        // Other tests may copy at the same time.
        assert!(now.entries > before.entries && now.bytes >= before.bytes + 5);
        drop(going);
    }
}
