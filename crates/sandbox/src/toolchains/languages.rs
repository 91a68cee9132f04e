//! What each language's tools are called and where they keep things. One function each.
use super::{Toolchain, at, folder, read_only, set, thrown_away, versions, word};
use std::path::Path;

type Find = fn(&Path) -> Option<Toolchain>;

/// All that are known.
pub(super) const ALL: [Find; 16] = [
    rust,
    cargo_cache,
    node_nvm,
    node_fnm,
    npm_cache,
    pyenv,
    uv_python,
    pip_cache,
    go,
    go_cache,
    sdkman,
    maven_cache,
    gradle_cache,
    rbenv,
    deno,
    bun,
];

/// The default of rustup, else the newest.
fn rust(home: &Path) -> Option<Toolchain> {
    let chains = folder(home, ".rustup/toolchains")?;
    let names = versions(&chains);
    let settings = std::fs::File::open(home.join(".rustup/settings.toml")).ok();
    let settings =
        settings.and_then(|file| crate::platform::small_text(file, 64 * 1024).ok()).unwrap_or_default();
    let default = settings
        .lines()
        .find_map(|line| line.strip_prefix("default_toolchain = \"")?.strip_suffix('"'))
        .and_then(|wanted| names.iter().find(|name| name.as_str() == wanted));
    let name = default.or(names.first())?.clone();
    let mut mounts = vec![read_only(folder(home, &format!(".rustup/toolchains/{name}"))?, "rust")];
    let mut environment = Vec::new();
    // Installed programs, behind the toolchain's own: the stand-ins of rustup among them cannot work inside.
    if let Some(programs) = folder(home, ".cargo/bin") {
        mounts.push(read_only(programs, "cargo-bin"));
        environment.push(at("PATH", "cargo-bin"));
    }
    environment.push(at("PATH", "rust/bin"));
    Some(Toolchain { name: "rust".into(), version_hint: Some(name), mounts, environment, is_cache: false })
}

/// Downloaded crates: cargo unpacks into them, so writes are taken and thrown away.
fn cargo_cache(home: &Path) -> Option<Toolchain> {
    let registry = folder(home, ".cargo/registry");
    let git = folder(home, ".cargo/git");
    let mut mounts = Vec::new();
    mounts.extend(registry.map(|path| thrown_away(path, "cargo/registry")));
    mounts.extend(git.map(|path| thrown_away(path, "cargo/git")));
    (!mounts.is_empty()).then(|| Toolchain {
        name: "cargo cache".into(),
        version_hint: None,
        mounts,
        environment: vec![at("CARGO_HOME", "cargo"), set("CARGO_NET_OFFLINE", "true")],
        is_cache: true,
    })
}

fn node_nvm(home: &Path) -> Option<Toolchain> {
    let names = versions(&folder(home, ".nvm/versions/node")?);
    let wanted = word(&home.join(".nvm/alias/default")).unwrap_or_default();
    let exact = wanted.trim_start_matches('v');
    let name = names
        .iter()
        .find(|name| {
            let version = name.trim_start_matches('v');
            !exact.is_empty() && (version == exact || version.starts_with(&format!("{exact}.")))
        })
        .or(names.first())?;
    node(home, &format!(".nvm/versions/node/{name}"), "nvm", name)
}

fn node_fnm(home: &Path) -> Option<Toolchain> {
    let base = ".local/share/fnm/node-versions";
    let name = versions(&folder(home, base)?).into_iter().next()?;
    node(home, &format!("{base}/{name}/installation"), "fnm", &name)
}

fn node(home: &Path, below: &str, manager: &str, version: &str) -> Option<Toolchain> {
    let place = format!("node-{manager}");
    Some(Toolchain {
        name: format!("node ({manager})"),
        version_hint: Some(version.to_owned()),
        mounts: vec![read_only(folder(home, below)?, &place)],
        environment: vec![at("PATH", &format!("{place}/bin"))],
        is_cache: false,
    })
}

fn npm_cache(home: &Path) -> Option<Toolchain> {
    let cache = folder(home, ".npm/_cacache")?;
    let environment = vec![at("npm_config_cache", "npm"), set("npm_config_offline", "true")];
    one_cache("npm cache", thrown_away(cache, "npm/_cacache"), environment)
}

fn pyenv(home: &Path) -> Option<Toolchain> {
    let names = versions(&folder(home, ".pyenv/versions")?);
    let wanted = word(&home.join(".pyenv/version")).unwrap_or_default();
    let name = names.iter().find(|name| **name == wanted).or(names.first())?.clone();
    let chain = folder(home, &format!(".pyenv/versions/{name}"))?;
    Some(Toolchain {
        name: "python (pyenv)".into(),
        version_hint: Some(name),
        mounts: vec![read_only(chain, "python")],
        environment: vec![at("PATH", "python/bin")],
        is_cache: false,
    })
}

fn uv_python(home: &Path) -> Option<Toolchain> {
    let base = ".local/share/uv/python";
    let name = versions(&folder(home, base)?).into_iter().next()?;
    let chain = folder(home, &format!("{base}/{name}"))?;
    Some(Toolchain {
        name: "python (uv)".into(),
        version_hint: Some(name),
        mounts: vec![read_only(chain, "python-uv")],
        environment: vec![at("PATH", "python-uv/bin")],
        is_cache: false,
    })
}

fn pip_cache(home: &Path) -> Option<Toolchain> {
    let cache = folder(home, ".cache/uv")?;
    let environment = vec![at("UV_CACHE_DIR", "uv-cache"), set("UV_OFFLINE", "1")];
    one_cache("uv cache", thrown_away(cache, "uv-cache"), environment)
}

fn go(home: &Path) -> Option<Toolchain> {
    let places = [".go", "go/sdk", "sdk", ".local/go"];
    let chain = places.iter().find_map(|place| {
        let base = folder(home, place)?;
        if base.join("bin/go").is_file() {
            return Some((base, None));
        }
        let name = versions(&base).into_iter().find(|name| base.join(name).join("bin/go").is_file())?;
        Some((folder(home, &format!("{place}/{name}"))?, Some(name)))
    });
    let (chain, version_hint) = chain?;
    Some(Toolchain {
        name: "go".into(),
        version_hint,
        mounts: vec![read_only(chain, "go")],
        environment: vec![at("PATH", "go/bin"), set("GOTOOLCHAIN", "local")],
        is_cache: false,
    })
}

fn go_cache(home: &Path) -> Option<Toolchain> {
    let cache = folder(home, "go/pkg/mod")?;
    let environment = vec![
        at("GOMODCACHE", "go-mod"),
        set("GOFLAGS", "-mod=mod"),
        set("GOPROXY", "off"),
        set("GOSUMDB", "off"),
    ];
    one_cache("go modules", thrown_away(cache, "go-mod"), environment)
}

/// The current java, maven and gradle of sdkman.
fn sdkman(home: &Path) -> Option<Toolchain> {
    let mut mounts = Vec::new();
    let mut environment = Vec::new();
    let mut version_hint = None;
    for candidate in ["java", "kotlin", "scala", "maven", "gradle"] {
        let Some(path) = folder(home, &format!(".sdkman/candidates/{candidate}/current")) else { continue };
        if candidate == "java" {
            version_hint = path.file_name().and_then(|name| name.to_str()).map(ToOwned::to_owned);
            environment.push(at("JAVA_HOME", "java"));
        }
        environment.push(at("PATH", &format!("{candidate}/bin")));
        mounts.push(read_only(path, candidate));
    }
    (!mounts.is_empty()).then(|| Toolchain {
        name: "java (sdkman)".into(),
        version_hint,
        mounts,
        environment,
        is_cache: false,
    })
}

fn maven_cache(home: &Path) -> Option<Toolchain> {
    let cache = folder(home, ".m2/repository")?;
    let environment = vec![set("MAVEN_ARGS", "-o -Dmaven.repo.local=/opt/toolchains/maven-repository")];
    one_cache("maven repository", thrown_away(cache, "maven-repository"), environment)
}

fn gradle_cache(home: &Path) -> Option<Toolchain> {
    let mut mounts = Vec::new();
    for below in ["caches", "wrapper"] {
        let path = folder(home, &format!(".gradle/{below}"));
        mounts.extend(path.map(|path| thrown_away(path, &format!("gradle-home/{below}"))));
    }
    (!mounts.is_empty()).then(|| Toolchain {
        name: "gradle cache".into(),
        version_hint: None,
        mounts,
        environment: vec![at("GRADLE_USER_HOME", "gradle-home")],
        is_cache: true,
    })
}

fn rbenv(home: &Path) -> Option<Toolchain> {
    let names = versions(&folder(home, ".rbenv/versions")?);
    let wanted = word(&home.join(".rbenv/version")).unwrap_or_default();
    let name = names.iter().find(|name| **name == wanted).or(names.first())?.clone();
    let chain = folder(home, &format!(".rbenv/versions/{name}"))?;
    Some(Toolchain {
        name: "ruby (rbenv)".into(),
        version_hint: Some(name),
        mounts: vec![read_only(chain, "ruby")],
        environment: vec![at("PATH", "ruby/bin")],
        is_cache: false,
    })
}

fn deno(home: &Path) -> Option<Toolchain> {
    single(home, "deno", ".deno/bin")
}

fn bun(home: &Path) -> Option<Toolchain> {
    single(home, "bun", ".bun/bin")
}

fn single(home: &Path, name: &str, below: &str) -> Option<Toolchain> {
    let path = folder(home, below)?;
    path.join(name).is_file().then(|| Toolchain {
        name: name.into(),
        version_hint: None,
        mounts: vec![read_only(path, name)],
        environment: vec![at("PATH", name)],
        is_cache: false,
    })
}

#[expect(clippy::unnecessary_wraps, reason = "the same shape as every other that is looked for")]
fn one_cache(name: &str, mount: crate::plan::Mount, environment: Vec<(String, String)>) -> Option<Toolchain> {
    Some(Toolchain {
        name: name.into(),
        version_hint: None,
        mounts: vec![mount],
        environment,
        is_cache: true,
    })
}
