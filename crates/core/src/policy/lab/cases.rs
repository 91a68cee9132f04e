//! Tables of expectations: calls, and the verdict that their author wants for each.
//!
//! They stand in files of their own, named `….cases.toml`: a policy stays what is in force, and one table can be
//! held against several policies. A list of roles or surfaces stands for every pair of them. Tools of servers count
//! as nobody classed them.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use toml::Spanned;

use crate::args::Schema;
use crate::policy::Policy;
use crate::policy::condition::object;
use crate::policy::decision::Decision;
use crate::policy::error::{PolicyError, Problem, line_of};
use crate::policy::judge::Caller;
use crate::policy::list::List;
use crate::policy::rule::known_tool;
use crate::policy::scope::MAX_BYTES;
use crate::policy::tool::Tool;
use crate::policy::who::{Role, Surface};
use crate::verdict::Verdict;

/// A whole table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::policy) struct CasesFile {
    case: Vec<Spanned<CaseFile>>,
}

/// `[[case]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::policy) struct CaseFile {
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    args: toml::Table,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    role: List<Role>,
    #[serde(default)]
    surface: List<Surface>,
    verdict: Verdict,
    #[serde(default)]
    rule: Option<String>,
}

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The file or place of the table.
    pub source: String,
    /// The line of the row, from 1.
    pub line: usize,
    /// The tool.
    pub tool: String,
    /// Its arguments, an object.
    pub args: Value,
    /// The role of the person.
    pub role: Role,
    /// How the session is driven.
    pub surface: Surface,
    /// The verdict that is wanted.
    pub verdict: Verdict,
    /// The rule that is to decide, where the author says one.
    pub rule: Option<String>,
}

/// Whether a text is a table of expectations, whatever its file is named: no policy has `[[case]]`. Gives the line of
/// the first row, 0 where that cannot be told.
pub fn cases_at(text: &str) -> Option<usize> {
    #[derive(Deserialize)]
    struct Rows {
        case: Vec<Spanned<toml::Value>>,
    }
    toml::from_str::<toml::Table>(text).ok().filter(|table| table.contains_key("case"))?;
    let rows = toml::from_str::<Rows>(text).ok();
    let first = rows.as_ref().and_then(|rows| rows.case.first());
    Some(first.map_or(0, |row| line_of(text, row.span().start)))
}

/// Reads a table of expectations.
///
/// # Errors
/// The first row that is not understood whole, with its line.
pub fn read_cases(source: &str, text: &str) -> Result<Vec<Case>, PolicyError> {
    let error = |line, problem| PolicyError::new(source, line, problem);
    if text.len() > MAX_BYTES {
        return Err(error(0, Problem::TooLong { bytes: text.len(), limit: MAX_BYTES }));
    }
    let file: CasesFile = toml::from_str(text).map_err(|e| PolicyError::of_toml(source, text, &e))?;
    let mut cases = Vec::new();
    let mut schemas = HashMap::new();
    for row in file.case {
        let line = line_of(text, row.span().start);
        let rows = of_row(source, line, row.into_inner()).map_err(|problem| error(line, problem))?;
        if let Some(case) = rows.first() {
            fits(case, &mut schemas).map_err(|problem| error(line, problem))?;
        }
        cases.extend(rows);
    }
    Ok(cases)
}

/// Holds the arguments of a case against the schema of its tool, where the tool is one of Enclos. A row says what it is
/// about and may leave the rest out. `schemas`: those that were compiled so far.
fn fits(case: &Case, schemas: &mut HashMap<String, Option<Schema>>) -> Result<(), Problem> {
    let schema = schemas.entry(case.tool.clone()).or_insert_with(|| {
        let spec = crate::tool::built_in().into_iter().find(|spec| spec.name == case.tool);
        spec.and_then(|spec| Schema::of_part(&spec.schema).ok())
    });
    let held = schema.as_ref().map_or(Ok(()), |schema| schema.holds(&case.args));
    held.map_err(|error| Problem::Shape(format!("the case of `{}`: {error}", case.tool)))
}

/// The expectations of one row: one for each role and surface.
fn of_row(source: &str, line: usize, row: CaseFile) -> Result<Vec<Case>, Problem> {
    let shape = |why: &str| Problem::Shape(format!("the case {why}"));
    let (tool, args) = match (row.tool, row.command) {
        (None, Some(command)) if row.args.is_empty() => ("bash".to_owned(), json!({ "command": command })),
        (Some(tool), None) => {
            known_tool(&tool)?;
            (tool, object(&row.args).map(Value::Object).map_err(|why| shape(&why))?)
        }
        (None, None) => return Err(shape("names no call: write `command`, or `tool` and `args`")),
        (_, Some(_)) => {
            return Err(shape(
                "has `command` beside `tool` or `args`: a command is a call of `bash` by itself",
            ));
        }
    };
    let roles = if row.role.0.is_empty() { vec![Role::Developer] } else { row.role.0 };
    let surfaces = if row.surface.0.is_empty() { vec![Surface::Terminal] } else { row.surface.0 };
    let pairs = roles.iter().flat_map(|role| surfaces.iter().map(move |surface| (*role, *surface)));
    let case = |(role, surface)| Case {
        source: source.to_owned(),
        line,
        tool: tool.clone(),
        args: args.clone(),
        role,
        surface,
        verdict: row.verdict,
        rule: row.rule.clone(),
    };
    Ok(pairs.map(case).collect())
}

impl Case {
    /// Whether a decision is the one that is wanted.
    pub fn passed(&self, decision: &Decision) -> bool {
        self.verdict == decision.verdict
            && self.rule.as_ref().is_none_or(|rule| rule == decision.rule.as_str())
    }
}

impl Policy {
    /// Answers the call of a case.
    pub fn judge_case(&self, case: &Case) -> Decision {
        let tool = Tool::named(&case.tool);
        let caller = Caller { tool: &tool, role: case.role, surface: case.surface };
        self.decide(&caller, Some(&case.args))
    }
}
