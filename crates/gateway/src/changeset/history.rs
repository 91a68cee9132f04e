//! The history of the person's repository, for an execution host that lacks it: which commit is checked out, and a pack
//! of what completes the commits that the host has.
//!
//! A history that is not whole here (a shallow or partial clone) is none.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use enclos_sandbox::host::Naming;

use super::git::Git;

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The commit.
    pub(crate) commit: String,
    /// How objects are named.
    pub(crate) naming: Naming,
    /// The branch, whole (`refs/heads/…`); none for a detached head.
    pub(crate) branch: Option<String>,
}

/// Looks at what is checked out. `None`: no git, no commit, or no whole history.
pub(crate) fn head(repository: &Path) -> Option<Head> {
    let git = Git::new(repository);
    let line = |arguments: &[&str]| {
        let answer = git.ask(arguments).ok()?;
        Some(String::from_utf8(answer).ok()?.trim_end().to_owned())
    };
    // Not the repository of a folder above.
    let top = line(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != repository.canonicalize().ok()? {
        return None;
    }
    if line(&["rev-parse", "--is-shallow-repository"])? != "false" {
        return None;
    }
    let naming = match line(&["rev-parse", "--show-object-format"])?.as_str() {
        "sha1" => Naming::Sha1,
        "sha256" => Naming::Sha256,
        _ => return None,
    };
    let commit = line(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?;
    let branch = line(&["symbolic-ref", "--quiet", "HEAD"]).filter(|name| name.starts_with("refs/heads/"));
    Some(Head { commit, naming, branch })
}

/// A pack as git writes it.
#[derive(Debug)]
pub(crate) struct History {
    child: Child,
}

impl History {
    /// The pack that completes what is known from the commits `have` to the history of `commit`.
    pub(crate) fn pack(repository: &Path, commit: &str, have: &[String]) -> io::Result<Self> {
        let git = Git::new(repository);
        let known: Vec<&String> = have
            .iter()
            .filter(|name| matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .filter(|name| git.ask(&["cat-file", "-e", &format!("{name}^{{commit}}")]).is_ok())
            .collect();
        let arguments = ["pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q"];
        let mut child = git.start(&arguments, Stdio::piped())?;
        let mut wanted = format!("{commit}\n");
        for name in known {
            wanted.extend(["^", name, "\n"]);
        }
        if let Some(mut to) = child.stdin.take() {
            to.write_all(wanted.as_bytes())?;
        }
        Ok(Self { child })
    }
}

impl Read for History {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.child.stdout {
            Some(from) => from.read(into)?,
            None => 0,
        };
        // The end of what git writes is an end only when git says so.
        if read == 0 && !into.is_empty() && !self.child.wait()?.success() {
            return Err(io::Error::other("git cannot read the history"));
        }
        Ok(read)
    }
}

impl Drop for History {
    fn drop(&mut self) {
        // It has ended, or is ended by this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
