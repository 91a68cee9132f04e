//! Role × category × surface × scope, compared with a table that people read.
//!
//! The presets in a project; an instance alone; and rules below it in every scope that may have them.
//! `tests/data/policy/matrix.txt`: one line a policy, tool and role; the answers for the surfaces in their order.
//! A changed answer is written into the table by hand.

use std::fmt::Write as _;

use enclos_core::policy::{Caller, Category, Layer, Policy, Preset, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;

fn data(name: &str) -> String {
    let path = format!("{}/../../tests/data/policy/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn policies() -> Vec<(&'static str, Policy)> {
    let preset = |preset: Preset| {
        let layer = Layer { scope: Scope::Project, source: preset.to_string(), text: preset.text() };
        Policy::load(&[layer]).unwrap()
    };
    let (instance, project) = (data("instance.toml"), data("project.toml"));
    let repository = data("repository.toml");
    let layer = |scope, text| Layer { scope, source: scope.to_string(), text };
    let below = |scope: Scope| {
        let text = if scope == Scope::Repository { &repository } else { &project };
        Policy::load_standing(&[layer(Scope::Instance, &instance), layer(scope, text)]).unwrap()
    };
    vec![
        ("defaults", Policy::load(&[]).unwrap()),
        ("strict", preset(Preset::Strict)),
        ("balanced", preset(Preset::Balanced)),
        ("open", preset(Preset::Open)),
        ("instance", Policy::load(&[layer(Scope::Instance, &instance)]).unwrap()),
        ("group", below(Scope::Group)),
        ("project", below(Scope::Project)),
        ("repository", below(Scope::Repository)),
        ("session", below(Scope::Session)),
    ]
}

fn tools() -> Vec<Tool<'static>> {
    let built_in = ["read", "grep", "todo", "write", "edit", "delegate", "delete", "bash"].map(Tool::named);
    let of_servers = [
        Tool::classed("tracker/search", Category::Read, true),
        Tool::classed("tracker/close", Category::Write, true),
        Tool::classed("local/list", Category::Read, false),
        Tool::classed("local/drop", Category::Delete, false),
        Tool::classed("forge/merge", Category::Write, true).publishing(),
        Tool::classed("fetch", Category::Read, true),
        Tool::named("nobody"),
        Tool::named("nobody/knows"),
    ];
    built_in.into_iter().chain(of_servers).collect()
}

#[test]
fn every_answer_is_the_one_in_the_table() {
    let mut table = String::new();
    for (name, policy) in policies() {
        for tool in tools() {
            for role in Role::ALL {
                write!(table, "{name:<10} {:<15} {role:<11}", tool.name()).unwrap();
                for surface in Surface::ALL {
                    let caller = Caller { tool: &tool, role, surface };
                    let decision = policy.judge_tool(&caller);
                    assert_eq!(policy.visible(&caller), decision.verdict != Verdict::Disabled);
                    write!(table, "{:<9}", decision.verdict).unwrap();
                }
                table.truncate(table.trim_end().len());
                table.push('\n');
            }
        }
    }
    let expected = data("matrix.txt");
    let wanted: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    let found: Vec<&str> = table.lines().collect();

    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted);
    }
    assert_eq!(found.len(), wanted.len(), "the table has as many lines as there are answers");
}
