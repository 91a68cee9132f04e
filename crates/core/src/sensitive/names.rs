//! The names of files under dedicated control, in lower case.
//!
//! They count at any depth: a repository may hold many projects.

use super::Flag;
use super::Flag::{
    AgentSettings, BuildScript, CiConfiguration, DependencyManifest, EditorSettings, EnclosPolicy,
    GitAttributes, GitModules, Hook, LockFile,
};

/// Files by their whole name.
const NAMES: &[(Flag, &[&str])] = &[
    (
        CiConfiguration,
        &[
            ".gitlab-ci.yml",
            ".gitlab-ci.yaml",
            ".travis.yml",
            ".drone.yml",
            ".woodpecker.yml",
            ".woodpecker.yaml",
            ".cirrus.yml",
            ".cirrus.star",
            "appveyor.yml",
            ".appveyor.yml",
            "bitbucket-pipelines.yml",
            "cloudbuild.yaml",
            "cloudbuild.yml",
            "buildspec.yml",
            "buildspec.yaml",
            "azure-pipelines.yml",
            "azure-pipelines.yaml",
            "jenkinsfile",
            "dependabot.yml",
            "dependabot.yaml",
            "renovate.json",
            "renovate.json5",
            ".renovaterc",
            ".renovaterc.json",
            "netlify.toml",
            "vercel.json",
            "fly.toml",
            ".goreleaser.yml",
            ".goreleaser.yaml",
            "release-please-config.json",
            ".releaserc",
            ".releaserc.json",
        ],
    ),
    (
        BuildScript,
        &[
            "build.rs",
            "build.zig",
            "build.sh",
            "build.xml",
            "build.sbt",
            "makefile",
            "gnumakefile",
            "bsdmakefile",
            "makefile.am",
            "makefile.in",
            "cmakelists.txt",
            "cmakepresets.json",
            "meson.build",
            "meson_options.txt",
            "build",
            "build.bazel",
            "workspace",
            "workspace.bazel",
            "module.bazel",
            ".bazelrc",
            "sconstruct",
            "sconscript",
            "wscript",
            "configure",
            "configure.ac",
            "configure.in",
            "gradlew",
            "gradlew.bat",
            "gradle.properties",
            "mvnw",
            "mvnw.cmd",
            "setup.py",
            "conftest.py",
            "sitecustomize.py",
            "usercustomize.py",
            "noxfile.py",
            "tox.ini",
            "pytest.ini",
            "rakefile",
            "justfile",
            ".justfile",
            "taskfile.yml",
            "taskfile.yaml",
            "dockerfile",
            "containerfile",
            "docker-compose.yml",
            "docker-compose.yaml",
            "compose.yml",
            "compose.yaml",
            "vagrantfile",
            "rust-toolchain",
            "rust-toolchain.toml",
            "flake.nix",
            "default.nix",
            "shell.nix",
            "earthfile",
            "gulpfile.js",
            "gulpfile.ts",
            "gruntfile.js",
            "binding.gyp",
            ".babelrc",
            ".swcrc",
            "turbo.json",
            "nx.json",
            "lerna.json",
            ".mocharc.js",
            ".mocharc.json",
            "procfile",
            "tiltfile",
            "skaffold.yaml",
        ],
    ),
    (
        Hook,
        &[
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            ".pre-commit-hooks.yaml",
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            ".lefthook.yml",
            ".lefthook.yaml",
            "lefthook-local.yml",
            ".overcommit.yml",
            ".huskyrc",
            ".huskyrc.json",
            ".lintstagedrc",
            ".lintstagedrc.json",
            ".simple-git-hooks.json",
            "captainhook.json",
            "grumphp.yml",
        ],
    ),
    (
        DependencyManifest,
        &[
            "cargo.toml",
            "package.json",
            "pnpm-workspace.yaml",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            "bunfig.toml",
            "deno.json",
            "deno.jsonc",
            "import_map.json",
            "jsr.json",
            "pyproject.toml",
            "setup.cfg",
            "pipfile",
            "constraints.txt",
            "environment.yml",
            "environment.yaml",
            "pip.conf",
            ".pypirc",
            "uv.toml",
            "go.mod",
            "go.work",
            "gemfile",
            "composer.json",
            "auth.json",
            "pom.xml",
            "mix.exs",
            "rebar.config",
            "package.swift",
            "podfile",
            "cartfile",
            "packages.config",
            "nuget.config",
            "directory.build.props",
            "directory.build.targets",
            "directory.packages.props",
            "global.json",
            "paket.dependencies",
            "pubspec.yaml",
            "conanfile.py",
            "conanfile.txt",
            "vcpkg.json",
            "stack.yaml",
            "cabal.project",
            "brewfile",
            "libs.versions.toml",
            "deps.edn",
            "project.clj",
            "dub.json",
            "dub.sdl",
            "shard.yml",
        ],
    ),
    (
        LockFile,
        &[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "pnpm-lock.yaml",
            "bun.lockb",
            "go.sum",
            "go.work.sum",
            "package.resolved",
            "cartfile.resolved",
            "packages.lock.json",
            "gradle.lockfile",
            "cabal.project.freeze",
            "verification-metadata.xml",
            "pylock.toml",
            ".terraform.lock.hcl",
        ],
    ),
    (
        AgentSettings,
        &[
            "agents.md",
            "agent.md",
            "agents.override.md",
            "claude.md",
            "claude.local.md",
            "gemini.md",
            "copilot-instructions.md",
            ".mcp.json",
            "mcp.json",
            ".cursorrules",
            ".cursorignore",
            ".windsurfrules",
            ".clinerules",
            ".roorules",
            ".roomodes",
            ".goosehints",
            ".aider.conf.yml",
            ".aiderignore",
            "opencode.json",
            "opencode.jsonc",
            ".crush.json",
            "skill.md",
            "warp.md",
        ],
    ),
    (
        EditorSettings,
        &[
            ".envrc",
            "devcontainer.json",
            ".devcontainer.json",
            ".editorconfig",
            ".exrc",
            ".vimrc",
            ".nvimrc",
            ".nvim.lua",
            ".lvimrc",
            ".dir-locals.el",
            ".dir-locals-2.el",
            ".projectile",
            ".tool-versions",
            "mise.toml",
            ".mise.toml",
            ".mise.local.toml",
            "mise.local.toml",
            ".rtx.toml",
            ".autoenv.zsh",
            ".env.zsh",
            ".gdbinit",
            ".lldbinit",
            ".luarc.json",
            ".nvmrc",
            ".python-version",
            ".ruby-version",
            ".node-version",
            ".ycm_extra_conf.py",
            ".replit",
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".inputrc",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".pythonrc",
            ".pdbrc",
            ".irbrc",
            ".rdebugrc",
            ".rprofile",
        ],
    ),
    (EnclosPolicy, &[".enclos.toml"]),
    (GitAttributes, &[".gitattributes", ".lfsconfig", ".gitconfig"]),
    (GitModules, &[".gitmodules"]),
];

/// Files by the end of their name.
const ENDS: &[(Flag, &[&str])] = &[
    (CiConfiguration, &[".gitlab-ci.yml", ".gitlab-ci.yaml", ".jenkinsfile"]),
    (
        BuildScript,
        &[
            ".mk",
            ".mak",
            ".cmake",
            ".bzl",
            ".gradle",
            ".gradle.kts",
            ".pth",
            ".dockerfile",
            ".ninja",
            ".gyp",
            ".gypi",
            ".podspec",
        ],
    ),
    (
        DependencyManifest,
        &[".gemspec", ".csproj", ".fsproj", ".vbproj", ".vcxproj", ".cabal", ".nuspec", ".rockspec", ".opam"],
    ),
    (LockFile, &[".lock"]),
    (EditorSettings, &[".code-workspace", ".sublime-project", ".sublime-workspace"]),
];

/// Files by the beginning of their name.
const BEGINS: &[(Flag, &[&str])] = &[
    (CiConfiguration, &["jenkinsfile.", "azure-pipelines-", "azure-pipelines."]),
    (BuildScript, &["dockerfile.", "containerfile.", "docker-compose.", "compose."]),
    (AgentSettings, &[".aider."]),
];

/// Folders that are under control with all that is in them.
const FOLDERS: &[(Flag, &[&str])] = &[
    (
        CiConfiguration,
        &[
            ".circleci",
            ".buildkite",
            ".teamcity",
            ".semaphore",
            ".woodpecker",
            ".azure-pipelines",
            ".gitlab",
            ".ci",
            ".tekton",
            ".argo",
        ],
    ),
    (BuildScript, &[".cargo", ".mvn", ".yarn"]),
    (Hook, &[".husky", ".githooks", "githooks", ".git-hooks", "git-hooks", ".lefthook", ".hg"]),
    (
        AgentSettings,
        &[
            ".claude",
            ".cursor",
            ".windsurf",
            ".continue",
            ".codex",
            ".gemini",
            ".junie",
            ".roo",
            ".kiro",
            ".amazonq",
            ".opencode",
            ".goose",
            ".agents",
            ".agent",
            ".aider",
            ".crush",
            ".augment",
            ".trae",
            ".qwen",
            ".factory",
        ],
    ),
    (EditorSettings, &[".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".vs", ".direnv", ".nvim"]),
];

/// Configuration that bundlers and test runners execute: `NAME.config.EXT`.
const CONFIGURED: &[&str] = &["js", "cjs", "mjs", "ts", "cts", "mts"];

/// What a file's own name says of it.
pub(super) fn of_name(name: &str) -> impl Iterator<Item = Flag> {
    let named = listed(NAMES, move |listed| listed == name);
    let ending = listed(ENDS, move |end| name.len() > end.len() && name.ends_with(end));
    let beginning = listed(BEGINS, move |begin| name.starts_with(begin));
    let configured = name.rsplit_once('.').and_then(|(stem, end)| {
        (stem.ends_with(".config") && CONFIGURED.contains(&end)).then_some(BuildScript)
    });
    let requirements = (name.starts_with("requirements")
        && matches!(name.rsplit('.').next(), Some("txt" | "in")))
    .then_some(DependencyManifest);
    named.chain(ending).chain(beginning).chain(configured).chain(requirements)
}

/// What the folders of a file say of it.
pub(super) fn of_folders<'p>(folders: &'p [String], name: &'p str) -> impl Iterator<Item = Flag> + 'p {
    let within = listed(FOLDERS, |listed| folders.iter().any(|folder| folder == listed));
    let pairs = folders.windows(2).filter_map(|pair| match pair {
        [forge, inside] => of_forge(forge, inside),
        _ => None,
    });
    let last = folders.last().map_or("", String::as_str);
    let wrapper = (last == "wrapper" && name.starts_with("gradle-wrapper.")).then_some(BuildScript);
    let requirements =
        (last == "requirements" && name.rsplit('.').next() == Some("txt")).then_some(DependencyManifest);
    let vendored = (last == "vendor" && name == "modules.txt").then_some(LockFile);
    within.chain(pairs).chain(wrapper).chain(requirements).chain(vendored)
}

/// What a folder of a forge holds.
fn of_forge(forge: &str, inside: &str) -> Option<Flag> {
    if !matches!(forge, ".github" | ".gitea" | ".forgejo") {
        return None;
    }
    match inside {
        "workflows" | "actions" => Some(CiConfiguration),
        "instructions" | "prompts" | "agents" | "chatmodes" | "skills" | "hooks" => Some(AgentSettings),
        _ => None,
    }
}

fn listed(
    table: &'static [(Flag, &'static [&'static str])],
    is: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Flag> {
    table.iter().filter(move |(_, names)| names.iter().any(|name| is(name))).map(|(flag, _)| *flag)
}
