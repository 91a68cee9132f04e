//! The policy lab: examples told one by one, tables of expectations, the difference of two policies.

use enclos_core::policy::{
    Difference, Direction, Layer, Policy, Preset, Role, Scope, Seen, Surface, cases_at, read_cases,
};
use enclos_core::verdict::Verdict;
use serde_json::json;

fn layer(scope: Scope, text: &str) -> Layer<'_> {
    Layer { scope, source: format!("{scope}.toml"), text }
}

fn project(text: &str) -> Policy {
    Policy::load(&[layer(Scope::Project, text)]).unwrap()
}

fn difference(old: &str, new: &str) -> Difference {
    project(old).difference(&project(new))
}

#[test]
fn every_example_is_told_with_what_it_collides_with() {
    let text = "name = \"p\"\n\
                [[rule]]\nid = \"docs\"\ntool = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"docs/\" }]\n\
                verdict = \"allow\"\nmatch = [{ args = { path = \"docs/a\" } }, { args = { path = \"src/a\" } }]\n\
                [[rule]]\nid = \"all\"\ntool = \"write\"\nverdict = \"ask\"\nnot_match = [{ args = { path = \"x\" } }]\n\
                [[rule]]\nid = \"make\"\ncommand = [\"make\"]\nverdict = \"allow\"\nmatch = [\"make all\", \"echo make\"]\n";
    assert!(Policy::load(&[layer(Scope::Project, text)]).is_err());
    let held = Policy::load_to_test(&[layer(Scope::Project, text)]).unwrap().examples_held();
    let told: Vec<(&str, &str, bool, bool, &str)> = held
        .iter()
        .map(|one| (one.rule.as_str(), one.example.as_str(), one.wanted, one.passed, one.decided_by.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("docs", r#"`write` with `{"path":"docs/a"}`"#, true, true, "docs"),
            ("docs", r#"`write` with `{"path":"src/a"}`"#, true, false, "all"),
            ("all", r#"`write` with `{"path":"x"}`"#, false, false, "all"),
            ("make", "`make all`", true, true, "make"),
            ("make", "`echo make`", true, false, "default.bash"),
        ]
    );
    assert_eq!(held[1].line, 2);
    assert_eq!(held[1].verdict, Verdict::Ask);
}

#[test]
fn collisions_are_told_as_the_errors_that_refuse_the_policy() {
    let above = "name = \"i\"\n[[rule]]\nid = \"no\"\ntool = \"bash\"\nverdict = \"disabled\"\n";
    let below = "name = \"p\"\n[[rule]]\nid = \"a\"\ntool = \"bash\"\nverdict = \"allow\"\n\
                 [[rule]]\nid = \"b\"\ncommand = [\"ls\"]\nverdict = \"ask\"\n";
    let layers = [layer(Scope::Instance, above), layer(Scope::Project, below)];
    let told: Vec<String> =
        Policy::load_to_test(&layers).unwrap().collisions().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], Policy::load(&layers).unwrap_err().to_string());
    assert!(told[1].contains("project.toml:6") && told[1].contains("`no` of the instance"), "{}", told[1]);
}

#[test]
fn a_table_of_expectations_is_held_row_by_row() {
    let table = "[[case]]\ncommand = \"cargo test\"\nverdict = \"ask\"\nrule = \"strict.bash\"\n\
                 [[case]]\ntool = \"write\"\nargs = { path = \"a\" }\nverdict = \"allow\"\n\
                 [[case]]\ntool = \"read\"\nrole = [\"reader\", \"owner\"]\nsurface = [\"ide\", \"web\"]\nverdict = \"allow\"\n";
    let cases = read_cases("t.cases.toml", table).unwrap();
    assert_eq!(cases.len(), 6);
    assert_eq!((cases[0].line, cases[1].line, cases[2].line), (1, 5, 9));
    assert_eq!((cases[2].role, cases[2].surface), (Role::Reader, Surface::Ide));
    let strict = project(Preset::Strict.text());
    let passed: Vec<bool> = cases.iter().map(|case| case.passed(&strict.judge_case(case))).collect();
    assert_eq!(passed, [true, false, true, true, true, true]);
    let balanced = project(Preset::Balanced.text());
    let passed: Vec<bool> = cases.iter().map(|case| case.passed(&balanced.judge_case(case))).collect();
    assert_eq!(passed, [false, true, true, true, true, true]);
}

#[test]
fn a_row_that_is_not_understood_is_refused_with_its_line() {
    for (table, words) in [
        ("[[case]]\nverdict = \"ask\"\n", "t:1: the case names no call"),
        ("[[case]]\ntool = \"wirte\"\nverdict = \"ask\"\n", "did you mean `write`?"),
        ("[[case]]\ntool = \"*\"\nverdict = \"ask\"\n", "`*` names none"),
        ("[[case]]\ntool = \"bash\"\ncommand = \"ls\"\nverdict = \"ask\"\n", "beside `tool` or `args`"),
        ("\n[[case]]\ncommand = \"ls\"\nverdict = \"alow\"\n", "t:4: unknown variant `alow`"),
        ("[[case]]\ncommand = \"ls\"\nverdict = \"ask\"\nroles = \"owner\"\n", "did you mean `role`?"),
        ("[[case]]\ncommand = \"ls\"\n", "missing field `verdict`"),
        ("", "missing field `case`"),
        (
            "\n[[case]]\ntool = \"write\"\nargs = { pth = \"a\" }\nverdict = \"ask\"\n",
            "t:2: the case of `write`: the arguments do not fit the tool: at `/pth` found `pth`, expected no such field",
        ),
        ("[[case]]\ntool = \"write\"\nargs = { pth = \"a\" }\nverdict = \"ask\"\n", "did you mean `path`?"),
        ("[[case]]\ntool = \"write\"\nargs = { path = 1 }\nverdict = \"ask\"\n", "at `/path` found `1`"),
    ] {
        let error = read_cases("t", table).unwrap_err().to_string();
        assert!(error.contains(words), "{table}\n{error}");
    }
}

#[test]
fn the_same_rules_in_other_words_are_no_difference() {
    let old = "name = \"p\"\n# a remark\n[[rule]]\ntool = \"read\"\nverdict = \"allow\"\n\
               [[rule]]\ntool = [\"write\"]\nverdict = \"allowedWithPermission\"\n";
    let new = "name = \"p\"\nversion = 9\n[[rule]]\ntool = \"write\"\nverdict = \"ask\"\nmatch = [{}]\n\
               [[rule]]\ntool = \"read\"\nverdict = \"allow\"\n[commands]\ncontained = \"ask\"\n";
    assert!(difference(old, new).is_empty());
}

#[test]
fn rules_settings_and_answers_that_change_are_told() {
    let old = "name = \"p\"\n[[rule]]\nid = \"w\"\ntool = \"write\"\nverdict = \"ask\"\napprove = { quorum = 2 }\n\
               [[rule]]\nid = \"gone\"\ntool = \"s/put\"\nverdict = \"disabled\"\n\
               [execution]\nsession_max_actions = 50\n[approvals]\nexpiry_minutes = 10\n";
    let new = "name = \"p\"\n[[rule]]\nid = \"w\"\ntool = \"write\"\nverdict = \"ask\"\napprove = { remember = true }\n\
               [[rule]]\nid = \"test\"\ncommand = [\"cargo\", \"test\"]\nsurface = \"terminal\"\nverdict = \"allow\"\n\
               [execution]\nsession_max_actions = 20\n[caches]\nmount = [\"npm\"]\n";
    let told = difference(old, new);
    let rules: Vec<(&str, bool, bool, Vec<&str>)> = told
        .rules
        .iter()
        .map(|change| {
            let fields = change.fields.iter().map(String::as_str).collect();
            (change.rule.as_str(), change.before.is_some(), change.after.is_some(), fields)
        })
        .collect();
    assert_eq!(
        rules,
        [("w", true, true, vec!["approve"]), ("gone", true, false, vec![]), ("test", false, true, vec![]),]
    );
    let settings: Vec<_> = told
        .settings
        .iter()
        .map(|one| (one.key.as_str(), one.before.clone(), one.after.clone(), one.direction))
        .collect();
    assert_eq!(
        settings,
        [
            ("execution.session_max_actions", json!(50), json!(20), Direction::Harder),
            ("approvals.expiry_minutes", json!(10), json!(30), Direction::Softer),
            ("caches.mount", json!("none"), json!(["npm"]), Direction::Softer),
        ]
    );
    let write = told.cells.iter().find(|cell| cell.name == "write" && cell.seen == Seen::Tool).unwrap();
    assert_eq!((write.before.quorum, write.after.quorum, write.direction), (2, 1, Direction::Softer));
    assert_eq!((write.places[0].roles.len(), write.places[0].surfaces.len()), (4, 6));
    let test = told.cells.iter().find(|cell| cell.seen == Seen::Command).unwrap();
    assert_eq!(
        (test.name.as_str(), test.before.verdict, test.after.verdict),
        ("cargo test", Verdict::Ask, Verdict::Allow)
    );
    assert_eq!(
        (test.places[0].roles.len(), test.places[0].surfaces.as_slice()),
        (4, &[Surface::Terminal][..])
    );
    let put: Vec<_> = told.cells.iter().filter(|cell| cell.name.starts_with("s/put")).collect();
    assert!(!put.is_empty() && put.iter().all(|cell| cell.direction == Direction::Softer));
}

#[test]
fn a_difference_and_its_reverse_mirror_each_other() {
    for (a, b) in
        [(Preset::Strict, Preset::Balanced), (Preset::Balanced, Preset::Open), (Preset::Strict, Preset::Open)]
    {
        let (there, back) = (difference(a.text(), b.text()), difference(b.text(), a.text()));
        assert_eq!(there.cells.len(), back.cells.len());
        assert!(there.cells.iter().all(|cell| cell.direction == Direction::Softer), "{a} → {b}");
        assert!(back.cells.iter().all(|cell| cell.direction == Direction::Harder), "{b} → {a}");
        assert_eq!(there.rules.len(), back.rules.len());
        assert_eq!(there.settings.len(), back.settings.len());
    }
}

fn call_cells(difference: &Difference) -> Vec<(&str, Direction)> {
    let told = difference.cells.iter().filter(|cell| matches!(cell.seen, Seen::Call | Seen::Command));
    told.map(|cell| (cell.name.as_str(), cell.direction)).collect()
}

#[test]
fn what_rules_on_arguments_say_otherwise_is_told_by_a_call_each() {
    let rule = |when: &str, verdict: &str| {
        format!(
            "name = \"p\"\n[[rule]]\nid = \"ci\"\ntool = \"write\"\nwhen = [{when}]\nverdict = \"{verdict}\"\n"
        )
    };
    for (when, call) in [
        ("{ pointer = \"/path\", equals = \"ci.yml\" }", r#"write {"path":"ci.yml"}"#),
        ("{ pointer = \"/path\", in = [\"a\", \"b\"] }", r#"write {"path":"b"}"#),
        ("{ pointer = \"/path\", prefix = \"src/\" }", r#"write {"path":"src/name"}"#),
        ("{ pointer = \"/path\", glob = \".github/**/*.yml\" }", r#"write {"path":".github/name/name.yml"}"#),
    ] {
        let difference = difference(&rule(when, "disabled"), &rule(when, "allow"));
        assert!(call_cells(&difference).contains(&(call, Direction::Softer)), "{when}: {difference:#?}");
        assert_eq!(difference.notes, [""; 0], "{when}");
    }
}

#[test]
fn a_regex_is_compared_by_its_examples_and_else_by_eye() {
    let rule = |examples: &str, verdict: &str| {
        format!(
            "name = \"p\"\n[[rule]]\nid = \"ci\"\ntool = \"edit\"\nverdict = \"{verdict}\"\n{examples}\
             when = [{{ pointer = \"/path\", regex = \"[a-z]+[.]yml\" }}]\n"
        )
    };
    let shown = "match = [{ args = { path = \"ci.yml\" } }]\n";
    let difference = |examples| difference(&rule(examples, "disabled"), &rule(examples, "ask"));
    let with = difference(shown);
    assert_eq!(call_cells(&with), [(r#"edit {"path":"ci.yml"}"#, Direction::Softer)]);
    assert_eq!(with.notes, [""; 0]);
    let without = difference("");
    assert_eq!(call_cells(&without), []);
    assert_eq!(without.notes, ["the rule `ci` has a regex and no example: compare by eye"]);
}

#[test]
fn examples_of_a_command_rule_are_compared_too() {
    let rules = |more: &str| {
        format!(
            "name = \"p\"\n[[rule]]\nid = \"make\"\ncommand = [\"make\"]\nverdict = \"ask\"\n\
             match = [\"make deploy\"]\n{more}"
        )
    };
    let more = "[[rule]]\nid = \"free\"\ntool = \"bash\"\nverdict = \"disabled\"\n";
    let told = difference(&rules(""), &rules(more));
    assert!(call_cells(&told).contains(&("make deploy", Direction::Harder)), "{told:#?}");
}

#[test]
fn a_scope_that_was_only_named_otherwise_is_no_difference() {
    let text = "name = \"p\"\n[[rule]]\nid = \"a\"\ntool = \"write\"\nverdict = \"ask\"\n";
    let instance = Policy::load(&[layer(Scope::Instance, text)]).unwrap();
    assert_eq!(instance.difference(&project(text)).rules.len(), 1);
    assert!(instance.difference_without_scopes(&project(text)).is_empty());
    let tight = "[[rule]]\nid = \"a\"\ntool = \"write\"\nverdict = \"ask\"\n";
    let repository = Policy::load(&[layer(Scope::Repository, tight)]).unwrap();
    let told = instance.difference_without_scopes(&repository);
    assert_eq!(told.rules[0].fields, ["scope"], "{told:#?}");
}

#[test]
fn a_table_of_expectations_is_known_by_its_rows() {
    assert_eq!(cases_at("\n[[case]]\ncommand = \"ls\"\nverdict = \"ask\"\n"), Some(2));
    assert_eq!(cases_at("case = 3\n"), Some(0));
    assert_eq!((cases_at("name = \"p\"\n"), cases_at("[[case]")), (None, None));
}
