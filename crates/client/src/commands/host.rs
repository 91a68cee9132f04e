//! `host`: an execution host in the foreground, until it is asked to end. What happens is told a line each.

use std::path::{Path, PathBuf};

use enclos_protocol::api::{Gateway, HostRequest};
use enclos_protocol::error::ApiError;

use crate::cli::HostArgs;
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::hi;
use crate::layout::{Gutter, exact};
use crate::style::Role;

/// Serves until TERM, INT or HUP.
pub(crate) async fn run<G, M>(cx: &mut Context<'_, '_, M>, args: HostArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let absolute = |path: Option<PathBuf>| path.map(|path| hi::absolute(&path)).transpose();
    let request = HostRequest {
        socket: absolute(args.socket)?,
        state: absolute(args.state)?,
        gateway_uids: args.gateway_uid,
    };
    let gateway = cx.gateway()?;
    let look = cx.look;
    let world = &mut *cx.world;
    let mut say = |line: &str| {
        // Whoever read this may have gone; the host does not end with them.
        drop(world.rows(look, &exact(&Gutter::default(), Role::Plain, line, usize::MAX)));
    };
    gateway.host(request, &mut say).await?;
    Ok(Exit::Done)
}
