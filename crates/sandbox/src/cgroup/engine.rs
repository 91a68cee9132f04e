//! The groups that a container engine made, where this process can make none of its own: a plain user's engine may have been
//! given a part of the tree (version 2) that Enclos was not. Only what holds the ceilings that were asked for counts.
use crate::plan::Limits;
use std::path::{Path, PathBuf};

/// Folders whose ceilings hold what was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) memory: PathBuf,
    pub(super) processes: PathBuf,
    pub(super) cpus: bool,
}

/// Looks for them from the group of a container's process upwards: an engine may put the process one group deeper.
pub(super) fn find(own: &str, mount: &Path, limits: &Limits) -> Option<Held> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let group = mount.join(path.trim_start_matches('/'));
    let above = || group.ancestors().take_while(|folder| *folder != mount && folder.starts_with(mount));
    let holds = |file: &str, most: u64| {
        above().find(|folder| {
            let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            // `max` is no number.
            text.trim().parse::<u64>().is_ok_and(|value| value <= most)
        })
    };
    let memory = holds("memory.max", limits.memory_bytes)?.to_owned();
    let processes = holds("pids.max", u64::from(limits.processes) + super::AROUND)?.to_owned();
    let cpus = above().any(|folder| {
        let text = std::fs::read_to_string(folder.join("cpu.max")).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        matches!((numbers.next(), numbers.next()), (Some(Ok(quota)), Some(Ok(period)))
            if quota <= period.saturating_mul(limits.cpus.into()))
    });
    Some(Held { memory, processes, cpus })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_hold_what_was_asked_for_count() {
        let root = tempfile::tempdir().unwrap();
        let scope = root.path().join("user.slice/libpod-1.scope");
        std::fs::create_dir_all(scope.join("container")).unwrap();
        let own = "0::/user.slice/libpod-1.scope/container\n";
        let limits = Limits::default();
        let write = |file: &str, text: &str| std::fs::write(scope.join(file), text).unwrap();
        assert_eq!(find(own, root.path(), &limits), None);
        write("memory.max", &limits.memory_bytes.to_string());
        write("pids.max", "576\n");
        let held = |cpus| Some(Held { memory: scope.clone(), processes: scope.clone(), cpus });
        assert_eq!(find(own, root.path(), &limits), held(false));
        write("cpu.max", "200000 100000\n");
        assert_eq!(find(own, root.path(), &limits), held(true));
        write("cpu.max", "max 100000\n");
        write("memory.max", "max\n");
        assert_eq!(find(own, root.path(), &limits), None);
        write("memory.max", &(limits.memory_bytes * 2).to_string());
        assert_eq!(find(own, root.path(), &limits), None, "more than was asked for");
        std::fs::write(root.path().join("memory.max"), "1").unwrap();
        assert_eq!(find(own, root.path(), &limits), None, "the root of the tree is everybody's");
        assert_eq!(find("4:memory:/a\n", root.path(), &limits), None);
    }
}
