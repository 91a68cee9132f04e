//! Where groups can be made. Version 1: below this process's own group of each controller. Version 2: beside this
//! process's group, where memory and processes are given out already, or can be given out by root.
use std::path::{Path, PathBuf};

const MOUNT: &str = "/sys/fs/cgroup";

/// A place for groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// One folder for all.
    Two(PathBuf),
    /// One folder for each controller that is there.
    One { memory: Option<PathBuf>, pids: Option<PathBuf>, cpu: Option<PathBuf> },
}

/// The place for groups of this process, if there is one.
pub(super) fn find() -> Option<Found> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    look(&own, Path::new(MOUNT))
}

fn look(own: &str, mount: &Path) -> Option<Found> {
    let controller = |name: &str| {
        let path = own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers = parts.next()?;
            controllers.split(',').any(|one| one == name).then(|| parts.next())?
        })?;
        existing(&mount.join(name), path)
    };
    let (memory, pids, cpu) = (controller("memory"), controller("pids"), controller("cpu"));
    if memory.is_some() || pids.is_some() || cpu.is_some() {
        return Some(Found::One { memory, pids, cpu });
    }
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = existing(mount, path)?;
    // A group with processes of its own gives out no controllers, so the place is beside it; the root group may.
    let parent = if own == mount { own } else { own.parent()?.to_owned() };
    let given_out = || {
        let text = std::fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"].iter().all(|name| text.split_whitespace().any(|one| one == *name))
    };
    if !given_out() {
        // Only root may, and only where nothing stands against it.
        let _ = std::fs::write(parent.join("cgroup.subtree_control"), "+memory +pids +cpu");
    }
    given_out().then_some(Found::Two(parent))
}

/// The folder of a group; in a container the mount may show only the container's own part.
fn existing(mount: &Path, path: &str) -> Option<PathBuf> {
    let whole = mount.join(path.trim_start_matches('/'));
    [whole, mount.to_owned()].into_iter().find(|folder| folder.join("cgroup.procs").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(folders: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in folders {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("cgroup.procs"), "").unwrap();
        }
        root
    }

    #[test]
    fn version_one_by_controller() {
        let root = tree(&["memory/a", "pids", "cpu"]);
        let own = "8:pids:/\n4:memory:/a\n1:cpu,cpuacct:/gone\n0::/\n";
        let at = |path: &str| Some(root.path().join(path));
        let expected = Found::One { memory: at("memory/a"), pids: at("pids/"), cpu: at("cpu") };
        assert_eq!(look(own, root.path()), Some(expected));
    }

    #[test]
    fn version_two_only_where_controllers_are_given_out() {
        let root = tree(&["", "user.slice/app.slice", "user.slice/app.slice/enclos.scope"]);
        let own = "0::/user.slice/app.slice/enclos.scope\n";
        let parent = root.path().join("user.slice/app.slice");
        std::fs::write(parent.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        assert_eq!(look(own, root.path()), Some(Found::Two(parent.clone())));
        std::fs::remove_file(parent.join("cgroup.subtree_control")).unwrap();
        std::fs::create_dir(parent.join("cgroup.subtree_control")).unwrap();
        assert_eq!(look(own, root.path()), None);
        assert_eq!(look("", root.path()), None);
    }
}
