//! An open sandbox.
use crate::command::{Command, Exit, Stream};
use crate::error::{FileError, OpenError, RunError};
use crate::plan::Plan;
use crate::report::Report;
use enclos_init::file::{FileOp, FileReply};

/// Opens a sandbox as the plan says, or fails with the step that failed.
pub fn open(plan: &Plan) -> Result<Sandbox, OpenError> {
    let _ = plan;
    todo!()
}

/// A living sandbox. Dropping it ends everything inside.
#[derive(Debug)]
pub struct Sandbox {}

impl Sandbox {
    /// What was obtained.
    pub fn report(&self) -> &Report {
        todo!()
    }

    /// Runs a command to its end; blocking. Several may run at the same time, from several threads.
    pub fn run(&self, command: &Command, output: &mut dyn FnMut(Stream, &[u8])) -> Result<Exit, RunError> {
        let _ = (command, output);
        todo!()
    }

    /// Executes a file operation inside.
    pub fn file(&self, op: &FileOp) -> Result<FileReply, FileError> {
        let _ = op;
        todo!()
    }

    /// A handle that ends commands or everything from any thread.
    pub fn killer(&self) -> Killer {
        todo!()
    }

    /// Ends everything inside and waits for it; what the session changed stays in the layer.
    pub fn close(self) {}
}

/// Ends what runs in a sandbox, from any thread, without waiting.
#[derive(Debug, Clone)]
pub struct Killer {}

impl Killer {
    /// Ends the running commands; the sandbox lives on.
    pub fn kill_commands(&self) {
        todo!()
    }

    /// Ends the sandbox with all that runs in it.
    pub fn kill_all(&self) {
        todo!()
    }
}
