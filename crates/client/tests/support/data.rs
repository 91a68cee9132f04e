//! What a scripted gateway tells: budgets, cards, calls, change sets.

use enclos_core::decision::DecidedBy;
use enclos_core::ids::{CallId, Digest, RuleId};
use enclos_core::label::{Level, Provenance};
use enclos_core::lineage::{
    Classification, Kind, LineageId, Moment, Origin, Record, SourceType, Transformation,
};
use enclos_core::verdict::Verdict;
use enclos_protocol::card::{Action, Card};
use enclos_protocol::changeset::{ChangeSetView, FileView, Hunk, Line, LineKind};
use enclos_protocol::event::{Amounts, Body, BudgetView, Of, Opened, ResultFacts, SessionState, Speaker};
use enclos_protocol::lineage::Item;

use super::{Step, tell};

/// A budget with some actions used.
pub(crate) fn budget(used: u64) -> BudgetView {
    BudgetView {
        used: Amounts { actions: used, minutes: 0, tokens: 100, commands: used },
        granted: Amounts { actions: 150, minutes: 45, tokens: 2_000_000, commands: 150 },
        extensions_left: 5,
    }
}

/// The change set of every script.
pub(crate) fn change_set() -> ChangeSetView {
    let line = |kind, text: &str| Line { kind, text: text.to_owned(), no_newline: false };
    let hunk = Hunk {
        old_start: 4,
        new_start: 4,
        lines: vec![
            line(LineKind::Context, "add() { echo $(($1 + $2)); }"),
            line(LineKind::Removed, "multiply() { echo $(($1 + $2)); }"),
            line(LineKind::Added, "multiply() { echo $(($1 * $2)); } # \u{1b}[2J"),
        ],
    };
    ChangeSetView {
        files: files(),
        hunks: vec![vec![hunk], Vec::new()],
        insertions: 2,
        deletions: 1,
        ignored: 3,
        refused: Vec::new(),
        remarks: Vec::new(),
        digest: "sha256:cd".to_owned(),
        patch: "diff --git a/calc.sh b/calc.sh\n+\u{1b}[2J\n".to_owned(),
    }
}

/// Its files: one plain, one flagged.
pub(crate) fn files() -> Vec<FileView> {
    let file = |path: &str, change: &str, flags: &[&str]| FileView {
        path: path.to_owned(),
        old_path: None,
        change: change.to_owned(),
        insertions: 1,
        deletions: 1,
        binary: false,
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        label: None,
        held: None,
    };
    vec![file("calc.sh", "modified", &[]), file("ci.yml", "added", &["CI configuration"])]
}

/// The end of a run.
pub(crate) fn finished(exit_code: u8, session_state: SessionState) -> Body {
    Body::Finished { exit_code, session_state, next_step: String::new(), error: None }
}

/// The opening of a session.
pub(crate) fn opened() -> Body {
    Body::Opened(Opened {
        repo: "/home/ada/site".to_owned(),
        model: "script".to_owned(),
        policy: vec!["preset strict".to_owned()],
        policy_digest: "sha256:ab".to_owned(),
        surface: "terminal".to_owned(),
        tools: vec!["read".to_owned()],
        place: "workstation".to_owned(),
        isolation: "hard".to_owned(),
        toolchains: vec!["rust".to_owned()],
        notes: vec!["a setting differs".to_owned()],
        budget: budget(0),
        open_ms: 1.5,
    })
}

/// A call.
pub(crate) fn of(number: u64, tool: &str) -> Of {
    Of { call: CallId::new(format!("call_{number}")), tool: tool.to_owned() }
}

/// A message of the model.
pub(crate) fn says(text: &str) -> Vec<Step> {
    vec![
        tell(Body::MessageDelta { text: text.to_owned() }),
        tell(Body::Message { role: Speaker::Assistant, text: text.to_owned() }),
    ]
}

/// A card for a command.
pub(crate) fn card(text: &str, may_remember: bool) -> Card {
    Card {
        tool: "bash".to_owned(),
        title: "run a command".to_owned(),
        action: Action::Command { text: text.to_owned(), pieces: Vec::new() },
        directory: "/workspace".to_owned(),
        files: Vec::new(),
        flagged: Vec::new(),
        beside: Vec::new(),
        raises: None,
        rule: RuleId::new("default.bash"),
        scope: "preset strict".to_owned(),
        reason: "commands ask".to_owned(),
        may_approve: true,
        may_remember,
        patterns: Vec::new(),
        needs: String::new(),
        arguments: serde_json::json!({ "command": text }).to_string(),
        budget: budget(1),
        expires: "2026-11-30T12:30:00Z".to_owned(),
        digest: "sha256:ef".to_owned(),
    }
}

/// A call that ran.
pub(crate) fn done(number: u64, tool: &str, arguments: serde_json::Value) -> Vec<Step> {
    let result = ResultFacts { duration_ms: 1.5, summary: "12 lines".to_owned(), ..ResultFacts::default() };
    vec![
        tell(Body::CallGenerating { of: of(number, tool) }),
        tell(Body::CallGenerated { of: of(number, tool), arguments }),
        tell(Body::CallDecided {
            of: of(number, tool),
            verdict: Verdict::Allow,
            decided_by: DecidedBy::Automation(RuleId::new("default.read")),
            rule: RuleId::new("default.read"),
            reason: String::new(),
            pieces: Vec::new(),
            shadow: Vec::new(),
        }),
        tell(Body::CallCalling { of: of(number, tool) }),
        tell(Body::CallDone { of: of(number, tool), result }),
    ]
}

/// A call that was refused.
pub(crate) fn refused(number: u64) -> Vec<Step> {
    vec![
        tell(Body::CallGenerated {
            of: of(number, "bash"),
            arguments: serde_json::json!({"command": "sudo ls"}),
        }),
        tell(Body::CallDecided {
            of: of(number, "bash"),
            verdict: Verdict::Disabled,
            decided_by: DecidedBy::Automation(RuleId::new("command.refused.privilege")),
            rule: RuleId::new("command.refused.privilege"),
            reason: "privilege elevation is refused".to_owned(),
            pieces: Vec::new(),
            shadow: Vec::new(),
        }),
        tell(Body::CallCanceled {
            of: of(number, "bash"),
            reason: "unavailable under the governance policy".to_owned(),
        }),
    ]
}

/// A change set for review.
pub(crate) fn changes() -> Body {
    Body::ChangeSet {
        files: files(),
        insertions: 2,
        deletions: 1,
        flagged: 1,
        digest: "sha256:cd".to_owned(),
    }
}

/// A prompt, and what was made of it; a name that a terminal must not take as it is.
pub(crate) fn lineage_items() -> Vec<Item> {
    let item = |number: u32, kind: Kind, name: &str| {
        let id = LineageId::parse(&format!("lin_01_{number}")).unwrap();
        let made = |before: LineageId| Transformation {
            kind: "answered".to_owned(),
            description: "by the model".to_owned(),
            timestamp: Moment(0),
            input_lineage_ids: vec![before],
            agent_id: "script:x".to_owned(),
        };
        Item {
            record: Record {
                content_hash: Digest::new(format!("hmac-sha256:{number:064x}")),
                origin: Origin {
                    source_type: SourceType::Person,
                    source_name: name.to_owned(),
                    record_id: None,
                    record_type: Some(kind.as_str().to_owned()),
                    accessed_at: Moment(0),
                    accessed_by: "ada".to_owned(),
                    access_method: "prompt".to_owned(),
                },
                classification: Classification {
                    level: Level::Internal,
                    provenance: Provenance::Untrusted,
                    reason: "project".to_owned(),
                    assigned_at: Moment(0),
                    can_be_downgraded: true,
                },
                transformations: id.before().map(made).into_iter().collect(),
                current_location: None,
                lineage_id: id,
            },
            kind,
            witness: None,
            downgrade_rule: None,
        }
    };
    vec![item(1, Kind::Prompt, "ada\u{1b}[2J"), item(2, Kind::LlmOutput, "script:x")]
}
