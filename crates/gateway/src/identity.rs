//! Who the person is: on their own machine, the Unix user of this process.

use enclos_core::ids::UserId;

/// The person at this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    /// Their name in decisions and journal.
    pub user: UserId,
    /// Their number.
    pub uid: u32,
}

impl Person {
    /// The user that this process runs as. A number without a name is named `uid-N`.
    pub(crate) fn here() -> Self {
        let uid = rustix::process::getuid().as_raw();
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self { user: name_of(&accounts, uid), uid }
    }
}

fn name_of(accounts: &str, uid: u32) -> UserId {
    let matching = |line: &&str| line.split(':').nth(2).and_then(|text| text.parse().ok()) == Some(uid);
    let name = accounts.lines().find(matching).and_then(|line| line.split(':').next());
    UserId::new(name.filter(|name| !name.is_empty()).map_or_else(|| format!("uid-{uid}"), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_the_name_of_their_account_or_their_number() {
        let accounts = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/bash\n";
        assert_eq!(name_of(accounts, 1000), UserId::new("ada"));
        assert_eq!(name_of(accounts, 7), UserId::new("uid-7"));
    }
}
