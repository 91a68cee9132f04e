//! Which written rule matches a command: the longest prefix of argv, the stricter of two equally long ones.

use super::argument::Argument;
use super::paths::is_trusted;
use super::reading::CommandRule;
use crate::verdict::Verdict;

/// After how many searches the rules are sorted.
const SORT_AFTER: usize = 8;

/// The written rules of one reading.
#[derive(Debug)]
pub(super) struct Written<'r> {
    rules: &'r [CommandRule],
    searches: usize,
    /// The rules by first word, once it pays.
    sorted: Option<Vec<&'r CommandRule>>,
}

impl<'r> Written<'r> {
    pub(super) fn new(rules: &'r [CommandRule]) -> Self {
        Self { rules, searches: 0, sorted: None }
    }

    /// The rule for a command with these arguments, its name first.
    pub(super) fn find(&mut self, arguments: &[Argument]) -> Option<&'r CommandRule> {
        let name = arguments.first().and_then(Argument::literal)?;
        let base = name.rsplit('/').next().unwrap_or(name);
        let by_name = self.best(name, arguments, Verdict::Allow);
        if base == name {
            return by_name;
        }
        // By another path it may be another program: then a rule for its name only hardens.
        let least = if is_trusted(name) { Verdict::Allow } else { Verdict::Ask };
        let by_base = self.best(base, arguments, least);
        [by_name, by_base].into_iter().flatten().max_by_key(|rule| rule.verdict)
    }

    /// The best rule for a program of this name that answers at least `least`.
    fn best(&mut self, name: &str, arguments: &[Argument], least: Verdict) -> Option<&'r CommandRule> {
        self.searches += 1;
        if self.searches == SORT_AFTER {
            let mut sorted: Vec<&CommandRule> = self.rules.iter().collect();
            sorted.sort_by(|a, b| a.argv.first().cmp(&b.argv.first()));
            self.sorted = Some(sorted);
        }
        let fits = |rule: &&CommandRule| rule.verdict >= least && fits(rule, name, arguments);
        let rank = |rule: &&CommandRule| (rule.argv.len(), rule.verdict);
        match &self.sorted {
            None => self.rules.iter().filter(fits).max_by_key(rank),
            Some(sorted) => {
                let first = |rule: &&CommandRule| rule.argv.first().is_some_and(|word| word.as_str() < name);
                let start = sorted.partition_point(|rule| rule.argv.is_empty() || first(rule));
                let same =
                    sorted.iter().skip(start).take_while(|rule| rule.argv.first().is_some_and(|w| w == name));
                same.copied().filter(fits).max_by_key(rank)
            }
        }
    }
}

fn fits(rule: &CommandRule, name: &str, arguments: &[Argument]) -> bool {
    let Some((first, words)) = rule.argv.split_first() else { return false };
    let rest = arguments.get(1..).unwrap_or(&[]);
    first == name
        && words.len() <= rest.len()
        && words.iter().zip(rest).all(|(word, argument)| argument.literal() == Some(word))
}

#[cfg(test)]
mod tests {
    use super::Written;
    use crate::command::argument::Argument;
    use crate::command::reading::CommandRule;
    use crate::command::script::Place;
    use crate::ids::RuleId;
    use crate::verdict::Verdict::{self, Allow, Ask, Disabled};

    fn rule(argv: &str, verdict: Verdict) -> CommandRule {
        let argv = argv.split_whitespace().map(str::to_owned).collect();
        CommandRule { id: RuleId::new(format!("{verdict}")), argv, verdict }
    }

    #[test]
    fn the_longest_prefix_wins_and_of_equals_the_stricter() {
        let rules = [
            rule("git", Ask),
            rule("git push", Disabled),
            rule("cargo test", Allow),
            rule("cargo test", Ask),
            rule("git log", Allow),
            rule("", Allow),
        ];
        let mut written = Written::new(&rules);
        let place = Place { text: 0, start: 0, end: 0 };
        for _ in 0..20 {
            for (command, verdict) in [
                ("git push -f", Some(Disabled)),
                ("git status", Some(Ask)),
                ("git log -1", Some(Allow)),
                ("/opt/git log", Some(Ask)),
                ("/opt/git push", Some(Disabled)),
                ("/usr/bin/git log", Some(Allow)),
                ("cargo test --all", Some(Ask)),
                ("cargo testing", None),
                ("ls", None),
            ] {
                let arguments: Vec<_> =
                    command.split_whitespace().map(|word| Argument::text(word, place)).collect();
                assert_eq!(written.find(&arguments).map(|rule| rule.verdict), verdict, "{command}");
            }
        }
    }
}
