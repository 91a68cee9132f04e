//! The sandbox in a container, where an engine works. Which ones are tried says `ENCLOS_TEST_ENGINES` (`podman crun`); those
//! must work then. Without it, every engine that runs a container here is tried, and why another is not is printed.
//!
//! The image is made of this machine's own programs, so nothing is fetched.
use crate::support::Bench;
use enclos_sandbox::{Backend, ENGINE_VARIABLES, Engine, Image, Oci};
use std::path::Path;
use std::process::{Command as Program, Output};

/// The name of the image that these tests make and keep for the next time.
const NAME: &str = "localhost/enclos-sandbox-test:1";
/// Programs in it, with their libraries, as far as they are here.
const PROGRAMS: &str = "bash sh as awk cat chmod chroot chrt cp cut date dd df diff dirname dmesg du echo env expr \
    fallocate find flock getent git grep groups head hostname id install ionice ipcs kill link ln ls mkdir mkfifo mknod \
    mktemp mount mv newuidmap nice nproc nsenter passwd pgrep printf ps python3.11 python3.12 python3.13 readlink realpath \
    renice rm rmdir sed seq setcap setsid sleep sort stat strace stty su sum tac tail taskset tee test timeout touch tr \
    true truncate tty umount uname uniq unshare wc xargs";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn must(mut program: Program) -> Output {
    let output = program.output().expect("starts");
    assert!(output.status.success(), "{program:?}: {}", said(&output));
    output
}

fn environment() -> Vec<(String, String)> {
    ENGINE_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// A root file system of this machine's programs.
fn root(folder: &Path) {
    for name in ["tmp", "run", "proc", "sys", "dev", "etc", "opt", "var", "usr/bin", "usr/lib", "usr/lib64"] {
        std::fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    for name in ["bin", "lib", "lib64"] {
        std::os::unix::fs::symlink(format!("usr/{name}"), folder.join(name)).expect("a link");
    }
    std::os::unix::fs::symlink("usr/bin", folder.join("sbin")).expect("a link");
    let copy = |from: &Path| {
        let place = from.strip_prefix("/").expect("absolute");
        let place = if place.starts_with("usr") { place.to_owned() } else { Path::new("usr").join(place) };
        let to = folder.join(place);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("folders");
        if !to.exists() {
            std::fs::copy(from, to).expect("copied");
        }
    };
    for name in PROGRAMS.split_whitespace() {
        let program = Path::new("/usr/bin").join(name);
        if !program.exists() {
            continue;
        }
        copy(&program);
        let libraries = Program::new("ldd").arg(&program).output().expect("ldd");
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        libraries
            .split_whitespace()
            .filter(|word| word.starts_with('/'))
            .for_each(|path| copy(Path::new(path)));
        if name.starts_with("python") {
            let mut modules = Program::new("cp");
            modules.arg("-rL").arg(format!("/usr/lib/{name}")).arg(folder.join("usr/lib"));
            must(modules);
            std::os::unix::fs::symlink(name, folder.join("usr/bin/python3")).expect("a link");
        }
    }
}

/// The image in an engine's own store: made once.
fn image(engine: Engine) -> Result<Image, String> {
    let word = engine.word();
    let ask = |format: &str| {
        let output = Program::new(word).args(["image", "inspect", "--format", format, NAME]).output();
        let output = output.map_err(|error| format!("`{word}` does not start: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok::<_, String>(output.status.success().then_some(text))
    };
    if ask("{{.Id}}")?.is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (tree, file) = (folder.path().join("root"), folder.path().join("root.tar"));
        root(&tree);
        let mut tar = Program::new("tar");
        tar.arg("-C").arg(&tree).arg("--owner=0").arg("--group=0").arg("-cf").arg(&file).arg(".");
        must(tar);
        let output = Program::new(word).arg("import").arg(&file).arg(NAME).output().expect("starts");
        if !output.status.success() {
            return Err(format!("`{word} import` fails: {}", said(&output)));
        }
    }
    let named = if engine == Engine::Podman {
        let digest = ask("{{.Digest}}")?.unwrap_or_default();
        format!("{}@{digest}", NAME.trim_end_matches(":1"))
    } else {
        ask("{{.Id}}")?.unwrap_or_default()
    };
    Image::parse(&named)
}

/// The engines to try, with an image each.
fn engines() -> Vec<Oci> {
    let wanted = std::env::var("ENCLOS_TEST_ENGINES").ok();
    let mut found = Vec::new();
    for engine in Engine::ALL {
        let asked = wanted.as_ref().map(|words| words.split_whitespace().any(|word| word == engine.word()));
        let there = match asked {
            Some(false) => Err("not asked for".to_owned()),
            _ => there(engine),
        };
        match there {
            Ok(oci) => found.push(oci),
            Err(reason) => {
                assert_ne!(asked, Some(true), "{}: {reason}", engine.word());
                eprintln!("not tried with {}: {reason}", engine.word());
            }
        }
    }
    found
}

/// An engine that runs a container here, whatever the sandbox makes of it.
fn there(engine: Engine) -> Result<Oci, String> {
    let word = engine.word();
    let image = image(engine)?;
    let mut trial = Program::new(word);
    trial.args([
        "run",
        "--rm",
        "--network=none",
        "--pull=never",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=512:512",
    ]);
    let output =
        trial.arg(image.to_string()).arg("/usr/bin/true").output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(Oci { engine, image, environment: environment() })
    } else {
        Err(format!("it runs no container at all: {}", said(&output)))
    }
}

fn bench(oci: &Oci) -> Bench {
    let mut bench = Bench::new();
    bench.plan.backend = Backend::Oci(oci.clone());
    bench
}

#[test]
fn a_session_in_a_container() {
    for oci in engines() {
        let bench = bench(&oci);
        let inside = bench.open();
        println!("{}: {:?}", oci.engine.word(), inside.sandbox.report());
        assert_eq!(inside.out("id -u; pwd; cat f1.txt"), "1000\n/workspace\nfile 1\n");
        assert_eq!(inside.out("echo new > f1.txt; cat f1.txt; ls /workspace | wc -l"), "new\n9\n");
        let start = std::time::Instant::now();
        for _ in 0..20 {
            inside.out("true");
        }
        println!("{}: {:?} a command", oci.engine.word(), start.elapsed() / 20);
        let start = std::time::Instant::now();
        inside.sandbox.close();
        println!("{}: closed in {:?}", oci.engine.word(), start.elapsed());
        assert_eq!(std::fs::read_to_string(bench.repository().join("f1.txt")).expect("there"), "file 1\n");
        assert_eq!(std::fs::read_to_string(bench.plan.layer.join("upper/f1.txt")).expect("kept"), "new\n");
        assert!(!bench.plan.layer.join("container").exists());
    }
}
