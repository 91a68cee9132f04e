//! `doctor`: what this machine can and cannot do, each failure with its remedy. Exit 1 when a check fails.

use std::path::Path;

use enclos_protocol::api::Gateway;
use enclos_protocol::error::ApiError;
use enclos_protocol::report::Check;

use crate::cli::JsonArgs;
use crate::commands::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::layout::{Gutter, Row, words};
use crate::style::Role;
use crate::text;

/// Runs the checks.
pub(crate) fn run<G, M>(cx: &mut Context<'_, '_, M>, args: JsonArgs) -> Result<Exit, CommandError>
where
    G: Gateway,
    M: Fn(Option<&Path>) -> Result<G, ApiError>,
{
    let checks = cx.gateway()?.doctor();
    if args.json {
        cx.world.json(&checks)?;
    } else {
        cx.world.rows(cx.look, &rows(&checks, cx.look.width))?;
    }
    // Anything that is neither good nor a remark is a failure, an unknown word included.
    let failed = checks.iter().any(|check| check.result != "ok" && check.result != "note");
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn rows(checks: &[Check], width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for check in checks {
        let (role, sign) = match check.result.as_str() {
            "ok" => (Role::Good, "✓"),
            "note" => (Role::Dim, "·"),
            _ => (Role::Bad, "✗"),
        };
        let first = Row::of(role, sign).to(2).and(Role::Bold, &check.name).and(Role::Plain, "  ");
        rows.extend(words(&Gutter { first, rest: Row::new().to(4) }, Role::Plain, &check.detail, width));
        // What is to be typed stands on lines of its own, whole, so that it can be copied.
        let mut lines = check.remedy.lines();
        if let Some(line) = lines.next() {
            let first = Row::new().to(4).and(Role::Good, text::REMEDY);
            let rest = Row::new().to(4 + text::REMEDY.len());
            rows.extend(words(&Gutter { first, rest }, Role::Plain, line, width));
        }
        rows.extend(lines.map(|line| Row::new().to(6).and(Role::Plain, line)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use enclos_protocol::report::Check;

    use super::rows;
    use crate::style::Paint;

    #[test]
    fn a_failure_comes_with_its_remedy() {
        let check = |name: &str, result: &str, detail: &str, remedy: &str| Check {
            name: name.to_owned(),
            result: result.to_owned(),
            detail: detail.to_owned(),
            remedy: remedy.to_owned(),
        };
        let checks = [
            check("user namespaces", "failed", "unshare: EPERM", "sysctl kernel.unprivileged_userns_clone=1"),
            check(
                "landlock",
                "failed",
                "EPERM",
                "boot with it:\nsudo update-grub --with-a-long-line-that-is-not-broken-at-the-edge",
            ),
            check("overlayfs", "ok", "mounted in 0.2 ms", ""),
            check("cgroups", "note", "v1", ""),
        ];
        let shown: String = rows(&checks, 60).iter().map(|row| row.render(Paint::PLAIN) + "\n").collect();
        insta::assert_snapshot!(shown);
    }
}
