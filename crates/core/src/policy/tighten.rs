//! Whether a lower scope only tightens.
//!
//! The cascade never lets a lower rule soften an answer. Here it is said aloud: a rule that is softer than the scopes
//! above on every call it speaks of can never be obeyed. About to be put in force, it is refused with the rule it
//! collides with; where a higher scope tightened later, it is reported as overruled. Calls are told apart by tool,
//! class, role and surface; where rules above look at arguments, their softest answer counts.

use super::Policy;
use super::cascade::{self, Outcome};
use super::commands;
use super::condition::Condition;
use super::decision::Overruled;
use super::error::{PolicyError, Problem};
use super::judge::Caller;
use super::labels::Labels;
use super::load::{Loaded, joined_with};
use super::rule::Rule;
use super::scope::Scope;
use super::settings::Settings;
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

/// The error for each rule and each setting that is softer than the scopes above.
pub(super) fn refusals(policy: &Policy) -> impl Iterator<Item = PolicyError> {
    let rules = collisions(policy).map(|Collision { layer, rule, above }| {
        let (scope, higher, source_file) = (layer.scope, above.by.scope(), above.by.source());
        let (id, against) = (rule.id.clone(), above.by.id());
        let problem = match asked_less(rule, &above) {
            Some((less, more)) if rule.verdict == above.verdict => {
                let against = format!("`{against}` of the {higher} ({source_file})").into();
                Problem::Lesser { rule: id, scope, less: less.into(), against, more: more.into() }
            }
            _ => Problem::Looser {
                rule: id,
                scope,
                verdict: rule.verdict,
                against,
                higher,
                source_file,
                stricter: above.verdict,
            },
        };
        layer.error(rule.line, problem)
    });
    rules.chain(loose_settings(policy, Scope::replaces_defaults)).chain(switched_off(policy))
}

/// A scope other than the instance that would switch the repository's own policy off.
fn switched_off(policy: &Policy) -> impl Iterator<Item = PolicyError> {
    let off =
        |layer: &&Loaded| layer.scope != Scope::Instance && layer.settings.repository_policy == Some(false);
    policy.layers.iter().filter(off).map(|layer| {
        let why = "`repository.policy = false` would switch the repository's `.enclos.toml` off, which only the \
                   instance's policy may: remove it here, or save it for the instance with `enclos policy apply`";
        layer.error(0, Problem::Shape(why.to_owned()))
    })
}

/// The settings of some scopes that give more room than the scopes above.
pub(super) fn loose_settings(policy: &Policy, of: fn(Scope) -> bool) -> Vec<PolicyError> {
    let mut found = Vec::new();
    let mut above = Settings::default();
    for (position, layer) in policy.layers.iter().enumerate() {
        let joined = joined_with(above.clone(), layer);
        if of(layer.scope) {
            let higher = policy.layers.get(..position).unwrap_or_default();
            let own = layer.settings.written().into_iter().zip(above.written());
            let loose = own.zip(joined.written()).filter(|(((key, own), above), (_, joined))| {
                !Labels::ADDED.contains(key) && !own.is_null() && !above.1.is_null() && own != joined
            });
            found.extend(loose.map(|(((key, value), (_, stricter)), _)| {
                let says = |other: &&Loaded| {
                    other.settings.written().iter().any(|(name, said)| *name == key && *said == stricter)
                };
                let by = higher.iter().find(says).or(higher.last());
                let higher =
                    by.map_or_else(String::new, |by| format!("the {} ({})", by.scope, by.source)).into();
                let (value, stricter) = (format!("`{value}`").into(), format!("`{stricter}`").into());
                layer.error(0, Problem::LooserSetting { key, scope: layer.scope, value, higher, stricter })
            }));
        }
        above = joined;
    }
    found
}

/// What a rule asks for where the scopes above ask for more: less of a role, fewer persons, a longer memory.
fn asked_less(rule: &Rule, above: &Outcome<'_>) -> Option<(String, String)> {
    let more = above.approve.filter(|_| rule.verdict == Verdict::Ask && rule.names_approvers)?;
    let own = rule.approve;
    if own.role.is_some_and(|role| more.role.is_some_and(|least| role < least)) {
        let word = |role: Option<Role>| format!("the role `{}`", role.map_or("", Role::as_str));
        return Some((word(own.role), word(more.role)));
    }
    if own.quorum < more.quorum {
        return Some((format!("a quorum of {}", own.quorum), format!("{}", more.quorum)));
    }
    let forgets = own.remember && !more.remember;
    forgets.then(|| ("answers that are remembered".to_owned(), "each one anew".to_owned()))
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
            let softer = rule.verdict < above.verdict;
            let lesser = rule.verdict == above.verdict && asked_less(rule, &above).is_some();
            (softer || lesser).then_some(Collision { layer, rule, above })
        })
    })
}

/// The softest outcome of the scopes above among the calls that a rule speaks of; `None` where they are silent.
fn softest_above<'p>(above: &'p [Loaded], layer: &Loaded, rule: &'p Rule) -> Option<Outcome<'p>> {
    let mut softest: Option<Outcome<'p>> = None;
    let apart = apart(&rule.conditions);
    for tool in tools_of(rule) {
        for aspect in Aspect::of(&tool).filter(|aspect| rule.subject.speaks_of(&tool, *aspect, rule.verdict))
        {
            for (role, surface) in callers_of(rule, above) {
                let caller = Caller { tool: &tool, role, surface };
                for conditions in &apart {
                    let said = said_above(above, layer, &caller, aspect, &Spoken { rule, conditions })?;
                    softest = Some(softest.filter(|held| held.verdict <= said.verdict).unwrap_or(said));
                    if softest.is_some_and(|held| held.verdict <= rule.verdict) {
                        return softest;
                    }
                }
            }
        }
    }
    softest
}

/// The calls of a rule, by the values that its conditions name, as far as those are few.
fn apart(conditions: &[Condition]) -> Vec<Vec<Condition>> {
    let Some(several) = conditions.iter().position(|condition| condition.apart().len() > 1) else {
        return vec![conditions.to_vec()];
    };
    let put = |one: Condition| {
        let all = conditions.iter().enumerate();
        all.map(|(at, condition)| if at == several { one.clone() } else { condition.clone() }).collect()
    };
    conditions.get(several).map(Condition::apart).unwrap_or_default().into_iter().map(put).collect()
}

/// Some of the calls that a rule speaks of.
struct Spoken<'r, 'p> {
    rule: &'p Rule,
    /// What holds for them.
    conditions: &'r [Condition],
}

impl Spoken<'_, '_> {
    /// Whether the conditions of another rule surely hold for each of them.
    fn meet(&self, other: &Rule) -> bool {
        let holds = |condition: &Condition| self.conditions.iter().any(|own| own.within(condition));
        other.conditions.iter().all(holds)
    }
}

/// The softest that the scopes above say for one kind of call; `None` where they are silent and this scope may speak.
fn said_above<'p>(
    above: &'p [Loaded],
    layer: &Loaded,
    caller: &Caller<'_>,
    aspect: Aspect,
    spoken: &Spoken<'_, 'p>,
) -> Option<Outcome<'p>> {
    let rule = spoken.rule;
    let about = |other: &Rule| {
        !other.shadow
            && cascade::applies(other, caller)
            && other.subject.speaks_of(caller.tool, aspect, other.verdict)
    };
    let speaks =
        |other: &Rule| about(other) && spoken.meet(other) && rule.command.starts_with(&other.command);
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
    let softest = softest.min_by_key(|outcome| outcome.verdict)?;
    let floor =
        above.iter().filter_map(|layer| floor(layer, spoken, about)).max_by_key(|floor| floor.verdict);
    Some(floor.filter(|floor| floor.verdict > softest.verdict).unwrap_or(softest))
}

/// What one layer above says at least of each of these calls: the strictest of its rules whose conditions surely hold for
/// them, unless a softer rule of the layer is as specific.
fn floor<'p>(
    layer: &'p Loaded,
    spoken: &Spoken<'_, '_>,
    about: impl Fn(&Rule) -> bool,
) -> Option<Outcome<'p>> {
    let met = |other: &&Rule| about(other) && !other.conditions.is_empty() && spoken.meet(other);
    let held = layer.rules.iter().filter(met).max_by_key(|other| (other.specificity(), other.verdict))?;
    let escapes = |other: &Rule| {
        about(other) && other.verdict < held.verdict && other.specificity() > held.specificity()
    };
    (!layer.rules.iter().any(escapes)).then(|| Outcome::of_rule(layer, held))
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
