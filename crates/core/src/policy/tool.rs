//! A tool as the policy sees it: its name, what it does, whether it carries data out.
//!
//! The tools of Enclos itself are classed here; those of a server by whoever pinned their definition. A tool that
//! nobody classed counts as one that deletes and carries data out.

use std::borrow::Cow;

use super::who::Category;
use crate::near::nearest;

/// The tools of Enclos, with their categories.
const BUILT_IN: [(&str, Category); 17] = [
    ("read", Category::Read),
    ("list", Category::Read),
    ("glob", Category::Read),
    ("grep", Category::Read),
    ("background", Category::Read),
    ("todo", Category::Read),
    ("aggregate", Category::Read),
    ("session_status", Category::Read),
    ("sessions_list", Category::Read),
    ("sessions_history", Category::Read),
    ("write", Category::Write),
    ("edit", Category::Write),
    ("delegate", Category::Write),
    ("sessions_send", Category::Write),
    ("sessions_spawn", Category::Write),
    ("delete", Category::Delete),
    ("bash", Category::Bash),
];

/// A tool, classed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool<'t> {
    name: Cow<'t, str>,
    category: Category,
    egress: bool,
    publishes: bool,
    known: bool,
}

impl<'t> Tool<'t> {
    /// A tool of Enclos by its name; any other name is an unknown tool.
    pub fn named(name: &'t str) -> Self {
        Self::of_name(Cow::Borrowed(name))
    }

    fn of_name(name: Cow<'t, str>) -> Self {
        let category =
            BUILT_IN.iter().find(|(known, _)| *known == name.as_ref()).map(|(_, category)| *category);
        Self {
            category: category.unwrap_or(Category::Delete),
            egress: category.is_none(),
            publishes: false,
            known: category.is_some(),
            name,
        }
    }

    /// A tool that is not of Enclos, as its pinned definition or a catalogue classes it. A tool of a server is named
    /// `server/tool`. The name of a tool of Enclos keeps that tool's own class, whatever is said here.
    pub fn classed(name: impl Into<Cow<'t, str>>, category: Category, egress: bool) -> Self {
        let own = Self::of_name(name.into());
        if own.known {
            return own;
        }
        let (category, egress) = match category {
            Category::Egress | Category::Bash => (Category::Delete, true),
            Category::Read | Category::Write | Category::Delete => (category, egress),
        };
        Self { category, egress, known: true, ..own }
    }

    /// The same tool, known to push, merge or publish elsewhere: disabled until a rule names it.
    #[must_use]
    pub fn publishing(self) -> Self {
        Self { publishes: true, egress: true, ..self }
    }

    /// The name: `read`, or `server/tool`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server, where the tool is of one.
    pub fn server(&self) -> Option<&str> {
        self.name.split_once('/').map(|(server, _)| server)
    }

    /// What the tool does.
    pub fn category(&self) -> Category {
        self.category
    }

    /// Whether the call carries data out of the sandbox.
    pub fn egress(&self) -> bool {
        self.egress
    }

    /// Whether the tool pushes, merges or publishes elsewhere.
    pub fn publishes(&self) -> bool {
        self.publishes
    }

    /// Whether someone classed the tool.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// The tool of Enclos whose name is nearest to a mistyped one, to be suggested and never taken for it.
    pub fn near(name: &str) -> Option<&'static str> {
        let known: Vec<&'static str> = Self::built_in().collect();
        let near = nearest(name, &known)?;
        Self::built_in().find(|known| *known == near)
    }

    /// The names of the tools of Enclos.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }
}
