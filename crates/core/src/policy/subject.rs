//! What a rule is about: tools, categories, servers; and how specific that is.
//!
//! `*` stands for a whole segment of a name, never for a part of one.

use crate::verdict::Verdict;

use super::tool::Tool;
use super::who::Category;

/// A name of a tool or a server, in segments, of which each may be `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<String>);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.split('/').map(str::to_owned).collect())
    }

    pub(super) fn as_text(&self) -> String {
        self.0.join("/")
    }

    /// Whether the pattern names exactly one thing.
    pub(super) fn is_exact(&self) -> bool {
        !self.0.iter().any(|segment| segment == "*")
    }

    /// Whether the pattern is `*` alone, which names everything.
    fn is_any(&self) -> bool {
        self.0.iter().all(|segment| segment == "*")
    }

    fn matches(&self, name: &str) -> bool {
        if let [only] = self.0.as_slice()
            && only == "*"
        {
            return true;
        }
        let mut segments = name.splitn(self.0.len(), '/');
        self.0.iter().all(|wanted| segments.next().is_some_and(|segment| wanted == "*" || wanted == segment))
    }
}

/// The side of a call that is judged: what the tool does, or that it carries data out. A call with both is judged
/// on both and the stricter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    Class(Category),
    Egress,
}

impl Aspect {
    /// The sides of a call of `tool`.
    pub(super) fn of(tool: &Tool<'_>) -> impl Iterator<Item = Self> {
        let egress = tool.egress().then_some(Self::Egress);
        std::iter::once(Self::Class(tool.category())).chain(egress)
    }

    pub(super) fn category(self) -> Category {
        match self {
            Self::Class(category) => category,
            Self::Egress => Category::Egress,
        }
    }
}

/// What a rule is about. Of the kinds that are written each must match.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) tools: Vec<Pattern>,
    pub(super) categories: Vec<Category>,
    pub(super) servers: Vec<Pattern>,
}

impl Subject {
    /// Whether a rule on this subject, which says `verdict`, speaks of this side of a call.
    pub(super) fn speaks_of(&self, tool: &Tool<'_>, aspect: Aspect, verdict: Verdict) -> bool {
        let of_tool = self.tools.is_empty() || self.tools.iter().any(|pattern| pattern.matches(tool.name()));
        let of_server = self.servers.is_empty()
            || tool.server().is_some_and(|server| self.servers.iter().any(|pattern| pattern.matches(server)));
        let of_aspect = self.categories.is_empty() || self.categories.contains(&aspect.category());
        of_tool && of_server && of_aspect && self.reaches(tool, aspect, verdict)
    }

    /// An `allow` on `*` does not open what leaves the sandbox, and nothing but its own name opens a tool that
    /// publishes elsewhere.
    fn reaches(&self, tool: &Tool<'_>, aspect: Aspect, verdict: Verdict) -> bool {
        if tool.publishes() && verdict != Verdict::Disabled {
            return self.tools.iter().any(|pattern| pattern.is_exact() && pattern.matches(tool.name()));
        }
        let named = self.categories.contains(&Category::Egress)
            || self.tools.iter().chain(&self.servers).any(|pattern| !pattern.is_any());
        aspect != Aspect::Egress || verdict != Verdict::Allow || named
    }

    /// How specific the subject is: an exact tool over a server, over a category, over everything.
    pub(super) fn rank(&self) -> u8 {
        let tools = self.tools.iter().map(|pattern| match (pattern.is_exact(), pattern.is_any()) {
            (true, _) => 4,
            (false, false) => 3,
            (false, true) => 0,
        });
        let servers = self.servers.iter().map(|pattern| if pattern.is_exact() { 3 } else { 2 });
        let categories = self.categories.iter().map(|_| 1);
        tools.chain(servers).chain(categories).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_star_is_a_whole_segment() {
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).matches(name);
        assert!(matches("*", "read") && matches("*", "github/create_issue"));
        assert!(matches("github/*", "github/create_issue"));
        assert!(!matches("github/*", "github") && !matches("github/*", "gitlab/create_issue"));
        assert!(
            matches("*/create_issue", "github/create_issue") && !matches("*/create_issue", "create_issue")
        );
        assert!(!matches("read", "reads") && !matches("read", "x/read"));
    }
}
