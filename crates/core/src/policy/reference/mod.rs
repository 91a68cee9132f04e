//! What may stand in a file: every key with its type, default, law and meaning, as data.
//!
//! The published JSON Schema and the page of the reference are both made of this one table, and tests hold it against
//! the loader in both directions. The loader does not read it: it decides nothing.

mod keys;
mod page;
mod schema;

pub use page::page;
pub use schema::{schema, schema_text};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A policy.
    Policy,
    /// A repository's own `.enclos.toml`.
    Repository,
    /// A table of expectations, `….cases.toml`.
    Cases,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Policy, Self::Repository, Self::Cases];

    fn title(self) -> &'static str {
        match self {
            Self::Policy => "A policy of Enclos",
            Self::Repository => "A repository's own policy (.enclos.toml)",
            Self::Cases => "A table of expectations (….cases.toml)",
        }
    }

    fn keys(self) -> &'static [Key] {
        match self {
            Self::Policy => keys::POLICY,
            Self::Repository => keys::REPOSITORY,
            Self::Cases => keys::CASES,
        }
    }
}

/// A key of a file or of a table in it.
#[derive(Clone, Copy, Debug)]
struct Key {
    name: &'static str,
    form: Form,
    required: bool,
    default: &'static str,
    law: &'static str,
    means: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Any text.
    Text,
    /// A name of a rule or a policy.
    Name,
    /// A whole number that is not negative, with its bounds.
    Count(u64, Option<u64>),
    /// `true` or `false`.
    Truth,
    /// One of some words.
    Word(&'static [&'static str]),
    /// One or several of some words, alone or in an array.
    Words(&'static [&'static str]),
    /// One or several texts, alone or in an array.
    Texts,
    /// An array of texts, at least one, none of them empty.
    Argv,
    /// `"all"`, `"none"`, or an array of names.
    Mounts,
    /// Any value but a date.
    Value,
    /// An array of any values.
    Values,
    /// A table of any keys.
    Arguments,
    /// An array of examples: texts, or tables of these keys.
    Examples(&'static [Key]),
    /// A table of these keys.
    Table(&'static [Key]),
    /// An array of tables of these keys.
    Tables(&'static [Key]),
    /// The same, with at least one.
    SomeTables(&'static [Key]),
}
