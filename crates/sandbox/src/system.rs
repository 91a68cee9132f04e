//! What this machine is, as far as it decides how a step is mended: distribution, kernel, container, and the settings that
//! are known to stand against namespaces or Landlock. Read only after something failed, or for `doctor`; it decides
//! nothing about whether a sandbox opens.
use std::fmt;
use std::path::{Path, PathBuf};

/// What is known of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct System {
    /// The distribution's own name for itself, such as `Ubuntu 24.04.1 LTS`.
    pub(crate) name: String,
    /// Which advice fits.
    pub(crate) family: Family,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// The container that this process is in, if one is recognised.
    pub(crate) container: Option<Container>,
    /// `AppArmor` keeps programs without a profile from user namespaces (Ubuntu 23.10 and later).
    pub(crate) apparmor_restricts: bool,
    /// Debian's switch against user namespaces of plain users is set so.
    pub(crate) clone_forbidden: bool,
    /// No more user namespaces are allowed at all.
    pub(crate) none_allowed: bool,
    /// The security modules in force, when the kernel tells.
    pub(crate) modules: Option<String>,
    /// The program that opens sandboxes, for a profile.
    pub(crate) program: PathBuf,
}

/// Distributions whose advice differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Ubuntu and what is made of it.
    Ubuntu,
    /// Debian and what is made of it.
    Debian,
    /// Red Hat's and what is made of it.
    RedHat,
    /// Any other.
    Other,
}

/// Who made the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// A pod of Kubernetes.
    Kubernetes,
}

impl System {
    /// This machine.
    pub(crate) fn here() -> Self {
        Self::under(Path::new("/"), std::env::current_exe().unwrap_or_else(|_| "/usr/bin/enclos".into()))
    }

    /// The machine whose files stand below `root`.
    fn under(root: &Path, program: PathBuf) -> Self {
        let text = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let is = |path: &str, value: &str| text(path).is_some_and(|found| found.trim() == value);
        let release = text("etc/os-release").unwrap_or_default();
        let kernel = text("proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            name: field(&release, "PRETTY_NAME").unwrap_or("an unknown distribution").to_owned(),
            family: family(&release),
            kernel: kernel.trim().to_owned(),
            container: container(root),
            apparmor_restricts: is("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            clone_forbidden: is("proc/sys/kernel/unprivileged_userns_clone", "0"),
            none_allowed: is("proc/sys/user/max_user_namespaces", "0"),
            modules: text("sys/kernel/security/lsm").map(|found| found.trim().to_owned()),
            program,
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, kernel {}", self.name, self.kernel)?;
        match self.container {
            None => Ok(()),
            Some(Container::Docker) => f.write_str(", in a container of Docker"),
            Some(Container::Podman) => f.write_str(", in a container of podman"),
            Some(Container::Kubernetes) => f.write_str(", in a pod of Kubernetes"),
        }
    }
}

/// A value of an `os-release` file.
fn field<'a>(release: &'a str, name: &str) -> Option<&'a str> {
    let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim().trim_matches('"'))
}

fn family(release: &str) -> Family {
    let own = field(release, "ID").unwrap_or_default();
    let like = field(release, "ID_LIKE").unwrap_or_default();
    for word in std::iter::once(own).chain(like.split_whitespace()) {
        match word {
            "ubuntu" => return Family::Ubuntu,
            "debian" => return Family::Debian,
            "rhel" | "fedora" | "centos" => return Family::RedHat,
            _ => {}
        }
    }
    Family::Other
}

/// Told by what each of them puts into its containers. A pod is one of another engine as well, so it is looked for first.
fn container(root: &Path) -> Option<Container> {
    let there = |path: &str| root.join(path).exists();
    if there("var/run/secrets/kubernetes.io") || there("run/secrets/kubernetes.io") {
        Some(Container::Kubernetes)
    } else if there("run/.containerenv") {
        Some(Container::Podman)
    } else if there(".dockerenv") {
        Some(Container::Docker)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files.
    fn machine(files: &[(&str, &str)]) -> System {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        System::under(root.path(), "/usr/bin/enclos".into())
    }

    #[test]
    fn distributions_are_told_apart() {
        for (release, name, expected) in [
            (
                "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\nID_LIKE=debian\n",
                "Ubuntu 24.04.1 LTS",
                Family::Ubuntu,
            ),
            (
                "PRETTY_NAME=\"Linux Mint 22\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n",
                "Linux Mint 22",
                Family::Ubuntu,
            ),
            ("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n", "Debian GNU/Linux 12", Family::Debian),
            (
                "PRETTY_NAME=\"Rocky Linux 9\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
                "Rocky Linux 9",
                Family::RedHat,
            ),
            ("ID=arch\n", "an unknown distribution", Family::Other),
        ] {
            let system = machine(&[("etc/os-release", release)]);
            assert_eq!((system.name.as_str(), system.family), (name, expected));
        }
    }

    #[test]
    fn settings_that_stand_in_the_way_are_seen() {
        let open = machine(&[("proc/sys/kernel/unprivileged_userns_clone", "1\n")]);
        assert!(!open.clone_forbidden && !open.none_allowed && !open.apparmor_restricts);
        let shut = machine(&[
            ("proc/sys/kernel/unprivileged_userns_clone", "0\n"),
            ("proc/sys/user/max_user_namespaces", "0\n"),
            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
        ]);
        assert!(shut.clone_forbidden && shut.none_allowed && shut.apparmor_restricts);
    }

    #[test]
    fn containers_are_told_apart() {
        let of = |path: &str| machine(&[(path, "")]).container;
        assert_eq!(of(".dockerenv"), Some(Container::Docker));
        assert_eq!(of("run/.containerenv"), Some(Container::Podman));
        assert_eq!(of("run/secrets/kubernetes.io/serviceaccount/token"), Some(Container::Kubernetes));
        assert_eq!(of("etc/hostname"), None);
    }
}
