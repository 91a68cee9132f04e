//! Answers to calls: who wins, what hardens, what fails closed, what travels with an answer.

use enclos_core::args::{Args, Schema, parse, validate};
use enclos_core::policy::{
    Caller, Category, Decision, Layer, Policy, Request, Role, Scope, Surface, Tool, Why,
};
use enclos_core::verdict::Verdict::{self, Allow, Ask, Disabled};
use serde_json::{Value, json};

fn policy(layers: &[(Scope, &str)]) -> Policy {
    let texts: Vec<String> =
        layers.iter().enumerate().map(|(n, (scope, rules))| named(*scope, n, rules)).collect();
    let layer = |((scope, _), text): (&(Scope, &str), &'_ String)| (*scope, text.clone());
    let owned: Vec<(Scope, String)> = layers.iter().zip(&texts).map(layer).collect();
    let layers: Vec<Layer<'_>> = owned
        .iter()
        .map(|(scope, text)| Layer { scope: *scope, source: format!("{scope}.toml"), text })
        .collect();
    Policy::load_standing(&layers).unwrap()
}

fn named(scope: Scope, number: usize, rules: &str) -> String {
    if scope == Scope::Repository { rules.to_owned() } else { format!("name = \"{scope}{number}\"\n{rules}") }
}

fn args(value: &Value) -> Args {
    let open = Schema::new(&json!({"type": "object", "additionalProperties": true})).unwrap();
    validate(parse(&value.to_string()).unwrap(), &open).unwrap()
}

fn judge(policy: &Policy, tool: &Tool<'_>, value: &Value) -> Decision {
    let caller = Caller { tool, role: Role::Developer, surface: Surface::Terminal };
    policy.judge(&Request { caller, args: &args(value) })
}

fn verdict(policy: &Policy, tool: &str, value: &Value) -> Verdict {
    judge(policy, &Tool::named(tool), value).verdict
}

#[test]
fn in_one_scope_the_most_specific_rule_decides_and_of_equals_the_stricter() {
    let policy = policy(&[(
        Scope::Project,
        r#"
        [[rule]]
        category = "write"
        verdict = "allow"
        [[rule]]
        tool = "write"
        verdict = "ask"
        [[rule]]
        tool = "write"
        when = [{ pointer = "/path", prefix = "docs/" }]
        verdict = "allow"
        [[rule]]
        tool = "write"
        when = [{ pointer = "/path", glob = "**/*.key" }]
        verdict = "disabled"
        "#,
    )]);
    assert_eq!(verdict(&policy, "edit", &json!({"path": "a"})), Allow);
    assert_eq!(verdict(&policy, "write", &json!({"path": "a"})), Ask);
    assert_eq!(verdict(&policy, "write", &json!({"path": "docs/a"})), Allow);
    assert_eq!(verdict(&policy, "write", &json!({"path": "docs/../a"})), Ask);
    assert_eq!(verdict(&policy, "write", &json!({"path": "/workspace/docs/a"})), Allow);
    assert_eq!(verdict(&policy, "write", &json!({"path": "docs/a.key"})), Disabled);
    assert_eq!(verdict(&policy, "write", &json!({"path": "./docs//x/../b.key"})), Disabled);
}

#[test]
fn a_role_is_exact_and_more_specific_than_none() {
    let policy = policy(&[(
        Scope::Project,
        "[[rule]]\ntool = \"edit\"\nverdict = \"disabled\"\n\
         [[rule]]\ntool = \"edit\"\nrole = \"developer\"\nverdict = \"ask\"\n",
    )]);
    let tool = Tool::named("edit");
    let of = |role| policy.judge_tool(&Caller { tool: &tool, role, surface: Surface::Web }).verdict;
    assert_eq!([Role::Reader, Role::Developer, Role::Owner].map(of), [Disabled, Ask, Disabled]);
}

#[test]
fn harmless_arguments_do_not_reopen_a_disabled_tool() {
    let policy = policy(&[(
        Scope::Project,
        "[[rule]]\ntool = \"read\"\nverdict = \"disabled\"\n\
         [[rule]]\ntool = \"read\"\nwhen = [{ pointer = \"/path\", equals = \"README.md\" }]\nverdict = \"allow\"\n",
    )]);
    let decision = judge(&policy, &Tool::named("read"), &json!({"path": "README.md"}));
    assert_eq!(decision.verdict, Disabled);
    assert!(decision.invisible);
    assert_eq!(decision.for_model(), "this tool is unavailable under the governance policy");
    assert_eq!(decision.rule.as_str(), "project0.1");
}

#[test]
fn the_highest_scope_that_speaks_replaces_the_matrix_and_lower_ones_tighten() {
    let write = |verdict: &str| format!("[[rule]]\ntool = \"write\"\nverdict = \"{verdict}\"\n");
    let [allow, ask, disabled] = ["allow", "ask", "disabled"].map(write);
    let at = |layers: &[(Scope, &str)]| verdict(&policy(layers), "write", &json!({"path": "a"}));
    assert_eq!(at(&[]), Ask);
    assert_eq!(at(&[(Scope::Instance, &allow)]), Allow);
    assert_eq!(at(&[(Scope::Project, &allow)]), Allow);
    assert_eq!(at(&[(Scope::Instance, &ask), (Scope::Project, &allow)]), Ask);
    assert_eq!(at(&[(Scope::Instance, &allow), (Scope::Group, &ask), (Scope::Group, &allow)]), Ask);
    assert_eq!(at(&[(Scope::Instance, &allow), (Scope::Session, &disabled)]), Disabled);
    assert_eq!(at(&[(Scope::Session, &allow)]), Ask, "a session cannot replace the matrix");
    assert_eq!(at(&[(Scope::Project, &allow), (Scope::Repository, &ask)]), Ask);
    assert_eq!(at(&[(Scope::Repository, &disabled)]), Disabled);
}

#[test]
fn a_rule_left_looser_by_a_higher_scope_counts_no_more_and_is_shown() {
    let policy = policy(&[
        (Scope::Instance, "[[rule]]\ncategory = \"write\"\nverdict = \"disabled\"\n"),
        (
            Scope::Project,
            "[[rule]]\ntool = \"edit\"\nverdict = \"ask\"\n[[rule]]\ntool = \"list\"\nverdict = \"ask\"\n",
        ),
    ]);
    let [overruled] = policy.overruled() else { panic!("{:?}", policy.overruled()) };
    assert_eq!((overruled.rule.as_str(), overruled.by.as_str()), ("project1.1", "instance0.1"));
    assert_eq!(overruled.by_scope, Scope::Instance);
}

#[test]
fn egress_is_judged_beside_what_the_tool_does() {
    let send = Tool::classed("mail/send", Category::Write, true);
    let of = |rules: &str| judge(&policy(&[(Scope::Project, rules)]), &send, &json!({})).verdict;
    assert_eq!(of("[[rule]]\ncategory = \"write\"\nverdict = \"allow\"\n"), Ask);
    assert_eq!(of("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n"), Ask, "`*` does not open what leaves");
    assert_eq!(
        of("[[rule]]\ncategory = \"egress\"\nverdict = \"allow\"\n"),
        Ask,
        "nor does egress open writing"
    );
    assert_eq!(of("[[rule]]\ncategory = [\"write\", \"egress\"]\nverdict = \"allow\"\n"), Allow);
    assert_eq!(of("[[rule]]\nserver = \"mail\"\nverdict = \"allow\"\n"), Allow);
    assert_eq!(of("[[rule]]\ntool = \"mail/*\"\nverdict = \"allow\"\n"), Allow);
    assert_eq!(of("[[rule]]\ntool = \"*\"\nverdict = \"disabled\"\n"), Disabled);
}

#[test]
fn a_tool_that_publishes_opens_by_its_name_alone() {
    let merge = Tool::classed("forge/merge", Category::Write, true).publishing();
    let of = |rules: &str| judge(&policy(&[(Scope::Instance, rules)]), &merge, &json!({})).verdict;
    assert_eq!(of(""), Disabled);
    assert_eq!(of("[[rule]]\nserver = \"forge\"\nverdict = \"allow\"\n"), Disabled);
    assert_eq!(of("[[rule]]\ntool = \"forge/*\"\nverdict = \"ask\"\n"), Disabled);
    assert_eq!(of("[[rule]]\ntool = \"forge/merge\"\nverdict = \"ask\"\n"), Ask);
}

#[test]
fn a_tool_of_enclos_keeps_its_class_whatever_a_server_says() {
    let posed = Tool::classed("delete", Category::Read, false);
    assert_eq!(judge(&policy(&[]), &posed, &json!({"path": "a"})).verdict, Ask);
    let shell = Tool::classed("x/run", Category::Bash, false);
    assert_eq!((shell.category(), shell.egress()), (Category::Delete, true));
}

#[test]
fn what_cannot_be_compared_is_disabled() {
    let policy = policy(&[(
        Scope::Project,
        "[[rule]]\ntool = \"edit\"\nverdict = \"allow\"\n\
         [[rule]]\ntool = \"edit\"\nwhen = [{ pointer = \"/path\", prefix = \"src/\" }]\nverdict = \"ask\"\n",
    )]);
    let decision = judge(&policy, &Tool::named("edit"), &json!({"path": ["src/a"]}));
    assert_eq!((decision.verdict, decision.rule.as_str()), (Disabled, "evaluation.failed"));
    assert_eq!(
        judge(&policy, &Tool::named("edit"), &json!({})).verdict,
        Allow,
        "a missing value meets no condition"
    );
    let bash = judge(&policy, &Tool::named("bash"), &json!({"command": {"a": "ls"}}));
    assert_eq!((bash.verdict, bash.rule.as_str()), (Disabled, "evaluation.failed"));
    assert_eq!(verdict(&policy, "bash", &json!({})), Disabled);
}

#[test]
fn conditions_compare_whole_values() {
    let with = |condition: &str, value: Value| {
        let rule = format!("[[rule]]\ntool = \"files/put\"\nwhen = [{condition}]\nverdict = \"disabled\"\n");
        verdict(&policy(&[(Scope::Project, &rule)]), "files/put", &value) == Disabled
    };
    let regex = r#"{ pointer = "/path", regex = "src/.*[.]rs" }"#;
    assert!(with(regex, json!({"path": "src/a.rs"})));
    assert!(!with(regex, json!({"path": "src/a.rs.txt"})) && !with(regex, json!({"path": "x/src/a.rs"})));
    assert!(with(regex, json!({"path": "src/a\nb.rs"})), "a new line is a character like others");
    let glob = r#"{ pointer = "/path", glob = "src/*.rs" }"#;
    assert!(with(glob, json!({"path": "src/a.rs"})) && !with(glob, json!({"path": "src/b/a.rs"})));
    let one_of = r#"{ pointer = "/n", in = [1, "one", true] }"#;
    assert!(
        with(one_of, json!({"n": 1}))
            && with(one_of, json!({"n": true}))
            && with(one_of, json!({"n": "one"}))
    );
    assert!(!with(one_of, json!({"n": 1.0})) && !with(one_of, json!({"n": "1"})));
    let deep = r#"{ pointer = "/a/0/b~1c", equals = { d = 1 } }"#;
    assert!(
        with(deep, json!({"a": [{"b/c": {"d": 1}}]}))
            && !with(deep, json!({"a": [{"b/c": {"d": 1, "e": 2}}]}))
    );
    let both = r#"{ pointer = "/a", equals = 1 }, { pointer = "/b", equals = 2 }"#;
    assert!(with(both, json!({"a": 1, "b": 2})) && !with(both, json!({"a": 1})));
}

#[test]
fn what_several_scopes_ask_for_is_asked_together() {
    let policy = policy(&[
        (
            Scope::Instance,
            "[[rule]]\ntool = \"edit\"\nverdict = \"ask\"\napprove = { quorum = 2, remember = true }\n",
        ),
        (
            Scope::Project,
            "[[rule]]\ntool = \"edit\"\nverdict = \"ask\"\n\
             approve = { role = \"maintainer\", person = true, remember = true }\n",
        ),
    ]);
    let decision = judge(&policy, &Tool::named("edit"), &json!({}));
    assert_eq!((decision.approvers, decision.quorum), (Some(Role::Maintainer), 2));
    assert!(decision.person && decision.remember);
    assert_eq!(decision.rule.as_str(), "instance0.1");
    let forgetful = "[[rule]]\ntool = \"edit\"\nverdict = \"ask\"\n";
    let remembers = "[[rule]]\ntool = \"edit\"\nverdict = \"ask\"\napprove = { remember = true }\n";
    let below = self::policy(&[(Scope::Instance, forgetful), (Scope::Session, remembers)]);
    assert!(!judge(&below, &Tool::named("edit"), &json!({})).remember);
    let alone = self::policy(&[(Scope::Session, remembers)]);
    assert!(!judge(&alone, &Tool::named("edit"), &json!({})).remember, "the matrix remembers nothing");
}

#[test]
fn shadow_rules_report_and_decide_nothing() {
    let policy = policy(&[
        (Scope::Instance, "[[rule]]\ntool = \"read\"\nverdict = \"disabled\"\nshadow = true\n"),
        (Scope::Project, "[[rule]]\nid = \"soft\"\ntool = \"write\"\nverdict = \"allow\"\nshadow = true\n"),
    ]);
    let read = judge(&policy, &Tool::named("read"), &json!({"path": "a"}));
    assert_eq!((read.verdict, read.shadow.len(), read.shadow[0].verdict), (Allow, 1, Disabled));
    let write = judge(&policy, &Tool::named("write"), &json!({"path": "a"}));
    assert_eq!((write.verdict, write.shadow[0].rule.as_str()), (Ask, "soft"));
}

#[test]
fn every_losing_rule_travels_with_its_reason() {
    let policy = policy(&[
        (
            Scope::Instance,
            "[[rule]]\nid = \"category\"\ncategory = \"write\"\nverdict = \"allow\"\n\
             [[rule]]\nid = \"owners\"\ntool = \"write\"\nrole = \"owner\"\nverdict = \"allow\"\n\
             [[rule]]\nid = \"web\"\ntool = \"write\"\nsurface = \"web\"\nverdict = \"allow\"\n\
             [[rule]]\nid = \"docs\"\ntool = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"docs/\" }]\nverdict = \"allow\"\n\
             [[rule]]\nid = \"exact\"\ntool = \"write\"\nverdict = \"allow\"\n\
             [[rule]]\nid = \"other\"\ntool = \"read\"\nverdict = \"allow\"\n",
        ),
        (
            Scope::Project,
            "[[rule]]\nid = \"winner\"\ntool = \"write\"\nverdict = \"ask\"\nreason = \"we look first\"\n",
        ),
        (Scope::Session, "[[rule]]\nid = \"same\"\ntool = \"write\"\nverdict = \"ask\"\n"),
    ]);
    let decision = judge(&policy, &Tool::named("write"), &json!({"path": "a"}));
    assert_eq!(
        (decision.rule.as_str(), decision.scope, decision.source.as_str()),
        ("winner", Scope::Project, "project.toml")
    );
    assert_eq!(decision.reason, "we look first");
    let lost: Vec<(&str, Why)> =
        decision.considered.iter().map(|lost| (lost.rule.as_str(), lost.why)).collect();
    assert_eq!(
        lost,
        [
            ("category", Why::LessSpecific),
            ("owners", Why::OtherRole),
            ("web", Why::OtherSurface),
            ("docs", Why::OtherArguments),
            ("exact", Why::Overruled),
            ("same", Why::Same),
        ]
    );
    let defaults = judge(&self::policy(&[]), &Tool::named("write"), &json!({"path": "a"}));
    assert_eq!(defaults.reason, "no rule speaks of `write`, and `default.write` says `ask`");
}

#[test]
fn of_a_call_that_was_written_in_part_no_missing_field_meets_a_condition() {
    let policy = policy(&[(
        Scope::Project,
        "[[rule]]\nid = \"ci\"\ntool = \"edit\"\nwhen = [{ pointer = \"/path\", equals = \"ci.yml\" }]\n\
         verdict = \"disabled\"\n[[rule]]\nid = \"sh\"\ntool = \"bash\"\nverdict = \"allow\"\n",
    )]);
    let part = |tool: &str, args: &serde_json::Value| {
        let spec = enclos_core::tool::built_in().into_iter().find(|spec| spec.name == tool).unwrap();
        let schema = Schema::of_part(&spec.schema).unwrap();
        let args = validate(parse(&args.to_string()).unwrap(), &schema)?;
        let tool = Tool::named(tool);
        let caller = Caller { tool: &tool, role: Role::Owner, surface: Surface::Terminal };
        Ok::<_, enclos_core::args::ArgsError>(policy.judge_part(&Request { caller, args: &args }).rule)
    };
    assert_eq!(part("edit", &json!({"path": "ci.yml"})).unwrap().as_str(), "ci");
    assert_eq!(part("edit", &json!({})).unwrap().as_str(), "default.write");
    assert_eq!(part("bash", &json!({})).unwrap().as_str(), "sh");
    let unknown = part("edit", &json!({"pth": "ci.yml"})).unwrap_err().to_string();
    assert!(unknown.contains("did you mean `path`?"), "{unknown}");
    assert!(part("edit", &json!({"path": 1})).is_err());
}
