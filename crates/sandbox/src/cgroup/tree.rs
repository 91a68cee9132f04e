//! Where groups can be made. Version 1: below this process's own group of each controller. Version 2: beside this
//! process's group, where memory and processes are given out already, or can be given out by root; or in that group itself,
//! where it was delegated to this process alone (a scope of systemd with `Delegate=yes`), which then moves into a leaf.
use std::path::{Path, PathBuf};

pub(super) const MOUNT: &str = "/sys/fs/cgroup";

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
    let parent = if own == mount { own.clone() } else { own.parent()?.to_owned() };
    let given_out = || {
        let text = std::fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"].iter().all(|name| text.split_whitespace().any(|one| one == *name))
    };
    if !given_out() {
        // Only root may, and only where nothing stands against it.
        let _ = std::fs::write(parent.join("cgroup.subtree_control"), "+memory +pids +cpu");
    }
    if given_out() && writable(&parent) {
        return Some(Found::Two(parent));
    }
    (own != mount && make_room(&own, std::process::id())).then_some(Found::Two(own))
}

/// Where this process waits in a group that it divides.
const LEAF: &str = "enclos-gateway";

/// Divides a group of which this process is the only member. Nobody else is ever moved.
fn make_room(own: &Path, pid: u32) -> bool {
    let alone = || {
        let members = std::fs::read_to_string(own.join("cgroup.procs")).unwrap_or_default();
        members.split_whitespace().eq([pid.to_string().as_str()])
    };
    let offered = || {
        let text = std::fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
        ["memory", "pids"].iter().all(|name| text.split_whitespace().any(|one| one == *name))
    };
    if !writable(own) || !alone() || !offered() {
        return false;
    }
    let leaf = own.join(LEAF);
    let divide = || -> std::io::Result<()> {
        std::fs::create_dir(&leaf)?;
        std::fs::write(leaf.join("cgroup.procs"), pid.to_string())?;
        std::fs::write(own.join("cgroup.subtree_control"), "+memory +pids")
    };
    let divided = divide().is_ok();
    if divided {
        // A share of the processors is worth having, and is not always delegated.
        let _ = std::fs::write(own.join("cgroup.subtree_control"), "+cpu");
    }
    divided
}

fn writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
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
    fn a_group_delegated_to_this_process_alone_is_divided() {
        let root = tree(&["", "app.slice/enclos.scope"]);
        let scope = root.path().join("app.slice/enclos.scope");
        let pid = std::process::id();
        std::fs::write(scope.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        for others in ["1\n", ""] {
            std::fs::write(scope.join("cgroup.procs"), format!("{pid}\n{others}")).unwrap();
            assert_eq!(make_room(&scope, pid), others.is_empty(), "with others: {others:?}");
        }
        assert_eq!(std::fs::read_to_string(scope.join(LEAF).join("cgroup.procs")).unwrap(), pid.to_string());
        std::fs::write(scope.join("cgroup.controllers"), "cpu\n").unwrap();
        assert!(!make_room(&scope, pid), "what is not offered cannot be given out");
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
