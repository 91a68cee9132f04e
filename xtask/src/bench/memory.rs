//! The memory of a program and of everything it started, watched in /proc while it runs.

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::process;

/// Peaks of resident memory in KiB.
pub(crate) struct Peak {
    /// Of the program itself, as the kernel kept it.
    pub(crate) process: u64,
    /// Of the program and all below it, as seen every few milliseconds.
    pub(crate) tree: u64,
}

/// Runs the command to its end and watches it. Pages that processes share are counted for each.
pub(crate) fn peak(mut command: Command) -> Result<Peak, String> {
    let name = process::shown(&command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    let id = u64::from(child.id());
    let mut peak = Peak { process: 0, tree: 0 };
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("`{name}` was lost: {error}"))? {
            let seen = status.success() && peak.process > 0;
            return if seen { Ok(peak) } else { Err(format!("`{name}` ended with {status}")) };
        }
        let own = status_of(id).map_or(0, |text| field(&text, "VmHWM:"));
        peak.process = peak.process.max(own);
        peak.tree = peak.tree.max(tree(id)).max(own);
        sleep(Duration::from_millis(3));
    }
}

/// The resident memory of a process and all below it, in KiB.
fn tree(top: u64) -> u64 {
    let mut parents: HashMap<u64, (u64, u64)> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let id = entry.file_name().to_string_lossy().parse();
        if let Ok(id) = id
            && let Some(text) = status_of(id)
        {
            parents.insert(id, (field(&text, "PPid:"), field(&text, "VmRSS:")));
        }
    }
    let within = |mut id: u64| {
        for _ in 0..64 {
            if id == top {
                return true;
            }
            match parents.get(&id) {
                Some(&(parent, _)) => id = parent,
                None => return false,
            }
        }
        false
    };
    parents.iter().filter(|&(&id, _)| within(id)).map(|(_, &(_, memory))| memory).sum()
}

fn status_of(id: u64) -> Option<String> {
    fs::read_to_string(format!("/proc/{id}/status")).ok()
}

/// The number after the name of a field; 0 when there is none.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        let id = u64::from(std::process::id());
        assert!(tree(id) > 0);
        assert!(field(&status_of(id).unwrap(), "VmHWM:") > 0);
        assert_eq!(field("", "VmHWM:"), 0);
    }

    #[test]
    fn a_program_that_fails_gives_no_figure() {
        assert!(peak(process::command("false")).is_err());
    }
}
