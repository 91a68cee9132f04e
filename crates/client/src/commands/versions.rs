//! `policy apply`, `history`, `rollback`, `show`: saved policies and their versions.

use std::path::{Path, PathBuf};

use enclos_protocol::api::{Gateway, PolicyChange};
use enclos_protocol::error::ApiError;
use enclos_protocol::report::{PolicySaved, PolicyText, PolicyVersion};

use crate::cli::{PolicyApplyArgs, PolicyHistoryArgs, PolicyRollbackArgs, PolicyShowArgs};
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::hi;
use crate::layout::{Gutter, Row, exact, words};
use crate::render::table::{pairs, table};
use crate::style::Role;
use crate::text;

/// Saves a policy, or takes one away.
pub(crate) fn apply<G, M>(cx: &mut Context<'_, '_, M>, args: PolicyApplyArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let (scope, file) = scope_and_file(args.scope, args.file);
    let change = match file {
        Some(file) => PolicyChange::Apply(hi::absolute(&file)?),
        None if args.remove => PolicyChange::Remove { loosen: args.loosen },
        None => return Err(CommandError::usage(text::APPLY_NEEDS_A_FILE).hint(text::APPLY_FILE_HINT)),
    };
    save(cx, &scope, &change, args.json.json)
}

/// Saves the text of an earlier version.
pub(crate) fn rollback<G, M>(
    cx: &mut Context<'_, '_, M>,
    args: &PolicyRollbackArgs,
) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    save(cx, &scope_of(&args.scope), &PolicyChange::Rollback(args.to), args.json.json)
}

fn save<G, M>(
    cx: &mut Context<'_, '_, M>,
    scope: &str,
    change: &PolicyChange,
    json: bool,
) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let saved = cx.gateway()?.policy_save(scope, change)?;
    if json {
        cx.world.json(&saved)?;
    } else {
        cx.world.rows(cx.look, &saved_rows(&saved, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn saved_rows(saved: &PolicySaved, width: usize) -> Vec<Row> {
    let gutter = Gutter { first: Row::of(Role::Good, "✓ "), rest: Row::new().to(2) };
    let mut rows = exact(&gutter, Role::Plain, &text::policy_saved(saved), width);
    if !saved.removed {
        rows.extend(exact(&Gutter::spaces(2), Role::Dim, &saved.file, width));
        let mut digests = vec![text::file_digest(&saved.digest)];
        digests.extend(saved.policy_digest.as_deref().map(text::policy_digest));
        rows.extend(digests.iter().flat_map(|told| exact(&Gutter::spaces(2), Role::Dim, told, width)));
    }
    for line in saved.looser.iter().filter(|_| saved.removed) {
        let gutter = Gutter { first: Row::of(Role::Warn, "! "), rest: Row::new().to(2) };
        rows.extend(exact(&gutter, Role::Plain, &text::looser(line), width));
    }
    for rule in &saved.overruled {
        let gutter = Gutter { first: Row::of(Role::Warn, "! "), rest: Row::new().to(2) };
        rows.extend(exact(&gutter, Role::Plain, rule, width));
    }
    rows
}

/// Lists versions, the newest first.
pub(crate) fn history<G, M>(
    cx: &mut Context<'_, '_, M>,
    args: &PolicyHistoryArgs,
) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let scope = (!args.scope.is_empty()).then(|| args.scope.join(" "));
    let mut versions = cx.gateway()?.policy_history(scope.as_deref())?;
    versions.reverse();
    if args.json.json {
        cx.world.json(&versions)?;
    } else if versions.is_empty() {
        cx.world.rows(cx.look, &[Row::of(Role::Dim, text::NO_VERSIONS_YET)])?;
    } else {
        cx.world.rows(cx.look, &history_rows(&versions, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn history_rows(versions: &[PolicyVersion], width: usize) -> Vec<Row> {
    let line = |version: &PolicyVersion| {
        let role = if version.newest { Role::Good } else { Role::Dim };
        vec![
            (Role::Bold, version.scope.clone()),
            (role, version.version.to_string()),
            (Role::Dim, text::minute(&version.time)),
            (Role::Plain, version.how.clone()),
            (Role::Plain, version.author.clone()),
            (Role::Dim, version.digest.clone()),
        ]
    };
    table(&text::VERSION_HEADS, &versions.iter().map(line).collect::<Vec<_>>(), width)
}

/// Shows the policy of a scope: what it is, then its text as it is.
pub(crate) fn show<G, M>(cx: &mut Context<'_, '_, M>, args: &PolicyShowArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let shown = cx.gateway()?.policy_show(&scope_of(&args.scope))?;
    if args.json.json {
        cx.world.json(&shown)?;
    } else {
        cx.world.rows(cx.look, &show_rows(&shown, cx.look.width))?;
    }
    Ok(Exit::Done)
}

fn show_rows(shown: &PolicyText, width: usize) -> Vec<Row> {
    let version = shown.version.as_ref().map_or_else(|| text::NO_VERSION.to_owned(), text::version_by);
    let mut facts = vec![
        (text::SHOWN_SCOPE, shown.scope.clone()),
        (text::SHOWN_FILE, shown.file.clone()),
        (text::SHOWN_VERSION, version),
        (text::FILE_DIGEST, shown.digest.clone()),
    ];
    facts.extend(shown.policy_digest.clone().map(|digest| (text::POLICY_DIGEST, digest)));
    let mut rows = pairs(&facts, width);
    if let Some(problem) = &shown.problem {
        let gutter = Gutter { first: Row::of(Role::Bad, "✗ "), rest: Row::new().to(2) };
        rows.extend(words(&gutter, Role::Plain, &problem.message, width));
    }
    rows.push(Row::new());
    for line in shown.text.lines() {
        rows.extend(exact(&Gutter::spaces(0), Role::Plain, line, width));
    }
    rows
}

/// The words of `--scope`; the instance when there are none.
fn scope_of(words: &[String]) -> String {
    if words.is_empty() { "instance".to_owned() } else { words.join(" ") }
}

/// `--scope instance FILE` takes two words of which the second is the file: an instance has no path.
fn scope_and_file(mut words: Vec<String>, file: Option<PathBuf>) -> (String, Option<PathBuf>) {
    let taken = match (words.as_slice(), &file) {
        ([kind, _], None) if kind == "instance" => words.pop().map(PathBuf::from),
        _ => None,
    };
    (scope_of(&words), file.or(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_no_path_so_the_second_word_is_the_file() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (scope, file) = scope_and_file(words(&["instance", "p.toml"]), None);
        assert_eq!((scope.as_str(), file), ("instance", Some("p.toml".into())));
        let (scope, file) = scope_and_file(words(&["group", "acme"]), None);
        assert_eq!((scope.as_str(), file), ("group acme", None));
        let (scope, file) = scope_and_file(words(&[]), Some("p.toml".into()));
        assert_eq!((scope.as_str(), file), ("instance", Some("p.toml".into())));
    }
}
