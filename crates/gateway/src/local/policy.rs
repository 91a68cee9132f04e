//! The policy questions of one's own gateway: which policy is in force where, and what a person asks of it.
//!
//! A policy that is gone or not understood is an error of every question, never taken for none. No session is opened here.

use std::path::Path;

use enclos_core::command;
use enclos_core::outside::Guard;
use enclos_core::policy::Policy;
use enclos_core::verdict::Verdict;
use enclos_protocol::api::{At, CommandQuestion, ExplainRequest, OutsideRequest, PolicyChange};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::lab::{DifferenceReport, SimulateRequest, Simulation, TestReport};
use enclos_protocol::report::{CommandExplanation, Explanation, PolicySaved, PolicyText, PolicyVersion};
use enclos_store::{Store, StoreError};

use super::Local;
use crate::explain;
use crate::lab::{self, Named, Replay, Side};
use crate::outside;
use crate::policies::{self, Choice, ScopeName, Sources, Wish};
use crate::repo::Repo;
use crate::sessions::of_store;

impl Local {
    /// A policy that is named by files or a word, loaded in one of the ways that a policy is loaded.
    /// `at`: where the one in force is meant.
    pub(super) fn side(&self, words: &[String], way: lab::Way, at: &At) -> Result<Side, ApiError> {
        let named = Named::read(words)?;
        match &named {
            Named::Current => {
                let repo = self.repo_at(at)?;
                let (sources, policy) =
                    self.in_force(Choice { preset: None, files: &[], repo: root(repo.as_ref()) })?;
                Ok(Side { policy, sources: sources.described(), placed: true })
            }
            Named::Texts(texts) => {
                // A folder that was named is one, whether or not it counts.
                self.repo_at(at)?;
                Ok(Side { policy: lab::load(texts, way)?, sources: named.sources(), placed: false })
            }
        }
    }

    /// The repository that counts. Where no session could be opened there is none, unless it was named.
    pub(super) fn repo_at(&self, at: &At) -> Result<Option<Repo>, ApiError> {
        match at {
            At::Nowhere => Ok(None),
            At::Here(folder) => Ok(self.repo(folder).ok()),
            At::Repo(folder) => self.repo(folder).map(Some),
        }
    }

    /// The policy that a session would get, without opening one: a policy that is gone is not taken for none.
    pub(super) fn in_force(&self, choice: Choice<'_>) -> Result<(Sources, Policy), ApiError> {
        match Store::open_read_only(self.places.state()) {
            // Nothing was ever saved here.
            Err(StoreError::NoStore { .. }) => self.policy(choice),
            // An older schema is brought up to date by opening it as a session does.
            Ok(_) | Err(StoreError::OlderSchema { .. }) => self.settled(choice),
            Err(error) => Err(of_store(&error)),
        }
    }

    fn policy(&self, choice: Choice<'_>) -> Result<(Sources, Policy), ApiError> {
        let preset = choice.preset.or(self.config.preset.as_deref().filter(|_| choice.files.is_empty()));
        let project = self.config.project_of(choice.repo);
        let sources = Sources::gather(&self.places, Choice { preset, ..choice }, project)?;
        let policy = sources.load()?;
        Ok((sources, policy))
    }

    /// The policy of a session: as [`Self::policy`], once files and versions are one.
    pub(super) fn settled(&self, choice: Choice<'_>) -> Result<(Sources, Policy), ApiError> {
        let line = self.config.project_of(choice.repo).unwrap_or(&ScopeName::Instance).line();
        policies::settle(&self.store()?, &self.places, &line, self.clock.now_us())?;
        self.policy(choice)
    }

    /// Changes the policy of a scope.
    pub(super) fn save_policy(&self, scope: &str, change: &PolicyChange) -> Result<PolicySaved, ApiError> {
        let scope = ScopeName::parse(scope)?;
        let author = self.person.user.as_str().to_owned();
        policies::save(&self.store()?, &self.places, self.clock.now_us(), Wish { scope, change, author })
    }

    /// The versions of one scope or of all.
    pub(super) fn history_of_policy(&self, scope: Option<&str>) -> Result<Vec<PolicyVersion>, ApiError> {
        let scope = scope.map(ScopeName::parse).transpose()?;
        policies::history(&self.store()?, &self.places, scope.as_ref(), self.clock.now_us())
    }

    /// The policy of a scope.
    pub(super) fn show_policy(&self, scope: &str) -> Result<PolicyText, ApiError> {
        let (store, scope, now_us) = (self.store()?, ScopeName::parse(scope)?, self.clock.now_us());
        policies::settle(&store, &self.places, std::slice::from_ref(&scope), now_us)?;
        policies::show(&store, &self.places, &scope, now_us)
    }

    /// Holds a policy against its examples and tables.
    pub(super) fn test_policy(&self, words: &[String], at: &At) -> Result<TestReport, ApiError> {
        let (tables, policy) = lab::apart(words);
        let policy = if policy.is_empty() { vec![lab::CURRENT.to_owned()] } else { policy };
        lab::test(self.side(&policy, Policy::load_to_test, at)?, &tables)
    }

    /// Compares two policies.
    pub(super) fn diff_policies(&self, old: &str, new: &str, at: &At) -> Result<DifferenceReport, ApiError> {
        let side = |word: &str| self.side(&[word.to_owned()], Policy::load_standing, at);
        Ok(lab::diff(side(old)?, side(new)?))
    }

    /// Judges the decisions of the journal again.
    pub(super) fn simulate_policy(&self, request: &SimulateRequest) -> Result<Simulation, ApiError> {
        let named = Named::read(&request.policy)?;
        // A candidate that does not load by itself is an error, before any session is looked at.
        let sources = self.side(&request.policy, Policy::load, &request.at)?.sources;
        let candidate = |repo: &Path| match &named {
            Named::Current => {
                self.in_force(Choice { preset: None, files: &[], repo: Some(repo) }).map(|(_, policy)| policy)
            }
            Named::Texts(texts) => lab::load_in(texts, repo),
        };
        let (store, redactor) = (self.store()?, self.redactor()?);
        let replay = Replay {
            store: &store,
            redactor: &redactor,
            now_us: self.clock.now_us(),
            sources,
            candidate: &candidate,
        };
        lab::simulate(&replay, request)
    }

    /// Judges the calls of another agent: by their labels, and by the policy where one is written or named.
    pub(super) fn guard_outside(&self, request: &OutsideRequest) -> Result<Guard, ApiError> {
        let choice = Choice { preset: request.preset.as_deref(), files: &request.policy, repo: None };
        let (sources, _) = self.in_force(choice)?;
        let named = request.preset.is_some() || !request.policy.is_empty();
        outside::guard(request, (named || sources.is_written()).then_some(sources))
    }

    /// Says why a call gets its verdict.
    pub(super) fn explain_call(&self, request: &ExplainRequest) -> Result<Explanation, ApiError> {
        let repo = self.repo_at(&request.at)?;
        let choice =
            Choice { preset: request.preset.as_deref(), files: &request.policy, repo: root(repo.as_ref()) };
        let (_, policy) = self.in_force(choice)?;
        explain::call(&policy, request)
    }

    /// Reads a command.
    pub(super) fn explain_text(
        &self,
        question: &CommandQuestion,
        text: &str,
    ) -> Result<CommandExplanation, ApiError> {
        if let Some(base) =
            question.base.as_deref().filter(|_| question.preset.is_none() && question.policy.is_empty())
        {
            let base: Verdict = base.parse().map_err(|error: enclos_core::verdict::UnknownVerdict| {
                ApiError::new(Fault::Usage, error.to_string())
            })?;
            let reading = command::judge(text, &command::Rules { base, contained: false, freed: &[] });
            return Ok(CommandExplanation { reading, judged: None });
        }
        let repo = self.repo_at(&question.at)?;
        let choice =
            Choice { preset: question.preset.as_deref(), files: &question.policy, repo: root(repo.as_ref()) };
        let (_, policy) = self.in_force(choice)?;
        explain::command(&policy, question, text)
    }
}

fn root(repo: Option<&Repo>) -> Option<&Path> {
    repo.map(|repo| repo.root.as_path())
}
