//! What only a program that holds sandboxes itself can measure: the example `figures` of the crate `sandbox` is built, run,
//! and its object read.

use serde_json::Value;

use super::{Effort, Place, Row};

/// One figure of the example: its name there, how it is told, and its aim.
struct Figure {
    what: &'static str,
    name: &'static str,
    unit: &'static str,
    aim: &'static str,
    meets: fn(f64) -> bool,
}

const FIGURES: [Figure; 5] = [
    Figure {
        what: "open + run + close, two workers",
        name: "per_second",
        unit: "/s",
        aim: "≥ 300 /s",
        meets: |figure| figure >= 300.0,
    },
    Figure {
        what: "memory of an idle init (PSS)",
        name: "idle_pss_kib",
        unit: "KiB",
        aim: "≤ 512 KiB",
        meets: |figure| figure <= 512.0,
    },
    Figure {
        what: "end of 200 spinning processes, p95",
        name: "kill_p95_ms",
        unit: "ms",
        aim: "≤ 100 ms",
        meets: |figure| figure <= 100.0,
    },
    Figure {
        what: "flood of output",
        name: "flood_mb_per_second",
        unit: "MB/s",
        aim: "≥ 500 MB/s",
        meets: |figure| figure >= 500.0,
    },
    Figure {
        what: "growth under the flood",
        name: "flood_growth_mib",
        unit: "MiB",
        aim: "≤ 11 MiB",
        meets: |figure| figure <= 11.0,
    },
];

/// The lines of the report.
pub(crate) fn rows(place: &Place, effort: Effort) -> Vec<Row> {
    let told = told(place, effort);
    FIGURES
        .iter()
        .map(|figure| match told.as_ref().map(|told| told.get(figure.name).and_then(Value::as_f64)) {
            Ok(Some(value)) => Row {
                what: figure.what,
                ours: format!("{value:.1} {}", figure.unit),
                beside: String::new(),
                aim: figure.aim,
                met: Some((figure.meets)(value)),
            },
            Ok(None) => Row::missing(figure.what, figure.aim, format!("no `{}` was told", figure.name)),
            Err(why) => Row::missing(figure.what, figure.aim, why.as_str()),
        })
        .collect()
}

fn told(place: &Place, effort: Effort) -> Result<Value, String> {
    let printed = place.example("enclos-sandbox", "figures", &[&effort.samples.to_string()])?;
    serde_json::from_str(&printed).map_err(|error| format!("the example told no object: {error}"))
}
