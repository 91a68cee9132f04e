//! Samples in milliseconds, and the two numbers that are told of them: the least and the middle one.

use std::process::Command;
use std::time::Instant;

use crate::process;

/// Measured times in milliseconds. Never empty.
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Takes the samples; none is an error.
    pub(crate) fn new(mut times: Vec<f64>) -> Result<Self, String> {
        times.sort_by(f64::total_cmp);
        if times.is_empty() { Err("no sample was taken".to_owned()) } else { Ok(Self(times)) }
    }

    /// The middle one.
    pub(crate) fn middle(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// The least and the middle one, as text.
    pub(crate) fn shown(&self) -> String {
        format!("{:.2} / {:.2} ms", self.0[0], self.middle())
    }
}

/// The wall time of a command that must end with exit code 0, in milliseconds.
pub(crate) fn timed(command: Command) -> Result<f64, String> {
    let name = process::shown(&command);
    let start = Instant::now();
    let output = process::output(command)?;
    let took = start.elapsed().as_secs_f64() * 1000.0;
    if output.status.success() {
        return Ok(took);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{name}` ended with {}: {}", output.status, said.lines().next().unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn the_least_and_the_middle_are_told() {
        let samples = Samples::new(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!(samples.shown(), "1.00 / 2.00 ms");
        assert!(Samples::new(vec![]).is_err());
    }
}
