//! Checks of this machine, by trying: a sandbox is opened on an empty folder, and the quickest escapes are tried in it.
//! Nothing is guessed from versions or settings; what could not be tried is said not to have been reached.
use crate::command::Command;
use crate::error::{OpenError, Step};
use crate::open::open;
use crate::plan::{Backend, Limits, Plan, Prefer};
use crate::report::{Enforcer, Level, Report, Workspace};
use crate::sandbox::Sandbox;
use crate::system::System;
use crate::{platform, remedy, state};
use std::io;
use std::path::{Path, PathBuf};

/// One check of `enclos doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was tried.
    pub name: String,
    /// How it went.
    pub outcome: Outcome,
    /// What was seen.
    pub detail: String,
    /// How to mend it, when it failed.
    pub remedy: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It works.
    Ok,
    /// It works with less than the best; the sandbox opens.
    Limited,
    /// It fails; no sandbox opens here, or an escape succeeded.
    Failed,
    /// Not tried, as an earlier one failed.
    NotReached,
}

/// The name of the check that tells the level.
pub(crate) const ISOLATION: &str = "isolation";

/// Quick escapes in bash alone: each prints `ESCAPED` when it worked.
const ESCAPES: [(&str, &str); 10] = [
    (
        "no network",
        "e=$( (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1 ); case $e in ''|*refused*|*unreachable*) echo ESCAPED;; esac; \
         while read -r n _; do case $n in lo:*|*'|'*|Inter*) ;; *:*) echo ESCAPED $n;; esac; done </proc/net/dev",
    ),
    (
        "root not writable",
        "for p in / /usr /usr/bin /etc /opt /dev /proc /run /var; do (: >$p/enclos-x) 2>/dev/null && echo ESCAPED $p; done",
    ),
    (
        "no privilege",
        "while read -r k v _; do case $k in Cap*) ((16#$v)) && echo ESCAPED $k;; NoNewPrivs:) ((v==1)) || echo ESCAPED;; \
         Seccomp:) ((v==2)) || echo ESCAPED;; esac; done </proc/self/status; [ $UID = 1000 ] || echo ESCAPED",
    ),
    (
        "no file of the host",
        "for f in /root /etc/shadow /etc/ssh /etc/machine-id /var/lib /sys /mnt /srv /home/*; do \
         [ $f = /home/agent ] || ! [ -e $f ] || echo ESCAPED $f; done; for f in ~/* ~/.[!.]*; do ! [ -e $f ] || echo ESCAPED; done",
    ),
    (
        "no process of the host",
        "n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; ((n<=4)) || echo ESCAPED $n; \
         (: </proc/1/environ) 2>/dev/null && echo ESCAPED; (: </proc/1/mem) 2>/dev/null && echo ESCAPED",
    ),
    (
        "no environment of the host",
        "[ $HOME = /home/agent ] && [ -z $SSH_AUTH_SOCK$DISPLAY$DBUS_SESSION_BUS_ADDRESS ] || echo ESCAPED",
    ),
    (
        "no descriptor of the host",
        "for f in /proc/self/fd/*; do case ${f##*/} in 0|1|2|3|255) ;; *) [ -e $f ] && echo ESCAPED $f;; esac; done",
    ),
    (
        "no kernel settings",
        "for f in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches; do (: >$f) 2>/dev/null && echo ESCAPED; done",
    ),
    (
        "no namespace of its own",
        "unshare -U true 2>/dev/null && echo ESCAPED; unshare -n true 2>/dev/null && echo ESCAPED; mount -t tmpfs x /tmp 2>/dev/null && echo ESCAPED",
    ),
    (
        "workspace is a copy",
        "echo x >/workspace/enclos-probe || echo ESCAPED; rm /workspace/kept || echo ESCAPED",
    ),
];

/// Says what machine this is, tries every step for real, then the quickest escapes. In a container the names of the checks
/// begin with its engine's.
pub fn probe(backend: &Backend) -> Vec<Check> {
    match backend {
        Backend::Namespaces => {
            let machine = Check {
                name: "machine".into(),
                outcome: Outcome::Ok,
                detail: System::here().to_string(),
                remedy: None,
            };
            [machine].into_iter().chain(trial(backend)).collect()
        }
        Backend::Oci(oci) => {
            let word = oci.engine.word();
            let mut checks = trial(backend);
            for check in &mut checks {
                check.name = format!("{word}: {}", check.name);
            }
            checks
        }
    }
}

fn trial(backend: &Backend) -> Vec<Check> {
    let mut checks = Vec::new();
    match Folders::make() {
        Ok(folders) => {
            checks.extend(with(&folders, backend));
            folders.remove();
        }
        Err(error) => checks.push(Check {
            name: Step::Layer.name().into(),
            outcome: Outcome::Failed,
            detail: format!("no folder can be made for the trial: {error}"),
            remedy: Some("make sure that TMPDIR is a folder that can be written".into()),
        }),
    }
    checks
}

fn with(folders: &Folders, backend: &Backend) -> Vec<Check> {
    let plan = Plan {
        workspace: folders.workspace(),
        over: None,
        owner: None,
        layer: folders.layer(),
        hidden: Vec::new(),
        masked: Vec::new(),
        git: None,
        mounts: Vec::new(),
        environment: Vec::new(),
        limits: Limits::default(),
        backend: backend.clone(),
        workspace_by: Prefer::Overlay,
    };
    let in_container = *backend != Backend::Namespaces;
    match open(&plan) {
        Err(error) => steps(Some(&error), None, in_container),
        Ok(sandbox) => {
            let mut checks = steps(None, Some(sandbox.report()), in_container);
            checks.push(level(sandbox.report()));
            checks.extend(ESCAPES.iter().map(|(name, text)| escape(&sandbox, name, text)));
            sandbox.close();
            let untouched = folders.workspace().join("kept").exists()
                && !folders.workspace().join("enclos-probe").exists();
            checks.push(verdict("repository untouched", untouched, "writes went to the layer"));
            checks
        }
    }
}

fn steps(failed: Option<&OpenError>, report: Option<&Report>, in_container: bool) -> Vec<Check> {
    Step::ALL
        .iter()
        .filter(|step| in_container || **step != Step::Engine)
        .map(|step| {
            let (outcome, detail, remedy) = match failed {
                Some(error) if error.step == *step => {
                    (Outcome::Failed, error.to_string(), Some(error.remedy()))
                }
                Some(error) if error.step < *step => (Outcome::NotReached, String::new(), None),
                _ => {
                    let (outcome, detail) = detail(*step, report);
                    let without_groups = report.is_some_and(|report| report.memory == Enforcer::Watchdog);
                    let remedy = (*step == Step::Limits && without_groups).then(remedy::ceilings);
                    (outcome, detail, remedy)
                }
            };
            Check { name: step.name().into(), outcome, detail, remedy }
        })
        .collect()
}

/// The level that this machine gives, as a policy may demand it.
fn level(report: &Report) -> Check {
    let outcome = if report.level == Level::Hard { Outcome::Ok } else { Outcome::Limited };
    let detail = match report.level {
        Level::Hard => "hard: `execution.isolation = \"hard\"` of a policy is met".to_owned(),
        Level::Standard => {
            format!(
                "standard: a policy with `execution.isolation = \"hard\"` opens no session here; {}",
                report.missing.join("; ")
            )
        }
    };
    let remedy = (outcome == Outcome::Limited).then(|| report.mends().join("\n"));
    Check { name: ISOLATION.into(), outcome, detail, remedy }
}

fn detail(step: Step, report: Option<&Report>) -> (Outcome, String) {
    let Some(report) = report else { return (Outcome::Ok, String::new()) };
    match step {
        Step::Landlock => (Outcome::Ok, format!("version {}", report.landlock_abi)),
        Step::Namespaces => (Outcome::Ok, format!("user {} outside", report.host_uid)),
        Step::IdMap if report.host_uid == rustix::process::geteuid().as_raw() => {
            (Outcome::Ok, "not needed for a plain user".into())
        }
        Step::Limits => {
            let held = format!(
                "memory {}, processes {}, processors {}, disk {}",
                report.memory.word(),
                report.processes.word(),
                report.cpus.word(),
                report.disk.word()
            );
            let weak = [report.memory, report.processes, report.cpus]
                .into_iter()
                .any(|held| !matches!(held, Enforcer::Cgroup1 | Enforcer::Cgroup2));
            (if weak { Outcome::Limited } else { Outcome::Ok }, held)
        }
        Step::Workspace => match &report.workspace {
            Workspace::Overlay => (Outcome::Ok, String::new()),
            Workspace::Copy(copied) => (Outcome::Limited, format!("a copy, since {}", copied.since)),
        },
        Step::Ready => (Outcome::Ok, format!("open in {:.1} ms", report.opened_in.as_secs_f64() * 1000.0)),
        _ => (Outcome::Ok, String::new()),
    }
}

impl Enforcer {
    /// One or two words for a report.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cgroup2 => "cgroup v2",
            Self::Cgroup1 => "cgroup v1",
            Self::Rlimit => "rlimit",
            Self::Watchdog => "watchdog",
            Self::Affinity => "affinity",
            Self::Quota => "quota",
        }
    }
}

fn escape(sandbox: &Sandbox, name: &str, text: &str) -> Check {
    let mut output = Vec::new();
    let exit = sandbox.run(&Command { seconds: Some(10), ..Command::new(text) }, &mut |_, bytes| {
        output.extend_from_slice(bytes);
    });
    let output = String::from_utf8_lossy(&output);
    match exit {
        Ok(exit) if exit.killed.is_none() => verdict(name, !output.contains("ESCAPED"), output.trim()),
        Ok(_) => verdict(name, false, "the trial did not end"),
        Err(error) => verdict(name, false, &error.to_string()),
    }
}

fn verdict(name: &str, held: bool, detail: &str) -> Check {
    let outcome = if held { Outcome::Ok } else { Outcome::Failed };
    let detail = if held { String::new() } else { detail.escape_debug().take(200).collect() };
    let remedy = (!held).then(|| "do not use Enclos on this machine, and report this".to_owned());
    Check { name: format!("escape: {name}"), outcome, detail, remedy }
}

/// The folders of the trial, gone afterwards.
struct Folders(PathBuf);

impl Folders {
    fn make() -> io::Result<Self> {
        let mut seed = [0u8; 8];
        platform::random(&mut seed)?;
        let name = format!("enclos-probe-{:016x}", u64::from_le_bytes(seed));
        let folders = Self(std::env::temp_dir().join(name));
        std::fs::create_dir(&folders.0)?;
        std::fs::create_dir(folders.workspace())?;
        std::fs::write(folders.workspace().join("kept"), "kept\n")?;
        Ok(folders)
    }

    fn workspace(&self) -> PathBuf {
        self.0.join("repository")
    }

    fn layer(&self) -> PathBuf {
        self.0.join("layer")
    }

    fn remove(&self) {
        // What is left of a trial in the temporary folder does no harm.
        let _ = state::remove_layer(Path::new(&self.0));
    }
}
