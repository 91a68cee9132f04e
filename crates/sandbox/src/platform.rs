//! Who runs this, on what. Read once per opening; decides between the two ways to be somebody else inside: as root a
//! user number of the sandbox's own, as a plain user that user alone.
use crate::error::OpenError;
use enclos_init::wire::Step;
use rustix::thread::CapabilitySet;
use std::io::{self, Read};

/// First and last of the host's user numbers that root gives to sandboxes. No system hands these out otherwise.
const OWN_UIDS: (u32, u32) = (0x7000_0000, 0x7FFF_FFF0);
/// The oldest kernel that will do: Landlock version 2, mount attributes, `close_range`.
const OLDEST_KERNEL: (u32, u32) = (5, 19);

/// Who the gateway is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Root: files are given to, and processes run as, a number of the sandbox's own.
    Root,
    /// A user and group that can be nobody else: a plain user, number 0 without the power that goes with it, or number 0
    /// of a container.
    User(u32, u32),
}

/// What root needs to run processes as somebody else, on files that are given to them.
const POWER: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::KILL);

/// Who runs this process.
pub(crate) fn identity() -> Identity {
    let uid = rustix::process::geteuid();
    if uid.is_root() && has_power() && whole_machine() {
        Identity::Root
    } else {
        Identity::User(uid.as_raw(), rustix::process::getegid().as_raw())
    }
}

fn has_power() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(POWER))
}

/// Whether this user namespace is the machine's first: every number stands for itself.
fn whole_machine() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Refuses a kernel that is too old.
pub(crate) fn check() -> Result<(), OpenError> {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    if version(&release).is_some_and(|found| found >= OLDEST_KERNEL) {
        return Ok(());
    }
    let (major, minor) = OLDEST_KERNEL;
    Err(OpenError::new(
        Step::Platform,
        format!("the kernel is `{release}`, {major}.{minor} or later is needed"),
    ))
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether a user number is one of those that root gives to sandboxes.
pub(crate) fn is_own_uid(uid: u32) -> bool {
    (OWN_UIDS.0..=OWN_UIDS.1).contains(&uid)
}

/// A user number for a new layer, by chance: two sessions have the same one in a case of many millions.
pub(crate) fn new_uid() -> io::Result<u32> {
    let mut bytes = [0; 4];
    random(&mut bytes)?;
    Ok(OWN_UIDS.0 + u32::from_le_bytes(bytes) % (OWN_UIDS.1 - OWN_UIDS.0 + 1))
}

/// Fills in bytes by chance.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

/// A whole small file as text; longer than `most` bytes is an error.
pub(crate) fn small_text(file: std::fs::File, most: u64) -> io::Result<String> {
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {most} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kernel_versions() {
        assert_eq!(version("6.18.44-fc-v657"), Some((6, 18)));
        assert_eq!(version("5.4-rc1"), Some((5, 4)));
        assert_eq!(version("odd"), None);
    }

    #[test]
    fn own_numbers_are_far_from_those_of_persons() {
        for _ in 0..100 {
            assert!(is_own_uid(new_uid().unwrap()));
        }
        assert!(!is_own_uid(0) && !is_own_uid(1000) && !is_own_uid(65_534) && !is_own_uid(1_000_000));
    }
}
