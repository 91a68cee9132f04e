//! Whether a lower scope only tightens.
//!
//! The cascade never lets a lower rule soften an answer. Here it is said aloud: a rule that is softer than the scopes
//! above on every call it speaks of can never be obeyed. About to be put in force, it is refused with the rule it
//! collides with; where a higher scope tightened later, it is reported as overruled. Calls are told apart by tool,
//! class, role and surface; where rules above look at arguments, their softest answer counts.

use super::Policy;
use super::cascade::{self, Outcome};
use super::commands;
use super::decision::Overruled;
use super::error::{PolicyError, Problem};
use super::judge::Caller;
use super::load::Loaded;
use super::rule::Rule;
use super::subject::Aspect;
use super::tool::Tool;
use super::who::{Category, Role, Surface};
use crate::verdict::Verdict;

/// A rule that no call can obey, and the outcome above that holds instead.
struct Collision<'p> {
    layer: &'p Loaded,
    rule: &'p Rule,
    above: Outcome<'p>,
}

/// The error for the first rule that is softer than the scopes above.
pub(super) fn refusal(policy: &Policy) -> Option<PolicyError> {
    refusals(policy).next()
}

/// The error for each rule that is softer than the scopes above.
pub(super) fn refusals(policy: &Policy) -> impl Iterator<Item = PolicyError> {
    collisions(policy).map(|Collision { layer, rule, above }| {
        let problem = Problem::Looser {
            rule: rule.id.clone(),
            scope: layer.scope,
            verdict: rule.verdict,
            against: above.by.id(),
            higher: above.by.scope(),
            source_file: above.by.source(),
            stricter: above.verdict,
        };
        layer.error(rule.line, problem)
    })
}

/// The rules that are softer than the scopes above.
pub(super) fn overruled(policy: &Policy) -> Vec<Overruled> {
    let report = |Collision { layer, rule, above }: Collision<'_>| Overruled {
        rule: rule.id.clone(),
        scope: layer.scope,
        verdict: rule.verdict,
        by: above.by.id(),
        by_scope: above.by.scope(),
    };
    collisions(policy).map(report).collect()
}

fn collisions(policy: &Policy) -> impl Iterator<Item = Collision<'_>> {
    policy.layers.iter().enumerate().flat_map(move |(position, layer)| {
        let above = policy.layers.get(..position).unwrap_or_default();
        let enforced = layer.rules.iter().filter(|rule| !rule.shadow && rule.verdict != Verdict::Disabled);
        enforced.filter_map(move |rule| {
            let above = softest_above(above, layer, rule)?;
            (rule.verdict < above.verdict).then_some(Collision { layer, rule, above })
        })
    })
}

/// The softest outcome of the scopes above among the calls that a rule speaks of; `None` where they are silent.
fn softest_above<'p>(above: &'p [Loaded], layer: &Loaded, rule: &'p Rule) -> Option<Outcome<'p>> {
    let mut softest: Option<Outcome<'p>> = None;
    for tool in tools_of(rule) {
        for aspect in Aspect::of(&tool).filter(|aspect| rule.subject.speaks_of(&tool, *aspect, rule.verdict))
        {
            for (role, surface) in callers_of(rule, above) {
                let caller = Caller { tool: &tool, role, surface };
                let said = said_above(above, layer, &caller, aspect, rule)?;
                softest = Some(softest.filter(|held| held.verdict <= said.verdict).unwrap_or(said));
                if softest.is_some_and(|held| held.verdict <= rule.verdict) {
                    return softest;
                }
            }
        }
    }
    softest
}

/// The softest that the scopes above say for one kind of call; `None` where they are silent and this scope may speak.
fn said_above<'p>(
    above: &'p [Loaded],
    layer: &Loaded,
    caller: &Caller<'_>,
    aspect: Aspect,
    rule: &'p Rule,
) -> Option<Outcome<'p>> {
    let about = |other: &Rule| {
        !other.shadow
            && cascade::applies(other, caller)
            && other.subject.speaks_of(caller.tool, aspect, other.verdict)
    };
    let speaks = |other: &Rule| {
        about(other) && other.conditions.is_empty() && rule.command.starts_with(&other.command)
    };
    let rules = || above.iter().flat_map(|layer| layer.rules.iter().map(move |rule| (layer, rule)));
    if layer.scope.replaces_defaults() && !rules().any(|(_, other)| speaks(other)) {
        return None;
    }
    let whole = cascade::aspect(above, caller, aspect, None).ok()?;
    if whole.verdict == Verdict::Disabled {
        return Some(whole);
    }
    let words = match caller.tool.category() {
        Category::Bash => commands::softest(above, caller, &rule.command)?,
        Category::Read | Category::Write | Category::Delete | Category::Egress => whole,
    };
    let conditional = rules().filter(|(_, other)| about(other) && !other.conditions.is_empty());
    let softest = conditional.map(|(layer, other)| Outcome::of_rule(layer, other)).chain([words]);
    softest.min_by_key(|outcome| outcome.verdict)
}

/// Tools that stand for all that a rule may be about: the named ones, those of Enclos, and one of each class of a
/// server that nobody can list here.
fn tools_of(rule: &Rule) -> Vec<Tool<'static>> {
    let named =
        rule.subject.tools.iter().filter(|tool| tool.is_exact()).map(super::subject::Pattern::as_text);
    let servers = rule.subject.servers.iter().map(|server| format!("{}/any", server.as_text()));
    let of_server: Vec<String> =
        named.filter(|name| name.contains('/')).chain(servers).chain(["any/any".to_owned()]).collect();
    let classes = [Category::Read, Category::Write, Category::Delete].into_iter();
    let classes = classes.flat_map(|category| [(category, false), (category, true)]);
    let of_servers = classes.flat_map(|(category, egress)| {
        of_server.iter().map(move |name| Tool::classed(name.clone(), category, egress))
    });
    Tool::built_in().map(Tool::named).chain(of_servers).collect()
}

/// The roles and surfaces that need telling apart.
fn callers_of(rule: &Rule, above: &[Loaded]) -> Vec<(Role, Surface)> {
    let all = || above.iter().flat_map(|layer| &layer.rules);
    let roles: &[Role] =
        if all().any(|rule| !rule.roles.is_empty()) { &Role::ALL } else { &[Role::Developer] };
    let surfaces: &[Surface] =
        if all().any(|rule| !rule.surfaces.is_empty()) { &Surface::ALL } else { &[Surface::Terminal] };
    let roles = if rule.roles.is_empty() { roles } else { &rule.roles };
    let surfaces = if rule.surfaces.is_empty() { surfaces } else { &rule.surfaces };
    roles.iter().flat_map(|role| surfaces.iter().map(move |surface| (*role, *surface))).collect()
}
