//! Which texts a condition holds for, as far as two conditions can be compared: whether one holds wherever another does.
//!
//! Prefixes, patterns and expressions are brought to one form: how every text begins, whether those are all texts there are,
//! and whether any text goes on so. Says yes only where it is certain; a rule is never taken for dead on a guess.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Literal};
use regex_syntax::hir::{Class, Hir, HirKind};

/// How many characters there are, without the surrogates, which are none.
const ALL_CHARS: usize = 0x0011_0000 - 0x800;

/// The texts of a pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Language {
    /// How every text begins; empty where that cannot be told.
    heads: Vec<Vec<u8>>,
    /// The heads are the texts.
    finite: bool,
    /// Every text that begins so is one.
    open: Option<Vec<u8>>,
}

impl Language {
    /// All texts that begin so.
    pub(super) fn of_prefix(prefix: &str) -> Self {
        let prefix = prefix.as_bytes().to_vec();
        Self { heads: vec![prefix.clone()], finite: false, open: Some(prefix) }
    }

    /// The texts that an expression matches as a whole. Nothing is known of one that cannot be read here.
    pub(super) fn of_regex(pattern: &str) -> Self {
        let parsed = ParserBuilder::new().utf8(false).dot_matches_new_line(true).build().parse(pattern);
        let Ok(hir) = parsed else { return Self::default() };
        let found = Extractor::new().kind(ExtractKind::Prefix).extract(&hir);
        let literals = found.literals().unwrap_or_default();
        Self {
            heads: literals.iter().map(|literal| literal.as_bytes().to_vec()).collect(),
            finite: !literals.is_empty() && literals.iter().all(Literal::is_exact) && !looks(&hir),
            open: open(&hir),
        }
    }

    /// The texts, when they are few.
    pub(super) fn texts(&self) -> Option<impl Iterator<Item = Option<&str>>> {
        self.finite.then(|| self.heads.iter().map(|text| std::str::from_utf8(text).ok()))
    }

    /// Whether each text is surely one of the other's.
    pub(super) fn within(&self, other: &Self) -> bool {
        let Some(open) = &other.open else { return false };
        !self.heads.is_empty() && self.heads.iter().all(|head| head.starts_with(open))
    }
}

/// Whether an expression looks at a place that is not the beginning or the end of the text.
fn looks(hir: &Hir) -> bool {
    let set = hir.properties().look_set();
    set.iter().any(|look| !matches!(look, regex_syntax::hir::Look::Start | regex_syntax::hir::Look::End))
}

/// The text behind which anything may stand, when the expression is no more than that.
fn open(hir: &Hir) -> Option<Vec<u8>> {
    let is_look = |part: &&Hir| matches!(part.kind(), HirKind::Look(_));
    let parts: Vec<&Hir> = if let HirKind::Concat(parts) = hir.kind() {
        parts.iter().filter(|part| !is_look(part)).collect()
    } else {
        vec![hir]
    };
    match parts.as_slice() {
        _ if looks(hir) => None,
        [last] if is_anything(last) => Some(Vec::new()),
        [first, last] if is_anything(last) => {
            let HirKind::Literal(literal) = first.kind() else { return None };
            Some(literal.0.to_vec())
        }
        _ => None,
    }
}

/// Whether it is `.*`.
fn is_anything(hir: &Hir) -> bool {
    let HirKind::Repetition(repeated) = hir.kind() else { return false };
    let HirKind::Class(class) = repeated.sub.kind() else { return false };
    let every = match class {
        Class::Unicode(class) => {
            let chars = |from: char, to: char| (from..=to).size_hint().0;
            class.iter().map(|range| chars(range.start(), range.end())).sum::<usize>() == ALL_CHARS
        }
        Class::Bytes(class) => {
            class.iter().map(|range| u64::from(range.end()) - u64::from(range.start()) + 1).sum::<u64>()
                == 256
        }
    };
    every && repeated.min == 0 && repeated.max.is_none()
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn what_begins_alike_is_compared() {
        let prefix = Language::of_prefix("secret/");
        for within in ["secret/.*", "secret/a", "secret/(a|b)/x.*", "secret/[ab].*", "^secret/.*$"] {
            assert!(Language::of_regex(within).within(&prefix), "{within}");
        }
        for not in ["secret.*", ".*secret/", "(secret/a|b)", "", "secret/?", "(?i)secret/x"] {
            assert!(!Language::of_regex(not).within(&prefix), "{not}");
        }
        assert!(prefix.within(&Language::of_regex("sec.*")) && prefix.within(&Language::of_regex(".*")));
        for not in
            ["secret/.+", "secret/[a-z]*", "secret/[^a]*", "secret/(?-s:.*)", "secret/.*x", "secret/.*\\b"]
        {
            assert!(!prefix.within(&Language::of_regex(not)), "{not}");
        }
        assert!(Language::of_regex("a|b").texts().is_some_and(|texts| texts.flatten().eq(["a", "b"])));
        assert!(Language::of_regex("a.*").texts().is_none());
    }
}
