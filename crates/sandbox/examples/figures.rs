//! Figures of the sandbox that need one program to hold it: openings a second with two workers, the memory of an idle
//! init, how long 200 spinning processes live on, and a flood of output. Prints one JSON object; `cargo xtask bench` reads it.
use enclos_sandbox::{Command, Limits, Plan, Prefer, Sandbox, open};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

/// Processes that spin.
const SPINNING: usize = 200;
/// Size of the flood.
const FLOOD: u64 = 4_000_000_000;

type Figures = BTreeMap<&'static str, f64>;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    let root = tempfile::tempdir()?;
    std::fs::create_dir(root.path().join("repository"))?;
    let mut figures = Figures::new();
    figures.insert("per_second", per_second(root.path(), Duration::from_secs(4))?);
    let sandbox = open(&plan(root.path(), "flood"))?;
    figures.insert("idle_pss_kib", idle(&sandbox)?);
    flood(&sandbox, &mut figures)?;
    sandbox.close();
    let mut ends = (0..rounds).map(|_| end_of_many(root.path())).collect::<Result<Vec<_>, _>>()?;
    ends.sort_by(f64::total_cmp);
    let at = |share: usize| ends.get(ends.len() * share / 100).copied().unwrap_or_default();
    figures.insert("kill_p50_ms", at(50));
    figures.insert("kill_p95_ms", at(95));
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

fn plan(root: &Path, layer: &str) -> Plan {
    Plan {
        workspace: root.join("repository"),
        over: None,
        owner: None,
        layer: root.join(layer),
        hidden: Vec::new(),
        masked: Vec::new(),
        git: None,
        mounts: Vec::new(),
        environment: Vec::new(),
        limits: Limits::default(),
        backend: enclos_sandbox::Backend::Namespaces,
        workspace_by: Prefer::Overlay,
    }
}

/// Sandboxes that two workers open, run `true` in, and close, each second.
fn per_second(root: &Path, time: Duration) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let work = |worker: usize| {
        let mut count = 0u32;
        while start.elapsed() < time {
            let layer = format!("worker-{worker}-{count}");
            let sandbox = open(&plan(root, &layer)).map_err(|error| error.to_string())?;
            let exit =
                sandbox.run(&Command::new("true"), &mut |_, _| {}).map_err(|error| error.to_string())?;
            sandbox.close();
            enclos_sandbox::remove_layer(&root.join(layer)).map_err(|error| error.to_string())?;
            if exit.code != Some(0) {
                return Err(format!("`true` ended with {exit:?}"));
            }
            count += 1;
        }
        Ok(count)
    };
    let counts = std::thread::scope(|scope| {
        let workers = [scope.spawn(|| work(0)), scope.spawn(|| work(1))];
        workers.map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".into())))
    });
    let mut all = 0;
    for count in counts {
        all += count?;
    }
    Ok(f64::from(all) / start.elapsed().as_secs_f64())
}

/// Proportional memory of the init, in KiB.
fn idle(sandbox: &Sandbox) -> Result<f64, Box<dyn Error>> {
    sandbox.run(&Command::new("true"), &mut |_, _| {})?;
    // Idle is what has had nothing to do for a while.
    std::thread::sleep(Duration::from_secs(2));
    let inits = children(std::process::id())?;
    let [init] = inits.as_slice() else { return Err(format!("no single init among {inits:?}").into()) };
    number(&std::fs::read_to_string(format!("/proc/{init}/smaps_rollup"))?, "Pss:")
}

/// Processes made by a process.
fn children(of: u32) -> Result<Vec<u32>, Box<dyn Error>> {
    let mut all = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{of}/task"))? {
        // A thread or process that has just ended has no children.
        let text = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        all.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    Ok(all)
}

/// Processes below a process, whatever their depth.
fn below(of: u32) -> usize {
    children(of).unwrap_or_default().into_iter().map(|child| 1 + below(child)).sum()
}

fn number(text: &str, field: &str) -> Result<f64, Box<dyn Error>> {
    let line = text.lines().find_map(|line| line.strip_prefix(field)).ok_or(format!("no field {field}"))?;
    Ok(line.split_whitespace().next().ok_or("an empty field")?.parse()?)
}

/// Bytes a second that are counted and thrown away, and what this program grows by.
fn flood(sandbox: &Sandbox, figures: &mut Figures) -> Result<(), Box<dyn Error>> {
    let status = || -> Result<String, Box<dyn Error>> { Ok(std::fs::read_to_string("/proc/self/status")?) };
    let before = number(&status()?, "VmRSS:")?;
    let mut kept = Vec::new();
    let start = Instant::now();
    let command = Command::new(format!("head -c {FLOOD} /dev/zero"));
    let exit = sandbox.run(&command, &mut |_, bytes| kept.extend_from_slice(bytes))?;
    let took = start.elapsed().as_secs_f64();
    if exit.stdout.kept + exit.stdout.dropped != FLOOD || kept.len() as u64 != exit.stdout.kept {
        return Err(format!("the flood was not counted: {exit:?}").into());
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    figures.insert("flood_mb_per_second", FLOOD as f64 / 1e6 / took);
    figures.insert("flood_growth_mib", (number(&status()?, "VmHWM:")? - before).max(0.0) / 1024.0);
    Ok(())
}

/// Milliseconds from the order to end a command until nothing of its 200 spinning processes is left.
fn end_of_many(root: &Path) -> Result<f64, Box<dyn Error>> {
    let sandbox = open(&plan(root, "spin"))?;
    let killer = sandbox.killer();
    let text = format!("for ((i = 0; i < {SPINNING}; i++)); do (while :; do :; done) & done; wait");
    let took = std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.run(&Command::new(text), &mut |_, _| {}).map(|exit| exit.killed));
        let patience = Instant::now();
        while below(std::process::id()) < SPINNING + 2 {
            if patience.elapsed() > Duration::from_secs(30) {
                killer.kill_all();
                return Err("the processes did not come up".to_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let start = Instant::now();
        killer.kill_commands();
        let ended = run.join().map_err(|_| "the run panicked".to_owned())?;
        let took = start.elapsed().as_secs_f64() * 1000.0;
        ended.map(|_| took).map_err(|error| error.to_string())
    })?;
    sandbox.close();
    Ok(took)
}
