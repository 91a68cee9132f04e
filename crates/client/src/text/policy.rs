//! The words of saved policies and their versions.

use enclos_protocol::report::{PolicySaved, PolicyVersion};

/// The heads of the listing of versions.
pub(crate) const VERSION_HEADS: [&str; 6] = ["SCOPE", "VERSION", "SAVED", "HOW", "AUTHOR", "DIGEST"];
/// No version at all.
pub(crate) const NO_VERSIONS_YET: &str = "no policy was saved yet: enclos policy apply FILE saves one";
/// `policy apply` without a file.
pub(crate) const APPLY_NEEDS_A_FILE: &str = "there is nothing to save: expected a policy file, or `--remove`";
/// How to name one.
pub(crate) const APPLY_FILE_HINT: &str = "for example: enclos policy apply policy.toml --scope group acme";
/// A text that is no version.
pub(crate) const NO_VERSION: &str = "none: the text is not understood";
/// Of what scope.
pub(crate) const SHOWN_SCOPE: &str = "scope";
/// In which file.
pub(crate) const SHOWN_FILE: &str = "file";
/// Which version.
pub(crate) const SHOWN_VERSION: &str = "version";
/// SHA-256 of a text.
pub(crate) const FILE_DIGEST: &str = "file digest";
/// The digest of a whole policy, which decisions and journals name.
pub(crate) const POLICY_DIGEST: &str = "policy digest";

/// The digest of a file, as every command names it.
pub(crate) fn file_digest(digest: &str) -> String {
    format!("{FILE_DIGEST}    {digest}")
}

/// The digest of a policy, as every command names it.
pub(crate) fn policy_digest(digest: &str) -> String {
    format!("{POLICY_DIGEST}  {digest}")
}

/// What was saved.
pub(crate) fn policy_saved(saved: &PolicySaved) -> String {
    let PolicySaved { scope, version, .. } = saved;
    let restored =
        saved.restored.map_or_else(String::new, |number| format!(", with the text of version {number}"));
    if saved.changed && saved.removed {
        format!(
            "the {scope} has no policy of its own any more (version {version}); sessions at work take that at their next call"
        )
    } else if saved.changed {
        format!(
            "version {version} of the {scope} is in force{restored}; sessions at work take it at their next call"
        )
    } else {
        format!("version {version} of the {scope} is in force already: nothing was changed")
    }
}

/// What gives more room without a policy.
pub(crate) fn looser(line: &str) -> String {
    format!("looser now: {line}")
}

/// A version and who made it.
pub(crate) fn version_by(version: &PolicyVersion) -> String {
    format!("{} by {}, {}, {}", version.version, version.author, version.how, super::minute(&version.time))
}
