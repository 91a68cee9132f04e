//! The body of a request, when calls are native.
//!
//! History goes back in a form that the strictest servers take: no `null`, no empty list, every call with one result after
//! it and every result with its call, no two messages of the person in a row, and arguments that are one JSON object even
//! when the model's were not.

use enclos_core::model::{Message, PastCall, Request, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::OpenAiSpec;

/// The name of a call that had none.
const NAMELESS: &str = "invalid_call";
/// The result of a call of which none is known.
pub(super) const NO_RESULT: &str = "(no result is known)";

/// A body. What is absent is left out, never `null`.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    pub(super) messages: Vec<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<Box<RawValue>>,
}

impl<'a> Body<'a> {
    /// What every body has, whatever the mode.
    pub(super) fn new(spec: &'a OpenAiSpec, messages: Vec<Value>, with_usage: bool) -> Self {
        Self {
            model: spec.model(),
            messages,
            stream: true,
            stream_options: with_usage.then(|| json!({ "include_usage": true })),
            max_tokens: spec.max_tokens(),
            temperature: spec.temperature(),
            tools: Vec::new(),
            response_format: None,
        }
    }

    /// The body with native calls.
    pub(super) fn native(spec: &'a OpenAiSpec, request: &Request, with_usage: bool) -> Self {
        let tools = request.tools.iter().map(tool).collect();
        Self { tools, ..Self::new(spec, history(request), with_usage) }
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": tool.name, "description": tool.description, "parameters": tool.schema },
    })
}

fn history(request: &Request) -> Vec<Value> {
    let mut talk = Talk::default();
    talk.system(&request.instructions);
    // The calls that still wait for their result.
    let mut open: Vec<&str> = Vec::new();
    for message in &request.messages {
        match message {
            Message::Result { call, text } => match open.iter().position(|id| id == call) {
                Some(at) => {
                    open.remove(at);
                    talk.result(call, text);
                }
                None => talk.user(&format!("Result of an earlier call:\n{text}")),
            },
            Message::User { text } => {
                talk.close(&mut open);
                talk.user(text);
            }
            Message::Assistant { text, calls } => {
                talk.close(&mut open);
                talk.assistant(text, calls);
                open = calls.iter().map(|call| call.id.as_str()).collect();
            }
        }
    }
    talk.close(&mut open);
    talk.messages
}

/// Messages as they go on the wire.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) messages: Vec<Value>,
}

impl Talk {
    /// The system message, unless it is empty.
    pub(super) fn system(&mut self, text: &str) {
        if !text.is_empty() {
            self.messages.push(json!({ "role": "system", "content": text }));
        }
    }

    /// Words of the person's side; joined to the message before, when that is one too.
    pub(super) fn user(&mut self, text: &str) {
        let last = self.messages.last_mut().filter(|message| message["role"] == "user");
        match last.and_then(|message| message["content"].as_str().map(str::to_owned).zip(Some(message))) {
            Some((before, message)) => message["content"] = format!("{before}\n\n{text}").into(),
            None => self.messages.push(json!({ "role": "user", "content": text })),
        }
    }

    /// Words of the model, unless there are none.
    pub(super) fn said(&mut self, text: &str) {
        if !text.is_empty() {
            self.messages.push(json!({ "role": "assistant", "content": text }));
        }
    }

    fn assistant(&mut self, text: &str, calls: &[PastCall]) {
        if calls.is_empty() {
            return self.said(text);
        }
        let calls: Vec<Value> = calls.iter().map(past_call).collect();
        self.messages.push(json!({ "role": "assistant", "content": text, "tool_calls": calls }));
    }

    fn result(&mut self, id: &str, text: &str) {
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }

    /// Gives the calls that have no result one that says so.
    fn close(&mut self, open: &mut Vec<&str>) {
        open.drain(..).for_each(|id| self.result(id, NO_RESULT));
    }
}

fn past_call(call: &PastCall) -> Value {
    let name = if call.name.is_empty() { NAMELESS } else { &call.name };
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": name, "arguments": arguments(&call.arguments) },
    })
}

/// The arguments as one JSON object, whatever the model wrote: as they are when they are one, else quoted in one.
pub(super) fn arguments(written: &str) -> String {
    if written.trim().is_empty() {
        return "{}".to_owned();
    }
    match serde_json::from_str::<serde_json::Map<String, Value>>(written) {
        Ok(_) => written.to_owned(),
        Err(_) => json!({ "_invalid_arguments": written }).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ModelSpec;
    use super::*;

    fn spec(text: &str) -> OpenAiSpec {
        match ModelSpec::parse(text) {
            Ok(ModelSpec::OpenAi(spec)) => spec,
            other => panic!("{other:?}"),
        }
    }

    fn user(text: &str) -> Message {
        Message::User { text: text.into() }
    }

    fn call(id: &str, arguments: &str) -> PastCall {
        PastCall { id: id.into(), name: "read".into(), arguments: arguments.into() }
    }

    fn result(call: &str) -> Message {
        Message::Result { call: call.into(), text: "ok".into() }
    }

    fn request(messages: Vec<Message>) -> Request {
        Request {
            instructions: "be good".into(),
            messages,
            tools: Vec::new(),
            completed_calls: 0,
            max_calls: 64,
            max_bytes: 1 << 20,
        }
    }

    fn sent(spec: &OpenAiSpec, request: &Request, with_usage: bool) -> Value {
        serde_json::to_value(Body::native(spec, request, with_usage)).unwrap()
    }

    /// Role, content or identifier of each message.
    fn roles(messages: Vec<Message>) -> Vec<String> {
        let show = |message: &Value| {
            let id = message.get("tool_call_id").unwrap_or(&message["content"]);
            format!("{} {}", message["role"].as_str().unwrap(), id.as_str().unwrap())
        };
        history(&request(messages)).iter().map(show).collect()
    }

    #[test]
    fn a_plain_body() {
        let spec = spec("openai:http://localhost/v1#m?max_tokens=99");
        let body = sent(&spec, &request(vec![user("hi")]), true);
        let wanted = json!({
            "model": "m",
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": 99,
            "messages": [{ "role": "system", "content": "be good" }, { "role": "user", "content": "hi" }],
        });
        assert_eq!(body, wanted);
        assert!(sent(&spec, &request(vec![]), false).get("stream_options").is_none());
    }

    #[test]
    fn tools_are_functions() {
        let schema = json!({ "type": "object" });
        let tool = ToolSpec { name: "read".into(), description: "reads".into(), schema: schema.clone() };
        let request = Request { tools: vec![tool], ..request(vec![]) };
        let function = json!({ "name": "read", "description": "reads", "parameters": schema });
        let body = sent(&spec("openai:http://localhost/v1#m"), &request, true);
        assert_eq!(body["tools"], json!([{ "type": "function", "function": function }]));
    }

    #[test]
    fn every_call_has_one_result_and_every_result_its_call() {
        let said = Message::Assistant { text: String::new(), calls: vec![call("a", "{}"), call("b", "{}")] };
        let whole = roles(vec![user("go"), said.clone(), result("b"), result("a"), user("on")]);
        assert_eq!(whole[1..], ["user go", "assistant ", "tool b", "tool a", "user on"]);
        let missing = roles(vec![user("go"), said, result("b"), user("on"), result("z")]);
        assert_eq!(missing[3..5], ["tool b", "tool a"]);
        assert!(missing[5].starts_with("user on\n\nResult of an earlier call:\nok"));
    }

    #[test]
    fn nobody_speaks_twice_in_a_row_and_nobody_says_nothing() {
        let nothing = Message::Assistant { text: String::new(), calls: vec![] };
        assert_eq!(roles(vec![user("a"), nothing, user("b")])[1..], ["user a\n\nb"]);
    }

    #[test]
    fn arguments_go_back_as_an_object_whatever_the_model_wrote() {
        for kept in [r#"{"a": 1}"#, r#"{"a":1,"a":2}"#, "{}"] {
            assert_eq!(arguments(kept), kept);
        }
        assert_eq!(arguments(" "), "{}");
        for wrong in ["{'a': True}", r#"{"a":"#, r#"{"a":1} {"b":2}"#, r#""{\"a\":1}""#, "[1]", "null"] {
            let sent: Value = serde_json::from_str(&arguments(wrong)).unwrap();
            assert_eq!(sent, json!({ "_invalid_arguments": wrong }));
        }
        let deep = "[".repeat(500);
        assert!(serde_json::from_str::<Value>(&arguments(&format!("{{\"a\":{deep}"))).is_ok());
    }

    #[test]
    fn a_call_without_a_name_gets_one() {
        let nameless = PastCall { id: "a".into(), name: String::new(), arguments: "x".into() };
        assert_eq!(past_call(&nameless)["function"]["name"], NAMELESS);
    }
}
