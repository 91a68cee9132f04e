//! How to mend each step of opening a sandbox. One sentence each; facts about kernels and distributions only.
use enclos_init::wire::Step;

/// What to do when `step` fails.
pub(crate) const fn of(step: Step) -> &'static str {
    match step {
        Step::Plan => "correct the path, name or limit that the message shows",
        Step::Platform => "use Linux 5.19 or later on x86_64",
        Step::Layer => {
            "give Enclos a folder of its own on ext4, xfs, btrfs or tmpfs (ENCLOS_HOME), and close other sessions \
             that use the same layer"
        }
        Step::Git => "check that the repository's git directory can be read, or open a folder without git",
        Step::Init => "allow programs in memory: set the sysctl `vm.memfd_noexec` to 0 or 1",
        Step::Limits => {
            "check that the limits are above what is running and that /sys/fs/cgroup is mounted as usual"
        }
        Step::IdMap => {
            "as root the repository must be on a file system whose mounts can change owners (ext4, xfs, btrfs, \
             tmpfs); or run Enclos as a plain user"
        }
        Step::Namespaces => {
            "allow user namespaces: sysctl `user.max_user_namespaces` above 0, \
             `kernel.unprivileged_userns_clone` 1 on Debian, and on Ubuntu 24.04 an AppArmor profile with `userns,` \
             for this program or `kernel.apparmor_restrict_unprivileged_userns` 0; in a container allow `clone` \
             with namespaces in its seccomp profile"
        }
        Step::Root | Step::System | Step::Devices | Step::Pivot => {
            "mounting must be allowed inside a user namespace: on Ubuntu 24.04 an AppArmor profile with `userns,` \
             for this program; in a container a profile that allows `mount`"
        }
        Step::Proc => {
            "the machine's own /proc must be mounted whole: in a container without masked paths (podman: \
             `--security-opt unmask=ALL`)"
        }
        Step::Workspace => {
            "the kernel must allow overlayfs in user namespaces (5.11), the layer must be on ext4, xfs, btrfs or \
             tmpfs, and no other file system may be mounted inside the repository"
        }
        Step::PrivateGit => "remove what stands at `.git` in the session's layer, or start a new session",
        Step::Mounts => "check that the toolchain folder exists, or take it out of the policy",
        Step::Privileges => {
            "no other program may trace or hold this one; in a container do not restrict `prctl`"
        }
        Step::Landlock => {
            "boot with Landlock: add `landlock` to the kernel's `lsm=` list; version 2 is needed (5.19)"
        }
        Step::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER",
        Step::Ready => "run `enclos doctor`, and report it when it finds nothing",
    }
}
