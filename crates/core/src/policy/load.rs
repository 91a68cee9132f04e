//! Reading the layers of a policy: all of them in full, or none.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::ids::Digest;

use super::error::{PolicyError, Problem, line_of};
use super::file::{EnclosToml, PolicyFile, RuleFile};
use super::isolation::DemandedIsolation;
use super::lab::{Held, hold};
use super::labels::Labels;
use super::rule::{Rule, name};
use super::scope::{Layer, MAX_BYTES, MAX_REPOSITORY_BYTES, Scope};
use super::settings::{Ceilings, FixedBackend, FixedPlace, Mounts, Settings};
use super::subject::Pattern;
use super::{Policy, tighten};

/// A layer that was read.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) scope: Scope,
    pub(super) name: String,
    pub(super) source: Arc<str>,
    pub(super) rules: Vec<Rule>,
    pub(super) settings: Settings,
    /// Examples that were held against the rules.
    pub(super) examples: Vec<Held>,
    digest: [u8; 32],
    /// The rules that name tools exactly, by tool.
    by_tool: HashMap<String, Vec<usize>>,
    /// The other rules, which any tool may meet.
    broad: Vec<usize>,
}

impl Policy {
    /// Reads the layers of a policy about to be put in force, in any order (groups among themselves from the top
    /// one down). With no layer the default matrix holds.
    ///
    /// # Errors
    /// [`PolicyError`] for the first layer that cannot be read in full, and [`Problem::Looser`] for a rule of a lower
    /// scope that is softer than the scopes above on every call it speaks of.
    pub fn load(layers: &[Layer<'_>]) -> Result<Self, PolicyError> {
        let policy = Self::load_standing(layers)?;
        match tighten::refusal(&policy) {
            Some(error) => Err(error),
            None => Ok(policy),
        }
    }

    /// As [`Policy::load`], for layers that stood before a higher scope tightened: a rule that this left looser
    /// counts no more and is among [`Policy::overruled`].
    ///
    /// # Errors
    /// [`PolicyError`] for the first layer that cannot be read in full.
    pub fn load_standing(layers: &[Layer<'_>]) -> Result<Self, PolicyError> {
        let policy = Self::load_to_test(layers)?;
        let wrong = |layer: &Loaded| {
            let failed = layer.examples.iter().find(|held| !held.passed())?;
            Some(layer.error(failed.line, failed.problem()))
        };
        match policy.layers.iter().find_map(wrong) {
            Some(error) => Err(error),
            None => Ok(policy),
        }
    }

    /// As [`Policy::load`], for the policy lab: an example that its rule does not decide as its author says, and a
    /// rule that is softer than the scopes above, are told by [`Policy::examples_held`] and [`Policy::collisions`].
    /// Never for a policy that is to be in force.
    ///
    /// # Errors
    /// [`PolicyError`] for the first layer that cannot be read in full.
    pub fn load_to_test(layers: &[Layer<'_>]) -> Result<Self, PolicyError> {
        let mut read = layers.iter().map(Loaded::read).collect::<Result<Vec<_>, _>>()?;
        read.sort_by_key(|layer| layer.scope);
        // Only an administrator switches a repository's own policy off.
        let switches_off = |layer: &Loaded| {
            layer.scope == Scope::Instance && layer.settings.repository_policy == Some(false)
        };
        if read.iter().any(switches_off) {
            read.retain(|layer| layer.scope != Scope::Repository);
        }
        let settings = joined(&read)?;
        let digest = digest(&read);
        let mut policy = Self { layers: read, settings, digest, overruled: Vec::new() };
        policy.overruled = tighten::overruled(&policy);
        Ok(policy)
    }
}

/// Joins the settings of all layers. A scope that cannot replace defaults tightens them, and one that speaks of `bash`
/// without freeing what is contained leaves no lower scope to do so.
fn joined(layers: &[Loaded]) -> Result<Settings, PolicyError> {
    let mut joined = Settings::default();
    let mut first: Option<&str> = None;
    for layer in layers {
        if !layer.scope.replaces_defaults() {
            joined = joined.or_defaults();
        }
        if let (Some(held), Some(place)) = (&joined.place, &layer.settings.place)
            && held.place != place.place
        {
            let why = format!(
                "`execution.place` is `{}`, but the {} ({}) fixed it to `{}`: remove it here",
                place.place, held.scope, held.source, held.place
            );
            return Err(layer.error(0, Problem::Shape(why)));
        }
        if let (Some(held), Some(own)) = (&joined.backend, &layer.settings.backend)
            && held.backend != own.backend
        {
            let why = format!(
                "`execution.backend` is `{}`, but the {} ({}) fixed it to `{}`: remove it here",
                own.backend, held.scope, held.source, held.backend
            );
            return Err(layer.error(0, Problem::Shape(why)));
        }
        if first.is_none() {
            joined.labels.consents.clone_from(&layer.settings.labels.consents);
        } else if !layer.settings.labels.consents.is_empty() {
            let why = format!(
                "`[[downgrade]]` of the {} would be one more release than the scopes above allow: write it in {}",
                layer.scope,
                first.unwrap_or_default()
            );
            return Err(layer.error(0, Problem::Shape(why)));
        }
        joined = joined_with(joined, layer);
        if first.is_none() {
            joined.labels.paths.iter_mut().for_each(|rule| rule.highest = true);
        }
        first = first.or(Some(&layer.source));
    }
    Ok(joined)
}

/// What the layers above say together with one more.
pub(super) fn joined_with(above: Settings, layer: &Loaded) -> Settings {
    let mut joined = above.tightened_by(layer.settings.clone());
    if layer.rules.iter().any(|rule| rule.command.is_empty() && !rule.shadow && rule.speaks_of_bash()) {
        joined.contained = joined.contained.or(Some(false));
    }
    joined
}

/// One digest over scope, name and text of every layer, each with its length.
fn digest(layers: &[Loaded]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(b"enclos policy 1\n");
    for layer in layers {
        hash.update(layer.scope.as_str().as_bytes());
        hash.update(b"\n");
        hash.update(layer.digest);
    }
    let mut text = "sha256:".to_owned();
    for byte in hash.finalize() {
        text.extend([byte >> 4, byte & 15].iter().filter_map(|half| char::from_digit(u32::from(*half), 16)));
    }
    Digest::new(text)
}

impl Loaded {
    fn read(layer: &Layer<'_>) -> Result<Self, PolicyError> {
        let whole = |problem| PolicyError::new(&layer.source, 0, problem);
        let limit = if layer.scope == Scope::Repository { MAX_REPOSITORY_BYTES } else { MAX_BYTES };
        if layer.text.len() > limit {
            return Err(whole(Problem::TooLong { bytes: layer.text.len(), limit }));
        }
        match layer.scope {
            Scope::BuiltIn => Err(whole(Problem::BuiltIn)),
            Scope::Repository => Self::of_repository(layer),
            Scope::Instance | Scope::Group | Scope::Project | Scope::Session => Self::of_file(layer),
        }
    }

    fn of_file(layer: &Layer<'_>) -> Result<Self, PolicyError> {
        let file: PolicyFile =
            toml::from_str(layer.text).map_err(|e| PolicyError::of_toml(&layer.source, layer.text, &e))?;
        let mut loaded = Self::empty(layer, file.name.clone(), Settings::of(&file));
        loaded.settings.place = file.execution.place.map(|place| FixedPlace {
            place,
            scope: layer.scope,
            source: layer.source.clone(),
        });
        if let Some(why) = file.repository.ignored.as_ref().and_then(Mounts::no_pattern) {
            return Err(loaded.error(0, Problem::Shape(why)));
        }
        loaded.settings.labels =
            Labels::of(&file.labels, &file.downgrade).map_err(|why| loaded.error(0, Problem::Shape(why)))?;
        loaded.settings.backend = file.execution.backend.map(|backend| FixedBackend {
            backend,
            scope: layer.scope,
            source: layer.source.clone(),
        });
        loaded.settings.isolation =
            DemandedIsolation::of(file.execution.isolation, layer.scope, &layer.source);
        name(&file.name, "policy").map_err(|problem| loaded.error(1, problem))?;
        for rule in file.rule {
            let line = line_of(layer.text, rule.span().start);
            loaded.add(rule.into_inner(), line)?;
        }
        Ok(loaded)
    }

    fn of_repository(layer: &Layer<'_>) -> Result<Self, PolicyError> {
        let file: EnclosToml =
            toml::from_str(layer.text).map_err(|e| PolicyError::of_toml(&layer.source, layer.text, &e))?;
        let settings = Settings {
            ceilings: Ceilings::of(&file.execution),
            isolation: DemandedIsolation::of(file.execution.isolation, layer.scope, &layer.source),
            ..Settings::default()
        };
        let mut loaded = Self::empty(layer, "repository".to_owned(), settings);
        let fixed = [
            ("place", file.execution.place.is_some()),
            ("backend", file.execution.backend.is_some()),
            ("output_keep", file.execution.output_keep.is_some()),
        ];
        if let Some((key, _)) = fixed.iter().find(|(_, stands)| *stands) {
            let why = format!("`execution.{key}` is not for a repository to fix: remove it");
            return Err(loaded.error(0, Problem::Shape(why)));
        }
        for rule in file.rule {
            let line = line_of(layer.text, rule.span().start);
            loaded.add(rule.into_inner().into(), line)?;
        }
        Ok(loaded)
    }

    fn empty(layer: &Layer<'_>, name: String, settings: Settings) -> Self {
        let digest = Sha256::digest(layer.text.as_bytes()).into();
        Self {
            scope: layer.scope,
            name,
            source: Arc::from(layer.source.as_str()),
            rules: Vec::new(),
            settings,
            examples: Vec::new(),
            digest,
            by_tool: HashMap::new(),
            broad: Vec::new(),
        }
    }

    /// Reads one rule and holds it against its examples.
    fn add(&mut self, mut file: RuleFile, line: usize) -> Result<(), PolicyError> {
        let default_id = format!("{}.{}", self.name, self.rules.len() + 1);
        let wanted = std::mem::take(&mut file.matches);
        let unwanted = std::mem::take(&mut file.not_match);
        let rule = Rule::new(file, default_id, line).map_err(|problem| self.error(line, problem))?;
        if self.rules.iter().any(|other| other.id == rule.id) {
            return Err(self.error(line, Problem::TwiceNamed(rule.id.to_string())));
        }
        for (examples, wanted) in [(wanted, true), (unwanted, false)] {
            for example in examples {
                let held =
                    hold(&rule, line, &example, wanted).map_err(|problem| self.error(line, problem))?;
                self.examples.push(held);
            }
        }
        self.index(&rule);
        self.rules.push(rule);
        Ok(())
    }

    /// Notes where the rule about to be added is looked for.
    fn index(&mut self, rule: &Rule) {
        let at = self.rules.len();
        let tools = &rule.subject.tools;
        if tools.is_empty() || !tools.iter().all(Pattern::is_exact) {
            self.broad.push(at);
            return;
        }
        for tool in tools {
            let of_tool = self.by_tool.entry(tool.as_text()).or_default();
            if of_tool.last() != Some(&at) {
                of_tool.push(at);
            }
        }
    }

    /// The rules that may speak of a tool, in the order of the file.
    pub(super) fn rules_on(&self, tool: &str) -> impl Iterator<Item = &Rule> {
        let own = self.by_tool.get(tool).map_or(&[][..], Vec::as_slice);
        let (mut own, mut broad) = (own.iter().copied().peekable(), self.broad.iter().copied().peekable());
        let next = move || match (own.peek(), broad.peek()) {
            (Some(a), Some(b)) if a > b => broad.next(),
            (Some(_), _) => own.next(),
            (None, _) => broad.next(),
        };
        std::iter::from_fn(next).filter_map(|at| self.rules.get(at))
    }

    pub(super) fn error(&self, line: usize, problem: Problem) -> PolicyError {
        PolicyError::new(&self.source, line, problem)
    }
}
