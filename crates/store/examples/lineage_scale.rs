//! Measures walks over many records of lineage: one step, backward in a session, forward to the bound.
//!
//! `lineage_scale FOLDER [RECORDS]` fills a store in FOLDER (10 million records and about 12 million links when no number
//! is given: some 1.5 GB), asks it, and prints one JSON object of milliseconds. It removes what it made.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use enclos_core::ids::SessionId;
use enclos_core::lineage::LineageId;
use enclos_store::{Direction, NoRedaction, Reach, Store};
use rusqlite::{Connection, params};

/// Records of one session.
const OF_SESSION: u32 = 110;
const SAMPLES: usize = 200;

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = words.next().expect("a folder was expected");
    let records: i64 = words.next().map_or(10_000_000, |word| word.parse().expect("a number was expected"));
    let dir = Path::new(&folder).join("lineage-scale");
    std::fs::create_dir_all(&dir).expect("the folder can be made");
    let outcome = std::panic::catch_unwind(|| measure(&dir, records));
    std::fs::remove_dir_all(&dir).expect("the folder can be removed");
    match outcome {
        Ok(report) => println!("{report}"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn name(session: i64) -> SessionId {
    SessionId::new(format!("sess_{session:026}"))
}

fn measure(dir: &Path, records: i64) -> serde_json::Value {
    drop(Store::open(dir, Arc::new(NoRedaction)).expect("a store"));
    let sessions = records / i64::from(OF_SESSION);
    let started = Instant::now();
    let links = fill(&dir.join("state.db"), sessions);
    let fill_s = started.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(dir.join("state.db")).map_or(0, |meta| meta.len());
    let store = Store::open_read_only(dir).expect("the store");
    let mut random = Random(7);
    let mut at = |within: u32| {
        let session = name(1 + random.below(sessions));
        LineageId::of(&session, within).expect("a name")
    };
    let in_session = Reach { nodes: 10_000, in_session: true };
    let anywhere = Reach { nodes: 10_000, in_session: false };
    let hop = times(|| {
        let id = at(40);
        store.lineage_hop(&id, Direction::Backward, 1000).expect("links").len()
            + store.lineage_hop(&id, Direction::Forward, 1000).expect("links").len()
    });
    let backward = times(|| {
        store.lineage_trace(&at(OF_SESSION), Direction::Backward, in_session).expect("a walk").nodes.len()
    });
    let forward = times(|| store.lineage_reach(&at(1), Direction::Forward, anywhere).expect("a walk").0);
    let described =
        times(|| store.lineage_trace(&at(1), Direction::Forward, anywhere).expect("a walk").nodes.len());
    let why = times(|| store.lineage_why(&at(OF_SESSION)).expect("a chain").nodes.len());
    serde_json::json!({
        "records": sessions * i64::from(OF_SESSION), "links": links, "bytes": bytes, "fill_s": fill_s,
        "one_hop": hop, "backward_in_session": backward, "forward_10000": forward,
        "forward_10000_with_records": described, "why": why,
    })
}

/// Median and 95th percentile in milliseconds, and how many records the largest answer had.
fn times(mut act: impl FnMut() -> usize) -> serde_json::Value {
    let mut most = 0;
    let mut taken: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let started = Instant::now();
            most = most.max(act());
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    serde_json::json!({"median_ms": taken[SAMPLES / 2], "p95_ms": taken[SAMPLES * 95 / 100], "records": most})
}

/// Fills the tables as sessions would: snapshots, answers and results, and now and then a source of another session.
fn fill(database: &Path, sessions: i64) -> i64 {
    let mut connection = Connection::open(database).expect("the database");
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA wal_autocheckpoint = 20000",
        )
        .expect("settings");
    let mut random = Random(3);
    let mut links = 0;
    let mut session = 1;
    while session <= sessions {
        let tx = connection.transaction().expect("a transaction");
        if session == 1 {
            for (word, number) in
                ["src/lib.rs", "ada", "read", "project", "merged", "context"].iter().zip(1_i64..)
            {
                tx.execute("INSERT INTO lineage_word VALUES (?1, ?2)", params![number, word])
                    .expect("a word");
            }
        }
        for number in session..=sessions.min(session + 2000) {
            links += one(&tx, number, &mut random);
        }
        tx.commit().expect("a commit");
        session += 2001;
    }
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    links
}

fn one(tx: &Connection, session: i64, random: &mut Random) -> i64 {
    tx.prepare_cached(
        "INSERT INTO session (number, id, created_us, task_digest, repo, surface, state, epoch, head_seq, head_time_us, head)
         VALUES (?1, ?2, 0, '', x'', 'terminal', 'closed', 1, 0, 0, zeroblob(32))",
    )
    .expect("a statement")
    .execute(params![session, name(session).as_str()])
    .expect("a session");
    let mut record = tx
        .prepare_cached(
            "INSERT INTO lineage_record (number, seq, time_us, kind, label, never, hash, source_type, source, by_whom,
                 method, reason, change, description, agent, witness)
             VALUES (?1, ?2, ?1, ?3, 3, 0, ?4, 4, 1, 2, 3, 4, ?5, ?5, ?5, ?6)",
        )
        .expect("a statement");
    let mut edge = tx.prepare_cached("INSERT INTO lineage_edge VALUES (?1, ?2, 1, 0)").expect("a statement");
    let number = |session: i64, within: i64| (session << 24) | within;
    let mut links = 0;
    let mut snapshot = None;
    for within in 1..=i64::from(OF_SESSION) {
        let own = number(session, within);
        let mut hash = [1_u8; 33];
        random.fill(&mut hash[1..]);
        // Every third is a snapshot of what is new and the one before, then the answer, then the result of its call.
        let (kind, inputs): (i64, Vec<i64>) = match within % 3 {
            0 => (5, snapshot.into_iter().chain([own - 1]).collect()),
            1 if within > 1 => (6, vec![own - 1]),
            // Now and then a result has something of another session as well, so that a walk forward spreads.
            2 if within == 5 && session > 10 && random.below(2) == 0 => {
                (4, vec![own - 1, earlier(session, random)])
            }
            2 => (4, vec![own - 1]),
            // What a session reads first is what another wrote last.
            _ if within == 1 && session > 10 => (4, vec![earlier(session, random)]),
            _ => (4, Vec::new()),
        };
        if within % 3 == 0 {
            snapshot = Some(own);
        }
        let change = (!inputs.is_empty()).then_some(5);
        record.execute(params![own, within, kind, hash, change, inputs.first()]).expect("a record");
        for input in inputs {
            edge.execute(params![own, input]).expect("a link");
            links += 1;
        }
    }
    links
}

/// The last record of one of the sessions before.
fn earlier(session: i64, random: &mut Random) -> i64 {
    ((session - 1 - random.below(session.min(5000) - 1)) << 24) | i64::from(OF_SESSION)
}

/// A small generator: the figures are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: i64) -> i64 {
        (self.next() >> 1).cast_signed() % bound.max(1)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}
