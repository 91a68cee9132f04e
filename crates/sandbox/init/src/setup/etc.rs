//! A small `/etc`: who the agent is, how names are looked up, and those parts of the host's that programs need to
//! start (library cache, alternatives, certificates, settings of language runtimes). Never accounts, keys, hosts.
use super::{Shown, covered, directory, memory, seal};
use crate::fault::{At, Done};
use enclos_init::wire::Step;
use std::io;
use std::path::Path;

const WRITTEN: [(&str, &str); 7] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
         agent:x:1000:1000:agent:/home/agent:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"),
    ("etc/hostname", "sandbox\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"),
    ("etc/resolv.conf", ""),
    ("etc/shells", "/bin/sh\n/bin/bash\n"),
];

/// Shown from the host where they exist: files and folders without anything private.
const SHOWN: [&str; 20] = [
    "etc/ld.so.cache",
    "etc/ld.so.conf",
    "etc/ld.so.conf.d",
    "etc/alternatives",
    "etc/ssl/certs",
    "etc/ssl/openssl.cnf",
    "etc/ca-certificates",
    "etc/pki/ca-trust/extracted",
    "etc/pki/tls/certs",
    "etc/pki/java",
    "etc/crypto-policies",
    "etc/services",
    "etc/protocols",
    "etc/mime.types",
    "etc/fonts",
    "etc/perl",
    "etc/maven",
    "etc/mono",
    "etc/terminfo",
    "etc/debian_version",
];

/// Families of folders whose names carry a version.
const FAMILIES: [&str; 3] = ["java-", "python3", "php"];

/// Builds it below the current directory.
pub(super) fn make(shown: Shown) -> Done<()> {
    directory(Step::System, "etc")?;
    memory("etc", "mode=0755,size=8m,nr_inodes=1k").at(Step::System, "mounting `/etc`")?;
    for (path, text) in WRITTEN {
        std::fs::write(path, text).at(Step::System, &format!("writing `/{path}`"))?;
    }
    for (target, link) in
        [("/usr/share/zoneinfo/UTC", "etc/localtime"), ("../usr/lib/os-release", "etc/os-release")]
    {
        std::os::unix::fs::symlink(target, link).at(Step::System, &format!("linking `/{link}`"))?;
    }
    for path in SHOWN {
        show(shown, path)?;
    }
    for entry in std::fs::read_dir("/etc").into_iter().flatten().flatten() {
        if let Some(name) = entry.file_name().to_str()
            && FAMILIES.iter().any(|family| name.starts_with(family))
        {
            show(shown, &format!("etc/{name}"))?;
        }
    }
    seal("etc").at(Step::System, "making `/etc` read-only")
}

fn show(shown: Shown, path: &str) -> Done<()> {
    let host = format!("/{path}");
    let Ok(kind) = std::fs::symlink_metadata(&host) else { return Ok(()) };
    let what = format!("showing `{host}`");
    if kind.is_dir() {
        directory(Step::System, path)?;
        if shown == Shown::FromImage {
            return covered(&host, path).at(Step::System, &what);
        }
    } else if kind.is_file() {
        if let Some(parent) = Path::new(path).parent().and_then(Path::to_str) {
            directory(Step::System, parent)?;
        }
        if shown == Shown::FromImage {
            return copy(&host, path).at(Step::System, &what);
        }
        std::fs::File::create_new(path).at(Step::System, &what)?;
    } else {
        return Ok(());
    }
    // Read-only with all of `/etc` at the end.
    rustix::mount::mount_bind_recursive(&host, path).at(Step::System, &what)
}

/// Writes the content of a file, and nothing else of it, to a new one.
fn copy(from: &str, to: &str) -> io::Result<()> {
    let mut from = std::fs::File::open(from)?;
    let mut to = std::fs::File::create_new(to)?;
    io::copy(&mut from, &mut to).map(drop)
}
