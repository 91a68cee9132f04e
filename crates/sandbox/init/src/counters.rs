//! Counters of control groups, read through descriptors that the gateway opened: the files themselves cannot be
//! named inside.
use std::os::fd::OwnedFd;

/// One file of lines `name number`, and the number last seen.
pub(crate) struct Counter {
    file: OwnedFd,
    name: &'static str,
    seen: u64,
}

impl Counter {
    /// The counter `name` in a file, from now on.
    pub(crate) fn new(file: OwnedFd, name: &'static str) -> Self {
        let mut counter = Self { file, name, seen: 0 };
        counter.grown();
        counter
    }

    /// Whether it has grown since it was last asked.
    pub(crate) fn grown(&mut self) -> bool {
        let mut bytes = [0; 512];
        let length = rustix::io::pread(&self.file, &mut bytes, 0).unwrap_or(0);
        let now = std::str::from_utf8(&bytes[..length])
            .ok()
            .and_then(|text| value(text, self.name))
            .unwrap_or(self.seen);
        let grown = now > self.seen;
        self.seen = now;
        grown
    }
}

fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn finds_whole_names_only() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(value(text, "oom_kill"), Some(3));
        assert_eq!(value("max 12\n", "max"), Some(12));
        assert_eq!(value("maximum 12\n", "max"), None);
    }
}
