//! What the commands' processes hold that has no name any more: removed files that are still open or mapped, files in
//! memory that never had a name, shared memory and messages of System V. A look takes at most a twentieth of the time.
use rustix::fs::FileType;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// What file systems call themselves.
const OVERLAY: i64 = 0x794C_7630;
const TMPFS: i64 = 0x0102_1994;

/// Bytes held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Of removed files of the layer.
    pub(super) disk: u64,
    /// Of files in memory and of what System V shares.
    pub(super) memory: u64,
}

/// Looks again when it is time.
pub(super) struct Looker {
    last: Held,
    next: Option<Instant>,
}

impl Looker {
    pub(super) const fn new() -> Self {
        Self { last: Held { disk: 0, memory: 0 }, next: None }
    }

    /// What `processes` hold, as it was at the last look. `counted` are devices whose files are counted elsewhere.
    pub(super) fn held(&mut self, processes: impl FnOnce() -> Vec<i32>, counted: &[u64]) -> Held {
        if self.next.is_some_and(|next| Instant::now() < next) {
            return self.last;
        }
        let start = Instant::now();
        self.last = look(&processes(), counted);
        self.next = Some(Instant::now() + (start.elapsed() * 20).max(Duration::from_millis(50)));
        self.last
    }
}

fn look(processes: &[i32], counted: &[u64]) -> Held {
    let mut held = Held { disk: 0, memory: shared() };
    let mut seen = HashSet::new();
    for pid in processes {
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            open_file(&entry.path(), counted, &mut seen, &mut held);
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in maps.lines() {
            if let Some((file, bytes)) = removed_map(line)
                && seen.insert(file)
            {
                held.disk += bytes;
            }
        }
    }
    held
}

/// A file is known by its device and number.
type File = (u64, u64);

fn open_file(path: &std::path::Path, counted: &[u64], seen: &mut HashSet<File>, held: &mut Held) {
    let Ok(stat) = rustix::fs::stat(path) else { return };
    if stat.st_nlink > 0 || !FileType::from_raw_mode(stat.st_mode).is_file() {
        return;
    }
    let Ok(system) = rustix::fs::statfs(path) else { return };
    let bytes = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    if system.f_type == OVERLAY && seen.insert((0, stat.st_ino)) {
        held.disk += bytes;
    }
    if system.f_type == TMPFS && !counted.contains(&stat.st_dev) && seen.insert((stat.st_dev, stat.st_ino)) {
        held.memory += bytes;
    }
}

/// A mapping of a removed file of the workspace, from a line of `maps`. Its file may be larger than what is mapped.
fn removed_map(line: &str) -> Option<(File, u64)> {
    let mut parts = line.splitn(6, ' ');
    let (start, end) = parts.next()?.split_once('-')?;
    let number = parts.nth(3)?.parse().ok()?;
    let name = parts.next()?.trim_start();
    if !name.starts_with("/workspace/") || !name.ends_with(" (deleted)") {
        return None;
    }
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some(((0, number), address(end)?.checked_sub(address(start)?)?))
}

/// What System V holds in this namespace: segments that are in memory, and messages.
fn shared() -> u64 {
    let sum = |file: &str, column: &str| -> u64 {
        let text = std::fs::read_to_string(format!("/proc/sysvipc/{file}")).unwrap_or_default();
        column_sum(&text, column)
    };
    sum("shm", "rss") + sum("msg", "cbytes")
}

fn column_sum(text: &str, column: &str) -> u64 {
    let mut lines = text.lines();
    let Some(place) = lines.next().and_then(|head| head.split_whitespace().position(|name| name == column))
    else {
        return 0;
    };
    lines.filter_map(|line| line.split_whitespace().nth(place)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn reads_tables_of_the_kernel() {
        let shm = "       key      shmid perms       size  rss\n 1 2 600 10 4096\n 1 3 600 10 8192\n";
        assert_eq!(column_sum(shm, "rss"), 12_288);
        assert_eq!(column_sum(shm, "swap"), 0);
        let line = "7f00000000-7f00003000 rw-s 00000000 00:1f 77                 /workspace/a b (deleted)";
        assert_eq!(removed_map(line), Some(((0, 77), 0x3000)));
        assert_eq!(removed_map(&line.replace(" (deleted)", "")), None);
        assert_eq!(removed_map("7f00000000-7f00003000 rw-p 00000000 00:00 0 "), None);
    }

    #[test]
    fn a_file_in_memory_is_counted_once_and_only_here() {
        let memfd = rustix::fs::memfd_create(c"x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(memfd);
        file.write_all(&vec![1; 1 << 20]).unwrap();
        let twice = file.try_clone().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let device = file.metadata().unwrap().dev();
        let with = look(&[own, own], &[]).memory;
        assert!(with >= 1 << 20);
        assert!(look(&[own], &[device]).memory <= with - (1 << 20));
        drop((file, twice));
    }
}
