//! Reading policies: what is refused, in which words and at which line; settings and their laws; presets.

use enclos_core::policy::{
    ExecutionBackend, Isolation, Layer, Mounts, OutputKeep, Policy, PolicyError, Preset, Problem, Scope,
};

fn layer(scope: Scope, text: &str) -> Layer<'_> {
    Layer { scope, source: format!("{scope}.toml"), text }
}

fn load(text: &str) -> Result<Policy, PolicyError> {
    Policy::load(&[layer(Scope::Project, text)])
}

fn said(text: &str) -> String {
    load(text).unwrap_err().to_string()
}

#[test]
fn every_preset_loads_in_every_scope_that_may_speak() {
    for preset in Preset::ALL {
        for scope in [Scope::Instance, Scope::Group, Scope::Project] {
            let policy = Policy::load(&[layer(scope, preset.text())]).unwrap();
            assert!(policy.overruled().is_empty());
        }
        assert_eq!(preset.as_str().parse(), Ok(preset));
    }
    assert_eq!(
        "strct".parse::<Preset>().unwrap_err().to_string(),
        "`strct` is not a preset: expected `strict`, `balanced` or `open`"
    );
}

#[test]
fn a_stricter_preset_goes_below_a_softer_one_and_not_the_other_way() {
    let [strict, balanced, open] = Preset::ALL.map(Preset::text);
    for (high, low) in [(open, balanced), (open, strict), (balanced, strict), (strict, strict)] {
        Policy::load(&[layer(Scope::Instance, high), layer(Scope::Session, low)]).unwrap();
    }
    let error = Policy::load(&[layer(Scope::Instance, strict), layer(Scope::Session, balanced)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "session.toml:13: the rule `balanced.work` of the session says `allow`, but `strict.write` of the instance \
         (instance.toml) says `ask`, and a lower scope can only tighten: write `ask` or remove the rule"
    );
    let alone = Policy::load(&[layer(Scope::Session, balanced)]).unwrap_err();
    assert!(alone.to_string().contains("`default.write` of the built-in (defaults) says `ask`"), "{alone}");
}

#[test]
fn unknown_words_are_refused_with_line_and_suggestion() {
    assert_eq!(
        said("name = \"p\"\n\n[[rule]]\ntool = \"read\"\nverdit = \"allow\"\n"),
        "project.toml:5: unknown field `verdit`, expected one of `id`, `tool`, `category`, `server`, `role`, \
         `surface`, `when`, `command`, `verdict`, `approve`, `shadow`, `reason`, `match`, `not_match`; did you mean \
         `verdict`?"
    );
    assert_eq!(
        said("name = \"p\"\n[[rule]]\ntool = \"wriet\"\nverdict = \"ask\"\n"),
        "project.toml:2: the tool `wriet` is unknown: expected a tool of Enclos, `server/tool`, or `*` as a whole \
         segment; did you mean `write`?"
    );
    for (text, words) in [
        (
            "name = \"p\"\n[[rule]]\ntool = \"read\"\nverdict = \"alow\"\n",
            "project.toml:4: unknown variant `alow`",
        ),
        ("name = \"p\"\n[[rule]]\nrole = \"develper\"\nverdict = \"ask\"\n", "did you mean `developer`?"),
        ("name = \"p\"\n[[rule]]\ncategory = [\"red\"]\nverdict = \"ask\"\n", "did you mean `read`?"),
        (
            "name = \"p\"\n[[rule]]\nsurface = \"browser\"\nverdict = \"ask\"\n",
            "project.toml:3: unknown variant",
        ),
        ("name = \"p\"\n[execution]\nsession_max_action = 3\n", "did you mean `session_max_actions`?"),
        ("name = \"p\"\n[execution]\nsession_max_actions = -3\n", "project.toml:3: "),
        (
            "name = \"p\"\n[execution]\nsession_max_actions = \"3\"\n",
            "project.toml:3: `session_max_actions`: found string \"3\", expected a whole number",
        ),
        ("name = \"p\"\n[commands]\ncontained = \"disabled\"\n", "project.toml:3: unknown variant"),
        ("name = \"p\"\n[caches]\nmount = \"al\"\n", "did you mean `all`?"),
        ("name = \"p\"\n[budget]\n", "project.toml:2: unknown field `budget`"),
        ("[[rule]]\ntool = \"read\"\nverdict = \"ask\"\n", "missing field `name`"),
        ("name = \"p\"\n[[rule]]\ntool = \"read\"\n", "project.toml:2: missing field `verdict`"),
        ("name = \"p\"\nname = \"q\"\n", "project.toml:2: `name`: duplicate key"),
        ("name = \"p\"\n[[rule]\n", "project.toml:2: "),
        ("name = \"P P\"\n", "`P P` is not a name of a policy"),
    ] {
        let error = said(text);
        assert!(error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn rules_that_could_be_read_in_two_ways_are_refused() {
    for (rule, words) in [
        ("verdict = \"ask\"", "names no `tool`, `category` or `server`"),
        ("tool = []\nverdict = \"ask\"", "array of words that is not empty"),
        ("tool = \"rea*\"\nverdict = \"ask\"", "`*` as a whole segment"),
        ("tool = \"git*hub/x\"\nverdict = \"ask\"", "`*` as a whole segment"),
        ("server = \"git/hub\"\nverdict = \"ask\"", "is not a name of a server"),
        ("id = \"default.read\"\ntool = \"read\"\nverdict = \"ask\"", "none of Enclos's own"),
        ("id = \"A\"\ntool = \"read\"\nverdict = \"ask\"", "is not a name of a rule"),
        ("tool = \"read\"\nverdict = \"allow\"\napprove = { quorum = 2 }", "only a question has approvers"),
        ("tool = \"read\"\nverdict = \"ask\"\napprove = { quorum = 0 }", "outside 1 to 16"),
        ("tool = \"read\"\ncommand = [\"ls\"]\nverdict = \"ask\"", "is about `bash` alone"),
        ("command = [\"ls\", \"\"]\nverdict = \"ask\"", "has an empty word"),
        (
            "command = [\"ls\"]\nwhen = [{ pointer = \"/command\", prefix = \"l\" }]\nverdict = \"ask\"",
            "write two rules",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"path\", prefix = \"l\" }]\nverdict = \"ask\"",
            "expected a JSON pointer",
        ),
        ("tool = \"read\"\nwhen = [{ pointer = \"/path\" }]\nverdict = \"ask\"", "without exactly one of"),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/path\", prefix = \"a\", glob = \"b\" }]\nverdict = \"ask\"",
            "without exactly one of",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/path\", regex = \"(a\" }]\nverdict = \"ask\"",
            "has the regex `(a`",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/path\", regex = \"a)|(?:b\" }]\nverdict = \"ask\"",
            "has the regex",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/path\", regex = \"(a)\\\\1\" }]\nverdict = \"ask\"",
            "linear time",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/path\", glob = \"[a\" }]\nverdict = \"ask\"",
            "has the glob `[a`",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/x\", equals = 2026-01-01 }]\nverdict = \"ask\"",
            "the date",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/x\", equals = nan }]\nverdict = \"ask\"",
            "a finite number",
        ),
    ] {
        let error = said(&format!("name = \"p\"\n[[rule]]\n{rule}\n"));
        assert!(error.starts_with("project.toml:") && error.contains(words), "{rule}\n{error}");
    }
    let twice = "name = \"p\"\n[[rule]]\nid = \"a\"\ntool = \"read\"\nverdict = \"ask\"\n".to_owned()
        + "[[rule]]\nid = \"a\"\ntool = \"list\"\nverdict = \"ask\"\n";
    assert_eq!(
        said(&twice),
        "project.toml:6: the rule `a` is written twice: expected each `id` once in a file"
    );
}

#[test]
fn examples_are_held_against_their_rule() {
    let rule = |examples: &str| {
        format!(
            "name = \"p\"\n[[rule]]\nid = \"src\"\ntool = \"write\"\nverdict = \"ask\"\n\
             when = [{{ pointer = \"/path\", prefix = \"src/\" }}]\n{examples}\n"
        )
    };
    load(&rule("match = [{ args = { path = \"src/a\" } }, { args = { path = \"./x/../src/a\" } }]")).unwrap();
    load(&rule("not_match = [{ args = { path = \"a\" } }, { args = { path = \"src/../a\" } }]")).unwrap();
    assert_eq!(
        said(&rule("match = [{ args = { path = \"lib/a\" } }]")),
        "project.toml:2: the rule `src` does not match its `match` example `write` with `{\"path\":\"lib/a\"}`: mend the rule \
         or the example"
    );
    assert!(
        said(&rule("not_match = [{ args = { path = \"src/a\" } }]"))
            .contains("the rule `src` matches its `not_match` example")
    );
    assert!(said(&rule("match = [\"src/a\"]")).contains("write a table with `tool` and `args`"));
    assert!(
        said(&rule("match = [{ arg = { path = \"src/a\" } }]")).contains("an example is a command as text")
    );
}

#[test]
fn a_text_has_a_bound_and_a_scope() {
    let long = format!("name = \"p\"\n# {}", "x".repeat(1024 * 1024));
    assert!(matches!(load(&long).unwrap_err().problem, Problem::TooLong { .. }));
    let repository = format!("# {}", "x".repeat(64 * 1024));
    assert!(Policy::load(&[layer(Scope::Repository, &repository)]).is_err());
    assert!(Policy::load(&[layer(Scope::BuiltIn, "name = \"p\"")]).is_err());
}

#[test]
fn a_repository_only_tightens() {
    let repository = |text: &str| {
        Policy::load(&[layer(Scope::Project, Preset::Open.text()), layer(Scope::Repository, text)])
    };
    let policy = repository(
        "[[rule]]\ntool = \"bash\"\nverdict = \"disabled\"\n[execution]\nsession_max_actions = 7\n",
    );
    assert_eq!(policy.unwrap().settings().ceilings.session_max_actions, Some(7));
    for (text, words) in [
        ("[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n", "unknown variant `allow`"),
        (
            "[[rule]]\ntool = \"bash\"\nverdict = \"ask\"\napprove = { remember = true }\n",
            "unknown field `approve`",
        ),
        ("[commands]\ncontained = \"allow\"\n", "unknown field `commands`"),
        ("[caches]\nmount = \"all\"\n", "unknown field `caches`"),
        ("[execution]\nplace = \"server\"\n", "not for a repository to fix"),
        (
            "[execution]\noutput_keep = \"head_and_tail\"\n",
            "`execution.output_keep` is not for a repository to fix",
        ),
    ] {
        let error = repository(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn an_administrator_switches_the_repositorys_policy_off() {
    let off = "name = \"i\"\n[repository]\npolicy = false\n";
    let layers = [
        layer(Scope::Instance, off),
        layer(Scope::Repository, "[[rule]]\ntool = \"read\"\nverdict = \"disabled\"\n"),
    ];
    let policy = Policy::load(&layers).unwrap();
    assert!(policy.layers().iter().all(|layer| layer.scope != Scope::Repository));
}

#[test]
fn settings_follow_their_laws() {
    let instance = "name = \"i\"\ncontinue_after_rejection = true\n[commands]\ncontained = \"allow\"\n\
                    [execution]\nplace = \"workstation\"\nsession_max_actions = 50\nsession_max_minutes = 10\n\
                    [approvals]\non_ask = \"park\"\nexpiry_minutes = 60\n\
                    [toolchains]\nmount = \"all\"\n[caches]\nmount = [\"cargo\", \"npm\"]\n";
    let project = "name = \"p\"\ncontinue_after_rejection = false\n[commands]\ncontained = \"ask\"\n\
                   [execution]\nsession_max_actions = 70\nsession_max_minutes = 5\nsandbox_cpus = 1\n\
                   [approvals]\non_ask = \"deny\"\nexpiry_minutes = 90\n\
                   [toolchains]\nmount = [\"rustup\"]\n[caches]\nmount = [\"npm\", \"pip\"]\n";
    // As they stand: to be saved, what gives more room than the instance is refused.
    let policy =
        Policy::load_standing(&[layer(Scope::Project, project), layer(Scope::Instance, instance)]).unwrap();
    let settings = policy.settings();
    assert_eq!(settings.continue_after_rejection, Some(false));
    assert_eq!(settings.contained, Some(false));
    assert_eq!(settings.ceilings.session_max_actions, Some(50));
    assert_eq!(settings.ceilings.session_max_minutes, Some(5));
    assert_eq!(settings.ceilings.sandbox_cpus, Some(1));
    assert_eq!(settings.ceilings.session_max_tokens, None);
    assert_eq!(serde_json::to_value(settings.on_ask).unwrap(), "deny");
    assert_eq!(settings.expiry_minutes, Some(60));
    assert_eq!(settings.place.as_ref().unwrap().scope, Scope::Instance);
    assert_eq!(settings.toolchains, Some(Mounts::Only(["rustup".to_owned()].into())));
    assert_eq!(settings.caches, Some(Mounts::Only(["npm".to_owned()].into())));
    let other = "name = \"p\"\n[execution]\nplace = \"server\"\n";
    let error = Policy::load(&[layer(Scope::Instance, instance), layer(Scope::Project, other)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "project.toml: `execution.place` is `server`, but the instance (instance.toml) fixed it to `workstation`: \
         remove it here"
    );
}

#[test]
fn the_nearest_scope_chooses_what_is_kept_of_an_output() {
    let keep = |word: &str| format!("name = \"x\"\n[execution]\noutput_keep = \"{word}\"\n");
    let (head, both, silent) = (keep("head"), keep("head_and_tail"), "name = \"x\"\n".to_owned());
    for (instance, project, expected) in [
        (&head, &both, Some(OutputKeep::HeadAndTail)),
        (&both, &head, Some(OutputKeep::Head)),
        (&both, &silent, Some(OutputKeep::HeadAndTail)),
        (&silent, &silent, None),
    ] {
        let policy =
            Policy::load(&[layer(Scope::Instance, instance), layer(Scope::Project, project)]).unwrap();
        assert_eq!(policy.settings().output_keep, expected, "neither is softer, so nothing is refused");
    }
    let error = Policy::load(&[layer(Scope::Project, &keep("tail"))]).unwrap_err().to_string();
    assert!(error.contains("`head` or `head_and_tail`"), "{error}");
}

#[test]
fn the_strictest_level_of_isolation_holds_and_lower_scopes_only_tighten() {
    let of = |level: &str| format!("name = \"p\"\n[execution]\nisolation = \"{level}\"\n");
    let (hard, standard, soft, silent) =
        (of("hard"), of("standard"), of("soft"), "name = \"p\"\n".to_owned());
    let repository = "[execution]\nisolation = \"hard\"\n";
    for (instance, project, repository, expected) in [
        (&silent, &silent, "", None),
        (&standard, &silent, "", Some((Isolation::Standard, Scope::Instance))),
        (&standard, &hard, "", Some((Isolation::Hard, Scope::Project))),
        (&hard, &hard, "", Some((Isolation::Hard, Scope::Instance))),
        (&hard, &silent, repository, Some((Isolation::Hard, Scope::Instance))),
        (&silent, &standard, repository, Some((Isolation::Hard, Scope::Repository))),
    ] {
        let layers = [
            layer(Scope::Instance, instance),
            layer(Scope::Project, project),
            layer(Scope::Repository, repository),
        ];
        let policy = Policy::load(&layers).unwrap();
        let demanded = policy.settings().isolation.as_ref();
        assert_eq!(demanded.map(|one| (one.level, one.scope)), expected);
    }
    let layers = [layer(Scope::Instance, &hard), layer(Scope::Project, &standard)];
    let error = Policy::load(&layers).unwrap_err().to_string();
    assert!(error.contains("execution.isolation") && error.contains("instance"), "{error}");
    // As it stands the demand of the higher scope holds all the same.
    let standing = Policy::load_standing(&layers).unwrap();
    assert_eq!(standing.settings().isolation.as_ref().unwrap().level, Isolation::Hard);
    let error = Policy::load(&[layer(Scope::Instance, &soft)]).unwrap_err().to_string();
    assert!(error.contains("instance.toml:3") && error.contains("`standard` or `hard`"), "{error}");
}

#[test]
fn the_highest_scope_fixes_what_is_around_a_sandbox() {
    let of = |backend: &str| format!("name = \"p\"\n[execution]\nbackend = \"{backend}\"\n");
    let (oci, linux, docker) = (of("oci"), of("linux"), of("docker"));
    let policy = Policy::load(&[layer(Scope::Project, &oci), layer(Scope::Instance, &oci)]).unwrap();
    let fixed = policy.settings().backend.as_ref().unwrap();
    assert_eq!((fixed.backend, fixed.scope), (ExecutionBackend::Oci, Scope::Instance));
    let error = Policy::load(&[layer(Scope::Instance, &oci), layer(Scope::Group, &linux)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "group.toml: `execution.backend` is `linux`, but the instance (instance.toml) fixed it to `oci`: remove it here"
    );
    let error = Policy::load(&[layer(Scope::Instance, &docker)]).unwrap_err().to_string();
    assert!(error.contains("instance.toml:3") && error.contains("linux") && error.contains("oci"), "{error}");
    let error = Policy::load(&[layer(Scope::Repository, "[execution]\nbackend = \"oci\"\n")]).unwrap_err();
    assert!(error.to_string().contains("not for a repository to fix"), "{error}");
}

#[test]
fn a_session_gives_itself_no_room() {
    let session = "name = \"s\"\n[commands]\ncontained = \"allow\"\n[caches]\nmount = \"all\"\n\
                   [approvals]\nexpiry_minutes = 600\n";
    let policy = Policy::load(&[layer(Scope::Session, session)]).unwrap();
    assert_eq!(policy.settings().contained, Some(false));
    assert_eq!(policy.settings().caches, Some(Mounts::Only([].into())));
    assert_eq!(policy.settings().expiry_minutes, Some(30));
}

#[test]
fn the_digest_is_of_every_layer() {
    let of = |layers: &[Layer<'_>]| Policy::load(layers).unwrap().digest().clone();
    let strict = Preset::Strict.text();
    let changed = strict.replace("strict.read", "strict.reads");
    let one = of(&[layer(Scope::Project, strict)]);
    assert!(one.as_str().starts_with("sha256:") && one.as_str().len() == 71);
    assert_eq!(one, of(&[layer(Scope::Project, strict)]));
    assert_ne!(one, of(&[layer(Scope::Project, &changed)]));
    assert_ne!(one, of(&[layer(Scope::Instance, strict)]));
    assert_ne!(one, of(&[layer(Scope::Project, strict), layer(Scope::Session, strict)]));
    assert_ne!(one, of(&[]));
}
