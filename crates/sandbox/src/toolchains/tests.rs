//! Detection on made-up home directories.
use super::*;

fn home(folders: &[&str], files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for folder in folders {
        std::fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    for (path, text) in files {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home
}

fn named<'a>(found: &'a [Toolchain], name: &str) -> &'a Toolchain {
    found.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no {name} in {found:?}"))
}

#[test]
fn nothing_in_an_empty_home() {
    assert_eq!(detect(home(&[".config", ".ssh"], &[(".cargo/credentials.toml", "x")]).path()), []);
}

#[test]
fn rust_is_the_default_one_and_credentials_stay_out() {
    let home = home(
        &[
            ".rustup/toolchains/1.80.0-x86_64",
            ".rustup/toolchains/stable-x86_64",
            ".cargo/registry",
            ".cargo/git",
        ],
        &[
            (".rustup/settings.toml", "version = \"12\"\ndefault_toolchain = \"stable-x86_64\"\n"),
            (".cargo/credentials.toml", "token"),
            (".cargo/config.toml", ""),
        ],
    );
    let found = detect(home.path());
    assert_eq!(named(&found, "rust").version_hint.as_deref(), Some("stable-x86_64"));
    assert!(!named(&found, "rust").is_cache);
    let cache = named(&found, "cargo cache");
    assert!(cache.is_cache && cache.mounts.iter().all(|mount| mount.access == Access::ThrowAway));
    assert!(cache.environment.contains(&("CARGO_NET_OFFLINE".into(), "true".into())));
    let secret = home.path().join(".cargo/credentials.toml").canonicalize().unwrap();
    for mount in found.iter().flat_map(|one| &one.mounts) {
        assert!(!secret.starts_with(&mount.host), "{mount:?}");
        assert!(mount.inside.starts_with(PLACE));
    }
}

#[test]
fn the_highest_version_or_the_chosen_one() {
    let home = home(
        &[
            ".nvm/versions/node/v9.1.0/bin",
            ".nvm/versions/node/v20.11.1/bin",
            ".pyenv/versions/3.9.2",
            ".pyenv/versions/3.12.1",
        ],
        &[(".nvm/alias/default", "lts/*\n"), (".pyenv/version", "3.9.2\n")],
    );
    let found = detect(home.path());
    assert_eq!(named(&found, "node (nvm)").version_hint.as_deref(), Some("v20.11.1"));
    assert_eq!(named(&found, "python (pyenv)").version_hint.as_deref(), Some("3.9.2"));
}

#[test]
fn a_link_out_of_the_home_is_not_followed() {
    let home = home(&[".pyenv/versions"], &[]);
    std::os::unix::fs::symlink("/usr", home.path().join(".pyenv/versions/3.12")).unwrap();
    std::fs::create_dir_all(home.path().join(".cargo")).unwrap();
    std::os::unix::fs::symlink("/etc", home.path().join(".cargo/registry")).unwrap();
    assert_eq!(detect(home.path()), []);
}
