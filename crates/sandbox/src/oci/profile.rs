//! The filter of system calls that the container gets: those of the table that commands may use, and those that building
//! the sandbox in it needs. Engines' own profiles refuse namespaces to whoever has no capability; with this one the init
//! can make them. Commands get the init's filter on top, which takes all of these back.
use serde_json::{Value, json};

const TABLE: &str = include_str!("../../init/syscalls.tsv");

/// What building a sandbox needs beyond what commands may do: namespaces, mounts, privileges, the filters themselves.
const BUILDING: [&str; 18] = [
    "unshare",
    "mount",
    "umount2",
    "pivot_root",
    "mknodat",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "mount_setattr",
    "sethostname",
    "capget",
    "capset",
    "keyctl",
    "seccomp",
    "prctl",
    "execveat",
];

/// The profile, in the form that Docker and podman read.
pub(super) fn for_engines() -> Value {
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": libc::ENOSYS,
        "architectures": ["SCMP_ARCH_X86_64"],
        "syscalls": [{"names": names(), "action": "SCMP_ACT_ALLOW"}],
    })
}

fn names() -> Vec<&'static str> {
    let table = TABLE.lines().skip(1).filter_map(|line| line.split('\t').nth(1));
    let mut names: Vec<&str> = table.chain(BUILDING).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_what_commands_and_the_set_up_need_and_nothing_of_the_machine() {
        let names = names();
        for name in ["read", "execve", "landlock_restrict_self", "clone", "mount_setattr", "pivot_root"] {
            assert!(names.contains(&name), "{name}");
        }
        for name in
            ["bpf", "init_module", "kexec_load", "reboot", "perf_event_open", "io_uring_setup", "swapon"]
        {
            assert!(!names.contains(&name), "{name}");
        }
        assert_eq!(for_engines()["defaultAction"], "SCMP_ACT_ERRNO");
    }
}
