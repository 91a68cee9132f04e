//! Saving a policy: checked first, then whole or not at all, by one process at a time.
//!
//! The text is written beside the file and made durable; then the version is appended to its chain, which is the
//! moment from which it is saved; then the new file takes the place of the old one in one step. Killed before that
//! moment, the old policy stands and what lies beside it is thrown away; killed after it, whoever loads next finishes.
//! Nobody ever reads a half-written file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use enclos_core::policy::{Layer, MAX_BYTES, Overruled, Policy};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::report::PolicySaved;
use enclos_store::{LeaseError, PolicyChange, PolicyLease, PolicyVersion, Store, policy_digest};

use super::looser::Looser;
use super::versions::newest;
use super::{ScopeName, digest_of, lying, read, refusal, usage};
use crate::places::Places;
use crate::sessions::of_store;

/// How long another save is waited for, in steps of [`STEP`].
const STEPS: u32 = 500;
const STEP: Duration = Duration::from_millis(20);

/// The right to change policies, with what a change needs.
pub(crate) struct Desk<'d> {
    lease: PolicyLease,
    store: &'d Store,
    pub(super) places: &'d Places,
    now_us: i64,
}

/// What a person asks to be saved.
pub(crate) struct Asked {
    pub scope: ScopeName,
    /// The text; empty to take the policy of the scope away.
    pub text: String,
    /// What its errors name: the file that the person gave.
    pub source: String,
    pub how: String,
    pub author: String,
    /// Whether the policy may be taken away though something becomes looser by it.
    pub loosen: bool,
}

impl<'d> Desk<'d> {
    /// Waits for its turn.
    ///
    /// # Errors
    /// When another process holds it for ten seconds, and what the store reports.
    pub(crate) fn open(store: &'d Store, places: &'d Places, now_us: i64) -> Result<Self, ApiError> {
        let mut steps = 0;
        loop {
            match store.lease_policy(now_us) {
                Ok(lease) => return Ok(Self { lease, store, places, now_us }),
                Err(LeaseError::Held { .. }) if steps < STEPS => std::thread::sleep(STEP),
                // Two made the chain at once, and the other was first.
                Err(LeaseError::Store(enclos_store::StoreError::SessionExists(_))) if steps < STEPS => {}
                Err(LeaseError::Held { pid }) => {
                    let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                    let message =
                        format!("another process{who} is changing a policy: expected it to end soon");
                    return Err(ApiError::new(Fault::Internal, message).hint("try again in a moment"));
                }
                Err(LeaseError::Store(error)) => return Err(of_store(&error)),
            }
            steps += 1;
        }
    }

    /// Checks a policy and saves it.
    ///
    /// # Errors
    /// A text that cannot be read whole or is looser than the scopes above, with file, line and the rule it collides
    /// with; what kept it from being written. Nothing is changed then.
    pub(crate) fn save(&self, asked: Asked) -> Result<PolicySaved, ApiError> {
        let Asked { scope, text, source, how, author, loosen } = asked;
        let overruled = self.check(&scope, &source, &text)?;
        let looser = self.loosened(&scope, Replacement { scope: &scope, source: &source, text: &text });
        if text.is_empty() && !loosen && !looser.is_empty() {
            return Err(would_loosen(&scope, &looser));
        }
        let file = scope.file(self.places);
        let versions = self.versions()?;
        let last = newest(&versions, &scope);
        let there = lying(&file).unwrap_or_default();
        let text_is_empty = text.is_empty();
        let (digest, previous) = (policy_digest(&text), last.map(|last| last.digest.as_str().to_owned()));
        let changed = there != text || last.is_some_and(|last| last.digest != digest);
        let version = match last {
            Some(last) if last.digest == digest => {
                // The version stands; only its file has to be put back.
                if changed {
                    self.prepare(&scope, &text)?;
                    self.finish(&scope)?;
                }
                last.number
            }
            None if text.is_empty() => {
                let message = format!("the {scope} has no policy: there is nothing to take away");
                return Err(usage(message));
            }
            _ => {
                self.prepare(&scope, &text)?;
                let version =
                    self.append(&scope, text, Made { author: &author, how: &how, looser: &looser })?;
                self.finish(&scope)?;
                version.number
            }
        };
        Ok(PolicySaved {
            scope: scope.to_string(),
            file: file.display().to_string(),
            version,
            digest: digest.as_str().to_owned(),
            policy_digest: digest_of(self.places, &scope),
            previous,
            changed,
            overruled,
            removed: text_is_empty,
            restored: None,
            looser: looser.into_iter().filter(|_| changed).map(|looser| looser.told).collect(),
        })
    }

    /// The versions of every scope.
    pub(super) fn versions(&self) -> Result<Vec<PolicyVersion>, ApiError> {
        self.store.policy_versions().map_err(|error| of_store(&error))
    }

    /// Finishes or throws away what a process left that was killed, and keeps what a hand wrote as a version, so that
    /// no text that was in force is lost by a save.
    pub(super) fn take_in(&self, scope: &ScopeName) -> Result<(), ApiError> {
        self.finish(scope)?;
        let versions = self.versions()?;
        let last = newest(&versions, scope).map(|last| &last.digest);
        match lying(&scope.file(self.places)) {
            Some(text) if last != Some(&policy_digest(&text)) => self.adopt(scope, text),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes a version.
    pub(super) fn append(
        &self,
        scope: &ScopeName,
        text: String,
        made: Made<'_>,
    ) -> Result<PolicyVersion, ApiError> {
        let Made { author, how, looser } = made;
        let change = PolicyChange {
            scope: scope.to_string(),
            text,
            author: author.to_owned(),
            how: how.to_owned(),
            looser: looser.iter().map(|looser| looser.kept.clone()).collect(),
            time_us: self.now_us,
        };
        self.lease.append(change).map_err(|error| of_store(&error))
    }

    /// Writes a text beside the file that it is to replace, durably.
    fn prepare(&self, scope: &ScopeName, text: &str) -> Result<(), ApiError> {
        let next = next(&target(&scope.file(self.places)));
        write_durably(&next, text).map_err(|error| unwritten(&next, &error))
    }

    /// Puts what lies beside a file in its place when it is the newest version, and throws it away when it is not.
    pub(super) fn finish(&self, scope: &ScopeName) -> Result<(), ApiError> {
        let target = target(&scope.file(self.places));
        let next = next(&target);
        let Some(text) = read(&next, MAX_BYTES)? else { return Ok(()) };
        let versions = self.versions()?;
        let last = newest(&versions, scope).map(|last| &last.digest);
        let outcome = if last != Some(&policy_digest(&text)) {
            fs::remove_file(&next)
        } else if text.is_empty() {
            remove_if_there(&target).and_then(|()| fs::remove_file(&next))
        } else {
            fs::rename(&next, &target)
        };
        outcome.and_then(|()| sync_folder(&target)).map_err(|error| unwritten(&target, &error))
    }

    /// Whether a text may be the policy of a scope. Gives the rules of lower scopes that it leaves without effect.
    fn check(&self, scope: &ScopeName, source: &str, text: &str) -> Result<Vec<String>, ApiError> {
        if text.len() > MAX_BYTES {
            let message = format!("`{source}` has {} bytes: expected at most {MAX_BYTES}", text.len());
            return Err(usage(message));
        }
        let mine = Some(Replacement { scope, source, text });
        if !text.is_empty() {
            self.only_tightens(scope, mine)?;
        }
        let mut overruled = Vec::new();
        for lower in ScopeName::written(self.places).iter().filter(|lower| scope.is_above(lower)) {
            let before = self.without_effect(lower, None).unwrap_or_default();
            match self.without_effect(lower, mine) {
                Ok(after) => overruled.extend(after.into_iter().filter(|rule| !before.contains(rule))),
                Err(error) => overruled.push(format!("the policy of the {lower} cannot be read: {error}")),
            }
        }
        Ok(overruled)
    }

    fn only_tightens(&self, scope: &ScopeName, mine: Option<Replacement<'_>>) -> Result<(), ApiError> {
        let unchanged = |error: ApiError| error.hint("nothing was changed");
        let source = mine.map(|mine| mine.source).unwrap_or_default();
        match Policy::load(&layers_of(&self.texts(&scope.line(), mine)?)) {
            Ok(_) => Ok(()),
            Err(error) if error.file == source => Err(unchanged(refusal(&error))),
            // A scope above stands looser than its own scopes above; what is asked here is judged all the same.
            Err(_) => match self.without_effect(scope, mine)?.first() {
                Some(rule) => Err(unchanged(usage(format!("{rule}, and a lower scope can only tighten")))),
                None => Ok(()),
            },
        }
    }

    /// The rules of a scope that no call obeys, in words.
    fn without_effect(
        &self,
        scope: &ScopeName,
        mine: Option<Replacement<'_>>,
    ) -> Result<Vec<String>, ApiError> {
        let texts = self.texts(&scope.line(), mine)?;
        let above = texts.iter().filter(|(of, ..)| of != scope).cloned().collect::<Vec<_>>();
        let overruled = |texts: &[Named]| {
            let policy = Policy::load_standing(&layers_of(texts)).map_err(|error| refusal(&error))?;
            Ok::<Vec<Overruled>, ApiError>(policy.overruled().to_vec())
        };
        let (all, above) = (overruled(&texts)?, overruled(&above)?);
        let own = all.into_iter().filter(|rule| !above.contains(rule));
        let told = own.map(|rule| {
            format!(
                "the rule `{}` of the {scope} ({}) says `{}` and counts no more: `{}` of the {} is stricter",
                rule.rule,
                source_of(&texts, scope),
                rule.verdict,
                rule.by,
                rule.by_scope
            )
        });
        Ok(told.collect())
    }

    /// The texts of a line of scopes, one of them replaced.
    pub(super) fn texts(
        &self,
        line: &[ScopeName],
        mine: Option<Replacement<'_>>,
    ) -> Result<Vec<Named>, ApiError> {
        let mut texts = Vec::new();
        for scope in line {
            let file = scope.file(self.places);
            let found = match mine.filter(|mine| mine.scope == scope) {
                Some(mine) => (!mine.text.is_empty()).then(|| (mine.source.to_owned(), mine.text.to_owned())),
                None => read(&file, MAX_BYTES)?.map(|text| (file.display().to_string(), text)),
            };
            texts.extend(found.map(|(source, text)| (scope.clone(), source, text)));
        }
        Ok(texts)
    }
}

/// The text that a scope is to have.
#[derive(Clone, Copy)]
pub(super) struct Replacement<'r> {
    pub(super) scope: &'r ScopeName,
    pub(super) source: &'r str,
    pub(super) text: &'r str,
}

/// How a version comes about.
#[derive(Clone, Copy)]
pub(super) struct Made<'m> {
    pub(super) author: &'m str,
    pub(super) how: &'m str,
    /// What becomes looser by it.
    pub(super) looser: &'m [Looser],
}

/// The refusal of a removal that gives more room.
fn would_loosen(scope: &ScopeName, looser: &[Looser]) -> ApiError {
    let looser: Vec<&str> = looser.iter().map(|looser| looser.told.as_str()).collect();
    let message = format!("without the policy of the {scope} this becomes looser: {}", looser.join("; "));
    usage(message)
        .hint("nothing was changed")
        .hint(format!("to do it all the same: enclos policy apply --remove --loosen --scope {scope}"))
}

/// A text with its scope and source.
pub(super) type Named = (ScopeName, String, String);

pub(super) fn layers_of(texts: &[Named]) -> Vec<Layer<'_>> {
    texts
        .iter()
        .map(|(scope, source, text)| Layer { scope: scope.scope(), source: source.clone(), text })
        .collect()
}

fn source_of<'t>(texts: &'t [Named], scope: &ScopeName) -> &'t str {
    texts.iter().find(|(of, ..)| of == scope).map_or("", |(_, source, _)| source)
}

/// The file that a link leads to: a person may keep their policy elsewhere.
fn target(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf())
}

fn next(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".next");
    PathBuf::from(name)
}

fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    remove_if_there(path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn unwritten(path: &Path, error: &io::Error) -> ApiError {
    ApiError::new(Fault::Internal, format!("`{}` cannot be written: {error}", path.display()))
        .hint("whoever loads the policy next finishes a save that was cut short, or throws it away")
}
