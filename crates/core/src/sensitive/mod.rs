//! Files under dedicated control: what a change set never takes without a yes of its own, and what it never takes.
//!
//! Both are told by the path alone, as the least careful file system would read it: case, compatibility forms and
//! invisible characters do not count. Whether a link leaves the tree or a file became executable is for those who see
//! the file. The lists only name; nothing here looks into a file.

mod credentials;
mod fold;
mod names;
mod starting;

use serde::Serialize;

pub use credentials::holds_credentials;
use fold::folded;

/// The longest path, in bytes.
const MAX_PATH: usize = 4096;

/// Why a file is under dedicated control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// It tells a build service what to run.
    CiConfiguration,
    /// It runs, or decides what runs, when the project is built or tested.
    BuildScript,
    /// It runs when a person uses git.
    Hook,
    /// It names what the project depends on, or from where it is fetched.
    DependencyManifest,
    /// It fixes the versions of dependencies.
    LockFile,
    /// It instructs or configures an agent.
    AgentSettings,
    /// It configures an editor or a shell, and may run there.
    EditorSettings,
    /// It is the repository's own policy.
    EnclosPolicy,
    /// It decides how git reads and writes files.
    GitAttributes,
    /// It names other repositories to fetch.
    GitModules,
}

impl Flag {
    /// The words for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CiConfiguration => "CI configuration",
            Self::BuildScript => "build script",
            Self::Hook => "hook",
            Self::DependencyManifest => "dependency manifest",
            Self::LockFile => "lock file",
            Self::AgentSettings => "agent settings",
            Self::EditorSettings => "editor settings",
            Self::EnclosPolicy => "Enclos policy",
            Self::GitAttributes => "git attributes",
            Self::GitModules => "git modules",
        }
    }
}

/// Why a path can be in no change set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// It is empty, or one of its components is.
    #[error("a path and each of its parts must have a name")]
    Empty,
    /// It is over 4,096 bytes.
    #[error("a path must be at most {MAX_PATH} bytes long")]
    TooLong,
    /// It does not start at the root of the tree.
    #[error("a path must be relative to the root of the tree")]
    Absolute,
    /// It holds `.` or `..`.
    #[error("a path must name its place without `.` and `..`")]
    Dots,
    /// It holds a control character.
    #[error("a path must hold no control character")]
    Control,
    /// One of its components is, or is to some file system, `.git`.
    #[error("a path must not lead into a `.git`")]
    Git,
}

/// Why a change at `path`, relative to the root with `/` between components, needs a yes of its own. Empty: it does not.
pub fn flags(path: &str) -> Vec<Flag> {
    let parts: Vec<String> = path.split(['/', '\\']).filter(|part| !part.is_empty()).map(folded).collect();
    let Some((name, folders)) = parts.split_last() else { return Vec::new() };
    let mut flags: Vec<Flag> = names::of_name(name).chain(names::of_folders(folders, name)).collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

/// Why `path`, relative to the root with `/` between components, can be in no change set.
pub fn refused(path: &str) -> Option<Refusal> {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    if path.is_empty() {
        return Some(Refusal::Empty);
    }
    if path.len() > MAX_PATH {
        return Some(Refusal::TooLong);
    }
    if path.starts_with(['/', '\\']) || drive {
        return Some(Refusal::Absolute);
    }
    if path.chars().any(char::is_control) {
        return Some(Refusal::Control);
    }
    path.split('/').find_map(|part| match part {
        "" => Some(Refusal::Empty),
        "." | ".." => Some(Refusal::Dots),
        part if part.split('\\').any(|part| matches!(part, "." | "..")) => Some(Refusal::Dots),
        part if leads_to_git(part) => Some(Refusal::Git),
        _ => None,
    })
}

/// Whether a text, such as the target of a link, names a `.git` on its way.
pub fn leads_to_git(path: &str) -> bool {
    path.split(['/', '\\']).map(folded).any(|part| part == ".git" || part == "git~1")
}

#[cfg(test)]
mod tests {
    use super::{Flag, Refusal, flags, leads_to_git, refused};

    #[test]
    fn each_kind_of_control_is_named() {
        for (path, flag) in [
            (".github/workflows/ci.yml", Flag::CiConfiguration),
            ("sub/.gitlab-ci.yml", Flag::CiConfiguration),
            ("Jenkinsfile", Flag::CiConfiguration),
            ("build.rs", Flag::BuildScript),
            ("a/b/Makefile", Flag::BuildScript),
            ("docker/Dockerfile.dev", Flag::BuildScript),
            (".cargo/config.toml", Flag::BuildScript),
            ("vite.config.ts", Flag::BuildScript),
            (".husky/pre-commit", Flag::Hook),
            (".hg/hgrc", Flag::Hook),
            ("src/.bashrc", Flag::EditorSettings),
            (".Rprofile", Flag::EditorSettings),
            ("sitecustomize.py", Flag::BuildScript),
            ("lib/usercustomize.py", Flag::BuildScript),
            (".eslintrc.cjs", Flag::BuildScript),
            (".pylintrc", Flag::BuildScript),
            (".rspec", Flag::BuildScript),
            (".svn/entries", Flag::Hook),
            (".psqlrc", Flag::EditorSettings),
            ("home/.config/fish/config.fish", Flag::EditorSettings),
            (".ssh/rc", Flag::EditorSettings),
            (".emacs.d/init.el", Flag::EditorSettings),
            (".vim/plugin/x.vim", Flag::EditorSettings),
            (".gdbearlyinit", Flag::EditorSettings),
            (".Renviron", Flag::EditorSettings),
            ("Profile.ps1", Flag::EditorSettings),
            (".bashrc.local", Flag::EditorSettings),
            ("lib/x.pth", Flag::BuildScript),
            (".pre-commit-config.yaml", Flag::Hook),
            ("Cargo.toml", Flag::DependencyManifest),
            ("web/package.json", Flag::DependencyManifest),
            ("requirements-dev.txt", Flag::DependencyManifest),
            ("requirements/base.txt", Flag::DependencyManifest),
            (".npmrc", Flag::DependencyManifest),
            ("Cargo.lock", Flag::LockFile),
            ("go.sum", Flag::LockFile),
            ("anything.lock", Flag::LockFile),
            ("AGENTS.md", Flag::AgentSettings),
            ("sub/CLAUDE.md", Flag::AgentSettings),
            (".claude/settings.json", Flag::AgentSettings),
            (".mcp.json", Flag::AgentSettings),
            (".cursor/rules/a.mdc", Flag::AgentSettings),
            (".github/copilot-instructions.md", Flag::AgentSettings),
            (".vscode/tasks.json", Flag::EditorSettings),
            (".envrc", Flag::EditorSettings),
            ("sub/.editorconfig", Flag::EditorSettings),
            (".devcontainer/devcontainer.json", Flag::EditorSettings),
            (".enclos.toml", Flag::EnclosPolicy),
            (".gitattributes", Flag::GitAttributes),
            (".gitmodules", Flag::GitModules),
        ] {
            assert_eq!(flags(path), [flag], "{path}");
        }
        for path in [
            "src/main.rs",
            "README.md",
            "docs/makefile.md",
            "src/lock.rs",
            "hooks.rs",
            "github/workflows/x",
            "",
            "tests/data/a.txt",
        ] {
            assert_eq!(flags(path), [], "{path}");
        }
    }

    #[test]
    fn spelling_does_not_hide_a_name() {
        for path in [
            ".GitHub/Workflows/ci.yml",
            "MAKEFILE",
            "cargo.TOML",
            "\u{ff23}argo.toml",
            "car\u{200d}go.toml",
            "Cargo.toml. .",
            "Cargo.toml::$DATA",
            "\u{1d402}argo.toml",
            "ma\u{212a}efile",
            ".enclo\u{17f}.toml",
            ".vscode\\tasks.json",
        ] {
            assert_eq!(flags(path).len(), 1, "{path}");
        }
    }

    #[test]
    fn no_spelling_of_git_is_taken() {
        for path in [
            ".git",
            ".git/config",
            "a/.git/hooks/pre-commit",
            ".GIT/x",
            ".Git",
            "a/.giT/b",
            ".git.",
            ".git ",
            ".git. . /x",
            ".git::$INDEX_ALLOCATION/x",
            ".git:stream",
            "git~1/config",
            "GIT~1",
            ".g\u{200c}it/x",
            "\u{feff}.git",
            ".gi\u{ff54}",
            "\u{2024}git",
            "a\\.git\\config",
            ".\u{206a}git",
        ] {
            assert_eq!(refused(path), Some(Refusal::Git), "{path:?}");
            assert!(leads_to_git(path));
        }
        for path in
            [".github/x", ".gitignore", ".gitattributes", "git", "a.git", ".git2", "x/.gitkeep", "git~10"]
        {
            assert_eq!(refused(path), None, "{path}");
        }
        assert!(leads_to_git("../../.git/config") && !leads_to_git("../src"));
    }

    #[test]
    fn a_path_stays_within_its_tree_and_is_plain() {
        for (path, why) in [
            ("", Refusal::Empty),
            ("a//b", Refusal::Empty),
            ("a/", Refusal::Empty),
            ("/etc/passwd", Refusal::Absolute),
            ("\\x", Refusal::Absolute),
            ("C:/x", Refusal::Absolute),
            ("../x", Refusal::Dots),
            ("a/../b", Refusal::Dots),
            ("./a", Refusal::Dots),
            ("a\\..\\b", Refusal::Dots),
            ("a\nb", Refusal::Control),
            ("a\u{0}b", Refusal::Control),
            ("a\u{9b}b", Refusal::Control),
        ] {
            assert_eq!(refused(path), Some(why), "{path:?}");
        }
        assert_eq!(refused(&"a".repeat(5000)), Some(Refusal::TooLong));
        assert_eq!(refused("src/ünï code/(1).rs"), None);
    }
}
