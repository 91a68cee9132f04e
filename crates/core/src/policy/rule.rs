//! A rule, read in full: what it is about, for whom, under which conditions, and what it says.
//!
//! A rule that could be read in two ways is refused here, with its line.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::ids::RuleId;
use crate::near::nearest;
use crate::verdict::Verdict;

use super::arguments;
use super::condition::{Condition, Incomparable};
use super::error::Problem;
use super::file::{ApproveFile, RuleFile};
use super::subject::{Aspect, Pattern, Subject};
use super::tool::Tool;
use super::who::{Category, Role, Surface};

/// A rule of one layer.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: RuleId,
    /// Whether its author named it.
    pub(super) named: bool,
    pub(super) line: usize,
    pub(super) subject: Subject,
    pub(super) roles: Vec<Role>,
    pub(super) surfaces: Vec<Surface>,
    pub(super) conditions: Vec<Condition>,
    /// The first words of a command; empty for a rule that is not about a command.
    pub(super) command: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) approve: Approve,
    /// Whether `approve` was written.
    pub(super) names_approvers: bool,
    pub(super) shadow: bool,
    pub(super) reason: Option<String>,
}

/// What an `ask` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Approve {
    pub(super) role: Option<Role>,
    pub(super) quorum: u32,
    pub(super) remember: bool,
    pub(super) person: bool,
}

impl Approve {
    /// One person of any role who may answer for the session, and no remembered grant.
    pub(super) const PLAIN: Self = Self { role: None, quorum: 1, remember: false, person: false };

    /// The fields that are not the plain ones, as they are written; `null` where none is.
    fn written(self) -> Value {
        let all = [
            ("role", json!(self.role)),
            ("quorum", json!(Some(self.quorum).filter(|quorum| *quorum > 1))),
            ("remember", json!(Some(true).filter(|_| self.remember))),
            ("person", json!(Some(true).filter(|_| self.person))),
        ];
        let said: serde_json::Map<String, Value> = all
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(field, value)| (field.to_owned(), value))
            .collect();
        if said.is_empty() { Value::Null } else { Value::Object(said) }
    }

    /// What satisfies both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            role: self.role.max(other.role),
            quorum: self.quorum.max(other.quorum),
            remember: self.remember && other.remember,
            person: self.person || other.person,
        }
    }
}

/// How specific a rule is, compared field by field: arguments, then subject, then role, then surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Specificity {
    arguments: bool,
    subject: u8,
    role: bool,
    surface: bool,
}

impl Rule {
    /// Reads a written rule. `default_id` names it where its author did not.
    pub(super) fn new(file: RuleFile, default_id: String, line: usize) -> Result<Self, Problem> {
        let named = file.id.is_some();
        let id = match file.id {
            Some(id) => RuleId::new(name(&id, "rule")?),
            None => RuleId::new(default_id),
        };
        let bad = |why: &str| Problem::BadRule { rule: id.clone(), why: why.to_owned() };
        let subject = subject(&file.tool.0, file.category.0, &file.server.0, file.command.is_some())
            .map_err(|problem| {
                problem.unwrap_or_else(|| bad("names no `tool`, `category` or `server`: name one"))
            })?;
        let empty = |name: &str| {
            format!("has an empty `{name}`, which would speak of every call: fill it or leave it out")
        };
        if file.command.as_ref().is_some_and(Vec::is_empty) {
            return Err(bad(&empty("command")));
        }
        if file.when.as_ref().is_some_and(Vec::is_empty) {
            return Err(bad(&empty("when")));
        }
        let command = file.command.unwrap_or_default();
        check_command(&subject, &command, file.when.is_none()).map_err(|why| bad(&why))?;
        if file.approve.is_some() && file.verdict != Verdict::Ask {
            return Err(bad("has `approve` without `verdict = \"ask\"`: only a question has approvers"));
        }
        let names_approvers = file.approve.is_some();
        let approve = file.approve.map_or(Ok(Approve::PLAIN), read_approve).map_err(bad)?;
        let conditions = file.when.into_iter().flatten().map(Condition::new).collect::<Result<Vec<_>, _>>();
        let conditions = conditions.map_err(|why| bad(&why))?;
        for condition in &conditions {
            arguments::possible(&subject, condition).map_err(|why| bad(&why))?;
        }
        Ok(Self {
            named,
            line,
            subject,
            roles: file.role.0,
            surfaces: file.surface.0,
            conditions,
            command,
            verdict: file.verdict,
            approve,
            names_approvers,
            shadow: file.shadow,
            reason: file.reason,
            id,
        })
    }

    pub(super) fn specificity(&self) -> Specificity {
        Specificity {
            arguments: self.about_arguments(),
            subject: self.subject.rank(),
            role: !self.roles.is_empty(),
            surface: !self.surfaces.is_empty(),
        }
    }

    /// Whether the rule looks at arguments, a command's words included.
    pub(super) fn about_arguments(&self) -> bool {
        !self.conditions.is_empty() || !self.command.is_empty()
    }

    /// Whether all conditions on the arguments hold.
    pub(super) fn conditions_hold(&self, tool: &str, args: &Value) -> Result<bool, Incomparable> {
        for condition in &self.conditions {
            if !condition.holds(tool, args)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the rule speaks of an example call, role and surface aside.
    pub(super) fn matches_example(&self, tool: &Tool<'_>, args: &Value) -> Result<bool, &'static str> {
        let spoken = Aspect::of(tool).any(|aspect| self.subject.speaks_of(tool, aspect, self.verdict));
        let held = self.conditions_hold(tool.name(), args);
        held.map(|held| spoken && held)
            .map_err(|_| "has an example whose argument cannot be compared as `when` asks")
    }

    /// Whether the rule speaks of `bash`.
    pub(super) fn speaks_of_bash(&self) -> bool {
        self.subject.speaks_of(&Tool::named("bash"), Aspect::Class(Category::Bash), self.verdict)
    }

    /// What the rule says, field by field, as it is written. Its name is not part of it.
    pub(super) fn written(&self) -> BTreeMap<&'static str, Value> {
        let texts = |patterns: &[Pattern]| patterns.iter().map(Pattern::as_text).collect::<Vec<_>>();
        let when: Vec<Value> = self.conditions.iter().map(Condition::written).collect();
        let all = [
            ("tool", json!(texts(&self.subject.tools))),
            ("category", json!(self.subject.categories)),
            ("server", json!(texts(&self.subject.servers))),
            ("role", json!(self.roles)),
            ("surface", json!(self.surfaces)),
            ("when", json!(when)),
            ("command", json!(self.command)),
            ("verdict", json!(self.verdict)),
            ("approve", self.approve.written()),
            ("shadow", if self.shadow { json!(true) } else { Value::Null }),
            ("reason", json!(self.reason)),
        ];
        let silent = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        all.into_iter().filter(|(_, value)| !silent(value)).collect()
    }

    pub(super) fn for_role(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }

    pub(super) fn on_surface(&self, surface: Surface) -> bool {
        self.surfaces.is_empty() || self.surfaces.contains(&surface)
    }
}

/// Checks a name of a rule or a policy.
pub(super) fn name(text: &str, what: &'static str) -> Result<String, Problem> {
    let fits = !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
        && !["default.", "command.", "evaluation."].iter().any(|own| text.starts_with(own));
    let expected = "up to 64 of a-z, 0-9, `.`, `_`, `-`, and none of Enclos's own (`default.`, `command.`, `evaluation.`)";
    if fits { Ok(text.to_owned()) } else { Err(Problem::BadName { name: text.to_owned(), what, expected }) }
}

/// Reads what a rule is about. `Err(None)`: nothing.
fn subject(
    tools: &[String],
    categories: Vec<Category>,
    servers: &[String],
    command: bool,
) -> Result<Subject, Option<Problem>> {
    let mut tools =
        tools.iter().map(|tool| tool_pattern(tool)).collect::<Result<Vec<_>, _>>().map_err(Some)?;
    let servers =
        servers.iter().map(|server| server_pattern(server)).collect::<Result<Vec<_>, _>>().map_err(Some)?;
    if command && tools.is_empty() {
        tools.push(Pattern::new("bash"));
    }
    if tools.is_empty() && categories.is_empty() && servers.is_empty() {
        return Err(None);
    }
    Ok(Subject { tools, categories, servers })
}

/// A tool that is called: `*` names none.
pub(super) fn known_tool(text: &str) -> Result<(), Problem> {
    let expected = "the name of one tool: `*` names none";
    if text.split('/').any(|segment| segment == "*") {
        return Err(Problem::BadName { name: text.to_owned(), what: "tool", expected });
    }
    tool_pattern(text).map(|_| ())
}

fn tool_pattern(text: &str) -> Result<Pattern, Problem> {
    let own = text == "*" || Tool::built_in().any(|known| known == text);
    let of_server = text.contains('/') && text.split('/').all(segment);
    if own || of_server {
        return Ok(Pattern::new(text));
    }
    let known: Vec<&str> = Tool::built_in().collect();
    Err(Problem::UnknownTool { name: text.to_owned(), near: nearest(text, &known).map(str::to_owned) })
}

fn server_pattern(text: &str) -> Result<Pattern, Problem> {
    let expected = "letters, digits, `.`, `_`, `-`, or `*` alone";
    if segment(text) {
        Ok(Pattern::new(text))
    } else {
        Err(Problem::BadName { name: text.to_owned(), what: "server", expected })
    }
}

/// Whether a segment of a name is `*` or an ordinary name.
fn segment(text: &str) -> bool {
    text == "*"
        || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)))
}

/// A command rule is about `bash` alone, in words that a command can have.
fn check_command(subject: &Subject, command: &[String], unconditional: bool) -> Result<(), String> {
    let about_bash = subject.tools == [Pattern::new("bash")]
        && subject.servers.is_empty()
        && subject.categories.is_empty();
    let Some(first) = command.first() else { return Ok(()) };
    let why = if !about_bash {
        "has `command` and another subject than `bash`: a command rule is about `bash` alone"
    } else if !unconditional {
        "has both `command` and `when`: write two rules"
    } else if command.iter().any(|word| word.is_empty() || word.chars().any(is_unseen)) {
        "has an empty word or a character that nobody sees in `command`: write the first words of the command as it is run"
    } else if command.iter().any(|word| word == "*") {
        "has the word `*` in `command`: it is a prefix and matches whatever follows, so leave the `*` out"
    } else if first.contains(char::is_whitespace) {
        let words: Vec<String> = first.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        let rest = command.iter().skip(1).map(|word| format!("\"{word}\""));
        let all: Vec<String> = words.into_iter().chain(rest).collect();
        return Err(format!(
            "has the program `{first}` with a blank in `command`, which no command begins with: write `[{}]`",
            all.join(", ")
        ));
    } else {
        return Ok(());
    };
    Err(why.to_owned())
}

/// A character that shows nothing: a rule that seems to be on a command would be on none.
fn is_unseen(character: char) -> bool {
    character.is_control() || crate::command::is_invisible(character)
}

fn read_approve(file: ApproveFile) -> Result<Approve, &'static str> {
    let quorum = file.quorum.unwrap_or(1);
    if quorum == 0 || quorum > 16 {
        return Err("has a `quorum` outside 1 to 16");
    }
    Ok(Approve { role: file.role, quorum, remember: file.remember, person: file.person })
}
