//! How to mend each step of opening a sandbox on this machine: what to type, or what to write where. Facts about kernels,
//! distributions and container engines only; the first line stands for itself.
use crate::system::{Container, Family, System};
use enclos_init::wire::Step;
use std::fmt::Write as _;

/// What to do on `system` when `step` fails.
pub(crate) fn of(step: Step, system: &System) -> String {
    match step {
        Step::Plan => "correct the path, name or limit that the message shows".into(),
        Step::Platform => kernel(system),
        Step::Layer => {
            "give Enclos a folder of its own on ext4, xfs, btrfs or tmpfs (ENCLOS_HOME), and close other \
                        sessions that use the same layer"
                .into()
        }
        Step::Git => {
            "check that the repository's git directory can be read, or open a folder without git".into()
        }
        Step::Init => setting("vm.memfd_noexec", "1", "allow programs in memory"),
        Step::Limits => {
            "check that the limits are above what is running and that /sys/fs/cgroup is mounted as usual"
                .into()
        }
        Step::Engine => {
            "make the engine run a container for this user by hand; docs/oci.md says what is needed".into()
        }
        Step::IdMap => {
            "as root the repository must be on a file system whose mounts can change owners (ext4, xfs, \
                        btrfs, tmpfs); or run Enclos as a plain user"
                .into()
        }
        Step::Namespaces | Step::Root | Step::System | Step::Devices | Step::Pivot | Step::Proc => {
            namespaces(step, system)
        }
        Step::Workspace => {
            "put the layer (ENCLOS_HOME) on ext4, xfs, btrfs or tmpfs, of which the kernel takes an overlay; a copy of \
             the repository needs room on that disk and below `execution.sandbox_disk_bytes`"
                .into()
        }
        Step::PrivateGit => {
            "remove what stands at `.git` in the session's layer, or start a new session".into()
        }
        Step::Mounts => "check that the toolchain folder exists, or take it out of the policy".into(),
        Step::Privileges => {
            "no other program may trace or hold this one; in a container do not restrict `prctl`".into()
        }
        Step::Landlock => landlock(system),
        Step::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER".into(),
        Step::Ready => "run `enclos doctor`, and report it when it finds nothing".into(),
    }
}

/// How the control groups that a sandbox lacks can be had.
pub(crate) fn ceilings() -> String {
    "give Enclos a control group of its own, and the kernel holds the ceilings:\n\
     systemd-run --user --scope --property=Delegate=yes enclos run …\n\
     for a service: `Delegate=yes` in the section [Service] of its unit"
        .into()
}

/// How a session gets a user number of its own outside.
pub(crate) fn own_user() -> String {
    "let root make the sandboxes: `enclos host` started as root with --gateway-uid of yours, and \
     ENCLOS_AGENT_EXECUTION=server"
        .into()
}

/// How the kernel can hold what a session writes.
pub(crate) fn quota() -> String {
    "enforce quotas of users on the file system of the layers (ENCLOS_HOME, or --state of `enclos host`); only root can set \
     them:\n\
     xfs: mount it with the option `uquota`\n\
     ext4: tune2fs -O quota -Q usrquota DEVICE while it is not mounted, then mount it with the option `usrquota`"
        .into()
}

fn kernel(system: &System) -> String {
    let newer = match system.family {
        Family::Ubuntu => {
            "\nUbuntu 22.04: sudo apt install linux-generic-hwe-22.04, then start the machine anew"
        }
        Family::Debian => "\nDebian 11: upgrade to Debian 12, whose kernel is 6.1",
        Family::RedHat => "\nRed Hat 9 has 5.14: use its release 10, or the kernel of ELRepo (kernel-lt)",
        Family::Other => "",
    };
    format!("use Linux 5.19 or later on x86_64; here is {}{newer}", system.kernel)
}

fn landlock(system: &System) -> String {
    let modules = system.modules.as_deref().filter(|modules| !modules.is_empty());
    let boot = match (modules, system.container) {
        (Some(modules), _) if modules.split(',').any(|module| module == "landlock") => {
            return "Landlock is there but is too old or is kept from this program: use Linux 5.19 or later, and in a \
                    container a seccomp profile that allows the three system calls `landlock_*`"
                .into();
        }
        (_, Some(_)) => "on the machine under the container, boot".to_owned(),
        (_, None) => "boot".to_owned(),
    };
    let list = modules.map_or_else(|| "landlock".to_owned(), |modules| format!("landlock,{modules}"));
    let update = match system.family {
        Family::RedHat => "sudo grub2-mkconfig -o /boot/grub2/grub.cfg",
        _ => "sudo update-grub",
    };
    format!(
        "{boot} with Landlock: put `lsm={list}` into GRUB_CMDLINE_LINUX in /etc/default/grub, then\n{update}\nand start \
         the machine anew"
    )
}

/// Whatever keeps a program from namespaces and from mounts in them.
fn namespaces(step: Step, system: &System) -> String {
    if let Some(container) = system.container {
        return in_a_container(container);
    }
    if system.none_allowed {
        return setting("user.max_user_namespaces", "15000", "allow user namespaces");
    }
    if system.clone_forbidden {
        return setting("kernel.unprivileged_userns_clone", "1", "allow user namespaces of plain users");
    }
    if system.apparmor_restricts {
        return profile(system);
    }
    match step {
        Step::Proc => "the machine's own /proc must be mounted whole, without masked paths".into(),
        _ => "allow user namespaces and mounts in them: no security module, and no seccomp filter of a program above this \
              one, may refuse `clone`, `mount` and `pivot_root`"
            .into(),
    }
}

/// The container's wall is opened; the sandbox inside it keeps its own, which is narrower.
fn in_a_container(container: Container) -> String {
    match container {
        Container::Docker => "start the container so that a sandbox can be made in it, which has a narrower wall of its own:\n\
             docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …"
            .into(),
        Container::Podman => "start the container so that a sandbox can be made in it, which has a narrower wall of its own:\n\
             podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …"
            .into(),
        Container::Kubernetes => "let the pod make sandboxes, which have a narrower wall of their own:\n\
             spec.hostUsers: false\n\
             securityContext.procMount: Unmasked\n\
             securityContext.seccompProfile.type: Unconfined\n\
             securityContext.appArmorProfile.type: Unconfined"
            .into(),
    }
}

/// A setting of the kernel, now and after the next start.
fn setting(name: &str, value: &str, why: &str) -> String {
    format!("{why}:\necho '{name} = {value}' | sudo tee /etc/sysctl.d/90-enclos.conf\nsudo sysctl --system")
}

/// A profile of `AppArmor` that lets this program make user namespaces, and no other.
fn profile(system: &System) -> String {
    let program = system.program.display();
    let mut text = format!(
        "AppArmor keeps programs without a profile from user namespaces ({}). Install one for this program:\n",
        system.name
    );
    let lines = [
        "abi <abi/4.0>,".to_owned(),
        "include <tunables/global>".to_owned(),
        format!("profile enclos \"{program}\" flags=(unconfined) {{"),
        "  userns,".to_owned(),
        "}".to_owned(),
    ];
    text.push_str("sudo tee /etc/apparmor.d/enclos <<'END'\n");
    for line in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    }
    text.push_str("END\nsudo apparmor_parser -r /etc/apparmor.d/enclos");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(family: Family) -> System {
        System {
            name: "Some Linux".into(),
            family,
            kernel: "5.15.0-91-generic".into(),
            container: None,
            apparmor_restricts: false,
            clone_forbidden: false,
            none_allowed: false,
            modules: Some("capability,yama,apparmor".into()),
            program: "/usr/local/bin/enclos".into(),
        }
    }

    #[test]
    fn every_step_has_a_remedy_on_every_system() {
        for family in [Family::Ubuntu, Family::Debian, Family::RedHat, Family::Other] {
            for container in
                [None, Some(Container::Docker), Some(Container::Podman), Some(Container::Kubernetes)]
            {
                let system = System { container, ..plain(family) };
                assert!(Step::ALL.iter().all(|step| of(*step, &system).len() > 20));
            }
        }
    }

    #[test]
    fn a_profile_names_the_program_and_is_installed() {
        let system = System { apparmor_restricts: true, ..plain(Family::Ubuntu) };
        let told = of(Step::Namespaces, &system);
        for part in [
            "profile enclos \"/usr/local/bin/enclos\" flags=(unconfined) {\n  userns,\n}",
            "sudo tee /etc/apparmor.d/enclos",
            "sudo apparmor_parser -r /etc/apparmor.d/enclos",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn the_setting_that_is_wrong_is_the_one_that_is_named() {
        let told = |system: &System| of(Step::Namespaces, system);
        let debian = System { clone_forbidden: true, ..plain(Family::Debian) };
        assert!(told(&debian).contains("kernel.unprivileged_userns_clone = 1"));
        let none = System { none_allowed: true, ..plain(Family::RedHat) };
        assert!(told(&none).contains("user.max_user_namespaces = 15000"));
        let docker =
            System { container: Some(Container::Docker), clone_forbidden: true, ..plain(Family::Debian) };
        assert!(told(&docker).contains("systempaths=unconfined"));
        let pod = System { container: Some(Container::Kubernetes), ..plain(Family::Other) };
        assert!(told(&pod).contains("procMount: Unmasked"));
    }

    #[test]
    fn old_kernels_and_missing_modules_are_told_as_they_are_mended_here() {
        assert!(of(Step::Platform, &plain(Family::Ubuntu)).contains("linux-generic-hwe-22.04"));
        assert!(of(Step::Landlock, &plain(Family::Debian)).contains("lsm=landlock,capability,yama,apparmor"));
        let there = System { modules: Some("landlock,yama".into()), ..plain(Family::Debian) };
        assert!(of(Step::Landlock, &there).contains("5.19"));
    }
}
