//! A whole headless session with a model that answers at once: what a tool call costs, what a cold start costs, and
//! how much memory it takes.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::place::write;
use super::stat::{Samples, timed};
use super::{Effort, Place, Row, memory};
use crate::process;

const CALL: &str = "one tool call, policy and journal included";
const COLD: &str = "cold headless run of one call";
const MEMORY: &str = "memory of a whole session, at its peak";

/// The calls of the longer session; less than every budget of a session.
const MANY: usize = 50;

/// The lines of the report about a session.
pub(crate) fn rows(place: &Place, effort: Effort) -> Vec<Row> {
    vec![
        call(place, effort).unwrap_or_else(|why| Row::missing(CALL, "≤ 8 ms", why)),
        cold(place, effort).unwrap_or_else(|why| Row::missing(COLD, "≤ 120 ms", why)),
        peak(place).unwrap_or_else(|why| Row::missing(MEMORY, "≤ 40 MiB", why)),
    ]
}

/// The difference between a long and a short session, shared out over the calls that the long one has more.
fn call(place: &Place, effort: Effort) -> Result<Row, String> {
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..effort.samples / 2 {
        one.push(timed(session(place, 1)?)?);
        many.push(timed(session(place, MANY)?)?);
    }
    let (one, many) = (Samples::new(one)?, Samples::new(many)?);
    #[expect(clippy::cast_precision_loss, reason = "a count below a hundred")]
    let each = (many.middle() - one.middle()) / (MANY - 1) as f64;
    Ok(Row {
        what: CALL,
        ours: format!("{each:.2} ms"),
        beside: format!("{MANY} calls {}, one {}", many.shown(), one.shown()),
        aim: "≤ 8 ms",
        met: Some(each <= 8.0),
    })
}

fn cold(place: &Place, effort: Effort) -> Result<Row, String> {
    let times: Result<Vec<f64>, String> = (0..effort.samples).map(|_| timed(session(place, 1)?)).collect();
    let (times, mut bare) = (Samples::new(times?)?, Vec::new());
    for _ in 0..effort.samples {
        bare.push(timed(place.enclos(&["--version"]))?);
    }
    Ok(Row {
        what: COLD,
        ours: times.shown(),
        beside: format!("`enclos --version` {}", Samples::new(bare)?.shown()),
        aim: "≤ 120 ms",
        met: Some(times.middle() <= 120.0),
    })
}

fn peak(place: &Place) -> Result<Row, String> {
    let peak = memory::peak(session(place, MANY)?)?;
    Ok(Row {
        what: MEMORY,
        ours: format!("{} MiB", peak.tree / 1024),
        beside: format!("the gateway alone {} MiB", peak.process / 1024),
        aim: "≤ 40 MiB",
        met: Some(peak.tree <= 40 * 1024),
    })
}

/// Milliseconds from the end of the call that changed 31 files until the change set is told. What git knows of the tree is
/// taken down beside a session from its opening on; the call waits a second, as any real one would take, so that the change
/// set does not wait for that.
pub(crate) fn change_set(place: &Place, repo: &Path) -> Result<f64, String> {
    let output = process::output(scripted(place, repo, 1, "sleep 1; sed -i s/one/two/ 0/{0..30}.txt")?)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let moment = |kind: &str| {
        let mut events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = events.rfind(|event| event["type"] == kind);
        let time = last.as_ref().and_then(|event| event["time"].as_str()).and_then(of_the_minute);
        time.ok_or(format!("no event `{kind}` with a time"))
    };
    let took = moment("changeset")? - moment("call.done")?;
    // The minute may have gone by between the two.
    Ok(if took < 0.0 { took + 60_000.0 } else { took })
}

/// Milliseconds since the last full minute, of a time as events have it.
fn of_the_minute(time: &str) -> Option<f64> {
    let seconds = time.strip_suffix('Z')?.rsplit(':').next()?;
    Some(seconds.parse::<f64>().ok()? * 1000.0)
}

/// A headless session of so many turns, each one call of `true`.
fn session(place: &Place, calls: usize) -> Result<Command, String> {
    scripted(place, &place.repo, calls, "true")
}

/// A headless session of so many turns, each one call of the command.
fn scripted(place: &Place, repo: &Path, calls: usize, command: &str) -> Result<Command, String> {
    let turn = json!({"text": "", "calls": [{"name": "bash", "arguments": {"command": command}}]});
    let script = place.folder.join(format!("script-{calls}.json"));
    write(&script, &json!({"turns": vec![turn; calls]}).to_string())?;
    let mut enclos = place.enclos(&["run", "--headless", "--preset", "balanced", "--output", "stream-json"]);
    enclos.arg("--repo").arg(repo).arg("--model").arg(format!("script:{}", script.display())).arg("measure");
    Ok(enclos)
}

#[cfg(test)]
mod tests {
    use super::of_the_minute;

    #[test]
    fn times_of_events_are_read() {
        assert_eq!(of_the_minute("2026-12-01T05:45:56.025625Z").map(f64::round), Some(56_026.0));
        assert_eq!(of_the_minute("2026-12-01"), None);
    }
}
