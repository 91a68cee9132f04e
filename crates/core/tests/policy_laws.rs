//! Laws that hold for every policy and every call.

use enclos_core::args::{Schema, parse, validate};
use enclos_core::policy::{Caller, Category, Layer, Policy, Request, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;
use proptest::prelude::*;
use serde_json::json;

const TOOLS: [(&str, Category, bool); 8] = [
    ("read", Category::Read, false),
    ("write", Category::Write, false),
    ("edit", Category::Write, false),
    ("delete", Category::Delete, false),
    ("s/get", Category::Read, true),
    ("s/put", Category::Write, true),
    ("t/put", Category::Write, false),
    ("nobody", Category::Delete, true),
];

fn rule() -> impl Strategy<Value = String> {
    let subject = prop::sample::select(vec![
        "tool = \"*\"",
        "tool = \"read\"",
        "tool = [\"write\", \"edit\"]",
        "tool = \"s/*\"",
        "tool = \"s/put\"",
        "server = \"*\"",
        "server = \"t\"",
        "category = \"read\"",
        "category = \"write\"",
        "category = \"egress\"",
        "category = [\"write\", \"delete\"]",
        "category = \"egress\"\nserver = \"s\"",
    ]);
    let role = prop::sample::select(vec!["", "role = \"developer\"", "role = [\"reader\", \"owner\"]"]);
    let surface = prop::sample::select(vec!["", "", "surface = \"mcp\""]);
    let when = prop::sample::select(vec![
        "",
        "",
        "when = [{ pointer = \"/path\", prefix = \"src/\" }]",
        "when = [{ pointer = \"/path\", glob = \"*\" }]",
    ]);
    let verdict = prop::sample::select(vec!["allow", "ask", "disabled"]);
    let shadow = prop::sample::select(vec!["", "", "", "shadow = true"]);
    (subject, role, surface, when, verdict, shadow).prop_map(
        |(subject, role, surface, when, verdict, shadow)| {
            format!("[[rule]]\n{subject}\n{role}\n{surface}\n{when}\nverdict = \"{verdict}\"\n{shadow}\n")
        },
    )
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(), 0..6).prop_map(|rules| format!("name = \"p\"\n{}", rules.concat()))
}

fn load(layers: &[(Scope, &str)]) -> Policy {
    let layer = |(scope, text): &(Scope, &'_ str)| (*scope, (*text).to_owned());
    let owned: Vec<(Scope, String)> = layers.iter().map(layer).collect();
    let layers: Vec<Layer<'_>> =
        owned.iter().map(|(scope, text)| Layer { scope: *scope, source: scope.to_string(), text }).collect();
    Policy::load_standing(&layers).unwrap()
}

/// The answers to a sample of calls, in a fixed order, and whether each tool is visible.
fn answers(policy: &Policy) -> Vec<(Verdict, bool, bool)> {
    let open = Schema::new(&json!({"type": "object", "additionalProperties": true})).unwrap();
    let all = ["{}", r#"{"path": "src/a"}"#, r#"{"path": "b"}"#]
        .map(|text| validate(parse(text).unwrap(), &open).unwrap());
    let mut out = Vec::new();
    for (name, category, egress) in TOOLS {
        let tool = if name == "nobody" { Tool::named(name) } else { Tool::classed(name, category, egress) };
        for role in [Role::Reader, Role::Developer] {
            for surface in [Surface::Terminal, Surface::Mcp] {
                let caller = Caller { tool: &tool, role, surface };
                for args in &all {
                    let decision = policy.judge(&Request { caller, args });
                    out.push((
                        decision.verdict,
                        policy.visible(&caller),
                        decision.rule.as_str().starts_with("default."),
                    ));
                }
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_lower_scope_never_loosens(above in text(), below in text()) {
        for lower in [Scope::Group, Scope::Project, Scope::Session] {
            let alone = answers(&load(&[(Scope::Instance, &above)]));
            let joined = answers(&load(&[(Scope::Instance, &above), (lower, &below)]));
            for (alone, joined) in alone.iter().zip(&joined) {
                let silent = alone.2 && lower != Scope::Session;
                prop_assert!(joined.0 >= alone.0 || silent, "{above}\n-- below --\n{below}");
            }
        }
    }

    #[test]
    fn a_session_and_a_repository_never_loosen_the_matrix(below in text()) {
        let matrix = answers(&load(&[]));
        let session = answers(&load(&[(Scope::Session, &below)]));
        prop_assert!(matrix.iter().zip(&session).all(|(matrix, session)| session.0 >= matrix.0));
    }

    #[test]
    fn a_policy_that_loads_says_what_it_would_say_as_a_standing_one(above in text(), below in text()) {
        let layers = [(Scope::Instance, above.as_str()), (Scope::Project, below.as_str())];
        let standing = load(&layers);
        let texts: Vec<Layer<'_>> = layers.iter().map(|(scope, text)| Layer { scope: *scope, source: scope.to_string(), text }).collect();
        match Policy::load(&texts) {
            Ok(policy) => {
                prop_assert!(policy.overruled().is_empty());
                prop_assert_eq!(answers(&policy), answers(&standing));
            }
            Err(_) => prop_assert!(!standing.overruled().is_empty()),
        }
    }

    #[test]
    fn an_overruled_rule_changes_no_answer(above in text(), below in rule()) {
        let below = format!("name = \"p\"\n{below}");
        let joined = load(&[(Scope::Instance, &above), (Scope::Session, &below)]);
        if !joined.overruled().is_empty() {
            let strip = |all: Vec<(Verdict, bool, bool)>| all.into_iter().map(|(verdict, visible, _)| (verdict, visible)).collect::<Vec<_>>();
            prop_assert_eq!(strip(answers(&joined)), strip(answers(&load(&[(Scope::Instance, &above)]))));
        }
    }

    #[test]
    fn what_is_invisible_is_disabled_whatever_the_arguments(text in text()) {
        for (verdict, visible, _) in answers(&load(&[(Scope::Project, &text)])) {
            prop_assert!(visible || verdict == Verdict::Disabled);
        }
    }

    #[test]
    fn no_text_panics_the_loader(text in ".{0,200}") {
        for scope in [Scope::Instance, Scope::Repository] {
            let _ = Policy::load(&[Layer { scope, source: "p".to_owned(), text: &text }]);
        }
    }
}
