//! `cargo test` of a small crate inside a sandbox, beside the same outside it: in turns, each time after a change.

use super::place::{commit_all, write};
use super::stat::{Samples, timed};
use super::{Effort, Place, Row};
use crate::process;

const WHAT: &str = "cargo test of a small crate";
const AIM: &str = "≤ 1.05 × outside";
/// A change, then the tests; nothing is fetched. The folder of what is built stands in the tree, as it does with persons.
const TEXT: &str = "printf '\\n' >>src/lib.rs && cargo test --quiet --offline";

/// The line of the report.
pub(crate) fn row(place: &Place, effort: Effort) -> Row {
    measure(place, effort).unwrap_or_else(|why| Row::missing(WHAT, AIM, why))
}

fn measure(place: &Place, effort: Effort) -> Result<Row, String> {
    let (inside, outside) = (place.folder.join("crate-inside"), place.folder.join("crate-outside"));
    for folder in [&inside, &outside] {
        write(
            &folder.join("Cargo.toml"),
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
        )?;
        write(&folder.join(".gitignore"), "/target\n")?;
        write(&folder.join("src/lib.rs"), LIBRARY)?;
        // Without a repository of its own the one above would be taken.
        commit_all(folder)?;
    }
    let times = effort.samples.div_ceil(4).max(3);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first of each builds everything.
    let count = (times + 1).to_string();
    let mut enclos =
        place.enclos(&["sandbox", "run", "--json", "--preset", "balanced", "--repeat", &count, "--repo"]);
    enclos.arg(&inside).args(["--", TEXT]);
    ours.extend(super::sandbox::runs(enclos)?.into_iter().skip(1));
    for round in 0..=times {
        let mut bash = process::command("bash");
        bash.args(["--noprofile", "--norc", "-c", TEXT]).current_dir(&outside).env_remove("CARGO_TARGET_DIR");
        let took = timed(bash)?;
        if round > 0 {
            theirs.push(took);
        }
    }
    let (ours, theirs) = (Samples::new(ours)?, Samples::new(theirs)?);
    let ratio = ours.middle() / theirs.middle();
    Ok(Row {
        what: WHAT,
        ours: ours.shown(),
        beside: format!("{ratio:.2} × outside ({})", theirs.shown()),
        aim: AIM,
        met: Some(ratio <= 1.05),
    })
}

const LIBRARY: &str = "//! Small.

/// The sum.
pub fn sum(numbers: &[u64]) -> u64 {
    numbers.iter().sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums() {
        assert_eq!(super::sum(&[1, 2, 3]), 6);
    }
}
";
