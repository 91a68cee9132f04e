//! The durable append of the store beside the bare `fdatasync` of the same bytes.
//!
//! The store measures itself, in its example `append_rate`: only the store knows how to append. It prints one JSON
//! object with the rates of both, and of many sessions that share commits.

use serde_json::Value;

use super::{Place, Row};

const WHAT: &str = "durable appends in a second, one session";
const GROUPED: &str = "durable appends in a second, 64 sessions";
const AIM: &str = "≥ 0.7 × raw fdatasync";

/// The lines of the report about the store.
pub(crate) fn rows(place: &Place) -> Vec<Row> {
    match rates(place) {
        Ok(rows) => rows.into(),
        Err(why) => vec![Row::missing(WHAT, AIM, why)],
    }
}

fn rates(place: &Place) -> Result<[Row; 2], String> {
    let folder = place.folder.to_string_lossy();
    read(&place.example("enclos-store", "append_rate", &[folder.as_ref()])?)
}

fn read(printed: &str) -> Result<[Row; 2], String> {
    let told: Value =
        serde_json::from_str(printed).map_err(|error| format!("no JSON from `append_rate`: {error}"))?;
    let number = |name: &str| told[name].as_f64().ok_or(format!("`append_rate` gave no `{name}`"));
    let raw = number("raw_fdatasync_per_s")?;
    let row = |what, ours: f64, aim, met: fn(f64) -> Option<bool>| Row {
        what,
        ours: format!("{ours:.0}"),
        beside: format!("{:.2} × raw ({raw:.0})", ours / raw),
        aim,
        met: met(ours / raw),
    };
    Ok([
        row(WHAT, number("append_per_s")?, AIM, |ratio| Some(ratio >= 0.7)),
        row(GROUPED, number("grouped_append_per_s")?, "", |_| None),
    ])
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_rates_of_the_store_are_read() {
        let printed = r#"{"raw_fdatasync_per_s":1000,"append_per_s":700,"grouped_append_per_s":9000}"#;
        let [one, grouped] = read(printed).unwrap();
        assert_eq!((one.met, one.ours.as_str()), (Some(true), "700"));
        assert_eq!((grouped.met, grouped.beside.as_str()), (None, "9.00 × raw (1000)"));
        assert!(read("{}").is_err());
        assert!(read("").is_err());
    }
}
