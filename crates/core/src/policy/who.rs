//! Who asks, through what, and for which tool: the dimensions that rules speak of.
//!
//! These are plain names. A word that is none of them is refused where it is read, never taken for a default.

use serde::{Deserialize, Serialize};

/// A role on a scope of the organisation. A person counts with their highest one on the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees; opens no session.
    Reader,
    /// Opens sessions.
    Developer,
    /// Writes the project's policy.
    Maintainer,
    /// Writes the group's policy.
    Owner,
}

impl Role {
    /// Every role, from the least.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Developer, Self::Maintainer, Self::Owner];

    /// The word of this role in policy files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Developer => "developer",
            Self::Maintainer => "maintainer",
            Self::Owner => "owner",
        }
    }
}

/// How a session is driven. The gateway sets it from the authenticated entry point, never from what a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// A person at a terminal.
    Terminal,
    /// An editor.
    Ide,
    /// The web console.
    Web,
    /// A command with nobody to ask.
    Headless,
    /// A schedule or a webhook.
    Background,
    /// Another agent, over MCP.
    Mcp,
}

impl Surface {
    /// Every surface.
    pub const ALL: [Self; 6] =
        [Self::Terminal, Self::Ide, Self::Web, Self::Headless, Self::Background, Self::Mcp];

    /// The word of this surface in policy files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Ide => "ide",
            Self::Web => "web",
            Self::Headless => "headless",
            Self::Background => "background",
            Self::Mcp => "mcp",
        }
    }

    /// Whether a call that policy forbids ends `canceled` here; elsewhere it ends `errored`.
    pub fn cancels_forbidden(self) -> bool {
        matches!(self, Self::Terminal | Self::Headless)
    }
}

/// What a tool does, as far as rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Reads, changes nothing.
    Read,
    /// Writes.
    Write,
    /// Deletes, or nobody knows what it does.
    Delete,
    /// Runs a command; stands apart.
    Bash,
    /// Carries data out of the sandbox: judged beside a tool's own category, never instead of it.
    Egress,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Delete, Self::Bash, Self::Egress];

    /// The word of this category in policy files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Bash => "bash",
            Self::Egress => "egress",
        }
    }
}

macro_rules! display {
    ($($name:ident)*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}
display!(Role Surface Category);
