//! A call in one line, for a listing or the live region. Never what a person approves: that is the card.

use serde_json::Value;

use crate::escape;

/// What a call is about: its command, path or pattern; else its arguments as they are.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    let of = |key: &str| arguments.get(key).and_then(Value::as_str);
    let told = match tool {
        "bash" => of("command").map(|command| match of("background") {
            Some(name) => format!("{name}: {command}"),
            None => command.to_owned(),
        }),
        "background" => of("action").map(|action| match of("name") {
            Some(name) => format!("{action} {name}"),
            None => action.to_owned(),
        }),
        "grep" | "glob" => of("pattern").map(|pattern| match of("path") {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern.to_owned(),
        }),
        _ => of("path").map(str::to_owned),
    };
    let text = told.unwrap_or_else(|| match arguments {
        Value::String(raw) => raw.clone(),
        other => other.to_string(),
    });
    first_line(&text)
}

/// The first line of a text, with a sign when there are more.
pub(crate) fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = escape::one_line(lines.next().unwrap_or(""));
    if lines.next().is_some() { format!("{first} …") } else { first }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::call;

    #[test]
    fn a_call_is_told_by_what_it_touches() {
        assert_eq!(call("bash", &json!({"command": "ls\nrm x"})), "ls …");
        assert_eq!(call("bash", &json!({"command": "npm start", "background": "web"})), "web: npm start");
        assert_eq!(call("background", &json!({"action": "stop", "name": "web"})), "stop web");
        assert_eq!(call("background", &json!({"action": "list"})), "list");
        assert_eq!(call("read", &json!({"path": "a.rs", "limit": 3})), "a.rs");
        assert_eq!(call("grep", &json!({"pattern": "x", "path": "src"})), "x in src");
        assert_eq!(call("todo", &json!({"items": 2})), r#"{"items":2}"#);
        assert_eq!(call("bash", &json!("{\"command\": tru")), "{\"command\": tru");
    }
}
