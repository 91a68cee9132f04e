//! Times a durable append against what the disk can do: a raw write of the same bytes and `fdatasync`, in the same run.
//!
//! `append_rate [DIR [SECONDS]]` prints one JSON object: rates per second and their ratios, for one writer and for 64
//! sessions that share commits. The two kinds take turns in short rounds, so that a noisy neighbour meets both.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use enclos_core::ids::SessionId;
use enclos_store::{Lease, NoRedaction, Record, SessionMeta, Store};
use serde_json::{Map, Value, json};

const WRITERS: usize = 64;
const ROUND: Duration = Duration::from_millis(250);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let base = args.next().unwrap_or_else(|| ".".to_owned());
    let seconds: u64 = args.next().map_or(Ok(5), |s| s.parse())?;
    let dir = Path::new(&base).join(format!("append_rate.{}", std::process::id()));
    let store = Store::open(&dir, Arc::new(NoRedaction))?;
    let leases = (0..WRITERS).map(|i| lease(&store, i)).collect::<Result<Vec<_>, _>>()?;
    let mut raw = File::create(dir.join("raw"))?;
    let line = vec![b'x'; 453];
    let (mut raw_times, mut one_times, mut all_times) =
        (Times::default(), Times::default(), Times::default());
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        raw_times.round(|| {
            raw.write_all(&line)?;
            raw.sync_data()?;
            Ok(1)
        })?;
        one_times.round(|| {
            leases.first().ok_or("no lease")?.append_wait(vec![record()])?;
            Ok(1)
        })?;
        all_times.round(|| together(&leases))?;
    }
    let (raw, one, all) = (raw_times.rate(), one_times.rate(), all_times.rate());
    let report = json!({
        "record_bytes": line.len(), "writers": WRITERS,
        "raw_fdatasync_per_s": raw.round(), "append_per_s": one.round(), "grouped_append_per_s": all.round(),
        "append_to_raw": one / raw, "grouped_to_raw": all / raw,
    });
    println!("{report}");
    drop((leases, store));
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// How many, in how long.
#[derive(Default)]
struct Times {
    count: u32,
    time: Duration,
}

impl Times {
    fn round(&mut self, mut work: impl FnMut() -> Outcome<u32>) -> Outcome<()> {
        let start = Instant::now();
        while start.elapsed() < ROUND {
            self.count += work()?;
        }
        self.time += start.elapsed();
        Ok(())
    }

    fn rate(&self) -> f64 {
        f64::from(self.count) / self.time.as_secs_f64()
    }
}

fn lease(store: &Store, number: usize) -> Outcome<Lease> {
    let meta = SessionMeta {
        task: "measure".to_owned(),
        repo: "/".into(),
        surface: "headless".to_owned(),
        state: "running".to_owned(),
        created_us: 0,
        extra: Map::new(),
    };
    Ok(store.create(&SessionId::new(format!("sess_rate{number}")), meta)?)
}

/// A record whose row is about as large as the raw line.
fn record() -> Record {
    let entry = json!({
        "call": "call_17", "tool": "bash", "verdict": "allow", "rule": "commands.free.cargo",
        "argv": ["cargo", "test", "--quiet"], "digest": "hmac-sha256:".to_owned() + &"0".repeat(64), "bytes": 4242,
        "note": "x".repeat(60),
    });
    let entry = match entry {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    Record { kind: "call.calling".to_owned(), time_us: 1, entry, ..Record::default() }
}

/// One append of every session, all in flight at once.
fn together(leases: &[Lease]) -> Outcome<u32> {
    let (answer, answers) = mpsc::channel();
    for lease in leases {
        let answer = answer.clone();
        lease.append(vec![record()], Box::new(move |outcome| drop(answer.send(outcome.map(drop)))));
    }
    drop(answer);
    let mut count = 0;
    for outcome in answers {
        outcome?;
        count += 1;
    }
    Ok(count)
}
