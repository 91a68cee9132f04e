//! What a bare runtime is given instead of an image's name: a bundle, which is one file of JSON over a root file system that
//! is unpacked already. Runtimes keep no images, so the folder is filled by whoever sets the machine up; here it is only
//! checked that its manifest is the one that was asked for. Nothing is unpacked or fetched.
use super::engine::Container;
use super::image::Image;
use super::profile;
use crate::error::{OpenError, Place};
use crate::platform::small_text;
use enclos_init::wire::{CONTAINER_FOLDER, IN_CONTAINER, Step};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const STEP: Step = Step::Engine;
/// Longest manifest, in bytes.
const MANIFEST: u64 = 4 * 1024 * 1024;

/// The root file system of an image in a folder, whose manifest must be the one that the digest names.
pub(super) fn root(image: &Image) -> Result<PathBuf, OpenError> {
    let Image::Folder { folder, digest } = image else {
        return Err(OpenError::new(
            STEP,
            format!("a runtime keeps no images: `{image}` names none that it could find"),
        )
        .mended_by("name a folder: `/folder@sha256:…`, with `manifest.json` and `rootfs` in it".into()));
    };
    let mend = || {
        format!(
            "fill it: the image's manifest as `{0}/manifest.json`, its files below `{0}/rootfs`; docs/oci.md shows how",
            folder.display()
        )
    };
    let path = folder.join("manifest.json");
    let manifest = std::fs::File::open(&path)
        .and_then(|file| small_text(file, MANIFEST))
        .at(STEP, &format!("reading `{}`", path.display()))
        .map_err(|error| error.mended_by(mend()))?;
    let mut found = String::new();
    for byte in Sha256::digest(manifest.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(found, "{byte:02x}");
    }
    if found != *digest {
        let message =
            format!("the image in `{}` is sha256:{found}, not the one that was asked for", folder.display());
        return Err(OpenError::new(STEP, message).mended_by(mend()));
    }
    let root = folder.join("rootfs");
    for name in ["usr", "tmp", "run", "proc", "dev"] {
        if !root.join(name).is_dir() {
            let message = format!("the image in `{}` has no folder `/{name}`", folder.display());
            return Err(OpenError::new(STEP, message).mended_by(mend()));
        }
    }
    Ok(root)
}

/// The configuration of a bundle over `root`. A plain user, `maps`, is number 0 of the container.
pub(super) fn configuration(container: &Container<'_>, root: &Path, maps: Option<(u32, u32)>) -> Value {
    let capabilities: &[&str] = if container.user.0 == 0 { &["CAP_SETFCAP"] } else { &[] };
    let mut namespaces = vec!["pid", "network", "ipc", "uts", "mount"];
    let mut linux = json!({"seccomp": profile::for_engines()});
    if let Some((uid, gid)) = maps {
        namespaces.push("user");
        linux["uidMappings"] = json!([{"containerID": 0, "hostID": uid, "size": 1}]);
        linux["gidMappings"] = json!([{"containerID": 0, "hostID": gid, "size": 1}]);
    }
    linux["namespaces"] = namespaces.into_iter().map(|kind| json!({"type": kind})).collect();
    let limits = container.ulimits().map(|(kind, value)| {
        json!({"type": format!("RLIMIT_{}", kind.to_uppercase()), "hard": value, "soft": value})
    });
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": container.user.0, "gid": container.user.1},
            "args": [format!("{CONTAINER_FOLDER}/init"), IN_CONTAINER],
            "env": [],
            "cwd": "/",
            "capabilities": {
                "bounding": capabilities,
                "effective": capabilities,
                "permitted": capabilities,
                "inheritable": [],
                "ambient": [],
            },
            "noNewPrivileges": true,
            "rlimits": limits,
        },
        "root": {"path": root, "readonly": true},
        "hostname": "sandbox",
        "mounts": mounts(container),
        "linux": linux,
    })
}

/// No part of `/proc` is covered: the kernel would refuse a new one inside. The agent does not see this one.
fn mounts(container: &Container<'_>) -> Vec<Value> {
    let memory = |path: &str| {
        let options = ["nosuid", "nodev", "mode=0755", "size=16m"];
        json!({"destination": path, "type": "tmpfs", "source": "tmpfs", "options": options})
    };
    let bind = |path: &Path, inside: &str, more: &[&str]| {
        let options: Vec<&str> =
            ["bind", "nosuid", "nodev", "rprivate"].iter().chain(more).copied().collect();
        json!({"destination": inside, "type": "bind", "source": path, "options": options})
    };
    let mut mounts = vec![
        json!({"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]}),
        json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
            "options": ["nosuid", "noexec", "strictatime", "mode=0755", "size=64k"]}),
        memory("/tmp"),
        memory("/run"),
        bind(container.folder, CONTAINER_FOLDER, &["ro"]),
    ];
    for (number, path) in container.mounts {
        mounts.push(bind(path, &format!("{CONTAINER_FOLDER}/{number}"), &["rbind"]));
    }
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::engine::{Engine, Facts, Holds};
    use crate::plan::Limits;

    fn folder(manifest: &str) -> (tempfile::TempDir, Image) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["usr", "tmp", "run", "proc", "dev"] {
            std::fs::create_dir_all(folder.path().join("rootfs").join(name)).unwrap();
        }
        std::fs::write(folder.path().join("manifest.json"), manifest).unwrap();
        // Of the two bytes `{}`.
        let digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a".to_owned();
        let image = Image::Folder { folder: folder.path().to_owned(), digest };
        (folder, image)
    }

    #[test]
    fn a_folder_must_hold_the_manifest_that_was_asked_for() {
        let (kept, image) = folder("{}");
        assert_eq!(root(&image).unwrap(), kept.path().join("rootfs"));
        std::fs::remove_dir(kept.path().join("rootfs/run")).unwrap();
        assert!(root(&image).unwrap_err().to_string().contains("has no folder `/run`"));
        let (_other, image) = folder("{ }");
        let error = root(&image).unwrap_err();
        assert!(error.to_string().contains("not the one that was asked for"), "{error}");
        assert!(error.remedy().contains("manifest.json"));
        let missing = Image::Folder { folder: "/no/such".into(), digest: "0".repeat(64) };
        assert!(root(&missing).unwrap_err().remedy().contains("docs/oci.md"));
        let named = Image::parse(&format!("rust@sha256:{}", "0".repeat(64))).unwrap();
        assert!(root(&named).unwrap_err().to_string().contains("keeps no images"));
    }

    #[test]
    fn a_bundle_has_no_network_no_capability_and_a_root_that_cannot_be_written() {
        let (_kept, image) = folder("{}");
        let mounts = [(1, PathBuf::from("/home/me/work, \"odd\""))];
        let limits = Limits::default();
        let container = |user| Container {
            engine: Engine::Crun,
            name: "enclos-0123456789abcdef",
            image: &image,
            user,
            folder: Path::new("/layer/container/shown"),
            profile: Path::new("/unused"),
            mounts: &mounts,
            limits: &limits,
            facts: Facts { rootless: false, holds: Holds::NONE },
            own: [Some(1024), None],
        };
        let own = configuration(&container((7, 8)), Path::new("/image/rootfs"), None);
        assert_eq!(own["root"], json!({"path": "/image/rootfs", "readonly": true}));
        assert_eq!(own["process"]["capabilities"]["bounding"], json!([]));
        assert_eq!(own["process"]["noNewPrivileges"], true);
        assert_eq!(
            own["process"]["rlimits"][0],
            json!({"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024})
        );
        assert_eq!(own["linux"]["seccomp"]["defaultAction"], "SCMP_ACT_ERRNO");
        assert!(own["linux"]["namespaces"].as_array().unwrap().contains(&json!({"type": "network"})));
        assert!(own["linux"].get("uidMappings").is_none());
        assert_eq!(own["mounts"][5]["source"], "/home/me/work, \"odd\"");
        assert_eq!(own["mounts"][5]["destination"], "/run/enclos/1");
        let plain = configuration(&container((0, 0)), Path::new("/image/rootfs"), Some((1000, 100)));
        assert_eq!(plain["process"]["capabilities"]["bounding"], json!(["CAP_SETFCAP"]));
        assert_eq!(plain["linux"]["uidMappings"], json!([{"containerID": 0, "hostID": 1000, "size": 1}]));
    }
}
