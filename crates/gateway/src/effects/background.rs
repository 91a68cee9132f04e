//! Commands in the background: started under a name, looked at, waited for, stopped.
//!
//! What one wrote is handed to the model as the output of the call that looks, with the call that started it beside it.
//! Nothing here decides whether one may start, and none is started again.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use enclos_core::args::Args;
use enclos_core::ids::CallId;
use enclos_core::noun::count;
use enclos_protocol::event::ResultFacts;
use enclos_sandbox::{Background, Command, Keep, RunError};

use super::{Outcome, Report, Run, Teller};
use crate::shown::{Decoder, Kept};
use crate::tool_result;
use crate::workplace::Workplace;

/// Bytes that are kept of what one command writes: they are held in memory as long as the sandbox is open. Beginning and
/// end are kept whatever the policy says of other commands, since whoever looks wants to see the end.
const KEPT_BYTES: u64 = 1024 * 1024;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// How long a command may take to end once it is stopped.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// Seconds that a call waits when it does not say.
const WAIT_SECONDS: u64 = 60;

/// Characters of a command's text in a listing.
const LISTED: usize = 200;

/// What a call of the tool `background` asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// All of them, in a line each.
    List,
    /// What one wrote.
    Read {
        /// Its name.
        name: String,
        /// The first byte; `None`: what was not read yet.
        from: Option<u64>,
    },
    /// The same, once it has ended, has written a text, or time is over.
    Wait {
        /// Its name.
        name: String,
        /// The first byte; `None`: what was not read yet.
        from: Option<u64>,
        /// The text that is waited for.
        text: Option<String>,
        /// The longest wait.
        seconds: u64,
    },
    /// End one, with all its processes.
    Stop {
        /// Its name.
        name: String,
    },
}

impl Look {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let value = |name: &str| args.value().get(name);
        let text = |name: &str| value(name).and_then(|value| value.as_str()).map(str::to_owned);
        let number = |name: &str| value(name).and_then(serde_json::Value::as_u64);
        let action = text("action").unwrap_or_default();
        let takes: &[&str] = match action.as_str() {
            "list" => &[],
            "read" => &["name", "from"],
            "wait" => &["name", "from", "text", "seconds"],
            _ => &["name"],
        };
        let all = ["name", "from", "text", "seconds"];
        if let Some(other) = all.iter().find(|name| value(name).is_some() && !takes.contains(name)) {
            return Err(format!("`{action}` takes no `{other}`"));
        }
        let name =
            || text("name").ok_or_else(|| format!("`{action}` needs the `name` of a background command"));
        let from = number("from");
        match action.as_str() {
            "list" => Ok(Self::List),
            "read" => Ok(Self::Read { name: name()?, from }),
            "wait" => {
                let seconds = number("seconds").unwrap_or(WAIT_SECONDS);
                Ok(Self::Wait { name: name()?, from, text: text("text"), seconds })
            }
            "stop" => Ok(Self::Stop { name: name()? }),
            other => Err(format!("there is no action `{other}`: expected `list`, `read`, `wait` or `stop`")),
        }
    }

    /// What is done, in words.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::List => "list the background commands".to_owned(),
            Self::Read { name, .. } => format!("read the output of the background command {name}"),
            Self::Wait { name, .. } => format!("wait for the background command {name}"),
            Self::Stop { name } => format!("stop the background command {name}"),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::List => None,
            Self::Read { name, .. } | Self::Wait { name, .. } | Self::Stop { name } => Some(name),
        }
    }

    fn from(&self) -> Option<u64> {
        match self {
            Self::Read { from, .. } | Self::Wait { from, .. } => *from,
            Self::List | Self::Stop { .. } => None,
        }
    }
}

/// What a session knows of its background commands, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    commands: BTreeMap<String, Started>,
}

/// A command that was started.
#[derive(Clone, Debug)]
struct Started {
    call: CallId,
    /// What the model has read, in bytes.
    read: u64,
}

/// What the end of a call means for the background commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The call started one.
    Started { name: String },
    /// The model has read one up to here.
    Read { name: String, to: u64 },
}

impl Known {
    /// Takes what a recorded call means. `call`: that call.
    pub(crate) fn mark(&mut self, call: &CallId, mark: Mark) {
        match mark {
            Mark::Started { name } => {
                self.commands.insert(name, Started { call: call.clone(), read: 0 });
            }
            Mark::Read { name, to } => {
                if let Some(known) = self.commands.get_mut(&name) {
                    known.read = to;
                }
            }
        }
    }

    /// The call that started the command that a look would end.
    pub(crate) fn stopped_by(&self, look: &Look) -> Option<CallId> {
        let Look::Stop { name } = look else { return None };
        self.commands.get(name).map(|known| known.call.clone())
    }

    fn read(&self, name: &str) -> u64 {
        self.commands.get(name).map_or(0, |known| known.read)
    }

    fn call(&self, name: &str) -> String {
        self.commands.get(name).map_or_else(String::new, |known| format!(" ({})", known.call))
    }
}

/// Starts a command. While the second value lives, its end is not reported.
pub(super) fn start(sandbox: &Workplace, run: Run, teller: &Teller) -> (Outcome, Option<Sender<()>>) {
    let name = run.background.unwrap_or_default();
    let command = Command {
        output_bytes: Some(KEPT_BYTES),
        keep: Keep::HeadAndTail,
        terminal: run.terminal,
        ..Command::new(run.text)
    };
    let (held, released) = channel::<()>();
    let later = teller.clone();
    let ended = move |ended: Background| {
        // Nothing is ever sent: the other end going away is the sign.
        let _ = released.recv();
        later.tell(Report::Ended { call: later.call.clone(), ended: Box::new(ended) });
    };
    match sandbox.start_watched(&name, &command, ended) {
        Ok(()) => {
            let told = format!("[started in the background as `{name}`: see it with the tool background]");
            let summary = format!("in the background as {name}");
            let facts = ResultFacts { summary, ..ResultFacts::default() };
            let outcome = Outcome { mark: Some(Mark::Started { name }), ..Outcome::done(told, facts) };
            (outcome, Some(held))
        }
        Err(error) => (Outcome::failed(plain(error)), None),
    }
}

/// The reason without the words for a command that is run at once.
fn plain(error: RunError) -> String {
    match error {
        RunError::BadCommand(why) => why,
        other => other.to_string(),
    }
}

/// Looks at the background commands, or ends one.
pub(super) fn look(sandbox: &Workplace, look: &Look, known: &Known, teller: &Teller) -> Outcome {
    let Some(name) = look.name() else { return list(sandbox, known) };
    let mut reader = Reader {
        sandbox,
        name,
        at: look.from().unwrap_or_else(|| known.read(name)),
        kept: Kept::default(),
        decoder: Decoder::default(),
        dropped: 0,
        awaited: None,
        teller,
    };
    let from = reader.at;
    match reader.follow(look) {
        Ok(job) => reader.outcome(&job, from, known),
        Err(error) => Outcome::failed(plain(error)),
    }
}

fn list(sandbox: &Workplace, known: &Known) -> Outcome {
    let jobs = match sandbox.background() {
        Ok(jobs) => jobs,
        Err(error) => return Outcome::failed(plain(error)),
    };
    let line = |job: &Background| {
        let Background { name, text, output, .. } = job;
        let total = output.kept + output.dropped;
        let unread = total.saturating_sub(known.read(name));
        let text: String = text.lines().next().unwrap_or_default().chars().take(LISTED).collect();
        let (call, state) = (known.call(name), state(job));
        let total = count(total, "byte", "bytes");
        format!("{name}{call}: {state}; {total} of output, {unread} not read yet; {text}")
    };
    let lines: Vec<String> = jobs.iter().map(line).collect();
    let text =
        if lines.is_empty() { "[no background command was started]".to_owned() } else { lines.join("\n") };
    let running = jobs.iter().filter(|job| job.end.is_none()).count();
    let summary = format!("{running} at work, {} ended", jobs.len() - running);
    let facts = ResultFacts { kept_bytes: text.len() as u64, summary, ..ResultFacts::default() };
    Outcome::done(crate::shown::bounded(text), facts)
}

/// How a command stands.
fn state(job: &Background) -> String {
    let seconds = job.duration.as_secs_f64();
    match tool_result::of_background(job) {
        Some((told, _)) => format!("ended after {seconds:.1} s, {told}"),
        None => format!("at work for {seconds:.1} s"),
    }
}

/// Reads one command from a byte on.
struct Reader<'a> {
    sandbox: &'a Workplace,
    name: &'a str,
    at: u64,
    kept: Kept,
    decoder: Decoder,
    dropped: u64,
    awaited: Option<Awaited>,
    teller: &'a Teller,
}

impl Reader<'_> {
    fn follow(&mut self, look: &Look) -> Result<Background, RunError> {
        let most = match look {
            Look::List | Look::Read { .. } => Duration::ZERO,
            Look::Wait { text, seconds, .. } => {
                self.awaited = text.as_deref().map(Awaited::new);
                Duration::from_secs(*seconds)
            }
            Look::Stop { name } => {
                self.sandbox.kill_background(name)?;
                LAST_BREATH
            }
        };
        let until = Instant::now() + most;
        loop {
            let job = self.now()?;
            let written = job.output.kept + job.output.dropped;
            self.at = self.at.min(written);
            self.take(written)?;
            let left = until.saturating_duration_since(Instant::now());
            let seen = self.awaited.as_ref().is_some_and(|awaited| awaited.seen);
            if job.end.is_some() || seen || left.is_zero() {
                return Ok(job);
            }
            self.sandbox.wait_background(self.name, self.at, left)?;
        }
    }

    fn now(&self) -> Result<Background, RunError> {
        let found = self.sandbox.background()?.into_iter().find(|job| job.name == self.name);
        found.ok_or_else(|| RunError::BadCommand(format!("there is no background command `{}`", self.name)))
    }

    /// Takes what was written up to a byte.
    fn take(&mut self, to: u64) -> Result<(), RunError> {
        while self.at < to {
            let most = usize::try_from(to - self.at).unwrap_or(PIECE).min(PIECE);
            let part = self.sandbox.read_background(self.name, self.at, most)?;
            let left_out = part.from.saturating_sub(self.at);
            self.kept.skip(left_out);
            self.dropped += left_out;
            self.kept.take(&part.bytes);
            self.teller.output(self.decoder.decode(&part.bytes), false, left_out);
            if let Some(awaited) = &mut self.awaited {
                awaited.take(&part.bytes);
            }
            if part.next() <= self.at {
                break;
            }
            self.at = part.next();
        }
        Ok(())
    }

    fn outcome(mut self, job: &Background, from: u64, known: &Known) -> Outcome {
        self.teller.output(self.decoder.finish(), false, 0);
        let (name, call, state, to) = (self.name, known.call(self.name), state(job), self.at);
        let from = from.min(to);
        let text =
            self.kept.closed(0, &format!("background command {name}{call}: {state}; bytes {from} to {to}"));
        let ended = tool_result::of_background(job);
        let facts = ResultFacts {
            exit_code: ended.as_ref().and_then(|(_, facts)| facts.exit_code),
            kept_bytes: to.saturating_sub(from).saturating_sub(self.dropped),
            dropped_bytes: self.dropped,
            summary: format!("{name}: {state}"),
            ..ResultFacts::default()
        };
        let mark = Some(Mark::Read { name: name.to_owned(), to });
        Outcome { mark, ..Outcome::done(text, facts) }
    }
}

/// A text that is waited for.
struct Awaited {
    text: Vec<u8>,
    /// The last bytes, which may hold its beginning.
    last: Vec<u8>,
    seen: bool,
}

impl Awaited {
    fn new(text: &str) -> Self {
        Self { text: text.as_bytes().to_vec(), last: Vec::new(), seen: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.last.extend_from_slice(bytes);
        self.seen |= self.last.windows(self.text.len()).any(|window| window == self.text);
        let over = self.last.len().saturating_sub(self.text.len() - 1);
        self.last.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use enclos_core::args;
    use enclos_core::tool::{BACKGROUND, built_in};
    use serde_json::{Value, json};

    use super::*;

    fn of(value: &Value) -> Result<Look, String> {
        let spec = built_in().into_iter().find(|spec| spec.name == BACKGROUND).unwrap();
        let schema = args::Schema::new(&spec.schema).unwrap();
        Look::of(&args::validate(args::parse(&value.to_string()).unwrap(), &schema).unwrap())
    }

    #[test]
    fn each_action_takes_what_it_needs_and_nothing_else() {
        let name = || "web".to_owned();
        assert_eq!(of(&json!({"action": "list"})), Ok(Look::List));
        assert_eq!(
            of(&json!({"action": "read", "name": "web", "from": 7})),
            Ok(Look::Read { name: name(), from: Some(7) })
        );
        assert_eq!(
            of(&json!({"action": "wait", "name": "web", "text": "up"})),
            Ok(Look::Wait { name: name(), from: None, text: Some("up".to_owned()), seconds: WAIT_SECONDS })
        );
        assert_eq!(of(&json!({"action": "stop", "name": "web"})), Ok(Look::Stop { name: name() }));
        for (value, words) in [
            (json!({"action": "read"}), "needs the `name`"),
            (json!({"action": "list", "name": "web"}), "`list` takes no `name`"),
            (json!({"action": "stop", "name": "web", "seconds": 3}), "takes no `seconds`"),
        ] {
            assert!(of(&value).unwrap_err().contains(words), "{value}");
        }
    }

    #[test]
    fn a_text_is_seen_however_it_comes_in_pieces() {
        let all = b"aab aabaac ready\n";
        for size in 1..all.len() {
            for (text, seen) in [("aabaac", true), ("ready", true), ("a", true), ("aabc", false)] {
                let mut awaited = Awaited::new(text);
                all.chunks(size).for_each(|part| awaited.take(part));
                assert_eq!(awaited.seen, seen, "{text} {size}");
            }
        }
    }
}
