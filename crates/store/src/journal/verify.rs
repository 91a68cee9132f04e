//! Verifying an export: the file alone, in one pass, in constant memory.
//!
//! Every byte of the file belongs to a line of one spelling, every field of a line is covered by a hash, and every line
//! has its place. The first thing that does not fit is named by line, session and entry; after it, the rest is only
//! looked through to name it better.

use std::io::{self, BufRead, Read};

use enclos_core::ids::SessionId;
use enclos_core::noun::{count, form};

use super::export::is_object;
use super::line::{self, Line, MAX_LINE_BYTES, Seal};
use super::report::{FirstBad, Outcome, Verification};
use super::walk::{Chain, Fault};

/// Verifies an export.
pub fn verify(input: &mut dyn BufRead) -> Verification {
    let mut lines = Lines { input, number: 0, buffer: Vec::new() };
    let mut reading = match opening(&mut lines) {
        Ok(reading) => reading,
        Err(refusal) => return refusal,
    };
    loop {
        let outcome = match lines.next() {
            Ok(Some(bytes)) => reading.take(bytes),
            Ok(None) if reading.ended => return Verification::all_well(reading.entries, reading.sessions),
            Ok(None) => {
                lines.number = lines.number.saturating_add(1);
                Err(reading.here(Fault::missing(reading.next(), "the end of the export is missing")))
            }
            Err(error) => return unreadable(&error),
        };
        if let Err(bad) = outcome {
            let number = lines.number;
            return match bad.look_on(&mut lines) {
                Ok(bad) => reading.report(bad, number),
                Err(error) => unreadable(&error),
            };
        }
    }
}

/// Reads the header.
fn opening(lines: &mut Lines<'_>) -> Result<Reading, Verification> {
    let first = match lines.next() {
        Ok(first) => first.unwrap_or_default(),
        Err(error) => return Err(unreadable(&error)),
    };
    if let Some(Line::Header { deployment, scope, check }) = first.strip_suffix(b"\n").and_then(line::parse) {
        if check == line::header_check(deployment, scope) {
            return Ok(Reading::new(deployment, scope));
        }
        let place = FirstBad { session: None, seq: None, line: Some(1) };
        return Err(Verification::failed(Outcome::Altered, 0, 0, place, "the header was changed"));
    }
    let why = match line::header_version(first) {
        Some(version) if version != line::VERSION => {
            format!("it has version {version}, {} was expected", line::VERSION)
        }
        _ => "it does not begin with the header of an enclos journal".to_owned(),
    };
    let place = FirstBad { session: None, seq: None, line: Some(1) };
    Err(Verification::failed(Outcome::BadInput, 0, 0, place, &why))
}

fn unreadable(error: &io::Error) -> Verification {
    let place = FirstBad { session: None, seq: None, line: None };
    Verification::failed(Outcome::BadInput, 0, 0, place, &format!("it cannot be read ({error})"))
}

/// The lines of a file, none longer than a line can be.
struct Lines<'a> {
    input: &'a mut dyn BufRead,
    number: u64,
    buffer: Vec<u8>,
}

impl Lines<'_> {
    /// The next line with its line feed; without one it is cut or too long.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.clear();
        let read = Read::take(&mut *self.input, MAX_LINE_BYTES).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        Ok(Some(&self.buffer))
    }
}

/// Something that does not fit, and the session it is in.
struct Bad {
    fault: Fault,
    session: Option<String>,
    /// Whether the session is only what a line that does not fit says.
    doubtful: bool,
}

impl Bad {
    /// Looks through what follows: an entry that comes later is not missing but moved, and the line after a broken
    /// first one knows the session.
    fn look_on(mut self, lines: &mut Lines<'_>) -> io::Result<Self> {
        let mut first = true;
        while let Some(bytes) = lines.next()? {
            let parsed = bytes.strip_suffix(b"\n").and_then(line::parse);
            let (session, seq) = match parsed {
                Some(Line::Entry { link, .. }) => (link.session, link.seq),
                Some(Line::SessionEnd { session, entries, .. }) => (session, entries.saturating_add(1)),
                Some(Line::Header { .. } | Line::ExportEnd { .. }) | None => ("", 0),
            };
            if first && self.doubtful && seq == 2 {
                self.session = Some(session.to_owned());
            }
            first = false;
            let moved = matches!(parsed, Some(Line::Entry { .. }))
                && self.fault.outcome == Outcome::Truncated
                && self.session.as_deref() == Some(session)
                && self.fault.seq == Some(seq);
            if moved {
                self.fault = Fault::altered(self.fault.seq, "it is out of order");
            }
        }
        Ok(self)
    }
}

/// What has been read so far.
struct Reading {
    deployment: String,
    scope: String,
    seal: Seal,
    chain: Option<Chain>,
    last: String,
    entries: u64,
    sessions: u64,
    ended: bool,
}

impl Reading {
    fn new(deployment: &str, scope: &str) -> Self {
        Self {
            deployment: deployment.to_owned(),
            scope: scope.to_owned(),
            seal: Seal::start(deployment, scope),
            chain: None,
            last: String::new(),
            entries: 0,
            sessions: 0,
            ended: false,
        }
    }

    /// The number of the entry that should come now.
    fn next(&self) -> Option<u64> {
        self.chain.as_ref().map(Chain::next)
    }

    /// A fault at the place where we are.
    fn here(&self, fault: Fault) -> Bad {
        Bad { fault, session: self.chain.as_ref().map(|c| c.session().to_owned()), doubtful: false }
    }

    /// Takes one line.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Bad> {
        if self.ended {
            return Err(self.here(Fault::altered(None, "there is more after the end of the export")));
        }
        let Some(whole) = bytes.strip_suffix(b"\n") else {
            return Err(self.cut(bytes));
        };
        match line::parse(whole) {
            Some(Line::Entry { link, hash }) => self.entry(&link, &hash),
            Some(Line::SessionEnd { session, entries, head }) => self.session_end(session, entries, &head),
            Some(Line::ExportEnd { sessions, entries, digest }) => {
                self.export_end(sessions, entries, &digest)
            }
            Some(Line::Header { .. }) | None => Err(self.broken("this is not a line of an export")),
        }
    }

    /// A line without an end: cut, or longer than any line.
    fn cut(&self, bytes: &[u8]) -> Bad {
        if bytes.len() as u64 >= MAX_LINE_BYTES {
            return self.broken("the line is too long for one of an export");
        }
        self.here(Fault::missing(self.next(), "the last line is cut"))
    }

    /// A line that cannot be what it should be. Where a session would begin, nobody knows its name yet.
    fn broken(&self, why: &'static str) -> Bad {
        match &self.chain {
            Some(chain) => self.here(Fault::altered(Some(chain.next()), why)),
            None => Bad { fault: Fault::altered(Some(1), why), session: None, doubtful: true },
        }
    }

    fn entry(&mut self, link: &super::chain::Link<'_>, hash: &super::chain::Hash) -> Result<(), Bad> {
        let whole = link.hash() == *hash;
        let chain = match &mut self.chain {
            Some(chain) if chain.session() == link.session => chain,
            Some(_) if whole => {
                return Err(self.here(Fault::missing(self.next(), "the end of the session is missing")));
            }
            Some(_) => return Err(self.broken("its session is another")),
            None if whole => self.begin(link.session)?,
            None => {
                let mut bad = self.broken("its hash does not fit its bytes");
                bad.session = Some(link.session.to_owned());
                return Err(bad);
            }
        };
        if let Err(fault) = chain.step(link, hash) {
            return Err(self.here(fault));
        }
        if !is_object(link.entry) {
            return Err(self.here(Fault::altered(Some(link.seq), "it is not a JSON object")));
        }
        self.entries = self.entries.saturating_add(1);
        Ok(())
    }

    /// Begins a session: each once, in the order of their names, and only the one that the header names.
    fn begin(&mut self, session: &str) -> Result<&mut Chain, Bad> {
        let why = if SessionId::parse(session).is_none() {
            "the name of a session is not well formed"
        } else if session <= self.last.as_str() {
            "the session is out of order or there twice"
        } else if self.scope != "all" && self.scope != session {
            "the session is not the one that the header names"
        } else {
            return Ok(self.chain.insert(Chain::start(&self.deployment, session)));
        };
        Err(Bad { fault: Fault::altered(None, why), session: Some(session.to_owned()), doubtful: false })
    }

    fn session_end(&mut self, session: &str, entries: u64, head: &super::chain::Hash) -> Result<(), Bad> {
        let chain = match &self.chain {
            Some(chain) if chain.session() == session => chain,
            Some(chain) if *chain.head() == *head => {
                return Err(self.here(Fault::altered(None, "the end names another session")));
            }
            Some(_) => {
                return Err(self.here(Fault::missing(self.next(), "the end of the session is missing")));
            }
            None => self.begin(session)?,
        };
        if let Err(fault) = chain.end(entries, head) {
            return Err(self.here(fault));
        }
        self.seal.session(session, entries, head);
        self.sessions = self.sessions.saturating_add(1);
        session.clone_into(&mut self.last);
        self.chain = None;
        Ok(())
    }

    fn export_end(&mut self, sessions: u64, entries: u64, digest: &super::chain::Hash) -> Result<(), Bad> {
        if self.chain.is_some() {
            return Err(self.here(Fault::missing(self.next(), "the end of the session is missing")));
        }
        let fits = *digest == self.seal.finish();
        if fits && sessions == self.sessions && entries == self.entries {
            self.ended = true;
            return Ok(());
        }
        if !fits && sessions > self.sessions {
            let missing = sessions.saturating_sub(self.sessions);
            return Err(self.here(Fault::missing(
                None,
                format!(
                    "{missing} of {} {} missing",
                    count(sessions, "session", "sessions"),
                    form(&missing, "is", "are")
                ),
            )));
        }
        Err(self.here(Fault::altered(None, "the last line does not fit the export")))
    }

    fn report(&self, bad: Bad, line: u64) -> Verification {
        let place = FirstBad {
            session: bad.session.and_then(|s| SessionId::parse(&s)),
            seq: bad.fault.seq,
            line: Some(line),
        };
        Verification::failed(bad.fault.outcome, self.entries, self.sessions, place, &bad.fault.why)
    }
}
