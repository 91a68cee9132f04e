//! The loader of policies: never panics, answers the same whichever way it loads, and a lower scope never loosens.

use enclos_core::args::{Args, Schema, parse, validate};
use enclos_core::policy::{Caller, Layer, Policy, Request, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;
use serde_json::json;

const CALLS: [(&str, &str); 6] = [
    ("bash", r#"{"command": "cargo test > out"}"#),
    ("bash", r#"{"command": "ls"}"#),
    ("bash", r#"{"command": "sudo id"}"#),
    ("write", r#"{"path": "src/a", "content": ""}"#),
    ("read", r#"{"path": "b"}"#),
    ("tracker/close", r#"{"id": 5}"#),
];

/// Holds what must be true of `text` as a policy; a line `---` begins a lower layer.
pub fn check(text: &str) {
    let mut parts = text.splitn(2, "\n---\n");
    let above = parts.next().unwrap_or_default();
    for scope in [Scope::Instance, Scope::Group, Scope::Project, Scope::Repository, Scope::Session] {
        load(&[(scope, above)]);
    }
    let (Some(below), Some(alone)) = (parts.next(), load(&[(Scope::Instance, above)])) else { return };
    let base = answers(&alone);
    for scope in [Scope::Repository, Scope::Session] {
        if let Some(joined) = load(&[(Scope::Instance, above), (scope, below)]) {
            let held = base.iter().zip(answers(&joined)).all(|(alone, joined)| *alone <= joined);
            assert!(held, "the {scope} loosened the instance");
        }
    }
}

/// Loads the layers in both ways, which must agree; whether they load at all.
fn load(layers: &[(Scope, &str)]) -> Option<Policy> {
    let layers: Vec<Layer<'_>> =
        layers.iter().map(|(scope, text)| Layer { scope: *scope, source: scope.to_string(), text }).collect();
    let strict = Policy::load(&layers).ok()?;
    let standing = Policy::load_standing(&layers).expect("what loads anew loads as a standing policy");
    assert_eq!(strict.digest(), standing.digest());
    assert!(strict.overruled().is_empty());
    assert_eq!(answers(&strict), answers(&standing));
    Some(strict)
}

fn answers(policy: &Policy) -> Vec<Verdict> {
    let open = Schema::new(&json!({"type": "object", "additionalProperties": true})).expect("well formed");
    let args = |text: &str| -> Args { validate(parse(text).expect("JSON"), &open).expect("fits") };
    let calls: Vec<(&str, Args)> = CALLS.iter().map(|(tool, text)| (*tool, args(text))).collect();
    let mut found = Vec::new();
    for role in [Role::Reader, Role::Owner] {
        for (name, args) in &calls {
            let tool = Tool::named(name);
            let caller = Caller { tool: &tool, role, surface: Surface::Terminal };
            let decision = policy.judge(&Request { caller, args });
            assert!(policy.visible(&caller) || decision.verdict == Verdict::Disabled);
            found.push(decision.verdict);
        }
    }
    found
}
