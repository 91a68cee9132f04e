//! What each part of a row looks like: roles, and the colours they have when colours are wanted.
//!
//! Every escape sequence of a style is written here and nowhere else; a role that carries a meaning is told in words
//! or signs as well, never by its colour alone.

/// What a run of characters is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Plain,
    /// A frame, a remark.
    Dim,
    /// A title, a key.
    Bold,
    /// Good news, an allowed piece.
    Good,
    /// A question, a warning, a piece that asks.
    Warn,
    /// An error, a refusal.
    Bad,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// The head of a hunk.
    Hunk,
    /// The place of a character that was not let through.
    Mark,
}

impl Role {
    /// The parameters of the sequence that begins this role.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Good | Self::Added => "32",
            Self::Warn => "33",
            Self::Bad | Self::Removed => "31",
            Self::Hunk => "36",
            Self::Mark => "7",
        }
    }
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    colour: bool,
}

impl Paint {
    /// No colours.
    pub const PLAIN: Self = Self { colour: false };
    /// Colours.
    pub const COLOUR: Self = Self { colour: true };

    /// Colours or none.
    pub fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// Adds a text that is already escaped.
    pub(crate) fn put(self, out: &mut String, role: Role, text: &str) {
        if !self.colour || role == Role::Plain || text.is_empty() {
            out.push_str(text);
            return;
        }
        out.push_str("\x1b[");
        out.push_str(role.code());
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[0m");
    }
}

#[cfg(test)]
mod tests {
    use super::{Paint, Role};

    #[test]
    fn without_colours_there_is_no_sequence() {
        let mut out = String::new();
        Paint::PLAIN.put(&mut out, Role::Bad, "x");
        assert_eq!(out, "x");
        Paint::COLOUR.put(&mut out, Role::Bad, "y");
        assert_eq!(out, "x\x1b[31my\x1b[0m");
    }
}
