//! `sandbox run`: one sandbox, a command in it, and the command's own exit code.

use std::path::Path;

use enclos_protocol::api::{Gateway, SandboxRequest};
use enclos_protocol::error::ApiError;
use enclos_protocol::report::CommandRun;

use crate::cli::SandboxRunArgs;
use crate::commands::Context;
use crate::error::CommandError;
use crate::escape::Bytes;
use crate::exit::Exit;
use crate::hi;
use crate::layout::{Gutter, Row, prose};
use crate::style::Role;
use crate::text;

/// Runs the command. Several words are joined by spaces, as `ssh` does; quote the command to keep its own.
pub(crate) fn run<G, M>(cx: &mut Context<'_, '_, M>, args: SandboxRunArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let request = SandboxRequest {
        repo: hi::absolute(&args.repo)?,
        text: args.text.join(" "),
        repeat: args.repeat,
        preset: args.preset,
        pty: args.pty,
    };
    let gateway = cx.gateway()?;
    if args.json.json {
        let report = gateway.sandbox_run(&request, &mut |_, _| {})?;
        cx.world.json(&report)?;
        return Ok(report.runs.last().map_or(Exit::OUR_FAILURE, exit));
    }
    let mut pipes =
        [Pipe::new(cx.world.out, cx.world.tty.output), Pipe::new(cx.world.err, cx.world.tty.error)];
    let report = gateway.sandbox_run(&request, &mut |stderr, bytes| pipes[usize::from(stderr)].put(bytes))?;
    let broken = pipes.iter_mut().find_map(Pipe::end);
    if let Some(error) = broken {
        return Err(error.into());
    }
    let Some(last) = report.runs.last() else { return Ok(Exit::OUR_FAILURE) };
    remark(cx, last);
    Ok(exit(last))
}

/// A stream of the command on its way to ours: bytes as they are, or escaped where a terminal would obey them.
struct Pipe<'p> {
    to: &'p mut dyn std::io::Write,
    terminal: Option<Bytes>,
    broken: Option<std::io::Error>,
}

impl<'p> Pipe<'p> {
    fn new(to: &'p mut dyn std::io::Write, terminal: bool) -> Self {
        Self { to, terminal: terminal.then(Bytes::default), broken: None }
    }

    fn put(&mut self, bytes: &[u8]) {
        let written = match &mut self.terminal {
            Some(escaper) => self.to.write_all(escaper.put(bytes).as_bytes()),
            None => self.to.write_all(bytes),
        };
        if let Err(error) = written.and_then(|()| self.to.flush()) {
            self.broken.get_or_insert(error);
        }
    }

    /// The end of the stream; gives what went wrong with it.
    fn end(&mut self) -> Option<std::io::Error> {
        let rest = self.terminal.as_mut().map(Bytes::end).unwrap_or_default();
        self.put(rest.as_bytes());
        self.broken.take()
    }
}

/// Says on the standard error what the command itself cannot say: that it was killed, or lost output.
fn remark<M>(cx: &mut Context<'_, '_, M>, run: &CommandRun) {
    let mut lines = Vec::new();
    if let Some(why) = &run.killed {
        lines.push(text::command_killed(why));
    }
    if run.dropped_bytes > 0 {
        lines.push(text::output_dropped(run.dropped_bytes));
    }
    let gutter = Gutter { first: Row::of(Role::Dim, "· "), rest: Row::new().to(2) };
    let rows: Vec<Row> =
        lines.iter().flat_map(|line| prose(&gutter, Role::Dim, line, cx.look.width)).collect();
    cx.world.err_rows(cx.look, &rows);
}

/// The exit code of a run.
fn exit(run: &CommandRun) -> Exit {
    if run.killed.as_deref() == Some("timeout") {
        return Exit::TIME_LIMIT;
    }
    u8::try_from(run.exit_code).map_or(Exit::OUR_FAILURE, Exit::Passed)
}

#[cfg(test)]
mod tests {
    use enclos_protocol::report::CommandRun;

    use super::exit;

    #[test]
    fn the_code_is_that_of_the_command() {
        let run = |exit_code, killed: Option<&str>| CommandRun {
            exit_code,
            duration_ms: 1.0,
            stdout: String::new(),
            stderr: String::new(),
            dropped_bytes: 0,
            killed: killed.map(str::to_owned),
        };
        assert_eq!(exit(&run(0, None)).code(), 0);
        assert_eq!(exit(&run(7, None)).code(), 7);
        assert_eq!(exit(&run(137, Some("oom"))).code(), 137);
        assert_eq!(exit(&run(137, Some("timeout"))).code(), 124);
        assert_eq!(exit(&run(-1, None)).code(), 125);
    }
}
