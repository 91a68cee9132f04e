//! A container as the outer wall: an engine or runtime starts it from an image, our init is its entry point, and inside
//! the init builds the same sandbox as on the machine itself. One container a session; commands go over its socket.
//!
//! The engine is trusted to start a program from an image and for nothing else: namespaces, mounts, filters and ceilings are
//! the init's and the library's own, and a step of them that cannot be had fails the opening. Images are named by digest
//! and never fetched.
mod bundle;
mod door;
mod engine;
mod image;
mod peer;
mod profile;
mod program;
mod start;

pub use engine::Engine;
pub use image::Image;
pub(crate) use start::{Container, Wanted, start};

/// Which engine, and which image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oci {
    /// The engine or runtime.
    pub engine: Engine,
    /// What the container's file system is.
    pub image: Image,
    /// The environment of the engine's own program, whole: where it is found and where it keeps its things. Nothing of it
    /// reaches the container.
    pub environment: Vec<(String, String)>,
}

/// Names of variables that the engines' own programs read.
pub const ENGINE_VARIABLES: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
];

/// Puts in front of the commands' `PATH` what the image names beyond the folders that are in it anyway, as far as it is
/// seen inside.
pub(crate) fn search_path(environment: &mut Vec<(String, String)>, path: Option<&str>) {
    const SEEN: [&str; 3] = ["/usr/", "/opt/", "/nix/"];
    const THERE: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"];
    let plain = |folder: &str| {
        folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte))
            && folder.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..")
    };
    let folders = path.unwrap_or_default().split(':').filter(|folder| {
        SEEN.iter().any(|root| folder.starts_with(root)) && !THERE.contains(folder) && plain(folder)
    });
    let folders: Vec<&str> = folders.take(32).collect();
    if folders.is_empty() {
        return;
    }
    let folders = folders.join(":");
    match environment.iter_mut().find(|(name, _)| name == "PATH") {
        Some((_, there)) => *there = format!("{there}:{folders}"),
        None => environment.push(("PATH".into(), folders)),
    }
}

/// A name for a container: ours, and nobody else's.
fn name() -> std::io::Result<String> {
    let mut bytes = [0; 8];
    crate::platform::random(&mut bytes)?;
    Ok(format!("enclos-{:016x}", u64::from_le_bytes(bytes)))
}

/// Whether a text is a [`name`].
fn is_name(text: &str) -> bool {
    text.strip_prefix("enclos-").is_some_and(|rest| {
        rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_images_path_only_what_is_seen_inside_is_taken() {
        let mut environment = Vec::new();
        search_path(&mut environment, Some("/usr/bin:/bin:/root/bin"));
        assert!(environment.is_empty());
        let path = "/usr/local/cargo/bin:/usr/bin:/opt/go/bin:/usr/../root:/usr/a b:relative:/opt/";
        search_path(&mut environment, Some(path));
        assert_eq!(environment, [("PATH".into(), "/usr/local/cargo/bin:/opt/go/bin".into())]);
        let mut environment = vec![("PATH".into(), "/opt/own/bin".into())];
        search_path(&mut environment, Some("/opt/go/bin"));
        assert_eq!(environment, [("PATH".into(), "/opt/own/bin:/opt/go/bin".into())]);
    }

    #[test]
    fn names_are_recognised() {
        assert!(is_name(&name().unwrap()));
        for text in ["enclos-", "enclos-0123", "--all", "enclos-0123456789abcdeg", "x-0123456789abcdef"] {
            assert!(!is_name(text), "{text}");
        }
    }
}
