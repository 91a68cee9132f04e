//! Compiles the two programs that run inside, the init and the file operations, statically, and leaves them where the
//! library embeds them.
//!
//! They have a target folder of their own below `OUT_DIR` and a profile of their own, so that they are the
//! same whatever is being built around them. They are compiled from the same lock file; nothing is fetched that is not there.
#![expect(clippy::disallowed_methods, reason = "a build script talks to cargo by environment and process")]
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";
const PROGRAMS: [&str; 2] = ["enclos-init", "enclos-tool"];

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    for path in ["init/Cargo.toml", "init/src", "build.rs", "../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", here.join(path).display());
    }
    let (system, machine) = (variable("CARGO_CFG_TARGET_OS"), variable("CARGO_CFG_TARGET_ARCH"));
    if (system.as_str(), machine.as_str()) != ("linux", "x86_64") {
        println!("cargo::error=the sandbox is written for Linux on x86_64, not for {system} on {machine}");
        return;
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    match compile(&here.join("init/Cargo.toml"), &out.join("init")) {
        Ok(folder) => {
            for name in PROGRAMS {
                if let Err(error) = std::fs::copy(folder.join(name), out.join(name)) {
                    println!("cargo::error=`{name}` was compiled but cannot be copied: {error}");
                }
            }
        }
        Err(error) => println!("cargo::error=the programs of the sandbox do not compile: {error}"),
    }
}

fn compile(manifest: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(variable("CARGO"));
    // Wrappers (clippy) and flags of the outer build are not for these programs.
    for name in ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET", "CLIPPY_ARGS"]
    {
        cargo.env_remove(name);
    }
    let status = cargo
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .args(["build", "--quiet", "--locked", "--profile", "init", "--bins"])
        .args(["--target", TARGET, "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .status()
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("cargo ended with {status}; its messages are above"));
    }
    Ok(target.join(TARGET).join("init"))
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
