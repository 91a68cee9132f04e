//! A model's server on this machine, which plays turns and keeps what it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The server. It lives as long as the test's process.
pub(crate) struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    /// Plays these turns, one a request; behind the last one it has nothing to say.
    pub(crate) fn play(turns: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that goes away is no failure of the test.
                let _ = answer(stream, &turns, &kept);
            }
        });
        Self { address, asked }
    }

    /// Its `--model`.
    pub(crate) fn model(&self) -> String {
        format!("openai:http://{}/v1#m", self.address)
    }

    /// The texts of the last request's messages, with their roles.
    pub(crate) fn last(&self) -> Vec<(String, String)> {
        let asked = self.asked.lock().unwrap();
        let messages = asked.last().unwrap()["messages"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
    }
}

fn answer(mut stream: TcpStream, turns: &[Value], asked: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if !first.starts_with("POST") {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    let number = {
        let mut asked = asked.lock().unwrap();
        asked.push(serde_json::from_slice(&body).unwrap_or(Value::Null));
        asked.len() - 1
    };
    let body =
        turns.get(number).map_or_else(|| chunk(&json!({"text": "done"}), number), |turn| chunk(turn, number));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A turn as the one chunk of a stream.
fn chunk(turn: &Value, number: usize) -> String {
    let calls = turn["calls"].as_array().cloned().unwrap_or_default();
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let function = json!({"name": call["name"], "arguments": call["arguments"].to_string()});
            json!({"index": index, "id": format!("id_{number}_{index}"), "type": "function", "function": function})
        })
        .collect();
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut delta = json!({"content": turn["text"].as_str().unwrap_or_default()});
    if !calls.is_empty() {
        delta["tool_calls"] = Value::Array(calls);
    }
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}
