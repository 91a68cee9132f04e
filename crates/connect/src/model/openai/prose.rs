//! A call that a model wrote into its words instead of making it.
//!
//! Such a call never runs. It is recognised only so that the model can be told, and only when it names a tool that was
//! offered: as a JSON object that is the whole answer or stands in a code fence, or after one of the markers that models
//! were trained on.

use enclos_core::model::ToolSpec;
use serde_json::Value;

/// Markers, as a line begins with them.
const MARKERS: [&str; 7] = [
    "<tool_call>",
    "<|tool_call|>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "[TOOL_CALLS]",
    "<function=",
    "<function_call>",
];

/// What the model is told.
pub(super) const ADVICE: &str = "the answer holds a tool call written as text, so nothing was run: \
     make the call through the tool-call interface, or answer without one";

/// Whether the words hold a call of an offered tool.
pub(super) fn holds_call(text: &str, tools: &[ToolSpec]) -> bool {
    let offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    std::iter::once(text).chain(fenced(text)).any(|block| is_call(block, &offered)) || marked(text, tools)
}

/// A JSON object (or a list that begins with one) with a tool's name and arguments.
fn is_call(block: &str, offered: &dyn Fn(&str) -> bool) -> bool {
    let block = block.trim();
    if !block.starts_with(['{', '[']) {
        return false;
    }
    let Ok(value) = serde_json::from_str::<Value>(block) else {
        return false;
    };
    let call = value.get(0).unwrap_or(&value);
    let call = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = ["name", "tool", "function"].iter().find_map(|key| call.get(key)?.as_str());
    let carries = ["arguments", "parameters", "args", "input"].iter().any(|key| call.get(key).is_some());
    carries && name.is_some_and(offered)
}

/// The insides of code fences.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split("```").skip(1).step_by(2);
    inside.map(|block| block.split_once('\n').map_or(block, |(_, body)| body))
}

/// A line that begins with a marker, in words that name an offered tool after it.
fn marked(text: &str, tools: &[ToolSpec]) -> bool {
    let mut rest = text;
    loop {
        if MARKERS.iter().any(|marker| rest.trim_start().starts_with(marker)) {
            return tools.iter().any(|tool| rest.contains(&tool.name));
        }
        match rest.split_once('\n') {
            Some((_, next)) => rest = next,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        let tool =
            |name: &str| ToolSpec { name: name.into(), description: String::new(), schema: Value::Null };
        holds_call(text, &[tool("read"), tool("bash")])
    }

    #[test]
    fn calls_in_prose() {
        for text in [
            "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}",
            "I will look.\n```json\n{\"name\": \"read\", \"arguments\": {}}\n```\n",
            "```\n[{\"name\": \"bash\", \"parameters\": {}}]\n```",
            "{\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"{}\"}}",
            "Now:\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {}}\n</tool_call>",
            "<|tool_call|>[{\"name\": \"read\"}]",
            "[TOOL_CALLS]bash{\"command\":\"ls\"}",
            "<function=bash>\n<parameter=command>ls</parameter>",
        ] {
            assert!(holds(text), "{text}");
        }
    }

    #[test]
    fn words_are_words() {
        for text in [
            "",
            "I read the file and ran bash.",
            "{\"name\": \"enclos\", \"arguments\": {}}",
            "```json\n{\"name\": \"read\", \"version\": \"1\"}\n```",
            "Qwen writes <tool_call> before a call of bash.",
            "<tool_call> is a marker of some models.",
            "```rust\nfn read() {}\n```",
        ] {
            assert!(!holds(text), "{text}");
        }
    }
}
