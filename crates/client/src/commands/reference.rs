//! `reference`: pages of the documentation that are generated from what the product is, in Markdown.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};
use enclos_core::policy::reference as policy;
use enclos_protocol::env;
use enclos_protocol::error::Fault;

use crate::cli::{LowArgs, Page};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::text;
use crate::world::World;

/// Prints a page. (Writing to a string, as is done below, cannot fail.)
pub(crate) fn run(world: &mut World<'_>, page: Page) -> Result<Exit, CommandError> {
    let text = match page {
        Page::Cli => cli(),
        Page::Environment => environment(),
        Page::Events => events(),
        Page::Policy => text::reference_head(text::REFERENCE_POLICY) + &policy::page(),
        Page::PolicySchema => policy::schema_text(policy::Kind::Policy),
        Page::RepositorySchema => policy::schema_text(policy::Kind::Repository),
        Page::CasesSchema => policy::schema_text(policy::Kind::Cases),
    };
    world.out.write_all(text.as_bytes())?;
    world.out.flush()?;
    Ok(Exit::Done)
}

fn cli() -> String {
    let mut root = LowArgs::command();
    root.build();
    let mut page = text::reference_head(text::REFERENCE_CLI);
    command(&root, "enclos", &mut page);
    page.push_str(text::REFERENCE_ERRORS);
    for fault in Fault::ALL {
        let code = Exit::from(fault).code();
        let _ = writeln!(page, "| `{}` | {} | {code} |", fault.as_str(), text::fault(fault));
    }
    page
}

fn command(of: &Command, name: &str, page: &mut String) {
    let _ = writeln!(page, "\n## `{name}`\n");
    if let Some(about) = of.get_about() {
        let _ = writeln!(page, "{}.", about.to_string().trim_end_matches('.'));
    }
    for block in [of.get_before_help(), of.get_after_help()].into_iter().flatten() {
        let _ = writeln!(page, "\n```text\n{}\n```", block.to_string().trim_end());
    }
    let arguments: Vec<&Arg> = of
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
        .collect();
    if !arguments.is_empty() {
        page.push_str(text::REFERENCE_OPTIONS);
        page.extend(arguments.into_iter().map(argument));
    }
    for sub in of.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        command(sub, &format!("{name} {}", sub.get_name()), page);
    }
}

fn argument(arg: &Arg) -> String {
    let values = arg
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    let takes = arg.get_action().takes_values();
    let value = if takes { values } else { String::new() };
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long} {value}"),
        (None, Some(long)) => format!("--{long} {value}"),
        _ => value,
    };
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|_| takes)
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    format!("| `{}` | {}{choices} |\n", name.trim(), help.replace('|', "\\|"))
}

fn environment() -> String {
    let mut page = text::reference_head(text::REFERENCE_ENVIRONMENT);
    page.push_str(text::REFERENCE_VARIABLES);
    for variable in env::ALL {
        let _ = writeln!(page, "| `{}` | {} | {} |", variable.name, variable.purpose, variable.default);
    }
    page
}

fn events() -> String {
    let mut page = text::reference_head(text::REFERENCE_EVENTS);
    page.push_str(text::REFERENCE_FIELDS);
    for event in enclos_protocol::catalogue::EVENTS {
        let _ = writeln!(page, "| `{}` | {} | {} |", event.name, event.purpose, event.fields);
    }
    page
}
