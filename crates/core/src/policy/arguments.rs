//! Rules on arguments that could never hold are refused when they are read: a `disabled` that is dead is a hole.
//!
//! Of Enclos's own tools the arguments are known; of a server's nothing is, and nothing is refused. Paths of the file
//! tools are compared as what they lead to, so a condition must be written that way too.

use std::sync::LazyLock;

use serde_json::Value;

use super::condition::{Compared, Condition, led_to};
use super::subject::Subject;
use crate::model::ToolSpec;
use crate::near::nearest;
use crate::tool;

/// Checks that an argument is one of a tool of Enclos.
///
/// # Errors
/// Says that it is none, with the nearest that is one. Of other tools nothing is known.
pub(super) fn known(tool: &str, argument: &str) -> Result<(), String> {
    let Some(properties) = properties(tool) else { return Ok(()) };
    if properties.contains_key(argument) {
        return Ok(());
    }
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let meant =
        nearest(argument, &names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let listed = names.join("`, `");
    Err(format!("`{tool}` has no argument `{argument}`: expected one of `{listed}`{meant}"))
}

/// Checks that a condition can hold for some call that a rule on `subject` speaks of.
///
/// # Errors
/// Says why not, and how to write it.
pub(super) fn possible(subject: &Subject, condition: &Condition) -> Result<(), String> {
    let pointer = condition.pointer();
    if let Compared::Values([]) = condition.compared() {
        return Err(format!("has an empty `in` on `{pointer}`, which nothing can be: name the values"));
    }
    let tools = own_tools(subject);
    typed(&tools, condition)?;
    let of_files = tools.is_empty() && subject.servers.is_empty() && !of_servers_alone(subject)
        || tools.iter().any(|tool| tool::is_file(tool));
    if of_files && pointer == "/path" { led(condition) } else { Ok(()) }
}

fn of_servers_alone(subject: &Subject) -> bool {
    !subject.tools.is_empty() && subject.tools.iter().all(|tool| tool.as_text().contains('/'))
}

/// The tools of a subject, when all of them are Enclos's own and have arguments that are known.
fn own_tools(subject: &Subject) -> Vec<String> {
    let names: Vec<String> = subject.tools.iter().map(super::subject::Pattern::as_text).collect();
    if names.iter().all(|name| properties(name).is_some()) { names } else { Vec::new() }
}

/// The argument exists in one of the tools, and is of a type that the condition compares.
fn typed(tools: &[String], condition: &Condition) -> Result<(), String> {
    let pointer = condition.pointer();
    let mut segments = pointer.split('/').skip(1);
    let (Some(argument), deeper) = (segments.next(), segments.next().is_some()) else { return Ok(()) };
    let mut wrong = None;
    for tool in tools {
        match known(tool, argument)
            .and_then(|()| if deeper { has_parts(tool, argument) } else { fits(tool, argument, condition) })
        {
            Ok(()) => return Ok(()),
            Err(why) => wrong = Some(why),
        }
    }
    wrong.map_or(Ok(()), |why| Err(format!("has a condition on `{pointer}` that never holds: {why}")))
}

/// Whether a value of the argument's type has values inside.
fn has_parts(tool: &str, argument: &str) -> Result<(), String> {
    let kind = properties(tool).and_then(|all| all.get(argument)?.get("type")?.as_str().map(str::to_owned));
    match kind.as_deref() {
        Some("string" | "integer" | "number" | "boolean") => {
            Err(format!("`{argument}` of `{tool}` has nothing inside: point at `/{argument}`"))
        }
        _ => Ok(()),
    }
}

/// Whether a value of the argument's type could meet the condition.
fn fits(tool: &str, argument: &str, condition: &Condition) -> Result<(), String> {
    let kind = properties(tool).and_then(|all| all.get(argument)?.get("type")?.as_str().map(str::to_owned));
    let Some(kind) = kind else { return Ok(()) };
    let of_kind = |value: &Value| match kind.as_str() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => true,
    };
    let fits = match condition.compared() {
        Compared::Values(values) => values.iter().all(of_kind),
        Compared::Prefix(_) | Compared::Glob(_) | Compared::Regex => kind == "string",
    };
    let expected = match kind.as_str() {
        "string" => "text",
        "integer" => "a whole number",
        "boolean" => "`true` or `false`",
        _ => "a value of its kind",
    };
    if fits { Ok(()) } else { Err(format!("`{argument}` of `{tool}` is {expected}")) }
}

/// A path is written as what it leads to.
fn led(condition: &Condition) -> Result<(), String> {
    let spelled = |written: &str| {
        let slash = if written.len() > 1 && written.ends_with('/') { "/" } else { "" };
        let led = format!("{}{slash}", led_to(written));
        let led = if led == "./" { String::new() } else { led };
        (led != written && !written.is_empty()).then_some(led)
    };
    let found = match condition.compared() {
        Compared::Values(values) => values.iter().filter_map(Value::as_str).find_map(|written| {
            let trimmed = written.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(written);
            (led_to(trimmed) != written).then(|| (written.to_owned(), led_to(trimmed)))
        }),
        Compared::Prefix(written) => spelled(written).map(|led| (written.to_owned(), led)),
        Compared::Glob(written) => {
            let rest = written.strip_prefix("./").or_else(|| written.strip_prefix("/workspace/"));
            rest.map(|rest| (written.to_owned(), rest.to_owned()))
        }
        Compared::Regex => None,
    };
    let Some((written, led)) = found else { return Ok(()) };
    Err(format!(
        "compares `/path` with `{written}`, which no path is compared as: paths are told from `/workspace`, in their shortest form; write `{led}`"
    ))
}

/// The arguments of a tool of Enclos. A policy asks for them at every condition, so they are written out once.
fn properties(tool: &str) -> Option<&'static serde_json::Map<String, Value>> {
    static TOOLS: LazyLock<Vec<ToolSpec>> = LazyLock::new(tool::built_in);
    TOOLS.iter().find(|spec| spec.name == tool)?.schema.get("properties")?.as_object()
}
