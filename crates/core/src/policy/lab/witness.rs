//! Calls that a rule on arguments speaks of, so that two policies can be compared where such a rule decides.
//!
//! A call comes from the rule's own examples and from what its conditions say in so many words. Each one is held
//! against the rule before it counts; where none can be made the rule is named, for a person to compare by eye.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::policy::condition::Condition;
use crate::policy::load::Loaded;
use crate::policy::rule::Rule;
use crate::policy::subject::{Aspect, Pattern};
use crate::policy::tool::Tool;
use crate::policy::who::Category;

/// What stands for a name that a condition leaves open.
const NAME: &str = "name";

/// A call.
pub(super) struct Call {
    pub(super) tool: Tool<'static>,
    pub(super) args: Value,
}

/// Calls that a rule on arguments speaks of.
pub(super) fn calls(layer: &Loaded, rule: &Rule) -> Vec<Call> {
    let own = layer.examples.iter().filter(|held| held.shows(rule));
    let mut calls: Vec<Call> = own.map(super::Held::call).collect();
    if rule.conditions.is_empty() {
        return calls;
    }
    let conditions: Vec<Value> = rule.conditions.iter().map(Condition::written).collect();
    let values = values(&conditions);
    for tool in tools(rule, &values) {
        let made = made(&tool, &values).into_iter();
        let spoken = made.filter(|args| rule.matches_example(&tool, args) == Ok(true));
        calls.extend(spoken.map(|args| Call { tool: tool.clone(), args }));
    }
    calls
}

/// Why there is no call for a rule.
pub(super) fn missing(rule: &Rule) -> String {
    let written = rule.conditions.iter().map(Condition::written);
    let regex = written.into_iter().any(|condition| condition.get("regex").is_some());
    let what = if regex { "a regex" } else { "conditions that no call could be made for" };
    format!("the rule `{}` has {what} and no example: compare by eye", rule.id)
}

/// For each pointer, values that its conditions name.
fn values(conditions: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut out: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for condition in conditions {
        let Some(pointer) = condition.get("pointer").and_then(Value::as_str) else { continue };
        let texts = |texts: Vec<String>| texts.into_iter().map(Value::from).collect::<Vec<_>>();
        let word = |name: &str| condition.get(name).and_then(Value::as_str);
        let named = match (condition.get("equals"), condition.get("in"), word("prefix"), word("glob")) {
            (Some(value), ..) => vec![value.clone()],
            (_, Some(Value::Array(values)), ..) => values.clone(),
            (.., Some(prefix), _) => texts(begun(pointer, prefix)),
            (.., Some(glob)) => texts(vec![filled(glob)]),
            _ => Vec::new(),
        };
        out.entry(pointer.to_owned()).or_default().extend(named);
    }
    out
}

/// Texts with a prefix. A command is not run on into another word.
fn begun(pointer: &str, prefix: &str) -> Vec<String> {
    let gap = if pointer == "/command" { " " } else { "" };
    vec![format!("{prefix}{gap}{NAME}"), prefix.to_owned()]
}

/// A glob with its stars filled, its classes by their first character, its alternatives by the first.
fn filled(glob: &str) -> String {
    let mut out = String::new();
    let mut chars = glob.chars().peekable();
    // Within alternatives, and whether the first is over.
    let (mut within, mut over) = (false, false);
    while let Some(c) = chars.next() {
        match c {
            '}' => (within, over) = (false, false),
            ',' if within => over = true,
            _ if over => {}
            '{' => within = true,
            '\\' => out.extend(chars.next()),
            '?' => out.push('n'),
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                out.push_str(NAME);
            }
            '[' => {
                let class: String = chars.by_ref().take_while(|c| *c != ']').collect();
                out.push(class.chars().next().filter(|c| !"!^".contains(*c)).unwrap_or('n'));
            }
            c => out.push(c),
        }
    }
    out
}

/// Arguments with these values: the first of each pointer together, then the second, as far as any goes.
fn made(tool: &Tool<'_>, values: &BTreeMap<String, Vec<Value>>) -> Vec<Value> {
    let most = values.values().map(Vec::len).max().unwrap_or(0);
    (0..most).filter_map(|turn| arguments(tool, values, turn)).collect()
}

fn arguments(tool: &Tool<'_>, values: &BTreeMap<String, Vec<Value>>, turn: usize) -> Option<Value> {
    let mut args = Map::new();
    if tool.category() == Category::Bash {
        args.insert("command".to_owned(), json!("true"));
    }
    for (pointer, named) in values {
        let value = named.get(turn).or(named.last())?;
        place(&mut args, pointer, value.clone())?;
    }
    Some(Value::Object(args))
}

/// Puts a value where a pointer leads, through objects alone.
fn place(args: &mut Map<String, Value>, pointer: &str, value: Value) -> Option<()> {
    let key = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
    let mut segments: Vec<String> = pointer.split('/').skip(1).map(key).collect();
    let last = segments.pop()?;
    let mut within = args;
    for segment in segments {
        let inner = within.entry(segment).or_insert_with(|| Value::Object(Map::new()));
        within = inner.as_object_mut()?;
    }
    within.insert(last, value);
    Some(())
}

/// Tools that a rule speaks of: those it names, those of Enclos that take the arguments it looks at, and else one of
/// a server in each class.
fn tools(rule: &Rule, values: &BTreeMap<String, Vec<Value>>) -> Vec<Tool<'static>> {
    let speaks =
        |tool: &Tool<'_>| Aspect::of(tool).any(|aspect| rule.subject.speaks_of(tool, aspect, rule.verdict));
    let exact: Vec<&Pattern> = rule.subject.tools.iter().filter(|tool| tool.is_exact()).collect();
    let named = |name: &str| exact.iter().any(|pattern| pattern.as_text() == name);
    let looks_at: Vec<&str> = values.keys().filter_map(|pointer| pointer.split('/').nth(1)).collect();
    let specs = crate::tool::built_in();
    let takes = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name);
        let fields = spec.and_then(|spec| spec.schema.get("properties")?.as_object());
        fields.is_some_and(|fields| looks_at.iter().all(|field| fields.contains_key(*field)))
    };
    let own = Tool::built_in().filter(|name| named(name) || takes(name)).map(Tool::named).filter(speaks);
    let mut tools: Vec<Tool<'static>> = own.collect();
    if tools.is_empty() || exact.iter().any(|pattern| pattern.as_text().contains('/')) {
        tools.extend(super::cells::served(&[rule]).into_iter().filter(speaks));
    }
    if tools.is_empty() {
        tools.extend(super::cells::classes("any/any").into_iter().filter(speaks));
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn a_glob_is_filled_to_a_text_that_it_matches() {
        for glob in
            ["src/**", "**/*.rs", "a?c/[xyz].{toml,lock}", r"\*x", ".github/**/*.yml", "{a,b}/*/c", "a,b{c}"]
        {
            let matcher =
                globset::GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
            let text = filled(glob);
            assert!(matcher.unwrap().compile_matcher().is_match(&text), "{glob}: {text}");
        }
    }
}
