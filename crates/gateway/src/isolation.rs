//! Whether a sandbox has the level of isolation that policy demands. One that has less is closed before anything of the
//! agent's runs in it, and the refusal names the scope, what is missing and how it can be had. Nothing is retried or skipped.

use enclos_core::policy::{DemandedIsolation, Isolation, Policy};
use enclos_protocol::error::{ApiError, Fault};
use enclos_sandbox::{Level, Report};

/// Refuses an open sandbox that has less than policy demands. `whose` says what gives the level: this machine, or a host.
///
/// # Errors
/// As said.
pub(crate) fn check(policy: &Policy, report: &Report, whose: &str) -> Result<(), ApiError> {
    let Some(demanded) = unmet(policy, report) else { return Ok(()) };
    let message = format!(
        "the {} ({}) demands `execution.isolation = \"{}\"`, and {whose} gives `{}`: {}",
        demanded.scope,
        demanded.source,
        demanded.level,
        report.level.word(),
        report.missing.join("; ")
    );
    let error = ApiError::new(Fault::Usage, message);
    let error = report.mends().into_iter().fold(error, ApiError::hint);
    Err(error.hint("`enclos doctor` says which level a machine gives; nothing was run"))
}

/// What policy demands, where a sandbox has less.
pub(crate) fn unmet<'p>(policy: &'p Policy, report: &Report) -> Option<&'p DemandedIsolation> {
    let demanded = policy.settings().isolation.as_ref()?;
    let has = match report.level {
        Level::Standard => Isolation::Standard,
        Level::Hard => Isolation::Hard,
    };
    (demanded.level > has).then_some(demanded)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use enclos_core::policy::{Layer, Scope};
    use enclos_sandbox::{Enforcer, Workspace};

    use super::*;

    fn report(level: Level) -> Report {
        let hard = level == Level::Hard;
        Report {
            level,
            opened_in: Duration::ZERO,
            host_uid: if hard { 0x7000_0001 } else { 1000 },
            landlock_abi: 7,
            workspace: Workspace::Overlay,
            memory: if hard { Enforcer::Cgroup2 } else { Enforcer::Watchdog },
            processes: Enforcer::Cgroup2,
            cpus: Enforcer::Cgroup2,
            disk: if hard { Enforcer::Quota } else { Enforcer::Watchdog },
            missing: if hard { Vec::new() } else { vec!["disk: no quota".into()] },
        }
    }

    fn policy(level: &str) -> Policy {
        let text = format!("name = \"p\"\n[execution]\nisolation = \"{level}\"\n");
        Policy::load(&[Layer { scope: Scope::Group, source: "g.toml".to_owned(), text: &text }]).unwrap()
    }

    #[test]
    fn less_than_is_demanded_is_refused_with_scope_and_mend_and_all_else_is_taken() {
        for (demanded, has) in
            [("standard", Level::Standard), ("standard", Level::Hard), ("hard", Level::Hard)]
        {
            assert!(check(&policy(demanded), &report(has), "this machine").is_ok());
        }
        let error = check(&policy("hard"), &report(Level::Standard), "this machine").unwrap_err();
        assert_eq!(error.fault, Fault::Usage);
        for part in ["the group (g.toml)", "`execution.isolation = \"hard\"`", "gives `standard`", "no quota"]
        {
            assert!(error.message.contains(part), "{error:?}");
        }
        let hints = error.hints.join("\n");
        for part in ["usrquota", "Delegate=yes", "enclos host", "doctor"] {
            assert!(hints.contains(part), "{hints}");
        }
    }
}
