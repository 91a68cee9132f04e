//! The page of the reference: every key, in Markdown.

use std::fmt::Write as _;

use super::{Form, Key, Kind};

/// The body of the page, without its title. (Writing to a string cannot fail.)
pub fn page() -> String {
    let mut page =
        "What each key means for an answer is told in `policies/README.md`. The same as JSON Schema: \
                    `enclos policy schema`, kept beside this page.\n"
            .to_owned();
    for kind in Kind::ALL {
        let _ = writeln!(page, "\n## {}", kind.title());
        section(&mut page, "", kind.keys());
    }
    page
}

/// One table and, after it, the tables below it.
fn section(page: &mut String, path: &str, keys: &[Key]) {
    let plain: Vec<&Key> = keys.iter().filter(|key| below(key.form).is_none() || of_its_own(key)).collect();
    if !plain.is_empty() {
        if !path.is_empty() {
            let _ = writeln!(page, "\n### `{path}`");
        }
        page.push_str(
            "\n| key | takes | default | of several scopes | means |\n| --- | --- | --- | --- | --- |\n",
        );
        page.extend(plain.into_iter().map(row));
    }
    for key in keys {
        if let Some(keys) = below(key.form) {
            let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
            section(page, &path, keys);
        }
    }
}

/// Whether a key with a table below it has a row of its own.
fn of_its_own(key: &Key) -> bool {
    !key.default.is_empty() || key.required
}

/// The keys of the table that a key takes.
fn below(form: Form) -> Option<&'static [Key]> {
    match form {
        Form::Table(keys) | Form::Tables(keys) | Form::SomeTables(keys) | Form::Examples(keys) => Some(keys),
        Form::Text
        | Form::Name
        | Form::Count(..)
        | Form::Truth
        | Form::Word(_)
        | Form::Words(_)
        | Form::Texts
        | Form::Argv
        | Form::Mounts
        | Form::Value
        | Form::Values
        | Form::Arguments => None,
    }
}

fn row(key: &Key) -> String {
    let default = if key.required { "must stand" } else { key.default };
    format!("| `{}` | {} | {default} | {} | {} |\n", key.name, takes(key.form), key.law, key.means)
}

fn takes(form: Form) -> String {
    let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match form {
        Form::Text => "text".to_owned(),
        Form::Name => "up to 64 of a-z, 0-9, `.`, `_`, `-`".to_owned(),
        Form::Count(least, None) => format!("a whole number from {least}"),
        Form::Count(least, Some(most)) => format!("a whole number from {least} to {most}"),
        Form::Truth => "`true`, `false`".to_owned(),
        Form::Word(of) => words(of),
        Form::Words(of) => format!("{}; or an array of them", words(of)),
        Form::Texts => "text, or an array of texts".to_owned(),
        Form::Argv => "an array of texts".to_owned(),
        Form::Mounts => "`all`, `none`, or an array of names".to_owned(),
        Form::Value => "any value but a date".to_owned(),
        Form::Values => "an array of such values".to_owned(),
        Form::Examples(_) => "an array of texts and tables".to_owned(),
        Form::Arguments | Form::Table(_) => "a table".to_owned(),
        Form::Tables(_) | Form::SomeTables(_) => "an array of tables".to_owned(),
    }
}
