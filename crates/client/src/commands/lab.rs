//! `policy test`, `policy diff`, `policy simulate`, `policy schema`: policies tried out, nothing changed.

use std::path::Path;

use enclos_core::policy::reference;
use enclos_protocol::api::Gateway;
use enclos_protocol::error::ApiError;
use enclos_protocol::lab::SimulateRequest;

use crate::cli::{PolicyDiffArgs, SchemaArgs, SchemaOf, SimulateArgs, TestArgs};
use crate::commands::Context;
use crate::commands::policy::at;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::render::lab;
use crate::world::World;

/// Holds a policy against its examples and tables. Exit 1 when one fails.
pub(crate) fn test<G, M>(cx: &mut Context<'_, '_, M>, args: &TestArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let report = cx.gateway()?.policy_test(&args.files, &at(args.repo.as_deref())?)?;
    if args.json.json {
        cx.world.json(&report)?;
    } else {
        cx.world.rows(cx.look, &lab::tested(&report, cx.look.width))?;
    }
    Ok(if report.failed == 0 { Exit::Done } else { Exit::Failed })
}

/// Compares two policies.
pub(crate) fn diff<G, M>(cx: &mut Context<'_, '_, M>, args: &PolicyDiffArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let report = cx.gateway()?.policy_diff(&args.old, &args.new, &at(args.repo.as_deref())?)?;
    if args.json.json {
        cx.world.json(&report)?;
    } else {
        cx.world.rows(cx.look, &lab::difference(&report.difference, cx.look.width))?;
    }
    Ok(Exit::Done)
}

/// Judges the decisions of the journal again.
pub(crate) fn simulate<G, M>(cx: &mut Context<'_, '_, M>, args: SimulateArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let request =
        SimulateRequest { policy: args.files, at: at(None)?, days: args.days, examples: args.examples };
    let report = cx.gateway()?.policy_simulate(&request)?;
    if args.json.json {
        cx.world.json(&report)?;
    } else {
        cx.world.rows(cx.look, &lab::simulated(&report, cx.look.width))?;
    }
    Ok(Exit::Done)
}

/// Prints the JSON Schema of policy files.
pub(crate) fn schema(world: &mut World<'_>, args: &SchemaArgs) -> Result<Exit, CommandError> {
    let of = match args.of {
        SchemaOf::Policy => reference::Kind::Policy,
        SchemaOf::Repository => reference::Kind::Repository,
        SchemaOf::Cases => reference::Kind::Cases,
    };
    world.out.write_all(reference::schema_text(of).as_bytes())?;
    world.out.flush()?;
    Ok(Exit::Done)
}
