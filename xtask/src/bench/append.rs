//! The durable append of the store beside the bare `fdatasync` of the same bytes.
//!
//! The store measures itself, in its example `append_rate`: only the store knows how to append. Its last line is one
//! JSON object with both rates.

use serde_json::Value;

use super::{Place, Row};
use crate::process;

const WHAT: &str = "durable appends in a second";
const AIM: &str = "≥ 0.7 × raw fdatasync";

/// The line of the report about the store.
pub(crate) fn rows(place: &Place) -> Vec<Row> {
    vec![rate(place).unwrap_or_else(|why| Row::missing(WHAT, AIM, why))]
}

fn rate(place: &Place) -> Result<Row, String> {
    let words = [
        "run",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "enclos-store",
        "--example",
        "append_rate",
        "--",
    ];
    let mut cargo = process::cargo(&place.root, &words);
    cargo.arg(place.folder.join("append"));
    let output = process::output(cargo)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "`append_rate` ended with {}: {}",
            output.status,
            said.lines().last().unwrap_or("")
        ));
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

fn read(printed: &str) -> Result<Row, String> {
    let line = printed.lines().last().unwrap_or("");
    let told: Value =
        serde_json::from_str(line).map_err(|error| format!("no JSON from `append_rate`: {error}"))?;
    let number = |name: &str| told[name].as_f64().ok_or(format!("`append_rate` gave no `{name}`"));
    let (ours, raw) = (number("appends_per_second")?, number("raw_per_second")?);
    let ratio = ours / raw;
    Ok(Row {
        what: WHAT,
        ours: format!("{ours:.0}"),
        beside: format!("{ratio:.2} × raw ({raw:.0})"),
        aim: AIM,
        met: Some(ratio >= 0.7),
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_last_line_of_the_store_is_read() {
        let row = read("warm up\n{\"appends_per_second\":700,\"raw_per_second\":1000}\n").unwrap();
        assert_eq!((row.met, row.ours.as_str()), (Some(true), "700"));
        assert!(read("{}").is_err());
        assert!(read("").is_err());
    }
}
