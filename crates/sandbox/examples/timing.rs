//! Times the opening of a sandbox and a command in it, beside the same command outside: `timing [N [MIB]]`,
//! the second number being memory that this program holds, as a gateway does.
#![expect(
    clippy::disallowed_methods,
    reason = "the plain command is what the sandboxed one is measured against"
)]
use enclos_sandbox::{Command, Limits, Plan, Prefer, open};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50);
    let held: usize = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(0);
    let held = std::hint::black_box(vec![1u8; held << 20]);
    let root = tempfile::tempdir()?;
    let workspace = root.path().join("repository");
    std::fs::create_dir(&workspace)?;
    let plan = |number: usize| Plan {
        workspace: workspace.clone(),
        over: None,
        owner: None,
        layer: root.path().join(format!("layer-{number}")),
        hidden: Vec::new(),
        masked: Vec::new(),
        git: None,
        mounts: Vec::new(),
        environment: Vec::new(),
        limits: Limits::default(),
        backend: enclos_sandbox::Backend::Namespaces,
        workspace_by: Prefer::Overlay,
    };
    let (mut opens, mut closes, mut runs, mut beside) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds + 3 {
        let start = Instant::now();
        let sandbox = open(&plan(round))?;
        opens.push(start.elapsed());
        for _ in 0..3 {
            let start = Instant::now();
            let exit = sandbox.run(&Command::new("true"), &mut |_, _| {})?;
            assert_eq!(exit.code, Some(0));
            runs.push(start.elapsed());
            let start = Instant::now();
            std::process::Command::new("/bin/bash").args(["--noprofile", "--norc", "-c", "true"]).status()?;
            beside.push(start.elapsed());
        }
        let start = Instant::now();
        sandbox.close();
        closes.push(start.elapsed());
    }
    drop(held);
    for (name, times) in [("open", opens), ("command", runs), ("plain bash", beside), ("close", closes)] {
        show(name, times);
    }
    Ok(())
}

fn show(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{name:<12} min {:?} · p50 {:?} · p95 {:?}", at(0), at(50), at(95));
}
