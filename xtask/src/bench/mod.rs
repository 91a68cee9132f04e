//! `cargo xtask bench`: measures the release build and prints a report.
//!
//! Each figure stands beside another taken in the same run, in turns with it, because milliseconds of one machine say
//! nothing about the next. It is a report and no test: a figure that misses its aim does not fail, and one that cannot
//! be taken says why.

mod append;
mod building;
mod figures;
mod lineage;
mod memory;
mod place;
mod reading;
mod sandbox;
mod session;
mod stat;

use place::Place;

use crate::tree;

/// One line of the report.
pub(crate) struct Row {
    what: &'static str,
    ours: String,
    beside: String,
    aim: &'static str,
    /// Whether the aim was met; nothing where there is none, or nothing was measured.
    met: Option<bool>,
}

impl Row {
    /// A line for what could not be measured.
    fn missing(what: &'static str, aim: &'static str, why: impl Into<String>) -> Self {
        Self { what, ours: "not measured".to_owned(), beside: why.into(), aim, met: None }
    }
}

/// How many samples are taken of each figure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    samples: usize,
    quick: bool,
}

/// `cargo xtask bench [--quick]`.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let quick = match words {
        [] => false,
        [flag] if flag == "--quick" => true,
        other => return Err(format!("`bench` takes `--quick` or nothing, and got `{}`", other.join(" "))),
    };
    let effort = Effort { samples: if quick { 10 } else { 40 }, quick };
    let root = tree::root()?;
    let place = Place::make(&root)?;
    let mut rows = sandbox::rows(&place, effort);
    rows.extend(figures::rows(&place, effort));
    if !effort.quick {
        rows.push(building::row(&place, effort));
    }
    rows.extend(session::rows(&place, effort));
    rows.extend(append::rows(&place));
    if !effort.quick {
        rows.extend(lineage::rows(&place));
    }
    rows.extend(reading::rows(&place));
    rows.push(place.size());
    print(&rows);
    Ok(())
}

fn print(rows: &[Row]) {
    println!("{:<44} {:>17}  {:<50} {:<24} met", "figure", "here", "beside it", "aim");
    for row in rows {
        let met = match row.met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        println!("{:<44} {:>17}  {:<50} {:<24} {met}", row.what, row.ours, row.beside, row.aim);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::remove_dir_all;

    use super::*;
    use crate::process;

    /// A program that answers as the product does, and takes some time.
    const STAND_IN: &str = "#!/bin/sh
case $1 in
sandbox) echo '{\"open_ms\":1.5,\"runs\":[{\"duration_ms\":1.0}],\"close_ms\":0.1}' ;;
*) sleep 0.02 ;;
esac
";

    #[test]
    fn every_figure_of_the_product_is_taken() {
        let folder = std::env::temp_dir().join(format!("enclos-bench-{}", std::process::id()));
        let (text, binary) = (folder.join("stand-in"), folder.join("enclos"));
        place::write(&text, STAND_IN).unwrap();
        // Written by another process: a file that this one still holds open for writing cannot be started.
        let mut install = process::command("install");
        install.arg("-m755").arg(&text).arg(&binary);
        process::run(install).unwrap();
        let (place, effort) = (Place::with(folder.clone(), binary), Effort { samples: 4, quick: true });
        let mut rows = sandbox::rows(&place, effort);
        rows.extend(session::rows(&place, effort));
        rows.push(place.size());
        remove_dir_all(&folder).unwrap();
        let missing: Vec<_> =
            rows.iter().filter(|row| row.ours == "not measured").map(|row| &row.beside).collect();
        assert_eq!((rows.len(), missing), (6, vec![]));
    }
}
