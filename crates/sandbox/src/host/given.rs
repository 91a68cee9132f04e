//! What a host makes of a gateway's wish: ceilings that are never higher than its own, and the git directory for the sandbox.
use super::base::Base;
use super::orders::Wish;
use crate::plan::Limits;
use std::io;
use std::path::Path;

/// Most bytes that are kept of a command's output, whatever a gateway wants.
const OUTPUT: u64 = 64 << 20;
/// What a gateway wants, but no more of this machine than a sandbox is given by default: it is not the gateway's.
pub(super) fn within(wanted: &Limits) -> Limits {
    let most = Limits::default();
    Limits {
        command_seconds: wanted.command_seconds,
        output_bytes: wanted.output_bytes.min(OUTPUT),
        memory_bytes: wanted.memory_bytes.min(most.memory_bytes),
        processes: wanted.processes.min(most.processes),
        cpus: wanted.cpus.min(most.cpus),
        disk_bytes: wanted.disk_bytes.min(most.disk_bytes),
    }
}

/// A git directory for the sandbox to take in: one branch, the commit's index, the history of the mirror.
pub(super) fn write_git(git: &Path, base: &Base, wish: &Wish) -> io::Result<()> {
    let Some(commit) = &wish.base else { return Ok(()) };
    std::fs::create_dir_all(git.join("objects/info"))?;
    let (head, refs) = match &wish.branch {
        Some(branch) => (format!("ref: {branch}\n"), format!("{} {branch}\n", commit.commit)),
        None => (format!("{}\n", commit.commit), String::new()),
    };
    let config = match commit.naming {
        super::Naming::Sha1 => "[core]\n\tfilemode = true\n",
        super::Naming::Sha256 => "[core]\n\tfilemode = true\n[extensions]\n\tobjectformat = sha256\n",
    };
    std::fs::write(git.join("HEAD"), head)?;
    std::fs::write(git.join("packed-refs"), refs)?;
    std::fs::write(git.join("config"), config)?;
    let objects = base.objects().canonicalize()?;
    std::fs::write(git.join("objects/info/alternates"), format!("{}\n", objects.display()))?;
    std::fs::copy(base.index(), git.join("index")).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_given_no_more_of_the_machine_than_it_wants_and_no_more_than_there_is() {
        let most = Limits::default();
        let all = Limits {
            command_seconds: 7,
            output_bytes: u64::MAX,
            memory_bytes: u64::MAX,
            processes: u32::MAX,
            cpus: u32::MAX,
            disk_bytes: u64::MAX,
        };
        assert_eq!(within(&all), Limits { command_seconds: 7, output_bytes: OUTPUT, ..most.clone() });
        let little =
            Limits { memory_bytes: 64 << 20, processes: 16, cpus: 1, disk_bytes: 2 << 20, ..most.clone() };
        assert_eq!(within(&little), little);
    }
}
