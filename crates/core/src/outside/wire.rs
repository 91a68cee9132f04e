//! The lines between a host and the guard: one JSON object in, one out.
//!
//! Strict: equal keys, unknown fields, unknown levels and unknown operations are errors that name the field. An error carries
//! `"verdict": "block"`, so that a host that looks at nothing else stays safe.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args;
use crate::label::{Label, Level};
use crate::verdict::Verdict;

use super::guard::{Guard, Said, Sent, Taken};

/// What a host tells.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Told {
    Open {
        session: String,
        prompt: String,
    },
    Decide {
        session: String,
        tool: String,
        args: Map<String, Value>,
        #[serde(default)]
        from: Option<Map<String, Value>>,
    },
    Result {
        session: String,
        tool: String,
        #[serde(default)]
        output: Value,
        #[serde(default)]
        records: Option<Vec<Record>>,
        #[serde(default)]
        label: Option<Level>,
        #[serde(default)]
        origin: Option<String>,
    },
    Reveal {
        session: String,
    },
    Close {
        session: String,
    },
}

/// A record of an answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(default)]
    label: Option<Level>,
    #[serde(default)]
    origin: Option<String>,
    #[serde(default, rename = "chars")]
    _chars: Option<u64>,
}

/// Who wrote a text that counts as the service's or the person's own; anybody else's is untrusted.
const OWN: [&str; 2] = ["self", "system"];

/// Operations by which a host tells nothing that was read: one that is wrong leaves the labels as they are.
const TELLS_NOTHING: [&str; 4] = ["open", "decide", "reveal", "close"];

fn sent(level: Option<Level>, origin: Option<&str>) -> Sent {
    Sent { level, own: origin.is_none_or(|origin| OWN.contains(&origin)) }
}

impl Guard {
    /// Answers one line.
    pub fn line(&mut self, line: &[u8]) -> Value {
        match self.read(line) {
            Ok(answer) => answer,
            Err(error) => json!({ "error": error, "verdict": "block" }),
        }
    }

    /// Answers a line that is too long to be read.
    pub fn unread(&mut self, why: &str) -> Value {
        self.distrust(None);
        json!({ "error": why, "verdict": "block" })
    }

    fn read(&mut self, line: &[u8]) -> Result<Value, String> {
        let told = std::str::from_utf8(line)
            .map_err(|error| format!("the line is not UTF-8: {error}"))
            .and_then(|text| args::object(text).map_err(|error| error.to_string()));
        let fields = match told {
            Ok(fields) => fields,
            Err(error) => {
                self.distrust(None);
                return Err(format!("{error}; expected one JSON object with `op` and `session`"));
            }
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let (op, session) = (text("op"), text("session"));
        match Told::deserialize(Value::Object(fields)) {
            Ok(told) => self.take(told),
            Err(error) => {
                if !op.is_some_and(|op| TELLS_NOTHING.contains(&op.as_str())) {
                    self.distrust(session.as_deref());
                }
                Err(error.to_string())
            }
        }
    }

    fn take(&mut self, told: Told) -> Result<Value, String> {
        match told {
            Told::Open { session, prompt } => self.open(&session, &prompt).map(|()| json!({ "ok": true })),
            Told::Close { session } => self.close(&session).map(|()| json!({ "ok": true })),
            Told::Reveal { session } => {
                self.reveal(&session).map(|label| json!({ "ok": true, "taint": taint(label) }))
            }
            Told::Decide { session, tool, args, from } => {
                let from = from.map_or(Ok(Vec::new()), |from| origins(&from))?;
                self.decide(&session, &tool, &args, &from).map(|said| verdict(&said))
            }
            Told::Result { session, tool, output, records, label, origin } => {
                let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                let records = records.unwrap_or_default();
                let mut labels: Vec<Sent> =
                    records.iter().map(|record| sent(record.label, record.origin.as_deref())).collect();
                labels.push(sent(label, origin.as_deref()));
                self.result(&session, &tool, &text, &labels).map(|taken| match taken {
                    Taken::Shown(label) => json!({ "ok": true, "taint": taint(label) }),
                    Taken::Hidden(child) => json!({ "hidden": true, "child": child }),
                })
            }
        }
    }
}

fn taint(label: Label) -> Value {
    json!({ "level": label.level(), "provenance": label.provenance() })
}

fn verdict(said: &Said) -> Value {
    let word = match said.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Disabled => "block",
    };
    json!({ "verdict": word, "rule": said.rule, "reason": said.reason })
}

/// Of which answers each argument comes. A path into an argument counts for the whole of it.
fn origins(from: &Map<String, Value>) -> Result<Vec<(String, Vec<u64>)>, String> {
    let one = |(path, numbers): (&String, &Value)| {
        let name = path.trim_start_matches('/').split(['.', '[', '/']).next().unwrap_or_default();
        let read: Option<Vec<u64>> =
            numbers.as_array().and_then(|numbers| numbers.iter().map(Value::as_u64).collect());
        let read = read.ok_or_else(|| {
            format!(
                "`from.{path}` is `{numbers}`: expected a list of the numbers of answers, such as `[0, 2]`"
            )
        })?;
        Ok((name.to_owned(), read))
    };
    from.iter().map(one).collect()
}
