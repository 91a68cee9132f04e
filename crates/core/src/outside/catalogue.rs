//! What the tools of a host are: written by an administrator, read whole or refused.
//!
//! A tool that the catalogue does not name is one that deletes, carries data out, and answers with what nobody may see. A
//! field that is not known is refused, so that a misspelt one never leaves a tool softer than its author meant.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::args::{self, ArgsError};
use crate::label::{Label, Level};
use crate::near::nearest;
use crate::policy::Category;
use crate::verdict::Verdict;

/// What a tool of the host does, and what flows through it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolClass {
    /// What the tool does.
    pub category: Does,
    /// Whether the call carries data to somebody outside, whatever the category says.
    pub egress: bool,
    /// The arguments that say who, which object or how much.
    pub destination_args: Vec<String>,
    /// The arguments that steer the call; kept for readers of the catalogue.
    #[serde(default)]
    pub control_args: Vec<String>,
    /// The arguments that are only carried; kept for readers of the catalogue.
    #[serde(default)]
    pub content_args: Vec<String>,
    /// The level of what it answers.
    pub tool_reads: Level,
    /// The class of where its arguments go.
    pub tool_sink: Level,
    /// Whether others than the person write what it answers.
    pub tool_untrusted: bool,
    /// Whether the names that its answers list are known ones, which the quarantine may release. Default: those of a
    /// `read` tool without egress.
    #[serde(default)]
    pub directory: Option<bool>,
    /// The verdict where labels have nothing against it. Default `allow`: naming a tool here is the rule that admits it.
    #[serde(default = "allow")]
    pub verdict: Verdict,
}

fn allow() -> Verdict {
    Verdict::Allow
}

/// The categories of a host's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Does {
    /// It only reads.
    Read,
    /// It makes or changes something.
    Write,
    /// It deletes something.
    Delete,
}

impl ToolClass {
    /// A tool that nobody classed.
    pub(super) fn unknown() -> Self {
        Self {
            category: Does::Delete,
            egress: true,
            destination_args: Vec::new(),
            control_args: Vec::new(),
            content_args: Vec::new(),
            tool_reads: Level::Restricted,
            tool_sink: Level::Public,
            tool_untrusted: true,
            directory: Some(false),
            verdict: Verdict::Ask,
        }
    }

    /// The category in the words of the policy.
    pub fn category(&self) -> Category {
        match self.category {
            Does::Read => Category::Read,
            Does::Write => Category::Write,
            Does::Delete => Category::Delete,
        }
    }

    /// Whether the call acts beyond the agent, so that untrusted text may not make it happen unasked.
    pub(super) fn acts(&self) -> bool {
        crate::flow::is_consequential(self.category != Does::Read, false, self.egress)
    }

    /// Whether the names that its answers list are known ones.
    pub(super) fn lists_names(&self) -> bool {
        self.directory.unwrap_or(self.category == Does::Read && !self.egress)
    }

    /// The least label of what it answers.
    pub(super) fn answers(&self) -> Label {
        if self.tool_untrusted { Label::untrusted(self.tool_reads) } else { Label::trusted(self.tool_reads) }
    }
}

/// The tools of a host.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    tools: BTreeMap<String, ToolClass>,
}

/// Why a catalogue is refused.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// It is not one strict JSON object.
    #[error("the catalogue is not a JSON object of tools: {0}")]
    Syntax(#[from] ArgsError),
    /// A tool's class cannot be read.
    #[error("the tool `{tool}` of the catalogue: {why}")]
    Tool {
        /// The tool.
        tool: String,
        /// What is wrong, and what was expected.
        why: String,
    },
}

impl Catalogue {
    /// Reads a catalogue: a JSON object from each tool's name to its class.
    ///
    /// # Errors
    /// [`CatalogueError`] for anything that is not one, equal names and unknown fields included.
    pub fn read(text: &str) -> Result<Self, CatalogueError> {
        let mut tools = BTreeMap::new();
        for (tool, class) in args::object(text)? {
            let class = ToolClass::deserialize(class)
                .map_err(|error| CatalogueError::Tool { tool: tool.clone(), why: error.to_string() })?;
            tools.insert(tool, class);
        }
        Ok(Self { tools })
    }

    /// The class of a tool.
    pub fn class(&self, tool: &str) -> Option<&ToolClass> {
        self.tools.get(tool)
    }

    /// How many tools it names.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether it names none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tool whose name is nearest to one that is not there; to be suggested, never taken for it.
    pub(super) fn near(&self, tool: &str) -> Option<String> {
        let known: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        nearest(tool, &known).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = r#"{"send": {"category": "write", "egress": true, "destination_args": ["to"],
        "tool_reads": "PUBLIC", "tool_sink": "PUBLIC", "tool_untrusted": false}}"#;

    #[test]
    fn a_tool_that_is_named_is_admitted_and_another_asks() {
        let catalogue = Catalogue::read(MAIL).unwrap();
        assert_eq!(catalogue.len(), 1);
        assert_eq!(catalogue.class("send").unwrap().verdict, Verdict::Allow);
        assert_eq!(catalogue.near("sent").as_deref(), Some("send"));
        assert!(catalogue.class("sent").is_none());
        assert_eq!(ToolClass::unknown().verdict, Verdict::Ask);
        assert!(ToolClass::unknown().acts());
    }

    #[test]
    fn what_is_misspelt_is_refused_by_name() {
        for (wrong, right) in [
            ("\"tool_sink\": \"PUBLIC\"", "\"tool_sink\": \"SECRET\""),
            ("\"egress\": true", "\"egres\": true"),
            ("\"write\"", "\"wirte\""),
        ] {
            let error = Catalogue::read(&MAIL.replace(wrong, right)).unwrap_err().to_string();
            assert!(error.contains("the tool `send`"), "{error}");
            assert!(error.contains("expected"), "{error}");
        }
        let twice = format!("{},{}", MAIL.trim_end_matches('}').to_owned() + "}", &MAIL[1..]);
        assert!(Catalogue::read(&twice).unwrap_err().to_string().contains("send"));
    }
}
