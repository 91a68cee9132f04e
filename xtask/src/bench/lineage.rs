//! Walks over ten million records of lineage, in a store that is made for it and removed.
//!
//! The store measures itself, in its example `lineage_scale`, and prints one JSON object of milliseconds. It takes minutes
//! and some gigabytes of disk, so a quick run leaves it out.

use serde_json::Value;

use super::{Place, Row};

/// What is asked, its name in the report, its aim, and the aim in milliseconds at the 95th percentile.
const ASKED: [(&str, &str, &str, f64); 3] = [
    ("one_hop", "lineage: one step among ten million records, p95", "< 1 ms", 1.0),
    ("backward_in_session", "lineage: backward within a session, p95", "< 5 ms", 5.0),
    ("forward_10000", "lineage: forward, stopped at 10,000 records, p95", "< 100 ms", 100.0),
];

/// The lines of the report about lineage.
pub(crate) fn rows(place: &Place) -> Vec<Row> {
    match measured(place) {
        Ok(rows) => rows,
        Err(why) => ASKED.map(|(_, what, aim, _)| Row::missing(what, aim, why.clone())).into(),
    }
}

fn measured(place: &Place) -> Result<Vec<Row>, String> {
    let folder = place.folder.to_string_lossy();
    read(&place.example("enclos-store", "lineage_scale", &[folder.as_ref()])?)
}

fn read(printed: &str) -> Result<Vec<Row>, String> {
    let told: Value =
        serde_json::from_str(printed).map_err(|error| format!("no JSON from `lineage_scale`: {error}"))?;
    let row = |(name, what, aim, most): (&str, &'static str, &'static str, f64)| {
        let number =
            |of: &str| told[name][of].as_f64().ok_or(format!("`lineage_scale` gave no `{name}.{of}`"));
        let (median, p95) = (number("median_ms")?, number("p95_ms")?);
        let beside = format!("median {median:.2} ms");
        Ok(Row { what, ours: format!("{p95:.2} ms"), beside, aim, met: Some(p95 < most) })
    };
    ASKED.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_figures_of_the_store_are_read() {
        let of = |p95: f64| serde_json::json!({"median_ms": 0.1, "p95_ms": p95, "records": 3});
        let printed = serde_json::json!({
            "one_hop": of(0.5), "backward_in_session": of(9.0), "forward_10000": of(20.0),
        });
        let rows = read(&printed.to_string()).unwrap();
        let met: Vec<_> = rows.iter().map(|row| row.met).collect();
        assert_eq!(met, [Some(true), Some(false), Some(true)]);
        assert_eq!(rows[0].ours, "0.50 ms");
        assert!(read("{}").is_err() && read("").is_err());
    }
}
