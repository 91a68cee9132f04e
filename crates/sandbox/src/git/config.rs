//! The real configuration, read for a few switches with known values; and the private one, written by us. Includes,
//! hooks, filters, drivers, remotes and everything else in the real one are passed over. The one filter of the private one
//! is ours: it makes of a file that Git LFS keeps what git keeps of it, so that such a file does not look changed.
use super::STEP;
use crate::error::OpenError;
use std::collections::HashMap;
use std::fmt::Write;

/// Switches of `core` that say how files look on disk, with the values they may have.
const SWITCHES: [(&str, &[&str]); 5] = [
    ("filemode", &["true", "false"]),
    ("symlinks", &["true", "false"]),
    ("ignorecase", &["true", "false"]),
    ("autocrlf", &["true", "false", "input"]),
    ("eol", &["lf", "crlf", "native"]),
];

/// What is fixed in every private configuration: sizes and seconds decide what has changed, no program is run, nothing
/// is tidied up in the background.
const FIXED: &str = "\
[core]
\tbare = false
\tcheckStat = minimal
\ttrustctime = false
\thooksPath = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tlogAllRefUpdates = true
[user]
\tname = Enclos agent
\temail = agent@enclos.invalid
[gc]
\tauto = 0
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
[advice]
\tdetachedHead = false
";

/// What git keeps of a file of Git LFS: a pointer, with the digest and size of its content. A pointer stays one, and an
/// empty file is kept as it is. It runs in the sandbox only.
const LFS: &str = r#"[filter "lfs"]
	clean = "f=$(mktemp) || exit 1; trap 'rm -f \"$f\"' EXIT; cat >\"$f\" || exit 1; if ! [ -s \"$f\" ] || head -c 64 \"$f\" | grep -aq '^version https://git-lfs.github.com/spec/v1'; then cat \"$f\"; else printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' \"$(sha256sum <\"$f\" | cut -c1-64)\" \"$(wc -c <\"$f\")\"; fi"
	required = false
"#;

/// Keys of the plain sections, lower case, `section.key`; the last value counts.
#[derive(Debug, Default)]
pub(super) struct Config {
    values: HashMap<String, String>,
}

impl Config {
    /// Reads what it understands and passes over the rest.
    pub(super) fn parse(text: &str) -> Self {
        let mut section = String::new();
        let mut values = HashMap::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[') {
                let name = header.split(']').next().unwrap_or_default();
                // A section with a subsection is of no interest: no key is looked for under such a name.
                section = name.to_ascii_lowercase();
            } else if !line.starts_with(['#', ';'])
                && let Some((key, value)) = line.split_once('=')
            {
                let value = value.split(['#', ';']).next().unwrap_or_default().trim().trim_matches('"');
                values.insert(format!("{section}.{}", key.trim().to_ascii_lowercase()), value.to_owned());
            }
        }
        Self { values }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// `core.worktree`.
    pub(super) fn worktree(&self) -> Option<&str> {
        self.get("core.worktree")
    }

    fn sha256(&self) -> bool {
        self.get("extensions.objectformat").is_some_and(|format| format.eq_ignore_ascii_case("sha256"))
    }

    /// Digits of a hash in this repository.
    pub(super) fn hex_digits(&self) -> Result<usize, OpenError> {
        if self.get("extensions.refstorage").is_some_and(|kind| !kind.eq_ignore_ascii_case("files")) {
            let message = "the repository keeps its branches in a form that cannot be read here; \
                           `git refs migrate --ref-format=files` changes it";
            return Err(OpenError::new(STEP, message));
        }
        match self.get("extensions.objectformat").map(str::to_ascii_lowercase).as_deref() {
            None | Some("sha1") => Ok(40),
            Some("sha256") => Ok(64),
            Some(other) => Err(OpenError::new(STEP, format!("objects of the form `{other}` are unknown"))),
        }
    }

    /// The private configuration.
    pub(super) fn private(&self) -> String {
        let mut text = [FIXED, LFS].concat();
        let version = u8::from(self.sha256());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[core]\n\trepositoryformatversion = {version}");
        for (key, allowed) in SWITCHES {
            if let Some(value) = self.get(&format!("core.{key}")).map(str::to_ascii_lowercase)
                && allowed.contains(&value.as_str())
            {
                let _ = writeln!(text, "\t{key} = {value}");
            }
        }
        if self.sha256() {
            text.push_str("[extensions]\n\tobjectformat = sha256\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_switches_and_nothing_else() {
        let config = Config::parse(
            "[core]\n\tautoCRLF = input ; why\n filemode = maybe\n\tfsmonitor = touch /x\n\
             [core \"sub\"]\n eol = crlf\n[include]\n path = /etc/x\n[remote \"o\"]\n url = https://u:p@h\n",
        );
        let private = config.private();
        assert!(private.contains("\tautocrlf = input\n"));
        for never in ["touch", "maybe", "crlf\n\teol", "eol = crlf", "/etc/x", "u:p"] {
            assert!(!private.contains(never), "{never}");
        }
        assert_eq!(config.hex_digits().unwrap(), 40);
    }

    #[test]
    fn knows_object_formats() {
        let config = Config::parse("[extensions]\nobjectFormat = sha256\n");
        assert_eq!(config.hex_digits().unwrap(), 64);
        assert!(config.private().contains("repositoryformatversion = 1\n"));
        for odd in ["objectFormat = sha3", "refStorage = reftable"] {
            assert!(Config::parse(&format!("[extensions]\n{odd}\n")).hex_digits().is_err());
        }
    }
}
