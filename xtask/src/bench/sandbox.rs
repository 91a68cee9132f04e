//! A sandbox opened, and a command in an open one, beside bubblewrap and beside a plain shell.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::stat::{Samples, timed};
use super::{Effort, Place, Row, session};
use crate::process;

const OPEN: &str = "open a sandbox, least / middle";
const COMMAND: &str = "a command in an open sandbox";
const LARGE: [(usize, &str, &str); 2] = [
    (5_000, "open over 5,000 files", "its change set of 31 files"),
    (50_000, "open over 50,000 files, 1 GB", "its change set of 31 files"),
];

/// What `bwrap` is given: the namespaces that a sandbox has, the root read-only, the workspace writable.
const BWRAP: &str = "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind W W --unshare-user --unshare-pid \
                     --unshare-net --unshare-ipc --die-with-parent --new-session --";

/// What one `enclos sandbox run --json` tells.
struct Told {
    open: f64,
    runs: Vec<f64>,
}

/// The lines of the report about the sandbox.
pub(crate) fn rows(place: &Place, effort: Effort) -> Vec<Row> {
    let mut rows = vec![
        open(place, effort).unwrap_or_else(|why| Row::missing(OPEN, "≤ 0.7 × bwrap", why)),
        command(place, effort).unwrap_or_else(|why| Row::missing(COMMAND, "≤ bash + 1 ms", why)),
    ];
    if !effort.quick {
        for (count, open, changes) in LARGE {
            rows.extend(large(place, count, open, changes).unwrap_or_else(|why| {
                vec![Row::missing(open, "≤ 5 ms", why.clone()), Row::missing(changes, "≤ 20 ms", why)]
            }));
        }
    }
    rows
}

fn open(place: &Place, effort: Effort) -> Result<Row, String> {
    let has_bwrap = process::answers(bwrap(&place.repo));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..effort.samples {
        ours.push(told(place, &place.repo, 1)?.open);
        if has_bwrap {
            theirs.push(timed(bwrap(&place.repo))?);
        }
    }
    let ours = Samples::new(ours)?;
    let Ok(theirs) = Samples::new(theirs) else {
        let beside = "no `bwrap` that works on the PATH".to_owned();
        return Ok(Row { what: OPEN, ours: ours.shown(), beside, aim: "≤ 0.7 × bwrap", met: None });
    };
    let ratio = ours.middle() / theirs.middle();
    Ok(Row {
        what: OPEN,
        ours: ours.shown(),
        beside: format!("{ratio:.2} × bwrap … true ({})", theirs.shown()),
        aim: "≤ 0.7 × bwrap",
        met: Some(ratio <= 0.7),
    })
}

fn command(place: &Place, effort: Effort) -> Result<Row, String> {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..effort.samples {
        ours.extend(told(place, &place.repo, 5)?.runs);
        for _ in 0..5 {
            plain.push(timed(bash())?);
        }
    }
    let (ours, plain) = (Samples::new(ours)?, Samples::new(plain)?);
    let over = ours.middle() - plain.middle();
    Ok(Row {
        what: COMMAND,
        ours: ours.shown(),
        beside: format!("bash {over:+.2} ms ({})", plain.shown()),
        aim: "≤ bash + 1 ms",
        met: Some(over <= 1.0),
    })
}

fn large(place: &Place, count: usize, open: &'static str, changes: &'static str) -> Result<Vec<Row>, String> {
    let folder = place.large(count)?;
    let opened: Result<Vec<f64>, String> =
        (0..10).map(|_| told(place, &folder, 1).map(|told| told.open)).collect();
    let opened = Samples::new(opened?)?;
    let made: Result<Vec<f64>, String> = (0..10).map(|_| session::change_set(place, &folder)).collect();
    let made = Samples::new(made?)?;
    let row = |what, samples: &Samples, aim, most| Row {
        what,
        ours: samples.shown(),
        beside: String::new(),
        aim,
        met: Some(samples.middle() <= most),
    };
    Ok(vec![row(open, &opened, "≤ 5 ms", 5.0), row(changes, &made, "≤ 20 ms", 20.0)])
}

fn bash() -> Command {
    let mut bash = process::command("bash");
    bash.args(["--noprofile", "--norc", "-c", "true"]);
    bash
}

fn bwrap(workspace: &Path) -> Command {
    let mut bwrap = process::command("bwrap");
    for word in BWRAP.split_whitespace() {
        if word == "W" {
            bwrap.arg(workspace)
        } else {
            bwrap.arg(word)
        };
    }
    bwrap.arg("true");
    bwrap
}

/// Runs `true` so many times in one sandbox.
fn told(place: &Place, repo: &Path, times: usize) -> Result<Told, String> {
    let mut enclos = place.enclos(&["sandbox", "run", "--json", "--repeat", &times.to_string(), "--repo"]);
    enclos.arg(repo).args(["--", "true"]);
    tell(enclos)
}

/// The times of the runs of one `enclos sandbox run --json`.
pub(crate) fn runs(enclos: Command) -> Result<Vec<f64>, String> {
    Ok(tell(enclos)?.runs)
}

fn tell(enclos: Command) -> Result<Told, String> {
    let output = process::output(enclos)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`enclos sandbox run` ended with {}: {}", output.status, said.trim()));
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

fn read(json: &str) -> Result<Told, String> {
    let told: Value =
        serde_json::from_str(json).map_err(|error| format!("no JSON from `sandbox run`: {error}"))?;
    let open = told["open_ms"].as_f64().ok_or("`sandbox run --json` gave no `open_ms`")?;
    let runs = told["runs"].as_array().ok_or("`sandbox run --json` gave no `runs`")?;
    let runs: Vec<f64> = runs.iter().filter_map(|run| run["duration_ms"].as_f64()).collect();
    Ok(Told { open, runs })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_report_of_a_sandbox_is_read() {
        let told =
            read(r#"{"open_ms":1.5,"runs":[{"duration_ms":2,"exit_code":0}],"close_ms":0.3}"#).unwrap();
        assert_eq!((told.open.to_bits(), told.runs.len()), (1.5_f64.to_bits(), 1));
        assert!(read("{}").is_err() && read("").is_err());
    }
}
