//! What a command names in the workspace, as it is now: an approval is bound to it, and the card shows it resolved.
//!
//! The reader of commands gives the words; the sandbox says what they lead to. Some programs read files that no word
//! names, such as `make` its Makefile: those that everybody knows are added. What a script reads when it runs is not
//! known here, and SECURITY.md says so.

use enclos_protocol::card::Flagged;
use enclos_sandbox::file::Looked;
use serde_json::{Value, json};

use super::Live;
use super::judge::Decided;
use crate::changes;
use crate::effects::{self, Action};

/// Paths that a card lists of a command.
const MOST_LISTED: usize = 40;

/// What programs read without being told.
const IMPLIED: [(&[&str], &[&str]); 16] = [
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["npm", "npx", "yarn", "pnpm", "bun", "node"], &["package.json", ".npmrc", ".yarnrc.yml"]),
    (&["cargo"], &["Cargo.toml", "Cargo.lock", "build.rs", ".cargo"]),
    (&["rustc"], &["rust-toolchain", "rust-toolchain.toml"]),
    (
        &["python", "python3", "pytest", "tox", "nox"],
        &["conftest.py", "pyproject.toml", "setup.cfg", "tox.ini"],
    ),
    (&["pip", "pip3", "uv", "poetry"], &["pyproject.toml", "setup.py", "requirements.txt"]),
    (&["go"], &["go.mod", "go.sum", "go.work"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["rake", "bundle"], &["Rakefile", "Gemfile", "Gemfile.lock"]),
    (&["mvn", "mvnw"], &["pom.xml", ".mvn"]),
    (&["gradle", "gradlew"], &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"]),
    (&["cmake"], &["CMakeLists.txt", "CMakePresets.json"]),
    (&["ninja"], &["build.ninja"]),
    (&["docker", "podman"], &["Dockerfile", "compose.yaml", "docker-compose.yml"]),
    (&["composer", "php"], &["composer.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
];

/// What a command names.
pub(super) struct Named {
    seen: Result<Vec<Looked>, String>,
    more: bool,
    /// The words themselves, for what does not exist yet.
    words: Vec<String>,
    /// What no word says: it is read at most, and not written by the words of the command.
    implied: Vec<String>,
}

impl Live {
    /// What a call of `bash` names; `None` for another tool.
    pub(super) fn named(&self, decided: &Decided) -> Option<Named> {
        let Action::Command(_) = &decided.action else { return None };
        let (words, implied) = (decided.decision.names.words.clone(), implied(decided));
        let looked = effects::look(&self.sandbox, [words.as_slice(), &implied].concat());
        let (seen, more) = match looked {
            Ok((seen, more)) => (Ok(seen), more),
            Err(error) => (Err(error.to_string()), false),
        };
        Some(Named { seen, more, words, implied })
    }
}

/// The files that the programs of a command read without being told, and the module of `python -m`.
fn implied(decided: &Decided) -> Vec<String> {
    let mut words = Vec::new();
    for piece in &decided.decision.pieces {
        let Some(program) = piece.argv.first().map(|word| word.rsplit('/').next().unwrap_or(word)) else {
            continue;
        };
        let known = IMPLIED.iter().filter(|(programs, _)| programs.contains(&program));
        words.extend(known.flat_map(|(_, files)| files.iter().map(|file| (*file).to_owned())));
        if program.starts_with("python")
            && let Some(at) = piece.argv.iter().position(|word| word == "-m")
            && let Some(module) = piece.argv.get(at + 1)
        {
            let path = module.replace('.', "/");
            words.extend([format!("{path}.py"), path]);
        }
    }
    words
}

impl Named {
    /// Everything of it that an approval is bound to.
    pub(super) fn bound(&self) -> Value {
        match &self.seen {
            Ok(seen) => json!([seen, self.more]),
            Err(error) => json!(error),
        }
    }

    /// The paths that exist, with where a link leads, for the card.
    pub(super) fn listed(&self) -> Vec<String> {
        let seen = self.seen.as_deref().unwrap_or_default();
        let told = |looked: &Looked| match &looked.leads {
            Some(leads) if *leads == looked.path || looked.path.is_empty() => looked.path.clone(),
            Some(leads) => format!("{} → {leads}", looked.path),
            None => format!(
                "{} → {} (leads out, or nowhere)",
                looked.path,
                looked.target.as_deref().unwrap_or("?")
            ),
        };
        let direct: Vec<&Looked> =
            seen.iter().filter(|looked| looked.named && !looked.path.is_empty()).collect();
        let mut listed: Vec<String> = direct.iter().take(MOST_LISTED).map(|looked| told(looked)).collect();
        if direct.len() > MOST_LISTED {
            listed.push(format!("… and {} more", direct.len() - MOST_LISTED));
        }
        if self.more {
            listed.push("… more than can be told: what is not listed may change before it runs".to_owned());
        }
        if let Err(error) = &self.seen {
            listed.push(format!("what it names cannot be looked at: {error}"));
        }
        listed
    }

    /// The files under dedicated control among what is named, there already or not, and the folders that hold some.
    pub(super) fn flagged(&self) -> Vec<Flagged> {
        let seen = self.seen.as_deref().unwrap_or_default();
        let of_seen = seen
            .iter()
            .filter(|looked| looked.named && !self.implied.contains(&looked.path))
            .map(|looked| (looked.leads.as_deref().unwrap_or(&looked.path), looked.folder));
        let of_words = self.words.iter().flat_map(|word| {
            let behind = word.split_once('=').map(|(_, value)| value);
            [Some(word.as_str()), behind].into_iter().flatten().map(|path| (path, false))
        });
        let mut flagged: Vec<Flagged> = Vec::new();
        for (path, folder) in of_seen.chain(of_words) {
            let inside = changes::in_workspace(path);
            let mut why = changes::flags_of_path(inside);
            if folder && why.is_empty() {
                why = changes::flags_of_path(&format!("{inside}/x.yml"));
            }
            let new = why.into_iter().map(|why| Flagged { path: inside.to_owned(), why });
            let new: Vec<Flagged> = new.filter(|flag| !flagged.contains(flag)).collect();
            flagged.extend(new);
        }
        flagged
    }
}
