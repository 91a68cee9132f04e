//! A server that says exactly the bytes it is told to, one reply a connection, and keeps what it was asked.
//!
//! It knows nothing of the protocol it plays, so it can break every rule of it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use enclos_connect::model::patience::Patience;
use enclos_connect::model::{Delta, Model, ModelError, ModelSpec, OpenAi, Secret};
use enclos_core::model::{Answer, Message, Request, ToolSpec};
use serde_json::{Value, json};

/// A part of a reply.
#[derive(Clone)]
pub(crate) enum Step {
    /// Bytes, sent at once.
    Send(Vec<u8>),
    /// A pause, so that the next bytes come apart.
    Pause(Duration),
    /// Nothing more, and the connection stays open until the client leaves.
    Hang,
}

/// A running server.
pub(crate) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    left: Receiver<()>,
}

impl Server {
    /// Plays one reply a connection, in order; further connections are closed at once.
    pub(crate) fn start(replies: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (leaves, left) = channel();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for reply in replies {
                let Ok((stream, _)) = listener.accept() else { return };
                serve(stream, &reply, &log, &leaves);
            }
        });
        Self { port, asked, left }
    }

    /// A stream of one reply with these events.
    pub(crate) fn events(events: &[&str]) -> Self {
        Self::start(vec![stream(events)])
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far: head and body as one text.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }

    /// The JSON body of the request of that number.
    pub(crate) fn body(&self, number: usize) -> Value {
        let asked = self.asked();
        let (_, body) = asked[number].split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }

    /// Waits until a client has left a reply that hangs.
    pub(crate) fn wait_left(&self) {
        self.left.recv_timeout(Duration::from_secs(20)).expect("the client leaves");
    }

    /// The model `m` of this server.
    pub(crate) fn model(&self, options: &str) -> OpenAi {
        self.model_with(options, None, patience())
    }

    /// The same with a key and limits.
    pub(crate) fn model_with(&self, options: &str, key: Option<&str>, patience: Patience) -> OpenAi {
        let text = format!("openai:{}#m{options}", self.address());
        let Ok(ModelSpec::OpenAi(spec)) = ModelSpec::parse(&text) else { panic!("`{text}` is not read") };
        OpenAi::new(spec, key.map(Secret::new), patience).expect("a model")
    }
}

fn serve(mut stream: TcpStream, reply: &[Step], log: &Mutex<Vec<String>>, left: &Sender<()>) {
    let Some(request) = read_request(&mut stream) else { return };
    log.lock().expect("no panic").push(request);
    for step in reply {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(bytes).and_then(|()| stream.flush()).is_err() {
                    return;
                }
            }
            Step::Pause(time) => std::thread::sleep(*time),
            Step::Hang => {
                let _ = stream.read_to_end(&mut Vec::new());
                let _ = left.send(());
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    // So that what was sent arrives before the connection goes.
    let _ = stream.read_to_end(&mut Vec::new());
}

fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece).ok().filter(|&read| read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let header = |line: &str| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned);
        let length =
            head.lines().find_map(header).map_or(0, |length| length.trim().parse().expect("a number"));
        if body.len() >= length {
            return Some(text.into_owned());
        }
    }
}

/// The head of a stream that ends with its connection.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Bytes.
pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// A stream of events, each with its blank line.
pub(crate) fn stream(events: &[&str]) -> Vec<Step> {
    let events: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    vec![send(STREAM), send(&events.concat())]
}

/// A whole response of a status, with more header lines (each with its line end) and a body.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![send(&format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))]
}

/// A reply that says `text` and ends as it should.
pub(crate) fn says(text: &str) -> Vec<Step> {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }).to_string();
    stream(&[&delta, r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "[DONE]"])
}

/// Limits that let no test wait.
pub(crate) fn patience() -> Patience {
    Patience {
        attempts: 3,
        attempts_to_connect: 2,
        first_wait: Duration::from_millis(1),
        tail: Duration::from_millis(200),
        jitter: || 0.5,
        ..Patience::default()
    }
}

/// A request with one message and the tools `read`, `list` and `now`.
pub(crate) fn request() -> Request {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "does it".into(),
        schema: json!({ "type": "object" }),
    };
    Request {
        instructions: "be good".into(),
        messages: vec![Message::User { text: "go".into() }],
        tools: vec![tool("read"), tool("list"), tool("now")],
        completed_calls: 0,
        max_calls: 64,
        max_bytes: 1 << 20,
    }
}

/// Asks, and gives the answer and the pieces that were told.
pub(crate) async fn ask(model: &OpenAi, request: &Request) -> (Result<Answer, ModelError>, Vec<Delta>) {
    let mut told = Vec::new();
    let answer = model.ask(request, &mut |delta| told.push(delta)).await;
    (answer, told)
}

/// The same of any model.
pub(crate) async fn ask_any(model: &Model, request: &Request) -> (Result<Answer, ModelError>, Vec<Delta>) {
    let mut told = Vec::new();
    let answer = model.ask(request, &mut |delta| told.push(delta)).await;
    (answer, told)
}

/// Runs a test on one thread.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test)
}
