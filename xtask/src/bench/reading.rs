//! The reading of a command, and a whole decision under a thousand rules.
//!
//! The core measures itself, in its example `reading_rate`: it prints one JSON object with quantiles in microseconds.
//! Beside the two short lengths stands the middle; beside the longest, how much of it is more than its length.

use serde_json::Value;

use super::{Place, Row};

const SHORT: &str = "read a command up to 120 bytes, p99";
const KIB: &str = "read a command of 1 KiB, p99";
const LARGEST: &str = "read a command of 64 KiB, p99";
const HOSTILE: &str = "read the slowest hostile 64 KiB";
const DECISION: &str = "a whole decision, 1,000 rules, p99";

/// The lines of the report about reading.
pub(crate) fn rows(place: &Place) -> Vec<Row> {
    match times(place) {
        Ok(rows) => rows.into(),
        Err(why) => vec![Row::missing(SHORT, "≤ 50 µs", why)],
    }
}

fn times(place: &Place) -> Result<[Row; 5], String> {
    read(&place.example("enclos-core", "reading_rate", &[])?)
}

fn read(printed: &str) -> Result<[Row; 5], String> {
    let told: Value =
        serde_json::from_str(printed).map_err(|error| format!("no JSON from `reading_rate`: {error}"))?;
    let number = |of: &str, name: &str| {
        told[of][name].as_f64().ok_or(format!("`reading_rate` gave no `{name}` of `{of}`"))
    };
    let within = |what, of: &str, aim, most: f64| -> Result<Row, String> {
        let p99 = number(of, "p99_us")?;
        Ok(Row {
            what,
            ours: format!("{p99:.1} µs"),
            beside: format!("p50 {:.1} µs", number(of, "p50_us")?),
            aim,
            met: Some(p99 <= most),
        })
    };
    let (kib, largest) = (number("kib", "p50_us")?, number("largest", "p50_us")?);
    let growth = largest / (64.0 * kib);
    Ok([
        within(SHORT, "short", "≤ 50 µs", 50.0)?,
        within(KIB, "kib", "≤ 200 µs", 200.0)?,
        Row {
            what: LARGEST,
            ours: format!("{:.0} µs", number("largest", "p99_us")?),
            beside: format!("p50 {largest:.0} µs, {growth:.2} × 64 times 1 KiB"),
            aim: "≤ 2 × its length",
            met: Some(growth <= 2.0),
        },
        Row {
            what: HOSTILE,
            ours: format!("{:.0} µs", number("hostile", "max_us")?),
            beside: format!("p50 {:.0} µs", number("hostile", "p50_us")?),
            aim: "",
            met: None,
        },
        within(DECISION, "decision", "≤ 150 µs", 150.0)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_times_of_the_core_are_read() {
        let of = |p50: f64, p99: f64| serde_json::json!({"p50_us": p50, "p99_us": p99, "max_us": p99});
        let printed = serde_json::json!({
            "short": of(2.0, 8.0), "kib": of(100.0, 250.0), "largest": of(6_400.0, 7_000.0),
            "hostile": of(1.0, 9.0), "decision": of(90.0, 140.0),
        });
        let rows = read(&printed.to_string()).unwrap();
        assert_eq!(
            rows.each_ref().map(|row| row.met),
            [Some(true), Some(false), Some(true), None, Some(true)]
        );
        assert_eq!(rows[2].beside, "p50 6400 µs, 1.00 × 64 times 1 KiB");
        assert!(read("{}").is_err() && read("").is_err());
    }
}
