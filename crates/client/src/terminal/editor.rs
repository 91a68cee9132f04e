//! The arguments of a call in the person's own editor: a command as plain text, anything else as JSON.
//!
//! A line of Enclos's own ends what is edited, so that no text of a model can pass for its words. What comes back is
//! only a proposal: the gateway parses it strictly and judges it afresh.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use enclos_protocol::card::{Action, Card};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::escape;
use crate::terminal::keys::Input;

/// The line that ends what is edited.
const END: &str = "# ---------------- >8 ---------------- Enclos: nothing below this line counts";
/// What is said below it.
const BELOW: &str = "# Above is what is to run. Save and leave the editor: it is judged afresh and asked as a new card.\n\
                     # Leave it as it was, or empty, to change nothing. Keep the line above.\n";

/// Arguments that are to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    text: String,
    /// For a command: all arguments, of which the command is one.
    arguments: Option<Value>,
}

impl Draft {
    /// What of a card is edited. A command that holds anything invisible is edited as JSON, where it is seen.
    pub(crate) fn of(card: &Card) -> Self {
        let arguments: Value = serde_json::from_str(&card.arguments).unwrap_or_default();
        if let Action::Command { text, .. } = &card.action
            && text.lines().all(|line| escape::one_line(line) == line)
            && !text.contains('\r')
            && !text.contains(END)
        {
            return Self { text: text.clone(), arguments: Some(arguments) };
        }
        let pretty = serde_json::to_string_pretty(&arguments).unwrap_or_default();
        Self { text: pretty.lines().map(escape::json).collect::<Vec<_>>().join("\n"), arguments: None }
    }

    fn framed(&self) -> String {
        format!("{}\n{END}\n{BELOW}", self.text)
    }

    /// What the edited file says: new arguments, or nothing when it is as it was or empty.
    fn read(self, edited: &str) -> Result<Option<String>, String> {
        let gone = || "the line that ends the text is gone: nothing was changed".to_owned();
        let (text, _) = edited.split_once(&format!("\n{END}")).ok_or_else(gone)?;
        if text.trim().is_empty() || text == self.text {
            return Ok(None);
        }
        let Some(mut arguments) = self.arguments else { return Ok(Some(text.to_owned())) };
        let Some(command) = arguments.get_mut("command") else { return Err(gone()) };
        *command = Value::String(text.to_owned());
        Ok(Some(arguments.to_string()))
    }

    /// Opens the editor, on a thread of its own, so that the session goes on being followed.
    pub(crate) fn open(self, program: String, to: UnboundedSender<Input>) {
        std::thread::spawn(move || {
            let edited = self.edit(&program).unwrap_or_else(|error| Err(format!("`{program}`: {error}")));
            // A run that is over listens no more.
            let _ = to.send(Input::Edited(edited));
        });
    }

    fn edit(self, program: &str) -> std::io::Result<Result<Option<String>, String>> {
        let folder = private_folder()?;
        let file = folder.join(if self.arguments.is_some() { "command.sh" } else { "arguments.json" });
        let edited = self.edit_in(program, &file);
        // What cannot be removed now lies in a folder that only this person can open.
        drop(std::fs::remove_dir_all(&folder));
        edited
    }

    fn edit_in(self, program: &str, file: &Path) -> std::io::Result<Result<Option<String>, String>> {
        let mut options = std::fs::OpenOptions::new();
        let mut written = options.write(true).create_new(true).mode(0o600).open(file)?;
        written.write_all(self.framed().as_bytes())?;
        drop(written);
        let mut words = program.split_whitespace();
        let name = words.next().unwrap_or_default();
        #[expect(clippy::disallowed_methods, reason = "the person's own editor, at their terminal")]
        let status = std::process::Command::new(name).args(words).arg(file).status()?;
        if !status.success() {
            return Ok(Err(format!("`{program}` ended with {status}: nothing was changed")));
        }
        Ok(self.read(&std::fs::read_to_string(file)?))
    }
}

/// A new folder for this person alone.
fn private_folder() -> std::io::Result<PathBuf> {
    let base = std::env::temp_dir();
    for number in 0..1000 {
        let folder = base.join(format!("enclos-edit-{}-{number}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Draft, END};

    fn draft(command: &str) -> Draft {
        Draft { text: command.to_owned(), arguments: Some(json!({"command": command})) }
    }

    #[test]
    fn only_what_stands_above_the_line_is_edited() {
        let made = draft("ls -l").framed().replace("ls -l", "ls 'a b'\nwc x");
        let expected = json!({"command": "ls 'a b'\nwc x"}).to_string();
        assert_eq!(draft("ls -l").read(&made), Ok(Some(expected)));
        let below = draft("ls -l").framed() + "rm -rf x\n";
        assert_eq!(draft("ls -l").read(&below), Ok(None));
    }

    #[test]
    fn what_is_left_as_it_was_or_emptied_changes_nothing() {
        assert_eq!(draft("ls").read(&draft("ls").framed()), Ok(None));
        assert_eq!(draft("ls").read(&format!("\n\n{END}\n")), Ok(None));
        assert!(draft("ls").read("ls -a\n").is_err(), "the line is gone");
    }
}
