//! The matrix of role, category and surface, with the tools and commands that rules name, under two policies.
//!
//! Each cell is the judgement of one call that stands for its kind. Cells that change alike are told together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::witness::{self, Call};
use crate::ids::RuleId;
use crate::policy::Policy;
use crate::policy::decision::Decision;
use crate::policy::judge::Caller;
use crate::policy::load::Loaded;
use crate::policy::rule::Rule;
use crate::policy::subject::Pattern;
use crate::policy::tool::Tool;
use crate::policy::who::{Category, Role, Surface};
use crate::verdict::Verdict;

/// What a cell stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seen {
    /// A category: any tool of it that no rule names.
    Category,
    /// A tool.
    Tool,
    /// Commands that begin with these words.
    Command,
    /// A call that a rule on arguments speaks of.
    Call,
}

/// What a policy answers in a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decides.
    pub rule: RuleId,
    /// The least role of who approves; of a question only, as the fields below.
    pub approvers: Option<Role>,
    /// How many must approve.
    pub quorum: u32,
    /// Whether the answer may be remembered.
    pub remember: bool,
    /// Whether only a person may answer.
    pub person: bool,
}

/// Which way an answer or a setting changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Gives more room.
    Softer,
    /// Gives less room.
    Harder,
    /// Gives more room in one respect and less in another, or neither.
    Other,
}

impl Direction {
    /// The word of this direction in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Softer => "softer",
            Self::Harder => "harder",
            Self::Other => "other",
        }
    }
}

/// For whom and through what: each of the roles on each of the surfaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Where {
    /// The roles.
    pub roles: Vec<Role>,
    /// The surfaces.
    pub surfaces: Vec<Surface>,
}

/// Cells that change alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellChange {
    /// What the cells stand for.
    pub seen: Seen,
    /// The name of the category or tool, the first words of the commands, or the call.
    pub name: String,
    /// The answer of the old policy.
    pub before: Answer,
    /// The answer of the new one.
    pub after: Answer,
    /// Which way the answer changes.
    pub direction: Direction,
    /// In which cells.
    pub places: Vec<Where>,
}

/// A role on a surface.
type Cell = (Role, Surface);

/// A call that stands for its kind.
struct Probe {
    seen: Seen,
    name: String,
    tool: Tool<'static>,
    args: Option<Value>,
}

/// The cells that the second policy answers otherwise than the first.
pub(super) fn changes(old: &Policy, new: &Policy) -> Vec<CellChange> {
    let rules: Vec<&Rule> = [old, new].into_iter().flat_map(rules_of).collect();
    let places = told_apart(&rules);
    let mut out = Vec::new();
    let mut known = BTreeSet::new();
    let all = probes(&rules).into_iter().chain(witnesses(old, new));
    for probe in all.filter(|probe| known.insert((probe.seen, probe.name.clone()))) {
        let mut alike: BTreeMap<(Answer, Answer), Vec<Cell>> = BTreeMap::new();
        for ((role, surface), stands_for) in &places {
            let caller = Caller { tool: &probe.tool, role: *role, surface: *surface };
            let [before, after] =
                [old, new].map(|policy| Answer::of(&policy.decide(&caller, probe.args.as_ref())));
            if !before.asks_the_same(&after) {
                alike.entry((before, after)).or_default().extend(stands_for);
            }
        }
        out.extend(alike.into_iter().map(|((before, after), cells)| CellChange {
            seen: probe.seen,
            name: probe.name.clone(),
            direction: before.direction(&after),
            before,
            after,
            places: gathered(&cells),
        }));
    }
    out
}

/// What a person has to compare by eye: rules on arguments for which no call can be made.
pub(super) fn unseen(old: &Policy, new: &Policy) -> Vec<String> {
    let conditional = on_arguments(old, new).filter(|(_, rule)| !rule.conditions.is_empty());
    let without = conditional.filter(|(layer, rule)| witness::calls(layer, rule).is_empty());
    let notes: BTreeSet<String> = without.map(|(_, rule)| witness::missing(rule)).collect();
    notes.into_iter().collect()
}

/// The enforced rules on arguments of both policies.
fn on_arguments<'p>(old: &'p Policy, new: &'p Policy) -> impl Iterator<Item = (&'p Loaded, &'p Rule)> {
    let layers = old.layers.iter().chain(&new.layers);
    let rules = layers.flat_map(|layer| layer.rules.iter().map(move |rule| (layer, rule)));
    rules.filter(|(_, rule)| rule.about_arguments() && !rule.shadow)
}

/// The calls that the rules on arguments speak of.
fn witnesses(old: &Policy, new: &Policy) -> Vec<Probe> {
    let calls = on_arguments(old, new).flat_map(|(layer, rule)| {
        let seen = if rule.command.is_empty() { Seen::Call } else { Seen::Command };
        witness::calls(layer, rule).into_iter().map(move |call| (seen, call))
    });
    let probe = |(seen, Call { tool, args }): (Seen, Call)| {
        let command = args.get("command").and_then(Value::as_str).filter(|_| seen == Seen::Command);
        let name = command.map_or_else(|| format!("{} {args}", class_of(&tool)), str::to_owned);
        Probe { seen, name, tool, args: Some(args) }
    };
    calls.map(probe).collect()
}

/// A tool, with its class where that is not known by its name.
fn class_of(tool: &Tool<'_>) -> String {
    let egress = if tool.egress() { ", egress" } else { "" };
    match tool.server() {
        None => tool.name().to_owned(),
        Some(_) => format!("{} ({}{egress})", tool.name(), tool.category()),
    }
}

fn rules_of(policy: &Policy) -> impl Iterator<Item = &Rule> {
    policy.layers.iter().flat_map(|layer| &layer.rules)
}

/// One role and surface for all that no rule tells apart, with those that it stands for.
fn told_apart(rules: &[&Rule]) -> BTreeMap<Cell, Vec<Cell>> {
    let by_role = rules.iter().any(|rule| !rule.roles.is_empty());
    let by_surface = rules.iter().any(|rule| !rule.surfaces.is_empty());
    let all = || Role::ALL.into_iter().flat_map(|role| Surface::ALL.map(|surface| (role, surface)));
    let first = |(role, surface): Cell| {
        (if by_role { role } else { Role::Developer }, if by_surface { surface } else { Surface::Terminal })
    };
    let mut out: BTreeMap<Cell, Vec<Cell>> = BTreeMap::new();
    for place in all() {
        out.entry(first(place)).or_default().push(place);
    }
    out
}

fn probes(rules: &[&Rule]) -> Vec<Probe> {
    let category = |category: Category| Probe {
        seen: Seen::Category,
        name: category.to_string(),
        tool: match category {
            Category::Bash => Tool::named("bash"),
            Category::Egress => Tool::classed("unnamed", Category::Read, true),
            Category::Read | Category::Write | Category::Delete => Tool::classed("unnamed", category, false),
        },
        args: None,
    };
    let tool = |name: &'static str| Probe {
        seen: Seen::Tool,
        name: name.to_owned(),
        tool: Tool::named(name),
        args: None,
    };
    let commands: BTreeSet<&[String]> =
        rules.iter().map(|rule| rule.command.as_slice()).filter(|words| !words.is_empty()).collect();
    let command = |words: &[String]| {
        let text = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let args = json!({ "command": text });
        Probe { seen: Seen::Command, name: text, tool: Tool::named("bash"), args: Some(args) }
    };
    Category::ALL
        .into_iter()
        .map(category)
        .chain(Tool::built_in().filter(|name| *name != "bash").map(tool))
        .chain(of_servers(rules))
        .chain(commands.into_iter().map(command))
        .collect()
}

/// Tools of the servers that rules name, in each class that such a tool may have.
fn of_servers(rules: &[&Rule]) -> Vec<Probe> {
    let probe = |tool: Tool<'static>| Probe { seen: Seen::Tool, name: class_of(&tool), tool, args: None };
    served(rules).into_iter().map(probe).collect()
}

/// As [`of_servers`], the tools.
pub(super) fn served(rules: &[&Rule]) -> Vec<Tool<'static>> {
    let slashed =
        |pattern: &Pattern| Some(pattern.as_text().replace('*', "any")).filter(|name| name.contains('/'));
    let tools = rules.iter().flat_map(|rule| &rule.subject.tools).filter_map(slashed);
    let servers = rules.iter().flat_map(|rule| &rule.subject.servers);
    let servers = servers.map(|server| format!("{}/any", server.as_text().replace('*', "any")));
    let names: BTreeSet<String> = tools.chain(servers).collect();
    names.iter().flat_map(|name| classes(name)).collect()
}

/// A tool of a server in each class that it may have.
pub(super) fn classes(name: &str) -> Vec<Tool<'static>> {
    let classes = [Category::Read, Category::Write, Category::Delete].into_iter();
    let classes = classes.flat_map(|class| [(class, false), (class, true)]);
    classes.map(|(class, egress)| Tool::classed(name.to_owned(), class, egress)).collect()
}

/// A word as bash takes it for itself.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Cells as roles × surfaces: surfaces that the same roles have are told together.
fn gathered(cells: &[Cell]) -> Vec<Where> {
    let mut of_surface: BTreeMap<Surface, BTreeSet<Role>> = BTreeMap::new();
    for (role, surface) in cells {
        of_surface.entry(*surface).or_default().insert(*role);
    }
    let mut of_roles: BTreeMap<BTreeSet<Role>, Vec<Surface>> = BTreeMap::new();
    for (surface, roles) in of_surface {
        of_roles.entry(roles).or_default().push(surface);
    }
    let place = |(roles, surfaces): (BTreeSet<Role>, Vec<Surface>)| Where {
        roles: roles.into_iter().collect(),
        surfaces,
    };
    of_roles.into_iter().map(place).collect()
}

impl Answer {
    pub(super) fn of(decision: &Decision) -> Self {
        let asks = decision.verdict == Verdict::Ask;
        Self {
            verdict: decision.verdict,
            rule: decision.rule.clone(),
            approvers: decision.approvers.filter(|_| asks),
            quorum: if asks { decision.quorum } else { 1 },
            remember: asks && decision.remember,
            person: asks && decision.person,
        }
    }

    /// Whether the other answer is the same to a call, whichever rule gives it.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        let of =
            |answer: &Self| (answer.verdict, answer.approvers, answer.quorum, answer.remember, answer.person);
        of(self) == of(other)
    }

    /// Which way this answer changes where the other takes its place.
    pub fn direction(&self, other: &Self) -> Direction {
        if self.verdict != other.verdict {
            return if other.verdict < self.verdict { Direction::Softer } else { Direction::Harder };
        }
        let softer = other.approvers < self.approvers
            || other.quorum < self.quorum
            || (other.remember && !self.remember)
            || (self.person && !other.person);
        let harder = other.approvers > self.approvers
            || other.quorum > self.quorum
            || (self.remember && !other.remember)
            || (other.person && !self.person);
        match (softer, harder) {
            (true, false) => Direction::Softer,
            (false, true) => Direction::Harder,
            _ => Direction::Other,
        }
    }
}
