//! How the workspace was made, in words for a person and for the journal. An overlay is the rule and is not told.

use enclos_sandbox::Workspace;
use serde_json::{Value, json};

/// What a person is told of it at opening.
pub(super) fn told(workspace: &Workspace) -> Vec<String> {
    let Workspace::Copy(copied) = workspace else { return Vec::new() };
    let how = if copied.shares_blocks { "copy (reflink)" } else { "copy" };
    let mut notes = vec![
        format!(
            "workspace: {how}, since {}: {} entries, {} MiB",
            copied.since,
            copied.entries,
            copied.bytes.div_ceil(1 << 20)
        ),
        "a copy keeps no earlier moment: calls of this session cannot be undone".to_owned(),
    ];
    if !copied.left_out.is_empty() {
        notes.push(format!("left out of the copy: {}", copied.left_out.join(", ")));
    }
    notes
}

/// What the journal keeps of it.
pub(super) fn journaled(workspace: &Workspace) -> Value {
    match workspace {
        Workspace::Overlay => json!({"by": workspace.word()}),
        Workspace::Copy(copied) => json!({
            "by": workspace.word(),
            "since": copied.since,
            "entries": copied.entries,
            "bytes": copied.bytes,
            "left_out": copied.left_out,
        }),
    }
}

#[cfg(test)]
mod tests {
    use enclos_sandbox::Copied;

    use super::*;

    #[test]
    fn a_copy_is_told_with_its_reason_and_an_overlay_is_not_told() {
        assert_eq!(told(&Workspace::Overlay), Vec::<String>::new());
        let copy = Workspace::Copy(Copied {
            since: "a reason".into(),
            shares_blocks: false,
            entries: 3,
            bytes: 1,
            left_out: vec!["`p`: a named pipe".into()],
        });
        let notes = told(&copy);
        assert_eq!(notes[0], "workspace: copy, since a reason: 3 entries, 1 MiB");
        assert_eq!(notes[2], "left out of the copy: `p`: a named pipe");
        assert_eq!(journaled(&copy)["by"], "copy");
        assert_eq!(journaled(&Workspace::Overlay)["by"], "overlay");
    }
}
