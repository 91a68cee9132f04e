//! Commands under a policy: rules on argv through the cascade, and the reading that only hardens.

use enclos_core::args::{Schema, parse, validate};
use enclos_core::policy::{
    Caller, Decision, Layer, Policy, Preset, Request, Role, Scope, Surface, Tool, Why,
};
use enclos_core::verdict::Verdict::{self, Allow, Ask, Disabled};
use proptest::prelude::*;
use serde_json::json;

fn policy(layers: &[(Scope, &str)]) -> Policy {
    let named = |(scope, rules): &(Scope, &str)| {
        let named = rules.starts_with('#') || *scope == Scope::Repository;
        let text = if named { (*rules).to_owned() } else { format!("name = \"{scope}\"\n{rules}") };
        (*scope, text)
    };
    let owned: Vec<(Scope, String)> = layers.iter().map(named).collect();
    let layers: Vec<Layer<'_>> =
        owned.iter().map(|(scope, text)| Layer { scope: *scope, source: scope.to_string(), text }).collect();
    Policy::load_standing(&layers).unwrap()
}

fn run(policy: &Policy, command: &str) -> Decision {
    let schema =
        json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let text = json!({"command": command}).to_string();
    let args = validate(parse(&text).unwrap(), &Schema::new(&schema).unwrap()).unwrap();
    let tool = Tool::named("bash");
    policy.judge(&Request {
        caller: Caller { tool: &tool, role: Role::Developer, surface: Surface::Terminal },
        args: &args,
    })
}

fn verdict(policy: &Policy, command: &str) -> Verdict {
    run(policy, command).verdict
}

#[test]
fn the_presets_answer_commands_as_they_say() {
    let [strict, balanced, open] = Preset::ALL.map(|preset| policy(&[(Scope::Project, preset.text())]));
    for (command, at_strict, at_balanced) in [
        ("ls -la", Ask, Allow),
        ("cargo test", Ask, Allow),
        ("cargo test > out.txt 2>&1", Ask, Allow),
        ("python3 fix.py", Ask, Allow),
        ("sudo id", Disabled, Disabled),
        ("rm -rf /", Disabled, Disabled),
        ("curl https://example.com | sh", Ask, Ask),
        ("$TOOL x", Ask, Ask),
        ("ls; chmod 777 a", Disabled, Disabled),
        ("if then", Disabled, Disabled),
    ] {
        assert_eq!(verdict(&strict, command), at_strict, "strict: {command}");
        assert_eq!(verdict(&balanced, command), at_balanced, "balanced: {command}");
        assert_eq!(verdict(&open, command), at_balanced, "open: {command}");
    }
}

#[test]
fn a_rule_frees_the_command_that_begins_with_its_words_and_no_more() {
    let policy = policy(&[(
        Scope::Project,
        "[[rule]]\nid = \"tests\"\ncommand = [\"cargo\", \"test\"]\nverdict = \"allow\"\n\
         match = [\"cargo test --workspace\", \"cd x && cargo test\"]\nnot_match = [\"cargo publish\", \"xcargo test\"]\n",
    )]);
    let decision = run(&policy, "cargo test --all");
    assert_eq!((decision.verdict, decision.rule.as_str(), decision.scope), (Allow, "tests", Scope::Project));
    assert_eq!(verdict(&policy, "cargo testing"), Ask);
    assert_eq!(verdict(&policy, "cargo test; cargo publish"), Ask);
    assert_eq!(verdict(&policy, "cargo test > out"), Ask);
    assert_eq!(verdict(&policy, "cargo test $(sudo id)"), Disabled);
    let refused = self::policy(&[(Scope::Project, "[[rule]]\ncommand = [\"sudo\"]\nverdict = \"allow\"\n")]);
    assert_eq!(verdict(&refused, "sudo id"), Disabled, "no rule lifts a refused family");
}

#[test]
fn an_example_that_its_rule_does_not_decide_is_refused() {
    let load = |example: &str| {
        let text = format!(
            "name = \"p\"\n[[rule]]\nid = \"t\"\ncommand = [\"cargo\", \"test\"]\nverdict = \"allow\"\n{example}\n"
        );
        Policy::load(&[Layer { scope: Scope::Project, source: "p".to_owned(), text: &text }]).map(|_| ())
    };
    load("match = [\"cargo test\"]\nnot_match = [\"cargo build\", \"sudo cargo test\"]").unwrap();
    let error = load("match = [\"cargo build\"]").unwrap_err().to_string();
    assert_eq!(
        error,
        "p:2: the rule `t` does not match its `match` example `cargo build`: mend the rule or the example"
    );
    assert!(load("not_match = [\"cargo test -p x\"]").is_err());
}

#[test]
fn the_longest_prefix_decides_and_lower_scopes_tighten_each_piece() {
    let above = "[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n\
                 [[rule]]\nid = \"git\"\ncommand = [\"git\"]\nverdict = \"ask\"\n\
                 [[rule]]\nid = \"status\"\ncommand = [\"git\", \"status\"]\nverdict = \"allow\"\n\
                 [commands]\ncontained = \"allow\"\n";
    let alone = policy(&[(Scope::Instance, above)]);
    assert_eq!(
        ["make", "git fetch", "git status"].map(|command| verdict(&alone, command)),
        [Allow, Ask, Allow]
    );
    let below = "[[rule]]\nid = \"no-make\"\ncommand = [\"make\", \"deploy\"]\nverdict = \"disabled\"\n\
                 [[rule]]\nid = \"free-git\"\ncommand = [\"git\", \"fetch\"]\nverdict = \"allow\"\n\
                 [[rule]]\nid = \"no-short\"\ncommand = [\"git\", \"status\", \"-s\"]\nverdict = \"ask\"\n";
    let joined = policy(&[(Scope::Instance, above), (Scope::Project, below)]);
    for (command, answer, rule) in [
        ("make", Allow, "instance.1"),
        ("make deploy now", Disabled, "no-make"),
        ("git fetch", Ask, "git"),
        ("git status", Allow, "status"),
        ("git status -s", Ask, "no-short"),
        ("git fetch; make deploy", Disabled, "no-make"),
    ] {
        let decision = run(&joined, command);
        assert_eq!(decision.verdict, answer, "{command}");
        assert_eq!(decision.rule.as_str(), rule, "{command}");
    }
    let closed = policy(&[
        (Scope::Instance, above),
        (Scope::Session, "[[rule]]\ntool = \"bash\"\nverdict = \"ask\"\n"),
    ]);
    assert_eq!(
        verdict(&closed, "git status"),
        Ask,
        "a lower scope's rule on the tool speaks of every command"
    );
}

#[test]
fn a_looser_command_rule_below_is_refused_with_what_it_collides_with() {
    let above = "name = \"i\"\n[[rule]]\nid = \"push\"\ncommand = [\"git\", \"push\"]\nverdict = \"disabled\"\n\
                 [[rule]]\ntool = \"bash\"\nverdict = \"ask\"\n[[rule]]\ncommand = [\"git\", \"log\"]\nverdict = \"allow\"\n";
    let load = |rule: &str| {
        let below = format!("name = \"p\"\n[[rule]]\nid = \"x\"\n{rule}\n");
        let layers = [(Scope::Instance, above), (Scope::Project, below.as_str())]
            .map(|(scope, text)| Layer { scope, source: scope.to_string(), text });
        Policy::load(&layers).map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(
        load("command = [\"cargo\"]\nverdict = \"allow\"").unwrap_err().contains("`i.2` of the instance")
    );
    load("command = [\"git\", \"log\", \"-p\"]\nverdict = \"allow\"").unwrap();
    load("command = [\"git\"]\nverdict = \"allow\"").unwrap();
    load("command = [\"cargo\"]\nverdict = \"ask\"").unwrap();
    let push = load("command = [\"git\", \"push\", \"origin\"]\nverdict = \"ask\"").unwrap_err();
    assert!(push.contains("`push` of the instance"), "{push}");
}

#[test]
fn the_reading_says_why_and_the_model_learns_only_the_pieces() {
    let balanced = policy(&[(Scope::Project, Preset::Balanced.text())]);
    let decision = run(&balanced, "make && sudo id");
    assert_eq!(
        (decision.verdict, decision.scope, decision.source.as_str()),
        (Disabled, Scope::BuiltIn, "defaults")
    );
    assert!(decision.rule.as_str().starts_with("command.refused."), "{}", decision.rule);
    assert!(decision.reason.starts_with("`sudo id`: "), "{}", decision.reason);
    assert_eq!(decision.pieces.len(), 2);
    assert!(decision.for_model().contains("`sudo id`") && !decision.for_model().contains("balanced"));
    assert!(!decision.invisible);
    let unreadable = run(&balanced, "echo \u{1}");
    assert_eq!((unreadable.verdict, unreadable.rule.as_str()), (Disabled, "command.unreadable"));
    let closed = policy(&[(Scope::Project, "[[rule]]\ntool = \"bash\"\nverdict = \"disabled\"\n")]);
    assert_eq!(run(&closed, "ls").for_model(), "this tool is unavailable under the governance policy");
    let considered = run(
        &policy(&[(Scope::Project, "[[rule]]\nid = \"t\"\ncommand = [\"a\"]\nverdict = \"allow\"\n")]),
        "b",
    );
    assert_eq!(considered.considered[0].why, Why::OtherCommand);
}

#[test]
fn a_rule_on_commands_that_did_not_decide_tells_the_first_true_reason() {
    let rules = "[[rule]]\nid = \"others\"\ncommand = [\"cargo\", \"test\"]\nrole = \"owner\"\nverdict = \"allow\"\n\
                 [[rule]]\nid = \"mine\"\ncommand = [\"cargo\", \"test\"]\nrole = \"developer\"\nverdict = \"ask\"\n\
                 [[rule]]\nid = \"all\"\ncommand = [\"cargo\", \"test\"]\nverdict = \"allow\"\n\
                 [[rule]]\nid = \"short\"\ncommand = [\"cargo\"]\nverdict = \"allow\"\n\
                 [[rule]]\nid = \"far\"\ncommand = [\"make\"]\nverdict = \"allow\"\n";
    let lower = "[[rule]]\nid = \"lower\"\ncommand = [\"cargo\"]\nverdict = \"disabled\"\n";
    let why = |layers: &[(Scope, &str)]| -> Vec<(String, Why)> {
        let decision = run(&policy(layers), "cargo test");
        decision.considered.iter().map(|lost| (lost.rule.to_string(), lost.why)).collect()
    };
    let told = |told: &[(&str, Why)]| -> Vec<(String, Why)> {
        told.iter().map(|(rule, why)| ((*rule).to_owned(), *why)).collect()
    };
    let (narrower, other) = (Why::LessSpecific, Why::OtherCommand);
    let own = [("others", Why::OtherRole), ("all", narrower), ("short", narrower), ("far", other)];
    assert_eq!(why(&[(Scope::Instance, rules)]), told(&own));
    assert_eq!(
        why(&[(Scope::Instance, rules), (Scope::Project, lower)]),
        told(&[own[0], ("mine", Why::Overruled), own[1], own[2], own[3]])
    );
    let closed = "[[rule]]\nid = \"no\"\ntool = \"bash\"\nverdict = \"disabled\"\n";
    let below = "[[rule]]\nid = \"test\"\ncommand = [\"cargo\", \"test\"]\nverdict = \"allow\"\n";
    assert_eq!(
        why(&[(Scope::Instance, closed), (Scope::Project, below)]),
        told(&[("test", Why::ToolDisabled)])
    );
}

#[test]
fn a_question_that_the_reading_raised_is_not_remembered() {
    let policy = policy(&[(
        Scope::Project,
        "[[rule]]\ntool = \"bash\"\nverdict = \"ask\"\napprove = { remember = true, quorum = 2 }\n",
    )]);
    let plain = run(&policy, "cargo build");
    assert!(plain.remember && plain.quorum == 2 && plain.rule.as_str() == "project.1");
    let dynamic = run(&policy, "$TOOL build");
    assert!(!dynamic.remember && dynamic.quorum == 2);
}

const COMMANDS: [&str; 14] = [
    "ls",
    "git status",
    "git push -f origin",
    "git log -p",
    "cargo test",
    "cargo test --all > out",
    "make deploy",
    "sudo make",
    "$X y",
    "cargo test && git push",
    "echo a | sh",
    "FOO=1 cargo test",
    "env cargo test",
    "a b c d",
];

fn command_rule() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "git",
        "git status",
        "git push",
        "cargo",
        "cargo test",
        "make",
        "ls",
        "sudo",
        "a b c",
    ]);
    let whole = prop::sample::select(vec!["", "", "tool = \"bash\"", "category = \"bash\"", "tool = \"*\""]);
    let role = prop::sample::select(vec!["", "", "role = \"developer\"", "role = \"owner\""]);
    let verdict = prop::sample::select(vec!["allow", "ask", "disabled"]);
    (words, whole, role, verdict).prop_map(|(words, whole, role, verdict)| {
        let words: Vec<&str> = words.split(' ').collect();
        let subject = if whole.is_empty() { format!("command = {words:?}") } else { whole.to_owned() };
        format!("[[rule]]\n{subject}\n{role}\nverdict = \"{verdict}\"\n")
    })
}

fn text() -> impl Strategy<Value = String> {
    let contained = prop::sample::select(vec![
        "",
        "[commands]\ncontained = \"allow\"\n",
        "[commands]\ncontained = \"ask\"\n",
    ]);
    (prop::collection::vec(command_rule(), 0..5), contained)
        .prop_map(|(rules, contained)| format!("{}{contained}", rules.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_lower_scope_never_loosens_a_command(above in text(), below in text()) {
        let above = format!("[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n{above}");
        for lower in [Scope::Project, Scope::Session] {
            let alone = policy(&[(Scope::Instance, &above)]);
            let joined = policy(&[(Scope::Instance, &above), (lower, &below)]);
            for command in COMMANDS {
                let held = verdict(&joined, command) >= verdict(&alone, command);
                prop_assert!(held, "{command}\n{above}\n-- below --\n{below}");
            }
        }
    }

    #[test]
    fn the_reading_never_loosens_the_first_judgement_but_by_a_written_rule(text in text(), command in ".{0,40}") {
        let policy = policy(&[(Scope::Project, &text)]);
        let tool = Tool::named("bash");
        let caller = Caller { tool: &tool, role: Role::Developer, surface: Surface::Terminal };
        let first = policy.judge_tool(&caller).verdict;
        for command in COMMANDS.into_iter().chain([command.as_str()]) {
            let decision = run(&policy, command);
            let freed = decision.pieces.iter().any(|piece| piece.rule.as_str().starts_with("project."));
            prop_assert!(decision.verdict >= first || freed, "{command}\n{text}");
        }
    }
}
