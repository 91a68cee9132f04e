//! The decisions of the local journal, judged again by a candidate.
//!
//! What a call was is read as `resume` reads it: from the session store, where its content is still kept and its
//! chain verifies. Where the content was erased a decision is counted and not guessed. Nothing is shown of a call but
//! its command, path or arguments, with secrets replaced as they are in the journal.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use enclos_core::args::{self, Args, Schema};
use enclos_core::ids::{CallId, RuleId, SessionId};
use enclos_core::policy::{Decision, Direction, Policy, Role, Surface};
use enclos_core::session::Event;
use enclos_core::verdict::Verdict;
use enclos_protocol::error::ApiError;
use enclos_protocol::lab::{Change, NotReplayed, Replayed, SimulateRequest, Simulation};
use enclos_store::{Redact, SessionFilter, SessionRow, Store, StoredEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::rfc3339;
use crate::explain::any_object;
use crate::redact::Redactor;
use crate::session::{self, Question};
use crate::sessions::of_store;

/// Microseconds of a day.
const DAY_US: i64 = 24 * 3600 * 1_000_000;

/// Characters that are shown of a call.
const SHOWN: usize = 200;

/// What a replay is made with.
pub(crate) struct Replay<'a> {
    pub store: &'a Store,
    pub redactor: &'a Redactor,
    pub now_us: i64,
    pub sources: Vec<String>,
    /// The candidate for sessions on a repository.
    pub candidate: &'a dyn Fn(&Path) -> Result<Policy, ApiError>,
}

/// A decision as the journal has it.
struct Taken {
    call: CallId,
    time_us: i64,
    tool: String,
    verdict: Verdict,
    rule: Option<RuleId>,
}

/// The fields of an entry that tell of a decision.
#[derive(Deserialize)]
struct Told {
    call: Option<CallId>,
    tool: Option<String>,
    verdict: Option<Verdict>,
    rule: Option<RuleId>,
    reason: Option<Value>,
}

/// What changes alike.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    tool: String,
    person: String,
    before: Verdict,
    rule_before: Option<RuleId>,
    after: Verdict,
    rule_after: RuleId,
}

/// What was found so far.
#[derive(Default)]
struct Tally {
    sessions: u64,
    decisions: u64,
    same: u64,
    not_replayed: BTreeMap<String, u64>,
    changes: BTreeMap<Alike, (u64, Vec<Replayed>)>,
}

/// Replays the decisions of the last days against a candidate.
///
/// # Errors
/// A store that cannot be read, and a candidate that does not load without any repository.
pub(crate) fn simulate(replay: &Replay<'_>, request: &SimulateRequest) -> Result<Simulation, ApiError> {
    let since_us = replay.now_us.saturating_sub(i64::from(request.days).saturating_mul(DAY_US));
    let rows = replay.store.sessions(&SessionFilter::default()).map_err(|error| of_store(&error))?;
    let mut policies: HashMap<PathBuf, Result<Policy, ApiError>> = HashMap::new();
    let mut tally = Tally::default();
    let mut own: Vec<String> = Vec::new();
    for row in rows.into_iter().filter(|row| row.updated_us >= since_us) {
        let Ok(events) = replay.store.events(&row.id) else {
            tally.skip("the session's journal does not verify (counted once a session)");
            continue;
        };
        let policy = policies.entry(row.repo.clone()).or_insert_with(|| {
            let file = row.repo.join(".enclos.toml");
            own.extend(file.exists().then(|| format!("repository: {}, as it is now", file.display())));
            (replay.candidate)(&row.repo)
        });
        tally.session(replay, request, &row, &events, since_us, policy);
    }
    let mut report = tally.report(replay, since_us);
    report.sources.extend(own);
    Ok(report)
}

impl Tally {
    fn skip(&mut self, reason: &str) {
        *self.not_replayed.entry(reason.to_owned()).or_default() += 1;
    }

    fn session(
        &mut self,
        replay: &Replay<'_>,
        request: &SimulateRequest,
        row: &SessionRow,
        events: &[StoredEvent],
        since_us: i64,
        policy: &Result<Policy, ApiError>,
    ) {
        let taken: Vec<Taken> = taken(events).into_iter().filter(|taken| taken.time_us >= since_us).collect();
        self.sessions += u64::from(!taken.is_empty());
        let (arguments, person) = (arguments(events), person(events));
        let surface: Option<Surface> = serde_json::from_value(json!(row.surface)).ok();
        for taken in taken {
            self.decisions += 1;
            let again = match (policy, surface, arguments.get(&taken.call)) {
                (Err(error), ..) => {
                    Err(format!("the candidate does not load with the repository's policy: {error}"))
                }
                (_, None, _) => Err(format!("the surface `{}` is unknown", row.surface)),
                (Ok(policy), Some(surface), Some(arguments)) => judged(policy, &taken, surface, arguments),
                (Ok(_), Some(_), None) => Err("the content of the session was deleted".to_owned()),
            };
            match again {
                Err(reason) => self.skip(&reason),
                Ok(decision) if decision.verdict == taken.verdict => self.same += 1,
                Ok(decision) => {
                    let text = arguments.get(&taken.call).map_or("", String::as_str);
                    let shown = shown(replay.redactor, text);
                    self.change(&row.id, &person, &taken, &decision, (shown, request.examples));
                }
            }
        }
    }

    fn change(
        &mut self,
        session: &SessionId,
        person: &str,
        taken: &Taken,
        decision: &Decision,
        (what, most): (String, u32),
    ) {
        let alike = Alike {
            tool: taken.tool.clone(),
            person: person.to_owned(),
            before: taken.verdict,
            rule_before: taken.rule.clone(),
            after: decision.verdict,
            rule_after: decision.rule.clone(),
        };
        let (count, examples) = self.changes.entry(alike).or_default();
        *count += 1;
        if examples.len() < usize::try_from(most).unwrap_or(usize::MAX) {
            let (session, call) = (session.clone(), taken.call.clone());
            examples.push(Replayed { session, call, time: rfc3339(taken.time_us), what });
        }
    }

    fn report(self, replay: &Replay<'_>, since_us: i64) -> Simulation {
        let change = |(alike, (count, examples)): (Alike, (u64, Vec<Replayed>))| Change {
            direction: if alike.after < alike.before { Direction::Softer } else { Direction::Harder },
            tool: alike.tool,
            person: alike.person,
            before: alike.before,
            rule_before: alike.rule_before,
            after: alike.after,
            rule_after: alike.rule_after,
            count,
            examples,
        };
        let mut changes: Vec<Change> = self.changes.into_iter().map(change).collect();
        changes.sort_by_key(|change| (change.direction, std::cmp::Reverse(change.count)));
        Simulation {
            sources: replay.sources.clone(),
            since: rfc3339(since_us),
            sessions: self.sessions,
            decisions: self.decisions,
            same: self.same,
            changed: changes.iter().map(|change| change.count).sum(),
            not_replayed: self
                .not_replayed
                .into_iter()
                .map(|(reason, count)| NotReplayed { reason, count })
                .collect(),
            changes,
        }
    }
}

/// The decisions of a session, one a call: the last that was taken, which is the one that held.
fn taken(events: &[StoredEvent]) -> Vec<Taken> {
    let mut last: BTreeMap<CallId, Taken> = BTreeMap::new();
    for event in events.iter().filter(|event| tells_a_decision(&event.kind)) {
        let Ok(told) = serde_json::from_str::<Told>(event.entry.get()) else { continue };
        let (Some(call), Some(tool), Some(verdict)) = (told.call, told.tool, told.verdict) else { continue };
        let of_reason = told.reason.as_ref().and_then(|reason| reason.get("rule")?.as_str().map(RuleId::new));
        let rule = told.rule.or(of_reason);
        let rule = rule.or_else(|| last.get(&call).and_then(|before| before.rule.clone()));
        last.insert(call.clone(), Taken { call, time_us: event.time_us, tool, verdict, rule });
    }
    last.into_values().collect()
}

fn tells_a_decision(kind: &str) -> bool {
    matches!(kind, "call.intent" | "call.canceled" | "call.errored" | "approval.requested")
}

/// The arguments of each call, exactly as they were sent or as a person changed them, where their content is kept.
fn arguments(events: &[StoredEvent]) -> HashMap<CallId, String> {
    let telling = events.iter().filter(|event| matches!(&*event.kind, "model.answered" | "approval.edited"));
    let contents = telling.filter_map(|event| event.content.as_deref());
    let mut arguments = HashMap::new();
    for content in contents {
        match serde_json::from_slice(content) {
            Ok(Event::Answered(answer)) => {
                arguments.extend(answer.calls.into_iter().map(|call| (call.call, call.arguments)));
            }
            Ok(Event::Edited { call, arguments: changed, .. }) => {
                arguments.insert(call, changed);
            }
            Ok(_) | Err(_) => {}
        }
    }
    arguments
}

fn person(events: &[StoredEvent]) -> String {
    let opened = events.iter().find(|event| event.kind == "session.opened");
    let entry: Option<Value> = opened.and_then(|event| serde_json::from_str(event.entry.get()).ok());
    let user = entry.as_ref().and_then(|entry| entry.get("user")?.as_str());
    user.unwrap_or("unknown").to_owned()
}

/// What the candidate decides. On one's own gateway a person has every role, as the session that was judged had.
fn judged(policy: &Policy, taken: &Taken, surface: Surface, arguments: &str) -> Result<Decision, String> {
    let role = Role::Owner;
    let whole = session::verdict_of_tool(policy, &taken.tool, role, surface);
    if whole.invisible {
        return Ok(whole);
    }
    let args = parsed(&taken.tool, arguments)
        .ok_or_else(|| format!("the arguments do not fit the tool `{}` any more", taken.tool))?;
    Ok(session::verdict(policy, Question { tool: &taken.tool, args: &args, role, surface }))
}

fn parsed(tool: &str, arguments: &str) -> Option<Args> {
    let known = enclos_core::tool::built_in().into_iter().find(|spec| spec.name == tool);
    let any = any_object();
    let schema = Schema::new(known.as_ref().map_or(&any, |spec| &spec.schema)).ok()?;
    args::parse(arguments).and_then(|parsed| args::validate(parsed, &schema)).ok()
}

/// The command, the path or the arguments of a call, without secrets and not over [`SHOWN`] characters. Redacted
/// whole before it is cut, so that a secret is not cut out of its shape.
fn shown(redactor: &Redactor, arguments: &str) -> String {
    let value: Option<Value> = serde_json::from_str(arguments).ok();
    let telling = ["command", "path"].iter().find_map(|name| value.as_ref()?.get(name)?.as_str());
    let clean = redactor.redact(telling.unwrap_or(arguments));
    match clean.char_indices().nth(SHOWN) {
        None => clean.into_owned(),
        Some((end, _)) => format!("{}…", clean.get(..end).unwrap_or_default()),
    }
}
